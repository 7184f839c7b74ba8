"""Pure. The content of a LangChain message, whatever provider it came from.

Reads the raw ``content`` and ``additional_kwargs``, not ``content_blocks``: that property converts the whole message on
every access and depends on ``response_metadata``, which only some chunks carry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ag_ui.core import AssistantMessage, Message
from ag_ui.core import ToolMessage as ShownResult
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.messages.citations import Cited
from yai_nexus_agentkit.adapter.langgraph.messages.layout import Layout, Place, Served
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_withheld
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import (
    KINDS,
    Answered,
    Argued,
    Called,
    Media,
    Piece,
    read_audio,
    shape_of,
)
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import Reasoning
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning_shapes import BLOCKS, OUTSIDE, Block, Form, Part, Shape
from yai_nexus_agentkit.orchestration.client_tools import PENDING
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.parts import MediaPart

__all__ = [
    "Text",
    "Whole",
    "calls_made",
    "calls_of",
    "give_result",
    "given_id",
    "message_id",
    "minted_call_id",
    "model_calls",
    "only_text",
    "read_content",
    "read_whole",
    "says_nothing",
    "served_ids",
    "shown_text",
]

_WORDS = ("text", "refusal")
"""Types of the blocks that are words for the user; the member of the same name has them."""
_SAYING = frozenset((*BLOCKS, *_WORDS, *KINDS))
"""Types of the blocks that a client sees something of."""
_OUTPUTS = "tool_outputs"
"""Member of ``additional_kwargs`` that has the provider's calls of OpenAI's ``output_version`` v0."""
_BESIDE = ("refusal", "audio", _OUTPUTS, *(shape.where for shape in OUTSIDE))
"""Members of ``additional_kwargs`` in which a client sees something. Providers leave them without a value, too."""


class Text(NamedTuple):
    """Text for the user; never empty."""

    text: str


def minted_call_id(message_id: str, position: int) -> str:
    """The id of a tool call that the model gave none, by its `position` (from 0) among the message's calls."""
    return f"{message_id}-call-{position}"


class Whole(NamedTuple):
    """A whole message."""

    text: str
    """As the client shows it."""
    blocks: Sequence[Block] = ()
    """Its reasoning."""
    served: Sequence[Served] = ()
    media: Sequence[MediaPart] = ()
    media_first: bool = False
    """The media begin before text and calls."""
    cited: Sequence[tuple[Cited, int, int]] = ()
    """The sources of each text block, and where in the text that begins and ends."""


def read_content(message: BaseMessage) -> list[Text | Reasoning | Cited | Piece]:
    """All that a streamed chunk or whole message says, in order. Unknown blocks are skipped.

    Reasoning that a provider keeps outside the content (DeepSeek, OpenAI Responses ``v0``) comes first, as it was made.
    """
    content = message.content
    if isinstance(content, str) and not message.additional_kwargs:
        return [Text(content)] if content else []
    return _Reader(message).pieces


def only_text(content: Any) -> str | None:
    """The text of content that is one block of text, as Anthropic (with tools) and OpenAI Responses send each token."""
    block = content[0] if type(content) is list and len(content) == 1 else None
    text = block.get("text") if type(block) is dict and block.get("type") == "text" else None
    return text if type(text) is str else None


def shown_text(message: BaseMessage) -> str | None:
    """The text of a whole message that is nothing but text and calls of the agent's tools; None for any other, which
    `read_whole` reads."""
    content, extra = message.content, message.additional_kwargs
    if extra and any(map(extra.get, _BESIDE)):
        return None
    if isinstance(content, str):
        return content
    said = [block for block in content if not says_nothing([block])]
    if len(said) == 1 and type(said[0]) is dict and (said[0].get("citations") or said[0].get("annotations")):
        return None
    return only_text(said) if said else ""


def says_nothing(content: Any) -> bool:
    """Content that is empty, or one block that is neither text nor reasoning: a piece of a call's arguments."""
    if type(content) is not list or len(content) != 1:
        return not content
    kind = content[0].get("type") if type(content[0]) is dict else "text"
    return not isinstance(kind, str) or kind not in _SAYING


def read_whole(message: BaseMessage) -> Whole:
    """A whole message as a client shows it."""
    if (plain := shown_text(message)) is not None:
        return Whole(plain)
    reader, layout = _Reader(message), Layout()
    places: dict[Hashable, Place | None] = {}
    media: list[MediaPart] = []
    cited: list[tuple[Cited, int, int]] = []
    first, start, end = False, 0, 0
    for piece in reader.pieces:
        if isinstance(piece, Text):
            layout.said += [layout.joint(piece.text), piece.text]
            start = end + len(layout.said[-2])
            end = start + len(piece.text)
        elif isinstance(piece, Reasoning):
            if piece.key not in places:
                places[piece.key] = layout.thought()
        elif isinstance(piece, Called):
            layout.called(piece)
        elif isinstance(piece, Argued):
            layout.argued(piece)
        elif isinstance(piece, Answered):
            layout.answered(piece)
        elif isinstance(piece, Media):
            first = first or not (layout.said or layout.served or media)
            layout.part()
            media.append(piece.part)
        else:
            cited.append((piece, start, end))
    if (sound := read_audio(message.additional_kwargs.get("audio"))) is not None:
        media.append(sound.part)
    blocks = [_block(reader, key, places.get(key)) for key in reader.forms]
    return Whole("".join(layout.said), blocks, layout.served, media, first, cited)


def _block(reader: _Reader, key: Hashable, place: Place | None) -> Block:
    sections: dict[int, str] = {}
    encrypted = kind = None
    for piece in reader.pieces:
        if isinstance(piece, Reasoning) and piece.key == key:
            if piece.text:
                sections[piece.section] = sections.get(piece.section, "") + piece.text
            encrypted, kind = piece.encrypted or encrypted, piece.kind or kind
    return Block(tuple(sections.values()), encrypted, kind, reader.forms[key], place=place)


class _Reader:
    """One pass over one message."""

    def __init__(self, message: BaseMessage) -> None:
        self.pieces: list[Text | Reasoning | Cited | Piece] = []
        self.forms: dict[Hashable, Form] = {}
        self._unnamed = 0
        """Number of the current block among those without index and id. A block ends with its encrypted value."""
        self._seen: dict[Hashable, int] = {}
        """How often a block's id occurred: each standard block with the id is one more part of its summary."""

        if message.additional_kwargs:
            self._outside(message.additional_kwargs)
        content = message.content
        blocks: Sequence[Any] = [content] if isinstance(content, str) else content
        if isinstance(outputs := message.additional_kwargs.get(_OUTPUTS), list):
            blocks = _in_order([*outputs, *blocks])
        for block in blocks:
            if isinstance(block, str):
                self._add_text(block)
            elif isinstance(block, Mapping):
                self._add_block(str(block.get("type")), block)

    def _add_block(self, kind: str, block: Mapping[str, Any]) -> None:
        if kind in _WORDS:
            self._add_text(block.get(kind))
            sources = block.get("citations") or block.get("annotations")
            if isinstance(sources, list) and sources:
                self.pieces.append(Cited(sources))
        elif (provided := shape_of(kind)) is not None:
            self.pieces += provided.read(block)
        for shape in BLOCKS.get(kind, ()):
            if (parts := shape.read(block)) is not None:
                self._add_parts(shape, parts, *self._place(block), block)
                break

    def _outside(self, extra: Mapping[str, Any]) -> None:
        self._add_text(extra.get("refusal"))  # OpenAI chat completions: words for the user
        if isinstance(sound := extra.get("audio"), Mapping):
            self._add_text(sound.get("transcript"))
        for shape in OUTSIDE:
            member = extra.get(shape.where)
            if member is not None and (parts := shape.read(member)) is not None:
                self._add_parts(shape, parts, shape.where, 0, member)

    def _add_parts(self, shape: Shape, parts: Sequence[Part], key: Hashable, place: int, found_in: Any) -> None:
        form = Form(shape.name, _string(found_in.get("id")) if shape.has_id else None)
        for part in parts:
            self._add(key, place if part.section is None else part.section, part, form)
        if form.id is not None and key in self.forms:
            self.forms[key] = form  # only some chunks of the block carry its id

    def _add_text(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self.pieces.append(Text(text))

    def _add(self, key: Hashable, section: int, part: Part, form: Form) -> None:
        text, encrypted = _string(part.text) or "", _string(part.encrypted)
        if not text and encrypted is None:
            return
        self.forms.setdefault(key, form)
        self.pieces.append(Reasoning(key, section, text, encrypted, None if encrypted is None else part.kind, form))
        if encrypted is not None and key == ("unnamed", self._unnamed):
            self._unnamed += 1

    def _place(self, block: Mapping[str, Any]) -> tuple[Hashable, int]:
        """Key and section: by the provider's index, else by the block's id, else by order."""
        index = block.get("index")
        if isinstance(index, int):
            return index, 0
        if isinstance(index, str):
            return _decoded(index)
        own_id = _string(block.get("id"))
        if own_id is None:
            return ("unnamed", self._unnamed), 0
        key = ("id", own_id)
        self._seen[key] = self._seen.get(key, -1) + 1
        return key, self._seen[key]


def _in_order(blocks: Sequence[Any]) -> Sequence[Any]:
    """By the provider's index, if all have one."""
    indexes = [block.get("index") if isinstance(block, Mapping) else None for block in blocks]
    if not all(isinstance(index, int) for index in indexes):
        return blocks
    return sorted(blocks, key=lambda block: int(block["index"]))


def _decoded(index: str) -> tuple[Hashable, int]:
    """Item and summary part from the index that `langchain_openai` makes: ``lc_rs_`` and ``<item>_<part>`` as hex."""
    if index.startswith("lc_rs_"):
        try:
            item, part = bytes.fromhex(index.removeprefix("lc_rs_")).decode("ascii").split("_")
            return int(item), int(part)
        except ValueError:
            pass
    return index, 0


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# ---------------------------------------------------------------------- calls and ids


def calls_of(
    messages: Sequence[BaseMessage], scopes: Mapping[str, str] | None = None, foreign: Iterable[Message] = ()
) -> ThreadCalls:
    """The tool calls of a thread's messages, and which of them have a result. A run adds its own while it streams.

    `scopes`: namespace of the subgraph by id, of the messages that a subgraph holds and not the thread itself.
    `foreign`: messages of subagents, which only the client holds. Their calls keep their ids.
    """
    calls, scopes = ThreadCalls(), scopes or {}
    for shown in foreign:
        if isinstance(shown, AssistantMessage):
            for one in shown.tool_calls or ():
                call = calls.shown(one.id, shown.id, scope=None, name=one.function.name)
                with suppress(ValueError):
                    call.args = from_json(one.function.arguments)
        elif isinstance(shown, ShownResult):
            calls.answer(shown.tool_call_id, shown.id)
    for position, message in enumerate(messages):
        if message.type == "human":  # said in half of the time that asking for its class takes
            continue
        if isinstance(message, AIMessage):
            if message.tool_calls or message.invalid_tool_calls:
                own_id = message_id(message, position)
                for raw, made in model_calls(message, own_id):
                    scope, name, args = scopes.get(own_id, ""), made.get("name") or "", made.get("args")
                    call = calls.made(own_id, raw, given=given_id(made), scope=scope, name=name, args=args)
                    call.announced = not is_withheld(message)
            if _serves(message):
                _record_served(calls, message, message_id(message, position), scopes)
        elif isinstance(message, ToolMessage) and not message.additional_kwargs.get(PENDING):
            give_result(calls, message, message_id(message, position), scopes.get(message.id or "", ""))
    return calls


def _serves(message: AIMessage) -> bool:
    """The message may have calls of the provider's tools."""
    content = message.content
    if content.__class__ is list and any(type(block) is dict and block.get("type") in KINDS for block in content):
        return True
    return bool(message.additional_kwargs) and _OUTPUTS in message.additional_kwargs


def _record_served(calls: ThreadCalls, message: AIMessage, own_id: str, scopes: Mapping[str, str]) -> None:
    """A provider's calls are never open: each has a result on the wire, whatever became of it."""
    for served in (whole := read_whole(message)).served:
        raw, result = served_ids(own_id, served, whole.served)
        call = calls.made(own_id, raw, scope=scopes.get(own_id, ""), name=served.call.name, args=served.args)
        call.announced = True
        calls.answer(call.id, result)


def served_ids(own_id: str, served: Served, others: Sequence[Served]) -> tuple[str, str]:
    """Raw id of a call of a provider's tool, and the id of its result's message. `own_id`: the answer's. `others`: its
    calls; one that has the id of an earlier one gets another."""
    raw = clean_text(served.call.id)
    if not raw or any(clean_text(other.call.id) == raw for other in others[: served.number]):
        raw = f"{own_id}-provider-call-{served.number}"
    return raw, f"{own_id}-provider-{served.number}"


def give_result(calls: ThreadCalls, message: ToolMessage, own_id: str, scope: str = "") -> None:
    """Record that a tool message of the thread answers its call. The call may be missing: threads are trimmed."""
    raw = clean_text(str(message.tool_call_id))
    call = calls.meant(raw, (scope, ""))
    calls.answer(raw if call is None else call.id, own_id)


def calls_made(message: BaseMessage | None) -> Sequence[ToolCall]:
    """The calls of a model's answer: the very list, for comparing by identity. None of any other message, which is not
    asked for the attribute: a pydantic model that lacks it takes 3 µs to say so."""
    return message.tool_calls if isinstance(message, AIMessage) else ()


def message_id(message: BaseMessage, position: int) -> str:
    """The message's id on the wire; without one, an id from its position and content, the same at every reading."""
    if message.id:
        return clean_text(message.id)
    digest = hashlib.sha256(json_text(message.content).encode()).hexdigest()[:16]
    return f"{message.type}-{position}-{digest}"


def given_id(call: Mapping[str, Any]) -> str:
    """The id that the model gave the call; empty without one."""
    return clean_text(str(call.get("id") or ""))


def model_calls(message: AIMessage, own_id: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Raw id and call, valid ones first; an absent id, or one that an earlier call of the message has, is minted."""
    seen: set[str] = set()
    for position, call in enumerate((*message.tool_calls, *message.invalid_tool_calls)):
        raw_id = given_id(call) or minted_call_id(own_id, position)
        if raw_id in seen:
            raw_id = minted_call_id(own_id, position)
        seen.add(raw_id)
        yield raw_id, call
