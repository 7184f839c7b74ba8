"""Pure. The shape of what a page posts: the npm package ``ai`` in its versions 5, 6 and 7 can have sent it.

The AI SDK's own check (``validateUIMessages``) is the source. A message has what any version allows: a chat may be
older than its page. More is accepted where pages work with it:

- Null is as good as absent. Applications store messages so.
- JSON has no ``undefined``: a call may lack its input or output, and an error its text.
- An answered call may lack what was said to its approval, which another tab may have answered.
- Members that no version knows, and the content of data, metadata, facts of a provider, citations and steering
  messages, are anything.

A part whose type no version has is refused: nobody would read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.json.patch import pointer

__all__ = ["check_body", "check_message"]

_Check = Callable[[Any], str]
"""The words for a value that is wrong; ``""`` for one that is right."""


def _of(kind: type[Any], words: str) -> _Check:
    return lambda value: "" if isinstance(value, kind) else words


def _one_of(*words: Any) -> _Check:
    return lambda value: "" if value in words else f"must be {' or '.join(map(repr, words))}"


_text, _flag, _list = _of(str, "must be a string"), _of(bool, "must be true or false"), _of(list, "must be a list")
_object = _of(dict, "must be an object")


def _id(value: Any) -> str:
    return "" if isinstance(value, str) and value else "must be a string that is not empty"


def _by_provider(value: Any) -> str:
    return "" if isinstance(value, dict) and {*map(type, value.values())} <= {dict} else "must be an object of objects"


_PLAIN: Mapping[str, Sequence[str]] = {
    "text": ["text"],
    "reasoning": ["text"],
    "file": ["mediaType", "url"],
    "reasoning-file": ["mediaType", "url"],
    "source-url": ["sourceId", "url"],
    "source-document": ["sourceId", "mediaType", "title"],
    "custom": ["kind"],
    "steering-message": ["id", "parts"],
    "step-start": [],
}
"""The types of parts besides ``data-*`` and calls, with the members that each must have."""
_CALL: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("input-streaming", "input-available", "output-available", "output-error", "output-denied"), ("toolCallId",)
    ),
    **dict.fromkeys(("approval-requested", "approval-responded"), ("toolCallId", "approval")),
}
"""The states of a call, with the members that it must have in each."""
_MEMBERS: Mapping[str, _Check] = {
    **dict.fromkeys(("text", "mediaType", "url", "sourceId", "title", "filename", "kind", "id", "errorText"), _text),
    **dict.fromkeys(("toolName", "toolCallId"), _text),
    **dict.fromkeys(("providerExecuted", "preliminary"), _flag),
    **dict.fromkeys(("providerMetadata", "callProviderMetadata", "resultProviderMetadata"), _by_provider),
    **dict.fromkeys(("toolMetadata", "providerReference", "approval"), _object),
    **dict.fromkeys(("parts", "citations"), _list),
}
"""The members of parts that have one type wherever they are."""
_MISSING = "is missing"
_FLOWS = _one_of("streaming", "done")
_APPROVAL: Mapping[str, _Check] = {"id": _text, "approved": _flag, "reason": _text}
_MESSAGE: Mapping[str, _Check] = {"id": _id, "role": _one_of("user", "assistant", "system"), "parts": _list}
_BODY: Mapping[str, _Check] = {
    "id": _id,
    "messages": _list,
    "trigger": _one_of("submit-message", "regenerate-message"),
    "messageId": _text,
    "state": _object,
}


def check_body(body: Any) -> None:
    """Check all but the messages of a posted body, which is JSON data. Raises `RunInputError`."""
    if not isinstance(body, dict):
        raise RunInputError("the body is not a JSON object")
    _refuse("", _fault(body, _BODY, ("id", "messages")))
    if not body["messages"]:
        raise RunInputError("must not be empty", path="/messages")
    tools = body.get("tools")
    for name, tool in tools.items() if isinstance(tools, dict) else ():
        if fault := _object(tool):
            raise RunInputError(fault, path=f"/tools{pointer(name)}")
        _refuse(f"/tools{pointer(name)}", _fault(tool, {"description": _text, "parameters": _object}, ()))


def check_message(message: Any, path: str, most_parts: int | None) -> None:
    """Check a message of a body. Raises `RunInputError`."""
    if fault := _object(message):
        raise RunInputError(fault, path=path)
    _refuse(path, _fault(message, _MESSAGE, ("id", "role", "parts")))
    parts = message["parts"]
    if most_parts is not None and len(parts) > most_parts:
        raise RunInputError(f"{len(parts)} entries; at most {most_parts} are accepted", path=f"{path}/parts")
    if not parts and message["role"] != "assistant":
        raise RunInputError("must not be empty", path=f"{path}/parts")
    for n, part in enumerate(parts):
        if (wrong := _of_part(part)) is not None:
            _refuse(f"{path}/parts/{n}", wrong)


_Fault = tuple[str, str] | None
"""The place of what is wrong, as a JSON Pointer, and the words for it; None: nothing is."""


def _refuse(path: str, fault: _Fault) -> None:
    """Raises `RunInputError` if something is wrong."""
    if fault is not None:
        place, words = fault
        raise RunInputError(words, path=path + place)


def _of_part(part: Any) -> _Fault:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return "", "a part must be an object with a type"
    needed = _PLAIN.get(kind)
    if needed is not None:
        state = part.get("state")
        if state is not None and kind in ("text", "reasoning") and (words := _FLOWS(state)):
            return "/state", words
        return _fault(part, _MEMBERS, needed)
    if kind.startswith("data-"):
        return _fault(part, {"id": _text}, ())
    if kind == "dynamic-tool" or kind.startswith("tool-"):
        return _of_call(part)
    return "/type", f"{kind[:100]!r} is no type of a part"


def _of_call(part: dict[str, Any]) -> _Fault:
    state = part.get("state")
    needed = _CALL.get(state) if isinstance(state, str) else None
    if needed is None:
        return "/state", f"must be one of {', '.join(_CALL)}"
    if part["type"] == "dynamic-tool" and part.get("toolName") is None:
        return "/toolName", _MISSING
    wrong = _fault(part, _MEMBERS, needed)
    if wrong is None and (approval := part.get("approval")) is not None:
        wrong = _fault(approval, _APPROVAL, ("id", "approved") if state == "approval-responded" else ("id",))
        return wrong and (f"/approval{wrong[0]}", wrong[1])
    return wrong


def _fault(given: dict[str, Any], members: Mapping[str, _Check], needed: Sequence[str]) -> _Fault:
    """The first member that is wrong, or that is needed and not there."""
    for name in needed:
        if given.get(name) is None:
            return f"/{name}", _MISSING
    for name, value in given.items():
        if value is not None and (check := members.get(name)) is not None and (words := check(value)):
            return f"/{name}", words
    return None
