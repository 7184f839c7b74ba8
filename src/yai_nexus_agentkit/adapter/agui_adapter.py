"""Driver. `AGUIAdapter`: frozen configuration, and the one loop that turns a run of an agent into AG-UI events."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ag_ui.core import BaseEvent, EventType, RunAgentInput, RunErrorEvent

from yai_nexus_agentkit.adapter.control import RunControl, Stopped, Watch
from yai_nexus_agentkit.adapter.filters import EventFilter
from yai_nexus_agentkit.adapter.options import AdapterOptions, Hooks
from yai_nexus_agentkit.adapter.source import Outcome, RunContext, Source, SourceRun, Translator
from yai_nexus_agentkit.errors import AGUIAdapterError, Code, EncodingError, HookError, RunInputError
from yai_nexus_agentkit.protocol.json_safe import clean_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.request import parse_request, peer_declares

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

__all__ = ["AGUIAdapter"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)
_DEFAULTS = AdapterOptions()
_NO_HOOKS = Hooks()
_OUTCOMES: Mapping[str, Outcome] = {"interrupt": "interrupt", "cancelled": "cancelled"}
_TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)


class AGUIAdapter:
    """An agent as AG-UI event streams.

    `agent`: a compiled LangGraph graph, any other LangChain runnable, or a `Source`. The adapter holds nothing of a
    run: one object serves any number of concurrent runs.
    """

    def __init__(
        self,
        agent: Runnable[Any, Any] | Source,
        *,
        options: AdapterOptions = _DEFAULTS,
        hooks: Hooks = _NO_HOOKS,
    ) -> None:
        self.options = options
        self.hooks = hooks
        self.source: Source = _source(agent)

    def run(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[BaseEvent, None]:
        """The AG-UI events of one run, ``RUN_STARTED`` first, exactly one of ``RUN_FINISHED`` and ``RUN_ERROR`` last.

        `run_input`: the request, as a model or as JSON data (cleaned as AG-UI 1.0 §17 asks). `config`: over the
        `config` hook's. `context`: LangGraph's runtime context. `request`: what the server knows, for hooks. `control`:
        stops this run from outside.

        Raises nothing of the run: every exception becomes ``RUN_ERROR``. Closing the generator, or cancelling its
        consumer, cancels the agent and leaves no task behind.
        """
        return _Driver(self, run_input, control, config=config, context=context, request=request or {}).events()

    event_stream_adapter = run
    """`run` under the name that older code knows."""

    async def stream_sse(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The same as Server-Sent Events: one frame per event (AG-UI 1.0, HTTP binding). An event that cannot be
        encoded ends the run with ``ENCODING_ERROR``, after closing what is open."""
        from yai_nexus_agentkit.transport.sse import SSEEncoder

        encoder = SSEEncoder()
        ended = False
        async with aclosing(
            self.run(run_input, config=config, context=context, request=request, control=control)
        ) as events:
            step: Callable[[], Any] = events.__anext__
            while True:
                try:
                    event = await step()
                except StopAsyncIteration:
                    break
                step = events.__anext__
                try:
                    frame = encoder.encode(event)
                except EncodingError as error:
                    step = partial(events.athrow, error)
                    continue
                ended = event.type in _TERMINAL
                yield frame
        if not ended:
            yield encoder.encode(
                RunErrorEvent(message="the end of the run could not be encoded", code=Code.ENCODING_ERROR)
            )


class _Driver:
    """One run: prepares it, feeds its translator, and sees to it that it ends."""

    def __init__(
        self, adapter: AGUIAdapter, raw: RunAgentInput | Mapping[str, Any], control: RunControl | None, **given: Any
    ) -> None:
        self._adapter, self._raw, self._given = adapter, raw, given
        self._prepared: SourceRun | None = None
        self._control = control or (RunControl() if Watch.needed(adapter.options) else None)
        self._watch: Watch | None = None

    async def events(self) -> AsyncGenerator[BaseEvent, None]:
        try:
            parsed = parse_request(self._raw)
        except RunInputError as error:
            yield RunErrorEvent(message=clean_text(str(error)), code=error.code)
            return
        run = self._run = RunContext(
            run_input=parsed,
            declared=peer_declares(parsed),
            options=self._adapter.options,
            hooks=self._adapter.hooks,
            **self._given,
        )
        record = run.hooks.record
        self._filter = EventFilter(run)
        run.outcome = "abandoned"
        failure: Exception | None = None
        try:
            try:
                async with aclosing(self._translate()) as stream:
                    async for event in stream:
                        if record is not None:
                            _call("record", record, event, run)
                        yield event
            except Exception as error:
                failure = error
            if failure is not None:
                for event in self._failed(failure):
                    if record is not None:
                        record(event, run)
                    yield event
        finally:
            if self._watch is not None:
                self._watch.end()
            await self._after()

    async def _prepare(self) -> SourceRun:
        run, hooks = self._run, self._run.hooks
        if hooks.record is not None:
            _call("record", hooks.record, run.run_input, run)
        if hooks.before_run is not None:
            replaced = await _acall("before_run", hooks.before_run, run)
            if replaced is not None:
                run.run_input = replaced
        if hooks.config is not None:
            mapped = await _acall("config", hooks.config, run)
            run.config = _merge(mapped, run.config)
        return await self._wait(partial(self._adapter.source.prepare, run))

    async def _translate(self) -> AsyncGenerator[BaseEvent, None]:
        if self._control is not None and Watch.needed(self._run.options):
            self._watch = Watch(self._control, self._run.options, self._oldest_tool)
            self._watch.start()
        prepared = self._prepared = await self._prepare()
        run, translator, keep = self._run, prepared.translator, self._filter
        on_native = run.hooks.on_native
        for event in keep(translator.start()):
            yield event
        async with aclosing(prepared.events()) as natives:
            step = natives.__anext__
            while True:
                try:
                    native = await (step() if self._control is None else self._wait(step))
                except StopAsyncIteration:
                    break
                for one in (native,) if on_native is None else _call("on_native", on_native, native, run):
                    try:
                        events = translator.feed(one)
                    except Exception as error:
                        _logger.error(
                            "skipping a native event that cannot be translated: %s", _kind(one), exc_info=error
                        )
                        continue
                    for event in events if run.hooks.on_event is None else keep(events):
                        yield event
        for event in keep(self._finish(prepared)):
            self._note_outcome(event)
            yield event

    def _finish(self, prepared: SourceRun) -> list[BaseEvent]:
        try:
            return prepared.translator.finish()
        except AGUIAdapterError:
            raise
        except Exception as error:
            _logger.error("the end of the run cannot be translated", exc_info=error)
            failed = AGUIAdapterError(f"the end of the run could not be told: {error}")
            failed.code = Code.TRANSLATION_ERROR
            raise failed from error

    def _failed(self, error: Exception) -> list[BaseEvent]:
        run = self._run
        if isinstance(error, Stopped):
            if error.error is None:
                run.outcome = "cancelled"
                return self._ending().cancel("the run was cancelled")
            error = error.error
        code, message = _code(error), _text(error)
        if run.hooks.on_error is not None:
            try:
                message = run.hooks.on_error(error, run) or message
            except Exception:
                _logger.exception("the on_error hook raised")
        if not isinstance(error, AGUIAdapterError):
            _logger.warning("run %s failed: %s", run.run_input.run_id, message, exc_info=error)
        run.outcome = "error"
        message = clean_text(message)
        return self._ending().fail(message, code)

    def _ending(self) -> Translator | RunLifecycle:
        """Who ends the run: its translator, or, before there is one, a bare grammar."""
        if self._prepared is not None:
            return self._prepared.translator
        given = self._run.run_input
        return RunLifecycle(thread_id=given.thread_id, run_id=given.run_id, declared=self._run.declared)

    def _note_outcome(self, event: BaseEvent) -> None:
        if event.type == EventType.RUN_FINISHED:
            outcome = getattr(event, "outcome", None)
            self._run.outcome = _OUTCOMES.get(getattr(outcome, "type", ""), "success")
        elif event.type == EventType.RUN_ERROR:
            self._run.outcome = "error"

    async def _wait(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await the agent, where a stop or a time limit may end it."""
        if self._control is None:
            return await step()
        result = await self._control.wait(step)
        if self._watch is not None:
            self._watch.heard = time.monotonic()
        return result

    def _oldest_tool(self) -> float | None:
        return self._prepared.oldest_tool() if self._prepared is not None else None

    async def _after(self) -> None:
        hook = self._run.hooks.after_run
        if hook is None:
            return
        try:
            await _acall("after_run", hook, self._run)
        except HookError:
            _logger.exception("the after_run hook raised")


def _source(agent: Any) -> Source:
    from langchain_core.runnables import Runnable

    if isinstance(agent, Runnable):
        from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource

        return LangGraphSource(agent)
    if isinstance(agent, Source):
        return agent
    hint = ": compile it first, graph.compile()" if hasattr(agent, "compile") else ""
    raise TypeError(f"an agent is a compiled graph, a runnable or a Source, not {type(agent).__name__}{hint}")


def _call(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    try:
        return hook(*args)
    except Exception as error:
        raise HookError(f"the {name} hook raised {type(error).__name__}: {error}", hook=name) from error


async def _acall(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook that may be a coroutine function. An error of this package passes: it is how `before_run` refuses a
    run."""
    try:
        result = hook(*args)
        return await result if inspect.isawaitable(result) else result
    except AGUIAdapterError:
        raise
    except Exception as error:
        raise HookError(f"the {name} hook raised {type(error).__name__}: {error}", hook=name) from error


def _merge(under: RunnableConfig | None, over: RunnableConfig | None) -> RunnableConfig | None:
    if not under or not over:
        return over or under
    from langchain_core.runnables.config import merge_configs

    return merge_configs(under, over)


def _code(error: BaseException) -> str:
    if isinstance(error, AGUIAdapterError):
        return error.code
    return Code.RECURSION_LIMIT if type(error).__name__ == "GraphRecursionError" else Code.AGENT_ERROR


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _kind(native: Any) -> str:
    return str(native.get("event")) if isinstance(native, Mapping) else type(native).__name__
