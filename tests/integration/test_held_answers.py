"""Answers that wait for the middleware behind the model: nothing leaves unredacted, in any byte of the stream."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.serving import call, run_body
from tests.support.two_sources import Heard, Source, answer, hear
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.adapter.langgraph.middleware import AgentMiddlewares
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import collect, reasoning_part, record, run_input, tool_call_parts

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])
SECRET = "ann@example.com"
PIECES = ["Write to ann", "@example", ".com today."]
HIDDEN = "[REDACTED_EMAIL]"
ANSWER = f"Write to {HIDDEN} today."
LOOK = tool_call_parts("look_up", {"who": SECRET}, "call_1")
CLEAN = "It is done."


@tool
async def look_up(who: str) -> str:
    """Look somebody up."""
    return f"{who} is on holiday"


@tool("look_up")
def discreet(who: str) -> str:
    """Look somebody up."""
    return "She is on holiday"


def pii(**fields: Any) -> Any:
    return middleware.PIIMiddleware("email", **{"apply_to_output": True, **fields})


class Redact(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Rewrites the newest answer, its reasoning and calls, and the newest results."""

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [redacted(m) for m in state["messages"] if m.type == "ai"]}

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [redacted(m) for m in state["messages"] if m.type == "tool"]}


class Declared(Redact):
    holds_answer = True


class Wrapped(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Rewrites an answer in the model's own node."""

    holds_answer = True

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        response = await handler(request)
        response.result = [redacted(m) for m in response.result]
        return response


class Retried(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Asks the model again where an answer has the secret. No node stores the refused one."""

    holds_answer = True

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        response = await handler(request)
        return await handler(request) if SECRET in str(response.result) else response


class Refuse(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Ends the run if the newest answer has the secret."""

    holds_answer = True

    def after_model(self, state: Any, runtime: Any) -> None:
        if SECRET in str(state["messages"][-1]):
            raise ValueError("refused")


def redacted(message: Any) -> Any:
    text = json.dumps(message.model_dump(mode="json")).replace(SECRET, HIDDEN)
    return type(message).model_validate_json(text)


def agent(*script: Any, saver: bool = True, tools: Any = (look_up,), streaming: bool = True, **fields: Any) -> Graph:
    checkpointer = InMemorySaver() if saver else None
    made: Graph = agents.create_agent(
        scripted(*script, streaming=streaming), list(tools), checkpointer=checkpointer, **fields
    )
    return made


def everything(own: Any, **fields: Any) -> Graph:
    """Text, reasoning, arguments and results, all with the secret; twice, for two turns."""
    first = [reasoning_part(f"I think of {SECRET}. "), *PIECES, *LOOK]
    again = [f"Once more {SECRET}. ", *tool_call_parts("look_up", {"who": SECRET}, "call_2")]
    return agent(first, PIECES, again, PIECES, middleware=[own], **fields)


def retried(saver: bool = True) -> Graph:
    calls = tool_call_parts("look_up", {"who": "her"}, "call_1")
    return agent(PIECES, [CLEAN, *calls], PIECES, [CLEAN], PIECES, [CLEAN], saver=saver, middleware=[Retried()])


def saved(made: Any, **nodes: Any) -> Graph:
    return in_a_row({"agent": made, **nodes}, checkpointer=InMemorySaver())


def asking(inner: Graph) -> BaseTool:
    @tool
    async def ask(question: str) -> str:
        """Ask somebody else."""
        found = await inner.ainvoke({"messages": [("user", question)]})
        return str(found["messages"][-1].text)

    return ask


def delegating(own: Any) -> Graph:
    calls = tool_call_parts("ask", {"question": "who?"}, "call_a")
    return agent(calls, [CLEAN], calls, [CLEAN], tools=[asking(everything(own, saver=False))])


def side_by_side(own: Any, other: Any) -> Graph:
    builder = StateGraph(MessagesState)
    for name, made in (("one", own), ("two", other)):
        builder.add_node(name, everything(made, saver=False)).add_edge(START, name)
    return builder.compile(checkpointer=InMemorySaver())


def by_hand() -> Graph:
    """No middleware: a later node of the graph redacts."""

    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def clean(state: Any) -> Any:
        return {"messages": [redacted(state["messages"][-1])]}

    model = scripted(PIECES, PIECES)
    return in_a_row({"speak": speak, "clean": clean}, checkpointer=InMemorySaver())


def around() -> Graph:
    """The graph around the agents redacts."""

    async def clean(state: Any) -> Any:
        return {"messages": [redacted(m) for m in state["messages"] if m.type == "ai"]}

    made = agent(PIECES, PIECES, saver=False, tools=())
    return saved(made, clean=clean)


def rebuilt() -> Graph:
    """A later node removes the answer and writes another message."""
    from langchain_core.messages import RemoveMessage

    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def clean(state: Any) -> Any:
        return {"messages": [RemoveMessage(id=state["messages"][-1].id), AIMessage(ANSWER)]}

    model = scripted(PIECES, PIECES)
    return in_a_row({"speak": speak, "clean": clean}, checkpointer=InMemorySaver())


class Talk(MessagesState, total=False):
    talk: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


def other_keys() -> Graph:
    """The answer is in other keys of the state as well, until a later node cleans them."""

    async def speak(state: Any) -> Any:
        said = await model.ainvoke([("user", "hi")])
        return {"messages": [said], "talk": [said]}

    async def clean(state: Any) -> Any:
        return {"messages": [redacted(state["messages"][-1])], "talk": [redacted(state["talk"][-1])]}

    model = scripted(PIECES, PIECES)
    return in_a_row({"speak": speak, "clean": clean}, Talk, checkpointer=InMemorySaver())


def functional() -> Runnable[Any, Any]:
    model = scripted(PIECES, PIECES)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given: Any, *, previous: Any = None) -> Any:
        said = await model.ainvoke(given["messages"])
        return {"messages": [redacted(said)]}

    return flow


PII: dict[str, Callable[[], Any]] = {
    "redact": lambda: everything(pii()),
    "results too": lambda: everything(pii(apply_to_tool_results=True)),
    "results only": lambda: everything(pii(apply_to_output=False, apply_to_tool_results=True)),
    "mask": lambda: everything(pii(strategy="mask")),
    "hash": lambda: everything(pii(strategy="hash")),
    "a model that cannot stream": lambda: everything(pii(), streaming=False),
    "no checkpointer": lambda: everything(pii(), saver=False),
    "subgraph": lambda: saved(everything(pii(), saver=False)),
    "subagent": lambda: delegating(pii()),
    "parallel": lambda: side_by_side(pii(), pii()),
}
DECLARED: dict[str, Callable[[], Any]] = {
    "root": lambda: everything(Declared()),
    "subgraph": lambda: saved(everything(Declared(), saver=False)),
    "subagent": lambda: delegating(Declared()),
    "parallel": lambda: side_by_side(Declared(), Declared()),
    "around the model": lambda: everything(Wrapped(), tools=[discreet]),
    "around the model, subgraph": lambda: saved(everything(Wrapped(), saver=False, tools=[discreet])),
    "asked again": retried,
    "asked again, subgraph": lambda: saved(retried(saver=False)),
    "asked again, subagent": lambda: agent(
        *[tool_call_parts("ask", {"question": "who?"}, "call_a"), [CLEAN]] * 2, tools=[asking(retried(saver=False))]
    ),
}
ANY: dict[str, Callable[[], Any]] = {
    "root": lambda: everything(Redact()),
    "no checkpointer": lambda: everything(Redact(), saver=False),
    "subgraph": lambda: saved(everything(Redact(), saver=False)),
    "subagent": lambda: delegating(Redact()),
    "parallel": lambda: side_by_side(Redact(), Redact()),
    "a later node": by_hand,
    "a node around": around,
    "rebuilt": rebuilt,
    "other keys": other_keys,
    "functional": functional,
}
CASES = [
    *(pytest.param(build, {}, id=f"PII, {name}") for name, build in PII.items()),
    *(pytest.param(build, {}, id=f"declared, {name}") for name, build in DECLARED.items()),
    *(pytest.param(build, {"hold": "answer"}, id=f"any, {name}") for name, build in ANY.items()),
]


def leaks(heard: Heard) -> list[Any]:
    return [e for e in heard.events if SECRET in json.dumps(e)]


@both_sources
@pytest.mark.parametrize(("build", "options"), CASES)
async def test_nothing_leaves_unredacted(
    judge: Judge, source: Source, build: Callable[[], Any], options: dict[str, Any]
) -> None:
    heard = await hear(build, source, judge, "hi", "again", **options)
    assert leaks(heard) == []
    assert all(run["events"][-1]["type"] == "RUN_FINISHED" for run in heard.runs)
    texts = [m["content"] for m in heard.views[-1]["messages"] if m["role"] == "assistant" and m.get("content")]
    assert len(texts) >= 2


# ---------------------------------------------------------------- answers that are refused


def block(**fields: Any) -> Any:
    return pii(strategy="block", **fields)


class Complete(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Refuses calls without a result, as providers do."""

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        made = [call["id"] for m in request.messages if m.type == "ai" for call in m.tool_calls]
        assert sorted(made) == sorted(m.tool_call_id for m in request.messages if m.type == "tool")
        return await handler(request)


def guarded(own: Any, **fields: Any) -> Graph:
    """The first answer is refused, the second is not."""
    return agent([*PIECES, *LOOK], [CLEAN], [CLEAN], middleware=[own, Complete()], **fields)


def refused_results(own: Any) -> Graph:
    """The result of a tool is refused."""
    calls = tool_call_parts("look_up", {"who": "her"}, "call_1")
    return agent(calls, [CLEAN], [CLEAN], tools=[found_out], middleware=[own])


@tool("look_up")
async def found_out(who: str) -> str:
    """Look somebody up."""
    return f"{who}: {SECRET}"


class RefuseResults(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    holds_answer = True

    def before_model(self, state: Any, runtime: Any) -> None:
        if state["messages"][-1].type == "tool" and SECRET in state["messages"][-1].text:
            raise ValueError("refused")


def refusing_by_hand() -> Graph:
    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def check(state: Any) -> None:
        if SECRET in state["messages"][-1].text:
            raise ValueError("refused")

    model = scripted(PIECES, [CLEAN], [CLEAN])
    return in_a_row({"speak": speak, "check": check}, checkpointer=InMemorySaver())


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "block": (lambda: guarded(block()), {}),
    "block, subgraph": (lambda: saved(guarded(block(), saver=False)), {}),
    "block, results": (lambda: refused_results(block(apply_to_output=False, apply_to_tool_results=True)), {}),
    "declared": (lambda: guarded(Refuse()), {}),
    "declared, a model that cannot stream": (lambda: guarded(Refuse(), streaming=False), {}),
    "declared, subgraph": (lambda: saved(guarded(Refuse(), saver=False)), {}),
    "declared, results": (lambda: refused_results(RefuseResults()), {}),
    "any": (lambda: guarded(Refuse()), {"hold": "answer"}),
    "a later node": (refusing_by_hand, {"hold": "answer"}),
}


@pytest.mark.parametrize(("source", "snapshots"), [("events", "auto"), ("callbacks", "always")])
@pytest.mark.parametrize(("build", "options"), REFUSED.values(), ids=REFUSED)
async def test_a_refused_answer_never_leaves(
    judge: Judge, source: Source, build: Callable[[], Any], options: dict[str, Any], snapshots: str
) -> None:
    heard = await hear(build, source, judge, "hi", "again", "more", messages_snapshot=snapshots, **options)
    assert leaks(heard) == []
    ends = [run["events"][-1]["type"] for run in heard.runs]
    if build is REFUSED["block, results"][0]:  # the middleware finds the result again in each turn
        assert ends == ["RUN_ERROR"] * 3
        return
    assert ends == ["RUN_ERROR", "RUN_FINISHED", "RUN_FINISHED"]
    assert [m["content"] for m in heard.views[0]["messages"] if m["role"] == "user"] == ["hi"]
    said = [m.get("content") for m in heard.views[-1]["messages"] if m["role"] in ("user", "assistant", "tool")]
    assert [text for text in said if text] == ["hi", "again", CLEAN, "more", CLEAN]


@pytest.mark.parametrize(("build", "options"), REFUSED.values(), ids=REFUSED)
async def test_nor_does_a_stored_thread_show_it(
    judge: Judge, build: Callable[[], Any], options: dict[str, Any]
) -> None:
    adapter = AGUIAdapter(build(), options=AdapterOptions(**options))
    asked: dict[str, Any] = {"thread_id": "t", "run_id": "r1"}
    await record(adapter, run_input("hi", **asked))
    threads = adapter.threads()
    assert threads is not None
    context = RunContext(run_input("", **asked), True, adapter.options, adapter.effective_hooks)
    for text in ("again", "more", ""):
        shown = await threads.messages("t", context)
        assert SECRET not in shown.model_dump_json()
        state = await threads.state("t", context)
        assert SECRET not in state.model_dump_json()
        # A page that loads anew holds nothing, and a request of it that says nothing shows the thread.
        events = await collect(adapter, run_input([], **{**asked, "run_id": f"load{text}"}))
        assert SECRET not in json.dumps(events)
        await record(adapter, run_input(text, **{**asked, "run_id": f"r{text}"}) if text else run_input([], **asked))


# ---------------------------------------------------------------- questions


def approving(*order: str, own: Callable[[], Any] = Redact) -> Graph:
    asks = middleware.HumanInTheLoopMiddleware({"look_up": True})
    kinds = {"asks": asks, "own": own()}
    return agent([*PIECES, *LOOK], PIECES, [CLEAN], middleware=[kinds[name] for name in order])


def approve_by_hand() -> Graph:
    """The graph redacts, then asks."""

    async def speak(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def clean(state: Any) -> Any:
        return {"messages": [redacted(state["messages"][-1])]}

    async def ask(state: Any) -> None:
        interrupt("Send it?")

    model = scripted(PIECES, PIECES)
    return in_a_row({"speak": speak, "clean": clean, "ask": ask}, checkpointer=InMemorySaver())


@tool
async def ask_somebody(who: str) -> str:
    """Ask."""
    interrupt("Who?")
    return f"{who} is on holiday"


def asking_tool(own: Any) -> Graph:
    calls = tool_call_parts("ask_somebody", {"who": SECRET}, "call_1")
    return agent([*PIECES, *calls], PIECES, [CLEAN], tools=[ask_somebody], middleware=[own])


YES = {"decisions": [{"type": "approve"}]}
QUESTIONS: dict[str, tuple[Callable[[], Any], dict[str, Any], Any, bool]] = {
    # agent, options, answer, whether the question comes with the answer it is about
    "PII, asks first": (lambda: approving("asks", "own", own=pii), {}, YES, True),
    "PII, asks last": (lambda: approving("own", "asks", own=pii), {}, YES, True),
    "declared, asks first": (lambda: approving("asks", "own", own=Declared), {}, YES, True),
    "declared, asks last": (lambda: approving("own", "asks", own=Declared), {}, YES, False),
    "any, asks last": (lambda: approving("own", "asks"), {"hold": "answer"}, YES, False),
    "by hand": (approve_by_hand, {"hold": "answer"}, "yes", True),
    "PII, a tool asks": (lambda: asking_tool(pii()), {}, "her", True),
    "declared, a tool asks": (lambda: asking_tool(Declared()), {}, "her", True),
}


@both_sources
@pytest.mark.parametrize(("build", "options", "given", "shown"), QUESTIONS.values(), ids=QUESTIONS)
async def test_questions(
    judge: Judge, source: Source, build: Callable[[], Any], options: dict[str, Any], given: Any, shown: bool
) -> None:
    heard = await hear(build, source, judge, "hi", answer(given), "again", **options)
    asked = [i for run in heard.runs[:1] for i in run["events"][-1]["outcome"]["interrupts"]]
    # What the middleware asks with is its own: the question of one that is asked too early has the arguments.
    early = [e for e in heard.runs[0]["events"] if e["type"] == "RUN_FINISHED"] if not shown else []
    assert [e for e in leaks(heard) if e not in early] == []
    texts = [m.get("content") for m in heard.views[0]["messages"] if m["role"] == "assistant"]
    assert texts == ([ANSWER] if shown else [])
    assert len(asked) == 1
    assert [run["events"][-1]["type"] for run in heard.runs[1:]] == ["RUN_FINISHED", "RUN_FINISHED"]
    answers = [m.get("content") for m in heard.views[1]["messages"] if m["role"] == "assistant"]
    assert answers == ([ANSWER, ANSWER] if build is not approve_by_hand else [ANSWER])


# ---------------------------------------------------------------- when, and what else


def kinds(heard: Heard, run: int = 0) -> list[str]:
    """The events of a run in short: types, with the names of steps; deltas of one message as one."""
    found: list[str] = []
    for event in heard.runs[run]["events"]:
        name = f"{event['type']} {event['stepName']}" if "stepName" in event else event["type"]
        if event["type"].startswith(("STEP", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_RESULT")):
            found.append(name)
    return found


@both_sources
async def test_an_answer_goes_out_when_its_tools_begin_and_a_result_when_the_model_reads_it(
    judge: Judge, source: Source
) -> None:
    heard = await hear(lambda: everything(Declared()), source, judge)
    assert kinds(heard) == [
        "STEP_STARTED model",
        "STEP_FINISHED model",
        "STEP_STARTED tools",
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_START",
        "STEP_FINISHED tools",
        "TOOL_CALL_RESULT",
        "STEP_STARTED model",
        "STEP_FINISHED model",
        "TEXT_MESSAGE_CONTENT",
    ]
    assert not [e for e in heard.events if e["type"] == "MESSAGES_SNAPSHOT"]


@both_sources
async def test_redacted_messages_that_come_back_change_nothing(judge: Judge, source: Source) -> None:
    heard = await hear(lambda: everything(pii(apply_to_tool_results=True)), source, judge, "hi", "again")
    assert not [e for e in heard.events if e["type"] == "MESSAGES_SNAPSHOT"]
    held = heard.views[-1]["messages"]
    assert [m["role"] for m in held if m["role"] != "reasoning"] == ["user", "assistant", "tool", "assistant"] * 2


@both_sources
@pytest.mark.parametrize(
    ("build", "options"),
    [
        (lambda: agent(PIECES, middleware=[pii()]), {"hold": "never"}),
        (lambda: agent(PIECES, middleware=[pii(apply_to_output=False)]), {}),
        (lambda: agent(PIECES, middleware=[Redact()]), {}),
        (lambda: agent(PIECES), {}),
    ],
    ids=["never", "input alone", "not declared", "no middleware"],
)
async def test_nothing_waits(judge: Judge, source: Source, build: Callable[[], Any], options: dict[str, Any]) -> None:
    heard = await hear(build, source, judge, **options)
    assert [e["delta"] for e in heard.events if e["type"] == "TEXT_MESSAGE_CONTENT"] == PIECES


async def test_the_applications_hooks_see_what_is_redacted(judge: Judge) -> None:
    seen: list[str] = []

    def on_event(event: Any, run: RunContext) -> list[Any]:
        seen.append(event.model_dump_json())
        return [event]

    def on_messages(messages: list[Any], run: RunContext) -> list[Any]:
        seen.extend(m.model_dump_json() for m in messages)
        return messages

    def on_state(state: dict[str, Any], run: RunContext) -> dict[str, Any]:
        seen.append(json.dumps(state))
        return state

    class Noted(middleware.AgentState):  # type: ignore[name-defined, misc]
        note: str

    class Notes(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
        state_schema = Noted

        def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"note": f"wrote {SECRET}"}

    hooks = Hooks(on_event=on_event, on_messages=on_messages, on_state=on_state)
    graph = agent(PIECES, middleware=[Notes(), pii()])
    adapter = AGUIAdapter(graph, options=AdapterOptions(messages_snapshot="always"), hooks=hooks)
    run = await record(adapter, run_input("hi", thread_id="t"))
    assert SECRET not in json.dumps(run["events"])
    assert SECRET not in "".join(seen)
    assert judge([run]).state["note"] == f"wrote {HIDDEN}"
    assert any(HIDDEN in one for one in seen)


async def test_the_routes_of_a_server_redact_too() -> None:
    app = create_app(AGUIAdapter(everything(block())))
    await call(app, "POST", "/", run_body("hi", thread="t1"))
    for path in ("/threads/t1/messages", "/threads/t1/state"):
        answered = await call(app, "GET", path)
        assert answered.status == 200, path
        assert SECRET.encode() not in answered.body


INNER = agent(PIECES, saver=False, middleware=[pii()])


@tool
async def by_name(question: str) -> str:
    """Ask an agent that the module has."""
    return str((await INNER.ainvoke({"messages": [("user", question)]}))["messages"][-1].text)


class Transforms(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    class Transformer:
        before_builtins = True

    transformers = (Transformer,)

    def after_model(self, state: Any, runtime: Any) -> None:
        return None


FOUND: dict[str, tuple[Callable[[], Any], tuple[int, bool]]] = {
    # agent -> PIIMiddlewares, and whether others declare that they rewrite answers
    "nothing": (lambda: agent(PIECES), (0, False)),
    "input alone": (lambda: agent(PIECES, middleware=[pii(apply_to_output=False)]), (0, False)),
    "two": (
        lambda: agent(PIECES, middleware=[pii(), middleware.PIIMiddleware("ip", apply_to_output=True)]),
        (2, False),
    ),
    "declared": (lambda: agent(PIECES, middleware=[Declared()]), (0, True)),
    "around the model": (lambda: agent(PIECES, middleware=[Wrapped()]), (0, True)),
    "a transformer": (lambda: agent(PIECES, middleware=[Transforms()]), (0, True)),
    "middleware's own calls": (
        lambda: agent(PIECES, middleware=[middleware.SummarizationMiddleware(scripted("S"))]),
        (0, False),
    ),
    "a node": (lambda: saved(agent(PIECES, saver=False, middleware=[pii()])), (1, False)),
    "a tool's closure": (lambda: agent(PIECES, tools=[asking(agent(PIECES, middleware=[pii()]))]), (1, False)),
    "a tool's module": (lambda: agent(PIECES, tools=[by_name]), (1, False)),
    "a chain": (lambda: agent(PIECES, middleware=[pii()]) | (lambda values: values), (1, False)),
    "a functional graph": (functional, (0, False)),
}


@pytest.mark.parametrize(("build", "found"), FOUND.values(), ids=FOUND)
def test_middleware_is_found_wherever_it_is(build: Callable[[], Any], found: tuple[int, bool]) -> None:
    middlewares = AgentMiddlewares(build())
    assert (len(middlewares.redactors), middlewares.declares) == found
