"""Calls that nobody can answer any more: of attempts that failed, of answers that a node threw away. A run names as
pending only what the thread still waits for, and the official client counts no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command, RetryPolicy

from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.playing import Played, Player
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.testing import text_part, tool_call_parts, tool_calls_part

DEAD = [*tool_call_parts("add", {"a": 1, "b": 2}, "call_1"), ConnectionError("gone")]
LIVE = tool_call_parts("pick", {"of": 2}, "call_2")
"""A tool of the client's: the run ends with it."""
CUT = ["AGUI204"]
"""The arguments of a call that was cut off are no JSON."""


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def own_calls(state: MessagesState) -> str:
    """The graph runs its own tool; what it does not know is the client's."""
    calls = getattr(state["messages"][-1], "tool_calls", ())
    return "tools" if any(call["name"] == "add" for call in calls) else END


def retried(*script: Any) -> Callable[[], Graph]:
    """The node tries again until its model gets through."""

    def build() -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        again = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ConnectionError)
        builder.add_node("agent", chat_node(scripted(*script)), retry_policy=again)
        builder.add_node("tools", ToolNode([add]))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", own_calls, ["tools", END])
        builder.add_edge("tools", "agent")
        return builder.compile(checkpointer=InMemorySaver())

    return build


def fallen_back(second: Any) -> BaseChatModel | Runnable[Any, Any]:
    return scripted(DEAD).with_fallbacks([scripted(second)])


def with_a_fallback(second: Any) -> Callable[[], Graph]:
    return lambda: in_a_row({"agent": chat_node(fallen_back(second))})


def thrown_away(*, rebuilt: bool, call: Any = None) -> Callable[[], Graph]:
    """A node that makes something else of what its model called; `rebuilt`: a message of its own with the same call."""

    def build() -> Graph:
        model = scripted(call or tool_call_parts("add", {"a": 1, "b": 2}, "call_1"))

        async def agent(state: MessagesState) -> dict[str, Any]:
            answer = await model.ainvoke(state["messages"])
            kept = answer.tool_calls if rebuilt else []
            return {"messages": [AIMessage("I chose.", tool_calls=kept)]}

        return in_a_row({"agent": agent})

    return build


def kept_from_the_graph(*answers: Any) -> Callable[[], Graph]:
    """The graph has no use for what the model says at all."""

    def build() -> Graph:
        model = scripted(*answers)

        async def agent(state: MessagesState) -> None:
            await model.ainvoke(state["messages"])

        return in_a_row({"agent": agent})

    return build


def kept_from_the_graph_each_turn() -> Graph:
    return kept_from_the_graph(LIVE, LIVE, LIVE)()


def two_attempts_at_once() -> Graph:
    """The first of two branches fails over; the other one waits for the client."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("a", chat_node(fallen_back("Done.")))
    builder.add_node("b", chat_node(scripted(LIVE)))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    return builder.compile(checkpointer=InMemorySaver())


def in_a_subagent() -> Graph:
    """The subagent's graph ends with a call that its own graph does not run; its tool has returned by then."""
    helper = in_a_row({"think": chat_node(scripted(["Hm. ", *LIVE]))}, checkpointer=None)

    @tool
    async def research(question: str) -> str:
        """Ask the helper."""
        await helper.ainvoke({"messages": [("user", question)]})
        return "found"

    model = scripted([tool_calls_part(("research", {"question": "why"}, "call_1"))], "So it is.")
    return create_agent(model, [research], checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("build", "waiting", "results"),
    [
        pytest.param(retried(DEAD, "No need."), [], [], id="retried"),
        pytest.param(retried([text_part("So. "), *DEAD], "No need."), [], [], id="retried after text"),
        pytest.param(retried(DEAD, DEAD, LIVE), ["call_2"], [], id="retried twice, now the client's"),
        pytest.param(
            retried(DEAD, tool_call_parts("add", {"a": 1, "b": 2}, "call_1"), "Three."), [], ["3"], id="same id again"
        ),
        pytest.param(
            retried(DEAD, tool_call_parts("pick", {"of": 2}, "call_1")), ["call_1"], [], id="same id, the client's"
        ),
        pytest.param(with_a_fallback("No need."), [], [], id="fallback"),
        pytest.param(with_a_fallback(LIVE), ["call_2"], [], id="fallback, the client's"),
        pytest.param(thrown_away(rebuilt=False), [], [], id="thrown away"),
        pytest.param(thrown_away(rebuilt=True, call=LIVE), ["call_2"], [], id="rebuilt with its call"),
        pytest.param(kept_from_the_graph(LIVE), [], [], id="not written at all"),
        pytest.param(two_attempts_at_once, ["call_2"], [], id="beside one that waits"),
        pytest.param(in_a_subagent, [], ["found"], id="of a subagent that is gone"),
    ],
)
async def test_only_calls_that_the_thread_holds_are_pending(
    play: Player, build: Callable[[], Graph], waiting: list[str], results: list[str]
) -> None:
    played = await play(build, ignore=CUT, ordered=False)

    assert pending(played) == waiting
    assert played.views[-1].get("pendingToolCallIds", []) == waiting, "as the client counts"
    sent = [e for e in played.events if e["type"] == "TOOL_CALL_RESULT"]
    assert [e["content"] for e in sent if not is_dropped(e)] == results
    held = [call["id"] for m in played.messages for call in m.get("toolCalls", ())]
    assert set(waiting) <= set(held), "the client holds the calls that it is asked to answer"
    own = {m["toolCallId"] for m in played.messages if m["role"] == "tool" and not m.get("subagentRunId")}
    assert own <= set(held), "no result is left without its call"


@tool
async def leave(how: str) -> Any:
    """Leave this agent."""
    return Command(graph=Command.PARENT, goto="other", update={"messages": [AIMessage("On it.")]} if how else None)


def leaving(*, sync: bool, saver: bool, how: str) -> Callable[[], Graph]:
    """An agent whose tool goes to another node of the graph around, without a result."""

    def build() -> Graph:
        model = chat_node(scripted(tool_call_parts("leave", {"how": how}, "call_1")))
        inner = in_a_row({"agent": model, "tools": ToolNode([leave])}, checkpointer=None)

        def run_sync(state: MessagesState, config: RunnableConfig) -> Any:
            return inner.invoke(state, config)

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("inner", inner if not sync else RunnableLambda(run_sync, afunc=inner.ainvoke))
        builder.add_node("other", lambda state: {"messages": [AIMessage("Hello.")]})
        builder.add_edge(START, "inner")
        return builder.compile(checkpointer=InMemorySaver() if saver else None)

    return build


@pytest.mark.parametrize("saver", [True, False], ids=["saver", "no saver"])
@pytest.mark.parametrize("sync", [True, False], ids=["called", "node"])
@pytest.mark.parametrize("how", ["", "with a message"])
async def test_a_tool_that_ran_and_left_its_graph_was_not_dropped(
    play: Player, how: str, sync: bool, saver: bool
) -> None:
    played = await play(leaving(sync=sync, saver=saver, how=how), in_step=False)
    [result] = [e for e in played.events if e["type"] == "TOOL_CALL_RESULT"]
    assert result["content"] == "The tool ran, and the conversation went on without its result."
    assert result["metadata"] == {"langgraph": {"status": "left"}}
    assert pending(played) == []


async def test_the_client_answers_the_call_of_the_second_attempt(play: Player) -> None:
    """Both attempts named their call alike; the answer reaches the thread."""
    script = DEAD, tool_call_parts("pick", {"of": 2}, "call_1"), "You picked red."

    def picks(view: Any) -> dict[str, Any]:
        [call] = view["messages"][-1]["toolCalls"]
        answer = {"id": "answer", "role": "tool", "toolCallId": call["id"], "content": "red"}
        return {"message": [*view["messages"], answer]}

    played = await play(retried(*script), "hi", picks, ignore=CUT)

    assert played.messages[-1]["content"] == "You picked red."
    assert [m["content"] for m in played.messages if m["role"] == "tool"] == ["red"]


async def test_a_dropped_calls_id_recurs_in_the_next_turn(play: Player) -> None:
    played = await play(kept_from_the_graph_each_turn, "hi", "again", "and again")

    dropped = [e for run in played.runs for e in run["events"] if e["type"] == "TOOL_CALL_RESULT"]
    assert len({e["messageId"] for e in dropped}) == len(dropped) == 3


async def test_without_a_thread_only_failed_attempts_are_out(play: Player) -> None:
    """The client's own messages are all there is: any call of a model that got through can be answered."""

    def functional() -> Pregel[Any, Any, Any, Any]:
        model = fallen_back(LIVE)

        @entrypoint()
        async def agent(given: dict[str, Any]) -> BaseMessage:
            answer: BaseMessage = await model.ainvoke(given["messages"])
            return answer

        return agent

    def plain() -> Runnable[Any, Any]:
        model = fallen_back(LIVE)

        async def agent(given: dict[str, Any]) -> BaseMessage:
            answer: BaseMessage = await model.ainvoke(given["messages"])
            return answer

        return RunnableLambda(agent)

    for build in (functional, plain):
        played = await play(build, ignore=CUT, in_step=False)  # type: ignore[arg-type]
        assert pending(played) == ["call_2"]


async def test_when_no_snapshot_is_wanted_the_dropped_call_has_its_result(play: Player) -> None:
    options = AdapterOptions(messages_snapshot="never")

    played = await play(retried(DEAD, "No need."), options=options, ignore=CUT, in_step=False)

    assert pending(played) == []
    assert played.views[-1].get("pendingToolCallIds", []) == []


def pending(played: Played) -> list[str]:
    ids: list[str] = (played.events[-1].get("outcome") or {}).get("pendingToolCallIds", [])
    return ids


def is_dropped(event: dict[str, Any]) -> bool:
    return bool((event.get("metadata") or {}).get("langgraph", {}).get("status") == "dropped")
