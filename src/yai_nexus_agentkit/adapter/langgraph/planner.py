"""Driver. What a request to a graph means for its thread: reads the thread once, decides what goes into the graph."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.langgraph.call_ids import CallIds
from yai_nexus_agentkit.adapter.langgraph.channels import MESSAGES, GraphShape
from yai_nexus_agentkit.adapter.langgraph.fork import cut, fork_thread
from yai_nexus_agentkit.adapter.langgraph.inputs import changed_state, graph_input
from yai_nexus_agentkit.adapter.langgraph.messages import to_langchain
from yai_nexus_agentkit.adapter.langgraph.plan import Plan
from yai_nexus_agentkit.adapter.langgraph.reconcile import Reconciliation, dangling, reconcile
from yai_nexus_agentkit.adapter.langgraph.resume import answers, has_answers
from yai_nexus_agentkit.adapter.langgraph.threads import Graph, Thread, read_thread, with_checkpoint
from yai_nexus_agentkit.adapter.source import RunContext
from yai_nexus_agentkit.errors import RunInputError

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
        resumable = isinstance(self._graph.checkpointer, BaseCheckpointSaver)
        if not resumable:
            return self._whole_history()
        thread = await read_thread(self._graph, self._shape, self.config)
        self.agent = with_checkpoint(self._graph, thread, answering=has_answers(self._run.run_input))
        call_ids = CallIds.of([*thread.messages, *thread.nested])
        for message in self._foreign():
            for call in message.tool_calls or () if message.role == "assistant" else ():
                call_ids.wire(message.id, call.id)  # a later delegation may number its calls alike
        resuming = has_answers(self._run.run_input)
        paused = bool(thread.questions or thread.breakpoints)
        if self._shape.functional:
            found = Reconciliation(append=to_langchain(self._request))  # no channel keeps them: the request's are all
        elif thread.messages or thread.nested:
            found = reconcile(
                self._request, [*thread.messages, *thread.nested], call_ids, resuming=resuming, paused=paused
            )
        else:
            found = Reconciliation(append=to_langchain(self._request) if self._takes_messages else [])
        plan = self._base_plan(thread, call_ids, found)
        state = changed_state(self._run.run_input.state, thread.values, self._shape, self._shown(thread))
        if found.fork is not None:
            return await self._forked(plan, thread, found, state)
        if paused and resuming:
            return self._resumed(plan, thread, found, state)
        if paused:
            return self._restated(plan, thread, found)
        if resuming:
            state = {}  # of the time before the answer, which the thread has dealt with
            _logger.warning("the request answers questions, but thread %r has none open", self._run.run_input.thread_id)
        idle = not found.append and not state and (resuming or (bool(thread.saved) and self._takes_messages))
        idle = idle or (self._shape.functional and resuming and not paused)
        if idle:
            plan.idle = True
            if thread.saved is not None:  # the state, since a checkpoint lacks the defaults nobody wrote over
                plan.values = (await self.agent.aget_state(self.config)).values
            return plan
        plan.input = graph_input(self._run.run_input, [*self._kept(thread), *found.append], state, self._shape)
        plan.unseen = plan.input == {}
        return plan

    def _shown(self, thread: Thread) -> dict[str, Any] | None:
        """The public state as the `on_state` hook lets clients see it; None without that hook."""
        hook = self._run.hooks.on_state
        if hook is None:
            return None
        shown: dict[str, Any] = call_hook("on_state", hook, self._shape.state_of(thread.values), self._run)
        return shown

    def _kept(self, thread: Thread) -> Sequence[BaseMessage]:
        """A `messages` channel without a reducer holds what was last written, so the thread goes in with the new."""
        name = "__root__" if self._shape.bare else MESSAGES
        return () if name in self._shape.reducing else thread.messages

    @property
    def _takes_messages(self) -> bool:
        return self._shape.messages or MESSAGES in self._shape.inputs

    def _whole_history(self) -> Plan:
        """No checkpointer: the request's history is all there is."""
        if has_answers(self._run.run_input):
            raise RunInputError("the graph has no checkpointer, so there is no question to answer", path="/resume")
        messages = to_langchain(self._request)
        calls = dangling(messages)
        plan = Plan(resumable=False, call_ids=CallIds.of(messages), foreign=self._foreign())
        plan.held, plan.taken = [m.id for m in self._request], message_roles(self._request, messages)
        if calls and messages[-1].type == "human":
            messages = _with_answers(messages, calls, plan)
        plan.answered = frozenset(m.tool_call_id for m in messages if isinstance(m, ToolMessage)) - {
            a.tool_call_id for a in plan.answers
        }
        state = changed_state(self._run.run_input.state, {}, self._shape)
        plan.input = graph_input(self._run.run_input, messages, state, self._shape)
        plan.values, plan.unseen = {}, plan.input == {}
        return plan

    def _base_plan(self, thread: Thread, call_ids: CallIds, found: Reconciliation) -> Plan:
        held = [*thread.messages, *thread.nested]
        answered = _answered([*held, *(m for m in found.append if m not in found.answers)], call_ids)
        return Plan(
            call_ids=call_ids,
            taken=message_roles(self._request, held),
            answered=answered,
            request=self._request,
            held=[m.id for m in self._request],
            foreign=self._foreign(),
            nested=thread.nested,
            values=thread.values,
            messages=thread.messages,
            in_sync=not found.surplus,
            lacking=found.lacking,
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
        update: dict[str, Any] = {**state, **({MESSAGES: given} if given else {})}
        if said and dangling([*thread.messages, *thread.nested, *given]):
            plan.follow_up = graph_input(self._run.run_input, said, {}, self._shape)
            plan.unsaid = said
        elif said:
            update[MESSAGES] = [*given, *said]
        if resume is None:
            plan.input = None if not update else Command(update=update)
        else:
            plan.input = Command(resume=resume, update=update or None)
        return plan

    def _new_messages(self, plan: Plan, found: Reconciliation) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """On a paused thread: what the user said, and the client's answers to calls of its own tools.

        Other tool messages repeat an answer to a question (CopilotKit sends it twice); the tool will give the result.
        """
        if not self._takes_messages:
            return [], []
        own = {tool.name for tool in self._run.run_input.tools or ()}
        said = [m for m in found.append if not isinstance(m, ToolMessage)]
        sent = [m for m in found.append if isinstance(m, ToolMessage) and m not in found.answers]
        given: list[BaseMessage] = [m for m in sent if m.name in own]
        plan.in_sync = plan.in_sync and len(given) == len(sent)
        return said, given

    def _restated(self, plan: Plan, thread: Thread, found: Reconciliation) -> Plan:
        """A paused thread, and no answers: the questions are asked again, nothing runs."""
        plan.idle = True
        said, given = self._new_messages(plan, found)
        plan.messages = [*thread.messages, *thread.nested, *given, *said]
        plan.nested, plan.answers = (), ()
        plan.open = [question.native for question in thread.questions]
        plan.breakpoints = thread.breakpoints
        return plan

    async def _forked(self, plan: Plan, thread: Thread, found: Reconciliation, state: dict[str, Any]) -> Plan:
        """The user went back: a branch from before that message, or, where no checkpoint fits, a cut at the head."""
        at = found.fork or ""
        start = next(n for n, m in enumerate(thread.messages) if m.id == at)
        before = thread.messages[:start]
        plan.call_ids = CallIds.of(before)
        plan.answered = _answered(before, plan.call_ids)
        plan.nested, plan.lacking = (), True
        branch = await fork_thread(
            self._graph, self._shape, self.config, message_id=at, before=before, tail=found.append, state=state
        )
        if branch is None:
            removed = cut(thread.messages, at)
            plan.input = graph_input(self._run.run_input, [*removed, *found.append], state, self._shape)
            return plan
        self.agent = self._graph
        self.config = {**self.config, "configurable": {**self.config["configurable"], **branch["configurable"]}}
        plan.input = None
        return plan


def _answered(messages: Sequence[BaseMessage], call_ids: CallIds) -> frozenset[str]:
    """Wire ids of the calls that have a result: each tool message answers the last call before it that has its id."""
    makers: dict[str, str] = {}
    found: set[str] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            for call in (*message.tool_calls, *message.invalid_tool_calls):
                if call["id"]:
                    makers[call["id"]] = message.id or ""
        elif isinstance(message, ToolMessage):
            raw = message.tool_call_id
            found.add(call_ids.wire(makers[raw], raw) if raw in makers else call_ids.latest(raw))
    return frozenset(found)


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
