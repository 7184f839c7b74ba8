"""Driver. The official TypeScript clients as long-lived processes: recorded runs in, a client's view of them out."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from yai_nexus_agentkit.testing import AnyRun, normalise

__all__ = ["CLIENTS", "JS", "ClientRun", "Verifier", "VerifierError", "shared_verifier"]

JS = Path(__file__).resolve().parent.parent / "js"
CLIENTS = ("1.0.0", "0.0.59", "0.0.47", "0.0.40")
_LOWEST_NODE = 20


class VerifierError(RuntimeError):
    """The client could not be asked. Never a verdict on a stream, and never a reason to skip a test."""


class ClientRun(TypedDict):
    """One run as a client sees it."""

    ok: bool
    accepted: bool
    terminal: str | None
    messages: list[dict[str, Any]]
    state: Any
    newMessageIds: list[str]
    warnings: list[str]
    error: NotRequired[str]
    runError: NotRequired[dict[str, Any]]
    outcome: NotRequired[str]
    interrupts: NotRequired[list[dict[str, Any]]]
    pendingToolCallIds: NotRequired[list[str]]
    result: NotRequired[Any]


class Verifier:
    """Replays runs through the clients of `tests/js`. One Node process per client generation, started when first asked.

    Threads may share a verifier. A process that died is replaced, and its request asked once more.
    """

    def __init__(self, directory: Path = JS, *, timeout: float = 60.0) -> None:
        """`timeout`: seconds for one request, all its runs together."""
        self._directory = directory
        self._timeout = timeout
        self._locks = {client: threading.Lock() for client in CLIENTS}
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._node: str | None = None
        self._setup = threading.Lock()
        self._exchanges = ThreadPoolExecutor(len(CLIENTS), "client")
        """Not a timer per request: starting its thread would take longer than most replays."""

    def replay(self, runs: Sequence[AnyRun], client: str = "1.0.0", *, chain: bool = True) -> list[ClientRun]:
        """The client's view of each run.

        `chain` keeps one client for all runs, as on a thread: messages and state carry over. Without it the runs are
        separate, so that one call can verify many streams.

        Raises:
            VerifierError: Node or the client's package is missing, or the process died twice over the same request.
        """
        if client not in self._locks:
            raise VerifierError(f"unknown client {client!r}; known: {', '.join(CLIENTS)}")
        body = json.dumps({"runs": [_request(run) for run in runs], "chain": chain})
        with self._locks[client]:
            answer = self._ask(client, body) or self._ask(client, body)
        if answer is None:
            raise VerifierError(f"the process of client {client} died, or took longer than {self._timeout} s, twice")
        if "runs" not in answer:
            raise VerifierError(f"client {client}: {answer.get('error')}")
        found: list[ClientRun] = answer["runs"]
        return found

    def process_ids(self) -> dict[str, int]:
        """The running processes by client generation."""
        return {client: process.pid for client, process in self._processes.items() if process.poll() is None}

    def close(self) -> None:
        """End all processes. A later `replay` starts new ones."""
        for client, lock in self._locks.items():
            with lock:
                self._discard(client)

    def _ask(self, client: str, body: str) -> dict[str, Any] | None:
        """One answer, or None when the process went away without giving one."""
        process = self._process(client)
        exchange = self._exchanges.submit(_exchange, process, body)
        try:
            line = exchange.result(self._timeout)
        except TimeoutError:
            process.kill()
            line = exchange.result()
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._discard(client)
        return None

    def _process(self, client: str) -> subprocess.Popen[str]:
        process = self._processes.get(client)
        if process is not None and process.poll() is None:
            return process
        self._discard(client)
        command = [self._require_node(), "verify.mjs", "--serve", "--client", client]
        self._processes[client] = subprocess.Popen(
            command, cwd=self._directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        return self._processes[client]

    def _discard(self, client: str) -> None:
        process = self._processes.pop(client, None)
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                continue  # What was still buffered for a dead process cannot be delivered.

    def _require_node(self) -> str:
        with self._setup:
            if self._node is None:
                self._node = _find_node(self._directory)
            return self._node


def _exchange(process: subprocess.Popen[str], body: str) -> str:
    """The line that answers; empty when the process is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(body + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return ""


def _find_node(directory: Path) -> str:
    node = shutil.which("node")
    if node is None:
        raise VerifierError(
            f"the official clients need Node {_LOWEST_NODE} or newer, and there is no `node` on the path"
        )
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < _LOWEST_NODE:
        raise VerifierError(f"the official clients need Node {_LOWEST_NODE} or newer; `node` is {version}")
    if not (directory / "node_modules" / "@ag-ui" / "client").is_dir():
        raise VerifierError(
            f"the official clients are not installed: run `make test`, or `npm ci` in {directory.name}/"
        )
    return node


def _request(run: AnyRun) -> dict[str, Any]:
    """The run for verify.mjs. Raw responses (SSE text, content type, status) pass as they are."""
    if isinstance(run, Mapping) and "sse" in run:
        return dict(run)
    return {name: value for name, value in normalise(run).items() if value is not None}


_shared: list[Verifier] = []


def shared_verifier() -> Verifier:
    """The verifier of this test session, for code without fixtures. The `verifier` fixture closes it at the end."""
    if not _shared:
        _shared.append(Verifier())
    return _shared[0]
