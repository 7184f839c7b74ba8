"""Pure. The capabilities (AG-UI 1.0 §22) that every agent behind the adapter has."""

from __future__ import annotations

from ag_ui.core import (
    AgentCapabilities,
    ExecutionCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    TransportCapabilities,
)

from yai_nexus_agentkit.adapter.options import AdapterOptions

__all__ = ["declared"]


def declared(identity: IdentityCapabilities, options: AdapterOptions, *, steps: int | None = None) -> AgentCapabilities:
    """Its name, how it is reached, and its limits. `steps`: the most that a run may take. A server adds what it can do
    (sockets, runs that survive their connection)."""
    seconds = options.execution_timeout
    limits = ExecutionCapabilities(
        max_iterations=steps, max_execution_time=None if seconds is None else int(seconds * 1000)
    )
    found = AgentCapabilities(
        identity=identity,
        transport=TransportCapabilities(
            streaming=True, websocket=False, http_binary=False, push_notifications=False, resumable=False
        ),
        execution=None if (steps, seconds) == (None, None) else limits,
    )
    if options.reasoning == "off":
        found.reasoning = ReasoningCapabilities(supported=False)
    return found
