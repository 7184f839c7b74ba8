"""Pure. The grammar of the events of tool calls: what is open, and what must close before a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    Message,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from yai_nexus_agentkit.protocol.deltas import deltas
from yai_nexus_agentkit.protocol.entities import OpenEntities
from yai_nexus_agentkit.protocol.events import CALL
from yai_nexus_agentkit.protocol.lanes import Lanes
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.subagents import Subagents
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["Calls"]

DROPPED = "This call was dropped before it ran."
"""Result of a call that is not part of the conversation any more (`Calls.settle`)."""
UNNAMED = "tool"
"""Name of a call that the model gave none. Clients refuse a chunk without, and show nothing for an empty one."""


@dataclass(slots=True)
class _Span:
    """The events of one call, from its start to the end of its arguments."""

    parent: str | None
    """Id of the message that carries the call."""
    lane: str
    owner: str | None
    args_with: Callable[[str], BaseEvent]
    """The event of a piece of its arguments."""
    open: bool = True


@dataclass(slots=True, eq=False)
class Calls:
    """The calls of one run. A call is announced once and answered once per thread, however often it is reported."""

    _ids: MessageIds
    _open: OpenEntities
    _subagents: Subagents
    _lanes: Lanes
    _thread: ThreadCalls
    chunks: bool
    parts: bool
    """The peer takes results as lists of content parts."""
    announced: dict[str, _Span] = field(default_factory=dict)
    """The calls that this run announced, in order."""
    _renamed: list[str] = field(default_factory=list)
    """Pending calls that the client knows by another name in the end (`settle`)."""

    def announce(self, lane: str, call_id: str, name: str, parent: str | None) -> list[BaseEvent]:
        """``TOOL_CALL_START``, unless the thread has the call: its arguments would double (AG-UI 1.0, tool calls)."""
        if not usable(call_id) or self._thread.is_announced(call_id) or self._thread.is_answered(call_id):
            return []
        it = self._lanes.get(lane)
        event = (ToolCallChunkEvent if self.chunks else ToolCallStartEvent)(
            tool_call_id=call_id,
            tool_call_name=usable(name) or UNNAMED,
            parent_message_id=self._lanes.parent(it, parent, call_id),
            subagent_run_id=it.owner,
        )
        call = _Span(event.parent_message_id, lane, it.owner, self._args_with(event))
        events = [*self._lanes.make_room(lane, it), *self._subagents.introduce(it.owner), event]
        self.announced[call_id] = call
        self._thread.announce(call_id, event.tool_call_name or "")
        it.calls.append(call_id)
        self._open.add(CALL, call_id, call.owner, self.end)
        return events

    def _args_with(self, start: ToolCallStartEvent | ToolCallChunkEvent) -> Callable[[str], BaseEvent]:
        call = {"tool_call_id": start.tool_call_id, "subagent_run_id": start.subagent_run_id}
        if not self.chunks:
            return deltas(ToolCallArgsEvent, **call)
        # Each chunk is complete, since any event between two chunks ends the client's stream of chunks.
        named = {"tool_call_name": start.tool_call_name, "parent_message_id": start.parent_message_id}
        return deltas(ToolCallChunkEvent, **call, **named)

    def end(self, call_id: str) -> list[BaseEvent]:
        """``TOOL_CALL_END``: the arguments are complete, or cut off."""
        call = self.announced.get(call_id)
        if call is None or not call.open:
            return []
        call.open = False
        self._open.remove(CALL, call_id)
        lane = self._lanes.by_name.get(call.lane)
        if lane is not None and call_id in lane.calls:
            lane.calls.remove(call_id)
        return [] if self.chunks else [ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=call.owner)]

    def result(
        self,
        call_id: str,
        message_id: str,
        content: str | list[Any],
        owner: str | None,
        metadata: dict[str, Any] | None,
    ) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` of a known call, once per call: a client would show a second one beside the first."""
        call = self._thread.get(call_id)
        if call is None or not call.announced or call.result is not None:
            return []
        owner = usable(owner)
        event = ToolCallResultEvent(
            message_id=self._ids.claim(message_id, "tool", owner, spare=f"{call_id}-result"),
            tool_call_id=call_id,
            content=self._content(content),
            role="tool",
            subagent_run_id=owner,
            metadata=metadata,
        )
        call.result = event.message_id
        return [*self.end(call_id), *self._subagents.introduce(owner), event]

    def parent(self, call_id: str | None) -> str | None:
        """Id of the message that carries a call of this run."""
        call = self.announced.get(call_id or "")
        return call.parent if call is not None else None

    @property
    def pending(self) -> list[str]:
        """The calls that this run announced and nobody answered, in order (AG-UI 1.0, frontend tools)."""
        return [call for call in (*self.announced, *self._renamed) if not self._thread.is_answered(call)]

    def settle(self, live: Sequence[str]) -> list[BaseEvent]:
        """Answer all pending calls as dropped, except `live` (ids as the client knows them at the end). A client that
        gets no list of pending calls counts the unanswered ones itself."""
        events: list[BaseEvent] = []
        for call_id, call in self.announced.items():
            if call_id not in live and not self._thread.is_answered(call_id):
                # Not from the call's id alone, which may recur when no thread has it.
                own_id, facts = f"{call.lane}-{call_id}", {"langgraph": {"status": "dropped"}}
                events += self.result(call_id, own_id, DROPPED, call.owner, facts)
        self._renamed = [call_id for call_id in dict.fromkeys(live) if call_id not in self.announced]
        return events

    def restate(self, messages: Iterable[Message]) -> list[BaseEvent]:
        """Record a snapshot's calls and results. Returns the results of this run's calls that were not sent yet.

        Without them, a client would count the call as pending, and put the result at the wrong place. A result whose
        message the client has already belongs to another call of the same id (call ids recur).
        """
        events: list[BaseEvent] = []
        for message in messages:
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    scope = "" if message.subagent_run_id is None else None
                    self._thread.shown(call.id, message.id, scope=scope, name=call.function.name)
            elif isinstance(message, ToolMessage):
                call_id = message.tool_call_id
                if call_id in self.announced and self._ids.kind(message.id) != "tool":
                    events += self.result(
                        call_id, message.id, message.content, message.subagent_run_id, message.metadata
                    )
                else:
                    self._thread.answer(call_id, message.id)
        return events

    def _content(self, content: str | list[Any]) -> str | list[Any]:
        """Peers from before 1.0 end the run at a list of parts: they get its text (AG-UI 1.0, versions)."""
        if self.parts or not isinstance(content, list):
            return content
        return "".join(_text(part) for part in content)


def _text(part: Any) -> str:
    field = part.get if isinstance(part, dict) else partial(getattr, part)
    text = field("text", None)
    return text if field("type", None) == "text" and isinstance(text, str) else ""
