"""Driver. A google-adk agent, app or runner as a `Source`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from google.adk.agents import BaseAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from google.adk.memory import InMemoryMemoryService
from google.adk.plugins import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import BaseNode
from pydantic import PositiveFloat, PositiveInt

from yai_nexus_agentkit.adapter.adk.client_tools import client_tools
from yai_nexus_agentkit.adapter.adk.history import History, public_state
from yai_nexus_agentkit.adapter.adk.live import AdkLive
from yai_nexus_agentkit.adapter.adk.plan import back_to, is_unfinished, plan_of
from yai_nexus_agentkit.adapter.adk.plugin import RunPlugin
from yai_nexus_agentkit.adapter.adk.run import AdkRun
from yai_nexus_agentkit.adapter.adk.sessions import AdkThreads, InOrder, Place, Sessions, message_event
from yai_nexus_agentkit.adapter.adk.translate import AdkTranslator
from yai_nexus_agentkit.adapter.hook_calls import shown_state
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.source import OPTIONAL, Source
from yai_nexus_agentkit.errors import OverloadedError
from yai_nexus_agentkit.orchestration.sinks import Sink

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities

__all__ = ["AdkSource"]

Named = str | Callable[[RunContext], str] | None
_LANGGRAPH = frozenset({"chain_spans", "durability", "functional_input", "hold", "marked_messages", "source"})


class AdkSource(Source):
    """A google-adk agent and its sessions. Immutable; serves any number of concurrent runs.

    `agent`: an agent or workflow, an `App` (with plugins and resumability), or a `Runner` (with its services).
    `app_name`, `user_id`: names, or functions of the run; default: the agent's name, and one user per thread.
    `session_service`, `artifact_service`, `memory_service`, `credential_service`: in memory where they are missing;
    with ``use_in_memory_services=False`` only the sessions are, and they must be given. `run_config`: makes the
    `RunConfig` of a run; default: streaming, with the client's context in ``custom_metadata["context"]``. Limits in
    seconds, None for none: `execution_timeout` of a run and `tool_timeout` of a tool, unless `AdapterOptions` say
    otherwise; `max_concurrent_runs` at once, then runs end with ``OVERLOADED``. `edits`: a request that edits or
    repeats a message of the user's, or goes back behind one, rewinds the session before that; or only new messages
    count.

    `offers`: (name of an agent, name of a client's tool) → the agent gets the tool; default: every agent gets all.

    In live mode: `live_audio`: the model hears the client, and answers with audio; else both write. `live_config`: like
    `run_config`; default: audio or text, as `live_audio` says. `answer_within`: seconds that a tool waits for the
    client; then it is denied, or failed.

    Raises TypeError for an `agent` of another type, and ValueError for contradicting or missing arguments.
    """

    name = "adk"
    honours = OPTIONAL - _LANGGRAPH
    instructs = True
    """ADK's models get their agents' instructions, and no others."""

    def __init__(
        self,
        agent: Any,
        *,
        app_name: Named = None,
        user_id: Named = None,
        session_service: Any = None,
        artifact_service: Any = None,
        memory_service: Any = None,
        credential_service: Any = None,
        use_in_memory_services: bool = True,
        run_config: Callable[[RunContext], Any] | None = None,
        execution_timeout: PositiveFloat | None = 600.0,
        tool_timeout: PositiveFloat | None = 300.0,
        max_concurrent_runs: PositiveInt | None = 10,
        edits: Literal["rewind", "append"] = "rewind",
        offers: Callable[[str, str], bool] | None = None,
        live_audio: bool = False,
        live_config: Callable[[RunContext], Any] | None = None,
        answer_within: PositiveFloat = 300.0,
    ) -> None:
        services = {
            "session_service": session_service,
            "artifact_service": artifact_service,
            "memory_service": memory_service,
            "credential_service": credential_service,
        }
        self._runner = _runner_of(agent, app_name, services, in_memory=use_in_memory_services)
        self.agent = self._runner.agent
        self._sessions = Sessions(
            self._runner.session_service, app_name or self._runner.app_name, user_id, self._runner.app_name
        )
        self._run_config = run_config or _default_config
        self._limits = AdapterOptions(execution_timeout=execution_timeout, tool_timeout=tool_timeout)
        if (max_concurrent_runs is not None and max_concurrent_runs < 1) or edits not in ("rewind", "append"):
            raise ValueError("max_concurrent_runs is at least 1 or None, and edits is 'rewind' or 'append'")
        self._most, self._running = max_concurrent_runs, 0
        self._rewinds, self._offers = edits == "rewind", offers
        self._live = partial(AdkLive, offers=offers, hears=live_audio, config=live_config, answer_within=answer_within)
        resumable = self._runner.resumability_config
        self._resumable = resumable is not None and bool(resumable.is_resumable)
        lasting = not isinstance(self._runner.session_service, InMemorySessionService)
        self.in_memory = not lasting
        self.continues = lasting and self._resumable

    def defaults(self, options: AdapterOptions) -> AdapterOptions:
        """The options, with this source's limits where they have none."""
        return replace(
            options,
            execution_timeout=options.execution_timeout or self._limits.execution_timeout,
            tool_timeout=options.tool_timeout or self._limits.tool_timeout,
        )

    async def prepare(self, run: RunContext, /) -> AdkRun:
        """Read the session and decide what the request means for it."""
        place = self._sessions.place(run)
        session, history = await self._read(place)
        before = dict(session.state) if session is not None else {}
        shown = shown_state(run, public_state(before))
        if self._rewinds and (turn := back_to(run, history)) is not None:
            where = {"user_id": place.user_id, "session_id": place.session_id}
            await self._own(place, session).rewind_async(**where, rewind_before_invocation_id=turn)
            session, history = await self._read(place)
        state = dict(session.state) if session is not None else {}
        run.linkable = True
        plan = plan_of(run, history, before, shown, self.agent.name)
        if plan.runs or plan.stored or plan.state:
            session = session or await self._sessions.begin(place)
            # The client's state goes with the message that runs, if there is one.
            await self._sessions.store(session, plan.stored, plan.state if plan.message is None else {})
        entries = [*plan.stored, *([plan.message] if plan.message is not None else ())]
        history.events += [message_event(entry) for entry in entries]
        run_config = self._run_config(run)
        translator = AdkTranslator(run, history, {**state, **plan.state}, run_config.custom_metadata or ())
        if run.looking and is_unfinished(history, self.agent.name, resumable=self._resumable):
            translator.reports.unfinished = {"unfinished": True}
        tools = client_tools(run.run_input.tools)

        def made(sink: Sink) -> tuple[Runner, RunPlugin]:
            plugin = RunPlugin(place.session_id, tools, sink, self._offers)
            return self._own(place, session, plugin), plugin

        return AdkRun(plan, translator, place, self._slot, made, run_config, run.attempt)

    async def _read(self, place: Place) -> tuple[Any, History]:
        session = await self._sessions.read(place)
        return session, History.of(session.events if session is not None else ())

    def _own(self, place: Place, session: Any, *plugins: BasePlugin) -> Runner:
        """A runner for one run of a session: the agent and the services are shared."""
        own = copy.copy(self._runner)
        own.session_service = InOrder.of(own.session_service, session)
        own.app_name = place.app_name
        own.plugin_manager = PluginManager(plugins=[*plugins, *own.plugin_manager.plugins])
        return own

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Room for one run."""
        if self._most is not None and self._running >= self._most:
            raise OverloadedError(f"{self._running} runs of this agent are active")
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def thread_store(self) -> AdkThreads:
        """The sessions, as threads."""
        return AdkThreads(self._sessions, self._runner.memory_service)

    def live(self) -> AdkLive:
        """The same agent for one connection, in ADK's live mode."""
        return self._live(self, self._own, self._sessions)

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        """The capabilities (AG-UI 1.0 §22) that the agent shows."""
        from yai_nexus_agentkit.adapter.adk.capabilities import capabilities

        return capabilities(self._runner, options)


def _runner_of(agent: Any, app_name: Named, services: dict[str, Any], *, in_memory: bool) -> Runner:
    if isinstance(agent, Runner):
        given = [name for name, service in services.items() if service is not None]
        if given:
            raise ValueError(f"a runner has its own services: leave out {', '.join(given)}")
        return agent
    if not isinstance(agent, App | BaseNode):
        kind = type(agent).__name__
        raise TypeError(f"an agent of google-adk is an agent, a workflow, an App or a Runner, not {kind}")
    if in_memory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ADK warns of its own experimental services, which nobody asked for
            services = {n: made() if services[n] is None else services[n] for n, made in _IN_MEMORY.items()}
    elif services["session_service"] is None:
        raise ValueError("use_in_memory_services is False, so session_service must be given")
    name = app_name if isinstance(app_name, str) else None
    if isinstance(agent, App):
        return Runner(app=agent, app_name=name, **services)
    kind = "agent" if isinstance(agent, BaseAgent) else "node"
    return Runner(app_name=name or agent.name, **{kind: agent}, **services)


_IN_MEMORY = {
    "session_service": InMemorySessionService,
    "artifact_service": InMemoryArtifactService,
    "memory_service": InMemoryMemoryService,
    "credential_service": InMemoryCredentialService,
}


def _default_config(run: RunContext) -> RunConfig:
    context = [{"description": one.description, "value": one.value} for one in run.run_input.context or ()]
    return RunConfig(streaming_mode=StreamingMode.SSE, custom_metadata={"context": context} if context else None)
