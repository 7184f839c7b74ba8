"""Pure. The media type of a file: by the header of the answer, the suffix of its path, then the first bytes.

Sources: IANA's registry of media types; the signatures of WHATWG's MIME Sniffing Standard and of ISO base media files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

__all__ = ["SNIFFED", "media_type"]

SNIFFED = 64
"""Bytes that a signature needs."""

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_UNKNOWN = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/binary", "application/x-download"}
)
"""Types by which servers say that they do not know."""
_OTHER_NAMES: Mapping[str, str] = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav"}

_SUFFIXES: Mapping[str, str] = {
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "webp": "image/webp",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp3": "audio/mpeg",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "wav": "audio/wav",
    "avi": "video/x-msvideo",
    "m4v": "video/mp4",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mpg": "video/mpeg",
    "webm": "video/webm",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "txt": "text/plain",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
}

_SIGNATURES: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF....WEBP", "image/webp"),
        (rb"BM.{4}\0\0\0\0", "image/bmp"),
        (rb"II\*\0|MM\0\*", "image/tiff"),
        (rb"....ftyp(avif|avis)", "image/avif"),
        (rb"....ftyp(heic|heix|mif1)", "image/heic"),
        (rb"....ftypM4A", "audio/mp4"),
        (rb"....ftypqt", "video/quicktime"),
        (rb"....ftyp", "video/mp4"),
        (rb"\x1aE\xdf\xa3.{0,40}webm", "video/webm"),
        (rb"\x1aE\xdf\xa3", "video/x-matroska"),
        (rb"RIFF....AVI ", "video/x-msvideo"),
        (rb"RIFF....WAVE", "audio/wav"),
        (rb"ID3|\xff[\xf2\xf3\xfa\xfb]", "audio/mpeg"),
        (rb"OggS", "audio/ogg"),
        (rb"fLaC", "audio/flac"),
        (rb"%PDF-", "application/pdf"),
    )
)


def media_type(header: str, path: str, first: bytes) -> str | None:
    """The type without parameters, in lower case; None if nothing shows one.

    `header`: of the answer, ``""`` if there is none. `path`: of the URL. `first`: the first `SNIFFED` bytes.
    """
    named = header.partition(";")[0].strip().lower()
    if _TYPE.fullmatch(named) and named not in _UNKNOWN:
        return _OTHER_NAMES.get(named, named)
    by_suffix = _SUFFIXES.get(PurePosixPath(path).suffix.lstrip(".").lower())
    return by_suffix or next((kind for pattern, kind in _SIGNATURES if pattern.match(first)), None)
