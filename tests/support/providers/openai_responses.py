"""Streams of OpenAI's Responses API, built item by item.

ResponsesStream().reasoning("Weighing it.").text("Take the bus.").done()
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

__all__ = ["ResponsesStream"]

_USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 29,
}


class ResponsesStream:
    """One answer. Every method but `done` adds one output item and returns the stream."""

    def __init__(self, id: str = "resp_1") -> None:
        self._id = id
        self._items: list[dict[str, Any]] = []
        self._events: list[str] = []
        self._push("response.created", response=self._response("in_progress"))
        self._push("response.in_progress", response=self._response("in_progress"))

    def reasoning(self, *summaries: str, id: str = "rs_1", encrypted: str | None = None) -> Self:
        """A reasoning item whose summary has these parts."""
        place = {"item_id": id, "output_index": len(self._items)}
        sealed = {} if encrypted is None else {"encrypted_content": encrypted}
        self._add({"id": id, "type": "reasoning", "summary": [], **sealed})
        parts = [{"type": "summary_text", "text": text} for text in summaries]
        for index, part in enumerate(parts):
            at = {**place, "summary_index": index}
            kind = "response.reasoning_summary"
            self._push(f"{kind}_part.added", **at, part={"type": "summary_text", "text": ""})
            for piece in _pieces(part["text"], 9):
                self._push(f"{kind}_text.delta", **at, delta=piece)
            self._push(f"{kind}_text.done", **at, text=part["text"])
            self._push(f"{kind}_part.done", **at, part=part)
        return self._done({"id": id, "type": "reasoning", "summary": parts, **sealed})

    def text(
        self, *texts: str, id: str = "msg_1", annotations: Sequence[Mapping[str, Any]] = (), refusal: str = ""
    ) -> Self:
        """A message with one part per text (each with all annotations), and a refusal behind them if there is one."""
        place = {"item_id": id, "output_index": len(self._items)}
        self._add({"id": id, "type": "message", "status": "in_progress", "content": [], "role": "assistant"})
        content = [
            {"type": "output_text", "annotations": list(annotations), "logprobs": [], "text": text} for text in texts
        ]
        for index, part in enumerate(content):
            at = {**place, "content_index": index}
            self._push("response.content_part.added", **at, part={**part, "annotations": [], "text": ""})
            for piece in _pieces(str(part["text"]), 8):
                self._push("response.output_text.delta", **at, delta=piece, logprobs=[])
            for number, annotation in enumerate(annotations):
                added = {"annotation_index": number, "annotation": annotation}
                self._push("response.output_text.annotation.added", **at, **added)
            self._push("response.output_text.done", **at, text=part["text"], logprobs=[])
            self._push("response.content_part.done", **at, part=part)
        if refusal:
            at, part = {**place, "content_index": len(content)}, {"type": "refusal", "refusal": refusal}
            self._push("response.content_part.added", **at, part={**part, "refusal": ""})
            for piece in _pieces(refusal, 7):
                self._push("response.refusal.delta", **at, delta=piece)
            self._push("response.refusal.done", **at, refusal=refusal)
            self._push("response.content_part.done", **at, part=part)
            content.append(part)
        return self._done({"id": id, "type": "message", "status": "completed", "content": content, "role": "assistant"})

    def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> Self:
        """A function call."""
        id, text = f"fc_{call_id}", json.dumps(arguments)
        place = {"item_id": id, "output_index": len(self._items)}
        item = {"id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name}
        self._add({**item, "status": "in_progress", "arguments": ""})
        for piece in _pieces(text, max(1, len(text) // 3)):
            self._push("response.function_call_arguments.delta", **place, delta=piece)
        self._push("response.function_call_arguments.done", **place, arguments=text, name=name)
        return self._done({**item, "arguments": text})

    def web_search(self, query: str, id: str = "ws_1") -> Self:
        """A search that OpenAI ran."""
        place = {"item_id": id, "output_index": len(self._items)}
        self._add({"id": id, "type": "web_search_call", "status": "in_progress"})
        for status in ("in_progress", "searching", "completed"):
            self._push(f"response.web_search_call.{status}", **place)
        action = {"type": "search", "query": query, "sources": None}
        return self._done({"id": id, "type": "web_search_call", "status": "completed", "action": action})

    def image(self, base64: str, id: str = "ig_1") -> Self:
        """An image that OpenAI made, after one preview."""
        place = {"item_id": id, "output_index": len(self._items)}
        look = {"background": "opaque", "output_format": "png", "quality": "high", "size": "1024x1024"}
        kind = "image_generation_call"
        self._add({"id": id, "type": kind, "status": "in_progress"})
        self._push(f"response.{kind}.in_progress", **place)
        self._push(f"response.{kind}.generating", **place)
        preview = {"partial_image_index": 0, "partial_image_b64": base64[:8]}
        self._push(f"response.{kind}.partial_image", **place, **preview, **look)
        made = {"result": base64, "revised_prompt": "a cat", **look}
        return self._done({"id": id, "type": kind, "status": "completed", **made})

    def code(self, code: str, logs: str, id: str = "ci_1") -> Self:
        """Code that OpenAI ran."""
        place = {"item_id": id, "output_index": len(self._items)}
        kind, item = "code_interpreter_call", {"id": id, "type": "code_interpreter_call", "container_id": "cntr_1"}
        self._add({**item, "status": "in_progress", "code": "", "outputs": None})
        self._push(f"response.{kind}.in_progress", **place)
        for piece in _pieces(code, 6):
            self._push(f"response.{kind}_code.delta", **place, delta=piece)
        self._push(f"response.{kind}_code.done", **place, code=code)
        self._push(f"response.{kind}.interpreting", **place)
        self._push(f"response.{kind}.completed", **place)
        outputs = [{"type": "logs", "logs": logs}]
        return self._done({**item, "status": "completed", "code": code, "outputs": outputs})

    def mcp_call(self, name: str, arguments: Mapping[str, Any], output: str, id: str = "mcp_1") -> Self:
        """A call to a tool of an MCP server that OpenAI made, after it listed the server's tools."""
        listed = {"id": f"mcpl_{id}", "type": "mcp_list_tools", "server_label": "wiki", "error": None}
        tools = [{"name": name, "input_schema": {"type": "object"}, "annotations": None, "description": name}]
        self._add({**listed, "tools": []})
        self._push("response.mcp_list_tools.completed", output_index=len(self._items), item_id=listed["id"])
        self._done({**listed, "tools": tools})
        place, text = {"item_id": id, "output_index": len(self._items)}, json.dumps(arguments)
        item: dict[str, Any] = {"id": id, "type": "mcp_call", "name": name, "server_label": "wiki"}
        item |= {"approval_request_id": None, "error": None}
        self._add({**item, "status": "in_progress", "arguments": "", "output": None})
        self._push("response.mcp_call.in_progress", **place)
        self._push("response.mcp_call_arguments.delta", **place, delta=text)
        self._push("response.mcp_call_arguments.done", **place, arguments=text)
        self._push("response.mcp_call.completed", **place)
        return self._done({**item, "status": "completed", "arguments": text, "output": output})

    def custom_call(self, name: str, text: str, call_id: str) -> Self:
        """A call to a custom tool, whose input is plain text."""
        id = f"ctc_{call_id}"
        place = {"item_id": id, "output_index": len(self._items)}
        item = {"id": id, "type": "custom_tool_call", "status": "completed", "call_id": call_id, "name": name}
        self._add({**item, "status": "in_progress", "input": ""})
        for piece in _pieces(text, 5):
            self._push("response.custom_tool_call_input.delta", **place, delta=piece)
        self._push("response.custom_tool_call_input.done", **place, input=text)
        return self._done({**item, "input": text})

    def done(self, status: str = "completed", **fields: Any) -> list[str]:
        """The events of the answer. `status` "incomplete" with ``incomplete_details={"reason": ...}`` is a cut one."""
        self._push(f"response.{status}", response=self._response(status, usage=_USAGE, **fields))
        return self._events

    def _add(self, item: Mapping[str, Any]) -> None:
        self._push("response.output_item.added", output_index=len(self._items), item=item)

    def _done(self, item: dict[str, Any]) -> Self:
        self._push("response.output_item.done", output_index=len(self._items), item=item)
        self._items.append(item)
        return self

    def _push(self, type: str, **fields: Any) -> None:
        data = {"type": type, "sequence_number": len(self._events), **fields}
        self._events.append(f"event: {type}\ndata: {json.dumps(data)}\n\n")

    def _response(self, status: str, **fields: Any) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": 1760000000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "gpt-5-mini",
            "output": list(self._items),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": None,
            **fields,
        }


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
