"""Driver. One run of an adapter, as the dicts that a client reads."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from ag_ui.core import BaseEvent, RunAgentInput

from yai_nexus_agentkit.protocol.json.reader import read_json

__all__ = ["Adapter", "Request", "Run", "WireEvent", "collect", "record", "run_input", "wire"]

_DEPTH = 1_000
WireEvent: TypeAlias = dict[str, Any]
"""One AG-UI event as JSON data, camelCase names, as it is on the wire."""

Request: TypeAlias = RunAgentInput | Mapping[str, Any] | str
"""A request, or the text of its only user message."""


class Run(TypedDict):
    """The events of a run, and its request."""

    events: list[WireEvent]
    input: dict[str, Any]


class Adapter(Protocol):
    """The part of `AGUIAdapter` that is needed here."""

    @property
    def run(self) -> Callable[..., AsyncIterator[BaseEvent]]:
        """Takes a request and returns the events of one run."""
        ...


def run_input(message: str | Sequence[Mapping[str, Any]] = "hi", **fields: Any) -> RunAgentInput:
    """A `RunAgentInput` with one user message, or with the given messages (wire dicts).

    `fields` replace the defaults, by their Python or wire names: ``thread_id`` and ``run_id`` (new ids), ``state``
    (``{}``), ``tools``, ``context``, ``forwarded_props``, ``resume``, ``parent_run_id``, ``protocol_version``
    (``"1.0"``; None for a client before 1.0).
    """
    only = {"id": str(uuid.uuid4()), "role": "user", "content": message}
    names = {field.alias: name for name, field in RunAgentInput.model_fields.items() if field.alias}
    given = {names.get(name, name): value for name, value in fields.items()}
    defaults: dict[str, Any] = {
        "thread_id": str(uuid.uuid4()),
        "run_id": str(uuid.uuid4()),
        "state": {},
        "messages": [only] if isinstance(message, str) else list(message),
        "tools": [],
        "context": [],
        "forwarded_props": {},
        "protocol_version": "1.0",
    }
    fields = {name: value for name, value in {**defaults, **given}.items() if value is not None or name == "state"}
    return RunAgentInput.model_validate(fields)


def wire(event: BaseEvent | Mapping[str, Any] | str) -> WireEvent:
    """An event as JSON data. Text is parsed; a mapping is checked to be strict JSON.

    Raises:
        TypeError: it is not an event at all.
        ValueError: it is not strict JSON.
    """
    if isinstance(event, str):
        data = read_json(event, max_depth=_DEPTH)
    elif isinstance(event, Mapping):
        data = json.loads(json.dumps(event, allow_nan=False))
    elif isinstance(event, BaseEvent):
        data = json.loads(event.model_dump_json(by_alias=True))
    else:
        raise TypeError(f"an event is a model of ag_ui.core, a mapping or JSON text, not {type(event).__name__}")
    if not isinstance(data, dict):
        raise ValueError(f"an event must be a JSON object, not {data!r}")
    return data


async def record(adapter: Adapter, request: Request, /, **kwargs: Any) -> Run:
    """One run with its request, read to its end. `kwargs` go to ``adapter.run``."""
    given: Any = run_input(request) if isinstance(request, str) else request
    events = [wire(event) async for event in adapter.run(given, **kwargs)]
    data = dict(given) if isinstance(given, Mapping) else json.loads(given.model_dump_json(by_alias=True))
    return {"events": events, "input": data}


async def collect(adapter: Adapter, request: Request, /, **kwargs: Any) -> list[WireEvent]:
    """The wire events of one run, read to its end. `kwargs` go to ``adapter.run``.

    Example:
        >>> events = await collect(AGUIAdapter(graph), "hello")
        >>> assert_conformant(events)
    """
    return (await record(adapter, request, **kwargs))["events"]
