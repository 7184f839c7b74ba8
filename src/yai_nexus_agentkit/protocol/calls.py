"""Pure. Tool calls: one record each, from the answer that makes it to its result, and the grammar of their events.

Every part of a run asks `ThreadCalls`: which calls exist, by which id the client knows them, and what became of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ag_ui.core import (
    BaseEvent,
    Message,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from yai_nexus_agentkit.protocol.deltas import deltas, ending
from yai_nexus_agentkit.protocol.entities import Closer, OpenEntities, Subagents
from yai_nexus_agentkit.protocol.events import CALL
from yai_nexus_agentkit.protocol.lanes import Lanes
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable

__all__ = ["Call", "CallEvents", "ThreadCalls"]

DROPPED = "This call was dropped before it ran."
"""Result of a call that is not part of the conversation any more (`CallEvents.settle`)."""
LEFT = "The tool ran, and the conversation went on without its result."
"""The same, if a tool ran for the call: it may have left its graph by a ``Command``."""
UNNAMED = "tool"
"""Name of a call that the model gave none. Clients refuse a chunk without, and show nothing for an empty one."""


def _unannounced(delta: str) -> BaseEvent:
    raise AssertionError("the call is not announced")


@dataclass(slots=True, eq=False)
class Call:
    """One tool call. It is made, announced to the client, run, and answered; each step may be missing."""

    id: str
    """On the wire, where it is unique in the thread."""
    raw: str
    """The model's own id. It may repeat in the thread: some models number calls from 0 in each answer, and so does each
    subagent. It is unique in its message: if two calls there have the same id, the later one gets a made-up id."""
    given: str = ""
    """The model's own id, of a later twin too; empty if the model gave none."""
    maker: str = ""
    """Id of the message that made the call; empty if it is unknown."""
    scope: str | None = None
    """The graph or agent whose model made the call; None if it is unknown."""
    place: str = ""
    """The node run whose model made the call; empty if it is unknown. Parallel runs of a node have one scope."""
    name: str = ""
    args: Any = None
    """The arguments, once they are complete."""
    announced: bool = False
    """The client has the call: this run or an earlier one sent it."""
    run: str | None = None
    """The tool run that executes it."""
    ran: bool = False
    """A tool run for it began."""
    result: str | None = None
    """Id of the tool message that answers it."""
    parent: str | None = None
    """Id of the message that carries the call at the client."""
    lane: str = ""
    owner: str | None = None
    args_with: Callable[[str], BaseEvent] = field(default=_unannounced)
    """The event of a piece of its arguments."""
    open: bool = False
    """More arguments may follow."""


@dataclass(slots=True, eq=False)
class ThreadCalls:
    """The calls of one thread, in the order in which they were made. Belongs to one run."""

    _calls: dict[str, Call] = field(default_factory=dict)
    """By id on the wire."""
    _made: dict[tuple[str, str], Call] = field(default_factory=dict)
    """By message and raw id."""
    _alike: dict[str, list[Call]] = field(default_factory=dict)
    """By the model's id, oldest first. Those without one are at ``""`` too."""
    _placed: dict[tuple[str, str], list[Call]] = field(default_factory=dict)
    """By the model's id and place, oldest first."""
    _executed: dict[str, Call] = field(default_factory=dict)
    """By the tool run that executes it, or did."""
    _unanswered: dict[str, Call] = field(default_factory=dict)
    """Those without a result."""
    _idle: dict[str, Call] = field(default_factory=dict)
    """Those of them that no tool run executes."""
    renumbered: bool = False
    """Some call has another id on the wire than its model gave it."""

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls.values())

    # ------------------------------------------------------------------ recording

    def made(
        self, maker: str, raw: str, *, given: str = "", scope: str | None = "", name: str = "", args: Any = None
    ) -> Call:
        """The call `raw` of the message `maker`; recorded when it is asked for the first time. `given`: see `Call`.

        Its id on the wire is `raw` if no other call has that, else one made from both.
        """
        call = self._made.get((maker, raw))
        if call is None:
            call_id = raw
            while (taken := self._calls.get(call_id)) is not None and (taken.maker or taken.announced):
                call_id = f"{call_id}-{maker}"
            call = self._register(self._recorded(call_id), maker, raw, scope, given)
        call.name = call.name or name
        call.args = call.args if args is None else args
        return call

    def at(self, place: str, call: Call) -> None:
        """Record that a model of this node run made the call."""
        call.place = place
        self._placed.setdefault((call.given, place), []).append(call)

    def shown(self, call_id: str, maker: str, *, scope: str | None = "", name: str = "") -> Call:
        """Record that the client has this call of the message `maker`, by a snapshot or of its own."""
        call, raw = self._recorded(call_id), call_id.removesuffix(f"-{maker}")
        call.announced, call.name = True, call.name or name
        if not call.maker and (maker, raw) not in self._made:
            self._register(call, maker, raw, scope)
        return call

    def announce(self, call_id: str, name: str = "") -> Call:
        """Record that this run announces the call of this id."""
        call = self._recorded(call_id)
        call.announced, call.name = True, call.name or name
        return call

    def answer(self, call_id: str, message_id: str) -> Call:
        """Record that this tool message is the result of a call. Threads are trimmed: the call may be missing."""
        call = self._recorded(call_id)
        call.result = call.result or message_id
        self._unanswered.pop(call_id, None)
        self._idle.pop(call_id, None)
        return call

    def runs(self, call: Call, run: str) -> None:
        """Record that a tool run executes the call."""
        call.run, call.ran = run, True
        self._executed[run] = call
        self._idle.pop(call.id, None)

    def failed(self, call: Call) -> None:
        """Record that its tool run failed. It may be tried again, before those behind it."""
        call.run = None
        if call.result is None:
            self._idle = {call.id: call, **self._idle}

    def _register(self, call: Call, maker: str, raw: str, scope: str | None, given: str = "") -> Call:
        call.raw, call.maker, call.scope, call.given = raw, maker, scope, given
        self._made[maker, raw] = call
        for known in {given or raw, given}:  # a call without an id has results without one, too
            self._alike.setdefault(known, []).append(call)
        self.renumbered = self.renumbered or call.id != raw
        return call

    def _recorded(self, call_id: str) -> Call:
        call = self._calls.get(call_id)
        if call is None:
            call = Call(call_id, call_id)
            self._calls[call_id] = self._unanswered[call_id] = self._idle[call_id] = call
        return call

    # ------------------------------------------------------------------ asking

    def get(self, call_id: str | None) -> Call | None:
        """The call that the client knows by this id."""
        return self._calls.get(call_id or "")

    def of(self, maker: str, raw: str) -> Call | None:
        """The call `raw` of the message `maker`, if it is recorded."""
        return self._made.get((maker, raw))

    def newest(self, raw: str, scope: str, run: str = "", place: str = "") -> Call | None:
        """The call `raw` that the tool run `run` executes; else the newest one of this place, or of this scope. Of
        twins, the first one that waits."""
        if (own := self._executed.get(run)) is not None and raw in (own.given, own.raw):
            return own
        alike, near = self._alike.get(raw, ()), self._placed.get((raw, place))
        call = near[-1] if near else next((one for one in reversed(alike) if one.scope == scope), None)
        if call is None or len(alike) == 1 or (raw and (not call.given or call.given == call.raw)):
            return call
        twins = [one for one in near or alike if one.maker == call.maker]
        return min(twins, key=lambda it: (it.result is not None, it.run is not None))

    def with_args(self, call: Call, name: str, args: Any) -> Call:
        """Of a call, its twins and those of its place that wait for a tool run: one of this tool, if possible with
        these arguments."""
        alike, near = self._alike.get(call.given, ()), self._placed.get((call.given, call.place))
        waiting = [one for one in near or alike if one.id in self._idle and (near or one.maker == call.maker)]
        return min(waiting, key=lambda it: (it.name != name, it.args != args, it.maker != call.maker), default=call)

    def meant(
        self, raw: str, scopes: Sequence[str] = ("",), *, name: str = "", hosts: Collection[str] = ()
    ) -> Call | None:
        """The call that a tool run or tool message means by `raw`: the newest one of its scope.

        If there is none, a call of the scopes around it, then of an unknown scope, then of any. `scopes`: innermost
        first. `name`: the tool's, if it is known. `hosts`: ids of the calls whose tools the run is part of; they
        cannot be meant.
        """
        if (own := self.newest(raw, scopes[0])) is not None:
            return own
        alike = self._alike.get(raw, ())
        order = {scope: place for place, scope in enumerate((*scopes, None))}
        found, best = None, (0, False)
        for call in alike:
            if call.id in hosts or (name and call.name and call.name != name):
                continue
            # Subagents that go on after a question begin in the order in which they asked.
            waits = call.scope is None and call.result is None and call.run is None
            rank = (order.get(call.scope, len(order)), not waits)
            if found is None or rank < best or (rank == best and not waits):
                found, best = call, rank
        return found

    def is_announced(self, call_id: str | None) -> bool:
        """The client has the call."""
        call = self.get(call_id)
        return call is not None and call.announced

    def is_answered(self, call_id: str) -> bool:
        """The call has its result."""
        call = self.get(call_id)
        return call is not None and call.result is not None

    def open(self) -> list[Call]:
        """The calls that have no result."""
        return list(self._unanswered.values())

    def idle(self) -> Iterable[Call]:
        """The open calls that no tool run executes."""
        return self._idle.values()


@dataclass(slots=True, eq=False)
class CallEvents:
    """The events of one run's calls. A call is announced once and answered once per thread, however often it is
    reported."""

    _ids: MessageIds
    _open: OpenEntities
    _subagents: Subagents
    _lanes: Lanes
    _thread: ThreadCalls
    chunks: bool
    parts: bool
    """The peer takes results as lists of content parts."""
    announced: dict[str, Call] = field(default_factory=dict)
    """The calls that this run announced, in order."""
    _renamed: list[str] = field(default_factory=list)
    """Pending calls that the client knows by another name in the end (`settle`)."""

    def announce(
        self,
        lane: str,
        call_id: str,
        name: str,
        parent: str | None,
        metadata: dict[str, Any] | None = None,
        closer: Closer | None = None,
    ) -> list[BaseEvent]:
        """``TOOL_CALL_START``, unless the thread has the call: its arguments would double (AG-UI 1.0, tool calls)."""
        if not usable(call_id) or self._thread.is_announced(call_id) or self._thread.is_answered(call_id):
            return []
        it = self._lanes.get(lane)
        event = (ToolCallChunkEvent if self.chunks else ToolCallStartEvent)(
            tool_call_id=call_id,
            tool_call_name=usable(name) or UNNAMED,
            parent_message_id=self._lanes.parent(it, parent, call_id),
            subagent_run_id=it.owner,
            metadata=metadata,
        )
        events = [*self._lanes.make_room(lane, it), *self._subagents.introduce(it.owner), event]
        call = self.announced[call_id] = self._thread.announce(call_id, event.tool_call_name or "")
        call.parent, call.lane, call.owner, call.open = event.parent_message_id, lane, it.owner, True
        call.args_with = self._args_with(event)
        it.calls.append(call_id)
        self._open.add(CALL, call_id, call.owner, closer or self.end)
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
        return [] if self.chunks else [ending(ToolCallEndEvent, tool_call_id=call_id, subagent_run_id=call.owner)]

    def result(
        self,
        call_id: str,
        message_id: str,
        content: str | list[Any],
        owner: str | None,
        metadata: dict[str, Any] | None,
    ) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` of a known call, once per call: a client would show a second one as well."""
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
        self._thread.answer(call_id, event.message_id)
        return [*self.end(call_id), *self._subagents.introduce(owner), event]

    def parent(self, call_id: str | None) -> str | None:
        """Id of the message that carries a call of this run."""
        call = self.announced.get(call_id or "")
        return call.parent if call is not None else None

    @property
    def pending(self) -> list[str]:
        """The calls that this run announced and nobody answered, in order (AG-UI 1.0, frontend tools)."""
        return [call for call in (*self.announced, *self._renamed) if not self._thread.is_answered(call)]

    def settle(
        self, live: Sequence[str], metadata: Callable[[str], dict[str, Any] | None] = lambda status: None
    ) -> list[BaseEvent]:
        """Answer all pending calls, except `live` (ids as the client knows them at the end): their results will not
        come. A client that gets no list of pending calls counts the unanswered ones itself. `metadata`: of such a
        result, by its status: ``left`` if a tool ran, else ``dropped``."""
        events: list[BaseEvent] = []
        known = set(live)
        for call_id, call in self.announced.items():
            if call_id not in known and not self._thread.is_answered(call_id):
                text, status = (LEFT, "left") if call.ran else (DROPPED, "dropped")
                # Not from the call's id alone, which may recur when no thread has it.
                own_id = f"{call.lane}-{call_id}"
                events += self.result(call_id, own_id, text, call.owner, metadata(status))
        self._renamed = [call_id for call_id in dict.fromkeys(live) if call_id not in self.announced]
        return events

    def restate(self, messages: Iterable[Message]) -> list[BaseEvent]:
        """Record a snapshot's calls and results. Returns the results of this run's calls that were not sent yet.

        Without them, a client would count the call as pending, and put the result at the wrong place. A result whose
        message the client has already belongs to another call of the same id (call ids recur).
        """
        events: list[BaseEvent] = []
        for message in messages:  # by their roles: for its class a message takes as long as for the rest
            if message.role == "assistant":
                for call in message.tool_calls or ():
                    scope = "" if message.subagent_run_id is None else None
                    self._thread.shown(call.id, message.id, scope=scope, name=call.function.name)
            elif message.role == "tool":
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
