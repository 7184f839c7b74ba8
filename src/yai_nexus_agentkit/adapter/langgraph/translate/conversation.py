"""Pure. State and messages of one run: what the root's chunks say of them, and the snapshots that follow.

Only chunks of the root graph count; a subgraph's arrive too late to be in order. A message that a node wrote and nobody
streamed is streamed at once. Other changes (an edit, a removal, a message by another role) need a snapshot, which waits
for the end of the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any

from ag_ui.core import BaseEvent, Message, MessagesSnapshotEvent
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.constants import START

from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_withheld, metadata, revealed
from yai_nexus_agentkit.adapter.langgraph.messages.written import UNREADABLE, raw_results, written_messages
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import RunTree
from yai_nexus_agentkit.adapter.langgraph.request.alike import saved_as
from yai_nexus_agentkit.adapter.langgraph.request.plan import Held, Plan, Resume, Run
from yai_nexus_agentkit.adapter.langgraph.shape import GraphShape
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView, Judgement, Keep
from yai_nexus_agentkit.adapter.langgraph.translate.holding import Done, Holding
from yai_nexus_agentkit.adapter.langgraph.translate.model_lane import ModelLane
from yai_nexus_agentkit.adapter.langgraph.translate.tool_runs import ToolRuns
from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.protocol.json.json_safe import json_safe

__all__ = ["Conversation"]

_id = attrgetter("id")


class Conversation:
    """State and messages of one run."""

    def __init__(
        self,
        plan: Plan,
        reports: Reports,
        tree: RunTree,
        view: ClientView,
        calls: ToolRuns,
        *,
        shape: GraphShape | None,
        holding: Holding | None = None,
    ) -> None:
        self._known, self._reports, self._tree, self._view = plan.known, reports, tree, view
        self._ids = frozenset(map(_id, plan.known.request))
        self._error_results = plan.error_results if isinstance(plan, Run) else ()
        self._resumes = isinstance(plan, Resume)
        """The graph has not shown its first values, and they are those of a thread that stopped in a step."""
        self._life, self._state, self._calls = reports.life, reports.state, calls
        self._shape, self._holding = shape, holding
        self._late: Any = None
        """The values of a step whose state waits with the answers."""
        for message in plan.held.messages if isinstance(plan, Resume) else ():
            self._wait_on(message)
        self._snapshot_due = False
        """A node changed messages in a way that needs a snapshot, which follows at the end of the step."""
        self._unsaid: Sequence[BaseMessage] = plan.later if isinstance(plan, Resume) else ()
        """New messages of the user that the thread gets in a second pass, if the first does not pause."""
        self.waits = False
        """A node wrote messages as tuples, dicts or strings. The next ``values`` chunk shows what they became; the
        node's step stays open until then."""
        self._unreadable = False
        """The graph keeps something else than a conversation; an empty snapshot would wipe the client's messages."""

    # ------------------------------------------------------------------ what nodes write

    def task_ended(self, run: NativeRun, output: Any) -> list[BaseEvent]:
        """A task of a functional graph returned. No thread stores its messages, so their ids are free."""
        written = written_messages(output)
        results = [m for m in (*written, *raw_results(written)) if isinstance(m, ToolMessage)]
        events = [event for message in results for event in self._calls.result(message, run)]
        return [*events, *self._calls.node_ended(run)]

    def node_ended(self, run: NativeRun, output: Any, *, at_root: bool) -> list[BaseEvent]:
        """A node returned."""
        written = written_messages(output)
        if raw := raw_results(written):
            self._calls.expect(raw, run)
        return self.node_wrote(run, written, at_root=at_root)

    def node_wrote(
        self, run: NativeRun, written: Sequence[Any], *, at_root: bool, beside: Sequence[BaseMessage] = ()
    ) -> list[BaseEvent]:
        """Send what a node wrote and nobody streamed: results, and answers that no model made. `beside`: messages of
        other nodes in this run."""
        events: list[BaseEvent] = []
        messages = [m for m in written if isinstance(m, BaseMessage) and m.id]
        if self._holding:
            self._holding.wrote(messages)
        # Along with a message that replaces a streamed answer, new ones come with the snapshot too. What passes through
        # START came with the request.
        streams = at_root and run.name != START and not run.silent and not self._view.orphans(run, [*beside, *messages])
        for message in messages:
            if isinstance(message, ToolMessage):
                events += self._calls.result(message, run)
            elif streams and isinstance(message, AIMessage) and self._is_unsent(message):
                if self._holding is None:
                    events += self._stream_stored(message, run)
                elif not self._holding.waits(message):
                    events += self._holding.answer(message, run, lambda held: self._stream_stored(held, run))
        return [*events, *self._calls.node_ended(run)]

    def _wait_on(self, message: BaseMessage) -> None:
        """A message that was waiting when the thread paused goes on waiting."""
        if self._holding is not None and is_withheld(message):
            send: Any = self._calls.answer if isinstance(message, ToolMessage) else self._stream_stored
            self._holding.resume(revealed(message), lambda held: send(held, self._tree.top))

    def _stream_stored(self, message: AIMessage, run: NativeRun) -> list[BaseEvent]:
        """Stream an answer that no model streamed (a constant, a cached node)."""
        source = NativeRun(f"stored:{message.id}", RunKind.MODEL, run.name, run, scope=run.scope, owner=run.owner)
        return ModelLane(source, self._life, self._view).end(message)

    def returned(self, output: Any) -> list[BaseEvent]:
        """The agent ended: stream what a functional graph or plain runnable returned (a text, a message, or messages)
        and no model streamed."""
        if not self.functional:
            return []
        if isinstance(output, str) and output:
            output = AIMessage(output)
        events: list[BaseEvent] = []
        given = set() if isinstance(output, BaseMessage) else set(self._ids)  # a conversation begins with the request's
        for number, message in enumerate(m for m in written_messages(output) if isinstance(m, BaseMessage)):
            again = message.id in self._ids and message.id not in given
            given.discard(message.id or "")
            if not message.id or again:  # the application's own object, which may be a constant that many runs return
                message = message.model_copy(update={"id": f"{self._life.run_id}-output{number or ''}"})
            if isinstance(message, ToolMessage):
                events += self._calls.result(message, self._tree.top)
            elif isinstance(message, AIMessage) and not self._is_shown_already(message):
                events += self._stream_stored(message, self._tree.top)
        return events

    def result(self, output: Any) -> Any:
        """The return value of a functional graph or plain runnable, without the messages that were streamed; a state
        graph's result is its state."""
        if not self.functional or output is None or isinstance(output, BaseMessage):
            return None
        if isinstance(output, list) and output and all(isinstance(item, BaseMessage) for item in output):
            return None
        if isinstance(output, Mapping) and any(isinstance(item, BaseMessage) for item in written_messages(output)):
            output = {key: value for key, value in output.items() if key != "messages"} or None
        return json_safe(output)

    @property
    def functional(self) -> bool:
        """No state graph: a functional one, or a plain runnable."""
        return self._shape is None or self._shape.functional

    def _is_shown_already(self, message: AIMessage) -> bool:
        if self._view.is_sent(message.id or "") or message.id in self._ids:
            return True
        return bool(message.text) and self._view.says(message.text)

    def updated(self, payload: Mapping[str, Any]) -> list[BaseEvent]:
        """A root ``updates`` chunk: which node wrote what. A node answered from a cache shows only here."""
        root = self._tree.root
        cached = bool((payload.get("__metadata__") or {}).get("cached"))
        events: list[BaseEvent] = []
        for node, update in payload.items():
            if node in ("__interrupt__", "__metadata__") or root is None:
                continue
            written = written_messages(update)
            if cached or (written and (self._holding or self._has_result(written))):
                run = NativeRun(f"node:{node}", RunKind.NODE, node, root, path=(node,), scope=root.scope)
                events += self.node_wrote(run, written, at_root=cached)
            self._note_written(update, written)
        return events

    def _has_result(self, written: Sequence[Any]) -> bool:
        """A result that was not sent: of a node whose end was not seen."""
        return any(isinstance(m, ToolMessage) and not self._view.is_sent(m.id or "") for m in written)

    def _note_written(self, update: Any, written: Sequence[Any]) -> None:
        for part in update if isinstance(update, (list, tuple)) else (update,):
            if type(part) is dict or isinstance(part, Mapping):
                self._state.wrote(part)
        if not written:
            return
        self._view.node_wrote()
        for message in written:
            if not isinstance(message, BaseMessage) or not message.id:
                self.waits = True
            elif self._differs(message):
                self._snapshot_due = True

    def _differs(self, message: BaseMessage) -> bool:
        """The client does not hold this message as it is now."""
        if not isinstance(message, RemoveMessage) and not is_shown(message):
            return False
        return self._view.judge(message) is not Judgement.KNOWN

    def _is_unsent(self, message: AIMessage) -> bool:
        """The message is new and can be streamed. A snapshot brings those that were not streamed on purpose; what a
        functional graph returns may begin with what it was given."""
        given = self.functional and message.id in self._ids
        return not given and self._is_new(message) and not self._view.is_silent(message.id or "")

    def _is_new(self, message: BaseMessage) -> bool:
        return self._view.judge(message) is Judgement.NEW

    # ------------------------------------------------------------------ the thread's values

    @property
    def begins(self) -> bool:
        """The next root ``values`` chunk shows the thread at the beginning, and not after a superstep."""
        return not self._view.began or self._resumes

    def begin(self, values: Any) -> list[BaseEvent]:
        """The first root ``values`` chunk: the thread with the request applied."""
        if self._view.began:
            self._resumes = False  # the thread as it was before its last step, which `begin_held` knew in full
            return []
        self._view.begin(self._messages_of(values))
        events = self._state.begin(values)
        if self._known.lacking and self._keeps_messages:
            return [*events, *self._snapshot()]
        for message in self._error_results:
            events += self._calls.answer(message, self._tree.top)
        return events

    def read(self, values: Any, *, paused: bool) -> list[BaseEvent]:
        """A root ``values`` chunk after a superstep: the messages that nodes wrote as tuples, dicts or strings. They
        wait for `stored` if the step stopped at a question (`paused`)."""
        messages = self._messages_of(values)
        if self._shape is not None and self._shape.messages and not self._unreadable:
            self._view.stepped(messages)
        if self._holding:
            self._holding.wrote(messages)
        if paused or not self.waits:
            return []
        self.waits = False
        return self._raw_tail(messages)

    def stored(self) -> list[BaseEvent]:
        """The run stopped in a step: what its tasks wrote without ids, under the ids that are stored by now."""
        if not self.waits:
            return []
        self.waits = False
        latest = list(self._view.latest)
        new = [n for n, message in enumerate(latest) if self._is_new(message)]
        for n, message in zip(new, self._known.given_ids.renamed([latest[n] for n in new]), strict=True):
            latest[n] = message
        self._view.stepped(latest)
        return self._raw_tail(latest)

    def stepped(self, values: Any) -> list[BaseEvent]:
        """The rest of that chunk: the state, and a snapshot if messages changed in a way that needs one."""
        events = self._step_state(values)
        if self._snapshot_due and self._life.quiet and not self._holding:
            self._snapshot_due = False
            events += self._snapshot(self._still_running)
        return events

    def _messages_of(self, values: Any) -> Sequence[BaseMessage]:
        messages = self._shape.messages_of(values) if self._shape is not None else ()
        self._unreadable = messages is UNREADABLE
        return messages

    def _step_state(self, values: Any) -> list[BaseEvent]:
        """The state after a superstep. A call that the thread does not hold by then will have no result."""
        self._late = values if self._holding else None
        if self._holding:
            return []
        awaited = self._state.awaited_calls
        if awaited and self._keeps_messages:
            self._state.release(awaited - self._calls.stored(awaited).keys())
        return self._state.step(values)

    def let_go(self, output: Any, *, done: Done | None) -> list[BaseEvent]:
        """The run ends: send what waits and the thread holds, and the state that waited with it. `output`: the root's
        return value. `done`: as in `Holding.let_go`."""
        if self._holding is None:
            return []
        ids = {m.id for m in self._view.latest} if self._holding and self._keeps_messages else None
        shows = isinstance(output, str) or any(isinstance(m, BaseMessage) for m in written_messages(output))
        own = self.functional and shows  # `returned` sends them
        kept = (lambda message: not own) if ids is None else (lambda message: message.id in ids)
        events = self._holding.let_go(kept, done)
        return events if self._late is None or self._holding else [*events, *self._step_state(self._late)]

    def begin_held(self, held: Held) -> list[BaseEvent]:
        """Start from what the thread holds: the graph does not run, or does not show it before its first step."""
        if self._shape is None:
            return []
        self._view.begin(held.messages)
        if self._known.lacking:
            self._view.drifted("the thread has messages that the client lacks")
        events = self._state.begin(held.values)
        if self._resumes and self._known.lacking:
            events += self._snapshot()
        return events

    def begin_pass(self) -> None:
        """The graph runs once more in this run. The client shows the messages that go in now before the answers of the
        first pass; the thread has them behind."""
        self._snapshot_due, self._unsaid = True, ()

    def _raw_tail(self, messages: Sequence[BaseMessage]) -> list[BaseEvent]:
        """Messages that a node wrote as tuples, dicts or strings, now that the reducer made real ones of them."""
        tail = [m for m in reversed(messages) if not self._view.holds(m.id or "")]
        fresh = list(takewhile(self._is_new, tail))
        root = self._tree.root
        if root is None:
            return []
        # Beside messages that need a snapshot, answers come with it too, in their places.
        streamable = all(isinstance(m, AIMessage | ToolMessage) for m in fresh)
        beside = tail[len(fresh) :] if streamable else ()
        events = self.node_wrote(root, fresh[::-1], at_root=True, beside=beside)
        if any(self._differs(m) for m in fresh):
            self._snapshot_due = True
        return events

    # ------------------------------------------------------------------ snapshots

    def end(self, *, paused: bool, when: str) -> list[BaseEvent]:
        """The messages at the end of a run: always before a question, else if the client's differ (`when` is the
        option)."""
        events = self._calls.settle(stored=self._keeps_messages) if not paused else []
        return [*events, *self._end(paused=paused, when=when)]

    @property
    def _keeps_messages(self) -> bool:
        """The thread's messages are known: the graph keeps a conversation, and showed it."""
        return self._shape is not None and self._shape.messages and self._view.began

    def _end(self, *, paused: bool, when: str) -> list[BaseEvent]:
        if (paused or self._view.lost_any) and (self._shape is None or not self._shape.messages):
            own = [m for m in self._known.request if m.role != "activity"]
            messages = [*own, *self._view.snapshot(lambda run: True)]
            return self._reports.messages(messages) if messages else []  # a page that opens: nobody knows them
        if not self._keeps_messages:
            return []
        if paused:
            return [*self._written_inside(), *self._snapshot(self._paused)]
        self._view.forget_nested()
        # A run that had to send a snapshot ends with one: whoever keeps only the last of a stored run has it whole.
        stale = (self._view.restated and self._view.sent_any) or self._calls.are_renamed()
        if self._unsaid:  # they wait behind the calls that the client now has to answer
            when = "always"
        wanted = when == "always" or (when == "auto" and (stale or self._view.differs()))
        return self._snapshot() if wanted else []

    def _written_inside(self) -> list[BaseEvent]:
        """Unstreamed messages of paused subgraphs. The thread gets them when they end, a page that opens now."""
        events: list[BaseEvent] = []
        for graph, message in self._view.inside(self._tree.graph) if self._holding is None else ():
            if isinstance(message, ToolMessage):
                events += self._calls.result(message, graph)
            elif isinstance(message, AIMessage) and self._is_unsent(message):
                events += self._stream_stored(message, graph)
        return events

    def _still_running(self, run: NativeRun) -> bool:
        """The node that streamed this message is still running: the thread will store the message later."""
        return any(self._tree.get(a.id) is a and a.kind is RunKind.NODE for a in (run, *run.ancestors()))

    def _paused(self, run: NativeRun) -> bool:
        """A subgraph that waits at a question stored this message."""
        node = run.node
        return (
            node is not None
            and self._tree.get(node.id) is None
            and any(a.kind is RunKind.GRAPH and self._tree.get(a.id) is a for a in run.ancestors())
        )

    def _snapshot(self, keep: Keep = lambda run: False) -> list[BaseEvent]:
        if self._unreadable or not self._keeps_messages:
            return []  # the messages are the client's alone: of a functional graph, or kept from clients
        without = self._holding.ids if self._holding else ()
        messages = self._reports.shown(self._as_sent(self._view.snapshot(keep, self._unsaid, without)))
        if messages is None:
            return []
        first = self._view.prelude(messages)
        facts = self._view.stored_otherwise(messages)
        self._view.accept(messages, keep)
        events = self._life.messages_snapshot(messages, first=first)
        for event in events if facts else ():
            if isinstance(event, MessagesSnapshotEvent):
                event.metadata = {**(event.metadata or {}), **metadata(facts)}
        return events

    def _as_sent(self, messages: list[Message]) -> list[Message]:
        """Texts that a saver could not store as they are stay as the client was sent them."""
        for message in messages if self._known.texts else ():
            sent = self._known.texts.get(message.id)
            if sent is not None and isinstance(message.content, str) and saved_as(sent, message.content):
                message.content = sent
        return messages
