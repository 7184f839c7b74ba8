"""Conversations of ten turns, of everything people do, in any order: after every turn the client shows the thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.errands import Errands, Person, World
from tests.support.people import PEERS

pytestmark = [pytest.mark.usefixtures("verifier")]

TURNS = 10
WORLDS: list[World] = ["by hand", "create_agent"]


@asynccontextmanager
async def saver(number: int) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    if number % 3:
        yield InMemorySaver()
        return
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite.aio")
    async with sqlite.AsyncSqliteSaver.from_conn_string(":memory:") as made:
        yield made


@pytest.mark.parametrize("seed", range(30))
async def test_a_conversation(seed: int) -> None:
    """Peers, savers, kinds of graph and of call ids take turns with the seeds."""
    world = WORLDS[seed % 2]
    if world == "create_agent":
        pytest.importorskip("langchain")
    await converse(world, seed)


@pytest.mark.parametrize("seed", range(12))
async def test_a_conversation_with_a_deep_agent(seed: int) -> None:
    pytest.importorskip("deepagents")
    await converse("deepagents", seed)


async def converse(world: World, seed: int) -> None:
    peer = list(PEERS.values())[seed // 2 % 2]
    async with saver(seed) as made:
        person = Person(Errands(world, made, recurring_ids=seed % 5 == 0), peer, seed)
        for _ in range(TURNS):
            try:
                await person.act()
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, after {person.log}:\n{error}") from error
