"""The sources that an answer cites, whatever provider it came from. Pure.

A citation is a mapping with what is known of it: ``url``, ``title``, ``cited_text`` and ``file_id`` of the source;
``start_index`` and ``end_index`` of the part of the answer that rests on it, in characters (Unicode code points) of the
text that the client shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["Citation", "Cited", "citations_of"]

Citation: TypeAlias = dict[str, Any]

_SOURCE = {
    "url": ("url", "uri"),
    "title": ("title", "document_title", "filename"),
    "cited_text": ("cited_text",),
    "file_id": ("file_id",),
}
"""Members of a citation, and what providers call them."""


class Cited(NamedTuple):
    """The sources of a text block. They stand behind the block's text, and have no text of their own."""

    sources: Sequence[Any]


def citations_of(message: BaseMessage, text: str, cited: Sequence[tuple[Cited, int, int]]) -> list[Citation]:
    """The citations of a whole answer. `text`: as it is shown. `cited`: the sources of each text block, and where in
    `text` the block begins and ends."""
    grounding = message.response_metadata.get("grounding_metadata")
    found = _grounded(grounding, text) if isinstance(grounding, Mapping) else []
    for block, start, end in cited:
        found += [one for raw in block.sources if (one := _from_block(raw, start, end, bool(found)))]
    return found or _listed(message.additional_kwargs)


def _source(*places: Any) -> Citation:
    found: Citation = {}
    for member, names in _SOURCE.items():
        for place in places:
            value = next((place[n] for n in names if place.get(n)), None) if isinstance(place, Mapping) else None
            if isinstance(value, str):
                found[member] = clean_text(value)
                break
    return found


def _from_block(raw: Any, start: int, end: int, grounded: bool) -> Citation | None:
    """Anthropic's citations, OpenAI's annotations and LangChain's: with indexes in the block, or of all of it."""
    if isinstance(raw, Mapping) and raw.get("type") == "non_standard_annotation":
        raw = raw.get("value")
    extras = raw.get("extras") if isinstance(raw, Mapping) else None
    if isinstance(extras, Mapping) and "google_ai_metadata" in extras and grounded:
        return None  # LangChain's copy of the grounding, with indexes in bytes
    found = _source(raw, extras)
    if not found:
        return None
    first, last = raw.get("start_index"), raw.get("end_index")
    if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last:
        return {**found, "start_index": min(start + first, end), "end_index": min(start + last, end)}
    # OpenAI names a file at a point of the text, and no part of it.
    whole = start < end and ("file_id" not in found or "cited_text" in found)
    return {**found, "start_index": start, "end_index": end} if whole else found


def _grounded(metadata: Mapping[str, Any], text: str) -> list[Citation]:
    """Gemini's grounding: parts of the text, each with the numbers of its sources."""
    sources = [_web(chunk) for chunk in _list(metadata, "grounding_chunks", "groundingChunks")]
    found: list[Citation] = []
    after = 0
    for support in _list(metadata, "grounding_supports", "groundingSupports"):
        if not isinstance(support, Mapping) or not isinstance(segment := support.get("segment"), Mapping):
            continue
        span = _span(segment, text, after)
        if span is not None:
            after = span["start_index"]
        for number in _list(support, "grounding_chunk_indices", "groundingChunkIndices"):
            if isinstance(number, int) and 0 <= number < len(sources) and sources[number]:
                found.append({**sources[number], **(span or {})})
    return found or [source for source in sources if source]


def _web(chunk: Any) -> Citation:
    kinds = ("web", "retrieved_context", "retrievedContext", "maps", "image")
    place = next((chunk[kind] for kind in kinds if chunk.get(kind)), None) if isinstance(chunk, Mapping) else None
    return _source(place)


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


def _listed(members: Mapping[str, Any]) -> list[Citation]:
    """Sources beside the content (Perplexity, xAI): results of the search, or addresses alone."""
    sources = _list(members, "search_results") or _list(members, "citations")
    return [found for raw in sources if (found := _source({"url": raw} if isinstance(raw, str) else raw))]


def _list(holder: Mapping[str, Any], *names: str) -> Sequence[Any]:
    return next((value for name in names if isinstance(value := holder.get(name), list)), ())
