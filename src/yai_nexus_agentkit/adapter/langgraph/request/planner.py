"""Driver. What a request to a graph means for its thread: reads the thread once, decides what goes into the graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, cast

from ag_ui.core import Message
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Command
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.langgraph.capabilities import tool_objects
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui, to_langchain
from yai_nexus_agentkit.adapter.langgraph.messages.ids import calls_of, give_result
from yai_nexus_agentkit.adapter.langgraph.request.answers import answers, has_answers, leaves
from yai_nexus_agentkit.adapter.langgraph.request.graph_input import changed_state, graph_input
from yai_nexus_agentkit.adapter.langgraph.request.plan import Plan
from yai_nexus_agentkit.adapter.langgraph.request.reconcile import Reconciliation, dangling, holder, reconcile
from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, Graph, GraphShape, saver_of
from yai_nexus_agentkit.adapter.langgraph.threads.branches import History, Place, cut, fork_thread, start_branch
from yai_nexus_agentkit.adapter.langgraph.threads.checkpoint import Thread, read_thread, settle
from yai_nexus_agentkit.adapter.langgraph.threads.savers import RunSaver
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["Planner", "message_roles"]

_logger = logging.getLogger(__name__)
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}


class Planner:
    """Works out the plan of one request to a graph. `agent` and `config` are what shall run then."""

    def __init__(self, run: RunContext, graph: Graph, shape: GraphShape, config: RunnableConfig) -> None:
        self._run, self._graph, self._shape = run, graph, shape
        self.agent: Graph = graph
        self.config = config
        self._request = run.run_input.messages

    async def plan(self) -> Plan:
        saver = saver_of(self._graph)
        if saver is None:
            return self._whole_history()
        thread = await self._read()
        self.agent = self._in_front(saver, thread)
        held = thread.held
        given = [] if held else to_langchain(self._request)  # all there is, or nothing that the thread would keep
        calls = self._calls(held or given, thread.scopes)
        resuming = has_answers(self._run.run_input)
        paused = thread.paused
        if self._shape.functional:
            found = Reconciliation(append=given or to_langchain(self._request))  # no channel keeps them
        elif held:
            found = reconcile(
                self._request, held, calls, resuming=resuming, paused=paused, redacted=self._redacted(held)
            )
        else:
            found = Reconciliation(append=given if self._takes_messages else [])
        plan = self._base_plan(thread, calls, found)
        state = self._changed(thread)
        if found.fork is not None:
            return await self._on_own_branch(thread, found) or await self._forked(plan, thread, found, state)
        if paused and resuming:
            return self._resumed(plan, thread, found, state)
        if paused:
            return self._restated(plan, thread, found)
        if resuming:
            state = {}  # of the time before the answer, which the thread has dealt with
            _logger.warning("the request answers questions, but thread %r has none open", self._run.run_input.thread_id)
        if self._is_idle(thread, found, state, resuming=resuming):
            return await self._idle(plan, thread, resuming=resuming)
        if thread.loose:
            await settle(self._graph, self.config)
            self.agent = self._graph
        messages = [*self._shape.kept(thread.values), *thread.nested, *found.append]
        plan.input, plan.nested = graph_input(self._run.run_input, messages, state, self._shape), ()
        self._show_unseen(plan)
        return plan

    def _show_unseen(self, plan: Plan) -> None:
        """Without input the graph shows its values only after the first step; the nodes see them before."""
        plan.unseen = plan.input == {}
        if plan.unseen and isinstance(plan.values, Mapping):
            plan.values = {**self._shape.defaults, **plan.values}

    def _in_front(self, saver: BaseCheckpointSaver[Any], thread: Thread) -> Graph:
        """The graph with the checkpointer of this run. A graph that cannot be copied is left as it is."""
        answering = has_answers(self._run.run_input)
        try:
            return self._graph.copy({"checkpointer": RunSaver(saver, thread.saved, answering=answering)})
        except Exception:
            message = (
                "a %s cannot be copied: its threads are read twice, and an answer over which a task failed stays stored"
            )
            level = logging.WARNING if answering else logging.DEBUG
            _logger.log(level, message, type(self._graph).__name__, exc_info=True)
            return self._graph

    async def _read(self) -> Thread:
        """The thread. What waits at a breakpoint shall not run if the user says no to it: the turn ends there."""
        thread = await read_thread(self._graph, self._shape, self.config)
        if not leaves(self._run.run_input, thread.breakpoints):
            return thread
        answers(self._run.run_input, thread.questions, thread.breakpoints)
        await settle(self._graph, self.config)
        return await read_thread(self._graph, self._shape, self.config)

    def _calls(self, known: Sequence[BaseMessage], scopes: Mapping[str, str] | None = None) -> ThreadCalls:
        """The calls of the thread, and those of subagents, which only the client holds."""
        calls = calls_of(known, scopes)
        for message in self._foreign():
            if message.role == "assistant":
                for call in message.tool_calls or ():  # a later delegation may number its calls alike
                    made = calls.shown(call.id, message.id, scope=None, name=call.function.name)
                    with suppress(ValueError):
                        made.args = from_json(call.function.arguments)
            elif message.role == "tool":
                calls.answer(message.tool_call_id, message.id)
        return calls

    async def _idle(self, plan: Plan, thread: Thread, *, resuming: bool) -> Plan:
        """Nothing new. An answer that was taken before its run failed is sent again to go on from there: what
        succeeded does not run twice."""
        plan.idle = True
        if thread.saved is not None:  # the state, since a checkpoint lacks the defaults nobody wrote over
            state = await self.agent.aget_state(self.config)
            plan.values = state.values
            if resuming and any(task.error for task in state.tasks):
                self.agent, plan.idle = self._graph, False  # with input None
                return plan
        plan.messages, plan.nested = thread.held, ()
        return plan

    def _is_idle(self, thread: Thread, found: Reconciliation, state: dict[str, Any], *, resuming: bool) -> bool:
        """On a thread that is not paused: the request brings nothing that the graph could do."""
        if self._shape.functional and resuming:
            return True
        return not found.append and not state and (resuming or (bool(thread.saved) and self._takes_messages))

    def _changed(self, thread: Thread) -> dict[str, Any]:
        """The channels that the client changed. What the finished tasks of a failed step wrote it may not know yet."""
        state = self._changed_state(thread.values)
        if state and thread.loose and thread.saved is not None:
            before = self._changed_state(thread.saved.checkpoint["channel_values"])
            state = {key: value for key, value in state.items() if key in before}
        return state

    def _changed_state(self, values: Any) -> dict[str, Any]:
        """What the request changes of these values, as clients are shown them."""
        hook = self._run.hooks.on_state
        shown = None if hook is None else call_hook("on_state", hook, self._shape.state_of(values), self._run)
        return changed_state(self._run.run_input.state, values, self._shape, shown)

    def _redacted(self, held: Sequence[BaseMessage]) -> dict[str, Message] | None:
        """These messages as the `on_messages` hook lets clients see them; None without that hook."""
        hook = self._run.hooks.on_messages
        if hook is None:
            return None
        own = to_agui(held, declared=self._run.declared, reasoning=self._run.options.reasoning != "off")
        shown = call_hook("on_messages", hook, [*own, *(m.model_copy() for m in self._foreign())], self._run)
        return {m.id: m for m in shown}

    @property
    def _takes_messages(self) -> bool:
        return self._shape.messages or MESSAGES in self._shape.inputs

    def _whole_history(self) -> Plan:
        """No checkpointer: the request's history is all there is."""
        if has_answers(self._run.run_input):
            raise RunInputError("the graph has no checkpointer, so there is no question to answer", path="/resume")
        messages = to_langchain(self._request)
        calls = dangling(messages)
        plan = Plan(resumable=False, calls=self._calls(messages), foreign=self._foreign())
        plan.held, plan.taken = [m.id for m in self._request], message_roles(self._request, messages)
        if calls and messages[-1].type == "human":
            messages = _with_answers(messages, calls, plan)
        state = changed_state(self._run.run_input.state, {}, self._shape)
        plan.input = graph_input(self._run.run_input, messages, state, self._shape)
        plan.values = {}
        self._show_unseen(plan)
        return plan

    def _base_plan(self, thread: Thread, calls: ThreadCalls, found: Reconciliation) -> Plan:
        held = thread.held
        for message in found.given:
            if isinstance(message, ToolMessage):
                give_result(calls, message, message.id or "")
        return Plan(
            calls=calls,
            taken=message_roles(self._request, held),
            request=self._request,
            held=[m.id for m in self._request],
            foreign=self._foreign(),
            nested=thread.nested,
            values=thread.values,
            messages=thread.messages,
            in_sync=not found.surplus,
            lacking=found.lacking,
            told=found.told,
            answers=found.answers,
        )

    def _foreign(self) -> list[Message]:
        return [m for m in self._request if m.subagent_run_id is not None]

    def _resumed(self, plan: Plan, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Plan:
        """Answers for a paused thread. The user's new messages go along, after the results of calls that are still
        open."""
        resume = answers(self._run.run_input, thread.questions, thread.breakpoints)
        said, given = self._new_messages(plan, found)
        plan.answers = ()
        later = bool(said) and bool(dangling([*thread.held, *given]))
        update: dict[str, Any] = dict(state)
        if new := [*given, *(() if later else said)]:
            update[MESSAGES] = [*self._shape.kept(thread.values), *new]
        if later:
            plan.follow_up, plan.unsaid = partial(self._following, thread, said), said
        if resume is None:
            plan.input = None if not update else Command(update=update)
        else:
            plan.input = Command(resume=resume, update=update or None)
        return plan

    def _following(self, thread: Thread, said: Sequence[BaseMessage], held: Sequence[BaseMessage]) -> Any:
        """What the user said, behind the turn that was resumed. Calls of that turn which are still open get no answer
        any more; but what the model asks of the client only now, the client shall answer first: None."""
        open_calls, maker = dangling(held), holder(held)
        offered = {tool.name for tool in self._run.run_input.tools or ()}
        if offered.intersection(open_calls.values()) and maker not in (m.id for m in thread.held):
            return None
        made = Reconciliation().unanswered(open_calls, maker)
        kept = held if self._shape.replaces else ()
        return graph_input(self._run.run_input, [*kept, *made, *said], {}, self._shape)

    def _new_messages(self, plan: Plan, found: Reconciliation) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """On a paused thread: what the user said, and the client's answers to calls of its own tools.

        Other tool messages repeat an answer to a question (CopilotKit sends it twice); the tool will give the result.
        """
        if not self._takes_messages:
            return [], []
        own = {tool.name for tool in self._run.run_input.tools or ()}
        servers = {tool.name for tool in tool_objects(self._graph)}
        said = [m for m in found.append if not isinstance(m, ToolMessage)]
        sent = [m for m in found.given if isinstance(m, ToolMessage)]
        # A page may offer its tools no more, so what is no tool of the server's counts, where those are known.
        given: list[BaseMessage] = [m for m in sent if m.name not in servers and (servers or m.name in own)]
        plan.in_sync = plan.in_sync and len(given) == len(sent)
        return said, given

    def _restated(self, plan: Plan, thread: Thread, found: Reconciliation) -> Plan:
        """A paused thread, and no answers: the questions are asked again, nothing runs."""
        plan.idle = True
        said, given = self._new_messages(plan, found)
        plan.messages = [*thread.held, *given, *said]
        plan.nested, plan.answers = (), ()
        plan.open = thread.questions
        plan.breakpoints = thread.breakpoints
        return plan

    async def _forked(self, plan: Plan, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Plan:
        """The user went back: a branch from before that message, or, where no checkpoint fits, a cut at the head."""
        at = found.fork or ""
        start = next(n for n, m in enumerate(thread.messages) if m.id == at)
        before = thread.messages[:start]
        plan.calls = self._calls(before)
        plan.nested, plan.lacking = (), True
        parts = (self._graph, self._shape, self.config)
        head = cast("CheckpointTuple", thread.saved)
        branch = await fork_thread(*parts, head=head, message_id=at, before=before, tail=found.append, state=state)
        if branch is None:
            removed = await cut(*parts, head, at)
            plan.input = graph_input(self._run.run_input, [*removed, *found.append], state, self._shape)
            return plan
        return self._at(branch, plan)

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
        calls = self._calls(place.messages)
        redacted = self._redacted(place.messages)
        found = reconcile(self._request, place.messages, calls, resuming=False, redacted=redacted)
        plan = self._base_plan(branch, calls, found)
        state = await self._changed_since(history, place)
        if found.fork is not None:
            return await self._forked(plan, branch, found, state)
        if not found.append:
            return await self._at_head(thread)
        start = await start_branch(self._graph, self._shape, self.config, place, found.append, state)
        return self._at(start, plan)

    async def _changed_since(self, history: History, place: Place) -> dict[str, Any]:
        """What the user changed of the state. A tab that goes back in its branch sends the state of a later place: what
        it was shown anywhere since is no change."""
        state = self._changed_state(place.values)
        if state:
            async with aclosing(history.since(place)) as later:
                async for other in later:
                    if not self._changed_state(other.values):
                        return {}
        return state

    async def _at_head(self, thread: Thread) -> Plan:
        """A tab with a branch of its own and nothing to say: it is shown what the thread holds now."""
        calls = self._calls(thread.held, thread.scopes)
        plan = self._base_plan(thread, calls, Reconciliation(lacking=True, surplus=True))
        if thread.paused:
            return self._restated(plan, thread, Reconciliation())
        plan.idle = True
        plan.values = (await self.agent.aget_state(self.config)).values
        return plan

    def _at(self, branch: RunnableConfig, plan: Plan) -> Plan:
        """The graph runs at this checkpoint, on the input that was written there."""
        self.agent = self._graph
        self.config = {**self.config, "configurable": {**self.config["configurable"], **branch["configurable"]}}
        plan.input = None
        return plan


def _with_answers(messages: list[BaseMessage], calls: dict[str, str], plan: Plan) -> list[BaseMessage]:
    """Answer the calls that the history leaves open, right after the message that made them."""
    found = Reconciliation()
    holder = max(n for n, m in enumerate(messages) if m.type == "ai")
    end = holder + 1
    while end < len(messages) and isinstance(messages[end], ToolMessage):
        end += 1
    made = found.unanswered(calls, messages[holder].id or "")
    plan.answers = made
    return [*messages[:end], *made, *messages[end:]]


def message_roles(request: Sequence[Message], held: Sequence[BaseMessage]) -> dict[str, str]:
    roles: dict[str, str] = {m.id: _ROLES.get(m.type, m.type) for m in held if m.id}
    for message in request:
        roles[message.id] = message.role
    return roles
