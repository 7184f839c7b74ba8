"""LangGraph's interrupts as AG-UI interrupts: a reason, a message that a generic UI can show, and a schema for
the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import Interrupt
from langgraph.types import Interrupt as NativeInterrupt

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import metadata
from yai_nexus_agentkit.protocol.calls import Call
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text

__all__ = ["Breakpoint", "describe", "describe_breakpoint", "schema_of"]

_MESSAGE_KEYS = ("message", "question", "prompt", "description", "text", "title")
_MESSAGE_LENGTH = 500
"""Characters of a question made from a value that has no text of its own."""

_OF_A_CALL = ("tool_approval", "device_tool")
"""Types of questions that name the call that they are about."""
_DECISIONS = ("approve", "edit", "reject", "respond")
"""The decisions that LangChain's approval middleware accepts."""


def describe(
    native: NativeInterrupt,
    *,
    owner: str | None,
    calls: Sequence[Call],
    declared: bool = True,
) -> Interrupt:
    """The AG-UI interrupt of a LangGraph one. `calls`: the open calls that it may be about, the likeliest first."""
    value = native.value
    raw = json_safe(value)
    facts: dict[str, Any] = {"value": raw}
    reason, call, schema = "langgraph:interrupt", None, schema_of(native)
    if isinstance(value, Mapping) and value.get("type") in _OF_A_CALL and value.get("tool_call_id"):
        own = str(value["tool_call_id"])
        reason, call = "tool_call", next((call.id for call in calls if call.raw == own), own)
    elif isinstance(value, Mapping) and isinstance(value.get("action_requests"), list):
        reason = "langgraph:tool_approval"
        facts["toolCallIds"] = _calls_of(value["action_requests"], calls)
    elif requests := _reviewed(value):
        facts["toolCallIds"] = _calls_of(requests, calls)
    elif schema is not None:
        reason = "confirmation" if schema.get("type") == "boolean" else "input_required"
    expires = value.get("expires_at") if isinstance(value, Mapping) else None
    return Interrupt(
        id=native.id,
        reason=reason,
        message=_message(raw),
        tool_call_id=call,
        response_schema=schema,
        # Clients before 1.0 refuse every answer to an expired question, a cancelling one too (AG-UI 1.0 §16).
        expires_at=str(expires) if expires and declared else None,
        subagent_run_id=owner,
        metadata=metadata(facts),
    )


def describe_breakpoint(point: Breakpoint) -> Interrupt:
    """The question of a breakpoint: it asks nothing but to go on."""
    return Interrupt(
        id=point.interrupt_id,
        reason="confirmation",
        message=f"Continue with {point.node}?" if point.before else f"{point.node} is next. Continue?",
        metadata=metadata({"node": point.node}),
    )


def schema_of(native: NativeInterrupt) -> dict[str, Any] | None:
    """JSON Schema of the answer, as the graph gave it or as LangChain's approval middleware expects it."""
    given = getattr(native, "response_schema", None)
    if isinstance(given, Mapping) and given:
        return dict(json_safe(given))
    value = native.value
    if isinstance(value, Mapping) and isinstance(inner := value.get("response_schema"), Mapping):
        return dict(json_safe(inner))  # from a LangGraph whose `interrupt` takes no schema
    if isinstance(value, Mapping) and isinstance(requests := value.get("action_requests"), list):
        return {"type": "object", "properties": {"decisions": _decisions(requests, value)}, "required": ["decisions"]}
    return None


def _decisions(requests: Sequence[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """One decision per action, of those that the middleware was set to allow for it."""
    configs = value.get("review_configs")
    rules = configs if isinstance(configs, list) and len(configs) == len(requests) else [{}] * len(requests)
    each = [
        _decision(rule.get("allowed_decisions") if isinstance(rule, Mapping) else None, request)
        for rule, request in zip(rules, requests, strict=True)
    ]
    bounds = {"type": "array", "minItems": len(each), "maxItems": len(each)}
    alike = all(schema == each[0] for schema in each)
    return {**bounds, "items": each[0]} if each and alike else {**bounds, "prefixItems": each}


def _decision(allowed: Any, request: Any) -> dict[str, Any]:
    """Refuses here what the middleware would fail over: it has given the question up by then."""
    types = list(allowed) if isinstance(allowed, list | tuple) and allowed else list(_DECISIONS)
    # Another tool cannot be chosen, as in the middleware's per-call mode: nobody asked about that one.
    own = request.get("name") if isinstance(request, Mapping) else None
    action = {
        "type": "object",
        "properties": {
            "name": {"enum": [own]} if isinstance(own, str) else {"type": "string"},
            "args": {"type": "object"},
        },
        "required": ["name", "args"],
    }
    properties: dict[str, Any] = {"type": {"enum": types}, "message": {"type": "string"}}
    rules = {"respond": {"required": ["message"]}, "approve": {"not": {"required": ["edited_action"]}}}
    if "edit" in types:
        properties["edited_action"] = action
        rules["edit"] = {"required": ["edited_action"]}
    cases = [{"if": {"properties": {"type": {"const": t}}}, "then": rules[t]} for t in types if t in rules]
    return {"type": "object", "properties": properties, "required": ["type"], "allOf": cases}


def _message(value: Any) -> str:
    """The question in words. A list asks several things at once, a line each."""
    texts = [_words(item) for item in value] if isinstance(value, list) else [_words(value)]
    if texts and all(texts):
        return "\n".join(map(str, texts))
    text = json_text(value)
    return text if len(text) <= _MESSAGE_LENGTH else text[: _MESSAGE_LENGTH - 1] + "…"


def _words(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return clean_text(value) if isinstance(value, str) else None
    for key in _MESSAGE_KEYS:
        if isinstance(text := value.get(key), str) and text:
            return clean_text(text)
    if isinstance(requests := value.get("action_requests"), list):
        lines = [_action_text(request) for request in requests if isinstance(request, Mapping)]
        return "\n".join(lines) or "Approval needed"
    if requests := _reviewed(value):
        return _action_text(requests[0])
    return f"Allow {clean_text(str(value['name']))}?" if value.get("name") else None


def _reviewed(value: Any) -> list[dict[str, Any]]:
    """The calls that LangGraph's ``HumanInterrupt`` asks about (Agent Inbox), or a list of those; empty for others."""
    asked = value if isinstance(value, list) else [value]
    requests = [item.get("action_request") if isinstance(item, Mapping) else None for item in asked]
    return [{"name": one.get("action"), "args": one.get("args")} for one in requests if isinstance(one, Mapping)]


def _action_text(request: Mapping[str, Any]) -> str:
    description = request.get("description")
    if isinstance(description, str) and description:
        return clean_text(description)
    return f"{clean_text(str(request.get('name')))} {json_text(request.get('args') or {})}"


def _calls_of(requests: Sequence[Any], calls: Sequence[Call]) -> list[str]:
    """Ids of the calls that a batch asks about. LangChain's middleware gives their names and arguments, in order."""
    found: list[str] = []
    for request in requests:
        if isinstance(request, Mapping):
            wanted = (request.get("name"), request.get("args"))
            found += [c.id for c in calls if (c.name, c.args) == wanted and c.id not in found][:1]
    return found


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A pause by ``interrupt_before`` or ``interrupt_after``: the task that waits."""

    task_id: str
    node: str
    before: bool

    @property
    def interrupt_id(self) -> str:
        """The id of its question on the wire."""
        return f"static:{self.task_id}"
