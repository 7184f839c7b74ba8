"""Streams of OpenAI's chat completions, as the API sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["answer", "call", "refusal"]

_USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def answer(
    *deltas: str | Mapping[str, Any], id: str = "chatcmpl-1", finish: str = "stop", model: str = "gpt-5-mini"
) -> list[str]:
    """One answer. A delta is a piece of text, or the ``delta`` member of a chunk as it is."""
    head = {"id": id, "object": "chat.completion.chunk", "created": 1760000000, "model": model, "usage": None}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        return _data({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    return [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        *(chunk({"content": delta} if isinstance(delta, str) else delta) for delta in deltas),
        chunk({}, finish),
        _data({**head, "choices": [], "usage": _USAGE}),
        "data: [DONE]\n\n",
    ]


def call(name: str, arguments: Mapping[str, Any], id: str, *, index: int = 0) -> Iterator[Mapping[str, Any]]:
    """The deltas of one function call: its name, then its arguments in pieces."""
    function = {"name": name, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}
    for piece in _pieces(json.dumps(arguments)):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def refusal(text: str) -> Iterator[Mapping[str, Any]]:
    """The deltas of a refusal."""
    return ({"refusal": piece} for piece in _pieces(text))


def _pieces(text: str, count: int = 3) -> Iterator[str]:
    size = max(1, -(-len(text) // count))
    return (text[start : start + size] for start in range(0, len(text), size))


def _data(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
