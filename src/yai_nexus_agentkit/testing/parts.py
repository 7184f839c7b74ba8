"""The parts of a scripted answer, as providers really send them in their chunks.

The shapes are those of langchain-anthropic, langchain-openai (Responses), langchain-deepseek and langchain-google-genai
as they arrive in ``AIMessageChunk`` (content blocks or ``additional_kwargs``), before any normalisation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

__all__ = [
    "Part",
    "Provider",
    "ai_message",
    "interleave",
    "reasoning_part",
    "redacted_part",
    "text_part",
    "tool_call_part",
    "tool_call_parts",
    "tool_calls_part",
]

Part: TypeAlias = str | float | AIMessage | BaseException
"""Text chunk, pause in seconds, chunk (`AIMessageChunk`) or whole message (`AIMessage`), exception to raise."""

Provider: TypeAlias = Literal["anthropic", "deepseek", "openai", "gemini"]


def tool_call_part(
    name: str | None = None,
    args: str | None = "",
    id: str | None = None,
    *,
    index: int | None = 0,
    content: Any = "",
) -> AIMessageChunk:
    """One streamed fragment of a tool call, exactly as given. `args` is a piece of JSON text."""
    return AIMessageChunk(content=content, tool_call_chunks=[tool_call_chunk(name=name, args=args, id=id, index=index)])


def tool_call_parts(
    name: str,
    args: Mapping[str, Any] | str,
    id: str | None,
    *,
    index: int | None = 0,
    pieces: int = 2,
    ids: Literal["first", "all", "empty"] = "first",
) -> list[AIMessageChunk]:
    """A tool call as most providers stream it: a chunk with name and id, then the arguments in `pieces` fragments.

    `args` as text is sent as it is, so that a script can have invalid or cut off JSON. `ids`: the name and id of the
    later fragments are missing (``"first"``), the id is repeated (``"all"``), or both are empty (``"empty"``).
    ``pieces=0`` sends the name and the id only, as Anthropic does for a call without arguments.
    """
    text = args if isinstance(args, str) else json.dumps(args)
    again = {"first": (None, None), "all": (None, id), "empty": ("", "")}[ids]
    later = [tool_call_part(again[0], piece, again[1], index=index) for piece in _cut(text, pieces)]
    return [tool_call_part(name, "", id, index=index), *later]


def tool_calls_part(*calls: tuple[str, Mapping[str, Any] | str, str | None], content: Any = "") -> AIMessageChunk:
    """Whole tool calls ``(name, args, id)`` that arrive together in one chunk, indexed from 0."""
    chunks = [
        tool_call_chunk(name=name, args=args if isinstance(args, str) else json.dumps(args), id=id, index=index)
        for index, (name, args, id) in enumerate(calls)
    ]
    return AIMessageChunk(content=content, tool_call_chunks=chunks)


def interleave(*streams: Sequence[Part]) -> list[Part]:
    """The parts of several streams in turns, each stream in its order: parallel calls, which differ in their index."""
    longest = max((len(stream) for stream in streams), default=0)
    return [stream[n] for n in range(longest) for stream in streams if n < len(stream)]


def text_part(text: str, *, index: int = 0, **fields: Any) -> AIMessageChunk:
    """Text as a content block, as Anthropic (with tools) and OpenAI Responses send it."""
    return AIMessageChunk(content=[{"type": "text", "text": text, "index": index, **fields}])


def reasoning_part(
    text: str = "",
    *,
    provider: Provider = "anthropic",
    index: int = 0,
    id: str | None = None,
    signature: str | None = None,
    encrypted: str | None = None,
    summary_index: int = 0,
) -> AIMessageChunk:
    """One chunk of a model's reasoning in the shape of `provider`.

    ``anthropic``: a thinking block; a `signature` comes in a chunk of its own, without text. ``openai``: a Responses
    item with `id` and one summary part `summary_index`, or `encrypted` content. ``gemini``: a thinking block.
    ``deepseek``: ``additional_kwargs["reasoning_content"]``; it knows neither signature nor encrypted content.

    Raises:
        ValueError: a field that the provider does not have.
    """
    if signature is not None and provider not in ("anthropic", "gemini"):
        raise ValueError(f"{provider} reasoning has no signature")
    if encrypted is not None and provider != "openai":
        raise ValueError(f"{provider} reasoning has no encrypted content")
    if provider == "deepseek":
        return AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
    block: dict[str, Any]
    if provider == "openai":
        summary = [{"index": summary_index, "type": "summary_text", "text": text}] if text else []
        block = {"type": "reasoning", "summary": summary, "index": index, "id": id, "encrypted_content": encrypted}
    else:
        block = {"type": "thinking", "thinking": text, "index": index, "signature": signature}
    return AIMessageChunk(content=[{key: value for key, value in block.items() if value is not None}])


def redacted_part(data: str, *, index: int = 0) -> AIMessageChunk:
    """Anthropic's redacted thinking: encrypted, never shown, sent back as it came."""
    return AIMessageChunk(content=[{"type": "redacted_thinking", "data": data, "index": index}])


def ai_message(content: Any = "", *calls: tuple[str, Mapping[str, Any], str | None], **fields: Any) -> AIMessage:
    """A whole message with tool calls ``(name, args, id)``, for models that do not stream."""
    tool_calls = [{"name": name, "args": dict(args), "id": id, "type": "tool_call"} for name, args, id in calls]
    return AIMessage(content=content, tool_calls=tool_calls, **fields)


def _cut(text: str, pieces: int) -> Iterable[str]:
    """`text` in at most `pieces` parts, the first ones shorter, none empty."""
    if pieces <= 0:
        return []
    size = max(1, len(text) // pieces)
    bounds = [min(n * size, len(text)) for n in range(pieces)] + [len(text)]
    return [text[a:b] for a, b in pairwise(bounds) if a < b]
