"""Pure. The wire of CopilotKit's runtime: AG-UI over SSE, with refusals in the shape that its clients show."""

from __future__ import annotations

from datetime import datetime

from pydantic_core import to_json

from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.transport.agui_sse import AGUIWire
from yai_nexus_agentkit.transport.wire import Answer, Refusal

__all__ = ["CopilotKitWire"]


class CopilotKitWire(AGUIWire):
    """The wire of `@copilotkit/core`."""

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """``{"error", "message", "traceId"}``."""
        body = {"error": refusal.code, "message": clean_text(refusal.description), "traceId": trace_id}
        return Answer(refusal.status, {"content-type": "application/json", **refusal.headers}, to_json(body))
