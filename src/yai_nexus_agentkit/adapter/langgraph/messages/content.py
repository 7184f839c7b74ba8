"""Text and reasoning of a model's message, whatever provider it came from. Pure.

Reads the raw ``content`` and ``additional_kwargs``, not ``content_blocks``: that property converts the whole message on
every access and depends on ``response_metadata``, which only some chunks carry.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

__all__ = [
    "Block",
    "Form",
    "Reasoning",
    "Text",
    "minted_call_id",
    "only_text",
    "read_content",
    "read_whole",
    "reasoning_id",
    "says_nothing",
]


class Text(NamedTuple):
    """Text for the user; never empty."""

    text: str


class Form(NamedTuple):
    """Where in a LangChain message a reasoning block was found, to put it back there."""

    name: str
    """``thinking``, ``redacted_thinking``, ``non_standard``, ``reasoning`` (LangChain's standard block), ``summary``
    (OpenAI's own block), ``kwargs.reasoning`` (the same outside the content), ``kwargs.reasoning_content``,
    ``kwargs.text`` (a plain string under ``reasoning``), ``thinking.parts`` (Mistral's list), ``reasoning_content``
    (Bedrock)."""

    id: str | None = None
    """The provider's own id of the block (OpenAI's ``rs_…``)."""


class Reasoning(NamedTuple):
    """A piece of one reasoning block. `text` may be empty where the piece only carries `encrypted`."""

    key: Hashable
    """The block within its message: the same in the chunks and in the message merged from them."""

    section: int
    """The part of the block's summary that the text belongs to (OpenAI Responses); a blank line stands between two."""

    text: str
    encrypted: str | None
    """What the provider wants back in order to accept the block again."""

    kind: str | None
    """Of `encrypted`: ``"signature"`` (Anthropic, Gemini), ``"redacted"`` (Anthropic) or ``"encrypted"`` (OpenAI)."""

    form: Form | None = None
    """Where the piece was found; see `reasoning.form_metadata`."""


class Block(NamedTuple):
    """A whole reasoning block of a message."""

    sections: tuple[str, ...]
    encrypted: str | None
    kind: str | None
    form: Form

    @property
    def text(self) -> str:
        """The sections as they are streamed: a blank line between two."""
        return "\n\n".join(self.sections)


def reasoning_id(message_id: str, n: int) -> str:
    """The id of the `n`-th (from 0) reasoning block of a message; a message id of its own, never the answer's."""
    return f"{message_id}-reasoning-{n}"


def minted_call_id(message_id: str, position: int) -> str:
    """The id of a tool call that the model gave none, by its `position` (from 0) among the message's calls."""
    return f"{message_id}-call-{position}"


def read_content(message: BaseMessage) -> list[Text | Reasoning]:
    """Text and reasoning in order, of a streamed chunk or of a whole message. Other blocks are skipped.

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


def says_nothing(content: Any) -> bool:
    """Content that is empty, or one block that is neither text nor reasoning: a piece of a call's arguments."""
    if type(content) is not list or len(content) != 1:
        return not content
    kind = content[0].get("type") if type(content[0]) is dict else "text"
    return not isinstance(kind, str) or kind not in _READERS


def read_whole(message: BaseMessage) -> tuple[str, list[Block]]:
    """The text of a whole message, and its reasoning blocks in order."""
    content = message.content
    if isinstance(content, str) and not message.additional_kwargs:
        return content, []
    reader = _Reader(message)
    text = "".join(piece.text for piece in reader.pieces if isinstance(piece, Text))
    return text, [_block(reader, key) for key in reader.forms]


def _block(reader: _Reader, key: Hashable) -> Block:
    sections: dict[int, str] = {}
    encrypted = kind = None
    for piece in reader.pieces:
        if isinstance(piece, Reasoning) and piece.key == key:
            if piece.text:
                sections[piece.section] = sections.get(piece.section, "") + piece.text
            encrypted, kind = piece.encrypted or encrypted, piece.kind or kind
    return Block(tuple(sections.values()), encrypted, kind, reader.forms[key])


class _Reader:
    """One pass over one message."""

    def __init__(self, message: BaseMessage) -> None:
        self.pieces: list[Text | Reasoning] = []
        self.forms: dict[Hashable, Form] = {}
        self._unnamed = 0
        """Number of the current block among those without index and id. A block ends with its encrypted value."""
        self._seen: dict[Hashable, int] = {}
        """How often a block's id occurred: each standard block with the id is one more part of its summary."""

        if message.additional_kwargs:
            self._outside(message.additional_kwargs)
        content = message.content
        for block in [content] if isinstance(content, str) else content:
            if isinstance(block, str):
                self._add_text(block)
            elif isinstance(block, Mapping):
                kind = block.get("type")
                reader = _READERS.get(kind) if isinstance(kind, str) else None
                if reader is not None:
                    reader(self, block)

    def _outside(self, extra: Mapping[str, Any]) -> None:
        self._add_text(extra.get("refusal"))  # OpenAI chat completions: words for the user
        plain = extra.get("reasoning_content")
        if isinstance(plain, str):
            self._add("reasoning_content", 0, plain, None, "", Form("kwargs.reasoning_content"))
        reasoning = extra.get("reasoning")
        if isinstance(reasoning, str):
            self._add("reasoning", 0, reasoning, None, "", Form("kwargs.text"))
        elif isinstance(reasoning, Mapping):
            self._summary(reasoning, "reasoning", Form("kwargs.reasoning", _string(reasoning.get("id"))))

    def text(self, block: Mapping[str, Any]) -> None:
        self._add_text(block.get("text"))

    def thinking(self, block: Mapping[str, Any]) -> None:
        """Anthropic and Gemini: ``{"type": "thinking", "thinking"?: ..., "signature"?: ..., "index"?: ...}``; Mistral's
        ``thinking`` is a list of text blocks."""
        key, _ = self._place(block)
        text, form = block.get("thinking"), Form("thinking")
        if isinstance(text, list):
            text, form = (
                "".join(part.get("text") or "" for part in text if isinstance(part, Mapping)),
                Form("thinking.parts"),
            )
        self._add(key, 0, text, block.get("signature"), "signature", form)

    def bedrock(self, block: Mapping[str, Any]) -> None:
        """Bedrock Converse: ``{"type": "reasoning_content", "reasoning_content": {"text"?, "signature"?}, ...}``."""
        inner = block.get("reasoning_content")
        if isinstance(inner, Mapping):
            key, _ = self._place(block)
            text = _string(inner.get("text")) or _string(inner.get("reasoning")) or ""
            self._add(key, 0, text, inner.get("signature"), "signature", Form("reasoning_content"))
            self._add(key, 0, "", inner.get("redacted_content"), "redacted", Form("reasoning_content"))

    def refusal(self, block: Mapping[str, Any]) -> None:
        """OpenAI Responses: words for the user."""
        self._add_text(block.get("refusal"))

    def redacted(self, block: Mapping[str, Any]) -> None:
        key, _ = self._place(block)
        self._add(key, 0, "", block.get("data"), "redacted", Form("redacted_thinking"))

    def non_standard(self, block: Mapping[str, Any]) -> None:
        """LangChain's wrapper around what its standard blocks do not know, such as Anthropic's redacted thinking."""
        value = block.get("value")
        if isinstance(value, Mapping) and value.get("type") == "redacted_thinking":
            key, _ = self._place(block)
            self._add(key, 0, "", value.get("data"), "redacted", Form("non_standard"))

    def reasoning(self, block: Mapping[str, Any]) -> None:
        """OpenAI's own block, whose ``summary`` is a list of parts, and LangChain's standard block, one per part."""
        own_id = _string(block.get("id"))
        key, section = self._place(block)
        if isinstance(block.get("summary"), list):
            self._summary(block, key, Form("summary", own_id))
            return
        extras = block.get("extras")
        extras = extras if isinstance(extras, Mapping) else {}
        encrypted = _string(extras.get("encrypted_content")) or _string(block.get("encrypted_content"))
        kind = "encrypted" if encrypted else "signature"
        encrypted = encrypted or _string(extras.get("signature")) or _string(block.get("signature"))
        self._add(key, section, block.get("reasoning"), encrypted, kind, Form("reasoning", own_id))

    def _summary(self, block: Mapping[str, Any], key: Hashable, form: Form) -> None:
        parts = block.get("summary")
        for position, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, Mapping):
                index = part.get("index")
                self._add(key, index if isinstance(index, int) else position, part.get("text"), None, "", form)
        self._add(key, 0, "", block.get("encrypted_content"), "encrypted", form)
        if key in self.forms and form.id is not None:
            self.forms[key] = form  # only some chunks of the block carry its id

    def _add_text(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self.pieces.append(Text(text))

    def _add(self, key: Hashable, section: int, text: Any, encrypted: Any, kind: str, form: Form) -> None:
        text = text if isinstance(text, str) else ""
        encrypted = _string(encrypted)
        if not text and encrypted is None:
            return
        self.forms.setdefault(key, form)
        self.pieces.append(Reasoning(key, section, text, encrypted, None if encrypted is None else kind, form))
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


_READERS: Mapping[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "text": _Reader.text,
    "thinking": _Reader.thinking,
    "redacted_thinking": _Reader.redacted,
    "reasoning": _Reader.reasoning,
    "non_standard": _Reader.non_standard,
    "reasoning_content": _Reader.bedrock,
    "refusal": _Reader.refusal,
}
