"""Driver. The one loop that runs an agent: prepares the run, feeds its translator, and sees to it that it ends."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ag_ui.core import BaseEvent, EventType, RunAgentInput, RunErrorEvent

from yai_nexus_agentkit.adapter.control import RunControl, Stopped, Watch
from yai_nexus_agentkit.adapter.filters import EventFilter
from yai_nexus_agentkit.adapter.options import AdapterOptions, Hooks
from yai_nexus_agentkit.adapter.source import Outcome, RunContext, Source, SourceRun, Translator, call_hook, error_text
from yai_nexus_agentkit.errors import AGUIAdapterError, Code, EncodingError, HookError, RunInputError
from yai_nexus_agentkit.protocol.json_safe import clean_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.request import parse_request, peer_declares

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["Driver"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)
_TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)
_OUTCOMES: Mapping[str, Outcome] = {"interrupt": "interrupt", "cancelled": "cancelled"}


class Driver:
    """One run."""

    def __init__(
        self,
        source: Source,
        raw: RunAgentInput | Mapping[str, Any],
        control: RunControl | None,
        *,
        options: AdapterOptions,
        hooks: Hooks,
        **given: Any,
    ) -> None:
        self._source, self._raw = source, raw
        self._context: Callable[..., RunContext] = partial(RunContext, options=options, hooks=hooks, **given)
        self._watched = Watch.needed(options)
        self._control = control or (RunControl() if self._watched else None)
        self._watch: Watch | None = None
        self._prepared: SourceRun | None = None

    async def batches(self) -> AsyncGenerator[list[BaseEvent], None]:
        """The run's events, those of one native event together; no batch is empty."""
        warnings: list[str] = []
        try:
            parsed = parse_request(self._raw, warnings=warnings)
        except RunInputError as error:
            yield [RunErrorEvent(message=clean_text(str(error)), code=error.code)]
            return
        for warning in warnings:
            _logger.warning("request of run %s: %s", parsed.run_id, warning)
        run = self._run = self._context(run_input=parsed, declared=peer_declares(parsed))
        run.outcome = "abandoned"
        self._filter = EventFilter(run)
        failure: Exception | None = None
        try:
            try:
                prepared = await self._prepare()
                yield self._filter(prepared.translator.start())
                told = self._teller(prepared.translator)
                async with aclosing(prepared.events()) as natives:
                    step = natives.__anext__ if self._control is None else partial(self._wait, natives.__anext__)
                    while True:
                        try:
                            native = await step()
                        except StopAsyncIteration:
                            break
                        if events := told(native):
                            yield events
                        if self._filter.error is not None:
                            raise self._filter.error
                yield self._finished(prepared.translator)
                if self._filter.error is not None:
                    raise self._filter.error
            except Exception as error:
                failure = error
            if failure is not None and (events := self._failed(failure)):
                yield events
        finally:
            if self._watch is not None:
                self._watch.end()
            await self._after()

    async def _prepare(self) -> SourceRun:
        run, hooks = self._run, self._run.hooks
        if self._control is not None and self._watched:
            self._watch = Watch(self._control, run.options, self._oldest_tool)
            self._watch.start()
        if hooks.record is not None:
            call_hook("record", hooks.record, run.run_input, run)
        if hooks.before_run is not None:
            replaced = await _acall("before_run", hooks.before_run, run)
            if replaced is not None:
                run.run_input = replaced
        if hooks.config is not None:
            mapped = await _acall("config", hooks.config, run)
            run.config = _merge(mapped, run.config)
        self._prepared = await self._wait(partial(self._source.prepare, run))
        return self._prepared

    # ------------------------------------------------------------------ events on their way out

    def _teller(self, translator: Translator) -> Callable[[Any], list[BaseEvent]]:
        """How a native event becomes events, chosen once: it happens for every token."""
        hooks = self._run.hooks
        if hooks.on_native is None and hooks.on_event is None and hooks.record is None:
            return partial(_fed, translator)
        return partial(self._translated, translator)

    def _translated(self, translator: Translator, native: Any) -> list[BaseEvent]:
        on_native = self._run.hooks.on_native
        natives: Iterable[Any] = (native,)
        if on_native is not None:
            natives = call_hook("on_native", lambda: list(on_native(native, self._run)))
        return self._filter([event for one in natives for event in _fed(translator, one)])

    def _finished(self, translator: Translator) -> list[BaseEvent]:
        try:
            events = translator.finish()
        except AGUIAdapterError:
            raise
        except Exception as error:
            _logger.error("the end of the run cannot be translated", exc_info=error)
            failed = AGUIAdapterError(f"the end of the run could not be told: {error}")
            failed.code = Code.TRANSLATION_ERROR
            raise failed from error
        outcome = _outcome(events[-1])
        events = self._filter(events)
        if self._filter.ended:
            self._run.outcome = outcome
        return events

    def _failed(self, error: Exception) -> list[BaseEvent]:
        """The end of a run that failed or was stopped."""
        run = self._run
        if isinstance(error, EncodingError):
            self._filter.lose(error.lost)
        if isinstance(error, Stopped) and error.error is None:
            run.outcome = "cancelled"
            return self._last(self._ending().cancel("the run was cancelled"))
        if isinstance(error, Stopped) and error.error is not None:
            error = error.error
        if not isinstance(error, AGUIAdapterError):
            _logger.warning("run %s failed", run.run_input.run_id, exc_info=error)
        run.outcome = "error"
        message, code = clean_text(error_text(error, run)), _code(error)
        events = self._last(self._ending().fail(message, code))
        return events if self._filter.ended else [*events, RunErrorEvent(message=message, code=code)]

    def _last(self, events: list[BaseEvent]) -> list[BaseEvent]:
        """Through the hooks, unless one of them is why the run ends."""
        if self._filter.error is None:
            passed = self._filter(events)
            if self._filter.ended:
                return passed
            events = [event for event in events if event.type in _TERMINAL]
            return [*passed, *self._filter.without_hooks(events)]
        return self._filter.without_hooks(events)

    def _ending(self) -> Translator | RunLifecycle:
        """Who ends the run: its translator, or, before there is one, a bare grammar."""
        if self._prepared is not None:
            return self._prepared.translator
        given = self._run.run_input
        return RunLifecycle(thread_id=given.thread_id, run_id=given.run_id, declared=self._run.declared)

    # ------------------------------------------------------------------ waiting

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
        except AGUIAdapterError:
            _logger.exception("the after_run hook raised")


def _fed(translator: Translator, native: Any) -> list[BaseEvent]:
    """One event that cannot be told is logged and skipped; what is open still gets closed."""
    try:
        return translator.feed(native)
    except HookError:
        raise
    except Exception as error:
        kind = native.get("event") if isinstance(native, Mapping) else type(native).__name__
        _logger.error("skipping a native event that cannot be translated: %s", kind, exc_info=error)
        return []


async def _acall(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook that may be a coroutine function. An error of this package passes: so `before_run` refuses a run."""
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


def _outcome(event: BaseEvent) -> Outcome:
    if event.type == EventType.RUN_ERROR:
        return "error"
    return _OUTCOMES.get(getattr(getattr(event, "outcome", None), "type", ""), "success")


def _code(error: BaseException) -> str:
    if isinstance(error, AGUIAdapterError):
        return error.code
    return Code.RECURSION_LIMIT if type(error).__name__ == "GraphRecursionError" else Code.AGENT_ERROR
