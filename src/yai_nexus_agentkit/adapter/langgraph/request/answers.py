"""Answers to open questions: checked as a whole before the graph runs, so that a refused answer consumes nothing
(AG-UI 1.0 §16)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ag_ui.core import ResumeEntry, RunAgentInput
from langgraph.types import Interrupt as NativeInterrupt

from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint, schema_of
from yai_nexus_agentkit.adapter.shared.answers import check_answer, complete_answers
from yai_nexus_agentkit.errors import ResumeError
from yai_nexus_agentkit.protocol.json.json_numbers import unrounded
from yai_nexus_agentkit.protocol.json.json_safe import json_safe

__all__ = ["answered_ids", "answers", "has_answers", "leaves"]

_CANCELLED = "The user cancelled the request."


def has_answers(run_input: RunAgentInput) -> bool:
    """The request answers questions, in the protocol's way or in the older ``forwardedProps.command.resume``."""
    return bool(run_input.resume) or _command(run_input) is not _NOTHING


_NOTHING = object()


def answers(
    run_input: RunAgentInput,
    questions: Sequence[NativeInterrupt],
    breakpoints: Sequence[Breakpoint],
    taken: Collection[str] = (),
) -> dict[str, Any] | None:
    """LangGraph's resume map (interrupt id → answer), or None at a breakpoint (`leaves` says which way).

    Raises `ResumeError` for answers that are incomplete, contradict each other, do not fit the schema of their
    question, or are for an id that is neither open nor `taken`.
    """
    entries = run_input.resume or ()
    open_ids = {q.id: q for q in questions}
    waiting = {b.interrupt_id for b in breakpoints}
    if not entries:
        return _from_command(_command(run_input), open_ids, waiting)
    given = complete_answers(entries, [*open_ids, *waiting], taken)
    return {i: _answer(native, given[i]) for i, native in open_ids.items()} or None


def answered_ids(run_input: RunAgentInput) -> set[str]:
    """Ids of the interrupts that the request answers; none for an answer of the older way, which may name none."""
    command = _command(run_input)
    named = command if isinstance(command, Mapping) else ()
    return {entry.interrupt_id for entry in run_input.resume or ()} or {str(i) for i in named}


def leaves(run_input: RunAgentInput, breakpoints: Sequence[Breakpoint]) -> bool:
    """The user says no to what waits at a breakpoint, or abandons the question. Any other answer goes on."""
    waiting = {b.interrupt_id for b in breakpoints}
    if not waiting:
        return False
    if run_input.resume:
        entries = [entry for entry in run_input.resume if entry.interrupt_id in waiting]
        return any(entry.status == "cancelled" or _declines(entry.payload) for entry in entries)
    command = _command(run_input)
    if not isinstance(command, Mapping) or waiting.isdisjoint(command):
        return _declines(command)
    return any(_declines(command[i]) for i in waiting.intersection(command))


def _from_command(
    command: Any, open_ids: Mapping[str, NativeInterrupt], waiting: Collection[str]
) -> dict[str, Any] | None:
    """The older way knows no ids: one answer for the one open question, or a map by id."""
    if not open_ids:
        return None
    if isinstance(command, Mapping) and command.keys() == {*open_ids, *waiting}:
        return {i: _read(native, command[i]) for i, native in open_ids.items()}
    if len(open_ids) + len(waiting) > 1:
        ids = ", ".join([*open_ids, *waiting])
        raise ResumeError(f"{len(open_ids) + len(waiting)} interrupts are open; answer them by id: {ids}")
    [(interrupt_id, native)] = open_ids.items()
    return {interrupt_id: _read(native, command)}


def _answer(native: NativeInterrupt, entry: ResumeEntry) -> Any:
    if entry.status == "cancelled":
        return _cancelled(native)
    return _read(native, entry.payload)


def _read(native: NativeInterrupt, payload: Any) -> Any:
    """The payload as the graph gets it; large numbers of the question that come back are the question's."""
    answer = _translated(native, unrounded(json_safe(native.value), payload))
    check_answer(native.id, answer, schema_of(native))
    return answer


def _cancelled(native: NativeInterrupt) -> Any:
    """The return value of ``interrupt()`` for an abandoned question; approval middleware gets a rejection."""
    value = native.value
    rejection = {"type": "reject", "message": _CANCELLED}
    if isinstance(value, Mapping):
        if isinstance(requests := value.get("action_requests"), list):
            return {"decisions": [rejection for _ in requests]}
        if value.get("type") == "tool_approval" and not _is_ours(native):
            return rejection
    return {"status": "cancelled"}


def _translated(native: NativeInterrupt, payload: Any) -> Any:
    """AG-UI's approval convention (``approved``, ``editedArgs``, ``reason``) as the decisions that LangChain's
    middleware expects."""
    value = native.value
    if (
        not isinstance(value, Mapping)
        or not isinstance(payload, Mapping)
        or not isinstance(payload.get("approved"), bool)
        or _is_ours(native)
    ):
        return payload
    requests = value.get("action_requests")
    if isinstance(requests, list):
        if len(requests) > 1 and payload["approved"] and payload.get("editedArgs") is not None:
            raise ResumeError(f"editedArgs would change {len(requests)} calls alike; answer with one decision per call")
        return {"decisions": [_decision(payload, request.get("name")) for request in requests]}
    if value.get("type") == "tool_approval" and "decision" not in value:
        return _decision(payload, value.get("name"))
    return payload


def _is_ours(native: NativeInterrupt) -> bool:
    """Asked by `require_approval`, which understands the convention itself, and a cancelled entry."""
    return "approved" in ((schema_of(native) or {}).get("properties") or {})


def _decision(payload: Mapping[str, Any], name: Any) -> dict[str, Any]:
    if payload["approved"] is not True:
        reason = payload.get("reason")
        return {"type": "reject", **({"message": str(reason)} if reason else {})}
    edited = payload.get("editedArgs")
    if edited is None:
        return {"type": "approve"}
    if not isinstance(edited, Mapping):
        raise ResumeError("editedArgs must be a JSON object: else the call would not run as the user wants it")
    return {"type": "edit", "edited_action": {"name": name, "args": dict(edited)}}


def _declines(payload: Any) -> bool:
    if isinstance(payload, str):
        return payload.strip().lower() in ("no", "false")
    if not isinstance(payload, Mapping):
        return payload is False
    if payload.get("status") == "cancelled" or payload.get("type") == "reject":
        return True
    return "approved" in payload and payload["approved"] is not True


def _command(run_input: RunAgentInput) -> Any:
    props = run_input.forwarded_props
    command = props.get("command") if isinstance(props, Mapping) else None
    return command["resume"] if isinstance(command, Mapping) and "resume" in command else _NOTHING
