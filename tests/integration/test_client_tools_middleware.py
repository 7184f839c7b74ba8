"""`ClientToolsMiddleware` in `create_agent` and deepagents, with everything that can end a turn another way."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from tests.support.histories import calls, strict_model, transcript
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import CONTEXT_KEY, PENDING, TOOLS_KEY

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.structured_output import AutoStrategy, ToolStrategy

from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

COLOR = {"name": "pick_color", "description": "Let the user pick.", "parameters": {"type": "object", "properties": {}}}
HELLO = {"messages": [HumanMessage("hi")]}


@tool
async def price(item: str) -> str:
    """Price of an item."""
    return f"{item} costs 5"


@tool(return_direct=True)
async def receipt(item: str) -> str:
    """Print a receipt."""
    return f"receipt for {item}"


class Verdict(BaseModel):
    """The final verdict."""

    good: bool


def request(thread: str = "t", *tools: dict[str, Any], context: Sequence[dict[str, str]] = ()) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, TOOLS_KEY: list(tools), CONTEXT_KEY: list(context)}}


def answers(*ids: str) -> dict[str, Any]:
    return {"messages": [ToolMessage("red", tool_call_id=id) for id in ids]}


def held(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [m for m in messages if PENDING in m.additional_kwargs]


def hitl_middleware(name: str, mode: Any) -> Any:
    """LangChain's own approval. Its first releases know the batched mode only."""
    if mode == "per_call" and "interrupt_mode" not in inspect.signature(HumanInTheLoopMiddleware).parameters:
        pytest.skip("this langchain has no per_call mode")
    options: Any = {"interrupt_mode": mode} if mode == "per_call" else {}
    return HumanInTheLoopMiddleware(interrupt_on={name: {"allowed_decisions": ["approve", "reject"]}}, **options)


C1, C2 = ("pick_color", {}, "c1"), ("pick_color", {}, "c2")
S1 = ("price", {"item": "tea"}, "s1")
R1 = ("receipt", {"item": "tea"}, "r1")
V1 = ("Verdict", {"good": True}, "v1")


@pytest.mark.parametrize("saver", [True, False], ids=["thread", "no checkpointer"])
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("turn", "tools", "results"),
    [
        pytest.param([C1], [price], [], id="one call"),
        pytest.param([C1, C2], [price], [], id="two calls"),
        pytest.param([C1, S1], [price], ["s1"], id="mixed"),
        pytest.param([S1, C1], [price], ["s1"], id="mixed, server first"),
        pytest.param([C1], [], [], id="no server tools"),
        pytest.param([C1, R1], [receipt], ["r1"], id="return_direct"),
        pytest.param([C1, ("invented", {}, "x1")], [price], ["x1"], id="unknown name"),
    ],
)
async def test_a_turn_with_client_calls(
    turn: list[Any], tools: list[Any], results: list[str], saver: bool, asynchronous: bool
) -> None:
    if not asynchronous:
        tools = [tool(t.name, return_direct=t.return_direct)(_sync(t)) for t in tools]
    model = strict_model([calls(*turn), "Red it is."])
    agent = create_agent(
        model, tools, middleware=[ClientToolsMiddleware()], checkpointer=InMemorySaver() if saver else None
    )

    async def run(given: Any) -> dict[str, Any]:
        config = request("t", COLOR)
        return dict(await agent.ainvoke(given, config) if asynchronous else agent.invoke(given, config))

    first = await run(HELLO)
    assert [m.type for m in first["messages"][:2]] == ["human", "ai"]
    assert [m.tool_call_id for m in first["messages"][2:]] == results
    assert first["messages"][1].tool_calls == [
        {"name": name, "args": args, "id": id, "type": "tool_call"} for name, args, id in turn
    ]
    assert len(model.calls) == 1
    given = answers(*(id for name, _, id in turn if name == "pick_color"))
    second = await run(given if saver else {"messages": first["messages"] + given["messages"]})
    assert transcript(second["messages"])[-1] == ("ai", "Red it is.")
    assert all("pick_color" in names for names in model.call_tools)


def _sync(original: Any) -> Any:
    def call(item: str) -> str:
        """A synchronous server tool."""
        return str(asyncio.run(original.coroutine(item)))

    return call


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_with_the_hitl_middleware(mode: Any, order: str, decision: str) -> None:
    hitl: Any = hitl_middleware("price", mode)
    middleware = [hitl, ClientToolsMiddleware()] if order == "before" else [ClientToolsMiddleware(), hitl]
    model = strict_model([calls(C1, S1, C2), "Done."])
    agent = create_agent(model, [price], middleware=middleware, checkpointer=InMemorySaver())
    paused = await agent.ainvoke(HELLO, request("t", COLOR))
    [question] = paused["__interrupt__"]
    one = {"type": decision}
    resume = {question.id: {"decisions": [one]} if mode == "batched" else one}
    ended = await agent.ainvoke(Command(resume=resume), request("t", COLOR))
    assert [m.tool_call_id for m in ended["messages"] if isinstance(m, ToolMessage)] == ["s1"]
    done = await agent.ainvoke(answers("c1", "c2"), request("t", COLOR))
    assert transcript(done["messages"])[-1] == ("ai", "Done.")
    assert len(model.calls) == 2


@pytest.mark.parametrize("strategy", [ToolStrategy, AutoStrategy])
@pytest.mark.parametrize("together", [True, False])
async def test_with_structured_output(strategy: Any, together: bool) -> None:
    model = strict_model([calls(C1, V1) if together else calls(C1, S1), calls(("Verdict", {"good": False}, "v2"))])
    agent = create_agent(
        model,
        [price],
        middleware=[ClientToolsMiddleware()],
        response_format=strategy(Verdict),
        checkpointer=InMemorySaver(),
    )
    first = await agent.ainvoke(HELLO, request("t", COLOR))
    assert not held(first["messages"])
    assert first.get("structured_response") == (Verdict(good=True) if together else None)
    second = await agent.ainvoke(answers("c1"), request("t", COLOR))
    assert second["structured_response"] == Verdict(good=False)


async def test_names_of_the_server_win(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def of_both_sides(item: str) -> str:
        """The server's."""
        return f"server: {item}"

    model = strict_model([calls(("of_both_sides", {"item": "tea"}, "s1")), calls(("Verdict", {"good": True}, "v1"))])
    agent = create_agent(
        model,
        [of_both_sides],
        middleware=[ClientToolsMiddleware()],
        response_format=ToolStrategy(Verdict),
    )
    clashing = [COLOR, {**COLOR, "name": "of_both_sides"}, {**COLOR, "name": "Verdict"}]
    done = await agent.ainvoke(HELLO, request("t", *clashing))
    assert ("tool s1", "server: tea") in transcript(done["messages"])
    assert done["structured_response"] == Verdict(good=True)
    assert [sorted(names) for names in model.call_tools] == [["Verdict", "of_both_sides", "pick_color"]] * 2
    assert sum("'of_both_sides'" in record.getMessage() for record in caplog.records) == 1


async def test_deepagents() -> None:
    deepagents = pytest.importorskip("deepagents")
    model = strict_model([calls(("ls", {"path": "/"}, "w1")), calls(C1, S1), "Red it is."])
    agent = deepagents.create_deep_agent(
        model=model, tools=[price], middleware=[ClientToolsMiddleware()], checkpointer=InMemorySaver()
    )
    first = await agent.ainvoke(HELLO, request("t", COLOR))
    assert [m.tool_call_id for m in first["messages"] if isinstance(m, ToolMessage)] == ["w1", "s1"]
    assert {"ls", "task", "price", "pick_color"} <= set(model.call_tools[0])
    second = await agent.ainvoke(answers("c1"), request("t", COLOR))
    assert transcript(second["messages"])[-1] == ("ai", "Red it is.")


async def test_requests_with_different_tools_on_one_agent_at_once() -> None:
    waiting = 0
    everybody = asyncio.Event()

    class Meet(AgentMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            nonlocal waiting
            waiting += 1
            if waiting == 12:
                everybody.set()
            await everybody.wait()
            return await handler(request)

    def script(messages: list[BaseMessage]) -> Any:
        return calls((messages[-1].text, {}, f"call-{messages[-1].text}"))

    agent = create_agent(
        strict_model(script), [price], middleware=[ClientToolsMiddleware(), Meet()], checkpointer=InMemorySaver()
    )

    async def one(name: str) -> list[tuple[str, str]]:
        done = await agent.ainvoke({"messages": [HumanMessage(name)]}, request(name, {**COLOR, "name": name}))
        return transcript(done["messages"])

    names = [f"tool_{n}" for n in range(12)]
    assert await asyncio.gather(*map(one, names)) == [[("human", name), ("ai", "")] for name in names]


async def test_placeholders_are_never_in_a_finished_run_nor_seen_by_the_model() -> None:
    model = strict_model([calls(C1, S1), calls(C2), "Done."])
    agent = create_agent(model, [price], middleware=[ClientToolsMiddleware()], checkpointer=InMemorySaver())
    marked = 0
    for given in (HELLO, answers("c1"), answers("c2")):
        async for mode, chunk in agent.astream(given, request("t", COLOR), stream_mode=["updates", "values"]):
            if mode == "values":
                last = chunk
            else:
                marked += sum(
                    len(held(update["messages"])) for update in chunk.values() if update and "messages" in update
                )
        assert not held(last["messages"])
        assert not held((await agent.aget_state(request())).values["messages"])
    assert marked == 2  # They pass through the stream, each marked, one per client call.
    assert transcript(last["messages"])[-1] == ("ai", "Done.")


class FailsOnce(AgentMiddleware):
    """Breaks the run after the tools, when the placeholders are in the thread."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        self.turns += 1
        if self.turns == 2:
            raise ConnectionError("lost")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            [ToolMessage("red", tool_call_id="c1")], [("tool s1", "tea costs 5"), ("tool c1", "red")], id="answer"
        ),
        pytest.param(
            [HumanMessage("forget it")],
            [
                ("tool c1", "The user's application did not answer this call."),
                ("tool s1", "tea costs 5"),
                ("human", "forget it"),
            ],
            id="another message",
        ),
        pytest.param(
            [ToolMessage("not answered", tool_call_id="c1", status="error"), HumanMessage("forget it")],
            [("tool s1", "tea costs 5"), ("tool c1", "not answered"), ("human", "forget it")],
            id="answered for the client",
        ),
    ],
)
async def test_what_a_failed_run_left_behind_does_not_stay(
    given: list[AnyMessage], expected: list[tuple[str, str]]
) -> None:
    model = strict_model([calls(C1, S1), "Done."])
    agent = create_agent(
        model, [price], middleware=[FailsOnce(), ClientToolsMiddleware()], checkpointer=InMemorySaver()
    )
    with pytest.raises(ConnectionError):
        await agent.ainvoke(HELLO, request("t", COLOR))
    left = (await agent.aget_state(request())).values["messages"]
    assert len(held(left)) == 1  # The case is real.
    done = await agent.ainvoke({"messages": given}, request("t", COLOR))
    assert transcript(done["messages"][2:]) == [*expected, ("ai", "Done.")]


@pytest.mark.parametrize(
    ("system", "blocks"),
    [
        (None, 1),
        ("You sell tea.", 1),
        (SystemMessage([{"type": "text", "text": "You sell tea."}]), 2),
    ],
)
async def test_context_is_added_to_the_system_message(system: Any, blocks: int) -> None:
    model = strict_model(["Good evening."])
    agent = create_agent(model, [price], system_prompt=system, middleware=[ClientToolsMiddleware()])
    await agent.ainvoke(HELLO, request("t", context=[{"description": "Local time", "value": "20:15"}]))
    message = model.calls[0][0]
    assert message.type == "system"
    assert "Local time:\n20:15" in message.text
    assert system is None or message.text.startswith("You sell tea.")
    assert blocks == (len(message.content) if isinstance(message.content, list) else 1)


async def test_without_context_the_system_message_stays() -> None:
    model = strict_model(["Hello.", "Hello."])
    context = [{"description": "Local time", "value": "20:15"}]
    on = create_agent(model, [price], system_prompt="You sell tea.", middleware=[ClientToolsMiddleware()])
    off = create_agent(model, [price], system_prompt="You sell tea.", middleware=[ClientToolsMiddleware(context=False)])
    await on.ainvoke(HELLO, request("t"))
    await off.ainvoke(HELLO, request("t", context=context))
    assert [m[0].text for m in model.calls] == ["You sell tea."] * 2


async def test_a_graph_without_the_adapter_needs_no_keys() -> None:
    model = strict_model([calls(S1), "Done."])
    done = await create_agent(model, [price], middleware=[ClientToolsMiddleware()]).ainvoke(HELLO)
    assert transcript(done["messages"])[-1] == ("ai", "Done.")
    assert isinstance(done["messages"][-1], AIMessage)


async def test_beside_the_hitl_middleware_and_tools_that_require_approval() -> None:
    @tool
    async def pay(x: int) -> str:
        """Pay."""
        return f"paid {x}"

    hitl = hitl_middleware("price", "per_call")
    model = strict_model([calls(("pay", {"x": 1}, "p1"), S1, C1)])
    agent: Any = create_agent(
        model,
        [require_approval(pay), price],
        middleware=[hitl, ClientToolsMiddleware()],
        checkpointer=InMemorySaver(),
    )
    questions = (await agent.ainvoke(HELLO, request("t", COLOR)))["__interrupt__"]
    shape = {"type", "tool_call_id", "name", "args", "description"}
    assert [set(question.value) for question in questions] == [shape, shape]
    resume = {question.id: {"type": "approve"} for question in questions}
    ended = await agent.ainvoke(Command(resume=resume), request("t", COLOR))
    assert transcript(ended["messages"][2:]) == [("tool p1", "paid 1"), ("tool s1", "tea costs 5")]


def test_without_langchain_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['langchain'] = None\nimport yai_nexus_agentkit.orchestration.middleware"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: ClientToolsMiddleware needs the package langchain: pip install 'yai-nexus-agentkit[langchain]'"
    )
