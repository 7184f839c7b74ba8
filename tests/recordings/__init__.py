"""Recorded LangGraph event streams, revived into real objects.

One JSON-lines file per kind of graph, made with deterministic models or canned provider responses, and with the library
versions in its first line. `load` gives the runs of a file; an item is the event as `astream_events` yielded it.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import langchain_core.messages
import langgraph.errors
import langgraph.types
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import ChatPromptValue

__all__ = ["FILES", "Run", "load"]

HERE = Path(__file__).parent
FILES = tuple(sorted(path.stem for path in HERE.glob("*.jsonl")))


class Run(list[dict[str, Any]]):
    """The events of one run, in order. For the APIs ``astream`` and v3 an event is ``{"item": what was yielded}``."""

    def __init__(self, label: str, api: str, graph_input: Any, kwargs: Mapping[str, Any]) -> None:
        super().__init__()
        self.label = label
        self.api = api
        self.input = graph_input
        self.kwargs = kwargs
        self.error: BaseException | None = None
        """The exception of the iterator, if it did not just end."""
        self.notes: list[dict[str, Any]] = []
        """State snapshots and notes recorded during or after the run."""


def load(file: str) -> dict[str, Run]:
    """The runs of a recording (``"chat"`` for ``chat.jsonl``) by their label."""
    runs: dict[str, Run] = {}
    revive = _Reviver()
    with (HERE / f"{file.removesuffix('.jsonl')}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            kind = record.pop("rec")
            if kind == "run":
                revive = _Reviver()
                label = record["run"]
                kwargs = revive(record.get("kwargs") or {})
                runs[label] = Run(label, record.get("api", "astream_events"), revive(record.get("input")), kwargs)
            elif kind == "event":
                event = {key: value for key, value in record.items() if key not in ("run", "i", "t_ms")}
                runs[record["run"]].append(revive(event))
            elif kind == "raised":
                runs[record["run"]].error = revive(record["error"])
            elif kind in ("state", "note") and runs:
                list(runs.values())[-1].notes.append(revive(record))
    return runs


class _Reviver:
    """Turns recorded data into objects.

    A message with an id that was recorded twice without a change is one object, as it was then: the adapter compares
    messages by identity.
    """

    def __init__(self) -> None:
        self._messages: dict[str, BaseMessage] = {}

    def __call__(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self(item) for item in data]
        if not isinstance(data, dict):
            return data
        if "__type__" in data:
            return _Opaque(data["__type__"])
        name = data.get("__class__")
        if name is None:
            return {key: self(value) for key, value in data.items()}
        if "mro" in data:
            return _exception(data, tuple(self(data["args"])))
        message_class = getattr(langchain_core.messages, name, None)
        if isinstance(message_class, type) and issubclass(message_class, BaseMessage):
            return self._message(message_class, data)
        return _object(name, {key: self(value) for key, value in data.items() if key != "__class__"})

    def _message(self, message_class: type[BaseMessage], data: dict[str, Any]) -> BaseMessage:
        # Not validated: the recorded runs hold messages that LangChain itself would refuse (partial usage metadata).
        fields = {key: self(value) for key, value in data.items() if key != "__class__"}
        message = message_class.model_construct(**fields)
        if message.id is None:
            return message
        return self._messages.setdefault(json.dumps(data, sort_keys=True), message)


class _Opaque:
    """An object of which only the ``repr`` was recorded."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _object(name: str, fields: dict[str, Any]) -> Any:
    if "__repr__" in fields:
        return _Opaque(fields["__repr__"])
    if name in _BUILDERS:
        return _BUILDERS[name](fields)
    known = getattr(langgraph.types, name, None)
    return known(**fields) if isinstance(known, type) else SimpleNamespace(**fields)


def _exception(data: dict[str, Any], args: tuple[Any, ...]) -> BaseException:
    """The exception of the recorded class, or of a class of that name below the nearest known one."""
    found = (getattr(builtins, name, None) or getattr(langgraph.errors, name, None) for name in data["mro"])
    known = next(item for item in found if isinstance(item, type) and issubclass(item, BaseException))
    text = data["str"]
    if known.__name__ != data["__class__"]:
        known = type(data["__class__"], (known,), {"__str__": lambda _: text})
    error = known.__new__(known)
    error.args = args
    return error


_BUILDERS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "tuple": lambda fields: tuple(fields["items"]),
    "set": lambda fields: set(fields["items"]),
    "frozenset": lambda fields: frozenset(fields["items"]),
    "UUID": lambda fields: UUID(fields["value"]),
    "ChatPromptValue": lambda fields: ChatPromptValue(messages=fields["messages"]),
}
