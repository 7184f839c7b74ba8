"""Pure. Reads Server-Sent Events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

__all__ = ["SSEReader"]


class SSEReader:
    """Takes the bytes of one stream, however they are cut.

    Lines end with LF or CRLF. Libraries that read lines of text also end them at U+0085, U+2028 and U+2029, which JSON
    texts may have in them.
    """

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[str]:
        """The data of each event that is complete with `piece`."""
        found: list[str] = []
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            if text.startswith("data:"):
                self._data.append(text.removeprefix("data:").removeprefix(" "))
            elif not text and self._data:
                found.append("\n".join(self._data))
                self._data.clear()
        return found
