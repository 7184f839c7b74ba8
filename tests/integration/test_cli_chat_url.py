"""``chat --url``: a conversation with the agent of a running server."""

from __future__ import annotations

import io
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from tests.integration.test_cli_chat import AGENT, HINT
from tests.support.command_line import Result, run_main
from tests.support.screen import in_a_terminal
from tests.support.server_process import Server, serving

IDENTITY = """
from starlette.exceptions import HTTPException
from yai_nexus_agentkit.server import Identity

def identify(request):
    user = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not user:
        raise HTTPException(401, "sign in first")
    return Identity(user=user)
"""

ANN = ("--header", "Authorization: Bearer ann")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose runs survive their connection, for users with a name."""
    folder = tmp_path_factory.mktemp("served")
    slow = AGENT.replace(
        'if said == "talk":',
        'if said == "count":\n        return [p for n in range(9) for p in (0.2, f"n{n} ")]\n    if said == "talk":',
    )
    (folder / "my_agent.py").write_text(slow + IDENTITY)
    with serving(folder, "my_agent:graph", "--identity", "my_agent:identify", "--disconnect", "continue") as server:
        yield server


@contextmanager
def proxy(server: Server, *cuts: bytes) -> Iterator[str]:
    """Another address of the server. A connection is cut when these bytes come, each once and in order."""
    left, there = list(cuts), ("127.0.0.1", int(server.base.rpartition(":")[2]))

    def pump(source: socket.socket, target: socket.socket, *, answers: bool) -> None:
        seen = b""
        with suppress(OSError):
            while piece := source.recv(65536):
                seen += piece
                if answers and left and left[0] in seen:
                    left.pop(0)
                    break
                target.sendall(piece)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(there) as theirs:
                back = threading.Thread(target=pump, args=(theirs, self.request), kwargs={"answers": True})
                back.start()
                pump(self.request, theirs, answers=False)
                back.join()

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
    assert left == []


def test_a_conversation_that_is_stopped_and_goes_on_in_another_terminal(server: Server, tmp_path: Path) -> None:
    """With a question, an error, an answer that is stopped, and a run that a second terminal joins."""
    here = ("chat", "--url", server.base, *ANN, "--thread", "t1")
    with in_a_terminal(tmp_path, *here, "Hello") as (screen, process):
        screen.wait_for("> Hello\n  Hello, message 1\n> ")
        for typed, shown in [
            ("delete all", f'  ? Allow delete with {{"what": "all"}}?\n{HINT}> '),
            ("y", '= delete(what="all") → all is gone\n  all is gone\n> '),
            ("fail", "! AGENT_ERROR: "),
            ("talk", "  w0 w1 "),
        ]:
            screen.type(f"{typed}\n")
            screen.wait_for(shown)
        process.send_signal(signal.SIGINT)
        screen.wait_for("\n  stopped\n> ")
        screen.type("count\n")
        screen.wait_for("  n0 n1 ")
        with in_a_terminal(tmp_path, *here) as (second, other):
            second.wait_for("> Hello\n  Hello, message 1\n> delete all\n  all is gone\n> fail\n> talk\n")
            second.wait_for("> count\n  n0 n1 ")
            second.wait_for("n8")
            second.type("delete it\n")
            second.wait_for(f"{HINT}> ")
            second.type("\x04")
            assert other.wait(timeout=30) == 3
        screen.wait_for("n8")
        screen.type("\x04")
        assert process.wait(timeout=30) == 0
    with in_a_terminal(tmp_path, *here) as (third, process):
        third.wait_for(f'> delete it\n  ? Allow delete with {{"what": "it"}}?\n{HINT}> ')
        third.type("n\n")
        third.wait_for("did not approve the call of delete.")


@pytest.mark.parametrize("cut", [[b"n2 "], [b"n2 ", b"n3 "]], ids=["once", "again while it joins"])
def test_a_lost_connection_is_found_again(
    server: Server, cut: list[bytes], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(server, *cut) as url:
        result = chat(capsys, monkeypatch, "", "--url", url, *ANN, "count")

    assert result.code == 0
    shown = result.out.partition("> count\n")[2]
    lost = "  the connection was lost and is there again\n"
    assert shown.startswith(f"  n0 n1 \n{lost}  n0 n1 n2 ")
    assert shown.endswith("n5 n6 n7 n8 \n> \n")
    assert shown.count(lost) == len(cut)


def test_an_answer_that_ended_meanwhile_is_shown(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(server, b"RUN_FINISHED") as url:
        result = chat(capsys, monkeypatch, "", "--url", url, *ANN, "count")

    lost = "  the connection was lost and is there again\n"
    assert result.out.partition(lost)[2].strip() == "n0 n1 n2 n3 n4 n5 n6 n7 n8 \n>"


# ---------------------------------------------------------------- other servers


def sse(*events: Any) -> bytes:
    return "".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events).encode()


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
TEXT = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "One\u2028two\u0085three"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
EVENTS = ("text/event-stream", 200)


@contextmanager
def foreign(kind: str, status: int, body: bytes, asked: threading.Event | None = None) -> Iterator[str]:
    """A server that has nothing but this answer to ``POST /agent``. With `asked`, it sets that and never answers."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if self.path != "/agent":
                self.send_error(404)
                return
            if asked is not None:
                asked.set()
                over.wait(60)
                return
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/agent"
        finally:
            over.set()
            http.shutdown()


def chat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, typed: str, *args: str) -> Result:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    return run_main(capsys, "chat", *args)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ((*EVENTS, sse(STARTED, TEXT, FINISHED)), "One�two�three"),
        ((*EVENTS, sse(STARTED, {"type": "NEW_IN_2.0"}, TEXT, FINISHED)), "One�two�three"),
        ((*EVENTS, sse(STARTED, TEXT)), "One�two�three\n! DISCONNECTED: {url}: the stream ended"),
        ((*EVENTS, sse({"type": "RUN_STARTED"})), "that is not AG-UI's: RUN_STARTED.threadId: Field"),
        ((*EVENTS, b"data: [1]\n\n"), "! NO_AGUI: the server sends something that is not an event: [1]"),
        ((*EVENTS, b"data: " + b"[" * 5000 + b"\n\n"), "is not an event: [[["),
        ((*EVENTS, b""), "! THREAD_NOT_FOUND: the server sent no events"),
        (("text/html", 200, b"<p>"), "! NO_AGENT: {url} answers with text/html, not with events"),
        (("text/html", 502, b"<p>"), "! HTTP_502: Bad Gateway"),
        (("application/json", 422, b'{"detail": "no messages"}'), "! HTTP_422: no messages"),
        (("application/json", 409, b'{"detail": {"error": "BUSY", "error_description": "a"}}'), "! BUSY: a"),
    ],
)  # fmt: skip
def test_any_server_is_talked_to_and_none_ends_the_chat(
    answer: tuple[str, int, bytes],
    shown: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with foreign(*answer) as url:
        result = chat(capsys, monkeypatch, "again\n", "--url", url, "--thread", "t")
        shown = shown.format(url=url)

    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    assert text.count(" ".join(shown.split())) == 1, result.out


def test_a_server_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    asked = threading.Event()
    with (
        foreign(*EVENTS, b"", asked) as url,
        in_a_terminal(tmp_path, "chat", "--url", url, "Hello") as (screen, process),
    ):
        assert asked.wait(30)
        process.send_signal(signal.SIGINT)
        screen.wait_for("> Hello\n  stopped\n> ")
        screen.type("/quit\n")
        assert process.wait(timeout=30) == 0


USAGE: list[tuple[Sequence[str], str]] = [
    ([], "name an agent, "),
    (["my_agent:graph", "--header", "a: b"], "--header goes with --url"),
    (["--url", "{url}", "my_agent:graph", "Hi"], "--url names the agent; leave 'my_agent:graph' out"),
    (["--url", "{url}", "--model", "a:b"], "--model configures an agent of this machine"),
    (["--url", "{url}", "--text-chunks"], "--text-chunks configures an agent of this machine"),
    (["--url", "{url}", "--configurable", "a=b"], "--configurable configures an agent of this machine"),
    (["--url", "{url}", "--header", "nothing"], "--header takes NAME: VALUE, not 'nothing'"),
    (["--url", "{url}", "--header", "a: ü"], "--header: 'a: ü' is not ASCII"),
    (["--url", "{url}", "--header", "a: b\r\nc: d"], "--header takes NAME: VALUE, not "),
    (["--url", "{url}", "--header", "á: b"], "--header: "),
    (["--url", "{url}"], "--url: {url} answers 401: sign in first; --header 'NAME: VALUE' signs in"),
    (["--url", "http://127.0.0.1:1"], "--url: nobody answers at http://127.0.0.1:1: "),
    (["--url", "localhost:8000"], "--url: nobody answers at localhost:8000: "),
    (["--url", "http://[::1"], "--url: nobody answers at http://[::1: "),
    (["--url", ""], "--url: nobody answers at /: "),
]


@pytest.mark.parametrize(("args", "why"), USAGE, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_usage_is_one_line(
    server: Server,
    args: Sequence[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill: Callable[[str], str] = lambda text: text.replace("{url}", server.base)  # noqa: E731
    result = chat(capsys, monkeypatch, "", *map(fill, args))

    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith(f"yai-nexus-agentkit: {fill(why)}")
    assert result.err.count("\n") == 1
