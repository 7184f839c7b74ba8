"""Edge. A picture or another file of a thread as an HTTP response that no browser takes for a page of this server."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from ag_ui.core import DataSource
from starlette.responses import Response

from yai_nexus_agentkit.errors import ThreadNotFoundError

__all__ = ["media_response"]

_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")
_URL_SAFE = str.maketrans("-_", "+/")
_SHOWN = re.compile(r"(image/(?!svg)|audio/|video/).*")
"""Types that a browser may show by themselves; the others are saved as files."""


def media_response(source: DataSource) -> Response:
    """The bytes, under the type that they were stored with. Raises `ThreadNotFoundError` if they are not base64."""
    try:
        body = b64decode(source.value.translate(_URL_SAFE) + "==")
    except (binascii.Error, ValueError):
        raise ThreadNotFoundError("what is stored under this id is not base64") from None
    kind = source.mime_type.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(kind):
        kind = "application/octet-stream"
    headers = {
        "content-type": kind,  # a client chose it: nothing may run in this server's name
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "content-disposition": "inline" if _SHOWN.fullmatch(kind) else "attachment",
        "cache-control": "private, max-age=600",
    }
    return Response(body, headers=headers)
