"""Pure. What a run waits for at its end, as questions for a terminal, and what is typed there, as answers.

A run waits for the answers to its interrupts (AG-UI 1.0 §16), or for the results of the client tools that it called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.plain_events import Event

__all__ = ["Question", "questions"]

_YES = ("y", "yes")
_NO = ("n", "no")
_CANCEL = "/cancel"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that a person, or the application, has to say before the thread goes on."""

    id: str
    """The interrupt's id, or the tool call's."""
    kind: Literal["interrupt", "client tool"]
    text: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of an interrupt's answer; empty where anything will do."""
    reason: str = ""

    @property
    def hint(self) -> str:
        """What may be typed."""
        if self.kind == "client tool":
            return "its result, as JSON or text"
        if self._yes is not None:
            return f"y, n, {_CANCEL}, or an answer as JSON"
        choices = self.schema.get("enum")
        if isinstance(choices, list):
            return f"{', '.join(map(str, choices))}, or {_CANCEL}"
        return f"an answer as {self.schema.get('type', 'JSON (true, 7, ...) or text')}, or {_CANCEL}"

    def tool_message(self, typed: str) -> dict[str, Any]:
        """What was typed as the result of the client tool."""
        return {"id": str(uuid4()), "role": "tool", "toolCallId": self.id, "content": typed}

    def resume_entry(self, typed: str) -> dict[str, Any]:
        """What was typed as the answer to the interrupt."""
        if typed == _CANCEL:
            return {"interruptId": self.id, "status": "cancelled"}
        return {"interruptId": self.id, "status": "resolved", "payload": self._payload(typed)}

    def _payload(self, typed: str) -> Any:
        if self._yes is not None and typed.lower() in _YES + _NO:
            return self._yes if typed.lower() in _YES else self._no
        if self.schema.get("type") == "string" and not typed.startswith('"'):
            return typed
        try:
            return json.loads(typed)
        except ValueError:
            return typed

    @property
    def _yes(self) -> Any:
        """The payload of a yes, None where yes is no answer."""
        return self._approval(approved=True)

    @property
    def _no(self) -> Any:
        return self._approval(approved=False)

    def _approval(self, *, approved: bool) -> Any:
        match self.reason:
            case "confirmation":
                return approved
            case "tool_call":
                return {"approved": approved}
            case "langgraph:tool_approval":
                # LangChain's middleware asks about several calls at once.
                decisions = self.schema.get("properties", {}).get("decisions", {})
                count = decisions.get("minItems", 1)
                return {"decisions": [{"type": "approve" if approved else "reject"}] * count}
            case _:
                return approved if self.schema.get("type") == "boolean" else None


def questions(finished: Event, client: Client) -> list[Question]:
    """What the run that ended with this ``RUN_FINISHED`` waits for."""
    outcome = finished.get("outcome") or {}
    if outcome.get("type") == "interrupt":
        return [_interrupt(interrupt) for interrupt in outcome["interrupts"]]
    asked = []
    for call in outcome.get("pendingToolCallIds") or ():
        name, arguments = client.arguments(call)
        asked.append(Question(call, "client tool", f"{name}({arguments})"))
    return asked


def _interrupt(interrupt: Mapping[str, Any]) -> Question:
    schema = interrupt.get("responseSchema") or {}
    text = interrupt.get("message") or interrupt["reason"]
    return Question(interrupt["id"], "interrupt", text, schema, interrupt["reason"])
