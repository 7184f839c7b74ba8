"""Locks by lease: held by one, renewed, lost, waited for in order."""

from __future__ import annotations

import asyncio

import pytest

from yai_nexus_agentkit.runs.locks import Lease, MemoryThreadLocks


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_one_holder_at_a_time_and_only_it_releases() -> None:
    locks = MemoryThreadLocks()
    assert await locks.state("t") is Lease.FREE
    assert await locks.acquire("t", "a", lease=10)
    assert await locks.state("t") is Lease.HELD
    assert not await locks.acquire("t", "b", lease=10)
    assert not await locks.acquire("t", "a", lease=10), "not even the holder takes it twice"
    assert await locks.acquire("other", "b", lease=10)
    assert not await locks.release("t", "b")
    assert await locks.release("t", "a")
    assert not await locks.release("t", "a")
    assert await locks.acquire("t", "b", lease=10)


async def test_a_crashed_holder_loses_its_lock_when_the_lease_runs_out() -> None:
    clock = Clock()
    locks = MemoryThreadLocks(clock)
    assert await locks.acquire("t", "a", lease=10)
    clock.now += 9
    assert await locks.renew("t", "a", lease=10) is Lease.HELD
    clock.now += 9
    assert not await locks.acquire("t", "b", lease=10)
    clock.now += 1
    assert await locks.acquire("t", "b", lease=10)
    assert await locks.renew("t", "a", lease=10) is Lease.LOST
    assert not await locks.release("t", "a"), "the lock is b's now"
    assert await locks.state("t") is Lease.HELD


async def test_a_lock_that_ran_out_is_still_its_holder_s_until_somebody_takes_it() -> None:
    """A process whose event loop was blocked renews late."""
    clock = Clock()
    locks = MemoryThreadLocks(clock)
    assert await locks.acquire("t", "a", lease=10)
    clock.now += 25
    assert await locks.state("t") is Lease.FREE
    assert await locks.renew("t", "a", lease=10) is Lease.HELD
    assert not await locks.acquire("t", "b", lease=10)
    clock.now += 25
    assert await locks.release("t", "a")
    assert await locks.renew("t", "a", lease=10) is Lease.LOST, "given back is given back"
    assert await locks.state("t") is Lease.FREE


async def test_the_holder_hears_of_a_cancel_when_it_renews() -> None:
    locks = MemoryThreadLocks()
    assert not await locks.request_cancel("t")
    await locks.acquire("t", "a", lease=10)
    assert await locks.request_cancel("t")
    assert await locks.state("t") is Lease.CANCELLING
    assert await locks.renew("t", "a", lease=10) is Lease.CANCELLING
    await locks.release("t", "a")
    await locks.acquire("t", "b", lease=10)
    assert await locks.renew("t", "b", lease=10) is Lease.HELD, "the request was for the run before"


async def test_waiting_ends_with_the_release() -> None:
    locks = MemoryThreadLocks()
    await locks.acquire("t", "a", lease=10)
    waiting = asyncio.create_task(locks.acquire("t", "b", lease=10, wait=5))
    await asyncio.sleep(0.01)
    await locks.release("t", "a")
    async with asyncio.timeout(0.5):
        assert await waiting
    assert await locks.renew("t", "b", lease=10) is Lease.HELD


async def test_waiting_ends_without_the_lock_after_its_time() -> None:
    locks = MemoryThreadLocks()
    await locks.acquire("t", "a", lease=10)
    assert not await locks.acquire("t", "b", lease=10, wait=0.05)
    assert await locks.release("t", "a")
    assert await locks.acquire("t", "c", lease=10), "nobody is in the queue any more"


async def test_a_waiting_request_gets_the_lock_of_a_crashed_holder() -> None:
    locks = MemoryThreadLocks()
    await locks.acquire("t", "a", lease=0.1)
    async with asyncio.timeout(2):
        assert await locks.acquire("t", "b", lease=10, wait=1.5)


async def test_waiting_requests_are_served_in_order_and_nobody_pushes_in() -> None:
    locks = MemoryThreadLocks()
    await locks.acquire("t", "holder", lease=10)
    order: list[str] = []

    async def take(name: str) -> None:
        assert await locks.acquire("t", name, lease=10, wait=5)
        order.append(name)
        await asyncio.sleep(0.005)
        await locks.release("t", name)

    tasks = []
    for n in range(5):
        tasks.append(asyncio.create_task(take(str(n))))
        await asyncio.sleep(0)
    await locks.release("t", "holder")
    assert not await locks.acquire("t", "eager", lease=10), "five wait already"
    await asyncio.gather(*tasks)
    assert order == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("position", [0, 1])
async def test_a_cancelled_wait_does_not_block_the_others(position: int) -> None:
    locks = MemoryThreadLocks()
    await locks.acquire("t", "holder", lease=10)
    tasks = [asyncio.create_task(locks.acquire("t", str(n), lease=10, wait=5)) for n in range(3)]
    await asyncio.sleep(0.01)
    await locks.release("t", "holder")
    tasks[position].cancel()
    winner = 0 if position else 1
    async with asyncio.timeout(1):
        assert await tasks[winner]
        await locks.release("t", str(winner))
        assert await tasks[2]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
