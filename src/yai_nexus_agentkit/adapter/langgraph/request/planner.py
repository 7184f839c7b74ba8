"""Decides what a request to a graph means for its thread: reads the thread once, and makes the plan of the run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Command

from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_of
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.adapter.langgraph.middleware import Hold
from yai_nexus_agentkit.adapter.langgraph.request.answers import answered_ids, answers, has_answers, leaves
from yai_nexus_agentkit.adapter.langgraph.request.graph_input import graph_input
from yai_nexus_agentkit.adapter.langgraph.request.plan import Held, Idle, Known, Plan, Restate, Resume, Run
from yai_nexus_agentkit.adapter.langgraph.request.reconcile import (
    Reconciliation,
    completed,
    message_roles,
    open_calls,
    reconcile,
    stray_result,
)
from yai_nexus_agentkit.adapter.langgraph.request.shown import ShownThread
from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, Graph, GraphShape, saver_of
from yai_nexus_agentkit.adapter.langgraph.threads.branches import History, Place, cut, fork_thread, start_branch
from yai_nexus_agentkit.adapter.langgraph.threads.checkpoint import ANSWERS_KEY, Thread, read_thread, settle, with_saver
from yai_nexus_agentkit.adapter.langgraph.threads.savers import GivenIds, RunSaver, SaverInFront
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import ResumeError, RunInputError
from yai_nexus_agentkit.protocol.calls import Call, ThreadCalls
from yai_nexus_agentkit.protocol.linked_media import has_links, unlink_media

__all__ = ["Planner"]

_logger = logging.getLogger(__name__)
_role = attrgetter("role")


class Planner:
    """Makes the plan of one request to a graph. `agent` and `config` are what the plan runs."""

    def __init__(self, run: RunContext, graph: Graph, shape: GraphShape, config: RunnableConfig, hold: Hold | None):
        self._run, self._graph, self._shape, self._hold = run, graph, shape, hold
        self.agent: Graph = graph
        self.config = config
        self._request = run.run_input.messages
        self._foreign = [m for m in self._request if m.subagent_run_id is not None]
        self._shown = ShownThread(run, shape, self._foreign)
        self._resuming = not run.looking and has_answers(run.run_input)
        self._offered = {tool.name for tool in run.run_input.tools or ()}
        self._due = False
        """The thread stopped before a node that may execute the open calls itself."""
        own = None if shape.verbatim or not shape.messages else "__root__" if shape.bare else MESSAGES
        self._given_ids = GivenIds(own)

    async def plan(self) -> Plan:
        """Raises `RunInputError` or `ResumeError` for a request that cannot be used."""
        saver = saver_of(self._graph)
        if saver is None:
            return self._without_thread()
        thread = await self._read()
        if self._resuming and thread.saved is None and self._request and self._request[-1].role != "user":
            raise ResumeError("the request answers questions of a thread that does not exist, or no longer")
        self._run.linkable = self._shape.messages
        if (attempt := self._run.attempt) is not None and attempt.number > 1 and thread.is_of(attempt.key):
            return await self._gone_on(saver, thread)  # an earlier try stored something; else the request is as new
        self.agent = self._in_front(saver, thread, answering=self._resuming)
        self._unlink(thread.held)
        # All there is: on a new thread, and for a functional graph, which keeps no messages.
        given = to_langchain(self._request) if self._shape.functional or not thread.held else []
        self._due = await self._is_due(thread)
        calls = self._calls(thread.held or given, thread.scopes)
        stray = stray_result(self._request, calls)
        found = self._compared(thread, calls, [] if stray else given)
        state = self._changed(thread)
        if found.fork is not None:
            return await self._on_own_branch(thread, found) or await self._forked(thread, found, state)
        known = self._known(thread, found.with_results(calls), found)
        if thread.paused:
            if self._resuming:
                return self._answered(known, thread, found, state)
            return self._restated(known, thread, found)
        if self._resuming:
            state = {}  # of the time before the answer, which the thread has dealt with
            if await self._stopped_after_answers(thread):
                self.agent = self._in_front(saver, thread)
                return self._resumed(known, thread, found, state)
            _logger.warning("the request answers questions, but thread %r has none open", self._run.run_input.thread_id)
        if self._run.looking or self._is_idle(found, state):
            return await self._idle(known, thread, stray)
        if thread.loose:
            await settle(self._written, self.config)
            self.agent = self._written
        messages = [*thread.again(self._shape), *thread.nested, *found.append]
        return self._run_on(
            replace(known, nested=()) if known.nested else known,
            messages,
            state,
            found,
            Held(thread.values, thread.messages),
        )

    def _without_thread(self) -> Plan:
        """No checkpointer: the request's history is all there is."""
        if self._resuming:
            raise RunInputError("the graph has no checkpointer, so there is no question to answer", path="/resume")
        messages = to_langchain(self._request)
        calls = self._calls(messages)
        roles = message_roles(self._request, messages)
        known = Known(request=self._request, calls=calls, roles=roles, resumable=False)
        found = completed(messages, calls)
        state = self._shown.changes({})
        stray = stray_result(self._request, calls)
        if stray is not None or self._is_idle(found, state):
            return Idle(known=known, held=Held({}, messages), refused=stray)
        return self._run_on(known, found.append, state, found, Held({}))

    def _run_on(
        self, known: Known, messages: Sequence[Any], state: Mapping[str, Any], found: Reconciliation, held: Held
    ) -> Run:
        given = graph_input(self._run.run_input, messages, state, self._shape, held.values)
        unseen = None if given != {} else self._with_defaults(held)
        return Run(known=known, input=given, answers=found.answers, unseen=unseen)

    def _with_defaults(self, held: Held) -> Held:
        """With the defaults that nobody wrote over: checkpoints lack them, but nodes and clients see them."""
        values = held.values
        return replace(held, values={**self._shape.defaults, **values}) if isinstance(values, Mapping) else held

    # ------------------------------------------------------------------ what there is

    @cached_property
    def _written(self) -> Graph:
        """The graph for updates of its thread, and for a run after one."""
        saver = saver_of(self._graph)
        return self._graph if saver is None else with_saver(self._graph, SaverInFront(saver))

    def _in_front(self, saver: BaseCheckpointSaver[Any], thread: Thread, *, answering: bool = False) -> Graph:
        """The graph with the checkpointer of this run."""
        front = RunSaver(saver, thread.saved, self._given_ids, answering=answering)
        return with_saver(self._graph, front)

    async def _read(self) -> Thread:
        """The thread. If the user says no at a breakpoint, the turn ends there: what waits must not run."""
        thread = await read_thread(self._graph, self._shape, self.config, self._hold)
        if not self._resuming or not leaves(self._run.run_input, thread.breakpoints):
            return thread
        answers(self._run.run_input, thread.questions, thread.breakpoints)
        await settle(self._written, self.config)
        return await read_thread(self._graph, self._shape, self.config, self._hold)

    def _unlink(self, held: Sequence[BaseMessage]) -> None:
        """Media that the client was sent as links are what the thread has."""
        if has_links(self._request):
            shown = self._shown.messages(held) or {m.id: m for m in to_agui(held)}
            self._request = unlink_media(self._request, list(shown.values()), self._run.thread_key)

    async def _is_due(self, thread: Thread) -> bool:
        """The thread stopped before a node, which may execute open calls itself. Asked only where the request has
        results of tools, and nothing else shows whose tools those are."""
        if self._shape.tools or "tool" not in map(_role, self._request):
            return False
        return thread.paused or bool((await self._graph.aget_state(self.config)).next)

    def _calls(self, known: Sequence[BaseMessage], scopes: Mapping[str, str] | None = None) -> ThreadCalls:
        """The calls of the thread, and those of subagents, which only the client holds."""
        return calls_of(known, scopes, self._foreign)

    def _compared(self, thread: Thread, calls: ThreadCalls, given: Sequence[BaseMessage]) -> Reconciliation:
        held = thread.held
        if self._shape.functional or not held:
            return completed(given, calls) if self._shape.functional or self._takes_messages else Reconciliation()
        return self._reconciled(held, calls, resuming=self._resuming, paused=thread.paused)

    def _reconciled(
        self, held: Sequence[BaseMessage], calls: ThreadCalls, *, resuming: bool, paused: bool
    ) -> Reconciliation:
        return reconcile(
            self._request,
            held,
            calls,
            resuming=resuming,
            is_clients=self._is_clients,
            paused=paused,
            redacted=self._shown.messages(held),
        )

    def _known(self, thread: Thread, calls: ThreadCalls, found: Reconciliation) -> Known:
        return Known(
            request=self._request,
            calls=calls,
            roles=message_roles(self._request, thread.held),
            nested=thread.nested,
            in_sync=not found.surplus,
            lacking=found.lacking,
            texts=found.texts,
            given_ids=self._given_ids,
        )

    def _changed(self, thread: Thread) -> dict[str, Any]:
        """The channels that the client changed. It may not know yet what the finished tasks of a failed step wrote."""
        state = self._shown.changes(thread.values, thread.pending if thread.paused else None)
        if state and thread.loose and thread.saved is not None:
            before = self._shown.changes(thread.saved.checkpoint["channel_values"])
            state = {key: value for key, value in state.items() if key in before}
        return state

    def _is_clients(self, call: Call) -> bool:
        """The client runs the tool of this call. A tool of the graph's own never is one, whatever a request declares; a
        page may have stopped offering its tools, so any other name counts where the graph's are known."""
        if call.name in self._shape.tools:
            return False
        return bool(self._shape.tools) or (not self._due and call.name in self._offered)

    @property
    def _takes_messages(self) -> bool:
        return self._shape.messages or MESSAGES in self._shape.inputs

    # ------------------------------------------------------------------ a thread that waits for answers

    def _answered(self, known: Known, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Resume:
        resume = answers(self._run.run_input, thread.questions, thread.breakpoints, thread.taken)
        return self._resumed(known, thread, found, state, resume)

    def _resumed(
        self,
        known: Known,
        thread: Thread,
        found: Reconciliation,
        state: dict[str, Any],
        resume: dict[str, Any] | None = None,
    ) -> Resume:
        """The user's new messages go along with the answers, or after the results of calls that are still open."""
        asked = (*(q.id for q in thread.questions), *(b.interrupt_id for b in thread.breakpoints), *thread.taken)
        metadata = {**(self.config.get("metadata") or {}), ANSWERS_KEY: " ".join(asked)}
        self.config = {**self.config, "metadata": metadata}
        said, given = self._new_messages(found)
        later = bool(said) and bool(open_calls([*thread.held, *given]))
        new = [*given, *(() if later else said)]
        update: dict[str, Any] = dict(state)
        if new:
            update[MESSAGES] = [*self._shape.kept(thread.values), *new]
        values, sent = thread.values, self._run.run_input.state
        if isinstance(values, Mapping) and isinstance(sent, Mapping):
            values = {**values, **{key: sent[key] for key in state}}
        return Resume(
            known=known,
            input=None if resume is None and not update else Command(resume=resume, update=update or None),
            held=self._with_defaults(Held(values, [*thread.messages, *new])),
            later=said if later else (),
        )

    def _restated(self, known: Known, thread: Thread, found: Reconciliation) -> Restate:
        said, given = self._new_messages(found)
        return Restate(
            known=replace(known, nested=()),
            held=Held(thread.values, [*thread.held, *given, *said]),
            questions=thread.questions,
            breakpoints=thread.breakpoints,
        )

    def _new_messages(self, found: Reconciliation) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """On a paused thread: what the user said, and the client's results for calls of its own tools."""
        new = found.given if self._takes_messages else []
        return [m for m in new if m.type != "tool"], [m for m in new if m.type == "tool"]

    # ------------------------------------------------------------------ nothing new

    def _is_idle(self, found: Reconciliation, state: Mapping[str, Any]) -> bool:
        """The request brings nothing that the graph could do. A graph without a conversation always has something."""
        if found.late or (self._shape.functional and self._resuming):
            return True
        return not found.append and not state and (self._resuming or self._takes_messages or self._shape.functional)

    async def _stopped_after_answers(self, thread: Thread) -> bool:
        """The thread took answers, and then its run failed or was left: the same answers go on from there, so that what
        succeeded does not run twice. Tasks that all have ended are no longer next, but their step is not over."""
        if thread.saved is None:
            return False
        state = await self._graph.aget_state(self.config)
        again = bool(thread.taken) and answered_ids(self._run.run_input) <= thread.taken
        return any(task.error for task in state.tasks) or (again and bool(state.tasks))

    async def _idle(self, known: Known, thread: Thread, refused: RunInputError | None) -> Idle:
        values, due = thread.values, False
        if thread.saved is not None:  # the state, since a checkpoint lacks the defaults nobody wrote over
            state = await self._graph.aget_state(self.config)
            values, due = state.values, bool(state.next)
        held = Held(values, thread.held)
        unfinished = due and self._run.looking
        return Idle(known=replace(known, nested=()), held=held, refused=refused, unfinished=unfinished)

    # ------------------------------------------------------------------ a run that another worker began

    async def _gone_on(self, saver: BaseCheckpointSaver[Any], thread: Thread) -> Plan:
        """From the last step that was stored. The client holds more than that, or less: it gets all messages anew."""
        self.agent = self._in_front(saver, thread)
        calls = self._calls(thread.held, thread.scopes)
        known = replace(self._known(thread, calls, Reconciliation(lacking=True, surplus=True)), nested=())
        if thread.paused:
            return self._restated(known, thread, Reconciliation())
        if not (await self._graph.aget_state(self.config)).tasks:
            return await self._idle(known, thread, None)
        return Resume(known=known, input=None, held=self._with_defaults(Held(thread.values, thread.held)))

    # ------------------------------------------------------------------ another branch

    async def _forked(self, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Run:
        """The user went back: a branch from before that message, or, where no checkpoint fits, a cut at the head."""
        at = found.fork or ""
        before = thread.messages[: next(n for n, m in enumerate(thread.messages) if m.id == at)]
        known = replace(self._known(thread, self._calls(before), found), nested=(), lacking=True)
        parts = (self._written, self._shape, self.config)
        head = cast("CheckpointTuple", thread.saved)
        branch = await fork_thread(*parts, head=head, message_id=at, before=before, tail=found.append, state=state)
        if branch is not None:
            return self._at(branch, known, found)
        removed = await cut(*parts, head, at)
        return Run(
            known=known,
            input=graph_input(self._run.run_input, [*removed, *found.append], state, self._shape, thread.values),
            answers=found.answers,
        )

    async def _on_own_branch(self, thread: Thread, found: Reconciliation) -> Plan | None:
        """A tab that went another way than the thread's head goes on in its own branch, where the history has that.
        None: there is no such branch, or the tab went no other way."""
        saver = saver_of(self._graph)
        if not found.strange or saver is None:
            return None
        history = History(self._graph, saver, self._shape, self.config)
        place = await history.holding(self._request, found.strange)
        if place is None:
            return None
        branch = Thread(place.saved, place.values, place.messages)
        self._unlink(place.messages)
        calls = self._calls(place.messages)
        found = self._reconciled(place.messages, calls, resuming=False, paused=False)
        state = await self._changed_since(history, place)
        if found.fork is not None:
            return await self._forked(branch, found, state)
        if not found.append:
            return await self._at_head(thread)
        start = await start_branch(self._written, self._shape, self.config, place, found.append, state)
        return self._at(start, self._known(branch, found.with_results(calls), found), found)

    async def _changed_since(self, history: History, place: Place) -> dict[str, Any]:
        """The state that the user changed. A tab that goes back in its branch sends the state of a later place:
        values that were shown anywhere since are not changes."""
        state = self._shown.changes(place.values)
        if state:
            async with aclosing(history.since(place)) as later:
                async for other in later:
                    if not self._shown.changes(other.values):
                        return {}
        return state

    async def _at_head(self, thread: Thread) -> Plan:
        """A tab with a branch of its own and nothing to say: it is shown what the thread holds now."""
        calls = self._calls(thread.held, thread.scopes)
        known = self._known(thread, calls, Reconciliation(lacking=True, surplus=True))
        if thread.paused:
            return self._restated(known, thread, Reconciliation())
        return Idle(known=known, held=Held((await self.agent.aget_state(self.config)).values, thread.messages))

    def _at(self, branch: RunnableConfig, known: Known, found: Reconciliation) -> Run:
        """The graph runs at this checkpoint, on the input that was written there."""
        self.agent = self._written
        self.config = {**self.config, "configurable": {**self.config["configurable"], **branch["configurable"]}}
        return Run(known=known, answers=found.answers)
