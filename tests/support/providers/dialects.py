"""The providers by name: how each one says text, calls tools, and is given a conversation back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_core.language_models import BaseChatModel

from tests.support.providers import gemini, openai_chat
from tests.support.providers.anthropic import AnthropicStream
from tests.support.providers.openai_responses import ResponsesStream
from tests.support.providers.server import Answer, ModelServer

__all__ = ["DIALECTS", "Call", "Dialect", "Said"]

Call: TypeAlias = tuple[str, Mapping[str, Any], str]
"""Name, arguments and id of a tool call. Gemini's calls have no id."""

Said: TypeAlias = tuple[Any, ...]
"""One entry of a conversation as the provider reads it: ("user", text), ("assistant", text), ("call", name, arguments)
or ("result", text)."""


class Dialect(NamedTuple):
    """One provider's API and the class that speaks it."""

    model: Callable[[ModelServer], BaseChatModel]
    answer: Callable[[str, Sequence[Call], int], Answer]
    """The stream of the n-th answer: a text, and the calls behind it. Reasoning comes first where the API has it."""
    read: Callable[[Mapping[str, Any]], list[Said]]
    """The conversation in the body of a request."""
    reasons: bool
    """The answers begin with reasoning."""


def _chat_answer(text: str, calls: Sequence[Call], number: int) -> Answer:
    deltas = [d for n, (name, args, id) in enumerate(calls) for d in openai_chat.call(name, args, id, index=n)]
    finish = "tool_calls" if calls else "stop"
    return openai_chat.answer(*([text] if text else []), *deltas, id=f"chatcmpl-{number}", finish=finish)


def _responses_answer(text: str, calls: Sequence[Call], number: int) -> Answer:
    stream = ResponsesStream(f"resp_{number}").reasoning("Weighing it.", id=f"rs_{number}", encrypted="gAAA")
    if text:
        stream.text(text, id=f"msg_{number}")
    for name, args, id in calls:
        stream.call(name, args, id)
    return stream.done()


def _anthropic_answer(text: str, calls: Sequence[Call], number: int) -> Answer:
    stream = AnthropicStream(f"msg_0{number}").thinking("Weighing it.", signature="EqQBCg")
    if text:
        stream.text(text)
    for name, args, id in calls:
        stream.call(name, args, id)
    return stream.done("tool_use" if calls else "end_turn")


def _gemini_answer(text: str, calls: Sequence[Call], number: int) -> Answer:
    made = [gemini.call(name, args, signature=None if n else "c2ln") for n, (name, args, _) in enumerate(calls)]
    chunks: list[Any] = [gemini.thought("Weighing it."), *([text] if text else []), *([made] if made else [])]
    return gemini.answer(*chunks, id=f"gem-{number}")


def _read_chat(body: Mapping[str, Any]) -> list[Said]:
    found: list[Said] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            found.append(("result", message["content"]))
        elif message["content"]:
            found.append((message["role"], message["content"]))
        for call in message.get("tool_calls", ()):
            found.append(("call", call["function"]["name"], json.loads(call["function"]["arguments"])))
    return found


def _read_responses(body: Mapping[str, Any]) -> list[Said]:
    found: list[Said] = []
    for item in body["input"]:
        match item["type"]:
            case "message":
                found.append((item["role"], _text(item["content"])))
            case "function_call":
                found.append(("call", item["name"], json.loads(item["arguments"])))
            case "function_call_output":
                found.append(("result", item["output"]))
    return found


def _read_anthropic(body: Mapping[str, Any]) -> list[Said]:
    found: list[Said] = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    found.append((message["role"], block["text"]))
                case "tool_use":
                    found.append(("call", block["name"], block["input"]))
                case "tool_result":
                    found.append(("result", block["content"]))
    return found


def _read_gemini(body: Mapping[str, Any]) -> list[Said]:
    found: list[Said] = []
    for content in body["contents"]:
        role = "assistant" if content["role"] == "model" else content["role"]
        for part in content["parts"]:
            if "functionCall" in part:
                found.append(("call", part["functionCall"]["name"], part["functionCall"]["args"]))
            elif "functionResponse" in part:
                found.append(("result", part["functionResponse"]["response"]["output"]))
            elif not part.get("thought"):
                found.append((role, part["text"]))
    return found


def _text(content: str | Iterable[Mapping[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


DIALECTS: Mapping[str, Dialect] = {
    "openai_chat": Dialect(ModelServer.chat_openai, _chat_answer, _read_chat, reasons=False),
    "openai_responses": Dialect(
        lambda server: server.chat_openai(use_responses_api=True), _responses_answer, _read_responses, reasons=True
    ),
    "anthropic": Dialect(
        lambda server: server.chat_anthropic(thinking={"type": "enabled", "budget_tokens": 1024}),
        _anthropic_answer,
        _read_anthropic,
        reasons=True,
    ),
    "gemini": Dialect(ModelServer.chat_gemini, _gemini_answer, _read_gemini, reasons=True),
}
