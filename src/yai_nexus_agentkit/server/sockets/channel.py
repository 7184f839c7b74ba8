"""Edge. One web socket as texts that come and go, within its limits; why it was closed."""

from __future__ import annotations

import asyncio
from enum import IntEnum

from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.server.socket_settings import SocketSettings

__all__ = ["REFUSALS", "Channel", "Close", "ClosedError", "Rate"]


class Close(IntEnum):
    """Why the server closes a socket."""

    DONE = 1000
    """The client has closed it."""
    NOT_TEXT = 1003
    """A binary frame came."""
    TOO_LARGE = 1009
    """A frame is larger than `SocketSettings.max_frame`."""
    FAILED = 1011
    """A fault of the server; its log has more."""
    COME_AGAIN = 1012
    """The server ends, a run went to another worker, or the client took nothing for `ServerSettings.stalled`: connect
    again."""
    MALFORMED = 4400
    """The address, or the first frame, is not understood: the same fails again."""
    UNIDENTIFIED = 4401
    """Nobody is known by these credentials, or `SocketSettings.max_age` is over."""
    FORBIDDEN = 4403
    """The user may not use this agent."""
    SILENT = 4408
    """The client answered no ``ping``."""
    TOO_MANY = 4429
    """Too many frames, or too many sockets: of the user, or of the process."""


REFUSALS = frozenset(
    {Close.NOT_TEXT, Close.TOO_LARGE, Close.MALFORMED, Close.UNIDENTIFIED, Close.FORBIDDEN, Close.TOO_MANY}
)
"""The client did something that it may not do."""


class ClosedError(Exception):
    """The socket is closed, or must be: `code` says why."""

    def __init__(self, code: Close, reason: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Rate:
    """A bucket of `per_second` tokens that fills by as many each second."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._left = self._most = max(per_second, 1.0)
        self._at = 0.0

    def take(self, now: float) -> bool:
        """Take one token. False: there is none."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Channel:
    """A web socket. `send` may be called by several tasks at once."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: SocketSettings) -> None:
        self.scope = scope
        self._receive, self._send, self._settings = receive, send, settings
        self.raw_send = send
        """For whoever sends many frames: `send` without a further step."""
        self._frames = Rate(settings.frames_per_second)
        self._now = asyncio.get_running_loop().time
        self.heard = self._now()
        """When the client last sent something."""

    async def accept(self, subprotocol: str | None) -> None:
        """Complete the handshake."""
        await self._receive()  # websocket.connect
        await self._send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})

    async def refuse(self) -> None:
        """Refuse the handshake: the server answers it with 403."""
        await self._receive()
        await self.close(Close.FORBIDDEN)

    async def send(self, text: str) -> None:
        """Send a frame. Returns when the connection has room for more."""
        await self._send({"type": "websocket.send", "text": text})

    async def close(self, code: int, reason: str = "") -> None:
        """Close the socket, unless the client has."""
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def text(self) -> str:
        """The client's next frame. Raises `ClosedError`."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise ClosedError(Close.DONE)
        self.heard = self._now()
        text: str | None = message.get("text")
        if text is None:
            raise ClosedError(Close.NOT_TEXT, "frames are text")
        if len(text) > self._settings.max_frame:
            raise ClosedError(Close.TOO_LARGE, f"a frame has at most {self._settings.max_frame} bytes")
        if not self._frames.take(self.heard):
            raise ClosedError(Close.TOO_MANY, f"at most {self._settings.frames_per_second:g} frames per second")
        return text
