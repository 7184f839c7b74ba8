"""Native events of the two ways to observe, made comparable: ids named by the run tree, objects as plain data."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.types import Command, Send
from pydantic import BaseModel

from tests.support.shapes import Case
from yai_nexus_agentkit.adapter.langgraph.native.callback_stream import callback_events
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes, SideHandler

__all__ = ["EXTRA", "Observed", "by_callbacks", "by_v2", "likeness", "observe"]

EXTRA: dict[str, Any] = {"stream_mode": ["updates", "values", "custom"], "subgraphs": True}
_ONLY_CALLBACKS = {"on_chain_error", "on_llm_error", "on_retriever_error"}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Observed(NamedTuple):
    """One run: its events as comparable text, and what it raised."""

    events: list[tuple[str, str, str]]
    """(run, kind, everything); the run is its path of names and numbers from the root."""
    error: str | None
    errors_told: list[str]
    """Runs whose failure only the callback source reports."""


def by_v2(case: Case, given: Any, config: Any) -> AsyncIterator[dict[str, Any]]:
    """v2, with our handler beside it."""
    if case.beside:
        config = {**config, "callbacks": [SideHandler(RunNotes(complete=True))]}
    stream: AsyncIterator[dict[str, Any]] = case.agent.astream_events(
        given, config, version="v2", **(EXTRA if case.graph else {})
    )
    return stream


def by_callbacks(case: Case, given: Any, config: Any, **how: Any) -> AsyncIterator[dict[str, Any]]:
    """The callback source."""
    extra = EXTRA if case.graph else {}
    return callback_events(case.agent, given, config, notes=RunNotes(complete=True), extra=extra, **how)


async def observe(case: Case, way: Callable[..., AsyncIterator[dict[str, Any]]], **how: Any) -> list[Observed]:
    """Every run of a case, one after the other."""
    config: dict[str, Any] = {"configurable": {"thread_id": "t"}, **case.config}
    if config["configurable"] is None:
        del config["configurable"]
    return [await _observe(way(case, given, config, **how)) for given in case.inputs]


async def _observe(stream: AsyncIterator[dict[str, Any]]) -> Observed:
    seen = Observed([], None, [])
    names = _Names()
    try:
        async for event in stream:
            assert event.keys() == {"event", "name", "run_id", "parent_ids", "tags", "metadata", "data"}
            run = names.of(event)
            if event["event"] in _ONLY_CALLBACKS:
                seen.errors_told.append(run)
                continue
            fields = {key: _plain(event[key]) for key in ("parent_ids", "tags", "metadata", "data")}
            seen.events.append((run, event["event"], names.replace(repr((event["name"], fields)))))
    except Exception as error:
        return seen._replace(error=f"{type(error).__name__}: {error}")
    return seen


class _Names:
    """Run ids as paths in the run tree, with a number among siblings of a name; other ids as ``#``."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._count: Counter[str] = Counter()

    def of(self, event: Mapping[str, Any]) -> str:
        run = event["run_id"]
        if run not in self._paths and event["event"].endswith("_start"):
            above = self._paths.get(event["parent_ids"][-1], "?") if event["parent_ids"] else ""
            path = f"{above}/{event['name']}"
            self._count[path] += 1
            self._paths[run] = f"{path}.{self._count[path]}"
        return self._paths.get(run, "?")

    def replace(self, text: str) -> str:
        return _ID.sub(lambda match: self._paths.get(match[0], "#"), text)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        fields = value.model_dump(exclude={"id"})
        # v2 shows some messages before they get an id; the reader of the callback source may come later.
        return (type(value).__name__, _plain(fields), _ID.sub("", value.id or ""))
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, BaseModel):
        return (type(value).__name__, _plain(value.model_dump()))
    if isinstance(value, (Send, Command)) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return _ADDRESS.sub("", repr(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_plain, value)]
    return value if isinstance(value, (str, int, float, bool, type(None))) else _ADDRESS.sub("", repr(value))


def likeness(one: Observed, other: Observed) -> str:
    """``exact``, ``split``, ``runs`` (see `shapes.base`), or what differs first."""
    if one.error != other.error:
        return f"raised {one.error!r} and {other.error!r}"
    if one.events == other.events:
        return "exact"
    (chunks, calls), (other_chunks, other_calls) = _split(one), _split(other)
    if calls == other_calls and chunks == other_chunks:
        return "split"
    if sorted(chunks) != sorted(other_chunks):
        return f"chunks differ: {_first_difference(sorted(chunks), sorted(other_chunks))}"
    runs, other_runs = _by_run(calls), _by_run(other_calls)
    for run in {**runs, **other_runs}:
        if runs[run] != other_runs[run]:
            return f"run {run} differs: {_first_difference(runs[run], other_runs[run])}"
    return "runs"


def _split(seen: Observed) -> tuple[list[Any], list[Any]]:
    """The root's chunks, and everything else."""
    root = seen.events[0][0] if seen.events else ""
    chunks = [event for event in seen.events if event[0] == root and event[1] == "on_chain_stream"]
    return chunks, [event for event in seen.events if event not in chunks]


def _by_run(events: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for event in events:
        found[event[0]].append(event)
    return found


def _first_difference(one: list[Any], other: list[Any]) -> str:
    for left, right in zip(one, other, strict=False):
        if left != right:
            return f"\n  {left}\n  {right}"
    return f"lengths {len(one)} and {len(other)}, then {(one + other)[min(len(one), len(other)) :][:1]}"
