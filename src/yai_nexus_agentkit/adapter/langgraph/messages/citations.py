"""Pure. The sources that an answer cites, whatever provider it came from.

A citation is a mapping with what is known of it: ``url``, ``title``, ``cited_text`` and ``file_id`` of the source;
``start_index`` and ``end_index`` of the part of the answer that rests on it, in characters (Unicode code points) of the
text that the client shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.protocol.citations import Citation, grounded, items_of, source_of

__all__ = ["Citation", "Cited", "citations_of"]


class Cited(NamedTuple):
    """The sources of a text block. They come after the block's text, and have no text of their own."""

    sources: Sequence[Any]


def citations_of(message: BaseMessage, text: str, cited: Sequence[tuple[Cited, int, int]]) -> list[Citation]:
    """The citations of a whole answer. `text`: as it is shown. `cited`: the sources of each text block, and where in
    `text` the block begins and ends."""
    grounding = message.response_metadata.get("grounding_metadata")
    found = grounded(grounding, text) if isinstance(grounding, Mapping) else []
    for block, start, end in cited:
        found += [one for raw in block.sources if (one := _from_block(raw, start, end, bool(found)))]
    return found or _listed(message.additional_kwargs)


def _from_block(raw: Any, start: int, end: int, grounded: bool) -> Citation | None:
    """Anthropic's citations, OpenAI's annotations and LangChain's: with indexes in the block, or of all of it."""
    if isinstance(raw, Mapping) and raw.get("type") == "non_standard_annotation":
        raw = raw.get("value")
    extras = raw.get("extras") if isinstance(raw, Mapping) else None
    if isinstance(extras, Mapping) and "google_ai_metadata" in extras and grounded:
        return None  # LangChain's copy of the grounding, with indexes in bytes
    found = source_of(raw, extras)
    if not found:
        return None
    first, last = raw.get("start_index"), raw.get("end_index")
    if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last:
        return {**found, "start_index": min(start + first, end), "end_index": min(start + last, end)}
    # OpenAI names a file at a point of the text, and no part of it.
    whole = start < end and ("file_id" not in found or "cited_text" in found)
    return {**found, "start_index": start, "end_index": end} if whole else found


def _listed(members: Mapping[str, Any]) -> list[Citation]:
    """Sources outside the content (Perplexity, xAI): results of the search, or addresses alone."""
    sources = items_of(members, "search_results") or items_of(members, "citations")
    return [found for raw in sources if (found := source_of({"url": raw} if isinstance(raw, str) else raw))]
