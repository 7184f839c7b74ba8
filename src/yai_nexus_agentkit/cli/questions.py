"""Pure. The open questions of a run, as text for a terminal, and what a person types there, as answers.

A run waits for the answers to its interrupts (AG-UI 1.0 §16), or for the results of the client tools that it called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from yai_nexus_agentkit.cli.chunks import Event
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.trace import compact
from yai_nexus_agentkit.protocol.typed_answers import decision, payload

__all__ = ["Question", "questions"]

_CANCEL = "/cancel"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that a person, or the application, must answer before the thread continues."""

    id: str
    """Of the interrupt, or of the tool call."""
    text: str
    is_call: bool = False
    """A client tool, and not an interrupt."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of an interrupt's answer; empty if any answer will do."""
    reason: str = ""

    @property
    def hint(self) -> str:
        """The possible answers, for a person at the keyboard."""
        if self.is_call:
            return "type its result, as JSON or text"
        if decision(self.reason, self.schema, approved=True) is not None:
            return f"type y, n, {_CANCEL}, or an answer as JSON"
        choices = self.schema.get("enum")
        if isinstance(choices, list):
            return f"type {', '.join(map(str, choices))}, or {_CANCEL}"
        return f"type an answer as {self.schema.get('type', 'JSON (true, 7, ...) or text')}, or {_CANCEL}"

    def answered(self, typed: str) -> dict[str, Any]:
        """The typed answer: a tool message for a client tool, an entry of ``resume`` for an interrupt."""
        if self.is_call:
            return {"id": str(uuid4()), "role": "tool", "toolCallId": self.id, "content": typed}
        if typed == _CANCEL:
            return {"interruptId": self.id, "status": "cancelled"}
        return {"interruptId": self.id, "status": "resolved", "payload": payload(typed, self.reason, self.schema)}


def questions(finished: Event, client: Client) -> list[Question]:
    """The open questions of the run that ended with this ``RUN_FINISHED``."""
    outcome = finished.get("outcome") or {}
    if outcome.get("type") == "interrupt":
        return [
            Question(
                asked["id"],
                asked.get("message") or asked["reason"],
                False,
                asked.get("responseSchema") or {},
                asked["reason"],
            )
            for asked in outcome["interrupts"]
        ]
    pending = [(call_id, client.call(call_id)) for call_id in outcome.get("pendingToolCallIds") or ()]
    return [
        Question(call_id, f"{call['name']}({compact(call['arguments'])})", True) for call_id, call in pending if call
    ]
