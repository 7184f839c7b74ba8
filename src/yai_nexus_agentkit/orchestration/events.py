"""`EventEmitter`: UI events from anywhere in a graph, without knowing the protocol that carries them.

    EventEmitter(config).emit("display_chart", {"type": "line", "data": [1, 5, 3]})

How an event travels. LangChain hands the callbacks of a run down to everything that runs inside it; among them is the
handler of whoever streams the run (`astream_events`, or the adapter's own source). The emitter calls that handler
synchronously, on whatever thread it is. The handler appends to the stream's queue, where the tokens go too, so the
order is the program's order, and nothing waits. Where no handler listens, the event goes to LangGraph's stream writer
(``stream_mode="custom"``). Where that is missing as well, in a unit test of a node say, nothing happens.

Deliberate differences from `adispatch_custom_event`:

- Only handlers that stream, and synchronous ones that ask to run inline (LangGraph's idle timeout is one), are told.
  Other handlers would cost a thread or an event loop per event.
- A handler's coroutine is run to its end at once, without a loop. LangChain's never suspends there; one that does
  counts as failed, and the stream writer takes its place.
- Nothing raises. A wrong argument and a failing handler are logged at warning level, each text once, since a
  progress bar is no reason to lose a run.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import lru_cache
from inspect import iscoroutine, iscoroutinefunction
from threading import Lock
from typing import Any, Final, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.runtime import Runtime, get_runtime

from yai_nexus_agentkit.orchestration.envelope import (
    ACTIVITY,
    ACTIVITY_PATCH,
    CUSTOM,
    ENVELOPE_VERSION,
    KINDS,
    PROGRESS_TYPE,
    STATE,
    STATE_PATCH,
    Envelope,
    activity_envelope,
    activity_patch_envelope,
    custom_envelope,
    is_envelope,
    progress_envelope,
    state_envelope,
    state_patch_envelope,
)

__all__ = [
    "ACTIVITY",
    "ACTIVITY_PATCH",
    "CUSTOM",
    "ENVELOPE_VERSION",
    "EVENT_NAME",
    "KINDS",
    "PROGRESS_TYPE",
    "STATE",
    "STATE_PATCH",
    "Envelope",
    "EventEmitter",
    "is_envelope",
]

logger = logging.getLogger(__name__)

EVENT_NAME: Final = "agentkit.ui"
"""The `name` of every ``on_custom_event`` that carries an envelope in its `data`."""

_TURNS: Final = 4
"""Turns of the event loop after which a consumer that waits for the next event has it, in every driver."""


class EventEmitter:
    """Emits UI events into the run that surrounds the call.

    `config` is the `RunnableConfig` that LangGraph gives to a node, LangChain to a tool or a lambda. Without it the
    emitter finds the run at each emit, from the context that LangChain keeps, so that one emitter, even a global one,
    serves any number of runs. Pass the config where the context is lost: in threads and executors of your own.

    Every method is safe in async and sync code and from any thread, takes microseconds, never blocks the event loop,
    never raises and does nothing outside a run. A wrong argument (an empty name, content that is no mapping, a
    malformed patch) is logged as a warning, and nothing is emitted.

    Values may be anything. Containers, models and dataclasses are copied at once, so later changes to them do not show.
    The adapter makes JSON of the rest: dates as ISO text, bytes as base64, NaN as null, unknown objects as their repr.
    """

    __slots__ = ("_config",)

    def __init__(self, config: RunnableConfig | None = None) -> None:
        if config is not None and not isinstance(config, Mapping):
            _warn_once(f"EventEmitter: config must be a RunnableConfig, not {type(config).__name__}; it is ignored")
            config = None
        self._config = config

    def emit(self, name: str, payload: Any = None, *, mime_type: str | None = None) -> None:
        """Emit an application event: AG-UI ``CUSTOM {name, value}``.

        `mime_type` marks a file: the payload is bytes (or text, sent as UTF-8) and arrives as
        ``{"mimeType": mime_type, "data": base64}``. Bytes without one arrive as base64 text.
        """
        self._send("emit", lambda _: custom_envelope(name, payload, mime_type))

    async def aemit(self, name: str, payload: Any = None, *, mime_type: str | None = None) -> None:
        """`emit`, then let the event loop turn until a consumer that waits for the next event has it.

        The order of events is the same with `emit`; this is for a node that goes on computing without an `await` and
        wants the user to see the event first. A consumer that is busy gets the event when it is ready.
        """
        if self._send("aemit", lambda _: custom_envelope(name, payload, mime_type)):
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def progress(self, name: str, fraction: float, message: str | None = None) -> None:
        """Show how far something is, 0.0 to 1.0: one activity of type ``"progress"`` per name and run, which fills.

        Its content is ``{"name", "fraction", "message"}``. Every emitter of a run that uses the name moves the same
        bar, so branches that work side by side need names of their own.
        """
        self._send(
            "progress",
            lambda route: progress_envelope(f"progress:{_run_token(route)}:{name}", name, fraction, message),
        )

    def activity(self, id: str, type: str, content: Mapping[str, Any]) -> None:
        """Show a widget of the given type, or replace its whole content: AG-UI ``ACTIVITY_SNAPSHOT``.

        `id` is the widget's message id: unique in the thread. `content` is a mapping, a pydantic model or a dataclass.
        """
        self._send("activity", lambda _: activity_envelope(id, type, content))

    def activity_patch(self, id: str, patch: Iterable[Mapping[str, Any]]) -> None:
        """Change a widget's content by RFC 6902 operations: AG-UI ``ACTIVITY_DELTA``. An empty patch sends nothing.

        The widget is one that this run has shown; clients do not send earlier ones back, so show those again.
        """
        self._send("activity_patch", lambda _: activity_patch_envelope(id, patch))

    def state(self, values: Mapping[str, Any]) -> None:
        """Show intermediate values of state keys before the node returns them: AG-UI ``STATE_DELTA``.

        The state that the graph stores is untouched, and corrects what was shown at the end of the step. Keys that the
        graph does not show to clients are not sent.
        """
        self._send("state", lambda _: state_envelope(values))

    def state_patch(self, operations: Iterable[Mapping[str, Any]]) -> None:
        """`state` by RFC 6902 operations, paths from the root: ``{"op": "add", "path": "/rows/-", "value": 1}``."""
        self._send("state_patch", lambda _: state_patch_envelope(operations))

    def _send(self, method: str, build: Callable[[_Route], Envelope | None]) -> bool:
        """Whether an envelope was handed to somebody. Nothing may get from here into the node."""
        try:
            route = _find_route(self._config)
            envelope = None if route is None else build(route)
        except Exception as error:
            _warn_once(f"EventEmitter.{method}: {type(error).__name__}: {error}; nothing was emitted")
            return False
        return route is not None and envelope is not None and _deliver(route, envelope)


class _Route(NamedTuple):
    """Where one emit goes."""

    listeners: list[BaseCallbackHandler]
    """Handlers to call, in their manager's order. If none of them streams, the stream writer is tried as well."""
    manager: BaseCallbackManager | None
    """Knows the enclosing run: its id, tags and metadata."""
    configs: tuple[RunnableConfig, ...]
    """Where to look for LangGraph's runtime: the given config, then the context's."""


def _find_route(given: RunnableConfig | None) -> _Route | None:
    """None outside any run.

    A given config that belongs to a run wins, whether that run is streamed or not. One whose callbacks somebody took
    out or replaced by a list belongs to none; what the context knows takes their place.
    """
    ambient = var_child_runnable_config.get()
    config = ambient if given is None else given
    if config is None:
        return None
    callbacks = config.get("callbacks")
    listeners, manager = _listeners(callbacks), _manager(callbacks)
    if ambient is None or config is ambient:
        return _Route(listeners, manager, (config,))
    if manager is None or manager.parent_run_id is None:
        callbacks = ambient.get("callbacks")
        manager = _manager(callbacks)
        if not any(map(_streams, listeners)):
            listeners += [handler for handler in _listeners(callbacks) if handler not in listeners]
    return _Route(listeners, manager, (config, ambient))


def _manager(callbacks: object) -> BaseCallbackManager | None:
    return callbacks if isinstance(callbacks, BaseCallbackManager) else None


def _listeners(callbacks: Any) -> list[BaseCallbackHandler]:
    """The handlers to call."""
    found: list[BaseCallbackHandler] = []
    for handler in callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ():
        role = _role(handler)
        if (role == "stream" or (role == "inline" and handler.run_inline)) and handler not in found:
            found.append(handler)
    return found


def _role(handler: BaseCallbackHandler) -> str | None:
    """What the handler does with a custom event: "stream" it, look at it "inline" if it wants to, or None."""
    cls: Any = type(handler)
    return _role_of_class(cls)


def _streams(handler: BaseCallbackHandler) -> bool:
    return _role(handler) == "stream"


@lru_cache(maxsize=256)
def _role_of_class(cls: type[BaseCallbackHandler]) -> str | None:
    """Streaming alone is not enough: LangGraph's handler of ``stream_mode="messages"`` ignores custom events."""
    method = getattr(cls, "on_custom_event", None)
    if method in (None, BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event):
        return None
    if _StreamingCallbackHandler in cls.__mro__:
        return "stream"
    return None if iscoroutinefunction(method) else "inline"


def _deliver(route: _Route, envelope: Envelope) -> bool:
    """Hand the envelope over. Returns whether somebody took it."""
    manager = route.manager
    run_id = (manager and manager.parent_run_id) or uuid4()
    tags, metadata = (manager.tags, manager.metadata) if manager else (None, None)
    taken = False
    for handler in route.listeners:
        try:
            result = handler.on_custom_event(EVENT_NAME, envelope, run_id=run_id, tags=tags, metadata=metadata)
            if iscoroutine(result):
                _run_to_end(result)
            taken = taken or _streams(handler)
        except Exception as error:
            _warn_once(f"EventEmitter: {type(handler).__name__}.on_custom_event failed: {error!r}")
    if not taken:
        taken = _write(route.configs, envelope)
    return taken


def _run_to_end(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError("the handler waited for something")


def _write(configs: tuple[RunnableConfig, ...], envelope: Envelope) -> bool:
    """Give the envelope to LangGraph's stream writer, if there is one."""
    for config in configs:
        token = var_child_runnable_config.set(config)  # the writer reads its namespace there, in any thread
        try:
            if runtime := _runtime():
                runtime.stream_writer(envelope)
                return True
        except Exception as error:
            _warn_once(f"EventEmitter: the stream writer failed: {error!r}")
        finally:
            var_child_runnable_config.reset(token)
    return False


def _runtime() -> Runtime[Any] | None:
    """LangGraph's runtime in the context's config; None for a run of plain LangChain."""
    try:
        return get_runtime()
    except (KeyError, RuntimeError):
        return None


_tokens: WeakKeyDictionary[object, str] = WeakKeyDictionary()
"""A token per streaming handler, that is per run of plain LangChain. Set by the run's first `progress`."""
_tokens_lock = Lock()


def _run_token(route: _Route) -> str:
    """The same text for all of a run, subgraphs and worker threads included, and for no other run.

    LangChain tells a node the ids of its own run only, not the root's. What the whole of a LangGraph run shares is the
    runtime's `RunControl`; it takes no weak reference, so the last thousand are kept.
    """
    for config in route.configs:
        token = var_child_runnable_config.set(config)
        try:
            control = getattr(_runtime(), "control", None)
        finally:
            var_child_runnable_config.reset(token)
        if control is not None:
            with _tokens_lock:
                return _pinned_token(control)
    stream = next(filter(_streams, route.listeners), None)
    if stream is None:
        return ""  # nobody gets to see it
    with _tokens_lock:
        return _tokens.setdefault(stream, uuid4().hex)


@lru_cache(maxsize=1024)
def _pinned_token(_control: object) -> str:
    return uuid4().hex


_warned: set[tuple[str, str, int]] = set()
"""Text and place of every warning given, so that a loop warns once. Stops growing at a hundred."""


def _warn_once(text: str) -> None:
    """Log a warning that names the caller's line, once per text and line."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame, depth = frame.f_back, depth + 1
    key = (text, frame.f_code.co_filename, frame.f_lineno)
    if key in _warned or len(_warned) >= 100:
        return
    _warned.add(key)
    logger.warning(text, stacklevel=depth)
