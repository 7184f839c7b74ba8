"""Pure. Model calls: what their chunks and final messages say, as text, reasoning and tool calls.

All state is keyed by the model's run id, never by "the current" node: calls of parallel branches interleave token by
token. Everything that a chunk carries is read, since providers put reasoning, text and several calls into one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, Message
from langchain_core.messages import AIMessageChunk, BaseMessage
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.messages.content import (
    Joiner,
    Text,
    minted_call_id,
    only_text,
    read_content,
    says_nothing,
)
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import (
    METADATA_KEY,
    Reasoning,
    form_metadata,
    reasoning_id,
    shape_of,
)
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["ModelLane"]

_GENERATED = "lc_"
"""Prefix of the ids LangChain makes up; any other id is the provider's, and it is the one the thread stores."""


@dataclass(slots=True)
class _Call:
    """A tool call while its chunks arrive."""

    position: int
    raw: str | None = None
    """The model's id; it may come late, or never."""
    name: str | None = None
    wire: str | None = None
    """The id on the wire, from the announcement on."""
    pieces: list[str] = field(default_factory=list)
    """The argument text so far: at the end it is compared with the arguments that LangChain made of it."""
    joiner: Joiner = field(default_factory=Joiner)


@dataclass(slots=True)
class _Thought:
    """The reasoning block under way. Most chunks are like the one before, but for the text."""

    message_id: str
    section: int
    lengths: dict[int, int]
    """Of the block's sections so far."""
    field: str
    """Where a chunk has the text: in a block of its content, or in its ``additional_kwargs``."""
    block: dict[str, Any] | None
    """The content's only block, without its text; None for the other place."""

    def more(self, fields: Mapping[str, Any]) -> str:
        """The text of a chunk that has nothing but more of this block; empty for any other chunk."""
        content, outside = fields["content"], fields["additional_kwargs"]
        if self.block is None:
            alone = not content and len(outside) == 1
            text = outside.get(self.field) if alone else None
        elif outside or type(content) is not list or len(content) != 1 or type(content[0]) is not dict:
            return ""
        else:
            text = content[0].get(self.field)
            if {**content[0], self.field: ""} != self.block:
                return ""
        return text if type(text) is str else ""


class ModelLane:
    """One model call. `stream` and `end` return the events; after `end` the lane is used up."""

    def __init__(self, run: NativeRun, life: RunLifecycle, view: ClientView) -> None:
        self.run = run
        self._view = view
        self.key = run.id
        self.message_id = f"lc_run--{run.id}"
        self.calls: dict[str, str] = {}
        """Wire id by the model's id, of the announced calls."""
        self._life = life
        self._plain = False
        """Nothing but the text message is open, and no half of a surrogate pair waits: more text takes a short way."""
        self._faithful = True
        """What was sent is what the message says, under the message's id."""
        self.spoke = False
        """Something was sent, so the message id is fixed."""
        self._placed = False
        """Text or a call was sent: the place of the message among the client's is fixed."""
        self._provider: Any = None
        self._text = Joiner()
        self._said: list[str] = []
        """The text so far, piece by piece: at the end it is compared with the message's."""
        self._reasoning: dict[Hashable, int] = {}
        self._sections: dict[Hashable, dict[int, int]] = {}
        """Length of each section of a reasoning block so far."""
        self._forms: dict[Hashable, dict[str, Any]] = {}
        self._thought: _Thought | None = None
        self._by_index: dict[Any, _Call] = {}
        self._all: list[_Call] = []
        life.lane(self.key, owner=run.owner, within=tuple(a.id for a in run.ancestors() if a.span))
        self._lane = life.lane_of(self.key)

    def more(self, chunk: AIMessageChunk) -> list[BaseEvent] | None:
        """More text of the open message or more arguments of an open call, if the chunk has nothing else: what most
        chunks are. Else None.

        No function between here and the event of a text: it happens for every token.
        """
        fields = chunk.__dict__
        text, calls = fields["content"], fields["tool_call_chunks"]
        if self._provider is None and "model_provider" in fields["response_metadata"]:
            return None
        if calls or fields["additional_kwargs"] or type(text) is not str:
            if self._thought is not None and not calls and (more := self._thought.more(fields)):
                return self._more_thought(self._thought, more)
            if fields["additional_kwargs"]:
                return None
            if calls:
                return self._more_args(calls[0]) if len(calls) == 1 and (not text or says_nothing(text)) else None
            text = only_text(text)
        if not self._plain or text is None:
            return None
        if not text.isascii():
            text = self._text.join(text)
            self._plain = not self._text.half
        self._said.append(text)
        lane = self._lane
        if lane.ready != self.message_id:
            return self._life.text(self.key, self.message_id, text)
        return [lane.event_with(text)] if text else []

    def _more_args(self, chunk: Mapping[str, Any]) -> list[BaseEvent] | None:
        args, call = chunk.get("args"), self._by_index.get(chunk.get("index"))
        if not args or call is None or call.wire is None or chunk.get("id") or chunk.get("name"):
            return None
        call.pieces.append(call.joiner.join(args))
        return self._life.args(call.wire, call.pieces[-1])

    def _more_thought(self, thought: _Thought, text: str) -> list[BaseEvent] | None:
        if not self._lane.reasoning or self._lane.reasoning_wish != thought.message_id:
            return None
        text = clean_text(text)
        thought.lengths[thought.section] += len(text)
        return self._life.reasoning(self.key, thought.message_id, text)

    def stream(self, chunk: AIMessageChunk) -> list[BaseEvent]:
        """One streamed chunk (``AIMessageChunk``), whatever it carries."""
        return self._message(chunk, chunk.tool_call_chunks)

    def stream_text(self, text: str) -> list[BaseEvent]:
        """A piece of text of a model that knows no messages (``BaseLLM``)."""
        self._place()
        return self.tell(text)

    def tell(self, text: str) -> list[BaseEvent]:
        """More text of the open message."""
        if self._text.half or not text.isascii():
            text = self._text.join(text)
        self._said.append(text)
        return self._life.text(self.key, self.message_id, text)

    def _place(self) -> None:
        """The first text or call of the message is being sent."""
        if not self._placed:
            self.spoke = self._placed = True
            self._view.placed(self.message_id, self.run)

    def _sent_all_of(self, output: BaseMessage) -> bool:
        """The client has this very message. A node may edit it in place before its end is seen; and of an id that a
        provider repeats within a thread the lifecycle makes another one."""
        text = "".join(piece.text for piece in read_content(output) if isinstance(piece, Text))
        same_id = self._life.message_id(self.key) in (None, self.message_id)
        return self._faithful and same_id and "".join(self._said) == clean_text(text)

    def end(self, output: BaseMessage | None) -> list[BaseEvent]:
        """The model's whole message: tells what was not streamed, and closes the lane."""
        events: list[BaseEvent] = []
        if output is not None:
            if not self.spoke and not self._all:
                if output.id:
                    self.message_id = output.id
                events = self._message(output, ())
            events += self._complete(output)
        rest = self._text.rest()
        if rest:
            events += self.tell(rest)
        if output is not None and not is_shown(output):
            self._view.reasoned(self.message_id, self.run, output)
        elif self.spoke:
            whole = output if output is not None and self._sent_all_of(output) else None
            self._view.sent(self.message_id, self.run, whole)
        if self.run.owner is not None and output is not None:
            self._view.add_foreign(self._as_shown(output))
        return [*events, *self._life.end_lane(self.key)]

    def _as_shown(self, message: BaseMessage) -> list[Message]:
        """The message, and its reasoning, as the client holds them after this lane; for a subagent's, which no thread
        stores."""
        shown: list[Message] = []
        for part in to_agui([message.model_copy(update={"id": self.message_id})], declared=self._life.declared):
            patch: dict[str, Any] = {"subagent_run_id": self.run.owner}
            calls = getattr(part, "tool_calls", None)
            if calls:
                patch["tool_calls"] = [c.model_copy(update={"id": self.calls.get(c.id, c.id)}) for c in calls]
            shown.append(part.model_copy(update=patch))
        return shown

    # ------------------------------------------------------------------ content

    def _message(self, message: BaseMessage, call_chunks: Any) -> list[BaseEvent]:
        if not self.spoke and message.id and not message.id.startswith(_GENERATED):
            self.message_id = message.id
        self._provider = message.response_metadata.get("model_provider") or self._provider
        events: list[BaseEvent] = []
        pieces = read_content(message)
        for piece in pieces:
            events += self._say(piece) if isinstance(piece, Text) else self._think(piece)
        self._thought = self._goes_on(message, pieces[0]) if len(pieces) == 1 and not call_chunks else None
        for chunk in call_chunks:
            events += self._call_chunk(chunk)
        return events

    def _say(self, piece: Text) -> list[BaseEvent]:
        events = [] if self._plain else self._life.end_reasoning(self.key)
        self._place()
        events += self.tell(piece.text)
        self._plain = not self._text.half
        return events

    def _think(self, piece: Reasoning) -> list[BaseEvent]:
        self._plain = False
        if not self.spoke:
            self.spoke = True
            self._view.sent(self.message_id, self.run)
        number = self._reasoning.setdefault(piece.key, len(self._reasoning))
        message_id = reasoning_id(self.message_id, number)
        text = clean_text(piece.text)
        sections = self._sections.setdefault(piece.key, {})
        begins = bool(text and sections and piece.section not in sections)
        about = self._about(piece, len(text))
        events = self._life.reasoning(self.key, message_id, f"\n\n{text}" if begins else text, about)
        if piece.encrypted is not None:
            events += self._life.encrypted_reasoning(self.key, message_id, piece.encrypted)
        return events

    def _goes_on(self, message: BaseMessage, piece: Text | Reasoning) -> _Thought | None:
        """What the next chunk must be like to go on with the only piece of this one."""
        if isinstance(piece, Text) or piece.encrypted is not None or len(self._sections[piece.key]) != 1:
            return None
        shape = shape_of(piece.form)
        block: Any = message.additional_kwargs if shape.outside else message.content[0]
        if not shape.grows or not isinstance(block, dict) or len(message.content) != (0 if shape.outside else 1):
            return None
        message_id = reasoning_id(self.message_id, self._reasoning[piece.key])
        rest = None if shape.outside else {**block, shape.grows: ""}
        return _Thought(message_id, piece.section, self._sections[piece.key], shape.grows, rest)

    def _about(self, piece: Reasoning, length: int) -> dict[str, Any]:
        """Metadata that it takes to give the block back to its provider: its shape, and the kind of its encrypted
        value."""
        lengths = self._sections[piece.key]
        lengths[piece.section] = lengths.get(piece.section, 0) + length
        about = self._forms.setdefault(piece.key, form_metadata(piece.form, self._provider)[METADATA_KEY])
        if piece.form.id is not None:
            about["id"] = piece.form.id
        if piece.kind is not None:
            about["kind"] = piece.kind
        if len(lengths) > 1:
            about["sections"] = list(lengths.values())
        return {METADATA_KEY: dict(about)}

    # ------------------------------------------------------------------ calls

    def _call_chunk(self, chunk: Mapping[str, Any]) -> list[BaseEvent]:
        index, raw, name = chunk.get("index"), chunk.get("id") or None, chunk.get("name") or None
        call = self._by_index.get(index)
        events: list[BaseEvent] = []
        if call is None or self._is_next(call, index, raw, name):
            if raw is None and name is None:
                return []  # arguments of a call that never began
            if call is not None and call.wire is not None:
                events = self._life.end_call(call.wire)
            call = self._by_index[index] = _Call(len(self._all))
            self._all.append(call)
        call.raw, call.name = call.raw or raw, call.name or name
        args = chunk.get("args") or ""
        if call.wire is None and call.name and (call.raw or args):
            events += self._announce(call)
        if args and call.wire is not None:
            call.pieces.append(call.joiner.join(args))
            events += self._life.args(call.wire, call.pieces[-1])
        return events

    @staticmethod
    def _is_next(call: _Call, index: Any, raw: str | None, name: str | None) -> bool:
        """The chunk opens another call under an index that is in use: another id, or a whole call from a server that
        knows neither."""
        if raw is not None:
            return call.raw is not None and raw != call.raw
        return index is None and name is not None and call.name is not None

    def _announce(self, call: _Call) -> list[BaseEvent]:
        self._place()
        self._plain = False
        raw = call.raw if call.raw and call.raw not in self.calls else minted_call_id(self.message_id, call.position)
        made = self._life.calls.made(self.message_id, raw, scope=self.run.scope, name=call.name or "")
        call.wire = made.id
        self.calls[raw] = call.wire
        return self._life.tool_call(self.key, call.wire, call.name or "", self.message_id)

    def _complete(self, output: BaseMessage) -> list[BaseEvent]:
        """Announce the calls that were not streamed, and give the arguments that were not."""
        events: list[BaseEvent] = []
        final = [*getattr(output, "tool_calls", ()), *getattr(output, "invalid_tool_calls", ())]
        streamed = {call.raw: call for call in self._all if call.raw}
        nameless = [call for call in self._all if not call.raw]
        for position, made in enumerate(final):
            raw = made.get("id") or None
            call = streamed.get(raw) if raw else (nameless.pop(0) if nameless else None)
            if call is None:
                if not self.spoke and output.id:
                    self.message_id = output.id
                call = _Call(position, raw)
            call.name = call.name or made.get("name") or None
            if call.name is None:
                continue
            if call.wire is None:
                events += self._announce(call)
            if (known := self._life.calls.get(call.wire)) is not None:
                known.args = made.get("args")
            if call.pieces:
                self._faithful = self._faithful and _same_arguments("".join(call.pieces), made.get("args"))
            elif call.wire is not None:
                args = made.get("args")
                text = clean_text(args) if isinstance(args, str) else json_text(args if args is not None else {})
                events += self._life.args(call.wire, text)
                events += self._life.end_call(call.wire)
        return events


def _same_arguments(told: str, made: Any) -> bool:
    """The argument text says what the call was made with; LangChain repairs what is cut off."""
    if isinstance(made, str):
        return told == made  # not JSON, passed on as it is
    try:
        return bool(from_json(told) == made)
    except ValueError:
        return False
