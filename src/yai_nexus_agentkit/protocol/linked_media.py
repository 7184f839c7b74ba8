"""Pure. A conversation that is too large for one event: media as links, long texts left out, and back.

A link ends in ``/media/`` and the id of what it leads to. The id is a digest of the thread's key and the data: it leads
nowhere in another thread, and nobody can guess it. Whoever serves a link checks who asks, as for the thread's messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from ag_ui.core import DataSource, Message, TextPart, UrlSource

__all__ = ["find_media", "has_links", "link_media", "linked_id", "unlink_media"]

_LINK = re.compile(r"/media/([0-9a-f]{32})$")
_SAMPLE = 4096
"""Characters at the beginning, at the end, and in between that make an id: pictures are large, and many."""
_LINKED = 300
"""Characters of JSON, besides the address, around what takes the place of data."""
_LEFT_OUT = "(left out: {} characters are too many for one event)"
_BEGIN = _LEFT_OUT.partition("{")[0]
_WAS_LEFT_OUT = re.compile(_LEFT_OUT.replace("(", r"\(").replace(")", r"\)").format(r"\d+"))


def link_media(messages: Sequence[Any], excess: int, *, key: str, address: str | None) -> list[Any] | None:
    """The messages, at least `excess` characters shorter; None if that cannot be.

    Links take the place of the largest media, then short texts that of the longest ones. `key`: the thread's.
    `address`: what links begin with; None: nobody serves them. A tool's result counts as a message.
    """
    found = sorted(_pieces(messages), key=lambda piece: (piece[2] is not None, piece[0]), reverse=True)
    saved, changed = 0, list(messages)
    for length, (number, place), source in found:
        if saved >= excess:
            break
        # What a subagent said is stored by no thread.
        if source is not None and (address is None or messages[number].subagent_run_id is not None):
            continue
        note = _LEFT_OUT.format(length)
        content = changed[number].content
        if place < 0:
            content = note
        elif source is None:
            content = _replaced(content, place, text=note)
        else:
            link = UrlSource(value=f"{address}{_media_id(key, source.value)}", mime_type=source.mime_type)
            content = _replaced(content, place, source=link)
        changed[number] = changed[number].model_copy(update={"content": content})
        saved += length - _LINKED - len(address or "")
    return changed if saved >= excess else None


def has_links(messages: Iterable[Message]) -> bool:
    """Whether something in these messages of a client may stand for what the thread has."""
    contents: list[Any] = [message.content for message in messages if message.role != "activity"]
    doubtful = [content for content in contents if content.__class__ is not str or content.startswith(_BEGIN)]
    return any(
        _WAS_LEFT_OUT.fullmatch(content) if content.__class__ is str else any(map(_stands_for_something, content or ()))
        for content in doubtful
    )


def unlink_media(messages: Iterable[Message], held: Sequence[Message], key: str) -> list[Message]:
    """The messages of a client with what the thread has in place of links, and of texts that were left out. `held`: the
    thread's messages as the client was shown them. Links that lead nowhere stay."""
    known = {_media_id(key, source.value): source for _, _, source in _pieces(held) if source is not None}
    texts = {
        (held[number].id, place): _text(held[number], place) for _, (number, place), one in _pieces(held) if not one
    }
    return [_unlinked(message, known, texts) for message in messages]


def linked_id(url: str) -> str | None:
    """The id in a URL that may be such a link; None for another one."""
    link = _LINK.search(url)
    return None if link is None else link[1]


def find_media(held: Sequence[Message], key: str, wanted: str) -> DataSource | None:
    """The data that an id leads to."""
    sources = (source for _, _, source in _pieces(held) if source is not None)
    return next((source for source in sources if _media_id(key, source.value) == wanted), None)


def _media_id(key: str, data: str) -> str:
    sample = (data[:_SAMPLE], data[-_SAMPLE:], data[:: len(data) // _SAMPLE + 1])
    return blake2b("\0".join((key, str(len(data)), *sample)).encode(), digest_size=16).hexdigest()


def _pieces(messages: Sequence[Any]) -> Iterator[tuple[int, tuple[int, int], DataSource | None]]:
    """Length, place and source of each medium; of each text the same without source. A place is the number of the
    message and of the part, -1 for content that is a text."""
    for number, message in enumerate(messages):
        content = _content(message)
        if isinstance(content, str):
            yield len(content), (number, -1), None
            continue
        for place, part in enumerate(content or ()):
            if isinstance(part, TextPart):
                yield len(part.text), (number, place), None
            elif isinstance(part.source, DataSource):
                yield len(part.source.value), (number, place), part.source


def _content(message: Any) -> str | list[Any] | None:
    content = getattr(message, "content", None)
    return content if isinstance(content, str | list) else None


def _text(message: Any, place: int) -> str:
    text: str = message.content if place < 0 else message.content[place].text
    return text


def _stands_for_something(part: Any) -> bool:
    if isinstance(part, TextPart):
        return bool(_WAS_LEFT_OUT.fullmatch(part.text))
    return isinstance(part.source, UrlSource) and bool(_LINK.search(part.source.value))


def _unlinked(message: Message, known: Mapping[str, DataSource], texts: Mapping[tuple[str, int], str]) -> Message:
    content: Any = _content(message)
    if isinstance(content, str):
        whole = texts.get((message.id, -1), "")
        return message.model_copy(update={"content": whole}) if content == _LEFT_OUT.format(len(whole)) else message
    for place, part in enumerate(content or ()):
        if isinstance(part, TextPart):
            whole = texts.get((message.id, place), "")
            if part.text == _LEFT_OUT.format(len(whole)):
                content = _replaced(content, place, text=whole)
        elif isinstance(part.source, UrlSource) and (link := _LINK.search(part.source.value)) and link[1] in known:
            content = _replaced(content, place, source=known[link[1]])
    return message if content is message.content else message.model_copy(update={"content": content})


def _replaced(content: Sequence[Any], place: int, **update: Any) -> list[Any]:
    return [*content[:place], content[place].model_copy(update=update), *content[place + 1 :]]
