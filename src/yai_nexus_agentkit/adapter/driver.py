"""Driver. The one loop that runs an agent: prepares the run, feeds its translator, and ends the run in any case."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from ag_ui.core import BaseEvent, RunAgentInput, RunErrorEvent

from yai_nexus_agentkit.adapter.control import RunControl, Stopped, Watch
from yai_nexus_agentkit.adapter.hook_calls import acall_hook, being_cancelled, call_hook, error_text
from yai_nexus_agentkit.adapter.outlet import Outlet
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.predicted import Predictor
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.adapter.source import Source, SourceRun, Translator
from yai_nexus_agentkit.errors import (
    AGUIAdapterError,
    Code,
    EncodingError,
    HookError,
    RunInputError,
    RunTimeoutError,
)
from yai_nexus_agentkit.protocol.endings import outcome_of
from yai_nexus_agentkit.protocol.events import TERMINAL
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe
from yai_nexus_agentkit.protocol.lifecycle import run_started
from yai_nexus_agentkit.protocol.request import parse_request, peer_declares

__all__ = ["Driver"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class Driver:
    """Runs an agent once."""

    def __init__(
        self, source: Source, raw: RunAgentInput | Mapping[str, Any], control: RunControl | None, **given: Any
    ) -> None:
        """`given`: the fields of the run's `RunContext` that its caller knows."""
        self._source, self._raw, self._control, self._given = source, raw, control, given
        self._watch: Watch | None = None
        self._begun = False
        """``RUN_STARTED`` was sent."""
        self._prepared: SourceRun | None = None

    def stream(self, wire: Callable[[BaseEvent], T]) -> AsyncGenerator[T, None]:
        """Yield `wire(event)` for each event of the run."""
        warnings: list[str] = []
        try:
            parsed = parse_request(self._raw, warnings=warnings)
        except RunInputError as error:
            return _refused(RunErrorEvent(message=clean_text(str(error)), code=error.code), wire)
        for warning in warnings:
            _logger.warning("request of run %s: %s", parsed.run_id, warning)
        again = (attempt := self._given.get("attempt")) is not None and attempt.number > 1
        held = None if again else parsed.state
        self._run = RunContext(parsed, peer_declares(parsed), held_state=held, outcome="abandoned", **self._given)
        if self._run.hooks.before_run is not None:
            self._run.store = self._source.thread_store()
        return self._events(Outlet(self._run, wire))

    async def _events(self, outlet: Outlet[T]) -> AsyncGenerator[T, None]:
        run = self._run
        failure: BaseException | None = None
        try:
            try:
                await self._begin()
                for sent in self._started(outlet):
                    yield sent
                outlet.check()
                prepared = await self._prepare()
                for sent in outlet.pass_on(prepared.translator.start()):
                    yield sent
                outlet.check()
                feed, wire = self._feed(prepared.translator, outlet), outlet.wire
                controlled = self._control is not None
                async with aclosing(self._natives(prepared)) as natives:
                    async for native in natives:
                        try:
                            events = feed(native)
                        except Exception as error:
                            _skip(native, error)
                            events = ()
                        for event in events:
                            try:
                                sent = wire(event)  # no function between: it happens for every token
                            except EncodingError as error:
                                for sent in outlet.in_pieces(events, event, error):
                                    yield sent
                                continue
                            yield sent
                        if controlled or run.failure is not None:
                            self._go_on()
                for sent in self._finished(prepared.translator, outlet):
                    yield sent
                outlet.check()
            except BaseException as error:
                failure = _inside(error if self._control is None else self._control.cause(error))
            for sent in self._failed(failure, outlet):
                yield sent
        finally:
            await self._after()

    async def _begin(self) -> None:
        """Do what comes before ``RUN_STARTED``. Waits only for a `before_run` hook."""
        run, hooks, options = self._run, self._run.hooks, self._run.options
        if (options.execution_timeout, options.idle_timeout, options.tool_timeout) != (None, None, None):
            self._control = self._control or RunControl()
            self._watch = Watch(self._control, options, self._oldest_tool)
            self._watch.start()
        if hooks.record is not None:
            call_hook("record", hooks.record, run.run_input, run)
        if hooks.before_run is not None:
            replaced = await self._wait(partial(acall_hook, "before_run", hooks.before_run, run))
            if replaced is not None:
                run.run_input = replaced

    def _started(self, outlet: Outlet[T]) -> list[T]:
        """``RUN_STARTED``, before the thread is read, which may take a while."""
        self._begun = True
        return outlet.pass_on([_run_started(self._run)])

    async def _prepare(self) -> SourceRun:
        run, hooks = self._run, self._run.hooks
        if hooks.config is not None:
            mapped = await self._wait(partial(acall_hook, "config", hooks.config, run))
            run.config = self._source.merged(mapped, run.config) if mapped and run.config else run.config or mapped
        self._prepared = await self._wait(partial(self._source.prepare, run))
        return self._prepared

    # ------------------------------------------------------------------ events on their way out

    def _feed(self, translator: Translator, outlet: Outlet[T]) -> Callable[[Any], Sequence[BaseEvent]]:
        """The function from a native event to the events to send. Chosen once per run: it is called for every token."""
        hooks, feed = self._run.hooks, self._fed(translator)
        if hooks.translate is not None:
            feed = partial(self._translated, feed, hooks.translate)
        if hooks.on_native is not None:
            feed = partial(self._feed_replaced, feed, hooks.on_native)
        if hooks.translate is not None or hooks.on_native is not None:
            feed = partial(self._with_sent, feed)
        if hooks.on_event is not None or hooks.record is not None:
            feed = partial(_hooked, feed, outlet)
        return feed

    def _with_sent(self, feed: Callable[[Any], list[BaseEvent]], native: Any) -> list[BaseEvent]:
        return [*feed(native), *self._run.take_sent()]

    def _translated(
        self, feed: Callable[[Any], list[BaseEvent]], translate: Callable[..., Any], native: Any
    ) -> list[BaseEvent]:
        """The events that the `translate` hook makes of a native event, or those of the translator."""
        try:
            made: list[BaseEvent] | None = call_hook("translate", translate, native, self._run)
        except HookError as error:
            self._run.failure = error
            return []
        return feed(native) if made is None else made

    def _feed_replaced(
        self, feed: Callable[[Any], list[BaseEvent]], on_native: Callable[..., Iterable[Any]], native: Any
    ) -> list[BaseEvent]:
        """The events of the native events that the `on_native` hook makes of one; with those before a failure."""
        events: list[BaseEvent] = []
        try:
            for one in call_hook("on_native", on_native, native, self._run):
                if isinstance(native, Mapping) and not isinstance(one, Mapping):
                    raise HookError(f"the on_native hook made a {type(one).__name__}, not an event", hook="on_native")
                try:
                    events += feed(one)
                except Exception as error:
                    _skip(one, error)
                if self._run.failure is not None:
                    break
        except HookError as error:
            self._run.failure = error
        return events

    def _fed(self, translator: Translator) -> Callable[[Any], list[BaseEvent]]:
        """`feed`, with the options that look at the events of each native event."""
        feed, predictor = translator.feed, translator.reports.predictor
        if predictor is not None:
            feed = partial(_predicted, feed, predictor)
        return partial(_with_raw, feed, translator) if self._run.options.raw_events else feed

    def _natives(self, prepared: SourceRun) -> AsyncGenerator[Any, None]:
        """The agent's events. The first one is asked for."""
        natives = prepared.events()
        if self._control is not None:
            self._control.listen_to(natives)
        return natives

    def _go_on(self) -> None:
        """The agent is asked for its next event. Raises the run's failure, and `Stopped`."""
        if self._run.failure is not None:
            raise self._run.failure
        if self._control is not None:
            self._control.listen()

    def _finished(self, translator: Translator, outlet: Outlet[T]) -> list[T]:
        if self._control is not None:
            self._control.over()
        try:
            events = translator.finish()
        except AGUIAdapterError:
            raise
        except Exception as error:
            failed = AGUIAdapterError(f"the run's final event could not be produced: {error}")
            failed.code = Code.TRANSLATION_ERROR
            raise failed from error
        if self._run.failure is not None:  # the run did not succeed
            events = [event for event in events if event.type not in TERMINAL]
        sent = outlet.pass_on([*events[:-1], *self._run.take_sent(), *events[-1:]])
        if outlet.ended:
            self._run.outcome = outcome_of(events[-1])
        elif self._run.failure is None:
            self._run.failure = AGUIAdapterError("the run's final event is missing: its source produced none")
            self._run.failure.code = Code.TRANSLATION_ERROR
        return sent

    def _failed(self, failure: BaseException | None, outlet: Outlet[T]) -> Iterator[T]:
        """The end of a run that failed or was stopped. What ends the process is raised again behind it."""
        if failure is not None:
            yield from self._last(failure, outlet)
        if isinstance(failure, SystemExit | KeyboardInterrupt):
            raise failure

    def _last(self, error: BaseException, outlet: Outlet[T]) -> list[T]:
        run = self._run
        if isinstance(error, Stopped) and error.error is None:
            run.outcome = "cancelled"
            message = "the run was cancelled"
            events = self._closing(lambda ending: ending.cancel(message))
            return outlet.end(events, RunErrorEvent(message=message, code=Code.CANCELLED))
        if isinstance(error, Stopped) and error.error is not None:
            error = error.error
        run.outcome = "error"
        code = error.code if isinstance(error, AGUIAdapterError) else self._code(error)
        message = clean_text(error_text(error, run))
        events = self._closing(lambda ending: ending.fail(message, code))
        if isinstance(error, RunTimeoutError) and run.hooks.on_timeout is not None:
            events[-1:-1] = self._instead(run.hooks.on_timeout, error)
        return outlet.end(events, RunErrorEvent(message=message, code=code))

    def _instead(self, on_timeout: Callable[..., Any], error: RunTimeoutError) -> list[BaseEvent]:
        try:
            events: list[BaseEvent] = call_hook("on_timeout", on_timeout, error, self._run)
            return events
        except HookError:
            _logger.exception("the on_timeout hook failed")
            return []

    def _code(self, error: BaseException) -> str:
        try:
            known = self._source.error_code(error) if isinstance(error, Exception) else None
            return known or Code.AGENT_ERROR
        except Exception:
            _logger.exception("the code of an error could not be found; it is %s", Code.AGENT_ERROR)
            return Code.AGENT_ERROR

    def _closing(self, close: Callable[[Reports], list[BaseEvent]]) -> list[BaseEvent]:
        """The last events of a run that failed or was stopped, if need be from its beginning on."""
        try:
            reports = Reports(self._run) if self._prepared is None else self._prepared.translator.reports
            return [*([] if self._begun else [_run_started(self._run)]), *close(reports)]
        except Exception:
            _logger.exception("the final events of run %s could not be produced", self._run.run_input.run_id)
            return []  # the terminal event alone closes everything

    # ------------------------------------------------------------------ waiting

    async def _wait(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await a step of the agent. A stop or a time limit may end it."""
        return await (step() if self._control is None else self._control.wait(step))

    def _oldest_tool(self) -> float | None:
        return self._prepared.oldest_tool() if self._prepared is not None else None

    async def _after(self) -> None:
        """Call the `after_run` hook. It may take as long as an agent may be silent, since its thread is held."""
        if self._watch is not None:
            self._watch.end()
        hook, options = self._run.hooks.after_run, self._run.options
        if hook is None:
            return
        limit = options.execution_timeout if options.idle_timeout is None else options.idle_timeout
        try:
            async with asyncio.timeout(limit):
                await acall_hook("after_run", hook, self._run)
        except TimeoutError:  # of the limit: the hook's own would be a HookError
            _logger.error("the after_run hook took longer than %g seconds and was cancelled", limit)
        except AGUIAdapterError:
            _logger.exception("the after_run hook raised")


def _inside(error: BaseException) -> BaseException:
    """An error of the run, as it is. Where the reader leaves, or somebody cancels its task, nobody reads on: it is
    raised again."""
    if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and being_cancelled()):
        raise error
    return error


async def _refused(event: BaseEvent, wire: Callable[[BaseEvent], T]) -> AsyncGenerator[T, None]:
    """The whole stream of an invalid request."""
    yield wire(event)


def _run_started(run: RunContext) -> BaseEvent:
    return run_started(run.run_input.thread_id, run.run_input.run_id, run.run_input.parent_run_id)


def _hooked(feed: Callable[[Any], list[BaseEvent]], outlet: Outlet[Any], native: Any) -> list[BaseEvent]:
    return outlet.hooked(feed(native))


def _predicted(feed: Callable[[Any], list[BaseEvent]], predictor: Predictor, native: Any) -> list[BaseEvent]:
    return predictor.watch(feed(native))


def _with_raw(feed: Callable[[Any], list[BaseEvent]], translator: Translator, native: Any) -> list[BaseEvent]:
    events = feed(native)
    if events:
        raw = json_safe(translator.raw(native))
        for event in events:
            event.raw_event = raw
    return events


def _skip(native: Any, error: Exception) -> None:
    """Log an event that cannot be translated; the run goes on. An error of a hook is raised again: it ends the run."""
    if isinstance(error, HookError):
        raise error
    kind = native.get("event") if isinstance(native, Mapping) else type(native).__name__
    _logger.error("skipping a native event that cannot be translated: %s", kind, exc_info=error)
