"""Edge. An adapter as a server shows it: its time limits, and what clients learn of errors."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ag_ui.core import AgentCapabilities

from yai_nexus_agentkit.adapter.agui_adapter import NO_HOOKS, AGUIAdapter
from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.run_context import Hooks, RunContext
from yai_nexus_agentkit.errors import HookError
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server.problems import shown_text
from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["Agent", "ServedAgent", "adapter_of", "changed"]

_logger = logging.getLogger(__name__)

Agent = AGUIAdapter | Callable[[Identity], "AGUIAdapter | Awaitable[AGUIAdapter]"]
"""An adapter, or a function that makes one for each request, by who sends it; may be a coroutine function."""


async def adapter_of(agent: Agent, identity: Identity) -> AGUIAdapter:
    """The adapter for a request of `identity`."""
    if isinstance(agent, AGUIAdapter):
        return agent
    made = agent(identity)
    return await made if inspect.isawaitable(made) else made


def changed(agent: Agent, change: Callable[[AGUIAdapter], AGUIAdapter]) -> Agent:
    """The agent with `change` applied to each of its adapters."""
    if isinstance(agent, AGUIAdapter):
        return change(agent)
    if not callable(agent):
        return agent  # refused where it is served

    async def made(identity: Identity) -> AGUIAdapter:
        return change(await adapter_of(agent, identity))

    return made


class ServedAgent:
    """One agent of a server, by the name that is part of its threads' identity."""

    def __init__(self, name: str, agent: Agent, settings: ServerSettings) -> None:
        if not isinstance(agent, AGUIAdapter) and not callable(agent):
            raise TypeError(f"an agent is an AGUIAdapter or a function that returns one, not {type(agent).__name__}")
        self.name = name
        self._settings = settings
        self._unhooked = Hooks(on_error=_error_text(NO_HOOKS, expose=settings.expose_errors))
        """Of an adapter whose application has no hooks."""
        self._agent: Agent = self._prepared(agent) if isinstance(agent, AGUIAdapter) else agent

    @property
    def fixed(self) -> AGUIAdapter | None:
        """The adapter, if all requests share one."""
        return self._agent if isinstance(self._agent, AGUIAdapter) else None

    async def adapter(self, identity: Identity) -> AGUIAdapter:
        """The adapter for a request."""
        return self.fixed or self._prepared(await adapter_of(self._agent, identity))

    def has_hooks(self, adapter: AGUIAdapter) -> bool:
        """The application has hooks for the runs of this agent."""
        return adapter.hooks is not self._unhooked

    def able(self, adapter: AGUIAdapter) -> AgentCapabilities:
        """The capabilities that the agent declares, and what this server adds: sockets, runs that survive their
        connection, and whether it stores no threads."""
        able, settings = adapter.capabilities(), self._settings
        if able.transport is not None:
            if settings.disconnect == "continue" or settings.disconnect_by_request:
                able.transport.resumable = True
            able.transport.websocket = settings.sockets is not None
        if adapter.threads() is None:
            able.custom = {**(able.custom or {}), "threads": False}
        return able

    def _prepared(self, adapter: AGUIAdapter) -> AGUIAdapter:
        """A copy with the server's limits and error texts; the application's adapter stays as it is."""
        settings, options = self._settings, adapter.options
        limited = replace(
            options,
            execution_timeout=_either(settings.run_timeout, options.execution_timeout),
            idle_timeout=_either(settings.idle_timeout, options.idle_timeout),
            tool_timeout=_either(settings.tool_timeout, options.tool_timeout),
        )
        hooks = self._unhooked
        if adapter.hooks != NO_HOOKS:
            hooks = replace(adapter.hooks, on_error=_error_text(adapter.hooks, expose=settings.expose_errors))
        return adapter.replace(options=limited, hooks=hooks)


def _either(seconds: float | None, own: float | None) -> float | None:
    return own if seconds is None else seconds


def _error_text(hooks: Hooks, *, expose: bool) -> Callable[[BaseException, RunContext], str | None]:
    """The application's own text for an exception, else the server's. A hook that fails must not uncover it. The run
    logs the exception with this text."""

    def text(error: BaseException, run: RunContext) -> str | None:
        if hooks.on_error is not None:
            try:
                own: str | None = call_hook("on_error", hooks.on_error, error, run)
            except HookError:
                _logger.exception("the on_error hook failed")
            else:
                if own is not None:
                    return own
        return shown_text(error, expose=expose)

    return text
