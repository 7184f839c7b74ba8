"""Streams of Anthropic's messages API, built block by block.

AnthropicStream().thinking("They greet.").text("Hello.").done()
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

__all__ = ["AnthropicStream"]

_CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class AnthropicStream:
    """One answer. Every method but `done` adds content blocks and returns the stream."""

    def __init__(self, id: str = "msg_01A", model: str = "claude-sonnet-4-6") -> None:
        self._events: list[str] = []
        self._index = 0
        head = {"id": id, "model": model, "type": "message", "role": "assistant", "content": []}
        usage = {"input_tokens": 25, "output_tokens": 1, "service_tier": "standard", **_CACHE}
        self._push("message_start", message={**head, "stop_reason": None, "stop_sequence": None, "usage": usage})
        self._push("ping")

    def thinking(self, text: str, signature: str = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h") -> Self:
        """A thinking block and its signature."""
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text, 10)]
        signed = {"type": "signature_delta", "signature": signature}
        return self._block({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed])

    def redacted(self, data: str = "EmwKAhgBEgy3va3pzix") -> Self:
        """A thinking block that Anthropic keeps to itself."""
        return self._block({"type": "redacted_thinking", "data": data})

    def text(self, text: str, citations: Sequence[Mapping[str, Any]] = ()) -> Self:
        """A text block, and the citations that came with it."""
        block = {"type": "text", "text": "", **({"citations": []} if citations else {})}
        deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in _pieces(text, 8)]
        return self._block(block, [*deltas, *({"type": "citations_delta", "citation": c} for c in citations)])

    def call(self, name: str, arguments: Mapping[str, Any], id: str) -> Self:
        """A call of one of the application's tools."""
        return self._use("tool_use", name, arguments, id)

    def web_search(self, query: str, id: str = "srvtoolu_01") -> Self:
        """A search that Anthropic ran, and what it found."""
        self._use("server_tool_use", "web_search", {"query": query}, id)
        found = {"type": "web_search_result", "title": "Weather", "url": "https://w.example/", "page_age": "1 day"}
        content = [{**found, "encrypted_content": "Eo8DCio"}]
        return self._block({"type": "web_search_tool_result", "tool_use_id": id, "content": content})

    def code(self, code: str, stdout: str, id: str = "srvtoolu_02") -> Self:
        """Code that Anthropic ran, and what it printed."""
        kind = "bash_code_execution"
        self._use("server_tool_use", kind, {"code": code}, id)
        content = {"type": f"{kind}_result", "stdout": stdout, "stderr": "", "return_code": 0, "content": []}
        return self._block({"type": f"{kind}_tool_result", "tool_use_id": id, "content": content})

    def done(self, stop: str = "end_turn") -> list[str]:
        """The events of the answer. `stop`: also "tool_use", "max_tokens", "refusal", "pause_turn"."""
        usage = {"input_tokens": 25, "output_tokens": 33, **_CACHE}
        self._push("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
        self._push("message_stop")
        return self._events

    def _use(self, kind: str, name: str, arguments: Mapping[str, Any], id: str) -> Self:
        text = json.dumps(arguments) if arguments else ""
        pieces = ["", *_pieces(text, max(1, len(text) // 3))]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        return self._block({"type": kind, "id": id, "name": name, "input": {}}, deltas)

    def _block(self, block: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]] = ()) -> Self:
        self._push("content_block_start", index=self._index, content_block=block)
        for delta in deltas:
            self._push("content_block_delta", index=self._index, delta=delta)
        self._push("content_block_stop", index=self._index)
        self._index += 1
        return self

    def _push(self, type: str, **fields: Any) -> None:
        self._events.append(f"event: {type}\ndata: {json.dumps({'type': type, **fields})}\n\n")


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
