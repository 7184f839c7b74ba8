"""Streams of Google's Gemini API, as it sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["Part", "answer", "call", "image", "thought"]

Part: TypeAlias = Mapping[str, Any]


def answer(
    *chunks: str | Part | Sequence[Part],
    id: str = "gem-1",
    finish: str = "STOP",
    grounding: Mapping[str, Any] | None = None,
) -> list[str]:
    """One answer. A chunk is text, one part, or several; `grounding` comes with the last one."""
    events = []
    for number, chunk in enumerate(chunks, 1):
        parts = [{"text": chunk}] if isinstance(chunk, str) else [chunk] if isinstance(chunk, Mapping) else list(chunk)
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if number == len(chunks):
            candidate["finishReason"] = finish
            if grounding is not None:
                candidate["groundingMetadata"] = grounding
        usage = {"promptTokenCount": 8, "candidatesTokenCount": 3 * number, "thoughtsTokenCount": 5}
        total = {**usage, "totalTokenCount": 13 + 3 * number}
        head = {"modelVersion": "gemini-3-pro-preview", "responseId": id}
        events.append(f"data: {json.dumps({'candidates': [candidate], 'usageMetadata': total, **head})}\r\n\r\n")
    return events


def thought(text: str) -> Part:
    """A piece of the model's thinking."""
    return {"text": text, "thought": True}


def call(name: str, arguments: Mapping[str, Any], *, signature: str | None = None) -> Part:
    """A function call. Gemini gives it no id, and may sign it."""
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": arguments}, **signed}


def image(base64: str, mime_type: str = "image/png") -> Part:
    """A picture that the model made."""
    return {"inlineData": {"mimeType": mime_type, "data": base64}}
