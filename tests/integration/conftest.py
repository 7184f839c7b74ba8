"""Fixtures for tests on real graphs."""

from __future__ import annotations

import pytest

from tests.support.playing import Player
from tests.support.verifier import Verifier


@pytest.fixture
def play(verifier: Verifier) -> Player:
    """``await play(build, "hi")``: with both client generations, each ends with what the graph holds."""
    return Player(verifier)
