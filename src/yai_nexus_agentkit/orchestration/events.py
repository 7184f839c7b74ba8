"""`EventEmitter`: UI events from anywhere in a graph, without knowing the protocol that carries them.

    EventEmitter(config).emit("display_chart", {"type": "line", "data": [1, 5, 3]})

LangChain passes the callbacks of a run to everything inside it. Among them is the handler of whoever streams the run:
`astream_events`, or the adapter's own source. The emitter calls that handler directly, on the current thread. The
handler appends to the queue that the tokens use, so events keep the program's order and nothing waits. If no handler
streams, the event goes to LangGraph's stream writer (``stream_mode="custom"``); if there is none, nothing happens.

Deliberate differences from `adispatch_custom_event`:

- Only handlers that stream are called, and synchronous ones with ``run_inline`` (LangGraph's idle timeout is one). Any
  other handler would cost a thread or an event loop per event.
- A handler's coroutine runs to its end at once, without a loop. LangChain's never suspends there. One that does counts
  as failed, and the stream writer takes its place.
- Nothing raises. A wrong argument or a failing handler is logged at warning level, each text once.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import lru_cache
from inspect import iscoroutine, iscoroutinefunction
from threading import Lock
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.runtime import Runtime, get_runtime

from yai_nexus_agentkit.orchestration import sinks
from yai_nexus_agentkit.orchestration.envelope import (
    ACTIVITY,
    ACTIVITY_PATCH,
    CUSTOM,
    DISPATCHED,
    ENVELOPE_VERSION,
    KINDS,
    PROGRESS_TYPE,
    STATE,
    STATE_PATCH,
    TOOL_OUTPUT,
    Envelope,
    activity_envelope,
    activity_patch_envelope,
    custom_envelope,
    is_envelope,
    progress_envelope,
    state_envelope,
    state_patch_envelope,
    tool_output_envelope,
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
    "TOOL_OUTPUT",
    "Envelope",
    "EventEmitter",
    "is_envelope",
]

logger = logging.getLogger(__name__)

EVENT_NAME: Final = "agentkit.ui"
"""The `name` of every ``on_custom_event`` that carries an envelope in its `data`."""

_INTERNAL_EVENT_MARKER: Final = DISPATCHED
"""The event name of releases before 1.0. A mock in place of callbacks receives it, and the adapter still translates
what is dispatched under it."""

_TURNS: Final = 4
"""Turns of the event loop after which a waiting consumer has the event, under every driver."""


class EventEmitter:
    """Emits UI events into the run around the call.

    `config` is the `RunnableConfig` that LangGraph passes to a node, and LangChain to a tool or a lambda. Without it,
    each emit finds the run in LangChain's context, so one global emitter serves any number of runs. Pass the config
    where the context is lost: in threads and executors of your own. In agents of google-adk, `config` is the context
    that ADK passes to tools and callbacks.

    Every method works in async and sync code and from any thread, takes microseconds, never blocks the event loop,
    never raises, and does nothing outside a run. A wrong argument (an empty name, content that is not a mapping, a
    malformed patch) is logged as a warning, and nothing is emitted.

    Values may be anything. Containers, models and dataclasses are copied at once, so later changes do not show. The
    adapter converts the rest to JSON: dates to ISO text, bytes to base64, NaN to null, unknown objects to their repr.

    To unit-test a node, pass ``{"callbacks": Mock()}`` as its config. The mock's `on_custom_event` is called with
    ``name="agent_custom_event"`` and ``data={"name": ..., "payload": ..., ...}``: the envelope, and its value as
    ``payload``.
    """

    __slots__ = ("_config", "_place")

    def __init__(self, config: RunnableConfig | Any = None) -> None:
        self._place = None
        if config is not None and not isinstance(config, Mapping):
            if isinstance(getattr(config, "invocation_id", None), str):
                self._place = config
            else:
                _warn_once(f"EventEmitter: config must be a RunnableConfig, not {type(config).__name__}; it is ignored")
            config = None
        self._config = cast("RunnableConfig | None", config)

    def emit(self, name: str, payload: Any = None, *, mime_type: str | None = None, keep: bool | str = False) -> None:
        """Emit an application event: AG-UI ``CUSTOM {name, value}``.

        `mime_type` marks a file: the payload is bytes (or text, sent as UTF-8) and arrives as
        ``{"mimeType": mime_type, "data": base64}``. Bytes without a `mime_type` arrive as base64 text.

        `keep`: a server stores the event with the thread, and a page that opens later gets it again. A text is the id
        under which it is kept: the next event with this id, in any run of the thread, takes its place.
        """
        self._send("emit", lambda _: custom_envelope(name, payload, mime_type, keep))

    async def aemit(
        self, name: str, payload: Any = None, *, mime_type: str | None = None, keep: bool | str = False
    ) -> None:
        """`emit`, then let the event loop turn until a waiting consumer has the event.

        The order is the same with `emit`. Use this in a node that computes on without an `await`, so that the user
        sees the event first. A busy consumer gets the event when it is ready.
        """
        if self._send("aemit", lambda _: custom_envelope(name, payload, mime_type, keep)):
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def progress(self, name: str, fraction: float, message: str | None = None) -> None:
        """Show how far something is, from 0.0 to 1.0: one activity of type ``"progress"`` per name and run.

        Its content is ``{"name", "fraction", "message"}``. All emitters of a run that use the name move the same bar,
        so parallel branches need names of their own.
        """
        self._send(
            "progress",
            lambda route: progress_envelope(f"progress:{_run_token(route)}:{name}", name, fraction, message),
        )

    def activity(self, id: str, type: str, content: Mapping[str, Any]) -> None:
        """Show a widget of the given type, or replace its whole content: AG-UI ``ACTIVITY_SNAPSHOT``.

        `id` is the widget's message id, unique in the thread. `content` is a mapping, a pydantic model or a dataclass.
        """
        self._send("activity", lambda _: activity_envelope(id, type, content))

    def activity_patch(self, id: str, patch: Iterable[Mapping[str, Any]]) -> None:
        """Change a widget's content by RFC 6902 operations: AG-UI ``ACTIVITY_DELTA``. An empty patch sends nothing.

        The widget must have been shown in this run. Clients do not send earlier widgets back: show those again.
        """
        self._send("activity_patch", lambda _: activity_patch_envelope(id, patch))

    def state(self, values: Mapping[str, Any]) -> None:
        """Show intermediate values of state keys before the node returns them: AG-UI ``STATE_DELTA``.

        The graph's state does not change. At the end of the step it corrects what was shown. Keys that the graph does
        not show to clients are not sent.
        """
        self._send("state", lambda _: state_envelope(values))

    def state_patch(self, operations: Iterable[Mapping[str, Any]]) -> None:
        """`state` by RFC 6902 operations, paths from the root: ``{"op": "add", "path": "/rows/-", "value": 1}``."""
        self._send("state_patch", lambda _: state_patch_envelope(operations))

    def tool_output(self, delta: Any) -> None:
        """Show a piece of a tool's output before the tool returns: an activity of type ``"tool_output"`` per call.

        Its content is ``{"toolCallId": str, "output": [delta, ...]}``. `ToolRuntime.emit_output_delta` does the same.
        Outside of a tool nothing is sent.
        """
        self._send("tool_output", lambda _: tool_output_envelope(delta))

    def _send(self, method: str, build: Callable[[_Route], Envelope | None]) -> bool:
        """Build the envelope and deliver it. Returns whether a consumer took it. Never raises: a node calls this."""
        try:
            route = _find_route(self._config) if self._place is None else _sink_route(self._place)
            envelope = None if route is None else build(route)
        except Exception as error:
            _warn_once(f"EventEmitter.{method}: {type(error).__name__}: {error}; nothing was emitted")
            return False
        return route is not None and envelope is not None and _deliver(route, envelope)


class _Route(NamedTuple):
    """The targets of one emit."""

    listeners: list[tuple[Any, str]]
    """Handlers to call, each with its role, in order. If none streams, the stream writer is tried as well."""
    manager: BaseCallbackManager | None
    """Knows the enclosing run: its id, tags and metadata."""
    configs: tuple[RunnableConfig, ...]
    """Where to look for LangGraph's runtime: the given config, then the context's."""


def _find_route(given: RunnableConfig | None) -> _Route | None:
    """The route of an emit; None outside any run.

    A given config that belongs to a run wins, whether that run is streamed or not. If somebody removed its callbacks or
    replaced them by a list, it belongs to no run, and the context's callbacks take their place.
    """
    ambient = var_child_runnable_config.get()
    config = ambient if given is None else given
    if config is None:
        return _sink_route(None)
    listeners, manager = _callbacks(config)
    if ambient is None or config is ambient:
        return _Route(listeners, manager, (config,))
    if manager is None or manager.parent_run_id is None:
        others, manager = _callbacks(ambient)
        if all(role != "stream" for _, role in listeners):
            listeners += [other for other in others if other not in listeners]
    return _Route(listeners, manager, (config, ambient))


def _sink_route(place: Any) -> _Route | None:
    """The route to the run of a framework without LangChain's callbacks."""
    sink = sinks.sink_of(place)
    return None if sink is None else _Route([(sink, "stream")], None, ())


def _callbacks(config: RunnableConfig) -> tuple[list[tuple[Any, str]], BaseCallbackManager | None]:
    """The handlers to call among a config's callbacks (a manager, a list, or one object of any class); the manager."""
    callbacks: Any = config.get("callbacks")
    manager = callbacks if isinstance(callbacks, BaseCallbackManager) else None
    handlers = callbacks if manager is None else manager.handlers
    if handlers is not None and not isinstance(handlers, (list, tuple)):
        handlers = [handlers]
    found: list[tuple[Any, str]] = []
    for handler in handlers or ():
        role = _role(handler)
        if role is not None and (handler, role) not in found:
            found.append((handler, role))
    return found, manager


def _role(handler: Any) -> str | None:
    """How a handler takes custom events: it streams them ("stream"), looks at them ("inline"), is not a handler of
    LangChain's at all ("mock"), or ignores them (None)."""
    cls: Any = type(handler)
    if not issubclass(cls, BaseCallbackHandler):
        return "mock" if callable(getattr(handler, "on_custom_event", None)) else None
    role = _role_of_class(cls)
    return None if role == "inline" and not handler.run_inline else role


@lru_cache(maxsize=256)
def _role_of_class(cls: type[BaseCallbackHandler]) -> str | None:
    """Streaming alone is not enough: LangGraph's handler of ``stream_mode="messages"`` ignores custom events."""
    method: Any = cls.on_custom_event
    if method in (BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event):
        return None
    if _StreamingCallbackHandler in cls.__mro__:
        return "stream"
    return None if iscoroutinefunction(method) else "inline"


def _deliver(route: _Route, envelope: Envelope) -> bool:
    """Pass the envelope to every listener. Returns whether one of them, or the stream writer, takes it to a client."""
    manager = route.manager
    run_id = (manager and manager.parent_run_id) or uuid4()
    about = {"run_id": run_id, "tags": manager and manager.tags, "metadata": manager and manager.metadata}
    taken = False
    for handler, role in route.listeners:
        try:
            if role == "mock":
                data = {**envelope, "event_id": envelope["id"], "payload": envelope["value"]}
                result = handler.on_custom_event(name=_INTERNAL_EVENT_MARKER, data=data)
            else:
                result = handler.on_custom_event(EVENT_NAME, envelope, **about)
            if iscoroutine(result):
                _run_to_end(result)
            taken = taken or role == "stream"
        except Exception as error:
            _warn_once(f"EventEmitter: {type(handler).__name__}.on_custom_event failed: {error!r}")
    return taken or _write(route.configs, envelope)


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

    A run that another worker may go on with has a key in its metadata, and the other worker's part moves the same bars.
    Else a node knows the ids of its own run only, not the root's. All parts of a LangGraph run share the runtime's
    `RunControl`. It takes no weak reference, so the last thousand are kept.
    """
    for config in route.configs:
        if key := (config.get("metadata") or {}).get("run_id"):
            return sinks.token_of(str(key))
        token = var_child_runnable_config.set(config)
        try:
            control = getattr(_runtime(), "control", None)
        finally:
            var_child_runnable_config.reset(token)
        if control is not None:
            with _tokens_lock:
                return _pinned_token(control)
    stream = next((handler for handler, role in route.listeners if role == "stream"), None)
    if stream is None:
        return ""  # nobody sees it
    if isinstance(stream, sinks.Sink):
        return stream.token
    with _tokens_lock:
        return _tokens.setdefault(stream, uuid4().hex)


@lru_cache(maxsize=1024)
def _pinned_token(_control: object) -> str:
    return uuid4().hex


_warned: set[tuple[str, str, int]] = set()
"""Text and place of every warning given, so that a loop warns once. Holds at most a hundred."""


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
