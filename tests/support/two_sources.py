"""The same conversation observed in both ways, and what of it must be equal."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import Runnable

from tests.conftest import Judge
from tests.support.verifier import ClientRun
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import Run, WireEvent, record, run_input

__all__ = ["Heard", "Source", "Turn", "answer", "hear", "same_entities", "same_outcome", "same_stream"]

Source = Literal["events", "callbacks"]
Turn = str | Callable[[ClientRun], Mapping[str, Any]]
"""The user's message, or a function from the client's view to fields of the request."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_ENTITY = ("messageId", "toolCallId", "stepName", "subagentRunId")


@dataclass
class Heard:
    runs: list[Run]
    views: list[ClientRun]
    """The client's view after each run."""

    @property
    def events(self) -> list[WireEvent]:
        return [event for run in self.runs for event in run["events"]]


def answer(payload: Any) -> Callable[[ClientRun], Mapping[str, Any]]:
    """The same answer to everything that was asked."""
    return lambda view: {
        "resume": [
            {"interruptId": asked["id"], "status": "resolved", "payload": payload}
            for asked in view.get("interrupts", ())
        ]
    }


async def hear(
    build: Callable[[], Runnable[Any, Any]],
    source: Source,
    judge: Judge,
    *turns: Turn,
    state: Mapping[str, Any] | None = None,
    **options: Any,
) -> Heard:
    """A conversation with a fresh agent; every run of it is conformant. `state`: what the client begins with."""
    adapter = AGUIAdapter(build(), options=AdapterOptions(source=source, **options))
    heard = Heard([], [])
    for number, turn in enumerate(turns or ("hi",)):
        view = heard.views[-1] if heard.views else None
        messages = list(view["messages"]) if view else []
        if isinstance(turn, str):
            fields: Mapping[str, Any] = {"message": [*messages, {"id": f"u{number}", "role": "user", "content": turn}]}
        else:
            assert view is not None
            fields = {"message": messages, **turn(view)}
        held = view["state"] if view else {**(state or {})}
        request = run_input(**{"state": held, "thread_id": "t", "run_id": f"run-{number}", **fields})
        heard.runs.append(await record(adapter, request))
        heard.views = judge(heard.runs).runs
    return heard


def same_stream(one: Heard, other: Heard) -> None:
    """Event for event, ids named in the order of their appearance."""
    assert _lines(one.events) == _lines(other.events)


def same_entities(one: Heard, other: Heard) -> None:
    """Each message, call, step and subagent, the state, the custom events of each lane: the same events in order."""
    for first, second in zip(one.runs, other.runs, strict=True):
        assert _entities(first["events"]) == _entities(second["events"])


def same_outcome(one: Heard, other: Heard, *, ordered: bool = True) -> None:
    """The client ends with the same messages, state, questions and failure. `ordered=False`: messages of tasks side by
    side came in any order."""
    for first, second in zip(one.views, other.views, strict=True):
        ends = [_end(first), _end(second)]
        assert ends[0] == ends[1] if ordered else sorted(ends[0]) == sorted(ends[1])


def _lines(events: Sequence[WireEvent]) -> list[str]:
    numbers: dict[str, str] = {}
    text = [json.dumps(event, sort_keys=True) for event in events]
    return [_ID.sub(lambda match: numbers.setdefault(match[0], f"#{len(numbers)}"), line) for line in text]


def _entities(events: Sequence[WireEvent]) -> list[list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for event in events:
        name = next((event[key] for key in _ENTITY if key in event), event["type"].split("_")[0])
        text = json.dumps(event, sort_keys=True).replace(json.dumps(name), '"own"')
        found[name].append(_ID.sub("#", text))
    return sorted(found.values())


def _end(view: ClientRun) -> list[str]:
    kept = {key: view.get(key) for key in ("terminal", "outcome", "runError", "state", "result")}
    held = [kept, *view.get("interrupts", ()), *view["messages"]]
    return [_ID.sub("#", json.dumps(item, sort_keys=True)) for item in held]
