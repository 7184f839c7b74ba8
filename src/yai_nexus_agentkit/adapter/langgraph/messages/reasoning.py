"""Reasoning of models: the shapes that providers give it, as AG-UI reasoning messages and back. Pure.

`SHAPES` has one entry per shape, for both directions. A provider refuses its own reasoning in any other shape than the
one it sent, so the shape travels with the reasoning message, in ``metadata["langgraph"]``: ``form`` (the shape's name),
``id`` (the provider's own id of the block), ``kind`` (of the encrypted value), ``sections`` (their lengths, where there
are several), ``provider`` (``model_provider`` of the message).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from ag_ui.core import ReasoningMessage

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = [
    "BLOCKS",
    "METADATA_KEY",
    "OUTSIDE",
    "SHAPES",
    "Block",
    "Form",
    "Part",
    "Reasoning",
    "Restored",
    "Shape",
    "form_metadata",
    "reasoning_id",
    "reasoning_message",
    "restore",
    "shape_of",
]

METADATA_KEY = "langgraph"
"""Our key inside AG-UI metadata objects."""

_SEPARATOR = "\n\n"


class Form(NamedTuple):
    """Where in a LangChain message a reasoning block was found, to put it back there."""

    name: str
    """Of the shape."""

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

    form: Form


class Block(NamedTuple):
    """A whole reasoning block of a message."""

    sections: tuple[str, ...]
    encrypted: str | None
    kind: str | None
    form: Form
    number: int = 0
    """Its place among the blocks of the message."""

    @property
    def text(self) -> str:
        """The sections as they are streamed: a blank line between two."""
        return _SEPARATOR.join(self.sections)


# ---------------------------------------------------------------------- the shapes


class Part(NamedTuple):
    """What one block of a message or chunk says. Members that are no strings are ignored."""

    text: Any = ""
    encrypted: Any = None
    kind: str = ""
    section: int | None = 0
    """None: it follows from the block's index."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a provider writes reasoning into a LangChain message."""

    name: str
    where: str
    """The ``type`` of the content block, or (`outside`) the member of ``additional_kwargs``."""
    read: Callable[[Any], Sequence[Part] | None]
    """What the block (or member) says; None if it has another shape."""
    write: Callable[[Block], Any]
    """The blocks, as a list, or the member's value."""
    outside: bool = False
    has_id: bool = False
    grows: str = ""
    """Where chunks differ in their text alone: the member that has it, of the block or of ``additional_kwargs``."""
    kind: str = ""
    """A reasoning message that says no shape, but this kind of encrypted value, has this one."""
    version: str | None = None
    """``output_version`` of a message with such blocks."""


def _signature(block: Block) -> dict[str, Any]:
    return {} if block.encrypted is None else {"signature": block.encrypted}


def _read_thinking(block: Mapping[str, Any]) -> Sequence[Part] | None:
    text = block.get("thinking")
    return None if isinstance(text, list) else [Part(text, block.get("signature"), "signature")]


def _write_thinking(block: Block) -> list[Any]:
    return [{"type": "thinking", "thinking": block.text, **_signature(block), "index": block.number}]


def _read_parts(block: Mapping[str, Any]) -> Sequence[Part] | None:
    parts = block["thinking"]
    text = "".join(part.get("text") or "" for part in parts if isinstance(part, Mapping))
    return [Part(text, block.get("signature"), "signature")]


def _write_parts(block: Block) -> list[Any]:
    parts = [{"type": "text", "text": block.text}]
    return [{"type": "thinking", "thinking": parts, "index": block.number}]


def _read_redacted(block: Mapping[str, Any]) -> Sequence[Part] | None:
    return [Part("", block.get("data"), "redacted")]


def _write_redacted(block: Block) -> list[Any]:
    return [{"type": "redacted_thinking", "data": block.encrypted or "", "index": block.number}]


def _read_non_standard(block: Mapping[str, Any]) -> Sequence[Part] | None:
    value = block.get("value")
    redacted = isinstance(value, Mapping) and value.get("type") == "redacted_thinking"
    return _read_redacted(value) if redacted else None  # type: ignore[arg-type]


def _write_non_standard(block: Block) -> list[Any]:
    value = {"type": "redacted_thinking", "data": block.encrypted or ""}
    return [{"type": "non_standard", "value": value, "index": block.number}]


def _read_bedrock(block: Mapping[str, Any]) -> Sequence[Part] | None:
    inner = block.get("reasoning_content")
    if not isinstance(inner, Mapping):
        return None
    text = inner.get("text") or inner.get("reasoning")
    redacted = Part("", inner.get("redacted_content"), "redacted")
    return [Part(text, inner.get("signature"), "signature"), redacted]


def _write_bedrock(block: Block) -> list[Any]:
    if block.kind == "redacted":
        return [{"type": "reasoning_content", "reasoning_content": {"redacted_content": block.encrypted or ""}}]
    inner = {"text": block.text, **_signature(block)}
    return [{"type": "reasoning_content", "reasoning_content": inner, "index": block.number}]


def _read_summary(block: Any) -> Sequence[Part] | None:
    if not isinstance(block, Mapping) or not isinstance(parts := block.get("summary"), list):
        return None
    found: list[Part] = []
    for position, part in enumerate(parts):
        if isinstance(part, Mapping):
            index = part.get("index")
            found.append(Part(part.get("text"), section=index if isinstance(index, int) else position))
    return [*found, Part("", block.get("encrypted_content"), "encrypted")]


def _summary(block: Block) -> dict[str, Any]:
    """OpenAI's reasoning item. Without an encrypted value the member is absent: the API then looks the id up."""
    parts = [{"type": "summary_text", "text": section, "index": n} for n, section in enumerate(block.sections)]
    own_id = {} if block.form.id is None else {"id": block.form.id}
    content = {} if block.encrypted is None else {"encrypted_content": block.encrypted}
    return {"type": "reasoning", **own_id, "summary": parts, **content}


def _write_summary(block: Block) -> list[Any]:
    return [{**_summary(block), "index": block.number}]


def _read_outside(member: Any) -> Sequence[Part] | None:
    """A summary beside the content; one without parts may carry its encrypted value alone."""
    if not isinstance(member, Mapping):
        return None
    return _read_summary(member) or [Part("", member.get("encrypted_content"), "encrypted")]


def _read_standard(block: Mapping[str, Any]) -> Sequence[Part] | None:
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    encrypted = extras.get("encrypted_content") or block.get("encrypted_content")
    if isinstance(encrypted, str) and encrypted:
        return [Part(block.get("reasoning"), encrypted, "encrypted", section=None)]
    signature = extras.get("signature") or block.get("signature")
    return [Part(block.get("reasoning"), signature, "signature", section=None)]


def _write_standard(block: Block) -> list[Any]:
    """One block per section, as `langchain_openai` numbers them; the first one is encrypted."""
    own_id = {} if block.form.id is None else {"id": block.form.id}
    blocks: list[Any] = []
    for part, section in enumerate(block.sections or ("",)):
        code = f"{block.number}_{part}".encode().hex()
        index: int | str = block.number if len(block.sections) < 2 else f"lc_rs_{code}"
        written: dict[str, Any] = {"type": "reasoning", "reasoning": section, **own_id, "index": index}
        if block.encrypted is not None and part == 0:
            openai = block.kind == "encrypted" or (block.kind is None and own_id)
            written["extras"] = {"encrypted_content" if openai else "signature": block.encrypted}
        blocks.append(written)
    return blocks


def _read_text(member: Any) -> Sequence[Part] | None:
    return [Part(member)] if isinstance(member, str) else None


def _write_text(block: Block) -> str:
    return block.text


SHAPES = (
    # DeepSeek and others beside the content, which comes after it.
    Shape("kwargs.reasoning_content", "reasoning_content", _read_text, _write_text, True, grows="reasoning_content"),
    Shape("kwargs.text", "reasoning", _read_text, _write_text, True, grows="reasoning"),
    # OpenAI Responses: `output_version` v0, and its own block.
    Shape("kwargs.reasoning", "reasoning", _read_outside, _summary, True, has_id=True),
    Shape("summary", "reasoning", _read_summary, _write_summary, has_id=True, kind="encrypted"),
    # LangChain's standard block.
    Shape("reasoning", "reasoning", _read_standard, _write_standard, has_id=True, grows="reasoning", version="v1"),
    # Anthropic and Gemini.
    Shape("thinking", "thinking", _read_thinking, _write_thinking, grows="thinking", kind="signature"),
    Shape("redacted_thinking", "redacted_thinking", _read_redacted, _write_redacted, kind="redacted"),
    # LangChain's wrapper around what its standard blocks do not know.
    Shape("non_standard", "non_standard", _read_non_standard, _write_non_standard),
    # Mistral: the thinking is a list of text blocks.
    Shape("thinking.parts", "thinking", _read_parts, _write_parts),
    # Bedrock Converse.
    Shape("reasoning_content", "reasoning_content", _read_bedrock, _write_bedrock),
)
"""A new shape is one more entry. Of several shapes at one place, the first whose `read` answers is taken."""

_BY_NAME = {shape.name: shape for shape in SHAPES}
_BY_KIND = {shape.kind: shape for shape in SHAPES if shape.kind}
BLOCKS: Mapping[str, tuple[Shape, ...]] = {
    shape.where: tuple(other for other in SHAPES if other.where == shape.where and not other.outside)
    for shape in SHAPES
    if not shape.outside
}
"""Shapes of content blocks, by the block's type."""
OUTSIDE = tuple(shape for shape in SHAPES if shape.outside)


def shape_of(form: Form) -> Shape:
    return _BY_NAME[form.name]


# ---------------------------------------------------------------------- messages


def reasoning_id(message_id: str, n: int) -> str:
    """The id of the `n`-th (from 0) reasoning block of a message; a message id of its own, never the answer's."""
    return f"{message_id}-reasoning-{n}"


def form_metadata(form: Form, provider: Any = None) -> dict[str, Any]:
    """Metadata for a reasoning message, known from its first chunk on: enough to put the reasoning back.

    `provider` is ``response_metadata["model_provider"]`` of the chunk, if it has one.
    """
    facts: dict[str, Any] = {"form": form.name}
    if form.id is not None:
        facts["id"] = clean_text(form.id)
    if isinstance(provider, str) and provider:
        facts["provider"] = clean_text(provider)
    return {METADATA_KEY: facts}


def reasoning_message(message_id: str, n: int, block: Block, provider: Any) -> ReasoningMessage:
    """The `n`-th (from 0) reasoning block of the message as a message of its own."""
    metadata = form_metadata(block.form, provider)
    facts = metadata[METADATA_KEY]
    if block.kind is not None:
        facts["kind"] = block.kind
    if len(block.sections) > 1:
        facts["sections"] = [len(clean_text(section)) for section in block.sections]
    return ReasoningMessage(
        id=reasoning_id(message_id, n),
        content=_SEPARATOR.join(map(clean_text, block.sections)),
        encrypted_value=None if block.encrypted is None else clean_text(block.encrypted),
        metadata=metadata,
    )


class Restored(NamedTuple):
    """What to add to an `AIMessage` so that it holds its reasoning again."""

    blocks: list[dict[str, Any]]
    """In front of the message's text."""

    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]


def restore(messages: Sequence[ReasoningMessage]) -> Restored:
    """The reasoning of one assistant message, in order. A message that does not say its shape is dropped."""
    restored = Restored([], {}, {})
    for number, message in enumerate(messages):
        facts = (message.metadata or {}).get(METADATA_KEY)
        if not isinstance(facts, Mapping):
            continue
        form, kind, own_id, provider = (_string(facts.get(key)) for key in ("form", "kind", "id", "provider"))
        shape = _BY_NAME.get(form) if form else _BY_KIND.get(kind or "")
        if provider is not None:
            restored.response_metadata["model_provider"] = provider
        if shape is None:
            continue
        sections = tuple(_sections(message.content, facts.get("sections")))
        written = shape.write(Block(sections, message.encrypted_value, kind, Form(shape.name, own_id), number))
        if shape.outside:
            restored.additional_kwargs[shape.where] = written
        else:
            restored.blocks.extend(written)
        if shape.version is not None:
            restored.response_metadata["output_version"] = shape.version
    return restored


def _sections(content: str, lengths: Any) -> list[str]:
    """The content cut where its sections were joined; one section where the lengths do not fit."""
    if isinstance(lengths, list) and all(isinstance(length, int) and length > 0 for length in lengths):
        starts = [0, *accumulate(length + len(_SEPARATOR) for length in lengths)]
        sections = [content[start : start + length] for start, length in zip(starts, lengths, strict=False)]
        if _SEPARATOR.join(sections) == content:
            return sections
    return [content] if content else []


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
