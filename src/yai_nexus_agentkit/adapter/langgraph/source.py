"""Driver. A LangGraph graph (or any LangChain runnable) as a `Source`: what a request means for its thread, and the
stream of the run."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ag_ui.core import Message, ToolCall
from langchain_core.callbacks import BaseCallbackManager, Callbacks
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, RunnableSequence
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import Command
from pydantic import ValidationError

from yai_nexus_agentkit.adapter.langgraph.call_ids import CallIds
from yai_nexus_agentkit.adapter.langgraph.callbacks import SideHandler
from yai_nexus_agentkit.adapter.langgraph.channels import MESSAGES, GraphShape
from yai_nexus_agentkit.adapter.langgraph.fork import MESSAGE_KEY, cut, fork_thread
from yai_nexus_agentkit.adapter.langgraph.inputs import changed_state, context_entries, graph_input, request_tools
from yai_nexus_agentkit.adapter.langgraph.messages import to_langchain
from yai_nexus_agentkit.adapter.langgraph.notes import RunNotes
from yai_nexus_agentkit.adapter.langgraph.plan import Plan
from yai_nexus_agentkit.adapter.langgraph.reconcile import Reconciliation, dangling, reconcile
from yai_nexus_agentkit.adapter.langgraph.resume import answers, has_answers
from yai_nexus_agentkit.adapter.langgraph.threads import Graph, Thread, breakpoints, read_thread, with_checkpoint
from yai_nexus_agentkit.adapter.langgraph.translator import LangGraphTranslator
from yai_nexus_agentkit.adapter.source import RunContext, error_text
from yai_nexus_agentkit.errors import ResumeError, RunInputError
from yai_nexus_agentkit.orchestration.client_tools import CONTEXT_KEY, TOOLS_KEY
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

try:
    from langgraph._internal._config import DEFAULT_RECURSION_LIMIT
except ImportError:  # a private place; LangChain's default does no harm but end long runs
    DEFAULT_RECURSION_LIMIT = 25  # type: ignore[assignment]

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities

    from yai_nexus_agentkit.adapter.langgraph.thread_store import LangGraphThreadStore
    from yai_nexus_agentkit.adapter.options import AdapterOptions

__all__ = ["LangGraphRun", "LangGraphSource"]

_logger = logging.getLogger(__name__)
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}


class LangGraphSource:
    """A compiled graph or any runnable. Immutable; serves any number of concurrent runs."""

    def __init__(self, agent: Runnable[Any, Any]) -> None:
        self.agent = agent
        self.graph: Graph | None = _graph_of(agent)
        self.shape = GraphShape.of(self.graph) if self.graph is not None else None

    async def prepare(self, run: RunContext, /) -> LangGraphRun:
        """Read the thread and decide what the request means for it."""
        notes = RunNotes(complete=True)
        config = self._config(run, SideHandler(notes) if run.options.source == "events" else None)
        if self.graph is None or self.shape is None:
            plan = Plan(input=_runnable_input(self.agent, run), taken=_roles(run.run_input.messages, ()))
            return LangGraphRun(run, self.agent, config, plan, notes, None)
        planner = _Planner(run, self.graph, self.shape, config)
        plan = await planner.plan()
        return LangGraphRun(run, planner.agent, planner.config, plan, notes, self.shape)

    def thread_store(self) -> LangGraphThreadStore | None:
        """Operations on the threads of a graph with a checkpointer, outside of runs; None for a plain runnable."""
        if self.graph is None or self.shape is None:
            return None
        from yai_nexus_agentkit.adapter.langgraph.thread_store import LangGraphThreadStore

        return LangGraphThreadStore(self.graph, self.shape, self.agent)

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        """What this agent can do (AG-UI 1.0 §22), derived from the graph."""
        from yai_nexus_agentkit.adapter.langgraph.capabilities import capabilities

        return capabilities(self.agent, self.graph, self.shape, options)

    def _config(self, run: RunContext, handler: SideHandler | None) -> RunnableConfig:
        """The run's configuration over the graph's own: its recursion limit and callbacks stay."""
        given: RunnableConfig = {**(run.config or {})}
        own = getattr(self.agent, "config", None) or {}
        if "recursion_limit" not in given and self.graph is not None:
            # `astream_events` would put LangChain's default over the graph's own limit, and over LangGraph's default.
            given["recursion_limit"] = own.get("recursion_limit") or DEFAULT_RECURSION_LIMIT
        given["configurable"] = {
            "thread_id": run.run_input.thread_id,
            **(given.get("configurable") or {}),
            TOOLS_KEY: request_tools(run.run_input),
            CONTEXT_KEY: context_entries(run.run_input),
        }
        if handler is not None:
            given["callbacks"] = _with_handler(given.get("callbacks"), handler)
        newest = next((m.id for m in reversed(run.run_input.messages) if m.role == "user"), None)
        if newest is not None:
            given["metadata"] = {**(given.get("metadata") or {}), MESSAGE_KEY: newest}
        return given


class LangGraphRun:
    """One prepared run: its translator, and the native events that feed it."""

    def __init__(
        self,
        run: RunContext,
        agent: Runnable[Any, Any],
        config: RunnableConfig,
        plan: Plan,
        notes: RunNotes,
        shape: GraphShape | None,
    ) -> None:
        self._run, self._agent, self._config, self._plan, self._shape = run, agent, config, plan, shape
        self._notes = notes
        self.oldest_tool = notes.oldest_tool
        options, hooks = run.options, run.hooks
        announce = options.subagents == "always" or (options.subagents == "auto" and run.declared)
        life = RunLifecycle(
            thread_id=run.run_input.thread_id,
            run_id=run.run_input.run_id,
            parent_run_id=run.run_input.parent_run_id,
            declared=run.declared,
            reasoning=options.reasoning,
            text_chunks=options.text_chunks,
            announce_subagents=announce,
            taken=plan.taken,
            calls=[*plan.call_ids.known().values(), *(call.id for m in plan.foreign for call in _calls(m))],
            answered=plan.answered.union(m.tool_call_id for m in plan.foreign if m.role == "tool"),
        )
        on_state, on_messages = hooks.on_state, hooks.on_messages
        self.translator = LangGraphTranslator(
            plan,
            life,
            notes,
            options=options,
            shape=shape,
            error_text=lambda error: error_text(error, run),
            redact_state=None if on_state is None else lambda state: on_state(state, run),
            redact_messages=None if on_messages is None else lambda messages: on_messages(messages, run),
        )

    def events(self) -> AsyncGenerator[Any, None]:
        """The native events. A follow-up pass runs when the first one did not pause."""
        plan, agent = self._plan, self._agent
        at_breakpoints = isinstance(agent, Pregel) and (agent.interrupt_before_nodes or agent.interrupt_after_nodes)
        if plan.idle or isinstance(plan.input, Command) or at_breakpoints:
            return self._passes()
        return self._pass(plan.input)  # nothing to do between the native stream and its reader, for every token

    async def _passes(self) -> AsyncGenerator[Any, None]:
        if self._plan.idle:
            return
        try:
            async with aclosing(self._pass(self._plan.input)) as natives:
                async for native in natives:
                    yield native
        except ValidationError as error:
            if not _is_answer_refused(error):
                raise
            problems = "; ".join(f"{'/'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors())
            raise ResumeError(f"an answer does not fit what its question asks for: {problems}") from error
        ending = self.translator.ending
        if self._plan.follow_up is not None and not ending.paused:
            self.translator.begin_pass()
            async with aclosing(self._pass(self._plan.follow_up)) as natives:
                async for native in natives:
                    yield native
        if ending.at_breakpoint and isinstance(self._agent, Pregel):
            # The chunk of a static interrupt is empty; only the thread's state says which task waits.
            state = await self._agent.aget_state(_root_config(self._config))
            ending.stopped_at(breakpoints(self._agent, state))

    def _pass(self, graph_input: Any) -> AsyncGenerator[Any, None]:
        extra: dict[str, Any] = {}
        if self._shape is not None:
            extra = {"stream_mode": ["updates", "values", "custom"], "subgraphs": True}
            if self._run.options.durability is not None:
                extra["durability"] = self._run.options.durability
            if self._run.context is not None:
                extra["context"] = self._run.context
        if self._run.options.source == "callbacks":
            from yai_nexus_agentkit.adapter.langgraph.callback_source import callback_events

            return callback_events(self._agent, graph_input, self._config, notes=self._notes, extra=extra)
        return self._agent.astream_events(graph_input, self._config, version="v2", **extra)  # type: ignore[return-value]


class _Planner:
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
        state = changed_state(self._run.run_input.state, thread.values, self._shape)
        if found.fork is not None:
            return await self._forked(plan, thread, found, state)
        if paused and resuming:
            return self._resumed(plan, thread, found, state)
        if paused:
            return self._restated(plan, thread, found)
        if resuming:
            _logger.warning("the request answers questions, but thread %r has none open", self._run.run_input.thread_id)
        idle = not found.append and not state and (resuming or (bool(thread.saved) and self._takes_messages))
        idle = idle or (self._shape.functional and resuming and not paused)
        if idle:
            plan.idle, plan.idle_values, plan.idle_messages = True, thread.values, thread.messages
            return plan
        plan.input = graph_input(self._run.run_input, [*self._kept(thread), *found.append], state, self._shape)
        return plan

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
        plan.held, plan.taken = [m.id for m in self._request], _roles(self._request, messages)
        if calls and messages[-1].type == "human":
            messages = _with_answers(messages, calls, plan)
        plan.answered = frozenset(m.tool_call_id for m in messages if isinstance(m, ToolMessage)) - {
            a.tool_call_id for a in plan.answers
        }
        state = changed_state(self._run.run_input.state, {}, self._shape)
        plan.input = graph_input(self._run.run_input, messages, state, self._shape)
        return plan

    def _base_plan(self, thread: Thread, call_ids: CallIds, found: Reconciliation) -> Plan:
        made = {a.tool_call_id for a in found.answers}
        held = [*thread.messages, *thread.nested]
        answered = {
            call_ids.latest(m.tool_call_id)
            for m in (*held, *found.append)
            if isinstance(m, ToolMessage) and not (m in found.append and m.tool_call_id in made)
        }
        return Plan(
            call_ids=call_ids,
            taken=_roles(self._request, held),
            answered=frozenset(answered),
            request=self._request,
            held=[m.id for m in self._request],
            foreign=self._foreign(),
            nested=thread.nested,
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
        said = [m for m in found.append if not isinstance(m, ToolMessage)] if self._takes_messages else []
        plan.answers = ()
        update: dict[str, Any] = dict(state)
        if said and dangling([*thread.messages, *thread.nested]):
            plan.follow_up = graph_input(self._run.run_input, said, {}, self._shape)
            plan.unsaid = said
        elif said:
            update[MESSAGES] = said
        if resume is None:
            plan.input = None if not update else Command(update=update)
        else:
            plan.input = Command(resume=resume, update=update or None)
        return plan

    def _restated(self, plan: Plan, thread: Thread, found: Reconciliation) -> Plan:
        """A paused thread, and no answers: the questions are asked again, nothing runs."""
        plan.idle, plan.idle_values = True, thread.values
        said = [m for m in found.append if not isinstance(m, ToolMessage)]
        plan.idle_messages = [*thread.messages, *thread.nested, *said]
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
        plan.answered = frozenset(plan.call_ids.latest(m.tool_call_id) for m in before if isinstance(m, ToolMessage))
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


def _calls(message: Message) -> Sequence[ToolCall]:
    return (message.tool_calls or ()) if message.role == "assistant" else ()


def _is_answer_refused(error: ValidationError) -> bool:
    """Raised by ``interrupt()``, which checks an answer against the type it was given as schema."""
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__") == "langgraph.types":
            return True
        frame = frame.tb_next
    return False


def _with_handler(callbacks: Callbacks, handler: SideHandler) -> Callbacks:
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(handler, inherit=True)
        return callbacks
    return [*(callbacks or ()), handler]


def _graph_of(agent: Runnable[Any, Any]) -> Graph | None:
    return agent if isinstance(agent, Pregel) else None


def _root_config(config: RunnableConfig) -> RunnableConfig:
    wanted = {
        k: v for k, v in config["configurable"].items() if k not in ("checkpoint_id", "checkpoint_ns", "checkpoint_map")
    }
    return {"configurable": wanted}


def _roles(request: Sequence[Message], held: Sequence[BaseMessage]) -> dict[str, str]:
    roles: dict[str, str] = {m.id: _ROLES.get(m.type, m.type) for m in held if m.id}
    roles.update((m.id, m.role) for m in request)
    return roles


def _runnable_input(agent: Runnable[Any, Any], run: RunContext) -> Any:
    """Input of a plain runnable: the messages for a language model, else a mapping with ``messages`` and the request's
    state."""
    messages = to_langchain(run.run_input.messages)
    first: Any = agent
    while isinstance(first, RunnableSequence | RunnableBinding):
        first = first.first if isinstance(first, RunnableSequence) else first.bound
    if isinstance(first, BaseLanguageModel):
        return messages
    state = run.run_input.state
    return {**(state if isinstance(state, dict) else {}), MESSAGES: messages}
