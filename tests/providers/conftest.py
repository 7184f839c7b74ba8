"""Fixtures for tests with the real provider classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TypeAlias

import pytest

from tests.support.providers.server import Answer, ModelServer
from tests.support.two_sources import Source

Serve: TypeAlias = Callable[[Sequence[Answer]], ModelServer]

PACKAGES = ("langchain", "langchain_anthropic", "langchain_google_genai", "langchain_openai")
collect_ignore_glob = [] if all(map(find_spec, PACKAGES)) else ["test_*.py"]


@pytest.fixture(params=["events", "callbacks"])
def source(request: pytest.FixtureRequest) -> Source:
    """Every test runs with both sources."""
    found: Source = request.param
    return found


@pytest.fixture
def serve() -> Iterator[Serve]:
    """``serve([answer, ...])``: a provider's server that gives these answers and lives as long as the test."""
    with ExitStack() as servers:
        yield lambda script: servers.enter_context(ModelServer(script))
