"""Edge. Checks against requests that foreign pages make: their origin, and the name by which they reach the server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["HostCheck", "check_same_site"]


def check_same_site(headers: Mapping[str, str], allowed: Collection[str]) -> None:
    """Raises `Refusal` 403 if a page of a foreign origin sent the request, and its browser did not ask first (CORS).

    Browsers send POST requests without a JSON type for any page, with the user's cookies. `allowed`: origins, or ``*``.
    """
    if not _is_same_site(headers, allowed):
        raise Refusal(403, "FORBIDDEN", "a page of another origin must send content-type: application/json")


def _is_same_site(headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    if headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        return True
    origin = headers.get("origin")
    if origin is None or headers.get("sec-fetch-site") == "same-origin" or not {"*", origin}.isdisjoint(allowed):
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host")
    except ValueError:  # no URL
        return False


class HostCheck:
    """Middleware: requests must name the server by one of `hosts`. A foreign page whose own name leads to this
    machine (DNS rebinding) counts as of the same origin for a browser; its name gives it away."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], refuse: Callable[[str, Exception], Response]) -> None:
        """`refuse`: the answer to an exception, for a path."""
        self._app, self._refuse = app, refuse
        self._names = frozenset(name.lower() for name in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_known(Headers(scope=scope).get("host", "")):
            refusal = Refusal(403, "FORBIDDEN", "the server is not known by this name")
            await self._refuse(scope["path"], refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        try:
            return urlsplit(f"//{host}").hostname in self._names
        except ValueError:
            return False
