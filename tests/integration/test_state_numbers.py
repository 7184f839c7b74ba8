"""Numbers beyond 2^53, which browsers round, over several turns with the official clients: what a user did not touch is
as the graph had it, in the state and in answers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.conftest import Judge
from tests.support.graphs import chat_node, in_a_row, scripted
from tests.support.two_sources import answer, hear
from tests.support.verifier import ClientRun
from yai_nexus_agentkit import AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import collect, run_input, tool_calls_part

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])

BIG, ROUNDED = 1234567890123456789, 1234567890123456800


class Post(MessagesState, total=False):
    tweet: Any
    seen: Annotated[list[Any], operator.add]


CHANGES: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    # the graph's value, what the client makes of what it holds, and the thread's value then
    "nothing": (BIG, lambda held: held, BIG),
    "another number": (BIG, lambda held: 7, 7),
    "a member beside it": ({"id": BIG, "n": 1}, lambda held: {**held, "n": 2}, {"id": BIG, "n": 2}),
    "an item less": ([{"id": BIG}, {"id": BIG + 1000}], lambda held: held[1:], [{"id": BIG + 1000}]),
    "the order": ([BIG, 5, 2**60 + 1], lambda held: held[::-1], [2**60 + 1, 5, BIG]),
    "nothing of a large double": (12345678901234567890.0, lambda held: held, 12345678901234567890.0),
    "nothing of the largest that savers store": (2**64 - 1, lambda held: held, 2**64 - 1),
}


@both_sources
@pytest.mark.parametrize("key", ["tweet", "seen"])
@pytest.mark.parametrize(("value", "change", "expected"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_client_changes(
    judge: Judge, source: Any, key: str, value: Any, change: Callable[[Any], Any], expected: Any
) -> None:
    graphs: list[Any] = []
    listed = key == "seen"  # a channel with a reducer

    def build() -> Any:
        def seed(state: Post) -> dict[str, Any]:
            return {} if state.get(key) else {key: [value] if listed else value}

        graph = in_a_row({"seed": seed, "chat": chat_node(scripted("One.", "Two.", "Three."))}, Post)
        graphs.append(graph)
        return graph

    def changed(view: ClientRun) -> Mapping[str, Any]:
        held = view["state"][key]
        made = [change(held[0])] if listed else change(held)
        said = [*view["messages"], {"id": "u", "role": "user", "content": "again"}]
        return {"message": said, "state": {**view["state"], key: made}}

    await hear(build, source, judge, "hi", changed, "and again")

    stored = (await graphs[0].aget_state({"configurable": {"thread_id": "t"}})).values[key]
    assert repr(stored) == repr([expected] if listed else expected)


@both_sources
async def test_a_hook_that_shows_another_value(judge: Judge, source: Any) -> None:
    """The state that the client was shown counts."""
    graph = in_a_row({"seed": lambda state: {"tweet": {"id": BIG, "secret": 1}}}, Post)
    hooks = Hooks(on_state=lambda state, run: {**state, "tweet": {"id": BIG}} if "tweet" in state else state)
    adapter = AGUIAdapter(graph, hooks=hooks)
    await collect(adapter, run_input("hi", thread_id="t"))
    await collect(adapter, run_input("again", thread_id="t", state={"tweet": {"id": ROUNDED}}))

    assert (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["tweet"] == {"id": BIG, "secret": 1}


async def test_a_patch_of_a_stored_thread() -> None:
    graph = in_a_row({"seed": lambda state: {"tweet": {"id": BIG, "n": 1}}}, Post)
    adapter = AGUIAdapter(graph)
    await collect(adapter, run_input("hi", thread_id="t"))
    store: Any = adapter.threads()
    patch = [{"op": "replace", "path": "/tweet", "value": {"id": ROUNDED, "n": 2}}]
    await store.patch_state("t", patch, RunContext(run_input=run_input(""), declared=True))

    assert (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["tweet"] == {"id": BIG, "n": 2}


# -- answers -----------------------------------------------------------------------------------------------------------

RAN: list[Any] = []


def pay(account: int, amount: int) -> str:
    """Pay."""
    RAN.append((account, amount))
    return "paid"


def payer(**options: Any) -> Any:
    model = scripted([tool_calls_part(("pay", {"account": BIG, "amount": 1}, "c1"))], "Done.")
    return create_agent(model, checkpointer=InMemorySaver(), **options)


def approved() -> Any:
    return payer(tools=[require_approval(tool(pay))])


def decided() -> Any:
    return payer(tools=[tool(pay)], middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})])


def edit(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": dict(args)}}]}


ANSWERS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "approval": (approved, {"approved": True, "editedArgs": {"account": ROUNDED, "amount": 2}}, (BIG, 2)),
    "approval as it was": (approved, {"approved": True, "editedArgs": {"account": ROUNDED, "amount": 1}}, (BIG, 1)),
    "approval of another": (approved, {"approved": True, "editedArgs": {"account": 5, "amount": 1}}, (5, 1)),
    "decision": (decided, edit("pay", {"account": ROUNDED, "amount": 2}), (BIG, 2)),
    "convention for decisions": (
        decided,
        {"approved": True, "editedArgs": {"account": ROUNDED, "amount": 2}},
        (BIG, 2),
    ),
}


@both_sources
@pytest.mark.parametrize(("build", "payload", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer(
    judge: Judge, source: Any, build: Callable[[], Any], payload: Any, expected: tuple[int, int]
) -> None:
    RAN.clear()
    heard = await hear(build, source, judge, "pay", answer(payload))

    assert [expected] == RAN
    assert heard.views[-1]["messages"][-1]["content"] == "Done."


@both_sources
async def test_an_answer_in_the_older_way(judge: Judge, source: Any) -> None:
    got: list[Any] = []

    def build() -> Any:
        def ask(state: MessagesState) -> dict[str, Any]:
            got.append(interrupt({"choose": [{"id": BIG}, {"id": BIG + 1000}]}))
            return {}

        return in_a_row({"ask": ask})

    def chosen(view: ClientRun) -> Mapping[str, Any]:
        shown = view["interrupts"][0]["metadata"]["langgraph"]["value"]["choose"][1]
        return {"forwarded_props": {"command": {"resume": {"chosen": shown}}}}

    await hear(build, source, judge, "hi", chosen)

    assert got == [{"chosen": {"id": BIG + 1000}}]
