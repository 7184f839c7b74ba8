"""A real HTTP server on a loopback address, whose answers a test writes byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["FileServer", "answer", "file_server"]

Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """The bytes of an answer. ``content_type="image/png"`` is the header ``content-type``."""
    head = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status} x", *(f"{name}: {value}" for name, value in head.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class FileServer:
    """Where it listens, and what it was asked for."""

    host: str
    port: int
    heads: list[str] = field(default_factory=list)
    """Request lines and headers, as they came."""

    def url(self, path: str, host: str | None = None, scheme: str = "http") -> str:
        return f"{scheme}://{host or self.host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [head.split()[1] for head in self.heads]


@asynccontextmanager
async def file_server(
    answers: Mapping[str, bytes | Handler],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[FileServer]:
    """Serves each path with these bytes, or with what a handler writes; other paths are 404."""
    found = FileServer(host, port)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            found.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
            given = answers.get(found.paths[-1].partition("?")[0], answer(b"no such file", 404))
            if isinstance(given, bytes):
                writer.write(given)
                await writer.drain()
            else:
                await given(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
