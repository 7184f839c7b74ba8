"""Pure. A chat completion as bytes, in one piece or as a stream of chunks.

A chunk is one line, ``data: <JSON>``, and a blank one, LF only. Open WebUI cuts lines at U+2028, U+2029 and U+0085 too,
so these are escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from json.encoder import encode_basestring
from typing import Any

from ag_ui.core import AssistantMessage, BaseEvent, MessagesSnapshotEvent, RunErrorEvent, TextMessageContentEvent
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.transport.agui_sse import KEEP_ALIVE, SSEEncoder
from yai_nexus_agentkit.transport.facts import renamed
from yai_nexus_agentkit.transport.openai.answers import PARTED, ChatAnswer, Shown
from yai_nexus_agentkit.transport.openai.errors import error_body, status_of

__all__ = ["Chunks", "Completion"]

_FUNCTION = '"function"'
_CUTS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}


class Chunks(ChatAnswer):
    """A stream of ``chat.completion.chunk``. `usage`: send it in a last chunk."""

    status = 200
    headers: Mapping[str, str] = {**SSEEncoder.headers, "x-should-retry": "false"}
    keep_alive = KEEP_ALIVE

    def __init__(self, shown: Shown, *, usage: bool) -> None:
        super().__init__(shown)
        self._with_usage = usage
        self._complete = False
        head = {"id": shown.id, "object": "chat.completion.chunk", "created": shown.created, "model": shown.model}
        self._head = f"data: {_escaped(to_json(head).decode())[:-1]},"
        self._before = f'{self._head}"choices":[{{"index":0,"delta":{{"content":'
        self._id: str | None = None
        """The message whose text was written last."""

    def encode(self, event: BaseEvent) -> bytes:
        """The bytes of one event."""
        fields = event.__dict__
        if type(event) is TextMessageContentEvent and fields["message_id"] is self._id:
            self.pieces.append(fields["delta"])
            return self.text(fields["delta"])
        written = super().encode(event)
        if type(event) is TextMessageContentEvent:
            self._id = fields["message_id"] if written else None
        return written

    def finish(self) -> bytes:
        """The mark of a complete answer."""
        return b"data: [DONE]\n\n" if self._complete else b""

    def begin(self) -> bytes:
        """The answer begins."""
        return self._chunk('{"role":"assistant","content":""}')

    def text(self, delta: str) -> bytes:
        """A piece of the answer."""
        try:
            return f'{self._before}{_quoted(delta)}}},"finish_reason":null}}]}}\n\n'.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return self.text(clean_text(delta))

    def reasoning(self, delta: str) -> bytes:
        """A piece of the reasoning."""
        return self._chunk(f'{{"reasoning_content":{_quoted(clean_text(delta))}}}')

    def call(self, index: int, call_id: str, name: str) -> bytes:
        """A call begins."""
        function = f'"function":{{"name":{_quoted(clean_text(name))},"arguments":""}}'
        if self.shown.calls == "function":
            return self._chunk(f'{{"function_call"{function.removeprefix(_FUNCTION)}}}')
        named = f'"id":{_quoted(clean_text(call_id))},"type":"function",{function}'
        return self._chunk(f'{{"tool_calls":[{{"index":{index},{named}}}]}}')

    def arguments(self, index: int, delta: str) -> bytes:
        """A piece of the arguments of the newest call."""
        argued = f'"function":{{"arguments":{_quoted(clean_text(delta))}}}'
        if self.shown.calls == "function":
            return self._chunk(f'{{"function_call"{argued.removeprefix(_FUNCTION)}}}')
        return self._chunk(f'{{"tool_calls":[{{"index":{index},{argued}}}]}}')

    def end(self, reason: str, usage: Mapping[str, Any]) -> bytes:
        """The answer is complete."""
        self._complete = True
        last = self._chunk("{}", f'"{reason}"')
        if not self._with_usage:
            return last
        return last + f'{self._head}"choices":[],"usage":{to_json(usage).decode()}}}\n\n'.encode()

    def fail(self, event: RunErrorEvent) -> bytes:
        """The run failed: clients raise what has no choices, and look for nothing after it."""
        return f"data: {_escaped(error_body(event.message, event.code).decode())}\n\n".encode()

    def _chunk(self, delta: str, reason: str = "null") -> bytes:
        return f'{self._head}"choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}\n\n'.encode()


class Completion(ChatAnswer):
    """A ``chat.completion`` in one piece. Its status is known at its end."""

    def __init__(self, shown: Shown) -> None:
        super().__init__(shown)
        self.status = 200
        self._answer: dict[str, list[str]] = {}
        """The texts of the answer, by message."""
        self._reasoning: list[str] = []
        self._made: list[tuple[str, str, list[str]]] = []

    @property
    def headers(self) -> Mapping[str, str]:
        """The agent ran: clients must not repeat the request by themselves."""
        return {"content-type": "application/json", "x-should-retry": "false"}

    def finish(self) -> bytes:
        """Nothing follows."""
        return b""

    def begin(self) -> bytes:
        """The answer begins."""
        return b""

    def _write(self, own: str, delta: str) -> bytes:
        self.note(own, delta)
        self._answer.setdefault(own, []).append(delta)
        return b""

    def _add(self, text: str) -> bytes:
        return self._write(f"+{len(self._answer)}", text)

    def correct(self, event: MessagesSnapshotEvent, rewritten: Collection[str]) -> None:
        """Nothing was sent yet, so the texts of the thread are the answer."""
        stored = {m.id: m.content for m in event.messages if isinstance(m, AssistantMessage) and m.content}
        now = renamed(event.metadata)
        gone = [own for own in self._answer if own not in stored and own not in now and own[0] != "+"]
        new = [i for i in stored if i in rewritten and i not in self._answer]
        if len(gone) == len(new):
            now |= dict(zip(gone, new, strict=True))
        texts = {stored[own] for own in self._answer.keys() & stored.keys()}
        kept = {own: pieces for own, pieces in self._answer.items() if own not in gone or "".join(pieces) not in texts}
        said = ((now.get(own, own), pieces) for own, pieces in kept.items())
        self._answer = {i: [stored[i]] if i in rewritten and i in stored else pieces for i, pieces in said}

    def reasoning(self, delta: str) -> bytes:
        """A piece of the reasoning."""
        self._reasoning.append(delta)
        return b""

    def call(self, index: int, call_id: str, name: str) -> bytes:
        """A call begins."""
        self._made.append((call_id, name, []))
        return b""

    def arguments(self, index: int, delta: str) -> bytes:
        """A piece of the arguments of the newest call."""
        self._made[-1][2].append(delta)
        return b""

    def end(self, reason: str, usage: Mapping[str, Any]) -> bytes:
        """The answer is complete."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": clean_text(PARTED.join(map("".join, self._answer.values()))),
        }
        if self._reasoning:
            message["reasoning_content"] = clean_text("".join(self._reasoning))
        made = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": clean_text("".join(arguments))}}
            for i, name, arguments in self._made
            if self.is_open(i)
        ]
        if made and self.shown.calls == "function":
            message["function_call"] = made[0]["function"]
        elif made:
            message["tool_calls"] = made
        shown = self.shown
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        named = {"id": shown.id, "object": "chat.completion", "created": shown.created, "model": shown.model}
        return to_json({**named, "choices": [choice], "usage": usage})

    def fail(self, event: RunErrorEvent) -> bytes:
        """The run failed."""
        self.status = status_of(event.code)
        return error_body(event.message, event.code)


def _quoted(text: str) -> str:
    """JSON of a text, without characters at which some clients cut lines."""
    quoted: str = encode_basestring(text)
    return quoted if quoted.isascii() else quoted.translate(_CUTS)


def _escaped(json_text: str) -> str:
    return json_text if json_text.isascii() else json_text.translate(_CUTS)
