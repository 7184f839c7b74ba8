"""Edge. The beginning of a web socket: from where it is opened, and by whom.

Browsers open sockets for any page, with the user's cookies, and let no page set headers. So the origin is checked, and
a token may also come as a sub-protocol or in the first frame. It is given to the resolver as the header it stands for.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import Scope

from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["TOKEN", "chosen_protocol", "identified", "is_allowed", "subprotocol_token"]

TOKEN = "agui.token."
"""Beginning of the sub-protocol that carries a token, as base64url text without ``=``."""

_CREDENTIALS = frozenset({b"cookie", b"authorization"})
"""Headers that a browser adds by itself."""


def is_allowed(scope: Scope, allowed: Collection[str]) -> bool:
    """A page of this origin may open the socket, or no browser opens it. Where only ``*`` allows the origin, the
    headers that browsers add by themselves are removed: a foreign page must not act as the user."""
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if origin is None or origin in allowed or _is_same(origin, headers.get("host")):
        return True
    if "*" not in allowed:
        return False
    scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in _CREDENTIALS]
    return True


def _is_same(origin: str, host: str | None) -> bool:
    try:
        return host is not None and urlsplit(origin).netloc == host
    except ValueError:  # no URL
        return False


def chosen_protocol(scope: Scope) -> str | None:
    """The first sub-protocol offered that is not a token; browsers want one of theirs back."""
    return next((name for name in _offered(scope) if not name.startswith(TOKEN)), None)


def _offered(scope: Scope) -> list[str]:
    """The client's sub-protocols. uvicorn before 0.38 gives some of them as one text with commas."""
    return [name.strip() for text in scope.get("subprotocols", ()) for name in text.split(",")]


def subprotocol_token(scope: Scope) -> str | None:
    """The token among the sub-protocols. Raises ValueError for one that cannot be read."""
    for name in _offered(scope):
        if name.startswith(TOKEN):
            text = name.removeprefix(TOKEN)
            try:
                return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
            except (binascii.Error, UnicodeDecodeError) as error:
                raise ValueError("the token in the sub-protocols is not base64url") from error
    return None


async def identified(
    scope: Scope, token: str | None, agent: ServedAgent, settings: ServerSettings, end: str
) -> Caller | None:
    """The sender of a handshake, whose path has `end` after the agent's; None if the resolver knows nobody (401).

    `token`: stands for the header ``Authorization: Bearer``. Raises ValueError for a token that a header cannot hold,
    and what the resolver raises.
    """
    if token is not None:
        if not token.isascii() or not token.isprintable():
            raise ValueError("the token has characters that a header cannot hold")
        others = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        scope["headers"] = [*others, (b"authorization", f"Bearer {token}".encode())]
    try:
        return await Caller.of(HTTPConnection(scope), agent, settings, end)
    except HTTPException as error:
        if error.status_code == 403:
            raise PermissionError(error.detail) from error
        if error.status_code != 401:
            raise
        return None
