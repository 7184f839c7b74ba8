"""Edge. The built files of a page, as responses: compressed, checked by hash, and with a strict content policy."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["ASSETS", "INDEX", "NO_CACHE", "SECURITY", "STATIC", "is_built", "sent"]

STATIC = Path(__file__).parent / "static"
"""The build of the package's own page. It is in the wheel; in a clone ``make page`` makes it."""
INDEX = "index.html"
ASSETS = "assets"
"""The folder of files whose names contain a hash of their content."""

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
SECURITY = {
    "content-security-policy": "; ".join(f"{name} {sources}" for name, sources in _POLICY.items()),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""Headers of every response. The page runs its own scripts only, and sends nothing to other servers."""
NO_CACHE = {"cache-control": "no-cache"}
"""Browsers ask each time whether the file has changed."""
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""By suffix. The tables of some systems say that JavaScript is text, and browsers refuse to run that."""
_COMPRESSED = {".ico", ".jpg", ".png", ".webp", ".woff2"}


@dataclass(frozen=True, slots=True)
class _Content:
    body: bytes
    zipped: bytes | None
    etag: str


def is_built(folder: Path = STATIC) -> bool:
    """Whether the folder contains a page."""
    return (folder / INDEX).is_file()


async def sent(request: Request, path: Path, *, immutable: bool) -> Response:
    """The file, or 304 if the client has it. Raises `HTTPException` 404: it is gone."""
    try:
        content = await run_in_threadpool(lambda: _read(path, path.stat().st_mtime_ns))
    except FileNotFoundError:  # The page is being built again.
        raise HTTPException(404) from None
    headers = {**SECURITY, **(_FOR_EVER if immutable else NO_CACHE), "etag": content.etag, "vary": "accept-encoding"}
    if content.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = content.body
    if content.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["content-encoding"] = content.zipped, "gzip"
    return Response(body, headers=headers, media_type=_TYPES.get(path.suffix, "application/octet-stream"))


@lru_cache(maxsize=256)
def _read(path: Path, changed: int) -> _Content:
    """Once per build, whose files have another time: the page may be built again under a server."""
    body = path.read_bytes()
    zipped = None if path.suffix in _COMPRESSED else gzip.compress(body, mtime=0)
    return _Content(body, zipped, f'"{sha256(body).hexdigest()[:32]}"')
