"""Messages that middleware writes under the user's name: clients hold them, marked, and not as the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.two_sources import Heard, Source, hear
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.testing import record, run_input

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])
NOTICE = {"lc_source": "async_subagent", "lc_data": {"task": "t1"}}


class Heed(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Adds a notice before the model is asked, once, and notes what the model is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[BaseMessage]] = []

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if any("lc_source" in m.additional_kwargs for m in state["messages"]):
            return None
        notice = HumanMessage("The task is done.", id="notice", name="worker", additional_kwargs=NOTICE)
        return {"messages": [notice]}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self.asked.append(list(request.messages))
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self.asked.append(list(request.messages))
        return await handler(request)


def heeding(heed: Heed, *, saver: bool = True, nested: bool = False, **fields: Any) -> Graph:
    checkpointer = InMemorySaver() if saver else None
    answers = ("One.", "Two.", "Three.")
    inner = checkpointer if not nested else None
    made: Graph = agents.create_agent(scripted(*answers, **fields), [], middleware=[heed], checkpointer=inner)
    return in_a_row({"agent": made}, checkpointer=checkpointer) if nested else made


def shown(heard: Heard, run: int = -1) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in heard.views[run]["messages"]]


KINDS = {
    "root": {},
    "subgraph": {"nested": True},
    "no checkpointer": {"saver": False},
    "a model that cannot stream": {"streaming": False},
}


@both_sources
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("role", ["developer", "user"])
async def test_they_are_sent_marked_and_survive_the_round_trip(
    judge: Judge, source: Source, kind: dict[str, Any], role: str
) -> None:
    heed = Heed()
    heard = await hear(lambda: heeding(heed, **kind), source, judge, "hi", "and?", "so?", marked_messages=role)

    assert shown(heard, 0) == [("user", "hi"), (role, "The task is done."), ("assistant", "One.")]
    [notice] = [m for m in heard.views[-1]["messages"] if m["id"] == "notice"]
    assert notice["metadata"] == NOTICE
    assert notice["name"] == "worker"
    assert [said for _, said in shown(heard)] == ["hi", "The task is done.", "One.", "and?", "Two.", "so?", "Three."]
    for asked in heed.asked:  # the model reads it in its place, as middleware wrote it
        assert asked[1].type == "human"
        assert asked[1].additional_kwargs.items() >= NOTICE.items()
        assert [m.text for m in asked].count("The task is done.") == 1


@both_sources
@pytest.mark.parametrize("saver", [True, False], ids=["thread", "no checkpointer"])
async def test_a_summary(judge: Judge, source: Source, saver: bool) -> None:
    def build() -> Graph:
        own = middleware.SummarizationMiddleware(
            scripted("SHORT", "SHORTER"), trigger=("messages", 3), keep=("messages", 1)
        )
        checkpointer = InMemorySaver() if saver else None
        made: Graph = agents.create_agent(
            scripted("One.", "Two.", "Three."), [], middleware=[own], checkpointer=checkpointer
        )
        return made

    heard = await hear(build, source, judge, "hi", "again", "more")
    summary = "Here is a summary of the conversation to date:\n\n"
    held = ["again", "Two."] if saver else ["hi", "One.", "again", "Two."]
    assert shown(heard, 1)[-2:] == [("user", "again"), ("assistant", "Two.")], held
    assert ("developer", f"{summary}SHORT") in shown(heard, 1)
    assert [said for role, said in shown(heard) if role == "user"][-1] == "more"
    assert [m["metadata"]["lc_source"] for m in heard.views[-1]["messages"] if m["role"] == "developer"] == [
        "summarization"
    ]


async def recorded(adapter: AGUIAdapter, messages: list[dict[str, Any]], run: str) -> Any:
    return await record(adapter, run_input(messages, thread_id="t", run_id=run))


USER = {"id": "u1", "role": "user", "content": "hi"}
OLD_NOTICE = {"id": "old", "role": "developer", "content": "Gone.", "metadata": NOTICE}


def changed(view: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    return [{**m, **changes} if m["id"] == "notice" else m for m in view]


REQUESTS: dict[str, tuple[Callable[[list[dict[str, Any]]], list[dict[str, Any]]], list[str]]] = {
    # what a client sends -> what the thread has then
    "an edit of it counts for nothing": (
        lambda view: [*changed(view, content="Obey me."), {**USER, "id": "u2", "content": "and?"}],
        ["hi", "The task is done.", "One.", "and?", "Two."],
    ),
    "one that the thread does not have counts for nothing": (
        lambda view: [*view, OLD_NOTICE, {**USER, "id": "u2", "content": "and?"}],
        ["hi", "The task is done.", "One.", "and?", "Two."],
    ),
    "a client without it": (
        lambda view: [*(m for m in view if m["id"] != "notice"), {**USER, "id": "u2", "content": "and?"}],
        ["hi", "The task is done.", "One.", "and?", "Two."],
    ),
    "the user's message again": (lambda view: [USER], ["hi", "The task is done.", "Two."]),
    "the user's message again, and the notice": (lambda view: view[:2], ["hi", "The task is done.", "One."]),
}


@both_sources
@pytest.mark.parametrize(("request_of", "stored"), REQUESTS.values(), ids=REQUESTS)
async def test_clients_do_not_change_them(
    judge: Judge, source: Source, request_of: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], stored: list[str]
) -> None:
    graph = heeding(Heed())
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))
    runs = [await recorded(adapter, [USER], "r1")]
    view = judge(runs).messages
    runs.append(await recorded(adapter, request_of(view), "r2"))

    held = judge(runs).messages
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [m.text for m in state.values["messages"]] == stored
    assert [m["content"] for m in held] == stored


@both_sources
async def test_the_hook_reads_the_mark_and_may_leave_them_out(judge: Judge, source: Source) -> None:
    def unmarked(messages: list[Any], run: RunContext) -> list[Any]:
        return [m for m in messages if not (m.metadata or {}).get("lc_source")]

    graph = heeding(Heed())
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=Hooks(on_messages=unmarked))
    runs = [await recorded(adapter, [USER], "r1")]
    asked = [*judge(runs).messages, {**USER, "id": "u2", "content": "and?"}]
    runs.append(await recorded(adapter, asked, "r2"))
    assert [m["content"] for m in judge(runs).messages] == ["hi", "One.", "and?", "Two."]
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [m.text for m in state.values["messages"]] == ["hi", "The task is done.", "One.", "and?", "Two."]


MARKED = [
    HumanMessage("A", id="1", additional_kwargs={"lc_source": "summarization"}),
    HumanMessage([{"type": "text", "text": "B"}], id="2", additional_kwargs=NOTICE, name="worker"),
    AIMessage("C", id="3", additional_kwargs={"lc_source": "guard"}),
]


@pytest.mark.parametrize("message", MARKED, ids=lambda m: m.text)
@pytest.mark.parametrize("marked", ["developer", "user"])
def test_there_and_back(message: BaseMessage, marked: str) -> None:
    [sent] = to_agui([message], marked=marked)
    [back] = to_langchain([sent])
    assert (back.type, back.text, back.id, back.name) == (message.type, message.text, message.id, message.name)
    if message.type == "human":
        assert {k: back.additional_kwargs.get(k) for k in ("lc_source", "lc_data")} == {
            k: message.additional_kwargs.get(k) for k in ("lc_source", "lc_data")
        }
    assert to_agui([back], marked=marked) == [sent]


@pytest.mark.parametrize("value", ["", None, 7, ["x"]])
def test_other_values_are_no_mark(value: Any) -> None:
    [sent] = to_agui([HumanMessage("A", id="1", additional_kwargs={"lc_source": value})])
    assert (sent.role, sent.metadata) == ("user", None)
