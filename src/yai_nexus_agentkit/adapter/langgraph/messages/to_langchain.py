"""Pure. Messages of AG-UI as LangChain's, for a model. What `convert.to_agui` makes of them is what the client had."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    DocumentPart,
    FileSource,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ag_ui.core.types import ContentPart
from langchain_core import messages as lc

from yai_nexus_agentkit.adapter.langgraph.messages.answer import own_messages, restore_served
from yai_nexus_agentkit.adapter.langgraph.messages.convert import DEVELOPER, KEPT
from yai_nexus_agentkit.adapter.langgraph.messages.layout import arrange
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_marked, marks_in
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import SIGNATURES, restore
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["content_of", "to_langchain"]


def to_langchain(messages: Sequence[Message]) -> list[lc.BaseMessage]:
    """The messages as a model can be given them; subagents' messages and activities are left out."""
    own = [message for message in messages if message.subagent_run_id is None]
    thoughts = _thoughts(own)
    results = {m.id for m in own_messages(own) if isinstance(m, ToolMessage)}
    served = {m.tool_call_id: m for m in own if isinstance(m, ToolMessage) and m.id not in results}
    names: dict[str, str] = {}
    out: list[lc.BaseMessage] = []
    for message in own:
        match message:
            case UserMessage():
                content, kept = content_of(message.content)
                extra = _keep(message, kept)
                out.append(lc.HumanMessage(content, id=message.id, name=message.name, additional_kwargs=extra))
            case SystemMessage() | DeveloperMessage():
                extra, text = _keep(message, {}), clean_text(message.content)
                if isinstance(message, DeveloperMessage) and is_marked(message):
                    out.append(lc.HumanMessage(text, id=message.id, name=message.name, additional_kwargs=extra))
                    continue
                if isinstance(message, DeveloperMessage):
                    extra[DEVELOPER] = "developer"
                out.append(lc.SystemMessage(text, id=message.id, name=message.name, additional_kwargs=extra))
            case AssistantMessage():
                names |= {call.id: call.function.name for call in message.tool_calls or ()}
                out.append(_assistant(message, thoughts.get(message.id, []), served))
            case ToolMessage() if message.id in results:
                out.append(_tool(message, names.get(message.tool_call_id)))
    return out


def _assistant(
    message: AssistantMessage, thoughts: list[ReasoningMessage], results: Mapping[str, ToolMessage]
) -> lc.AIMessage:
    valid: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    calls: dict[str, Any] = {}
    signatures: dict[str, str] = {}
    served, restored = restore_served(message, results), restore(thoughts)
    for call in message.tool_calls or ():
        if call.id in served.calls:
            continue
        entry = {"name": call.function.name, "id": call.id}
        try:
            valid.append({**entry, "args": _arguments(call.function.arguments), "type": "tool_call"})
        except (ValueError, RecursionError) as error:
            invalid.append({**entry, "args": call.function.arguments, "error": str(error), "type": "invalid_tool_call"})
        if call.encrypted_value is not None:
            signatures[call.id] = call.encrypted_value
        extra = {"metadata": call.metadata, "encrypted_value": call.encrypted_value}
        if any(value is not None for value in extra.values()):
            calls[call.id] = {key: value for key, value in extra.items() if value is not None}
    text, placed = clean_text(message.content or ""), [*restored.blocks, *served.blocks]
    return lc.AIMessage(
        content=arrange(text, placed) if placed else text,
        id=message.id,
        name=message.name,
        tool_calls=valid,
        invalid_tool_calls=invalid,
        additional_kwargs={
            **restored.additional_kwargs,
            **({SIGNATURES: signatures} if signatures else {}),
            **_keep(message, {"calls": calls} if calls else {}),
        },
        response_metadata={**restored.response_metadata, **served.response_metadata},
    )


def _tool(message: ToolMessage, name: str | None) -> lc.ToolMessage:
    content, kept = content_of(message.content)
    if message.error is not None:
        kept["error"] = message.error
        if not content and message.error:  # models are sent the content alone
            content, kept["blank"] = clean_text(message.error), True
    return lc.ToolMessage(
        content=content,
        id=message.id,
        tool_call_id=message.tool_call_id,
        name=name,  # Gemini refuses results without the function's name
        status="success" if message.error is None else "error",
        additional_kwargs=_keep(message, kept),
    )


def _thoughts(messages: Sequence[Message]) -> dict[str, list[ReasoningMessage]]:
    """Reasoning messages by the assistant message they belong to: the one their id names, else the next one."""
    answers = {message.id for message in messages if isinstance(message, AssistantMessage)}
    found: dict[str, list[ReasoningMessage]] = {}
    waiting: list[ReasoningMessage] = []
    for message in messages:
        if isinstance(message, ReasoningMessage):
            owner, _, number = message.id.rpartition("-reasoning-")
            if owner in answers and number.isdecimal():
                found.setdefault(owner, []).append(message)
            else:
                waiting.append(message)
        else:
            if isinstance(message, AssistantMessage) and waiting:
                found.setdefault(message.id, []).extend(waiting)
            waiting = []
    return found


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; no text is no arguments. Raises `ValueError`."""
    parsed = json.loads(text, parse_constant=_refuse) if text.strip() else {}
    if not isinstance(parsed, dict):
        raise ValueError("the arguments are not a JSON object")
    return parsed


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _keep(message: Message, kept: dict[str, Any]) -> dict[str, Any]:
    """``additional_kwargs`` for what LangChain has no field for, and the mark of middleware."""
    mark, metadata = marks_in(message.metadata), message.metadata
    if mark and isinstance(metadata, Mapping):
        metadata = {key: value for key, value in metadata.items() if key not in mark} or None
    for key, value in (("metadata", metadata), ("encrypted_value", getattr(message, "encrypted_value", None))):
        if value is not None:
            kept[key] = value
    return {**mark, KEPT: kept} if kept else mark


def content_of(content: str | list[ContentPart]) -> tuple[str | list[str | dict[str, Any]], dict[str, Any]]:
    """LangChain content, and what has to be kept with it."""
    if isinstance(content, str):
        return clean_text(content), {}
    extras = [
        {key: value for key, value in (("id", part.id), ("metadata", part.metadata)) if value is not None}
        for part in content
    ]
    blocks: list[str | dict[str, Any]] = [_block(part) for part in content]
    return blocks, {"parts": extras}


def _block(part: ContentPart) -> dict[str, Any]:
    """The LangChain standard block for a part. Members without a place in it (id, metadata) are left out: providers'
    packages pass unknown members of text blocks on, and APIs refuse them."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": clean_text(part.text)}
    block: dict[str, Any] = {"type": "file" if isinstance(part, DocumentPart) else part.type}
    source = part.source
    field = {"data": "base64", "url": "url", "file": "file_id"}[source.type]
    block[field] = source.value
    if source.mime_type:
        block["mime_type"] = source.mime_type
    extras: dict[str, Any] = {}
    if isinstance(part.metadata, Mapping) and isinstance(name := part.metadata.get("filename"), str):
        extras["filename"] = name  # OpenAI wants one for every inline file
    if isinstance(source, FileSource) and source.provider:
        extras["provider"] = source.provider
    if extras:
        block["extras"] = extras
    return block
