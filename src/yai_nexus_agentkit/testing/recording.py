"""Driver. Records an agent's native stream once and replays it any number of times, through the real adapter.

LangChain's callbacks to an inline handler are recorded too and repeated at the same places, since a part of the adapter
is such a handler. The recorded run and its replays work on a copy of the thread: the agent's own threads do not change.
Tools run once, in the recorded run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ag_ui.core import BaseEvent, EventType, RunAgentInput
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.shape import GraphShape
from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.source import Source, SourceRun

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.run_context import Hooks
    from yai_nexus_agentkit.errors import Code

__all__ = ["Make", "Recording", "record_natives"]

Make: TypeAlias = Callable[["Runnable[Any, Any] | Source"], AGUIAdapter]
"""Makes the adapter to measure, around the agent that replays."""

_CALLBACKS = (
    "on_chat_model_start",
    *(f"on_{kind}_{last}" for kind in ("chain", "llm", "tool") for last in ("start", "end", "error")),
)
"""Callbacks that are recorded. Not ``on_llm_new_token``: the native events have the tokens."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A callback as LangChain made it, with its context."""

    context: Context
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(slots=True)
class _Tape:
    steps: list[tuple[tuple[_Call, ...], Any]] = field(default_factory=list)
    """Each native event, with the callbacks before it."""
    calls: list[_Call] = field(default_factory=list)
    """Callbacks since the last native event."""

    def note(self, native: Any) -> None:
        self.steps.append((tuple(self.calls), native))
        self.calls.clear()

    async def play(self, handlers: Sequence[BaseCallbackHandler] = ()) -> AsyncGenerator[Any, None]:
        """The native events again; `handlers` get the callbacks."""
        for calls, native in self.steps:
            if calls:
                _repeat(calls, handlers)
            yield native
        _repeat(self.calls, handlers)


class _Recorder(BaseCallbackHandler):
    """Records the callbacks of the run."""

    run_inline = True

    def __init__(self, tape: _Tape) -> None:
        self.tape = tape


def _noting(method: str) -> Callable[..., None]:
    def call(self: _Recorder, *args: Any, **kwargs: Any) -> None:
        self.tape.calls.append(_Call(copy_context(), method, args, kwargs))

    return call


for _method in _CALLBACKS:
    setattr(_Recorder, _method, _noting(_method))


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run."""

    make: Make
    """Makes an adapter with the options and hooks of the recorded one."""
    run_input: RunAgentInput
    config: RunnableConfig
    context: Any
    agent: Runnable[Any, Any] | Source
    """Replays the run whenever it is run. A graph has the thread as it was before the run."""
    natives: int
    """Number of native events."""
    events: tuple[str, ...]
    """Types of the AG-UI events of the recorded run, in order."""

    def bare(self) -> AsyncGenerator[Any, None]:
        """The native events alone, as a loop without the adapter gets them: the thread is read, nothing translated."""
        agent: Any = self.agent
        if isinstance(agent, _ReplayedSource):
            return agent.tape.play()
        configurable = {"thread_id": self.run_input.thread_id, **self.config.get("configurable", {})}
        stream: AsyncGenerator[Any, None] = agent.astream_events(None, {"configurable": configurable})
        return stream

    def frames(self, make: Make | None = None) -> AsyncGenerator[bytes, None]:
        """The same native events through an adapter, to server-sent events."""
        adapter = (make or self.make)(self.agent)
        return adapter.stream_sse(self.run_input, config=self.config, context=self.context)


async def record_natives(
    agent: Runnable[Any, Any] | Source | AGUIAdapter,
    run_input: RunAgentInput,
    *,
    config: RunnableConfig | None = None,
    context: Any = None,
) -> Recording:
    """Run an agent once and keep its native events.

    Raises RuntimeError if the run ends with ``RUN_ERROR``, or if the agent had nothing to do.
    """
    adapter = agent if isinstance(agent, AGUIAdapter) else AGUIAdapter(agent)
    given: RunnableConfig = config or {}
    tape = _Tape()
    source = adapter.source
    original: Runnable[Any, Any] | Source = source.agent if isinstance(source, LangGraphSource) else source
    before = original
    if isinstance(original, Pregel) and isinstance(original.checkpointer, BaseCheckpointSaver):
        at = _root({"thread_id": run_input.thread_id, **given.get("configurable", {})})
        before = original.copy({"checkpointer": await _thread_copy(original, at)})
        original = original.copy({"checkpointer": await _thread_copy(original, at)})
    recorder = AGUIAdapter(original, options=adapter.options, hooks=_recording(adapter.hooks, tape))
    observed: RunnableConfig = {**given, "callbacks": _with(given.get("callbacks"), _Recorder(tape))}
    events = [event async for event in recorder.run(run_input, config=observed, context=context)]
    _check(events, tape)
    # The replay is one native stream, whatever source the recorded run had.
    make = partial(AGUIAdapter, options=replace(adapter.options, source="events"), hooks=adapter.hooks)
    types = tuple(event.type.value for event in events)
    return Recording(make, run_input, given, context, _replaying(before, tape), len(tape.steps), types)


def _check(events: Sequence[BaseEvent], tape: _Tape) -> None:
    last = events[-1]
    if last.type == EventType.RUN_ERROR:
        raise RuntimeError(f"the run failed, so there is nothing to measure: {getattr(last, 'message', '')}")
    if not tape.steps:
        raise RuntimeError("the request brings nothing new to its thread, so there is nothing to measure")


def _recording(hooks: Hooks, tape: _Tape) -> Hooks:
    def note(native: Any, run: RunContext) -> Iterable[Any]:
        tape.note(native)
        return (native,) if hooks.on_native is None else hooks.on_native(native, run)

    return replace(hooks, on_native=note)


def _with(callbacks: Any, handler: BaseCallbackHandler) -> Any:
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(handler, inherit=True)
        return callbacks
    return [*(callbacks or ()), handler]


def _repeat(calls: Iterable[_Call], handlers: Sequence[BaseCallbackHandler]) -> None:
    for call in calls:
        for handler in handlers:
            call.context.run(getattr(handler, call.method), *call.args, **call.kwargs)


# ---------------------------------------------------------------- agents that replay


def _replaying(agent: Runnable[Any, Any] | Source, tape: _Tape) -> Runnable[Any, Any] | Source:
    if isinstance(agent, Pregel):
        # A class of its own: the adapter copies graphs, and a copy must replay too.
        made = agent.copy()
        body = {"astream_events": _replayed_events, "tape": tape}
        made.__class__ = type(f"Replayed{type(agent).__name__}", (type(agent),), body)
        return made
    if isinstance(agent, Runnable):
        bound: Runnable[Any, Any] = _ReplayedRunnable(bound=agent, tape=tape)
        return bound
    return _ReplayedSource(agent, tape)


async def _replayed_events(self: Any, input: Any, config: RunnableConfig, **given: Any) -> AsyncGenerator[Any, None]:
    """``astream_events`` of a graph that replays: reads the thread, as the graph would."""
    if isinstance(self.checkpointer, BaseCheckpointSaver):
        await self.checkpointer.aget_tuple(_root(config.get("configurable", {})))
    async with aclosing(self.tape.play(_handlers(config))) as natives:
        async for native in natives:
            yield native


class _ReplayedRunnable(RunnableBinding[Any, Any]):
    tape: Any

    async def astream_events(  # type: ignore[override]  # the base class has one signature per version
        self, input: Any, config: RunnableConfig | None = None, **given: Any
    ) -> AsyncGenerator[Any, None]:
        async with aclosing(self.tape.play(_handlers(config or {}))) as natives:
            async for native in natives:
                yield native


class _ReplayedSource(Source):
    """The source of another framework: prepares as ever, then replays instead of running."""

    def __init__(self, source: Source, tape: _Tape) -> None:
        self._source, self.tape = source, tape
        self.name, self.honours = source.name, source.honours

    async def prepare(self, run: RunContext, /) -> SourceRun:
        return _ReplayedRun(await self._source.prepare(run), self.tape)

    def merged(self, under: Mapping[str, Any], over: Mapping[str, Any], /) -> Any:
        return self._source.merged(under, over)

    def error_code(self, error: Exception) -> Code | None:
        return self._source.error_code(error)


class _ReplayedRun:
    def __init__(self, prepared: SourceRun, tape: _Tape) -> None:
        self.translator = prepared.translator
        self.oldest_tool = prepared.oldest_tool
        self.events = tape.play


def _handlers(config: RunnableConfig) -> Sequence[BaseCallbackHandler]:
    callbacks = config.get("callbacks")
    return callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ()


# ---------------------------------------------------------------- the thread, copied


def _root(configurable: dict[str, Any]) -> RunnableConfig:
    return {"configurable": {"checkpoint_ns": "", **configurable}}


async def _thread_copy(graph: Pregel[Any, Any, Any, Any], at: RunnableConfig) -> InMemorySaver:
    """A saver with the checkpoints that the graph needs to continue: the newest one. Of a paused thread, and of a state
    that is stored as its changes, all."""
    saver = graph.checkpointer
    assert isinstance(saver, BaseCheckpointSaver)
    made = InMemorySaver(serde=saver.serde)
    saved = await saver.aget_tuple(at)
    if saved is None:
        return made
    paused = any(channel == "__interrupt__" for _, channel, _ in saved.pending_writes or ())
    history = [saved]
    if paused or GraphShape.of(graph).replayed:
        history = [
            found async for found in saver.alist({"configurable": {"thread_id": at["configurable"]["thread_id"]}})
        ]
    for found in reversed(history):
        await _put(made, found)
    return made


async def _put(saver: InMemorySaver, found: CheckpointTuple) -> None:
    place = {**found.config["configurable"], "checkpoint_id": None}
    if found.parent_config is not None:
        place["checkpoint_id"] = found.parent_config["configurable"]["checkpoint_id"]
    target: RunnableConfig = {"configurable": {**place, "checkpoint_ns": _namespace(found)}}
    stored = await saver.aput(target, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
    writes: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in found.pending_writes or ():
        writes.setdefault(task_id, []).append((channel, value))
    for task_id, written in writes.items():
        await saver.aput_writes(stored, written, task_id)


def _namespace(found: CheckpointTuple) -> str:
    return str(found.config["configurable"].get("checkpoint_ns") or "")
