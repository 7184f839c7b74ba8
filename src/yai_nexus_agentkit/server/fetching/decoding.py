"""Pure. The content of an answer's pieces, decompressed in small steps: a piece may hold a thousand times its size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from yai_nexus_agentkit.errors import MediaError

__all__ = ["Decoder"]

_STEP = 64 * 1024
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Zlib's names of the formats (RFC 9110, 8.4.1)."""


class Decoder:
    """Decodes the pieces of one answer, by its ``content-encoding``. Raises `MediaError`."""

    def __init__(self, encoding: str) -> None:
        named = encoding.strip().lower()
        if named not in ("", "identity", *_WINDOWS):
            raise MediaError("it is compressed, although nobody asked for that", detail=repr(encoding[:100]))
        self._zlib = zlib.decompressobj(_WINDOWS[named]) if named in _WINDOWS else None

    def decoded(self, piece: bytes) -> Iterator[bytes]:
        """The content of a piece, in steps of 64 KiB at most."""
        if self._zlib is None:
            for at in range(0, len(piece), _STEP):
                yield piece[at : at + _STEP]
            return
        try:
            while (data := self._zlib.decompress(piece, _STEP)) or self._zlib.unconsumed_tail:
                yield data
                piece = self._zlib.unconsumed_tail
        except zlib.error as error:
            raise MediaError("its compression is broken", detail=str(error)) from error

    def finish(self) -> None:
        """Nothing comes any more."""
        if self._zlib is not None and not self._zlib.eof:
            raise MediaError("its compression is broken", detail="the end is missing")
