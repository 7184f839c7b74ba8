"""Pure. The posted body of a page, as a request to an agent.

The body is ``{"id", "messages", "trigger", "messageId"?, ...}``, messages being those of the AI SDK. Answers to
questions and results of the page's tools are in the parts of the last message, which is then the assistant's. To have a
reply made again, the page leaves it out: the request ends with a user message that the thread knows.

Parts carry the ids of the agent's messages in ``providerMetadata.agui``. What has none gets an id of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from ag_ui.core import RunAgentInput

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.parts import part_from_block
from yai_nexus_agentkit.protocol.request import RequestLimits, parse_request
from yai_nexus_agentkit.transport.ai_sdk.conversation import now_named
from yai_nexus_agentkit.transport.ai_sdk.questions import QUESTION, refusal
from yai_nexus_agentkit.transport.ai_sdk.shape import check_body, check_message

__all__ = ["Asked", "read_request"]

_OWN = ("id", "messages", "trigger", "messageId")
_AS_IN_AGUI = ("state", "tools", "context")
"""Members that a page may add to the body (``useChat``'s ``body``) with the meaning that they have in AG-UI."""
_ANSWERED = ("output-available", "output-error", "output-denied")


class Asked(NamedTuple):
    """A request, understood."""

    run_input: RunAgentInput
    message_id: str | None
    """The id of the answer that goes on; None for a new one."""
    verdicts: Mapping[str, bool | None]
    """The calls in that answer that have no result, and what the user decided about them, if they were asked."""
    warnings: Sequence[str]
    """Parts that were left out."""


def read_request(data: Any, limits: RequestLimits) -> Asked:
    """`data`: the posted JSON data. Further members of it become ``forwardedProps``. Raises `RunInputError`."""
    check_body(data)
    thread, messages = data["id"], data["messages"]
    if limits.id is not None and len(thread) > limits.id:
        raise RunInputError(f"{len(thread)} characters; at most {limits.id} are accepted", path="/id")
    if limits.messages is not None and len(messages) > limits.messages:
        raise RunInputError(f"{len(messages)} entries; at most {limits.messages} are accepted", path="/messages")
    reading = _Reading(limits)
    for n, message in enumerate(messages):
        reading.message(n, message)
    last = messages[-1]
    goes_on = last["role"] == "assistant"
    raw = {
        "threadId": thread,
        "runId": str(uuid4()),
        "protocolVersion": "1.0",
        "messages": reading.found,
        "resume": (list(_answers(last["parts"])) if goes_on else None) or None,
        "forwardedProps": {name: value for name, value in data.items() if name not in (*_OWN, *_AS_IN_AGUI)},
        **{name: data[name] for name in _AS_IN_AGUI if name in data},
    }
    if isinstance(tools := data.get("tools"), Mapping):
        raw["tools"] = [_tool(name, tools[name]) for name in tools]
    run_input = parse_request(raw, warnings=reading.warnings, limits=replace(limits, messages=None))
    verdicts = _verdicts(last["parts"]) if goes_on else {}
    return Asked(run_input, last["id"] if goes_on else None, verdicts, reading.warnings)


def _tool(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as assistant-ui declares it, in an object by name."""
    return {"name": name, "description": given.get("description") or "", "parameters": given.get("parameters") or {}}


class _Reading:
    """The conversation of one request."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self.found: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self._calls: set[str] = set()
        """Ids of the calls so far: one may be in two messages, where its question was asked again."""

    def message(self, n: int, message: Any) -> None:
        """Take the n-th message. Raises `RunInputError` for one that is none."""
        path = f"/messages/{n}"
        check_message(message, path, self._limits.entries)
        own, parts = message["id"], message["parts"]
        match message["role"]:
            case "user":
                self._asked(message, parts, f"{path}/parts")
            case "assistant":
                self._answered(own, parts, _renamed(message.get("metadata")))
            case _:
                self._add("system", own, content="".join(part["text"] for part in parts if part["type"] == "text"))

    def _add(self, role: str, own: str, **more: Any) -> dict[str, Any]:
        entry = {"id": own, "role": role, **more}
        self.found.append(entry)
        return entry

    def _asked(self, message: dict[str, Any], parts: Sequence[dict[str, Any]], path: str) -> None:
        content: list[dict[str, Any]] = []
        for n, part in enumerate(parts):
            if (read := _user_part(part)) is not None:
                content.append(read)
            else:
                self.warnings.append(f"{path}/{n}: part of type {part['type'][:100]!r} dropped")
        only = content[0] if len(content) == 1 else None
        facts = {"metadata": message["metadata"]} if isinstance(message.get("metadata"), dict) else {}
        whole = only["text"] if only and only["type"] == "text" else content or ""
        self._add("user", message["id"], content=whole, **facts)

    def _answered(self, own: str, parts: Sequence[dict[str, Any]], renamed: Mapping[str, str]) -> None:
        """An answer is as many messages of the agent as its parts name, or one for each step."""
        step = 0
        made: dict[str, dict[str, Any]] = {}
        thoughts: dict[str, dict[str, Any]] = {}
        for n, part in enumerate(parts):
            kind, facts = part["type"], _facts(part)
            maker = now_named(facts.pop("messageId", ""), renamed)
            owner = {"subagentRunId": facts.pop("subagentRunId")} if "subagentRunId" in facts else {}
            if kind == "step-start":
                step += 1
                continue
            if kind == "reasoning":
                maker = maker or f"{own}-{step}-reasoning-{n}"
                thought = thoughts.get(maker) or self._add("reasoning", maker, content="", **owner)
                thoughts[maker] = thought
                thought |= {"content": thought["content"] + part["text"], **facts}
                continue
            spoken, called = kind == "text", _is_call(part)
            if spoken or (called and part["toolCallId"] not in self._calls):
                maker = maker or f"{own}-{step}"
                message = made.get(maker) or self._add("assistant", maker, **owner)
                made[maker] = message
                if spoken:
                    message |= {"content": message.get("content", "") + part["text"], **facts}
                else:
                    self._calls.add(part["toolCallId"])
                    message.setdefault("toolCalls", []).append({**_call(part), **facts})
            if called and part["state"] in _ANSWERED and part.get("preliminary") is not True:
                answered, call = _facts(part, "resultProviderMetadata"), part["toolCallId"]
                result = answered.pop("resultId", f"{call}-result")
                self._add("tool", result, toolCallId=call, **_result(part), **answered, **owner)


_MADE = ("providerMetadata", "callProviderMetadata")
_TEXTS = {
    **dict.fromkeys(_MADE, ("messageId", "subagentRunId", "encryptedValue")),
    "resultProviderMetadata": ("resultId",),
}


def _facts(part: Mapping[str, Any], *places: str) -> dict[str, Any]:
    """The facts that the stream gave the part along, or its result; a page may send anything."""
    found: dict[str, Any] = {}
    for place in places or _MADE:
        given = part.get(place)
        facts = given.get("agui") if isinstance(given, Mapping) else None
        if isinstance(facts, Mapping):
            texts = {name: facts.get(name) for name in _TEXTS[place]}
            found |= {name: value for name, value in texts.items() if isinstance(value, str) and value}
            if isinstance(facts.get("metadata"), dict):
                found["metadata"] = facts["metadata"]
    return found


def _renamed(metadata: Any) -> Mapping[str, str]:
    """The new ids that the stream gave an answer's messages, by those in its parts; a page may send anything."""
    given = metadata.get("renamed") if isinstance(metadata, Mapping) else None
    items = given.items() if isinstance(given, Mapping) else ()
    return {own: new for own, new in items if isinstance(new, str) and new}


def _user_part(part: dict[str, Any]) -> dict[str, Any] | None:
    if part["type"] == "file":
        read = part_from_block({**part, "mime_type": part["mediaType"]})
        return None if read is None else read.model_dump(by_alias=True, exclude_none=True)
    return {"type": "text", "text": part["text"]} if part["type"] == "text" else None


def _is_tool(part: Mapping[str, Any]) -> bool:
    """A call of a tool, or a question that is shown as one. Models may call a tool without a name: that is none."""
    kind = part["type"]
    return bool(part["toolName"]) if kind == "dynamic-tool" else kind.startswith("tool-") and kind != "tool-"


def _is_call(part: Mapping[str, Any]) -> bool:
    return _is_tool(part) and not part["toolCallId"].startswith(QUESTION)


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    given = {} if part.get("input") is None else part["input"]
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    name = part.get("toolName") or part["type"].removeprefix("tool-")
    return {"id": part["toolCallId"], "type": "function", "function": {"name": name, "arguments": text}}


def _result(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["state"] == "output-error":
        text = part.get("errorText") or "the tool failed"
        return {"content": text, "error": text}
    if part["state"] == "output-denied":
        return {"content": _approval(part).get("reason") or "The user did not approve the call."}
    output = part.get("output")
    return {"content": output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)}


def _approval(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return part.get("approval") or {}


def _verdicts(parts: Sequence[dict[str, Any]]) -> dict[str, bool | None]:
    waiting = [part for part in filter(_is_call, parts) if part["state"] not in _ANSWERED]
    return {part["toolCallId"]: _approval(part).get("approved") for part in waiting}


def _answers(parts: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The answers in a message: approvals at any position, those to other questions in its last step."""
    several: dict[str, dict[int, dict[str, Any]]] = {}
    for part in filter(_is_tool, parts):
        if part["state"] != "approval-responded":
            continue
        approval = part["approval"]
        own, approved, reason = approval["id"], approval["approved"], approval.get("reason")
        said = {"reason": reason} if reason else {}
        interrupt, _, place = own.rpartition(":")
        if interrupt and place.isdecimal():
            decision = {"type": "approve"} if approved else {"type": "reject", **({"message": reason} if said else {})}
            several.setdefault(interrupt, {})[int(place)] = decision
        else:
            yield _entry(own, {"approved": approved, **said})
    for interrupt, decisions in several.items():
        yield _entry(interrupt, {"decisions": [decisions[place] for place in sorted(decisions)]})
    last = max((n for n, part in enumerate(parts) if part["type"] == "step-start"), default=-1)
    for part in filter(_is_tool, parts[last + 1 :]):
        if part["toolCallId"].startswith(QUESTION):
            asked = part["toolCallId"].removeprefix(QUESTION)
            if part["state"] == "output-available":
                yield _entry(asked, part.get("output"))
            elif part["state"] == "output-error":
                yield refusal(asked, part.get("errorText"))


def _entry(interrupt: str, payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt, "status": "resolved", "payload": payload}
