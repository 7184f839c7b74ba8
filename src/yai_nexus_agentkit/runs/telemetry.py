"""Driver. The figures of a run for operators: one OpenTelemetry span, counters, one log line. Nothing per token.

OpenTelemetry's API is optional; without it, and without a configured SDK, spans cost nothing. The span is the current
one of the task that drives the run, so the graph's own spans become its children.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, ToolCallChunkEvent, ToolCallResultEvent, ToolCallStartEvent

from yai_nexus_agentkit.protocol.endings import outcome_of
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadStatus

__all__ = ["Meter", "RunRecord", "run_span", "trace_id"]

_logger = logging.getLogger(__name__)
_STATUS = {"interrupt": ThreadStatus.PAUSED, "error": ThreadStatus.FAILED}
_TRACER = "yai_nexus_agentkit"

_IDLE = 3
"""Events of a run that did nothing."""

Meter = Callable[[str, float, Mapping[str, str]], None]
"""Called with a metric's name, what to add (or to observe, for names ending in ``_seconds``), and its labels."""


@dataclass(slots=True)
class RunRecord:
    """The figures of one run. Filled while it goes on."""

    thread: ThreadRef
    run_id: str
    started: float = field(default_factory=time.perf_counter)
    events: int = 0
    written: Callable[[], int] = int
    """The number of bytes encoded so far; set by whoever encodes."""
    first_event: float | None = None
    """Seconds from the start to the first event."""
    seconds: float = 0.0
    outcome: str = "abandoned"
    """``success``, ``interrupt``, ``cancelled``, ``error``, ``abandoned`` when the client went away, or ``handed_over``
    to another worker."""
    code: str | None = None
    """``RUN_ERROR.code``."""
    open_calls: set[str] = field(default_factory=set)
    """Tool calls without a result so far. At the end of a successful run the client owes them."""
    ended: bool = False
    """The terminal event was sent."""

    @property
    def status(self) -> ThreadStatus:
        """The thread's, after this run."""
        owed = self.outcome == "success" and self.open_calls
        return ThreadStatus.PAUSED if owed else _STATUS.get(self.outcome, ThreadStatus.IDLE)

    @property
    def idle(self) -> bool:
        """The run showed nothing but its ends, and perhaps the state."""
        return self.events <= _IDLE

    def note_first(self) -> None:
        """The first event is there."""
        self.first_event = time.perf_counter() - self.started

    def note_call(self, event: ToolCallStartEvent | ToolCallChunkEvent | ToolCallResultEvent) -> None:
        """A call was shown, or its result."""
        if isinstance(event, ToolCallResultEvent):
            self.open_calls.discard(event.tool_call_id)
        elif event.tool_call_id is not None:
            self.open_calls.add(event.tool_call_id)

    def note_end(self, event: BaseEvent) -> None:
        """The terminal event: how the run ended."""
        self.ended, self.outcome, self.code = True, outcome_of(event), getattr(event, "code", None)

    def attributes(self) -> dict[str, Any]:
        """The figures by their attribute names."""
        return {
            "agui.agent": self.thread.agent,
            "agui.thread_id": self.thread.id,
            "agui.run_id": self.run_id,
            "agui.outcome": self.outcome,
            "agui.events": self.events,
            "agui.bytes": self.written(),
            "agui.first_event_seconds": self.first_event or 0.0,
            **({"agui.error_code": self.code} if self.code else {}),
        }

    def report(self, meter: Meter | None) -> None:
        """Log the finished run, and count it."""
        self.seconds = time.perf_counter() - self.started
        how = self.code or self.outcome.replace("_", " ")
        written = self.written()
        sent = f", {written} bytes" if written else ""  # of a run that another worker began nothing is sent here
        figures = (self.run_id, self.thread.id, self.thread.agent, how, self.events, sent, self.seconds)
        _logger.info("run %r of thread %r (%s): %s, %d events%s, %.3f s", *figures)
        if meter is None:
            return
        labels = {"agent": self.thread.agent}
        try:
            meter("agui_runs_total", 1, {**labels, "outcome": self.outcome, "code": self.code or ""})
            meter("agui_events_total", self.events, labels)
            meter("agui_bytes_total", written, labels)
            meter("agui_run_seconds", self.seconds, labels)
            if self.first_event is not None:
                meter("agui_first_event_seconds", self.first_event, labels)
        except Exception:
            _logger.exception("the metrics hook raised")


@contextmanager
def run_span(record: RunRecord, headers: Mapping[str, str]) -> Iterator[None]:
    """A span around the run, current inside the block. Its parent is the current span, or the one that `headers` (W3C
    trace context) name."""
    try:
        from opentelemetry import propagate, trace
    except ImportError:
        yield
        return
    parent = None if trace.get_current_span().get_span_context().is_valid else propagate.extract(headers)
    span = trace.get_tracer(_TRACER).start_span("agui.run", context=parent, kind=trace.SpanKind.SERVER)
    with trace.use_span(span, end_on_exit=True, record_exception=False):
        try:
            yield
        finally:
            if span.is_recording():
                span.set_attributes(record.attributes())
                if record.outcome == "error":
                    span.set_status(trace.Status(trace.StatusCode.ERROR, record.code))


def trace_id() -> str | None:
    """The current OpenTelemetry trace, as 32 hexadecimal digits; None if there is none."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
