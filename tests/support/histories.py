"""A scripted model that refuses what providers refuse: histories in which tool calls and results do not match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from yai_nexus_agentkit.orchestration.client_tools import PENDING
from yai_nexus_agentkit.testing import Entry, ScriptedChatModel

__all__ = ["calls", "history_problems", "strict_model", "transcript"]


def strict_model(script: Sequence[Entry] | Callable[[list[BaseMessage]], Any], **fields: Any) -> ScriptedChatModel:
    """A scripted model that raises when it is given an invalid history. Its script is as `ScriptedChatModel`'s."""

    def checked(entry: Any) -> Callable[[list[BaseMessage]], Any]:
        def answer(messages: list[BaseMessage]) -> Any:
            problems = history_problems(messages)
            assert not problems, "; ".join(problems)
            return entry(messages) if callable(entry) else entry

        return answer

    return ScriptedChatModel(script=checked(script) if callable(script) else [checked(e) for e in script], **fields)


def history_problems(messages: Sequence[BaseMessage]) -> list[str]:
    """A provider's reasons to refuse the messages: every call is answered exactly once, right after its message."""
    found: list[str] = []
    waiting: list[str] = []
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if PENDING in message.additional_kwargs:
                found.append(f"message {position} is a placeholder")
            if message.tool_call_id not in waiting:
                found.append(f"message {position} answers {message.tool_call_id}, which is not open")
            else:
                waiting.remove(message.tool_call_id)
            continue
        found += [f"message {position} comes before the answer to {call}" for call in waiting]
        waiting = [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return found + [f"{call} is not answered" for call in waiting]


def calls(*wanted: tuple[str, dict[str, Any], str]) -> AIMessage:
    """A model's message with these calls: name, arguments, id."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id} for name, args, id in wanted])


def transcript(messages: Sequence[AnyMessage | BaseMessage]) -> list[tuple[str, str]]:
    """Who said what: the type and text of every message; a tool message with the id of its call."""
    return [
        (f"tool {m.tool_call_id}" if isinstance(m, ToolMessage) else m.type, str(m.text or m.content)) for m in messages
    ]
