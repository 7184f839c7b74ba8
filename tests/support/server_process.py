"""Driver. ``yai-nexus-agentkit serve`` as a process of its own, on a port of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from yai_nexus_agentkit.testing import parse_sse

__all__ = ["Server", "serving", "started"]


class Server:
    """A server process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.shown, self.base = process, "", ""

    def wait_for(self, text: str, seconds: float = 40) -> None:
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 65536).decode() if ready else ""
            assert piece, f"waited for {text!r}, saw {self.shown!r}"
            self.shown += piece

    def get(self, path: str) -> tuple[int, str, str]:
        """Status, final URL and body."""
        with urllib.request.urlopen(self.base + path, timeout=30) as response:
            return response.status, response.url, response.read().decode()

    def post(self, path: str = "/", thread: str = "t", **headers: str) -> list[dict[str, Any]]:
        """The events of a run."""
        message = {"id": f"m-{time.monotonic_ns()}", "role": "user", "content": "hi"}
        body = json.dumps({"threadId": thread, "runId": "r", "messages": [message], "tools": [], "context": []})
        request = urllib.request.Request(
            self.base + path, body.encode(), {"content-type": "application/json", **headers}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return parse_sse(response.read().decode())

    def said(self, path: str = "/", **given: str) -> str:
        """The text of a run."""
        return "".join(e["delta"] for e in self.post(path, **given) if e["type"] == "TEXT_MESSAGE_CONTENT")


def serving(folder: Path, *args: str) -> AbstractContextManager[Server]:
    command = [sys.executable, "-c", "from yai_nexus_agentkit.cli import main; raise SystemExit(main())"]
    return started(folder, *command, "serve", "--port", "0", *args)


@contextmanager
def started(folder: Path, *command: str) -> Iterator[Server]:
    """The server of a command that ends in ``serve``. It and its children are interrupted at the end, as by Ctrl-C."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    server = Server(process)
    try:
        server.wait_for("\n  POST ")
        server.wait_for("\n")
        server.base = next(word for word in server.shown.split() if word.startswith("http")).rpartition("/")[0]
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
