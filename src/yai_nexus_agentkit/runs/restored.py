"""A thread as it is now, as the events of a run that does nothing: for a page that opens while the thread rests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ag_ui.core import BaseEvent, RunAgentInput

from yai_nexus_agentkit.runs.identity import Identity, ThreadRef, run_config

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter

__all__ = ["restored"]

T = TypeVar("T")


def restored(
    adapter: AGUIAdapter,
    asked: RunAgentInput,
    identity: Identity,
    thread: ThreadRef,
    facts: Mapping[str, Any],
    limit: float,
    wire: Callable[[BaseEvent], T],
) -> AsyncGenerator[T, None]:
    """``RUN_STARTED``, the state, the messages, and the end with the thread's open questions, as `wire` makes them.

    The agent does not run. `limit`: seconds that it may take. The hooks of a run (`before_run`, `after_run`, `record`)
    are not called; those that redact are.
    """
    nothing = asked.model_copy(update={"messages": [], "state": None, "resume": None})
    options = replace(adapter.options, execution_timeout=limit, messages_snapshot="always")
    hooks = replace(adapter.hooks, before_run=None, after_run=None, record=None)
    config = run_config(identity.config, thread.key)
    return adapter.replace(options=options, hooks=hooks).stream(
        nothing, wire, config=config, context=identity.context, request=facts, looking=True
    )
