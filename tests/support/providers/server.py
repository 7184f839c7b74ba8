"""A model provider on 127.0.0.1: the real provider classes post to it, and it replays streams over HTTP.

with ModelServer([openai_chat.answer("Hello")]) as server:
    model = server.chat_openai()
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from langchain_core.language_models import BaseChatModel

__all__ = ["Answer", "Failure", "ModelServer", "Posted"]


class Failure(NamedTuple):
    """An answer with an error status and a JSON body."""

    status: int
    body: Mapping[str, Any]


Answer: TypeAlias = Iterable[str] | Mapping[str, Any] | Failure
"""Server-sent events as text, the JSON body of an answer that is not streamed, or a failure."""


class Posted(NamedTuple):
    """One request that arrived."""

    path: str
    body: dict[str, Any]


class ModelServer:
    """Gives the answers of `script` in order and keeps the requests."""

    def __init__(self, script: Sequence[Answer]) -> None:
        self.posted: list[Posted] = []
        self._script = list(script)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests, in order."""
        return [posted.body for posted in self.posted]

    def answer(self, posted: Posted) -> Answer:
        """The next answer of the script. A request too many is answered with a failure that retries do not repeat."""
        with self._lock:
            self.posted.append(posted)
            number = len(self.posted)
        if number > len(self._script):
            return Failure(400, {"error": {"message": f"request {number} is not in the script", "type": "invalid"}})
        return self._script[number - 1]

    # ------------------------------------------------------------------ the provider classes, pointed at this server

    def chat_openai(self, **fields: Any) -> BaseChatModel:
        """A ``ChatOpenAI``; `fields` go to its constructor."""
        from langchain_openai import ChatOpenAI

        known: dict[str, Any] = {"model": "gpt-5-mini", "base_url": f"{self.url}/v1", "api_key": "x", "max_retries": 0}
        return ChatOpenAI(**{**known, **fields})

    def chat_anthropic(self, **fields: Any) -> BaseChatModel:
        """A ``ChatAnthropic``; `fields` go to its constructor."""
        from langchain_anthropic import ChatAnthropic

        known: dict[str, Any] = {
            "model": "claude-sonnet-4-6",
            "base_url": self.url,
            "api_key": "x",
            "max_tokens": 2048,
            "max_retries": 0,
        }
        return ChatAnthropic(**{**known, **fields})

    def chat_gemini(self, **fields: Any) -> BaseChatModel:
        """A ``ChatGoogleGenerativeAI``; `fields` go to its constructor."""
        from langchain_google_genai import ChatGoogleGenerativeAI

        known: dict[str, Any] = {
            "model": "gemini-3-pro-preview",
            "base_url": self.url,
            "api_key": "x",
            "max_retries": 1,
        }
        return ChatGoogleGenerativeAI(**{**known, **fields})


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the tests' output is theirs."""

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            answer = server.answer(Posted(self.path, json.loads(self.rfile.read(length))))
            if isinstance(answer, Failure):
                self._send_json(answer.status, answer.body)
            elif isinstance(answer, Mapping):
                self._send_json(200, answer)
            else:
                self._send_events(answer)

        def _send_json(self, status: int, body: Mapping[str, Any]) -> None:
            data = json.dumps(body).encode()
            self._begin(status, "application/json", ("content-length", str(len(data))))
            self.wfile.write(data)

        def _send_events(self, events: Iterable[str]) -> None:
            self._begin(200, "text/event-stream", ("transfer-encoding", "chunked"))
            for event in events:
                data = event.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def _begin(self, status: int, content_type: str, body: tuple[str, str]) -> None:
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header(*body)
            # The provider classes share clients between event loops, which must not share connections.
            self.send_header("connection", "close")
            self.end_headers()

    return Handler
