"""Driver. A LangGraph graph (or any LangChain runnable) as a `Source`: what a request means for its thread, and the
stream of the run."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, RunnableSequence
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, is_invalid_resume
from langgraph.pregel import Pregel
from pydantic import BaseModel, ValidationError

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE, is_marked
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.adapter.langgraph.middleware import AgentMiddlewares, Hold
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes, SideHandler, with_handler
from yai_nexus_agentkit.adapter.langgraph.redaction import redacting
from yai_nexus_agentkit.adapter.langgraph.request.graph_input import context_entries, request_tools, second_input
from yai_nexus_agentkit.adapter.langgraph.request.plan import Held, Idle, Known, Plan, Restate, Resume, Run
from yai_nexus_agentkit.adapter.langgraph.request.planner import Planner
from yai_nexus_agentkit.adapter.langgraph.request.reconcile import message_roles
from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, Graph, GraphShape, saver_of
from yai_nexus_agentkit.adapter.langgraph.threads.branches import MESSAGE_KEY
from yai_nexus_agentkit.adapter.langgraph.threads.checkpoint import RUN_KEY, breakpoints
from yai_nexus_agentkit.adapter.langgraph.threads.savers import at_head
from yai_nexus_agentkit.adapter.langgraph.translate.translator import LangGraphTranslator
from yai_nexus_agentkit.adapter.run_context import Hooks, RunContext
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.adapter.source import OPTIONAL, Source, SourceRun
from yai_nexus_agentkit.errors import Code, ResumeError
from yai_nexus_agentkit.orchestration.client_tools import CONTEXT_KEY, TOOLS_KEY

try:
    from langgraph._internal._config import DEFAULT_RECURSION_LIMIT
except ImportError:  # a private place; LangChain's default does no harm but end long runs
    DEFAULT_RECURSION_LIMIT = 25  # type: ignore[assignment]

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities, Message

    from yai_nexus_agentkit.adapter.langgraph.threads.stored import LangGraphThreadStore
    from yai_nexus_agentkit.adapter.options import AdapterOptions

__all__ = ["LangGraphRun", "LangGraphSource"]

_logger = logging.getLogger(__name__)


class LangGraphSource(Source):
    """A compiled graph or any runnable. Immutable; serves any number of concurrent runs."""

    name = SOURCE
    honours = OPTIONAL

    def __init__(self, agent: Runnable[Any, Any]) -> None:
        self.agent = agent
        self.graph: Graph | None = agent if isinstance(agent, Pregel) else None
        self.shape = GraphShape.of(self.graph) if self.graph is not None else None
        self._middleware = AgentMiddlewares(agent)
        self.instructs = self._middleware.instructs
        saver = saver_of(self.graph) if self.graph is not None else None
        self.continues, self.in_memory = saver is not None, isinstance(saver, InMemorySaver)

    async def prepare(self, run: RunContext, /) -> LangGraphRun:
        """Read the thread and decide what the request means for it."""
        notes, hold = RunNotes(complete=True), self._middleware.hold(run.options.hold)
        config = self._config(run, SideHandler(notes) if run.options.source == "events" else None)
        if self.graph is None or self.shape is None:
            known = Known(request=run.run_input.messages, roles=message_roles(run.run_input.messages, ()))
            given = _runnable_input(self.agent, run)
            plan: Plan = Idle(known=known, held=Held())
            if given:
                plan = Run(agent=self.agent, config=config, known=known, input=given)
            return LangGraphRun(run, plan, notes, None, hold)
        shape, wanted = self.shape, run.options.functional_input
        if shape.functional and wanted != "declared":
            shape = replace(shape, listed=wanted == "messages")
        plan = await Planner(run, self.graph, shape, config, hold).plan()
        return LangGraphRun(run, plan, notes, shape, hold)

    def redacting(self, hooks: Hooks, options: AdapterOptions) -> Hooks:
        """The hooks, behind the redaction of the agent's own `PIIMiddleware`."""
        redactors = self._middleware.redactors if options.hold != "never" else ()
        return redacting(redactors, hooks) if redactors else hooks

    def merged(self, under: Any, over: Any, /) -> RunnableConfig:
        """Two configurations as one, as LangChain merges them; `over` wins."""
        return merge_configs(under, over)

    def added(self, message: Message, /) -> bool:
        """Middleware had added it."""
        return is_marked(message)

    def error_code(self, error: Exception) -> Code | None:
        """``RECURSION_LIMIT`` for LangGraph's own error of it."""
        return Code.RECURSION_LIMIT if isinstance(error, GraphRecursionError) else None

    def thread_store(self) -> LangGraphThreadStore | None:
        """Operations on the threads of a graph, outside of runs; None without a checkpointer."""
        if self.graph is None or self.shape is None or (saver := saver_of(self.graph)) is None:
            return None
        from yai_nexus_agentkit.adapter.langgraph.threads.stored import LangGraphThreadStore

        return LangGraphThreadStore(self.graph, self.shape, saver, self._middleware)

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        """The capabilities (AG-UI 1.0 §22) that the graph shows."""
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
            given["callbacks"] = with_handler(given.get("callbacks"), handler)
        marks: dict[str, Any] = {}
        newest = next((m.id for m in reversed(run.run_input.messages) if m.role == "user"), None)
        if newest is not None:
            marks[MESSAGE_KEY] = newest
        if run.attempt is not None:
            # LangGraph takes an input with the checkpoint's run id for one that it has: a key of ours, never the
            # client's runId, which CopilotKit repeats.
            marks[RUN_KEY] = run.attempt.key
        if marks:
            given["metadata"] = {**(given.get("metadata") or {}), **marks}
        return given


class LangGraphRun(SourceRun):
    """One prepared run: its translator, and the native events that feed it."""

    translator: LangGraphTranslator

    def __init__(
        self,
        run: RunContext,
        plan: Plan,
        notes: RunNotes,
        shape: GraphShape | None,
        hold: Hold | None,
    ) -> None:
        self._run, self._plan, self._notes, self._shape = run, plan, notes, shape
        reports = Reports(
            run,
            source=LangGraphSource.name,
            shape=shape,
            taken=plan.known.roles,
            calls=plan.known.calls,
        )
        self.translator = LangGraphTranslator(plan, reports, notes, shape=shape, hold=hold)

    def oldest_tool(self) -> float | None:
        return self._notes.oldest_tool()

    def events(self) -> AsyncGenerator[Any, None]:
        """The native events. A second pass runs when the first one did not pause."""
        plan = self._plan
        if isinstance(plan, Run) and not (self._shape is not None and self._shape.stops):
            return self._pass(plan, plan.input)  # nothing between the native stream and its reader, for every token
        return self._passes(plan)

    async def _passes(self, plan: Plan) -> AsyncGenerator[Any, None]:
        if isinstance(plan, Restate | Idle):
            return
        try:
            async with aclosing(self._pass(plan, plan.input)) as natives:
                async for native in natives:
                    yield native
        except ValidationError as error:
            if not is_invalid_resume(error):  # a check that JSON Schema cannot express, in the graph's own type
                raise
            problems = "; ".join(f"{'/'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors())
            raise ResumeError(f"an answer does not fit what its question asks for: {problems}") from error
        ending, second = self.translator.ending, None
        if isinstance(plan, Resume) and self._shape is not None and not ending.paused:
            second = second_input(plan, self.translator.held, self._run.run_input, self._shape)
        if second is not None:
            self.translator.begin_pass()
            async with aclosing(self._pass(plan, second)) as natives:
                async for native in natives:
                    yield native
        stops = self._shape is not None and self._shape.stops
        if (ending.at_breakpoint or (stops and ending.paused)) and isinstance(plan.agent, Pregel):
            # A static interrupt has an empty chunk, or none if a question is open: the thread's state says what waits.
            state = await plan.agent.aget_state(at_head(plan.config), subgraphs=True)
            ending.stopped_at(breakpoints(plan.agent, state))

    def _pass(self, plan: Run | Resume, graph_input: Any) -> AsyncGenerator[Any, None]:
        extra: dict[str, Any] = {}
        options = self._run.options
        if self._shape is not None:
            extra = {"stream_mode": ["updates", "values", "custom"], "subgraphs": True}
            if options.durability is not None and plan.known.resumable:  # else LangGraph fails at the end
                extra["durability"] = options.durability
            context = self._run.context if self._run.context is not None else _default_context(plan.agent)
            if context is not None:
                extra["context"] = context
        if options.source == "callbacks":
            from yai_nexus_agentkit.adapter.langgraph.native.callback_stream import callback_events

            return callback_events(plan.agent, graph_input, plan.config, notes=self._notes, extra=extra)
        return plan.agent.astream_events(graph_input, plan.config, version="v2", **extra)  # type: ignore[return-value]


def _default_context(agent: Runnable[Any, Any]) -> Any:
    """The context of a graph whose schema has a default for each field; None if it needs one, or has no schema."""
    schema = getattr(agent, "context_schema", None)
    if not isinstance(schema, type) or not (is_dataclass(schema) or issubclass(schema, BaseModel)):
        return None
    try:
        return schema()
    except (TypeError, ValidationError):
        return None


def _runnable_input(agent: Runnable[Any, Any], run: RunContext) -> Any:
    """Input of a plain runnable: the messages for a language model, else a mapping with ``messages`` and the request's
    state. Empty if the request has neither."""
    messages = to_langchain(run.run_input.messages)
    first: Any = agent
    while isinstance(first, RunnableSequence | RunnableBinding):
        first = first.first if isinstance(first, RunnableSequence) else first.bound
    if isinstance(first, BaseLanguageModel):
        return messages
    state = run.run_input.state
    given = state if isinstance(state, dict) else {}
    return {**given, MESSAGES: messages} if messages or given else {}
