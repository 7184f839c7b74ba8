"""Fixtures for tests on real graphs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.playing import Player
from tests.support.verifier import Verifier


@pytest.fixture
def play(verifier: Verifier) -> Player:
    """``await play(build, "hi")``: with both client generations, each ends with what the graph holds."""
    return Player(verifier)


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A checkpointer of each kind."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite.aio")
    async with sqlite.AsyncSqliteSaver.from_conn_string(":memory:") as made:
        yield made
