"""Pure. The table of AG-UI events: the entity of each one, and its effect on it.

Encoders, hooks, the grammar of conformance and the terminal read it.

A new type of event is one row. If it carries meaning of its own, `RunLifecycle` gets a method for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import ag_ui.core as agui
from ag_ui.core import BaseEvent

from yai_nexus_agentkit.protocol import thinking

__all__ = [
    "ALONE",
    "CALL",
    "EVENTS",
    "REASONING",
    "RUN",
    "SPAN",
    "STEP",
    "SUBAGENT",
    "TERMINAL",
    "TEXT",
    "THINKING",
    "THOUGHT",
    "TOKENS",
    "Entity",
    "EventRow",
    "Move",
    "row_of",
    "type_of",
]

Move: TypeAlias = Literal["opens", "continues", "closes", "chunk", "result"]
"""The effect of an event on its entity. A chunk opens it if need be, and continues it."""


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """A kind of thing that events open, continue and close."""

    kind: str
    id: str = ""
    """The field of its events that names it; empty if one at a time is open, without a name."""
    wire_id: str = ""
    """The same field on the wire."""
    once: bool = False
    """Its id is opened once per run."""
    owned: bool = False
    """The parent agent and each subagent name it on their own."""
    message: bool = False
    """It is a message or a part of one: a snapshot of the messages would cut it off."""


ALONE = Entity("event")
"""An event that opens and closes nothing."""
RUN = Entity("run")
TEXT = Entity("text", "message_id", "messageId", once=True, message=True)
REASONING = Entity("reasoning", "message_id", "messageId", message=True)
CALL = Entity("call", "tool_call_id", "toolCallId", once=True, message=True)
SPAN = Entity("span", "message_id", "messageId")
STEP = Entity("step", "step_name", "stepName", owned=True)
SUBAGENT = Entity("subagent", "subagent_run_id", "subagentRunId", once=True)
THINKING, THOUGHT = Entity("thinking"), Entity("thought")
"""The span and the text of the ``THINKING_*`` events."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One type of event."""

    model: type[BaseEvent]
    entity: Entity = ALONE
    move: Move | None = None
    per_token: bool = False
    """A run has thousands of them, which differ in their ``delta`` alone."""
    ends_chunks: Literal["own", "all", "none"] = "own"
    """Whose chunks it ends: its own agent's, everybody's, or nobody's (AG-UI 1.0, chunks)."""

    @property
    def type(self) -> str:
        """The event's type, such as ``RUN_STARTED``."""
        default = self.model.model_fields["type"].default
        return str(getattr(default, "value", default))


EVENTS: Mapping[str, EventRow] = {
    row.type: row
    for row in (
        EventRow(agui.RunStartedEvent, RUN, "opens", ends_chunks="all"),
        EventRow(agui.RunFinishedEvent, RUN, "closes", ends_chunks="all"),
        EventRow(agui.RunErrorEvent, RUN, "closes", ends_chunks="all"),
        EventRow(agui.StepStartedEvent, STEP, "opens"),
        EventRow(agui.StepFinishedEvent, STEP, "closes"),
        EventRow(agui.TextMessageStartEvent, TEXT, "opens"),
        EventRow(agui.TextMessageContentEvent, TEXT, "continues", per_token=True),
        EventRow(agui.TextMessageEndEvent, TEXT, "closes"),
        EventRow(agui.TextMessageChunkEvent, TEXT, "chunk", per_token=True),
        EventRow(agui.ToolCallStartEvent, CALL, "opens"),
        EventRow(agui.ToolCallArgsEvent, CALL, "continues", per_token=True),
        EventRow(agui.ToolCallEndEvent, CALL, "closes"),
        EventRow(agui.ToolCallChunkEvent, CALL, "chunk", per_token=True),
        EventRow(agui.ToolCallResultEvent, CALL, "result"),
        EventRow(agui.ReasoningStartEvent, SPAN, "opens"),
        EventRow(agui.ReasoningEndEvent, SPAN, "closes"),
        EventRow(agui.ReasoningMessageStartEvent, REASONING, "opens"),
        EventRow(agui.ReasoningMessageContentEvent, REASONING, "continues", per_token=True),
        EventRow(agui.ReasoningMessageEndEvent, REASONING, "closes"),
        EventRow(agui.ReasoningMessageChunkEvent, REASONING, "chunk", per_token=True),
        EventRow(agui.ReasoningEncryptedValueEvent, ends_chunks="none"),
        EventRow(agui.SubagentStartedEvent, SUBAGENT, "opens", ends_chunks="none"),
        EventRow(agui.SubagentFinishedEvent, SUBAGENT, "closes"),
        EventRow(agui.SubagentErrorEvent, SUBAGENT, "closes"),
        EventRow(agui.StateSnapshotEvent),
        EventRow(agui.StateDeltaEvent),
        EventRow(agui.MessagesSnapshotEvent, ends_chunks="all"),
        EventRow(agui.ActivitySnapshotEvent, ends_chunks="none"),
        EventRow(agui.ActivityDeltaEvent, ends_chunks="none"),
        EventRow(agui.CustomEvent),
        EventRow(agui.RawEvent, ends_chunks="none"),
        EventRow(thinking.ThinkingStartEvent, THINKING, "opens"),
        EventRow(thinking.ThinkingEndEvent, THINKING, "closes"),
        EventRow(thinking.ThinkingTextMessageStartEvent, THOUGHT, "opens"),
        EventRow(thinking.ThinkingTextMessageContentEvent, THOUGHT, "continues"),
        EventRow(thinking.ThinkingTextMessageEndEvent, THOUGHT, "closes"),
    )
}
"""Every event by its type."""

TERMINAL = frozenset(row.type for row in EVENTS.values() if row.entity is RUN and row.move == "closes")
"""Types of the last event of a run; it has exactly one event of them."""

TOKENS: Mapping[type[BaseEvent], Entity] = {row.model: row.entity for row in EVENTS.values() if row.per_token}
"""The entities of the events that come once per token, by class."""


_UNKNOWN = EventRow(BaseEvent)


def row_of(kind: str) -> EventRow:
    """The row of a type of event. One that AG-UI does not have gets a row of its own."""
    return EVENTS.get(kind, _UNKNOWN)


def type_of(entity: Entity, move: Move) -> str:
    """The type of the event that does this to an entity. Raises `StopIteration` if there is none."""
    return next(row.type for row in EVENTS.values() if row.entity is entity and row.move == move)
