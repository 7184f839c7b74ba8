"""Pure. OpenAI's older form of tools: `functions`, `function_call`, and results as messages of the role ``function``.
Calls have no ids there, and an answer has one call at most. A result answers the call before it, whatever its name:
Dify puts something else there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["as_tool_messages", "with_ids_of"]

_ID = "function_call_"


def as_tool_messages(messages: Sequence[Any]) -> list[Any]:
    """Posted messages with `tool_calls` and the role ``tool`` in place of the older form. Raises `Refusal`."""
    made: list[Any] = []
    calls = 0
    for n, message in enumerate(messages):
        given = message if isinstance(message, Mapping) else {}
        if given.get("role") == "function":
            if not calls:
                raise Refusal(400, "INVALID_INPUT", "no function was called before this result", path=f"/messages/{n}")
            made.append({"role": "tool", "tool_call_id": f"{_ID}{calls}", "content": given.get("content")})
        elif given.get("function_call") is not None and not given.get("tool_calls"):
            calls += 1
            made.append({**given, "tool_calls": [{"id": f"{_ID}{calls}", "function": given["function_call"]}]})
        else:
            made.append(message)
    return made


def with_ids_of(history: Sequence[Any], messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Messages as `read_chat` gives them, with the thread's ids of the calls that were posted without one. The newest
    are found first: a thread may hold more, or less, than was posted."""
    posted = [call for m in messages for call in m.get("toolCalls") or () if call["id"].startswith(_ID)]
    if not posted:
        return messages
    held = [call for message in history for call in getattr(message, "tool_calls", None) or ()]
    ids: dict[str, str] = {}
    for call in reversed(posted):
        at = next((n for n in range(len(held) - 1, -1, -1) if _same(call["function"], held[n].function)), None)
        if at is not None:
            ids[call["id"]] = held[at].id
            del held[at:]
    return [_renamed(message, ids) for message in messages]


def _renamed(message: Mapping[str, Any], ids: Mapping[str, str]) -> Mapping[str, Any]:
    if message["role"] == "tool":
        return {**message, "toolCallId": ids.get(message["toolCallId"], message["toolCallId"])}
    if message.get("toolCalls"):
        return {**message, "toolCalls": [{**c, "id": ids.get(c["id"], c["id"])} for c in message["toolCalls"]]}
    return message


def _same(posted: Mapping[str, Any], held: Any) -> bool:
    return bool(posted["name"] == held.name and _values(posted["arguments"]) == _values(held.arguments))


def _values(arguments: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(arguments)
    return arguments
