"""Thread keys, the index, and the limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yai_nexus_agentkit.errors import OverloadedError
from yai_nexus_agentkit.runs.identity import ThreadRef, thread_key
from yai_nexus_agentkit.runs.index import MemoryThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.journal import JournalEntry, MemoryThreadJournal
from yai_nexus_agentkit.runs.limits import Capacity

NAMES = st.text(max_size=8)


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_two_threads_share_a_key_only_if_they_are_one(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (thread_key(*one) == thread_key(*other)) == (one == other)


def test_parts_of_a_name_cannot_move_between_its_fields() -> None:
    assert thread_key("a", "b", "c") != thread_key("a", 'b", "c', "")
    assert thread_key("", "ab", "c") != thread_key("", "a", "bc")


def test_keys_are_the_same_in_every_process_and_depend_on_the_secret() -> None:
    assert thread_key("agent", "ann", "t1") == "f2b2f4a69c637c762addb51b54aeeedbd6495c4cac7b7ddb4c09cff222ee56e0"
    assert thread_key("agent", "ann", "t1", b"one") != thread_key("agent", "ann", "t1", b"two")


def ref(thread: str, user: str = "ann", agent: str = "agent") -> ThreadRef:
    return ThreadRef(agent, user, thread, thread_key(agent, user, thread))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


async def names(index: MemoryThreadIndex, user: str = "ann", limit: int = 10) -> list[str]:
    return [entry.thread.id for entry in await index.entries("agent", user, limit=limit)]


async def test_the_index_lists_the_last_used_first_per_agent_and_user() -> None:
    index = MemoryThreadIndex(Clock())
    for thread, user in [("a", "ann"), ("b", "ann"), ("a", "bob"), ("a", "ann")]:
        await index.touch(ref(thread, user), ThreadStatus.IDLE)
    await index.touch(ref("x", agent="other"), ThreadStatus.IDLE)
    assert await names(index) == ["a", "b"]
    assert await names(index, limit=1) == ["a"]
    assert await names(index, "bob") == ["a"]
    assert [e.thread.id for e in await index.entries("agent", "ann", limit=9, before=4)] == ["b"]
    first = (await index.entries("agent", "ann", limit=1))[0]
    assert (first.created, first.updated) == (1, 4)
    await index.remove(ref("a").key)
    await index.remove("unknown")
    assert await names(index) == ["b"]


async def test_threads_of_the_same_moment_have_an_order_and_pages() -> None:
    index = MemoryThreadIndex(lambda: 7.0)
    for thread in "abcde":
        await index.touch(ref(thread), ThreadStatus.IDLE)
    whole = await index.entries("agent", "ann", limit=9)
    assert [entry.thread.key for entry in whole] == sorted((ref(thread).key for thread in "abcde"), reverse=True)
    page = await index.entries("agent", "ann", limit=2, before=7, before_key=whole[1].thread.key)
    assert page == whole[2:4]
    assert await index.entries("agent", "ann", limit=9, before=7) == []


async def test_paused_threads_count_but_are_never_proposed_for_removal() -> None:
    index = MemoryThreadIndex(Clock())
    statuses = [ThreadStatus.IDLE, ThreadStatus.PAUSED, ThreadStatus.RUNNING, ThreadStatus.FAILED, ThreadStatus.IDLE]
    for n, status in enumerate(statuses):
        await index.touch(ref(str(n)), status)
    assert [e.thread.id for e in await index.idle("agent", before=99, limit=9)] == ["0", "2", "3", "4"]
    assert [e.thread.id for e in await index.idle("agent", before=4, limit=9)] == ["0", "2"]
    assert [e.thread.id for e in await index.surplus("agent", keep=2, limit=9)] == ["0", "2"]
    assert [e.thread.id for e in await index.surplus("agent", keep=2, limit=1)] == ["0"]
    assert await index.idle("other", before=99, limit=9) == []


async def test_a_full_index_forgets_no_thread_that_runs_or_waits() -> None:
    index = MemoryThreadIndex(Clock(), most=3)
    for thread, status in [("paused", ThreadStatus.PAUSED), ("running", ThreadStatus.RUNNING)]:
        await index.touch(ref(thread), status)
    for n in range(4):
        await index.touch(ref(str(n)), ThreadStatus.FAILED if n % 2 else ThreadStatus.IDLE)
    assert await names(index) == ["3", "running", "paused"]
    await index.touch(ref("new"), ThreadStatus.RUNNING)
    await index.touch(ref("newer"), ThreadStatus.PAUSED)
    assert await names(index) == ["newer", "new", "running", "paused"]  # nothing that could be forgotten
    await index.touch(ref("running"), ThreadStatus.IDLE)
    assert await names(index) == ["newer", "new", "paused"]
    await index.remove(ref("paused").key)
    await index.touch(ref("last"), ThreadStatus.IDLE)
    assert await names(index) == ["last", "newer", "new"]


async def test_who_has_many_threads_pushes_out_his_own() -> None:
    index = MemoryThreadIndex(Clock(), most=200)
    for user in ("ann", "bob"):
        await index.touch(ref("old", user), ThreadStatus.IDLE)
    for n in range(500):
        await index.touch(ref(str(n), "eve"), ThreadStatus.IDLE)
    assert (await names(index), await names(index, "bob")) == (["old"], ["old"])
    assert len(await names(index, "eve", 999)) == 198
    await index.touch(ref("new", "bob"), ThreadStatus.IDLE)
    assert (await names(index), await names(index, "bob")) == ([], ["new", "old"])


async def test_a_full_journal_forgets_what_was_written_least_recently() -> None:
    journal = MemoryThreadJournal(most=30)
    for thread, own, data in [("a", "1", "x" * 10), ("b", "1", "y" * 10), ("a", "1", "z" * 12), ("c", "1", "w" * 10)]:
        await journal.keep(thread, [JournalEntry(own, "", data)])
    assert [len(await journal.kept(thread)) for thread in ("a", "b", "c")] == [1, 0, 1]
    await journal.keep("d", [JournalEntry(str(n), "", "v" * 10) for n in range(9)])
    assert [len(await journal.kept(thread)) for thread in ("a", "c", "d")] == [0, 0, 9]
    await journal.drop("d")
    await journal.keep("a", [JournalEntry("1", "m1", "x" * 30), JournalEntry("1", "m2", "short")])
    assert await journal.kept("a") == [JournalEntry("1", "m1", "short")]


def test_places_are_given_back_whatever_happens() -> None:
    capacity = Capacity(total=2, per_user=1, retry_after=3)
    with capacity.place("ann"):
        with pytest.raises(OverloadedError) as refused, capacity.place("ann"):
            pass
        assert refused.value.retry_after == 3
        with pytest.raises(ZeroDivisionError), capacity.place("bob"):
            raise ZeroDivisionError
        with capacity.place("bob"):
            with pytest.raises(OverloadedError), capacity.place("eve"):
                pass
    assert capacity.taken == 0
    with capacity.place("ann"):
        assert capacity.taken == 1
