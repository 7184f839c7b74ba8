"""Pure. Reads Server-Sent Events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from codecs import BOM_UTF8

__all__ = ["SSEReader"]


class SSEReader:
    """Takes the bytes of one stream, however they are cut.

    Lines end with LF or CRLF. Libraries that read lines of text also end them at U+0085, U+2028 and U+2029, which JSON
    texts may have in them.
    """

    __slots__ = ("_data", "_line")

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The pieces of the line that has not ended: joined once, since an event may have megabytes."""
        self._data: list[str] = []

    @property
    def within(self) -> bool:
        """An event has begun and is not complete."""
        return bool(self._line or self._data)

    def feed(self, piece: bytes) -> list[str]:
        """The data of each event that is complete with `piece`."""
        found: list[str] = []
        first, *lines = piece.split(b"\n")
        if first:
            self._line.append(first)
        for line in lines:
            text = b"".join(self._line).removesuffix(b"\r").removeprefix(BOM_UTF8).decode("utf-8", "replace")
            self._line = [line] if line else []
            if text.startswith("data:"):
                self._data.append(text.removeprefix("data:").removeprefix(" "))
            elif not text and self._data:
                found.append("\n".join(self._data))
                self._data.clear()
        return found
