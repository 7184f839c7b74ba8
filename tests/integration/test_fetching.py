"""Files of the network are fetched from a real server on a loopback address, which `Fetcher.hosts` lists; attacks are a
table."""

from __future__ import annotations

import asyncio
import gzip
import re
import ssl
import time
import zlib
from base64 import b64decode
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tests.support.file_server import answer, file_server
from yai_nexus_agentkit.errors import MediaError, OverloadedError
from yai_nexus_agentkit.server.fetching.addresses import is_local_name, is_public
from yai_nexus_agentkit.server.fetching.fetcher import Fetched, Fetcher
from yai_nexus_agentkit.server.fetching.media_types import media_type

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
HERE = ["127.0.0.1"]
CERTIFICATE = Path(__file__).parents[1] / "support" / "certificates" / "files.example.pem"
"""Of files.example, by nobody but itself."""


async def fetched(fetcher: Fetcher, url: str) -> Fetched:
    files = await fetcher.fetch({url: "/messages/0/content/1"})
    files.release()
    return files.by_url[url]


async def refused(fetcher: Fetcher, url: str) -> MediaError:
    with pytest.raises(MediaError) as caught:
        await fetcher.fetch({url: "/messages/0/content/1"})
    assert caught.value.path == "/messages/0/content/1"
    assert not re.search(r"127\.|169\.|Error", caught.value.reason), "internals are for the log"
    return caught.value


# ---------------------------------------------------------------- where to


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("1.1.1.1", True),
        ("2606:4700::6810:85e5", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("100.64.0.1", False),
        ("100.100.100.200", False),  # Alibaba's metadata
        ("127.0.0.1", False),
        ("127.255.255.254", False),
        ("168.63.129.16", False),  # Azure's
        ("169.254.169.254", False),  # AWS's, Google's, Azure's
        ("172.16.0.1", False),
        ("192.0.0.192", False),  # Oracle's
        ("192.0.2.1", False),
        ("192.88.99.1", False),
        ("192.168.1.1", False),
        ("198.18.0.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", False),
        ("::127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("100::1", False),
        ("2001::1", False),  # Teredo
        ("2001:db8::1", False),
        ("2002:7f00:1::", False),
        ("2a00:1450::5efe:7f00:1", False),  # ISATAP
        ("3fff::1", False),
        ("5f00::1", False),
        ("fc00::1", False),
        ("fd00:ec2::254", False),  # AWS's
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fec0::1", False),
        ("ff02::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("example.com", False),
        ("93.184.216.34", False),
        ("xn--bcher-kva.example", False),
        ("localhost", True),
        ("LOCALHOST.", True),
        ("app.localhost", True),
        ("printer.local", True),
        ("metadata.google.internal", True),
        ("db", True),
        ("api.prod.svc", True),
        ("127.1", True),
        ("2130706433", True),
        ("0x7f000001", True),
        ("0x7f.0.0.1", True),
        ("0177.0.0.1", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.0.0.1.", True),
    ],
)
def test_which_hosts_are_local_by_their_form(host: str, local: bool) -> None:
    assert is_local_name(host) is local


INSIDE = [
    "http://127.0.0.1:{port}/secret.png",
    "http://localhost:{port}/secret.png",
    "http://127.1:{port}/secret.png",
    "http://2130706433:{port}/secret.png",
    "http://0x7f000001:{port}/secret.png",
    "http://0177.0.0.1:{port}/secret.png",
    "http://0:{port}/secret.png",
    "http://0.0.0.0:{port}/secret.png",
    "http://[::1]:{port}/secret.png",
    "http://[::ffff:127.0.0.1]:{port}/secret.png",
    "http://[::ffff:7f00:1]:{port}/secret.png",
    "http://[64:ff9b::7f00:1]:{port}/secret.png",
    "http://[2002:7f00:1::]:{port}/secret.png",
    "http://①②⑦.⓪.⓪.①:{port}/secret.png",
    "http://127。0。0。1:{port}/secret.png",
    "http://inside.example:{port}/secret.png",
    "http://mixed.example:{port}/secret.png",
    "http://nowhere.example:{port}/secret.png",
    "http://a@127.0.0.1:{port}/secret.png",
    "http://example.com@127.0.0.1:{port}/secret.png",
    "http://example.com\\@127.0.0.1:{port}/secret.png",
    "http://127.0.0.1:{port}\\@example.com/secret.png",
    "http://127.0.0.1:{port}#@example.com/secret.png",
    "http://127.0.0.1:{port}/secret.png\r\nhost: x",
    " http://127.0.0.1:{port}/secret.png",
    "//127.0.0.1:{port}/secret.png",
    "/secret.png",
    "http:///secret.png",
    "http://",
    "",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "ftp://127.0.0.1/secret.png",
    "gopher://127.0.0.1:{port}/_GET",
    "unix:///var/run/docker.sock",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "gs://bucket/secret.png",
    "s3://bucket/secret.png",
    "http://169.254.169.254/latest/meta-data/",
    "http://example.com:22/",
    "http://example.com:6379/",
    "http://[fe80::1%25eth0]/",
    "http://xn--0.example/",
    "http://xn--/",
    "http://" + "a" * 9000,
]

NAMES = {
    "inside.example": ["127.0.0.1"],
    "mixed.example": ["not an address", "::1", "127.0.0.1"],
    "redirects.example": ["127.0.0.1"],
}


async def here(host: str, port: int) -> list[str]:
    return ["::1", "127.0.0.1"]  # the first has no server


async def names(host: str, port: int) -> Sequence[str]:
    if host in NAMES:
        return NAMES[host]
    raise OSError("no such name")


@pytest.mark.parametrize("url", INSIDE)
async def test_a_url_that_leads_inside_is_refused(url: str) -> None:
    async with file_server({"/secret.png": answer(PNG)}) as server:
        await refused(Fetcher(resolve=names), url.format(port=server.port))
        assert server.heads == []


@pytest.mark.parametrize(
    "url", [url for url in INSIDE if "{port}" in url and "example" not in url and "@" not in url][:6]
)
async def test_the_system_resolves_no_form_of_loopback_for_a_client(url: str) -> None:
    async with file_server({"/secret.png": answer(PNG)}) as server:
        await refused(Fetcher(), url.format(port=server.port))
        assert server.heads == []


@pytest.mark.parametrize("location", [url for url in INSIDE if url != "//127.0.0.1:{port}/secret.png"])
async def test_a_redirect_that_leads_inside_is_refused(location: str) -> None:
    fetcher = Fetcher(hosts=["redirects.example"], resolve=names)
    async with file_server({"/secret.png": answer(PNG)}, host="127.0.0.1") as secret:
        target = location.format(port=secret.port).replace("\r\n", "%0d%0a ")
        async with file_server({"/": answer(status=302, location=target)}) as server:
            await refused(fetcher, server.url("/", "redirects.example"))
            assert secret.heads == []


async def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_checked() -> None:
    """The second answer of a name that rebinds would lead to a host that is not allowed."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) % 2 else ["127.0.0.2"]

    fetcher = Fetcher(hosts=["127.0.0.1/32"], resolve=rebinding)
    async with file_server({"/a.png": answer(PNG), "/b": answer(status=307, location="/a.png")}) as server:
        async with file_server({"/a.png": answer(b"secret")}, host="127.0.0.2", port=server.port) as inside:
            file = await fetched(fetcher, server.url("/a.png", "rebinding.example"))
            assert b64decode(file.value) == PNG
            assert f"host: rebinding.example:{server.port}\r\n" in server.heads[0].lower()
            await refused(fetcher, server.url("/a.png", "rebinding.example"))
            await refused(fetcher, server.url("/b", "rebinding.example"))  # checked again at the redirect
            assert inside.heads == []
    assert len(asked) == 4


async def test_tls_checks_the_name_although_the_connection_goes_to_an_address() -> None:
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(CERTIFICATE)
    asked: list[str | None] = []
    served.sni_callback = lambda connection, name, context: asked.append(name)
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    fetcher = Fetcher(hosts=["127.0.0.1"], tls=trusted, resolve=here)
    async with file_server(
        {"/a.png": answer(PNG), "/": answer(status=302, location="http://b/a.png")}, tls=served
    ) as it:
        file = await fetched(fetcher, it.url("/a.png", "files.example", "https"))
        assert b64decode(file.value) == PNG
        assert asked == ["files.example"]
        for host in ("other.example", "127.0.0.1"):
            error = await refused(fetcher, it.url("/a.png", host, "https"))
            assert error.reason == "its host cannot be reached"
            assert "CERTIFICATE_VERIFY_FAILED" in error.detail
        error = await refused(fetcher, it.url("/", "files.example", "https"))
        assert error.reason == "it has a redirect from https to http"
        error = await refused(Fetcher(hosts=["127.0.0.1"], resolve=here), it.url("/a.png", "files.example", "https"))
        assert "CERTIFICATE_VERIFY_FAILED" in error.detail, "by default, the public authorities"


async def test_listed_hosts_may_be_internal() -> None:
    async with file_server({"/a.png": answer(PNG)}) as server:
        for hosts, host in (
            (["127.0.0.1"], "127.0.0.1"),
            (["127.0.0.0/8"], "127.0.0.1"),
            (["files.corp"], "files.corp"),
            (["Files.corp"], "FILES.corp"),
            (["127.0.0.1"], "files.corp"),
        ):
            file = await fetched(Fetcher(hosts=[*hosts, "::1"], resolve=here), server.url("/a.png", host))
            assert (b64decode(file.value), file.mime_type) == (PNG, "image/png")


async def test_nothing_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Neither proxies nor ``.netrc``; a cookie of a redirect is not sent on."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    first = answer(status=302, location="/a.png", set_cookie="a=b")
    async with file_server({"/": first, "/a.png": answer(PNG)}) as server:
        await fetched(Fetcher(hosts=HERE), server.url("/"))
        assert server.paths == ["/", "/a.png"]
        assert not re.search("cookie|authorization|referer", "".join(server.heads), re.IGNORECASE)


# ---------------------------------------------------------------- how much, and how long


async def trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 x\r\ncontent-type: image/png\r\ncontent-length: 1000\r\n\r\n")
    for _ in range(1000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 x\r\ncontent-type: image/png\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
        await writer.drain()


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(5)


async def crumbs(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 x\r\ncontent-type: image/png\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\nx\r\n" * 1000)
        await writer.drain()


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 x\r\n")
    while True:
        writer.write(b"x: y\r\n")
        await writer.drain()
        await asyncio.sleep(0)


BOMB = zlib.compressobj(wbits=31)
BOMB_BODY = BOMB.compress(bytes(64 * 2**20)) + BOMB.flush()
FAULTS: dict[str, tuple[Any, str]] = {
    "/trickle": (trickle, "within 1 seconds"),
    "/silent": (silent, "within 1 seconds"),
    "/endless": (endless, "larger than 100000 bytes"),
    "/crumbs": (crumbs, "too many pieces"),
    "/endless-head": (endless_head, "did not answer as it should"),
    "/declared": (answer(b"x", content_type="image/png", content_length="100001"), "larger than 100000 bytes"),
    "/large": (answer(bytes(100_001), content_type="image/png"), "larger than 100000 bytes"),
    "/bomb": (answer(BOMB_BODY, content_type="image/png", content_encoding="gzip"), "larger than 100000 bytes"),
    "/brotli": (answer(b"x", content_type="image/png", content_encoding="br"), "compressed"),
    "/broken": (answer(b"x", content_type="image/png", content_encoding="gzip"), "compression is broken"),
    "/half": (answer(gzip.compress(PNG)[:-9], content_encoding="gzip"), "compression is broken"),
    "/cut": (answer(b"x", content_type="image/png", content_length="10"), "did not answer as it should"),
    "/empty": (answer(content_type="image/png"), "empty"),
    "/unknown": (answer(b"\0\1\2\3", content_type="application/octet-stream"), "media type"),
    "/404.png": (answer(b"no", 404), "the status 404"),
    "/204.png": (answer(status=204), "the status 204"),
    "/206.png": (answer(PNG, 206), "the status 206"),
    "/500.png": (answer(b"no", 500), "the status 500"),
    "/no-http": (b"SSH-2.0-OpenSSH_9.6\r\n", "did not answer as it should"),
    "/loop": (answer(status=302, location="/loop"), "more than 5 redirects"),
    "/no-location": (answer(status=302), "not a URL"),
}


@pytest.mark.parametrize("path", FAULTS)
async def test_an_answer_beyond_the_limits_is_refused(path: str) -> None:
    given, reason = FAULTS[path]
    seconds = 1 if "within 1 seconds" in reason else 20
    fetcher = Fetcher(hosts=HERE, size=100_000, timeout=seconds)
    async with file_server({path: given}) as server:
        before = time.monotonic()
        error = await refused(fetcher, server.url(path))
        assert time.monotonic() - before < seconds + 1
        assert reason in error.reason
        if path == "/loop":
            assert len(server.heads) == 6


async def test_a_port_where_nobody_listens_is_no_answer() -> None:
    async with file_server({}) as server:
        pass
    error = await refused(Fetcher(hosts=HERE), server.url("/"))
    assert error.reason == "its host cannot be reached"
    assert "127.0.0.1" in error.detail


@pytest.mark.parametrize("size", [1, 2, 3, 63, 64, 65, 100, 65_536, 65_537, 100_000])
@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate", "chunks"])
async def test_a_file_arrives_as_it_is(size: int, encoding: str) -> None:
    data = (PNG * (size // len(PNG) + 1))[:size]

    async def chunks(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 x\r\ncontent-type: image/png; charset=x\r\ntransfer-encoding: chunked\r\n\r\n")
        for at in range(0, size, 7_001):
            piece = data[at : at + 7_001]
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    packed = {"gzip": gzip.compress(data), "deflate": zlib.compress(data)}.get(encoding, data)
    whole = answer(packed, content_type="IMAGE/PNG;x=y", content_encoding=encoding)
    async with file_server({"/a": chunks if encoding == "chunks" else whole}) as server:
        file = await fetched(Fetcher(hosts=HERE), server.url("/a"))
    assert b64decode(file.value, validate=True) == data
    assert file.mime_type == "image/png"


async def test_the_files_of_a_request_have_limits_together() -> None:
    async with file_server({f"/{n}.png": answer(bytes(60_000)) for n in range(4)}) as server:
        urls = {server.url(f"/{n}.png"): f"/{n}" for n in range(4)}
        with pytest.raises(MediaError, match="at most 3 are fetched") as caught:
            await Fetcher(hosts=HERE, files=3).fetch(urls)
        assert caught.value.path == "/3"
        with pytest.raises(MediaError, match="all files together are too large"):
            await Fetcher(hosts=HERE, request_size=200_000).fetch(urls)
        files = await Fetcher(hosts=HERE).fetch(urls)
        assert list(files.by_url) == list(urls)


async def test_the_failing_file_is_named_and_the_others_are_given_up() -> None:
    left: list[str] = []

    async def slow(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\n")
        try:
            while True:
                await asyncio.sleep(0.01)
                writer.write(b"")
                if writer.transport.is_closing():
                    break
        finally:
            left.append("closed")

    async with file_server({"/slow.png": slow, "/bad.png": answer(b"no", 404)}) as server:
        before = time.monotonic()
        with pytest.raises(MediaError, match="404") as caught:
            await Fetcher(hosts=HERE).fetch({server.url("/slow.png"): "/a", server.url("/bad.png"): "/b"})
        assert caught.value.path == "/b"
        assert time.monotonic() - before < 2


async def test_requests_share_memory_and_wait_for_it() -> None:
    """A request keeps its files' memory until it releases them."""
    fetcher = Fetcher(hosts=HERE, size=60_000, memory=200_000, timeout=0.3)
    async with file_server({"/a.png": answer(bytes(60_000))}) as server:
        first, second = [await fetcher.fetch({server.url("/a.png"): "/a"}) for _ in range(2)]
        with pytest.raises(OverloadedError):
            await fetcher.fetch({server.url("/a.png"): "/a"})
        waiting = asyncio.create_task(fetcher.fetch({server.url("/a.png"): "/a"}))
        given_up = asyncio.create_task(fetcher.fetch({server.url("/a.png"): "/a"}))
        await asyncio.sleep(0.05)
        given_up.cancel()
        first.release()
        first.release()
        third = await waiting
        second.release()
        third.release()
        # A small file keeps only what it needs, and a failure keeps nothing.
        for _ in range(5):
            with pytest.raises(MediaError):
                await fetcher.fetch({server.url("/b.png"): "/a"})
        many = [await fetcher.fetch({server.url("/a.png"): "/a"}) for _ in range(2)]
        assert len(many) == 2


@pytest.mark.parametrize(
    ("header", "path", "first", "kind"),
    [
        ("image/png", "/a.jpg", b"\xff\xd8\xff", "image/png"),
        ("Video/MP4; codecs=avc1", "/a", b"", "video/mp4"),
        ("application/pdf;charset=utf-8", "/a", b"", "application/pdf"),
        ("application/octet-stream", "/a.PDF", b"", "application/pdf"),
        ("", "/a.jpeg", b"\x89PNG\r\n\x1a\n", "image/jpeg"),
        ("nonsense", "/a", b"%PDF-1.7", "application/pdf"),
        ("binary/octet-stream", "/a.bin", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("", "/a", b"RIFF1234WEBPVP8 ", "image/webp"),
        ("", "/a", b"RIFF1234WAVEfmt ", "audio/wav"),
        ("", "/a", b"\0\0\0\x20ftypisom", "video/mp4"),
        ("", "/a", b"\0\0\0\x20ftypqt  ", "video/quicktime"),
        ("", "/a", b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        ("", "/a", b"ID3\4", "audio/mpeg"),
        ("image/jpg", "/a", b"", "image/jpeg"),
        ("", "/a", b"", None),
        ("application/octet-stream", "/a.xyz", b"hello", None),
    ],
)
def test_the_type_is_that_of_the_header_then_the_suffix_then_the_signature(
    header: str, path: str, first: bytes, kind: str | None
) -> None:
    assert media_type(header, path, first) == kind


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"hosts": ["10.0.0.1/8"]}, "Fetcher.hosts"),
        ({"hosts": ["http://a.b"]}, "Fetcher.hosts"),
        ({"hosts": "a.b"}, "Fetcher.hosts"),
        ({"hosts": ["127.1"]}, "Fetcher.hosts"),
        ({"size": 0}, "Fetcher.size"),
        ({"size": 300, "memory": 399}, "Fetcher.memory"),
        ({"schemes": ["ftp"]}, "Fetcher.schemes"),
    ],
)
def test_a_wrong_setting_is_refused_where_it_is_written(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        Fetcher(**given)
