"""Pure. The sources that a text cites, and Gemini's grounding as such.

A citation is a mapping with what is known of it: ``url``, ``title``, ``cited_text`` and ``file_id`` of the source;
``start_index`` and ``end_index`` of the part of the text that rests on it, in characters (Unicode code points).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["Citation", "grounded", "items_of", "source_of"]

Citation: TypeAlias = dict[str, Any]

_SOURCE = {
    "url": ("url", "uri"),
    "title": ("title", "document_title", "filename"),
    "cited_text": ("cited_text",),
    "file_id": ("file_id",),
}
"""Members of a citation, and what providers call them."""


def source_of(*places: Any) -> Citation:
    """The source that the first of these places names; empty if none does."""
    found: Citation = {}
    for member, names in _SOURCE.items():
        for place in places:
            value = next((place[n] for n in names if place.get(n)), None) if isinstance(place, Mapping) else None
            if isinstance(value, str):
                found[member] = clean_text(value)
                break
    return found


def grounded(metadata: Mapping[str, Any], text: str) -> list[Citation]:
    """Gemini's grounding: parts of the text, each with the numbers of its sources."""
    sources = [_web(chunk) for chunk in items_of(metadata, "grounding_chunks", "groundingChunks")]
    found: list[Citation] = []
    after = 0
    for support in items_of(metadata, "grounding_supports", "groundingSupports"):
        if not isinstance(support, Mapping) or not isinstance(segment := support.get("segment"), Mapping):
            continue
        span = _span(segment, text, after)
        if span is not None:
            after = span["start_index"]
        for number in items_of(support, "grounding_chunk_indices", "groundingChunkIndices"):
            if isinstance(number, int) and 0 <= number < len(sources) and sources[number]:
                found.append({**sources[number], **(span or {})})
    return found or [source for source in sources if source]


def _web(chunk: Any) -> Citation:
    kinds = ("web", "retrieved_context", "retrievedContext", "maps", "image")
    place = next((chunk[kind] for kind in kinds if chunk.get(kind)), None) if isinstance(chunk, Mapping) else None
    return source_of(place)


def _span(segment: Mapping[str, Any], text: str, after: int) -> dict[str, int] | None:
    """Where the segment stands. Google counts bytes of UTF-8, without the blank lines that part the text here; its own
    copy of the text decides."""
    first, last = (segment.get(f"{end}_index", segment.get(f"{end}Index")) for end in ("start", "end"))
    data, words = text.encode(), segment.get("text")
    first, last = first if isinstance(first, int) else 0, last if isinstance(last, int) else 0
    start, stop = (len(data[:at].decode(errors="ignore")) for at in (first, last))
    if isinstance(words, str) and words and text[start:stop] != words:
        start = text.find(words, after)
        stop = start + len(words)
    return {"start_index": start, "end_index": stop} if 0 <= start < stop else None


def items_of(holder: Mapping[str, Any], *names: str) -> Sequence[Any]:
    """The list under the first of these names that has one."""
    return next((value for name in names if isinstance(value := holder.get(name), list)), ())
