"""Edge. Fetches files that requests name by their URL, within limits, and from public hosts only.

A host's name is resolved once, its addresses are checked, and the connection goes to the address that was checked: a
name that resolves to something else a moment later gains nothing. TLS still checks the name. Redirects are followed
here, each checked as the first URL was. There are no proxies, cookies, credentials, and no connection is used twice.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from binascii import b2a_base64
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import MediaError, OverloadedError
from yai_nexus_agentkit.server.fetching.addresses import Reach, literal
from yai_nexus_agentkit.server.fetching.decoding import Decoder
from yai_nexus_agentkit.server.fetching.media_types import SNIFFED, media_type
from yai_nexus_agentkit.server.fetching.memory import Memory, Share
from yai_nexus_agentkit.server.fetching.pace import Pace

if TYPE_CHECKING:
    import httpx

__all__ = ["Fetched", "Fetcher", "Files", "Resolver", "needs_httpx", "system_resolver"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) → its addresses; raises `OSError` if it has none."""

_URL = re.compile(r"[^\s\\\x00-\x1f\x7f]{1,8192}")
"""Programs disagree about the host of a URL with anything else in it."""
_PORTS = frozenset({80, 443})
"""Beside those above 1023: the others belong to services that are not HTTP."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT = 5.0
"""Seconds for one of a host's addresses to accept a connection; then the next one is tried."""
_ADDRESSES = 4
"""Addresses of a host that are tried."""
_RESOLVERS = ThreadPoolExecutor(8, thread_name_prefix="agui-resolver")
"""Threads of our own: an agent's sync nodes may occupy all those of the loop's default executor."""
_PIECES, _PIECE = 1000, 256
"""How many pieces of any size are taken, and how large the others must be on average: each costs a turn of the loop."""
_NOT_PUBLIC = "its host has no public address"
"""Also said of a name that does not exist: who may not reach a network learns nothing about the names in it."""


async def system_resolver(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine resolves its name."""
    resolve = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, resolve)
    return [str(address[0]) for *_, address in found]


def needs_httpx() -> None:
    """Raises ImportError if httpx is not installed."""
    if find_spec("httpx") is None:
        raise ImportError('media="fetch" needs httpx: pip install "yai-nexus-agentkit[media]"')


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file: its bytes in base64, and its media type in lower case, without parameters."""

    value: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one request, by URL. They count towards `Fetcher.memory` until `release` is called."""

    by_url: Mapping[str, Fetched]
    release: Callable[[], None]
    """For the end of the run that uses them. May be called again."""


@dataclass(slots=True)
class _Left:
    """The budget of one request."""

    size: int
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fetcher:
    """Fetches files for requests. One object serves all requests of a process, and limits what they do at once. Times
    are in seconds, sizes in bytes. Needs the extra ``media``."""

    hosts: Collection[str] = ()
    """Hosts that may be reached although they are not public: names, addresses, and networks (``10.0.0.0/8``), on any
    port."""

    schemes: Collection[str] = ("https", "http")
    """Schemes of URLs, of these two. A redirect from https to http is always refused."""

    size: PositiveInt = 20 * 1024 * 1024
    """Bytes of one file, after decompression."""

    request_size: PositiveInt = 64 * 1024 * 1024
    """Bytes of all files of a request together."""

    files: PositiveInt = 20
    """Files of a request."""

    timeout: PositiveFloat = 30.0
    """Time for all files of a request to arrive, with names resolved and redirects followed. Before that, a request
    waits as long for ``memory``; then it is refused with 429."""

    redirects: NonNegativeInt = 5
    """Redirects that are followed for one file."""

    parallel: PositiveInt = 16
    """Downloads at once in this process."""

    memory: PositiveInt = 256 * 1024 * 1024
    """Bytes of all files in this process, in base64, from the beginning of a download to the end of the run. A request
    reserves the most that its files may have, and gives back what they do not need."""

    resolve: Resolver = system_resolver
    """Resolves names. Its answers are checked like those of the system."""

    tls: ssl.SSLContext | None = None
    """The TLS context. Default: the authorities of certifi."""

    _reach: Reach = field(init=False, repr=False)
    _memory: Memory = field(init=False, repr=False)
    _slots: asyncio.Semaphore = field(init=False, repr=False)
    _pace: Pace = field(init=False, repr=False, default_factory=Pace)
    _joining: asyncio.Lock = field(init=False, repr=False, default_factory=asyncio.Lock)
    """Held while a file's pieces become one text, which takes ten milliseconds for 20 MB: other tasks have their turn
    before the next one."""

    def __post_init__(self) -> None:
        check_options(self)
        if not {"http", "https"}.issuperset(self.schemes):
            raise ValueError(f"Fetcher.schemes are 'https' and 'http', not {self.schemes!r}")
        if self.memory < (least := _in_base64(self.size)):
            raise ValueError(f"Fetcher.memory must have room for one file in base64, {least}, not {self.memory}")
        try:
            reach = Reach(self.hosts)
        except ValueError as error:
            raise ValueError(f"Fetcher.hosts: {error}") from None
        for name, value in (
            ("_reach", reach),
            ("_memory", Memory(self.memory)),
            ("_slots", asyncio.Semaphore(self.parallel)),
        ):
            object.__setattr__(self, name, value)

    def lists(self, host: str) -> bool:
        """Whether a host is one of `hosts`."""
        return self._reach.lists(host)

    async def fetch(self, wanted: Mapping[str, str]) -> Files:
        """The files of one request. `wanted`: URLs, each with the JSON Pointer of the part that names it.

        Raises `MediaError` for the first file that fails; the others are given up. Raises `OverloadedError` if there is
        no memory in time.
        """
        if len(wanted) > self.files:
            raise MediaError(
                f"{len(wanted)} files; at most {self.files} are fetched", path=list(wanted.values())[self.files]
            )
        total = min(len(wanted) * self.size, self.request_size, self.memory // 4 * 3)
        share = await self._share(_in_base64(total))
        try:
            found = await self._all(wanted, _Left(total, asyncio.get_running_loop().time() + self.timeout))
        except BaseException:
            share.release()
            raise
        share.shrink(sum(len(file.value) for file in found.values()))
        return Files(found, share.release)

    async def _share(self, size: int) -> Share:
        try:
            async with asyncio.timeout(self.timeout):
                return await self._memory.take(size)
        except TimeoutError:
            raise OverloadedError("too many files are being used") from None

    async def _all(self, wanted: Mapping[str, str], left: _Left) -> dict[str, Fetched]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {url: group.create_task(self._one(url, path, left)) for url, path in wanted.items()}
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return {url: task.result() for url, task in tasks.items()}

    async def _one(self, url: str, path: str, left: _Left) -> Fetched:
        """One file, when it is its turn. Every failure is a `MediaError` at `path`."""
        import httpx

        try:
            async with asyncio.timeout_at(left.deadline), self._slots:
                return await self._followed(url, left)
        except MediaError as error:
            raise MediaError(error.reason, path=path, detail=error.detail) from error.__cause__
        except TimeoutError:
            raise MediaError(f"it did not arrive within {self.timeout:g} seconds", path=path) from None
        except (httpx.HTTPError, OSError) as error:
            raise MediaError("its host did not answer as it should", path=path, detail=repr(error)) from error

    async def _followed(self, text: str, left: _Left) -> Fetched:
        """The file behind a URL and its redirects."""
        url = self._checked(text)
        for _ in range(self.redirects + 1):
            async with self._opened(url) as response:
                if response.status_code not in _REDIRECTS:
                    return await self._read(url, response, left)
                url = self._next(url, response)
        raise MediaError(f"it has more than {self.redirects} redirects")

    def _checked(self, text: str, before: httpx.URL | None = None) -> httpx.URL:
        """The URL, if it may be fetched. `before`: the one that redirects to it."""
        import httpx

        try:
            url = httpx.URL(text) if before is None else before.join(text)
        except (httpx.InvalidURL, ValueError) as error:
            raise MediaError("it is not a URL", detail=repr(error)) from error
        if not _URL.fullmatch(text) or not url.raw_host:
            raise MediaError("it is not a URL")
        if url.scheme not in self.schemes:
            raise MediaError(f"its scheme is not {' or '.join(self.schemes)}")
        if url.userinfo:
            raise MediaError("a URL with credentials is not fetched")
        if url.port is not None and url.port < 1024 and url.port not in _PORTS and not self._reach.lists(_host(url)):
            raise MediaError("its port is not one of HTTP")
        return url

    def _next(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        """The target of a redirect."""
        further = self._checked(response.headers.get("location", ""), url)
        if url.scheme == "https" and further.scheme != "https":
            raise MediaError("it has a redirect from https to http")
        return further

    async def _addresses(self, url: httpx.URL) -> list[str]:
        """The addresses of the URL's host that may be connected to; at least one."""
        host, port = _host(url), url.port or (443 if url.scheme == "https" else 80)
        try:
            found = [host] if literal(host) else await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise MediaError(_NOT_PUBLIC, detail=f"{host!r}: {error!r}") from error
        addresses = [address for address in map(literal, dict.fromkeys(found)) if address is not None]
        allowed = [str(address) for address in addresses if self._reach.allows(host, address)]
        if not allowed:
            raise MediaError(_NOT_PUBLIC, detail=f"{host!r} has the addresses {', '.join(found) or 'none'}")
        return allowed[:_ADDRESSES]

    @asynccontextmanager
    async def _opened(self, url: httpx.URL) -> AsyncIterator[httpx.Response]:
        """The answer to a request for the URL, over a connection of its own."""
        import httpx

        addresses = await self._addresses(url)
        tls = self.tls
        if tls is None:
            tls = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, _authorities)
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
        async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits) as transport:
            response = await _answer(transport, url, addresses)
            try:
                yield response
            finally:
                await response.aclose()

    async def _read(self, url: httpx.URL, response: httpx.Response, left: _Left) -> Fetched:
        """The file of an answer."""
        if response.status_code != 200:
            raise MediaError(f"its host answered with the status {response.status_code}")
        decoder, length = Decoder(response.headers.get("content-encoding", "")), 0
        declared = response.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self.size:
            raise self._too_large()
        first, rest, pieces = b"", b"", 0
        encoded: list[str] = []
        async for piece in response.aiter_raw():
            pieces += 1
            if pieces > _PIECES + length // _PIECE:
                raise MediaError("it comes in too many pieces")
            for data in decoder.decoded(piece):
                length, left.size = length + len(data), left.size - len(data)
                if length > self.size:
                    raise self._too_large()
                if left.size < 0:
                    raise MediaError("all files together are too large")
                first = first or (rest + data if len(rest + data) >= SNIFFED else b"")
                data = rest + data
                whole = len(data) - len(data) % 3 if first else 0
                encoded.append(b2a_base64(data[:whole], newline=False).decode("ascii"))
                rest = data[whole:]
                await self._pace.wait(len(data))
        decoder.finish()
        if not length:
            raise MediaError("it is empty")
        encoded.append(b2a_base64(rest, newline=False).decode("ascii"))
        kind = media_type(response.headers.get("content-type", ""), url.path, first or rest)
        if kind is None:
            raise MediaError("nothing shows its media type")
        async with self._joining:
            return Fetched("".join(encoded), kind)

    def _too_large(self) -> MediaError:
        return MediaError(f"it is larger than {self.size} bytes")


async def _answer(transport: httpx.AsyncHTTPTransport, url: httpx.URL, addresses: Sequence[str]) -> httpx.Response:
    """The answer of the first address that accepts a connection."""
    import httpx

    host = _host(url).rstrip(".")
    headers = {"host": url.netloc.decode("ascii"), "accept": "*/*", "accept-encoding": "identity"}
    further = {"sni_hostname": host, "timeout": {"connect": _CONNECT}}
    failures = []
    for address in addresses:
        request = httpx.Request("GET", url.copy_with(host=address), headers=headers, extensions=further)
        try:
            return await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, OSError) as error:  # older ones let TLS errors through
            failures.append(f"{address}: {error!r}")
    raise MediaError("its host cannot be reached", detail=f"{host!r}: {'; '.join(failures)}")


def _host(url: httpx.URL) -> str:
    """The host in ASCII, in lower case, without brackets."""
    return url.raw_host.decode("ascii").lower()


def _in_base64(size: int) -> int:
    return (size + 2) // 3 * 4


@cache
def _authorities() -> ssl.SSLContext:
    """Takes tens of milliseconds: for a thread."""
    import certifi  # a dependency of httpx

    return ssl.create_default_context(cafile=certifi.where())
