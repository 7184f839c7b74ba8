"""Pure. The shapes in which providers write reasoning into LangChain messages.

`SHAPES` has one entry per shape, for both directions: how a block is read, and how it is written back. A provider
refuses its own reasoning in any other shape than the one it sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["BLOCKS", "BY_KIND", "BY_NAME", "OUTSIDE", "SEPARATOR", "SHAPES", "Block", "Form", "Part", "Shape"]

SEPARATOR = "\n\n"
"""Between two sections of a block."""


class Form(NamedTuple):
    """The place of a reasoning block in a LangChain message, to put it back there."""

    name: str
    """Of the shape."""

    id: str | None = None
    """The provider's own id of the block (OpenAI's ``rs_…``)."""


class Block(NamedTuple):
    """A whole reasoning block of a message."""

    sections: tuple[str, ...]
    encrypted: str | None
    kind: str | None
    form: Form
    number: int = 0
    """Its number among the blocks of the message."""
    place: tuple[int, int] | None = None
    """Its place in the answer (`layout.Place`); None in front of everything."""

    @property
    def text(self) -> str:
        """The sections as they are streamed: a blank line between two."""
        return SEPARATOR.join(self.sections)


class Part(NamedTuple):
    """Text and encrypted value of one block of a message or chunk. Values that are not strings are ignored."""

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
    """Reads the block (or member); None if it has another shape."""
    write: Callable[[Block], Any]
    """Makes the blocks, as a list, or the member's value."""
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


def _read_parts(block: Mapping[str, Any]) -> Sequence[Part] | None:
    parts = block["thinking"]
    text = "".join(part.get("text") or "" for part in parts if isinstance(part, Mapping))
    return [Part(text, block.get("signature"), "signature")]


def _read_redacted(block: Mapping[str, Any]) -> Sequence[Part] | None:
    return [Part("", block.get("data"), "redacted")]


def _write_redacted(block: Block) -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": block.encrypted or ""}


def _read_non_standard(block: Mapping[str, Any]) -> Sequence[Part] | None:
    value = block.get("value")
    return _read_redacted(value) if isinstance(value, Mapping) and value.get("type") == "redacted_thinking" else None


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


def _write_summary(block: Block) -> dict[str, Any]:
    """OpenAI's reasoning item. Without an encrypted value the member is absent: the API then looks the id up."""
    parts = [{"type": "summary_text", "text": section, "index": n} for n, section in enumerate(block.sections)]
    own_id = {} if block.form.id is None else {"id": block.form.id}
    content = {} if block.encrypted is None else {"encrypted_content": block.encrypted}
    return {"type": "reasoning", **own_id, "summary": parts, **content}


def _read_outside(member: Any) -> Sequence[Part] | None:
    """A summary outside the content; one without parts may carry its encrypted value alone."""
    if not isinstance(member, Mapping):
        return None
    return _read_summary(member) or [Part("", member.get("encrypted_content"), "encrypted")]


def _read_standard(block: Mapping[str, Any]) -> Sequence[Part] | None:
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    encrypted, kind = extras.get("encrypted_content") or block.get("encrypted_content"), "encrypted"
    if not isinstance(encrypted, str) or not encrypted:
        encrypted, kind = extras.get("signature") or block.get("signature"), "signature"
    return [Part(block.get("reasoning"), encrypted, kind, section=None)]


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
    # DeepSeek and others: outside the content, which comes after it.
    Shape("kwargs.reasoning_content", "reasoning_content", _read_text, _write_text, True, grows="reasoning_content"),
    Shape("kwargs.text", "reasoning", _read_text, _write_text, True, grows="reasoning"),
    # OpenAI Responses: `output_version` v0, and its own block.
    Shape("kwargs.reasoning", "reasoning", _read_outside, _write_summary, True, has_id=True),
    Shape(
        "summary",
        "reasoning",
        _read_summary,
        lambda block: [{**_write_summary(block), "index": block.number}],
        has_id=True,
        kind="encrypted",
    ),
    # LangChain's standard block.
    Shape("reasoning", "reasoning", _read_standard, _write_standard, has_id=True, grows="reasoning", version="v1"),
    # Anthropic and Gemini.
    Shape(
        "thinking",
        "thinking",
        _read_thinking,
        lambda block: [{"type": "thinking", "thinking": block.text, **_signature(block), "index": block.number}],
        grows="thinking",
        kind="signature",
    ),
    Shape(
        "redacted_thinking",
        "redacted_thinking",
        _read_redacted,
        lambda block: [{**_write_redacted(block), "index": block.number}],
        kind="redacted",
    ),
    # LangChain's wrapper around what its standard blocks do not know.
    Shape(
        "non_standard",
        "non_standard",
        _read_non_standard,
        lambda block: [{"type": "non_standard", "value": _write_redacted(block), "index": block.number}],
    ),
    # Mistral: the thinking is a list of text blocks.
    Shape(
        "thinking.parts",
        "thinking",
        _read_parts,
        lambda block: [{"type": "thinking", "thinking": [{"type": "text", "text": block.text}], "index": block.number}],
    ),
    # Bedrock Converse.
    Shape("reasoning_content", "reasoning_content", _read_bedrock, _write_bedrock),
)
"""A new shape is one more entry. Of several shapes at one place, the first whose `read` answers is taken."""

BY_NAME = {shape.name: shape for shape in SHAPES}
BY_KIND = {shape.kind: shape for shape in SHAPES if shape.kind}
BLOCKS: Mapping[str, tuple[Shape, ...]] = {
    shape.where: tuple(other for other in SHAPES if other.where == shape.where and not other.outside)
    for shape in SHAPES
    if not shape.outside
}
"""Shapes of content blocks, by the block's type."""
OUTSIDE = tuple(shape for shape in SHAPES if shape.outside)
