"""Pure. The rules of an AG-UI 1.0 stream that the ``ag_ui`` models do not check: its grammar (`testing.grammar`), and
rules that neither ag-ui-validate nor the client checks.

`RunRules` reads the events of one run (wire dicts) and returns problems as text, each with its rule's name in brackets.
`ThreadFacts` holds facts from the earlier runs of the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from yai_nexus_agentkit.protocol.events import Entity, row_of
from yai_nexus_agentkit.testing.grammar import GRAMMAR, Grammar

__all__ = ["ADVICE", "RULES", "RunRules", "ThreadFacts"]

RULES: Mapping[str, str] = {
    **GRAMMAR,
    "identity": "RUN_STARTED and RUN_FINISHED carry the requested threadId and runId",
    "version": "RUN_STARTED declares protocolVersion",
    "id-reuse": "one message id names one message of one kind",
    "result-id": "a tool result has its own message id and answers a known call once",
    "pending": "pendingToolCallIds is exactly the started calls without a result, in order",
    "interrupts": "interrupt ids are unique and toolCallId names a known call",
    "snapshot": "MESSAGES_SNAPSHOT has unique ids and does not drop a message that is still streaming",
    "delta": "ACTIVITY_DELTA follows an ACTIVITY_SNAPSHOT of the same message",
    "chunk": "a chunk without an id continues an open chunk stream of its kind",
    "timestamp": "timestamp is a whole number of milliseconds",
}
"""Violations: the stream is wrong."""

ADVICE: Mapping[str, str] = {
    "id-drift": "a MESSAGES_SNAPSHOT has a streamed message under another id: clients remove it and show it again",
    "no-parent": "without parentMessageId the client invents an assistant message that is named by the call",
    "empty-delta": "an empty text delta is refused by clients before 0.0.50",
    "no-base": "a STATE_DELTA before any STATE_SNAPSHOT, and the request's state is not known here",
    "answered": "a TOOL_CALL_RESULT for a call that the request already answers",
}
"""Legal, but unwise."""

_Event: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class ThreadFacts:
    """Facts from earlier runs, requests and snapshots of a thread. Grows with every run, is never cleared."""

    kinds: dict[str, str] = field(default_factory=dict)
    """Message id to the kind (role) of its message."""

    calls: set[str] = field(default_factory=set)
    """Ids of all tool calls."""

    has_state: bool = False
    """A STATE_SNAPSHOT gave later deltas a base."""

    def learn(self, messages: Iterable[Mapping[str, Any]] | None) -> None:
        """Add the messages of a request, an input echo or a snapshot."""
        for message in messages or []:
            self.kinds.setdefault(str(message.get("id")), str(message.get("role")))
            self.calls.update(call["id"] for call in message.get("toolCalls") or [] if call.get("id"))


class RunRules:
    """The rules of one run: `feed` every event, then `finish`. Both return problems."""

    def __init__(
        self, thread: ThreadFacts, given: Mapping[str, Any] | None, *, last_start: int, advice: bool = False
    ) -> None:
        """`given` is the request; only the RUN_STARTED at position `last_start`, the last one, has its runId."""
        self._thread = thread
        self._given: Mapping[str, Any] = given or {}
        self._last_start = last_start
        self._advice = advice
        thread.learn(self._given.get("messages"))
        messages = self._given.get("messages") or []
        self._answered_before = {m.get("toolCallId") for m in messages if m.get("role") == "tool"}
        self._started_event: _Event = {}
        self._grammar = Grammar()
        self._chunk_lanes: dict[str | None, Entity] = {}
        self._calls: list[str] = []
        self._answered: set[str] = set()
        self._streamed: dict[str, list[str]] = {}
        """The texts of streamed messages, in pieces."""
        self._chunked = ""
        """The message that text chunks without an id continue."""
        self._activities = {mid for mid, kind in thread.kinds.items() if kind == "activity"}

    def feed(self, position: int, event: _Event) -> list[str]:
        """The problems of one event; `position` is its place in the run, from 0."""
        kind = str(event.get("type"))
        found = self._grammar.feed(event)
        stamp = event.get("timestamp")
        if stamp is not None and (isinstance(stamp, bool) or not isinstance(stamp, int)):
            found.append(f"[timestamp] {stamp!r}")
        handler = _HANDLERS.get(kind)
        if handler:
            found += handler(self, position, event)
        found += self._chunk_lane(kind, event)
        return [f"event {position}: {problem}" for problem in found]

    def finish(self) -> list[str]:
        """The problems of the run as a whole."""
        return self._grammar.finish()

    def _claim(self, kind: str, message_id: str) -> list[str]:
        had = self._thread.kinds.setdefault(message_id, kind)
        if had == kind:
            return []
        return [f"[id-reuse] message id '{message_id}' is a {had} message and is used for one of kind {kind}"]

    def _chunk_lane(self, kind: str, event: _Event) -> list[str]:
        owner, row = event.get("subagentRunId"), row_of(kind)
        if row.move == "chunk":
            if event.get(row.entity.wire_id) is not None:
                self._chunk_lanes[owner] = row.entity
            elif self._chunk_lanes.get(owner) != row.entity and list(self._chunk_lanes.values()).count(row.entity) != 1:
                return [f"[chunk] {kind} without an id continues nothing"]
        elif row.ends_chunks == "all":
            self._chunk_lanes.clear()
        elif row.ends_chunks == "own":
            self._chunk_lanes.pop(owner, None)
        return []

    def _run_started(self, position: int, event: _Event) -> list[str]:
        self._started_event = event
        self._calls, self._answered = [], set()
        found = [] if "protocolVersion" in event else ["[version] no protocolVersion"]
        for name in ("threadId", "runId") if position == self._last_start else ("threadId",):
            wanted = self._given.get(name)
            if wanted is not None and event.get(name) != wanted:
                found.append(f"[identity] {name} '{event.get(name)}' is not the requested '{wanted}'")
        self._thread.learn((event.get("input") or {}).get("messages"))
        return found

    def _run_finished(self, _position: int, event: _Event) -> list[str]:
        start = self._started_event or event
        found = [
            f"[identity] {name} '{event.get(name)}' is not the run's '{start.get(name)}'"
            for name in ("threadId", "runId")
            if event.get(name) != start.get(name)
        ]
        outcome = event.get("outcome") or {}
        return found + self._pending(outcome) + self._interrupts(outcome)

    def _pending(self, outcome: Mapping[str, Any]) -> list[str]:
        named = outcome.get("pendingToolCallIds") if outcome.get("type") == "success" else None
        left = [call for call in self._calls if call not in self._answered]
        return [f"[pending] names {named}, the stream leaves {left}"] if named and named != left else []

    def _interrupts(self, outcome: Mapping[str, Any]) -> list[str]:
        found, seen = [], set()
        for interrupt in outcome.get("interrupts") or []:
            if interrupt.get("id") in seen:
                found.append(f"[interrupts] id '{interrupt.get('id')}' twice")
            seen.add(interrupt.get("id"))
            call = interrupt.get("toolCallId")
            if call is not None and call not in self._thread.calls:
                found.append(f"[interrupts] toolCallId '{call}' names no call")
        return found

    def _text_opened(self, _position: int, event: _Event) -> list[str]:
        mid = event.get("messageId")
        found: list[str] = []
        if mid is not None:
            starts = event["type"] == "TEXT_MESSAGE_START"
            found = self._claim(event.get("role") or "assistant", mid) if starts or mid not in self._streamed else []
            self._streamed.setdefault(mid, [])
            self._chunked = mid
        self._said(self._chunked, event)
        return found

    def _text_content(self, _position: int, event: _Event) -> list[str]:
        self._said(event.get("messageId"), event)
        return ["[empty-delta]"] if self._advice and event.get("delta") == "" else []

    def _said(self, message_id: Any, event: _Event) -> None:
        if message_id in self._streamed and isinstance(delta := event.get("delta"), str):
            self._streamed[message_id].append(delta)

    def _reasoning_opened(self, _position: int, event: _Event) -> list[str]:
        mid = event.get("messageId")
        return [] if mid is None else self._claim("reasoning", mid)

    def _call_opened(self, _position: int, event: _Event) -> list[str]:
        call = event.get("toolCallId")
        opens = event["type"] == "TOOL_CALL_START" or event.get("toolCallName") is not None
        if not isinstance(call, str) or call in self._calls or not opens:
            return []
        self._calls.append(call)
        found = []
        if call not in self._thread.calls:
            parent = event.get("parentMessageId")
            found = self._claim("assistant", parent if parent is not None else call)
            if parent is None and self._advice:
                found.append(f"[no-parent] call '{call}'")
        self._thread.calls.add(call)
        return found

    def _call_result(self, _position: int, event: _Event) -> list[str]:
        call, mid, found = str(event.get("toolCallId")), str(event.get("messageId")), []
        if call in self._answered:
            found.append(f"[result-id] call '{call}' is answered twice")
        elif call not in self._thread.calls:
            found.append(f"[result-id] call '{call}' is not known")
        elif self._advice and call in self._answered_before:
            found.append(f"[answered] call '{call}' has a tool message in the request")
        self._answered.add(call)
        if mid in self._thread.kinds:
            found.append(f"[result-id] message id '{mid}' is taken by a {self._thread.kinds[mid]} message")
        self._thread.kinds.setdefault(mid, "tool")
        return found

    def _state_snapshot(self, _position: int, _event: _Event) -> list[str]:
        self._thread.has_state = True
        return []

    def _state_delta(self, _position: int, _event: _Event) -> list[str]:
        if not self._advice or self._thread.has_state or "state" in self._given:
            return []
        self._thread.has_state = True  # Say so once.
        return ["[no-base]"]

    def _activity_snapshot(self, _position: int, event: _Event) -> list[str]:
        mid = str(event.get("messageId"))
        self._activities.add(mid)
        return self._claim("activity", mid)

    def _activity_delta(self, _position: int, event: _Event) -> list[str]:
        mid = event.get("messageId")
        return [] if mid in self._activities else [f"[delta] no ACTIVITY_SNAPSHOT for '{mid}'"]

    def _messages_snapshot(self, _position: int, event: _Event) -> list[str]:
        ids = [str(message.get("id")) for message in event.get("messages") or []]
        found = [f"[snapshot] id '{mid}' twice" for mid in sorted({x for x in ids if ids.count(x) > 1})]
        for mid in (mid for mid in self._grammar.open_texts if mid not in ids):
            found.append(f"[snapshot] message '{mid}' is still streaming and not in the snapshot")
        if self._advice:
            found += self._drifted(event.get("messages") or [])
        self._thread.learn(event.get("messages"))
        return found

    def _drifted(self, messages: Iterable[_Event]) -> Iterable[str]:
        """A message may be removed, or replaced by another one; but its text is not to come back under a new id."""
        held = {message.get("id") for message in messages}
        new = {
            _words(message["content"]): message.get("id")
            for message in messages
            if isinstance(message.get("content"), str) and message.get("id") not in self._thread.kinds
        }
        for mid, pieces in self._streamed.items():
            words = _words("".join(pieces))
            if mid not in held and words and words in new:
                yield f"[id-drift] streamed message '{mid}' is '{new[words]}' in the snapshot"


def _words(text: str) -> str:
    return "".join(text.split())


_HANDLERS: Mapping[str, Callable[[RunRules, int, _Event], list[str]]] = {
    "RUN_STARTED": RunRules._run_started,
    "RUN_FINISHED": RunRules._run_finished,
    "TEXT_MESSAGE_START": RunRules._text_opened,
    "TEXT_MESSAGE_CHUNK": RunRules._text_opened,
    "TEXT_MESSAGE_CONTENT": RunRules._text_content,
    "REASONING_MESSAGE_START": RunRules._reasoning_opened,
    "REASONING_MESSAGE_CHUNK": RunRules._reasoning_opened,
    "TOOL_CALL_START": RunRules._call_opened,
    "TOOL_CALL_CHUNK": RunRules._call_opened,
    "TOOL_CALL_RESULT": RunRules._call_result,
    "STATE_SNAPSHOT": RunRules._state_snapshot,
    "STATE_DELTA": RunRules._state_delta,
    "ACTIVITY_SNAPSHOT": RunRules._activity_snapshot,
    "ACTIVITY_DELTA": RunRules._activity_delta,
    "MESSAGES_SNAPSHOT": RunRules._messages_snapshot,
}
