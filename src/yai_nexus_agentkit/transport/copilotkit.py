"""Pure. The wire of CopilotKit's runtime: AG-UI over SSE, with the ends and refusals that its clients show rightly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from ag_ui.core import BaseEvent, Message, RunErrorEvent, RunFinishedEvent, RunStartedEvent

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.agui_sse import AGUIWire, SSEEncoder
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal, short_refusal

__all__ = ["CopilotKitWire"]


class _Encoder(SSEEncoder):
    """A run that somebody stopped is not an error for the page: it ends as CopilotKit's own runtime ends it."""

    _started: RunStartedEvent | None = None
    """The run's first event, which names it."""

    def encode(self, event: BaseEvent) -> bytes:
        match event:
            case RunStartedEvent():
                self._started = event
            case RunErrorEvent(code=Code.CANCELLED) if (run := self._started) is not None:
                event = RunFinishedEvent(thread_id=run.thread_id, run_id=run.run_id)
        return super().encode(event)


class CopilotKitWire(AGUIWire):
    """The wire of `@copilotkit/core`."""

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """Like AG-UI's."""
        return replace(super().parse(data, history, limits), encoder=partial(_Encoder, event_lines=self.event_lines))

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """``{"error", "message", "traceId"}``."""
        return short_refusal(refusal, trace_id)
