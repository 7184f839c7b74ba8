"""Checkpointers of all kinds: each serves a conversation, a question, an edit and a patch, and is left as it was."""

from __future__ import annotations

import operator
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import MessagesState
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row
from tests.support.people import EACH_PEER, Peer, Tab
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.threads.savers import RunSaver, StagedSaver
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.testing import run_input

pytestmark = EACH_PEER


class Overriding(InMemorySaver):
    """Overrides what it can, has methods and attributes of its own, and refuses to be copied."""

    def __init__(self) -> None:
        super().__init__(serde=JsonPlusSerializer(pickle_fallback=True))
        self.tenants: set[str] = set()
        self.reads = 0

    def __copy__(self) -> Any:
        raise TypeError("one connection, one object")

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        self.reads += 1
        self.tenants.add(config["configurable"].get("tenant", ""))
        return self.get_tuple(config)

    async def aput(self, config: RunnableConfig, *args: Any) -> RunnableConfig:
        return await super().aput(config, *args)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return f"{int(current.split('-')[0]) + 1 if current else 1:08}-own"


class Old(BaseCheckpointSaver[int]):
    """Written against an early interface: whole numbers as versions, no task path, no delta history, no `__dict__`
    beyond what it needs."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        super().__init__()
        self._inner = InMemorySaver()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._inner.get_tuple(config)

    async def alist(self, config: RunnableConfig | None, **given: Any) -> AsyncIterator[CheckpointTuple]:
        for saved in self._inner.list(config, **given):
            yield saved

    async def aput(self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        return self._inner.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str) -> None:  # type: ignore[override]
        self._inner.put_writes(config, writes, task_id)

    async def adelete_thread(self, thread_id: str) -> None:
        self._inner.delete_thread(thread_id)


class Cipher:
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


async def sqlite(stack: AsyncExitStack) -> Any:
    module = pytest.importorskip("langgraph.checkpoint.sqlite.aio")
    return await stack.enter_async_context(module.AsyncSqliteSaver.from_conn_string(":memory:"))


SAVERS: dict[str, Callable[[], Any] | None] = {
    "memory": InMemorySaver,
    "overriding": Overriding,
    "old": Old,
    "encrypted": lambda: InMemorySaver(serde=EncryptedSerializer(Cipher())),
    "sqlite": None,
}


@pytest.fixture(params=SAVERS)
async def saver(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        make = SAVERS[request.param]
        yield make() if make is not None else await sqlite(stack)


def merged(held: list[Any], writes: Sequence[Any]) -> list[Any]:
    for new in writes:
        held = add_messages(held, new)  # type: ignore[assignment, arg-type]
    return held


class Noted(MessagesState):
    notes: Annotated[list[str], operator.add]


class Deltas(MessagesState):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged)]
    notes: Annotated[list[str], DeltaChannel(lambda held, writes: [*held, *(n for w in writes for n in w)], list)]


def asking(saver: Any, state: type = Noted) -> Graph:
    """Answers a message; "ask" leads to a question first, whose node refuses what is no number."""

    def reply(state: Any) -> dict[str, Any]:
        text = state["messages"][-1].text
        if text == "ask":
            text = f"counted {int(interrupt('How many?'))}"
        return {"messages": [AIMessage(f"re: {text}")], "notes": [text]}

    return in_a_row({"reply": reply}, state, checkpointer=saver)


@pytest.mark.parametrize("state", [Noted, Deltas], ids=["whole", "deltas"])
async def test_a_thread_from_its_first_message_to_a_patch(peer: Peer, saver: Any, state: type) -> None:
    if state is Deltas and isinstance(saver, Old):
        pytest.skip("deltas need a saver that keeps the order of writes")
    before = {name: value for name, value in getattr(saver, "__dict__", {}).items() if callable(value)}
    tab = Tab(asking(saver, state), peer)
    await tab.say("one")
    await tab.say("ask")
    for wrong in ("some", "many"):  # the node fails over them; LangGraph would keep the first
        await tab.answer(wrong)
        assert tab.outcome == "AGENT_ERROR"
        assert wrong in tab.events[-1]["message"]
        await tab.send()
    await tab.answer("2")
    assert tab.said[-1] == ("assistant", "re: counted 2")
    await tab.edit(0, "uno")
    assert tab.said == [("user", "uno"), ("assistant", "re: uno")]
    assert tab.state == {"notes": ["uno"]}

    store: Any = tab.adapter.threads()
    run = RunContext(run_input=run_input("", thread_id=tab.thread), declared=True)
    await store.patch_state(tab.thread, [{"op": "add", "path": "/notes/-", "value": "mine"}], run)
    assert (await store.state(tab.thread, run)).snapshot == {"notes": ["uno", "mine"]}
    assert [m.content for m in (await store.messages(tab.thread, run)).messages] == ["uno", "re: uno"]
    await tab.say("two", state={"notes": ["uno", "mine"]})
    assert tab.state == {"notes": ["uno", "mine", "two"]}
    await store.delete(tab.thread)
    assert not await store.exists(tab.thread)
    assert before == {name: value for name, value in getattr(saver, "__dict__", {}).items() if callable(value)}


@pytest.mark.parametrize("deep", [False, True], ids=["graph", "subgraph"])
async def test_workers_whose_clocks_differ_write_a_thread_in_its_order(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    saver, now = InMemorySaver(), time.time_ns
    tab = Tab(in_a_row({"sub": asking(None)}, Noted, checkpointer=saver) if deep else asking(saver), peer)

    def on_worker(minutes: int) -> Tab:
        """On a worker whose clock is that far ahead. It has made no checkpoints yet."""
        monkeypatch.setattr(time, "time_ns", lambda: now() + minutes * 60 * 10**9)
        monkeypatch.setattr("langgraph.checkpoint.base.id._last_v6_timestamp", None)
        return tab

    await on_worker(10).say("one")
    await on_worker(0).say("two")
    await on_worker(-10).say("ask")
    await on_worker(10).answer("2")
    await on_worker(0).say("ask")
    await on_worker(-10).answer("3")
    assert [text for _, text in tab.said[1::2]] == ["re: one", "re: two", "re: counted 2", "re: counted 3"]
    await on_worker(0).edit(1, "other")
    await on_worker(-10).say("last")
    assert [text for _, text in tab.said[1::2]] == ["re: one", "re: other", "re: last"]
    store: Any = on_worker(-20).adapter.threads()
    run = RunContext(run_input=run_input("", thread_id=tab.thread), declared=True)
    await store.patch_state(tab.thread, [{"op": "add", "path": "/notes/-", "value": "mine"}], run)
    assert (await store.state(tab.thread, run)).snapshot["notes"][-2:] == ["last", "mine"]


async def test_a_turn_reads_its_thread_once_and_with_all_of_its_configuration(peer: Peer) -> None:
    saver = Overriding()
    tab = Tab(asking(saver), peer)
    config: RunnableConfig = {"configurable": {"tenant": "t1"}}
    for text in ("one", "two"):
        saver.reads = 0
        await tab.say(text, config=config, in_step=False)
        assert saver.reads == 1
    await tab.edit(1, "zwei", config=config, in_step=False)
    assert saver.tenants == {"t1"}


async def test_a_saver_without_async_methods_says_what_langgraph_says(peer: Peer) -> None:
    module = pytest.importorskip("langgraph.checkpoint.sqlite")
    with module.SqliteSaver.from_conn_string(":memory:") as saver:
        graph = asking(saver)
        with pytest.raises(NotImplementedError) as bare:
            await graph.ainvoke({"messages": ["hi"]}, {"configurable": {"thread_id": "t"}})
        adapter = AGUIAdapter(graph, options=AdapterOptions(source=peer.source))
        *_, last = [event async for event in adapter.run(run_input("hi"))]
    assert last.message == str(bare.value)  # type: ignore[attr-defined]


def test_a_saver_in_front_is_the_other_one_but_for_what_it_defines(peer: Peer) -> None:
    saver = Overriding()
    for front in (RunSaver(saver, None, answering=False), StagedSaver(saver)):
        assert isinstance(front, BaseCheckpointSaver)
        assert front.serde is saver.serde
        assert front.storage is saver.storage  # type: ignore[attr-defined]
        assert front.tenants is saver.tenants  # type: ignore[attr-defined]
        assert front.get_next_version("00000001-own", None) == "00000002-own"
        assert front.config_specs == saver.config_specs
        assert not hasattr(front, "no_such_thing")
    restricted = RunSaver(InMemorySaver(), None, answering=False).with_allowlist([("decimal", "Decimal")])
    assert isinstance(restricted, RunSaver)
