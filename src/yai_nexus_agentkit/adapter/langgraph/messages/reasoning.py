"""Pure. Reasoning of models as AG-UI reasoning messages, and back.

The shape of a block travels with its message, in ``metadata["langgraph"]``: ``form`` (the shape's name), ``id`` (the
provider's own id of the block), ``kind`` (of the encrypted value), ``sections`` (their lengths, where there are
several), ``provider`` (``model_provider`` of the message), ``at`` (its place in the answer, if it does not
stand in front of it).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from ag_ui.core import ReasoningMessage

from yai_nexus_agentkit.adapter.langgraph.messages.layout import FRONT, Place
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE, metadata
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning_shapes import BY_KIND, BY_NAME, SEPARATOR, Block, Form
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = [
    "SIGNATURES",
    "Reasoning",
    "Restored",
    "Thought",
    "form_metadata",
    "place_of",
    "reasoning_id",
    "reasoning_message",
    "restore",
]


SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Member of ``additional_kwargs`` with the signatures of Gemini's function calls, by call id. Gemini refuses a call
that comes back without its signature; a call's ``encryptedValue`` carries it (AG-UI 1.0, section 7)."""


class Reasoning(NamedTuple):
    """A piece of one reasoning block. `text` may be empty where the piece only carries `encrypted`."""

    key: Hashable
    """The block within its message: the same in the chunks and in the message merged from them."""

    section: int
    """The part of the block's summary that the text belongs to (OpenAI Responses); a blank line separates two."""

    text: str
    encrypted: str | None
    """The value that the provider needs to accept the block again."""

    kind: str | None
    """Of `encrypted`: ``"signature"`` (Anthropic, Gemini), ``"redacted"`` (Anthropic) or ``"encrypted"`` (OpenAI)."""

    form: Form


def reasoning_id(message_id: str, n: int) -> str:
    """The id of the `n`-th (from 0) reasoning block of a message; a message id of its own, never the answer's."""
    return f"{message_id}-reasoning-{n}"


def form_metadata(
    form: Form,
    provider: Any = None,
    kind: str | None = None,
    lengths: Sequence[int] = (),
    place: Place | None = None,
) -> dict[str, Any]:
    """Metadata for a reasoning message: enough to put the reasoning back, and known from its first chunk on.

    `provider`: ``response_metadata["model_provider"]`` of the message. `lengths`: of the sections.
    """
    facts: dict[str, Any] = {"form": form.name}
    if form.id is not None:
        facts["id"] = clean_text(form.id)
    if isinstance(provider, str) and provider:
        facts["provider"] = clean_text(provider)
    if len(lengths) > 1:
        facts["sections"] = list(lengths)
    if kind is not None:
        facts["kind"] = kind
    if place is not None:
        facts["at"] = list(place)
    return metadata(facts)


def reasoning_message(message_id: str, n: int, block: Block, provider: Any) -> ReasoningMessage:
    """The `n`-th (from 0) reasoning block of the message as a message of its own."""
    sections = [clean_text(section) for section in block.sections]
    return ReasoningMessage(
        id=reasoning_id(message_id, n),
        content=SEPARATOR.join(sections),
        encrypted_value=None if block.encrypted is None else clean_text(block.encrypted),
        metadata=form_metadata(block.form, provider, block.kind, [len(section) for section in sections], block.place),
    )


@dataclass(slots=True)
class Thought:
    """A reasoning block while its chunks arrive. Most chunks are like the one before, but for the text."""

    message_id: str
    """Of the reasoning message."""
    form: Form
    provider: Any
    place: Place | None = None
    """Its place in the answer."""
    kind: str | None = None
    lengths: dict[int, int] = field(default_factory=dict)
    """Of its sections so far."""
    section: int = 0
    grows: str = ""
    """The place of the next chunk's text, if it is like the last one."""
    block: dict[str, Any] | None = None
    """The only block of the last chunk's content, without its text; None if the text is in ``additional_kwargs``."""

    def add(self, piece: Reasoning, text: str) -> str:
        """Note one more piece. Returns its text with the blank line that precedes a new section."""
        begins = bool(text and self.lengths and piece.section not in self.lengths)
        self.section = piece.section
        self.lengths[piece.section] = self.lengths.get(piece.section, 0) + len(text)
        self.kind = piece.kind or self.kind
        if piece.form.id is not None:
            self.form = piece.form
        return f"{SEPARATOR}{text}" if begins else text

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the message, as far as the block is known."""
        return form_metadata(self.form, self.provider, self.kind, list(self.lengths.values()), self.place)

    def expect(self, message: Any, piece: Reasoning) -> bool:
        """Note what the next chunk is like, if it goes on with the only piece of this one; False if that cannot be
        said."""
        shape = BY_NAME[piece.form.name]
        block: Any = message.additional_kwargs if shape.outside else message.content[0]
        if piece.encrypted is not None or len(self.lengths) != 1 or not shape.grows or not isinstance(block, dict):
            return False
        self.grows, self.block = shape.grows, None if shape.outside else {**block, shape.grows: ""}
        return len(message.content) == (0 if shape.outside else 1)

    def more(self, fields: Mapping[str, Any]) -> str:
        """The text of a chunk that has nothing but more of this block; empty for any other chunk."""
        content, outside = fields["content"], fields["additional_kwargs"]
        if self.block is None:
            text = outside.get(self.grows) if not content and len(outside) == 1 else None
        elif outside or type(content) is not list or len(content) != 1 or type(content[0]) is not dict:
            return ""
        else:
            text = content[0].get(self.grows)
            if {**content[0], self.grows: ""} != self.block:
                return ""
        return text if type(text) is str else ""


class Restored(NamedTuple):
    """Parts of an `AIMessage` that hold its reasoning."""

    blocks: list[tuple[Place, list[Any], bool]]
    """With their places (`layout.arrange`)."""

    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]


def restore(messages: Sequence[ReasoningMessage]) -> Restored:
    """The reasoning of one assistant message, in order. A message that does not say its shape is dropped."""
    restored = Restored([], {}, {})
    for number, message in enumerate(messages):
        facts = (message.metadata or {}).get(SOURCE)
        if not isinstance(facts, Mapping):
            continue
        form, kind, own_id, provider = (_string(facts.get(key)) for key in ("form", "kind", "id", "provider"))
        shape = BY_NAME.get(form) if form else BY_KIND.get(kind or "")
        if provider is not None:
            restored.response_metadata["model_provider"] = provider
        if shape is None:
            continue
        sections = tuple(_sections(message.content, facts.get("sections")))
        written = shape.write(Block(sections, message.encrypted_value, kind, Form(shape.name, own_id), number))
        if shape.outside:
            restored.additional_kwargs[shape.where] = written
        else:
            restored.blocks.append((place_of(facts.get("at")), written, False))
        if shape.version is not None:
            restored.response_metadata["output_version"] = shape.version
    return restored


def _sections(content: str, lengths: Any) -> list[str]:
    """The content cut where its sections were joined; one section where the lengths do not fit."""
    if isinstance(lengths, list) and all(isinstance(length, int) and length > 0 for length in lengths):
        starts = [0, *accumulate(length + len(SEPARATOR) for length in lengths)]
        sections = [content[start : start + length] for start, length in zip(starts, lengths, strict=False)]
        if SEPARATOR.join(sections) == content:
            return sections
    return [content] if content else []


def place_of(value: Any) -> Place:
    """A place as metadata has it; in front of everything if there is none."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return value[0], value[1]
    return FRONT


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
