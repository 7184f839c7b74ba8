"""A request as the graph's input: new messages, the state that the client changed, the request's tools and context."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.adapter.langgraph.request.plan import Resume
from yai_nexus_agentkit.adapter.langgraph.request.reconcile import open_calls, unanswered
from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads.storable import storable_text
from yai_nexus_agentkit.adapter.shared.state import client_changes
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.request import offered

__all__ = ["changed_state", "context_entries", "graph_input", "request_tools", "second_input"]

_logger = logging.getLogger(__name__)


def request_tools(run_input: RunAgentInput) -> list[dict[str, Any]]:
    """The client's tools that the agent may call, as plain data: name, description, parameters (JSON Schema)."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {}}
        for tool in offered(run_input.tools)
    ]


def context_entries(run_input: RunAgentInput) -> list[dict[str, str]]:
    """The request's context as plain data."""
    return [{"description": entry.description, "value": entry.value} for entry in run_input.context or ()]


def changed_state(
    state: Any,
    held: Any,
    shape: GraphShape,
    shown: Mapping[str, Any] | None = None,
    pending: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """The channels that the client set to another value than the thread's head has, past their reducers.

    `shown`: the public state as clients are shown it, where the application redacts it. `pending`: writes by channel
    that wait for the end of an interrupted step; `held` has them. Only channels of the input schema count. A client
    that sends back what it was shown changes nothing, whatever reducers would make of it.
    """
    if not isinstance(state, Mapping):
        return {}
    if shape.functional:
        return {key: value for key, value in state.items() if key != MESSAGES}  # an argument, not a channel
    current = held if isinstance(held, Mapping) else {}
    changed = {key: (_clean(value), sent) for key, value, sent in _differing(state, current, shape, shown)}
    changed = {key: (value, sent) for key, (value, sent) in changed.items() if value != sent}
    try:
        fitted = shape.fitted({key: value for key, (value, _) in changed.items()}, current)
    except RunInputError as error:
        raise RunInputError(error.reason, path=f"/state{error.path}") from error
    written: dict[str, Any] = {}
    for key, value in fitted.items():
        try:
            written[key] = shape.setting(key, changed[key][1], value, (pending or {}).get(key, ()))
        except ValueError as error:
            _logger.warning("the request's state is ignored in part: %s", error)
    return written


def _clean(value: Any) -> Any:
    """The value of a channel as a storage can hold it."""
    return storable_text(value) if isinstance(value, str) else value


def _differing(
    state: Mapping[str, Any], current: Mapping[str, Any], shape: GraphShape, shown: Mapping[str, Any] | None
) -> Iterator[tuple[str, Any, Any]]:
    """Key, wanted value, and what the client was sent (None: nothing), of the keys that the client may set and did."""
    settable: dict[str, Any] = {}
    for key, value in state.items():
        if key == MESSAGES or (key not in shape.inputs and key in shape.public):
            continue
        if key not in shape.inputs:
            _logger.warning("the request's state has %r, which is not an input of the graph: it is ignored", key)
            continue
        if shown is not None and key in shape.public and key in current and key not in shown:
            continue  # kept from clients: not theirs to set
        settable[key] = value
    return client_changes(settable, {**shape.defaults, **current, **(shown or {})})


def graph_input(
    run_input: RunAgentInput, messages: Sequence[Any], state: Mapping[str, Any], shape: GraphShape, held: Any
) -> Any:
    """The input of a graph: a mapping, or the bare list of messages where that is all that the graph takes. `held`: the
    thread's values."""
    if shape.bare or shape.listed:
        return list(messages)
    given: dict[str, Any] = dict(state)
    if messages and (shape.messages or MESSAGES in shape.inputs or shape.functional):
        given[MESSAGES] = list(messages)
    for key, brought in (("tools", request_tools), ("context", context_entries)):
        own = held.get(key) if isinstance(held, Mapping) else None
        if key in shape.requested and key not in given and shape.is_requests(key, own):
            given[key] = brought(run_input)
    return given


def second_input(plan: Resume, messages: Sequence[BaseMessage], run_input: RunAgentInput, shape: GraphShape) -> Any:
    """The input of the pass after a resumed turn: the user's messages that had to wait for it. `messages`: the thread's
    now.

    Calls of the turn that are still open get an error result. None: there is nothing to give, or the model asked
    something of the client only now, which the client must answer first.
    """
    if not plan.later:
        return None
    calls = open_calls(messages)
    names = {tool.name for tool in offered(run_input.tools)}
    before = {m.id for m in (*plan.held.messages, *plan.known.nested)}
    if any(call.name in names and call.maker not in before for call in calls):
        return None
    kept = messages if shape.replaces else ()
    return graph_input(run_input, [*kept, *map(unanswered, calls), *plan.later], {}, shape, plan.held.values)
