"""Names of agents, and what middleware does beside the conversation: hooks, and the work inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.tools import weather
from tests.support.two_sources import Heard, Source, hear
from yai_nexus_agentkit.testing import tool_call_parts

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])
CALL = tool_call_parts("weather", {"city": "Oslo"}, "call_1")


def agent(*script: Any, tools: Any = (), **fields: Any) -> Graph:
    made: Graph = agents.create_agent(scripted(*script), list(tools), **fields)
    return made


def saved(**nodes: Any) -> Graph:
    return in_a_row(nodes, checkpointer=InMemorySaver())


def asking(inner: Graph) -> BaseTool:
    @tool
    async def ask(question: str) -> str:
        """Ask somebody else."""
        answer = await inner.ainvoke({"messages": [("user", question)]})
        return str(answer["messages"][-1].text)

    return ask


def started(heard: Heard, run: int = 0) -> list[str | None]:
    """The names that texts started with."""
    return [e.get("name") for e in heard.runs[run]["events"] if e["type"] == "TEXT_MESSAGE_START"]


def snapshots(heard: Heard) -> int:
    return sum(e["type"] == "MESSAGES_SNAPSHOT" for e in heard.events)


ASK = tool_call_parts("ask", {"question": "hm?"}, "call_1")

NAMED: dict[str, tuple[Callable[[], Graph], list[str | None]]] = {
    "at the root": (lambda: agent("Hi.", name="ann", checkpointer=InMemorySaver()), ["ann"]),
    "one after the other": (lambda: saved(a=agent("A.", name="ann"), b=agent("B.", name="bob")), ["ann", "bob"]),
    "a model that cannot stream": (lambda: saved(a=agent_of(scripted("A.", streaming=False), name="ann")), ["ann"]),
    "no name in a graph with one": (lambda: saved(a=in_a_row({"b": agent("A.")})), [None]),
    "text beside a call": (
        lambda: agent(["Let me see. ", *CALL], ["Rain."], tools=[weather], name="ann", checkpointer=InMemorySaver()),
        ["ann", "ann"],
    ),
    "a nameless subagent": (
        lambda: agent(ASK, ["Out."], tools=[asking(agent("In."))], name="ann", checkpointer=InMemorySaver()),
        [None, "ann"],
    ),
    "a subagent": (
        lambda: agent(ASK, ["Out."], tools=[asking(agent("In.", name="bob"))], checkpointer=InMemorySaver()),
        ["bob", None],
    ),
    "a node's own message": (lambda: saved(a=lambda state: {"messages": [AIMessage("A.", name="ann")]}), ["ann"]),
}


def agent_of(model: Any, **fields: Any) -> Graph:
    made: Graph = agents.create_agent(model, [], **fields)
    return made


@both_sources
@pytest.mark.parametrize("chunks", [False, True], ids=["start", "chunks"])
@pytest.mark.parametrize(("build", "names"), NAMED.values(), ids=NAMED)
async def test_texts_start_with_the_name_of_their_agent(
    judge: Judge, source: Source, build: Callable[[], Graph], names: list[str | None], chunks: bool
) -> None:
    heard = await hear(build, source, judge, text_chunks=chunks)
    if not chunks:
        assert started(heard) == names
    texts = [m for m in heard.views[-1]["messages"] if m["role"] == "assistant" and m.get("content")]
    assert [m.get("name") for m in texts] == names
    assert snapshots(heard) == 0


@both_sources
async def test_a_name_that_comes_with_the_whole_message_follows(judge: Judge, source: Source) -> None:
    async def speak(state: Any) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        answer.name = "ann"
        return {"messages": [answer]}

    model = scripted("Hi.", "Again.")
    heard = await hear(lambda: saved(speak=speak), source, judge, "hi", "again")
    assert [m.get("name") for m in heard.views[-1]["messages"] if m["role"] == "assistant"] == ["ann", "ann"]


class Hooks(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """All four hooks; one asks a model, another an agent, as a grader does, and one says something itself."""

    def __init__(self) -> None:
        super().__init__()
        self._grader = agents.create_agent(scripted(CALL, ["It rains indeed."]), [weather])
        self._guard = scripted("SAFE")

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Welcome.")]}

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        await self._guard.ainvoke(state["messages"])

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        await self._grader.ainvoke({"messages": state["messages"]})

    def after_model(self, state: Any, runtime: Any) -> None:
        return None


def steps(heard: Heard) -> list[str]:
    return [e["stepName"] for e in heard.events if e["type"] == "STEP_STARTED"]


WRAPS: dict[str, tuple[Callable[[Graph], Graph], list[str]]] = {
    "root": (lambda made: made, ["model"]),
    "subgraph": (lambda made: saved(a=made), ["a", "a/model"]),
}


@both_sources
@pytest.mark.parametrize(("wrap", "expected"), WRAPS.values(), ids=WRAPS)
async def test_hooks_and_their_work_are_not_shown(
    judge: Judge, source: Source, wrap: Callable[[Graph], Graph], expected: list[str]
) -> None:
    saver = {"checkpointer": InMemorySaver()} if expected == ["model"] else {}
    heard = await hear(lambda: wrap(agent("Hello.", middleware=[Hooks()], **saver)), source, judge)
    assert steps(heard) == expected
    assert [m["content"] for m in heard.views[-1]["messages"]] == ["hi", "Welcome.", "Hello."]
    assert not [e for e in heard.events if e["type"].startswith(("TOOL_CALL", "SUBAGENT"))]
    said = [e["delta"] for e in heard.events if e["type"] == "TEXT_MESSAGE_CONTENT"]
    assert set(said) <= {"Hello.", "Welcome."}


@both_sources
async def test_step_name_shows_hooks(judge: Judge, source: Source) -> None:
    heard = await hear(
        lambda: agent("Hello.", middleware=[Hooks()], checkpointer=InMemorySaver()),
        source,
        judge,
        step_name=lambda run: "/".join(run.path),
    )
    hooks = [f"Hooks.{name}" for name in ("before_agent", "before_model", "after_model", "after_agent")]
    assert steps(heard) == [*hooks[:2], "model", *hooks[2:]]
