"""Pure. What a benchmark case is, and all of them by name.

A case is a function that is registered with `agent_case` or `function_case`; its module stands in `benchmarks.cases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, TypeAlias

from ag_ui.core import RunAgentInput
from langgraph.graph.state import CompiledStateGraph

__all__ = ["AgentCase", "FunctionCase", "Graph", "Pair", "Scene", "Turn", "agent_case", "all_cases", "function_case"]

Graph: TypeAlias = CompiledStateGraph[Any, Any, Any, Any]

_MODULES = ("tokens", "tools", "state", "threads", "nesting", "emitting", "together", "functions")


@dataclass(frozen=True)
class Turn:
    """One request, and what the bare loop gives the graph for the same turn."""

    request: RunAgentInput
    graph_input: Mapping[str, Any]

    @cached_property
    def body(self) -> bytes:
        """The request as a client posts it."""
        return self.request.model_dump_json(by_alias=True).encode()


@dataclass(frozen=True, slots=True)
class Scene:
    """A graph with a fresh thread for each of the turns, which run all at once. Used up by one measurement."""

    graph: Graph
    turns: Sequence[Turn]
    marker: str | None = None
    """A text that the run produces once: how often it is on the wire is counted."""


@dataclass(frozen=True, slots=True)
class AgentCase:
    """Runs of a graph, compared with the bare loop over the same runs."""

    name: str
    title: str
    make: Callable[[int], Scene]
    size: int
    """Argument of `make`: the number of tokens, calls, messages or bytes."""
    small: int
    """A size for a quick look, and for tests. The gate's sizes are in `budgets.toml`."""

    def scene(self, size: int | None = None) -> Scene:
        """A fresh scene."""
        return self.make(self.size if size is None else size)


@dataclass(frozen=True, slots=True)
class Pair:
    """Something of ours, and what it is compared with."""

    ours: Callable[[], object]
    reference: Callable[[], object]


@dataclass(frozen=True, slots=True)
class FunctionCase:
    """A function without a graph, compared with what one would write without this package."""

    name: str
    title: str
    make: Callable[[], Pair]


_CASES: dict[str, AgentCase | FunctionCase] = {}


def agent_case(title: str, *, size: int, small: int) -> Callable[[Callable[[int], Scene]], Callable[[int], Scene]]:
    """Register a function of a size as the case of its name. ``{size}`` in the title is filled in."""

    def register(make: Callable[[int], Scene]) -> Callable[[int], Scene]:
        name = make.__name__
        _CASES[name] = AgentCase(name, title.format(size=f"{size:,}"), make, size, small)
        return make

    return register


def function_case(title: str) -> Callable[[Callable[[], Pair]], Callable[[], Pair]]:
    """Register a function as the case of its name."""

    def register(make: Callable[[], Pair]) -> Callable[[], Pair]:
        _CASES[make.__name__] = FunctionCase(make.__name__, title, make)
        return make

    return register


def all_cases() -> Mapping[str, AgentCase | FunctionCase]:
    """Every case by name, in the order of the documentation."""
    for module in _MODULES:
        import_module(f"benchmarks.cases.{module}")
    return _CASES
