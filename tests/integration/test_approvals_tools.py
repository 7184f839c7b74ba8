"""Approvals for every kind of tool: what it is called with, what comes back, what the model is shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel, Field, field_validator

from tests.support.approving import KINDS, Kind, agent_graph, drive, results, tools_graph
from tests.support.graphs import in_a_row
from tests.support.histories import calls, strict_model, transcript
from yai_nexus_agentkit.orchestration.approvals import APPROVAL, require_approval

YES = {"approved": True}


@tool
def with_state(x: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Sees the state."""
    return f"{x} after {len(state['messages'])} messages"


@tool
def with_channel(x: int, said: Annotated[list[AnyMessage], InjectedState("messages")]) -> str:
    """Sees a channel."""
    return f"{x} after {len(said)} messages"


@tool
async def with_call_id(x: int, call: Annotated[str, InjectedToolCallId]) -> str:
    """Sees its call."""
    return f"{x} in {call}"


@tool
async def with_runtime(x: int, runtime: ToolRuntime) -> str:
    """Sees its runtime."""
    return f"{x} in {runtime.tool_call_id} after {len(runtime.state['messages'])} messages"


@tool
def with_named_runtime(x: int, rt: ToolRuntime) -> str:
    """Sees its runtime under another name."""
    return f"{x} in {rt.tool_call_id} with {len(rt.tools)} tools"


@tool
def with_config(x: int, config: RunnableConfig) -> str:
    """Sees the configuration."""
    return f"{x} in thread {config['configurable']['thread_id']}"


@tool
def with_rest(x: int, state: Annotated[dict[str, Any], InjectedState], unit: str = "kg") -> str:
    """Has a default."""
    return f"{x} {unit}"


class Weigh(BaseModel):
    x: int = Field(description="How heavy.")

    @field_validator("x")
    @classmethod
    def not_negative(cls, x: int) -> int:
        if x < 0:
            raise ValueError("less than nothing")
        return x


@tool(args_schema=Weigh)
def with_schema(x: int) -> str:
    """Has a schema with a validator."""
    return f"{x} weighed"


@tool(args_schema={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
def with_json_schema(x: int) -> str:
    """Has a JSON Schema."""
    return f"{x} by JSON"


class OwnTool(BaseTool):
    name: str = "own_tool"
    description: str = "A class."

    def _run(self, x: int) -> str:
        return f"{x} from a class"


class OwnAsyncTool(OwnTool):
    name: str = "own_async_tool"

    async def _arun(self, x: int) -> str:
        return f"{x} from an async class"


def function(x: int) -> str:
    """A plain function."""
    return f"{x} from a function"


async def coroutine(x: int) -> str:
    """A plain coroutine function."""
    return f"{x} from a coroutine"


both = StructuredTool.from_function(function, coroutine, name="both", description="Both ways.")

TOOLS: list[tuple[BaseTool | Callable[..., Any], str]] = [
    (with_state, "3 after 2 messages"),
    (with_channel, "3 after 2 messages"),
    (with_call_id, "3 in c1"),
    (with_runtime, "3 in c1 after 2 messages"),
    (with_named_runtime, "3 in c1 with 1 tools"),
    (with_config, "3 in thread t"),
    (with_rest, "3 kg"),
    (with_schema, "3 weighed"),
    (with_json_schema, "3 by JSON"),
    (OwnTool(), "3 from a class"),
    (OwnAsyncTool(), "3 from an async class"),
    (function, "3 from a function"),
    (coroutine, "3 from a coroutine"),
    (both, "3 from a coroutine"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("original", "expected"), TOOLS, ids=[expected for _, expected in TOOLS])
def test_every_kind_of_tool(kind: Kind, original: Any, expected: str) -> None:
    asking = require_approval(original)
    graph = agent_graph(kind, strict_model([calls((asking.name, {"x": 3}, "c1")), "Done."]), [asking])
    state, [[question]] = drive(graph, lambda _: YES)
    assert question["args"] == {"x": 3}
    assert transcript(state["messages"])[2] == ("tool c1", expected)


@pytest.mark.parametrize("original", [t for t, _ in TOOLS if isinstance(t, BaseTool)])
def test_the_model_is_shown_the_same_tool(original: BaseTool) -> None:
    asking = require_approval(original)
    assert convert_to_openai_tool(asking) == convert_to_openai_tool(original)
    assert (asking.name, asking.return_direct, asking.response_format) == (
        original.name,
        original.return_direct,
        original.response_format,
    )
    assert asking is not original


@pytest.mark.parametrize("original", [with_state, with_runtime, with_call_id, with_rest])
def test_injected_arguments_are_neither_shown_nor_edited_but_kept(original: BaseTool) -> None:
    hidden = {"state", "runtime", "call"} & set(original.get_input_schema().model_fields)
    for extra, kind in (({}, "edited"), ({name: {"messages": []} for name in hidden}, "invalid")):
        asking = require_approval(original)
        graph = agent_graph("routed", strict_model([calls((asking.name, {"x": 3}, "c1")), "Done."]), [asking])
        state, [[question]] = drive(graph, lambda _, extra=extra: {"approved": True, "editedArgs": {"x": 4, **extra}})
        assert question["args"] == {"x": 3}
        assert results(state)[0].additional_kwargs[APPROVAL] == kind
        assert results(state)[0].text.endswith("cannot be set") == (kind == "invalid")


@pytest.mark.parametrize(
    ("original", "edits", "says"),
    [
        (with_schema, {"x": -1}, "less than nothing"),
        (with_json_schema, {"x": "three"}, "x: 'three' is not of type 'integer'"),
        (with_json_schema, {}, "'x' is a required property"),
        (OwnTool(), {"x": "three"}, "x: "),
    ],
)
def test_edits_meet_the_tools_own_schema(original: Any, edits: Any, says: str) -> None:
    asking = require_approval(original)
    graph = agent_graph("routed", strict_model([calls((asking.name, {"x": 3}, "c1")), "I see."]), [asking])
    state, _ = drive(graph, lambda _: {"approved": True, "editedArgs": edits})
    assert results(state)[0].additional_kwargs[APPROVAL] == "invalid"
    assert says in results(state)[0].text


def test_an_argument_that_the_application_sets_cannot_be_set_by_the_answer() -> None:
    @tool
    def transfer(amount: int, account: Annotated[str, InjectedToolArg] = "own") -> str:
        """Move money."""
        return f"{amount} from {account}"

    asking = require_approval(transfer)
    graph = agent_graph("routed", strict_model([calls(("transfer", {"amount": 3}, "c1")), "Done."]), [asking])
    state, _ = drive(graph, lambda _: {"approved": True, "editedArgs": {"amount": 3, "account": "theirs"}})
    assert results(state)[0].text.endswith("account: cannot be set")


def test_the_store_is_injected() -> None:
    @tool
    def remember(x: int, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        store.put(("x",), "x", {"x": x})
        return "remembered"

    memory = InMemoryStore()
    builder = tools_graph(
        "routed", strict_model([calls(("remember", {"x": 3}, "c1")), "Done."]), [require_approval(remember)]
    )
    state, _ = drive(builder.compile(checkpointer=InMemorySaver(), store=memory), lambda _: YES)
    assert results(state)[0].text == "remembered"
    found = memory.get(("x",), "x")
    assert found is not None
    assert found.value == {"x": 3}


def test_a_single_input_tool() -> None:
    asking = require_approval(Tool(name="shout", description="Shout.", func=lambda text: text.upper()))
    graph = agent_graph("routed", strict_model([calls(("shout", {"tool_input": "hey"}, "c1")), "Done."]), [asking])
    state, _ = drive(graph, lambda _: YES)
    assert results(state)[0].text == "HEY"


@pytest.mark.parametrize("edited", [False, True])
def test_content_and_artifact(edited: bool) -> None:
    @tool(response_format="content_and_artifact")
    def plot(x: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Plot."""
        return [{"type": "text", "text": f"plotted {x}"}], {"x": x}

    graph = agent_graph("routed", strict_model([calls(("plot", {"x": 3}, "c1")), "Done."]), [require_approval(plot)])
    state, _ = drive(graph, lambda _: {"approved": True, **({"editedArgs": {"x": 4}} if edited else {})})
    [result] = results(state)
    assert result.artifact == {"x": 4 if edited else 3}
    assert isinstance(result.content, list)
    assert result.content[-1] == {"type": "text", "text": f"plotted {4 if edited else 3}"}
    assert len(result.content) == (2 if edited else 1)


def test_a_denied_tool_has_no_artifact() -> None:
    @tool(response_format="content_and_artifact")
    def plot(x: int) -> tuple[str, dict[str, int]]:
        """Plot."""
        return f"plotted {x}", {"x": x}

    graph = agent_graph("routed", strict_model([calls(("plot", {"x": 3}, "c1")), "Done."]), [require_approval(plot)])
    state, _ = drive(graph, lambda _: {"approved": False})
    assert results(state)[0].artifact is None


class City(MessagesState):
    city: str


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("edited", [False, True])
def test_a_tool_that_returns_a_command(as_list: bool, edited: bool) -> None:
    @tool
    def move(x: str, call: Annotated[str, InjectedToolCallId]) -> Any:
        """Move."""
        message = ToolMessage(f"moved to {x}", tool_call_id=call)
        return [Command(update={"city": x}), message] if as_list else Command(update={"city": x, "messages": [message]})

    model = strict_model([calls(("move", {"x": "Oslo"}, "c1")), "Done."])
    graph = agent_graph("routed", model, [require_approval(move)], state=City)
    state, _ = drive(graph, lambda _: {"approved": True, **({"editedArgs": {"x": "Rome"}} if edited else {})})
    assert state["city"] == ("Rome" if edited else "Oslo")
    [result] = results(state)
    assert result.text.endswith(f"moved to {state['city']}")
    assert result.additional_kwargs.get(APPROVAL) == ("edited" if edited else None)


def test_a_denied_command_changes_nothing() -> None:
    @tool
    def move(x: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Move."""
        return Command(update={"city": x, "messages": [ToolMessage("moved", tool_call_id=call)]})

    model = strict_model([calls(("move", {"x": "Oslo"}, "c1")), "I see."])
    graph = agent_graph("routed", model, [require_approval(move)], state=City)
    state, _ = drive(graph, lambda _: {"approved": False}, given={"city": "Bergen"})
    assert state["city"] == "Bergen"


def test_return_direct_ends_create_agent_after_the_approved_call() -> None:
    @tool(return_direct=True)
    def receipt(x: int) -> str:
        """Print."""
        return f"receipt {x}"

    graph = agent_graph("create_agent", strict_model([calls(("receipt", {"x": 3}, "c1"))]), [require_approval(receipt)])
    state, _ = drive(graph, lambda _: YES)
    assert transcript(state["messages"])[-1] == ("tool c1", "receipt 3")


def test_a_tools_own_errors_stay_its_own() -> None:
    @tool
    def fails(x: int) -> str:
        """Fail."""
        raise ConnectionError("lost")

    graph = agent_graph("routed", strict_model([calls(("fails", {"x": 3}, "c1"))]), [require_approval(fails)])
    with pytest.raises(ConnectionError, match="lost"):
        drive(graph, lambda _: YES)


def test_a_list_of_tools() -> None:
    tools = require_approval([with_schema, function, with_config], when=lambda args: args["x"] > 2)
    assert [t.name for t in tools] == ["with_schema", "function", "with_config"]
    model = strict_model([calls(("with_schema", {"x": 1}, "c1"), ("function", {"x": 3}, "c2")), "Done."])
    state, pauses = drive(agent_graph("create_agent", model, tools), lambda _: YES)
    assert [[q["tool_call_id"] for q in pause] for pause in pauses] == [["c2"]]
    assert [m.text for m in results(state)] == ["1 weighed", "3 from a function"]


@pytest.mark.parametrize("kind", ["one task", "one list"])
def test_gated_tools_of_different_kinds_in_one_task(kind: Kind) -> None:
    tools = require_approval([with_state, with_named_runtime, OwnAsyncTool(), with_json_schema])
    wanted = [(t.name, {"x": n}, f"c{n}") for n, t in enumerate(tools)]
    graph = agent_graph(kind, strict_model([calls(*wanted), "Done."]), tools)
    state, pauses = drive(graph, lambda q: {"approved": q["name"] != "own_async_tool"})
    assert [[q["name"] for q in pause] for pause in pauses] == [[t.name] for t in tools]
    assert [m.additional_kwargs.get(APPROVAL) for m in results(state)] == [None, None, "denied", None]


def test_called_by_hand_in_a_node() -> None:
    asking = require_approval(function)

    async def node(state: MessagesState) -> dict[str, Any]:
        first = await asking.ainvoke({"x": 1})
        second = await asking.ainvoke({"x": 1})
        return {"messages": [HumanMessage(f"{first} / {second}")]}

    answers = iter([True, False])
    state, pauses = drive(in_a_row({"node": node}), lambda _: next(answers))
    assert [[q["tool_call_id"] for q in pause] for pause in pauses] == [[None], [None]]
    first, second = state["messages"][-1].text.split(" / ")
    assert first == "1 from a function"
    assert "was not executed" in second


def test_run_asks_too() -> None:
    asking = require_approval(function)

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage(str(asking.run({"x": 1}, tool_call_id="c1").text))]}

    state, pauses = drive(in_a_row({"node": node}), lambda _: YES, asynchronous=False)
    assert [[q["tool_call_id"] for q in pause] for pause in pauses] == [["c1"]]
    assert state["messages"][-1].text == "1 from a function"


def test_what_cannot_be_wrapped() -> None:
    with pytest.raises(ValueError, match="requires approval already"):
        require_approval(require_approval(function))
    for wrong in ({"type": "web_search"}, "function", None):
        with pytest.raises(TypeError):
            require_approval(wrong)  # type: ignore[call-overload]


def test_the_original_tool_stays_free() -> None:
    require_approval(with_schema)
    assert with_schema.invoke({"x": 1}) == "1 weighed"


def test_deepagents() -> None:
    deepagents = pytest.importorskip("deepagents")
    model = strict_model([calls(("function", {"x": 3}, "c1"), ("function", {"x": 4}, "c2")), "Done."])
    agent = deepagents.create_deep_agent(model=model, tools=[require_approval(function)], checkpointer=InMemorySaver())
    state, pauses = drive(agent, lambda q: {"approved": q["args"]["x"] == 3})
    assert len(pauses) == 1
    assert [m.additional_kwargs.get(APPROVAL) for m in results(state)] == [None, "denied"]


def test_questions_survive_the_checkpointers_serializer() -> None:
    graph = agent_graph("routed", strict_model([calls(("function", {"x": 1}, "c1"))]), [require_approval(function)])
    config: Any = {"configurable": {"thread_id": "t"}}

    async def stored() -> Any:
        await graph.ainvoke({"messages": [HumanMessage("hi")]}, config)
        return (await graph.aget_state(config)).interrupts[0].value

    value = asyncio.run(stored())
    assert json.loads(json.dumps(value)) == value
