"""Pure. One model call: the text, reasoning and tool calls of its chunks and final message.

All state belongs to one model run, never to "the current" node: calls of parallel branches interleave token by token.
Everything that a chunk carries is read, since providers put reasoning, text and several calls into one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, Message
from langchain_core.messages import AIMessageChunk, BaseMessage
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.messages.answer import answer_facts
from yai_nexus_agentkit.adapter.langgraph.messages.content import (
    Text,
    Whole,
    minted_call_id,
    only_text,
    read_content,
    read_whole,
    says_nothing,
)
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.layout import Layout
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import metadata
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import Answered, Argued, Called, Media, Piece
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import SIGNATURES, Reasoning, Thought, reasoning_id
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import emits, speaker
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView
from yai_nexus_agentkit.adapter.langgraph.translate.provider_work import ProviderWork
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.protocol.calls import Call
from yai_nexus_agentkit.protocol.json.json_safe import Joiner, clean_text, json_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["ModelLane"]

_GENERATED = "lc_"
"""Prefix of the ids LangChain makes up; any other id is the provider's, and it is the one the thread stores."""


@dataclass(slots=True)
class _Arriving:
    """A tool call while its chunks arrive."""

    position: int
    raw: str | None = None
    """The model's id; it may come late, or never."""
    name: str | None = None
    call: Call | None = None
    """The call, from the announcement on."""
    pieces: list[str] = field(default_factory=list)
    """The argument text so far: at the end it is compared with the arguments that LangChain made of it."""
    joiner: Joiner = field(default_factory=Joiner)


class ModelLane:
    """One model call. `stream` and `end` return the events; after `end` the lane is used up."""

    def __init__(self, run: NativeRun, life: RunLifecycle, view: ClientView) -> None:
        self.run, self._life, self._view = run, life, view
        self.key = run.id
        self._shows_words, self._shows_calls = emits(run, "messages"), emits(run, "tool-calls")
        self.message_id = f"lc_run--{run.id}"
        self.spoke = False
        """Something was sent, so the message id is fixed."""
        self._placed = False
        """Text or a call was sent: the place of the message among the client's is fixed."""
        self._plain = False
        """Nothing but the text message is open, and no half of a surrogate pair waits: more text takes a short way."""
        self._faithful = True
        """The arguments that were sent are those of the final message."""
        self._provider: Any = None
        self._text = Joiner()
        self._layout = Layout()
        self._said = self._layout.said
        """The text so far, piece by piece: at the end it is compared with the message's."""
        self._work = ProviderWork(run, life, self._layout)
        self._thoughts: dict[Hashable, Thought] = {}
        self._thought: Thought | None = None
        """The block that the next chunk may go on with, by a short way."""
        self._by_index: dict[Any, _Arriving] = {}
        self._arriving: list[_Arriving] = []
        self._reached = 0
        """How many of them were announced, or passed by later ones."""
        self._raws: set[str] = set()
        """The model's ids of those that were announced."""
        within = tuple(a.id for a in run.ancestors() if a.span)
        life.lane(self.key, owner=run.owner, within=within, speaker=speaker(run))
        self._lane = life.lane_of(self.key)

    def made(self) -> list[Call]:
        """The calls that were announced."""
        return [one.call for one in self._arriving if one.call is not None]

    # ------------------------------------------------------------------ chunks like the one before

    def more(self, chunk: AIMessageChunk) -> list[BaseEvent] | None:
        """More text of the open message or more arguments of an open call, if the chunk has nothing else: what most
        chunks are. Else None.

        No function between here and the event of a text: it happens for every token.
        """
        fields = chunk.__dict__
        text, calls = fields["content"], fields["tool_call_chunks"]
        if self._provider is None and (facts := fields["response_metadata"]) and "model_provider" in facts:
            return None
        if calls or fields["additional_kwargs"] or type(text) is not str:
            if self._thought is not None and not calls and (more := self._thought.more(fields)):
                return self._more_thought(self._thought, more)
            if fields["additional_kwargs"]:
                return None
            if calls:
                return self._more_args(calls[0]) if len(calls) == 1 and (not text or says_nothing(text)) else None
            text = only_text(text)
            if text is None:
                return None
        if not self._plain:
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
        args, one = chunk.get("args"), self._by_index.get(chunk.get("index"))
        if not args or one is None or one.call is None or chunk.get("id") or chunk.get("name"):
            return None
        one.pieces.append(one.joiner.join(args))
        return self._life.args(one.call.id, one.pieces[-1])

    def _more_thought(self, thought: Thought, text: str) -> list[BaseEvent] | None:
        if not self._lane.reasoning or self._lane.reasoning_wish != thought.message_id:
            return None
        text = clean_text(text)
        thought.lengths[thought.section] += len(text)
        return self._life.reasoning(self.key, thought.message_id, text)

    # ------------------------------------------------------------------ text and reasoning

    def stream(self, message: BaseMessage, calls: bool = True) -> list[BaseEvent]:
        """A chunk of the message, whatever it carries; or (without `calls`) the whole message."""
        if not self.spoke and message.id and not message.id.startswith(_GENERATED):
            self.message_id = message.id
        self._provider = message.response_metadata.get("model_provider") or self._provider
        events: list[BaseEvent] = []
        pieces = read_content(message)
        if not self._shows_words:
            pieces = [piece for piece in pieces if isinstance(piece, (Called, Argued, Answered))]
        self._thought = None
        for piece in pieces:
            if isinstance(piece, Text):
                events += self.say(piece.text)
            elif isinstance(piece, Reasoning):
                events += self._think(piece)
            elif isinstance(piece, (Called, Argued, Answered, Media)):
                events += self._provide(piece)
        calls = calls and self._shows_calls
        chunks = message.tool_call_chunks if calls and isinstance(message, AIMessageChunk) else ()
        if len(pieces) == 1 and not chunks and isinstance(only := pieces[0], Reasoning):
            thought = self._thoughts[only.key]
            self._thought = thought if thought.expect(message, only) else None
        for chunk in chunks:
            events += self._call_chunk(chunk)
        return events

    def say(self, text: str) -> list[BaseEvent]:
        """A piece of text."""
        if not self._shows_words:
            return []
        events = [] if self._plain else self._life.end_reasoning(self.key)
        self._place()
        events += self._more_text(self._layout.joint(text) + self._text.join(text))
        self._plain = not self._text.half
        return events

    def _provide(self, piece: Piece) -> list[BaseEvent]:
        """The provider did something by itself."""
        if isinstance(piece, Argued):
            return self._work.argued(piece)
        self._plain = False
        if not self._shows_calls and not isinstance(piece, Media):
            self._layout.part()
            return []
        if isinstance(piece, Answered):
            return self._work.answered(piece, self.message_id)
        if isinstance(piece, Called):
            self._place()
            return self._work.called(piece, self.message_id, self._provider)
        self._begin()
        return self._work.media([piece.part], self.message_id)

    def _begin(self) -> None:
        """Something other than text and calls is being sent: it has no place among the client's messages."""
        if not self.spoke:
            self.spoke = True
            self._view.sent(self.message_id, self.run)

    def _more_text(self, text: str) -> list[BaseEvent]:
        self._said.append(text)
        return self._life.text(self.key, self.message_id, text)

    def _place(self) -> None:
        """The first text or call of the message is being sent."""
        if not self._placed:
            self.spoke = self._placed = True
            self._view.placed(self.message_id, self.run)

    def _think(self, piece: Reasoning) -> list[BaseEvent]:
        self._plain = False
        self._begin()
        thought = self._thoughts.get(piece.key)
        if thought is None:
            message_id = reasoning_id(self.message_id, len(self._thoughts))
            thought = Thought(message_id, piece.form, self._provider, self._layout.thought())
            self._thoughts[piece.key] = thought
        text = thought.add(piece, clean_text(piece.text))
        events = self._life.reasoning(self.key, thought.message_id, text, thought.metadata)
        if piece.encrypted is not None:
            events += self._life.encrypted_reasoning(self.key, thought.message_id, piece.encrypted)
        return events

    # ------------------------------------------------------------------ the end

    def end(self, output: BaseMessage | None) -> list[BaseEvent]:
        """The model's whole message, None if it failed: send what was not streamed, and close the lane."""
        events: list[BaseEvent] = []
        facts: dict[str, Any] = {}
        whole = Whole("") if output is None else read_whole(output)
        if output is not None:
            if not self.spoke and not self._arriving:
                self.message_id = output.id or self.message_id
                self._life.lane(self.key, speaker=clean_text(output.name) if output.name else self._lane.speaker)
                events = self.stream(output, calls=False)
            events += [*self._provide_rest(whole), *self._complete(output)]
            facts = answer_facts(output, whole) if self._shows_words else {}
        if rest := self._text.rest():
            events += self._more_text(rest)
        events += self._work.close(self.message_id)
        if output is not None and not is_shown(output):
            self._view.reasoned(self.message_id, self.run, output)
        elif self.spoke:
            same = output if output is not None and self._sent_all_of(whole) else None
            self._view.sent(self.message_id, self.run, same, speaker=self._lane.speaker)
        elif output is not None and output.id:
            self._view.kept_silent(output.id)
        if self.run.owner is not None and output is not None:
            self._view.add_foreign(self._as_shown(output))
        events += self._life.end_lane(self.key, metadata(facts) if facts and whole.text else None)
        return [*events, *self._work.cite(facts, self.message_id)]

    def _provide_rest(self, whole: Whole) -> list[BaseEvent]:
        """The provider's own work that no chunk had."""
        if not self._shows_words:
            whole = whole._replace(media=())
        if not self._shows_calls:
            self._faithful, whole = self._faithful and not whole.served, whole._replace(served=())
        if whole.served:
            self._place()
        elif whole.media:
            self._begin()
        return self._work.complete(whole, self.message_id, self._provider)

    def _sent_all_of(self, whole: Whole) -> bool:
        """The client has this very message. A node may edit it in place before its end is seen; and of an id that a
        provider repeats within a thread the lifecycle makes another one."""
        same_id = self._life.message_id(self.key) in (None, self.message_id)
        return self._faithful and same_id and "".join(self._said) == clean_text(whole.text)

    def _as_shown(self, message: BaseMessage) -> list[Message]:
        """The message and its reasoning, as the client holds them after this lane. No thread stores a subagent's."""
        ids = {call.raw: call.id for call in (*self.made(), *self._work.calls)}
        shown: list[Message] = []
        for part in to_agui([message.model_copy(update={"id": self.message_id})], declared=self._life.declared):
            patch: dict[str, Any] = {"subagent_run_id": self.run.owner}
            if calls := getattr(part, "tool_calls", None):
                patch["tool_calls"] = [call.model_copy(update={"id": ids.get(call.id, call.id)}) for call in calls]
            if (raw := getattr(part, "tool_call_id", None)) is not None:
                patch["tool_call_id"] = ids.get(raw, raw)
            shown.append(part.model_copy(update=patch))
        return shown

    # ------------------------------------------------------------------ calls

    def _call_chunk(self, chunk: Mapping[str, Any]) -> list[BaseEvent]:
        index, raw, name = chunk.get("index"), chunk.get("id") or None, chunk.get("name") or None
        one = self._by_index.get(index)
        events: list[BaseEvent] = []
        if one is None or _is_next(one, index, raw, name):
            if one is not None and one.call is not None:
                events = self._life.end_call(one.call.id)
            one = self._by_index[index] = _Arriving(len(self._arriving))
            self._arriving.append(one)
        one.raw = one.raw or raw
        if name and one.call is None:
            one.name = (one.name or "") + name  # it may come in pieces; the arguments begin when it is whole
        if not (args := chunk.get("args")):
            return events
        one.pieces.append(one.joiner.join(args))
        if one.call is not None:
            return [*events, *self._life.args(one.call.id, one.pieces[-1])]
        if one.name:  # calls before it without arguments first: clients keep the order
            for waiting in (*self._arriving[self._reached : one.position], one):
                events += self._announce(waiting, waiting.name) if waiting.call is None and waiting.name else []
            self._reached = max(self._reached, one.position + 1)
        return events

    def _announce(self, one: _Arriving, name: str) -> list[BaseEvent]:
        """Announce a call, with the arguments that came before its name."""
        self._place()
        self._plain = False
        raw = one.raw if one.raw and one.raw not in self._raws else minted_call_id(self.message_id, one.position)
        calls, node = self._life.calls, self.run.node
        one.call = calls.made(self.message_id, raw, given=one.raw or "", scope=self.run.scope, name=name)
        if node is not None:
            calls.at(node.id, one.call)
        self._raws.add(raw)
        events = self._life.tool_call(self.key, one.call.id, name, self.message_id)
        return [*events, *self._life.args(one.call.id, "".join(one.pieces))] if one.pieces else events

    def _complete(self, output: BaseMessage) -> list[BaseEvent]:
        """Announce the calls that were not streamed, and give the arguments that were not."""
        events: list[BaseEvent] = []
        final = [*getattr(output, "tool_calls", ()), *getattr(output, "invalid_tool_calls", ())]
        if not self._shows_calls:
            self._faithful, final = self._faithful and not final, []
        streamed: dict[str | None, list[_Arriving]] = {}
        for one in self._arriving:
            streamed.setdefault(one.raw or None, []).append(one)
        for position, made in enumerate(final):
            raw, args = made.get("id") or None, made.get("args")
            if waiting := streamed.get(raw):
                one = waiting.pop(0)
            else:
                self.message_id = self.message_id if self.spoke else output.id or self.message_id
                one = _Arriving(position, raw)
                self._arriving.append(one)
            one.name = one.name or made.get("name") or None
            if one.call is None and one.name is not None:
                events += self._announce(one, one.name)
            if one.call is None:
                continue
            one.call.args = args
            if one.pieces:
                self._faithful = self._faithful and _same_arguments("".join(one.pieces), args)
                continue
            text = clean_text(args) if isinstance(args, str) else json_text(args if args is not None else {})
            events += [*self._life.args(one.call.id, text), *self._life.end_call(one.call.id)]
        if isinstance(signatures := output.additional_kwargs.get(SIGNATURES), Mapping):
            for call in self.made():
                events += self._life.encrypted_call(call.id, clean_text(str(signatures.get(call.raw) or "")))
        return events


def _is_next(one: _Arriving, index: Any, raw: str | None, name: str | None) -> bool:
    """The chunk opens another call under an index that is in use: another id, or a whole call from a server that knows
    neither."""
    if raw is not None:
        return one.raw is not None and raw != one.raw
    return index is None and name is not None and one.name is not None


def _same_arguments(sent: str, made: Any) -> bool:
    """The argument text says what the call was made with; LangChain repairs what is cut off."""
    if isinstance(made, str):
        return sent == made  # not JSON, passed on as it is
    try:
        return bool(from_json(sent) == made)
    except ValueError:
        return False
