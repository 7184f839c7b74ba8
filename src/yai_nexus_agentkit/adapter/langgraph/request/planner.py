"""Decides what a request to a graph means for its thread: reads the thread once, and makes the plan of the run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, cast

from ag_ui.core import Message
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, StateSnapshot

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
from yai_nexus_agentkit.adapter.langgraph.threads.branches import History, Place
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
    """Makes the plan of one request to a graph."""

    def __init__(self, run: RunContext, graph: Graph, shape: GraphShape, config: RunnableConfig, hold: Hold | None):
        self._run, self._graph, self._shape, self._config, self._hold = run, graph, shape, config, hold
        self._saver: Any = saver_of(graph)
        """None for a graph without threads: `_without_thread` makes its plan, and nothing else here is used."""
        self._foreign = [m for m in run.run_input.messages if m.subagent_run_id is not None]
        self._shown = ShownThread(run, shape, self._foreign)
        self._resuming = not run.looking and has_answers(run.run_input)
        self._offered = {tool.name for tool in run.run_input.tools or ()}
        own = None if shape.verbatim or not shape.messages else "__root__" if shape.bare else MESSAGES
        self._given_ids = GivenIds(own)

    async def plan(self) -> Plan:
        """Raises `RunInputError` or `ResumeError` for a request that cannot be used."""
        request: Sequence[Message] = self._run.run_input.messages
        if self._saver is None:
            return self._without_thread(request)
        thread = await self._read()
        if self._resuming and thread.saved is None and request and request[-1].role != "user":
            raise ResumeError("the request answers questions of a thread that does not exist (any more)")
        self._run.linkable = self._shape.messages
        if (attempt := self._run.attempt) is not None and attempt.number > 1 and thread.is_of(attempt.key):
            return await self._gone_on(thread)  # an earlier try stored something; else the request is as new
        request = self._unlinked(request, thread.held)
        # All there is: on a new thread, and for a functional graph, which keeps no messages.
        given = to_langchain(request) if self._shape.functional or not thread.held else []
        is_clients = partial(self._is_clients, due=await self._is_due(request, thread))
        calls = self._calls(thread.held or given, thread.scopes)
        stray = stray_result(request, calls)
        found = self._compared(request, thread, calls, [] if stray else given, is_clients)
        state = self._changed(thread)
        agent = self._in_front(thread)
        if found.fork is not None:
            other = await self._on_own_branch(agent, request, thread, found, is_clients)
            return other or await self._forked(agent, request, thread, found, state)
        known = self._known(request, thread, found.with_results(calls), found)
        if thread.paused:
            return (
                self._answered(known, thread, found, state) if self._resuming else self._restated(known, thread, found)
            )
        if self._resuming:
            state = {}  # of the time before the answer, which the thread has dealt with
            if await self._stopped_after_answers(thread):
                return self._resumed(agent, known, thread, found, state)
            _logger.warning("the request answers questions, but thread %r has none open", self._run.run_input.thread_id)
        if self._run.looking or self._is_idle(found, state):
            return await self._idle(known, thread, stray)
        if thread.loose:
            await settle(self._written, self._config)
            agent = self._written
        messages = [*thread.again(self._shape), *thread.nested, *found.append]
        return self._run_on(agent, known, messages, state, found, Held(thread.values, thread.messages))

    def _without_thread(self, request: Sequence[Message]) -> Plan:
        """No checkpointer: the request's history is all there is."""
        if self._resuming:
            raise RunInputError("the graph has no checkpointer, so there is no question to answer", path="/resume")
        messages = to_langchain(request)
        calls = self._calls(messages)
        roles = message_roles(request, messages)
        known = Known(request=request, calls=calls, roles=roles, resumable=False)
        found = completed(messages, calls)
        state = self._shown.changes({})
        stray = stray_result(request, calls)
        if stray is not None or self._is_idle(found, state):
            return Idle(known=known, held=Held({}, messages), refused=stray)
        return self._run_on(self._graph, known, found.append, state, found, Held({}))

    def _run_on(
        self,
        agent: Graph,
        known: Known,
        messages: Sequence[Any],
        state: Mapping[str, Any],
        found: Reconciliation,
        held: Held,
    ) -> Run:
        given = graph_input(self._run.run_input, messages, state, self._shape, held.values)
        unseen = None if given != {} else self._with_defaults(held)
        return Run(
            agent=agent, config=self._config, known=known, input=given, error_results=found.error_results, unseen=unseen
        )

    def _with_defaults(self, held: Held) -> Held:
        """With the defaults that nobody wrote over: checkpoints lack them, but nodes and clients see them."""
        values = held.values
        return replace(held, values={**self._shape.defaults, **values}) if isinstance(values, Mapping) else held

    # ------------------------------------------------------------------ what there is

    @cached_property
    def _written(self) -> Graph:
        """The graph for updates of its thread, and for a run after one."""
        return with_saver(self._graph, SaverInFront(self._saver))

    @cached_property
    def _history(self) -> History:
        return History(self._written, self._saver, self._shape, self._config)

    def _in_front(self, thread: Thread, *, answering: bool = False) -> Graph:
        """The graph with the checkpointer of this run."""
        front = RunSaver(self._saver, thread.saved, self._given_ids, answering=answering)
        return with_saver(self._graph, front)

    async def _state(self, thread: Thread) -> StateSnapshot:
        """The thread's state, by the read that was made already. Reducers, which get what was written since, may change
        values in place: these are read again."""
        graph = self._graph if thread.loose or self._shape.replayed else self._in_front(thread)
        return await graph.aget_state(self._config)

    async def _read(self) -> Thread:
        """The thread. If the user says no at a breakpoint, the turn ends there: what waits must not run."""
        thread = await read_thread(self._graph, self._shape, self._config, self._hold)
        if not self._resuming or not leaves(self._run.run_input, thread.breakpoints):
            return thread
        answers(self._run.run_input, thread.questions, thread.breakpoints)
        await settle(self._written, self._config)
        return await read_thread(self._graph, self._shape, self._config, self._hold)

    def _unlinked(self, request: Sequence[Message], held: Sequence[BaseMessage]) -> Sequence[Message]:
        """The request with the thread's media in place of the links that the client was sent for them."""
        if not has_links(request):
            return request
        shown = self._shown.messages(held) or {m.id: m for m in to_agui(held)}
        return unlink_media(request, list(shown.values()), self._run.thread_key)

    async def _is_due(self, request: Sequence[Message], thread: Thread) -> bool:
        """The thread stopped before a node, which may execute open calls itself. Asked only where the request has
        results of tools, and nothing else shows whose tools those are."""
        if self._shape.tools or "tool" not in map(_role, request):
            return False
        return thread.paused or bool((await self._state(thread)).next)

    def _calls(self, known: Sequence[BaseMessage], scopes: Mapping[str, str] | None = None) -> ThreadCalls:
        """The calls of the thread, and those of subagents, which only the client holds."""
        return calls_of(known, scopes, self._foreign)

    def _compared(
        self,
        request: Sequence[Message],
        thread: Thread,
        calls: ThreadCalls,
        given: Sequence[BaseMessage],
        is_clients: Callable[[Call], bool],
    ) -> Reconciliation:
        if self._shape.functional or not thread.held:
            return completed(given, calls) if self._shape.functional or self._takes_messages else Reconciliation()
        return reconcile(
            request,
            thread.held,
            calls,
            resuming=self._resuming,
            is_clients=is_clients,
            paused=thread.paused,
            redacted=self._shown.messages(thread.held),
        )

    def _known(self, request: Sequence[Message], thread: Thread, calls: ThreadCalls, found: Reconciliation) -> Known:
        return Known(
            request=request,
            calls=calls,
            roles=message_roles(request, thread.held),
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

    def _is_clients(self, call: Call, *, due: bool) -> bool:
        """The client runs the tool of this call. A tool of the graph's own never is one, whatever a request declares; a
        page may have stopped offering its tools, so any other name counts where the graph's are known. `due`: as of
        `_is_due`."""
        if call.name in self._shape.tools:
            return False
        return bool(self._shape.tools) or (not due and call.name in self._offered)

    @property
    def _takes_messages(self) -> bool:
        return self._shape.messages or MESSAGES in self._shape.inputs

    # ------------------------------------------------------------------ a thread that waits for answers

    def _answered(self, known: Known, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Resume:
        resume = answers(self._run.run_input, thread.questions, thread.breakpoints, thread.taken)
        return self._resumed(self._in_front(thread, answering=True), known, thread, found, state, resume)

    def _resumed(
        self,
        agent: Graph,
        known: Known,
        thread: Thread,
        found: Reconciliation,
        state: dict[str, Any],
        resume: dict[str, Any] | None = None,
    ) -> Resume:
        """The user's new messages go in with the answers, or after the results of calls that are still open."""
        asked = (*(q.id for q in thread.questions), *(b.interrupt_id for b in thread.breakpoints), *thread.taken)
        metadata = {**(self._config.get("metadata") or {}), ANSWERS_KEY: " ".join(asked)}
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
            agent=agent,
            config={**self._config, "metadata": metadata},
            known=replace(known, nested=thread.nested),
            input=None if resume is None and not update else Command(resume=resume, update=update or None),
            held=self._with_defaults(Held(values, [*thread.messages, *new])),
            later=said if later else (),
        )

    def _restated(self, known: Known, thread: Thread, found: Reconciliation) -> Restate:
        said, given = self._new_messages(found)
        return Restate(
            known=known,
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
        state = await self._state(thread)
        again = bool(thread.taken) and answered_ids(self._run.run_input) <= thread.taken
        return any(task.error for task in state.tasks) or (again and bool(state.tasks))

    async def _idle(self, known: Known, thread: Thread, refused: RunInputError | None) -> Idle:
        values, due = thread.values, False
        if thread.saved is not None:  # the state, since a checkpoint lacks the defaults nobody wrote over
            state = await self._state(thread)
            values, due = state.values, bool(state.next)
        held = Held(values, thread.held)
        unfinished = due and self._run.looking
        return Idle(known=known, held=held, refused=refused, unfinished=unfinished)

    # ------------------------------------------------------------------ a client that is not in step with the thread

    async def _gone_on(self, thread: Thread) -> Plan:
        """A run that another worker began goes on from the last step that was stored."""
        if thread.paused or not (await self._state(thread)).tasks:
            return await self._shown_all(self._run.run_input.messages, thread)
        known = self._out_of_sync(self._run.run_input.messages, thread)
        held = self._with_defaults(Held(thread.values, thread.held))
        return Resume(agent=self._in_front(thread), config=self._config, known=known, input=None, held=held)

    async def _shown_all(self, request: Sequence[Message], thread: Thread) -> Restate | Idle:
        """Nothing runs, and the client gets all the thread's messages."""
        known = self._out_of_sync(request, thread)
        if thread.paused:
            return self._restated(known, thread, Reconciliation())
        return await self._idle(known, thread, None)

    def _out_of_sync(self, request: Sequence[Message], thread: Thread) -> Known:
        calls = self._calls(thread.held, thread.scopes)
        return self._known(request, thread, calls, Reconciliation(lacking=True, surplus=True))

    # ------------------------------------------------------------------ another branch

    async def _forked(
        self,
        agent: Graph,
        request: Sequence[Message],
        thread: Thread,
        found: Reconciliation,
        state: dict[str, Any],
    ) -> Run:
        """The user went back: a branch from before that message, or, where no checkpoint fits, a cut at the head."""
        at = found.fork or ""
        before = thread.messages[: next(n for n, m in enumerate(thread.messages) if m.id == at)]
        known = replace(self._known(request, thread, self._calls(before), found), lacking=True)
        head = cast("CheckpointTuple", thread.saved)
        branch = await self._history.fork(head, at, before, found.append, state)
        if branch is not None:
            return self._at(branch, known, found)
        messages = [*await self._history.cut(head, at), *found.append]
        return self._run_on(agent, known, messages, state, found, Held(thread.values))

    async def _on_own_branch(
        self,
        agent: Graph,
        request: Sequence[Message],
        thread: Thread,
        found: Reconciliation,
        is_clients: Callable[[Call], bool],
    ) -> Plan | None:
        """A tab that went another way than the thread's head goes on in its own branch, where the history has that.
        None: there is no such branch, or the tab went no other way."""
        place = await self._history.holding(request, found.strange) if found.strange else None
        if place is None:
            return None
        branch = Thread(place.saved, place.values, place.messages)
        request = self._unlinked(request, place.messages)
        calls = self._calls(place.messages)
        found = self._compared(request, branch, calls, (), is_clients)
        state = await self._changed_since(place)
        if found.fork is not None:
            return await self._forked(agent, request, branch, found, state)
        if not found.append:
            return await self._shown_all(request, thread)
        start = await self._history.start(place, found.append, state)
        return self._at(start, self._known(request, branch, found.with_results(calls), found), found)

    async def _changed_since(self, place: Place) -> dict[str, Any]:
        """The state that the user changed. A tab that goes back in its branch sends the state of a later place:
        values that were shown anywhere since are not changes."""
        state = self._shown.changes(place.values)
        if state:
            async with aclosing(self._history.since(place)) as later:
                async for other in later:
                    if not self._shown.changes(other.values):
                        return {}
        return state

    def _at(self, branch: RunnableConfig, known: Known, found: Reconciliation) -> Run:
        """The graph runs at this checkpoint, on the input that was written there."""
        config: RunnableConfig = {
            **self._config,
            "configurable": {**self._config["configurable"], **branch["configurable"]},
        }
        return Run(agent=self._written, config=config, known=known, error_results=found.error_results)
