"""Sinks: `EventEmitter` sends its events there in a framework that has no callbacks of LangChain's.

A run has one `Sink`. The code inside finds it in its context, or by the run's invocation id (google-adk).
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5
from weakref import WeakValueDictionary

from yai_nexus_agentkit.orchestration.envelope import Envelope

__all__ = ["Sink", "at_call", "enter", "sink_of", "sinking", "token_of"]

_current: ContextVar[Sink | None] = ContextVar("agentkit_sink", default=None)
_call: ContextVar[str | None] = ContextVar("agentkit_call", default=None)
_by_invocation: WeakValueDictionary[str, Sink] = WeakValueDictionary()


class Sink:
    """Passes the envelopes of one run, each with the id of the tool call that emitted it. `put` may be called from any
    thread."""

    __slots__ = ("__weakref__", "_call", "_put", "token")

    def __init__(self, put: Callable[[str | None, Envelope], None], call: str | None = None, token: str = "") -> None:
        self._put, self._call = put, call
        self.token = token or uuid4().hex
        """The same text for all of a run, and for no other run."""

    def on_custom_event(self, name: str, data: Any, **_about: Any) -> None:
        """Take an envelope, as a handler of LangChain's would."""
        self._put(self._call or _call.get(), data)

    def of_call(self, call_id: str | None) -> Sink:
        """The same run, from within a tool call."""
        return self if call_id is None else Sink(self._put, call_id, self.token)


def token_of(run_key: str) -> str:
    """The token of a run that several workers may be at, one after the other. It does not show the key."""
    return uuid5(NAMESPACE_OID, run_key).hex


def enter(sink: Sink) -> None:
    """Everything in the current context, and what it starts, emits to this run."""
    _current.set(sink)
    _call.set(None)


def at_call(call_id: str) -> None:
    """The current context is that of this tool call."""
    _call.set(call_id)


def sinking(invocation_id: str, sink: Sink) -> None:
    """The run of this id has this sink, for as long as the sink lives."""
    _by_invocation[invocation_id] = sink


def sink_of(context: Any = None) -> Sink | None:
    """The sink of a context object with an ``invocation_id`` (and a ``function_call_id``, of tools), else of the
    current context."""
    sink = None if context is None else _by_invocation.get(getattr(context, "invocation_id", None) or "")
    if sink is None:
        return _current.get()
    return sink.of_call(getattr(context, "function_call_id", None))
