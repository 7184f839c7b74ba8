"""A page of the AI SDK: its requests, and the answers as its client's own code reads them, in three generations."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.serving import Exchange, call, post
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import parse_sse

__all__ = ["Client", "Page", "brief", "chunks_of", "client", "page_of", "watched", "without_data"]

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
JUDGE = Path(__file__).resolve().parent.parent / "js" / "ai-sdk"


class Client:
    """The npm package `ai`, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def read(self, version: int, chunks: Sequence[Any], message: Any = None) -> dict[str, Any]:
        """The message that the client shows. Fails for what it refuses, for what it forgives, and for an answer that
        nobody must answer and that its page would send again by itself."""
        answer = self._asked({"ai": version, "chunks": chunks, "message": message})
        errors = [chunk["errorText"] for chunk in chunks if chunk["type"] == "error"]
        assert answer["errors"] == errors, answer
        assert answer["violations"] == [], answer["violations"]
        if chunks and chunks[-1].get("finishReason", "tool-calls") != "tool-calls":
            assert not answer["sends"], answer["message"]
        shown: dict[str, Any] = answer["message"]
        return shown

    def generations(self, chats: Sequence[Any]) -> list[list[int]]:
        """For each list of messages the generations that have such ones, by their own check."""
        valid: list[list[int]] = self._asked({"chats": chats})["valid"]
        return valid

    def _asked(self, given: Mapping[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the client's process ended"
        return json.loads(line)


@contextmanager
def client() -> Iterator[Client]:
    """The process, for as long as the block lasts."""
    command = ["node", "streams.mjs"]
    with subprocess.Popen(command, cwd=JUDGE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Client(process)
        assert process.stdin is not None
        process.stdin.close()


def chunks_of(body: bytes) -> list[dict[str, Any]]:
    """The chunks of a response. Fails if it does not end as the protocol says."""
    text = body.decode()
    assert text.endswith("data: [DONE]\n\n"), text[-200:]
    return parse_sse(text.removesuffix("data: [DONE]\n\n"))


class Page:
    """One tab with one chat, as `useChat` keeps it."""

    def __init__(self, app: Any, client: Client, version: int = 6, chat: str = "c1") -> None:
        self.app, self.client, self.version, self.chat = app, client, version, chat
        self.messages: list[dict[str, Any]] = []
        self.chunks: list[dict[str, Any]] = []
        """Of the last response."""
        self._asked = 0

    @property
    def reply(self) -> dict[str, Any]:
        return self.messages[-1]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Of the reply; without those of data."""
        return [part for part in self.reply["parts"] if not part["type"].startswith("data-")]

    def asked(self, *parts: Mapping[str, Any] | str, id: str | None = None) -> None:
        """The user writes a message; it is not sent yet."""
        self._asked += 1
        shown = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        self.messages.append({"id": id or f"u{self._asked}", "role": "user", "parts": shown})

    async def say(self, *parts: Mapping[str, Any] | str, **body: Any) -> dict[str, Any]:
        """Send a message; the reply."""
        self.asked(*parts)
        return await self.send(**body)

    def posted(self, trigger: str = "submit-message", **body: Any) -> dict[str, Any]:
        """The body of a request."""
        return {"id": self.chat, "messages": self.messages, "trigger": trigger, **body}

    def start(self, **body: Any) -> Exchange:
        """Send what there is, and do not wait."""
        return post(self.app, self.posted(**body), "/chat")

    async def send(self, **body: Any) -> dict[str, Any]:
        """Send what there is; the reply."""
        done = await self.start(**body).end()
        assert done.status == 200, done.body
        return self.take(chunks_of(done.body))

    def take(self, chunks: list[dict[str, Any]]) -> dict[str, Any]:
        """The client reads an answer."""
        self.chunks = chunks
        going = self.messages[-1] if self.messages and self.messages[-1]["role"] == "assistant" else None
        shown = self.client.read(self.version, self.chunks, copy.deepcopy(going))
        if going is not None:
            self.messages.pop()
        if shown is not None:
            self.messages.append(shown)
        return shown

    async def regenerate(self) -> dict[str, Any]:
        """Have the last reply made again."""
        gone = self.messages.pop()
        return await self.send(trigger="regenerate-message", messageId=gone["id"])

    def part(self, state: str) -> dict[str, Any]:
        """The first part of the reply in this state."""
        return next(part for part in self.reply["parts"] if part.get("state") == state)

    def approve(self, approved: bool = True, reason: str | None = None) -> None:
        """Answer the first approval; it is not sent yet."""
        part = self.part("approval-requested")
        said = {"reason": reason} if reason else {}
        part |= {"state": "approval-responded", "approval": {**part["approval"], "approved": approved, **said}}

    def output(self, output: Any = None, error: str | None = None) -> None:
        """The result of the page's tool, or the answer to a question; it is not sent yet."""
        part = self.part("input-available")
        if error is None:
            part |= {"state": "output-available", "output": output}
        else:
            part |= {"state": "output-error", "errorText": error}

    async def reloaded(self) -> Page:
        """A new page with the messages that the server has."""
        page = Page(self.app, self.client, self.version, self.chat)
        page.messages = (await call(self.app, "GET", f"/chat/{self.chat}")).json
        page._asked = self._asked
        return page


def page_of(
    graph: Any, client: Client, version: int = 6, *, settings: Mapping[str, Any] | None = None, **options: Any
) -> Page:
    """A page for an agent that is served alone. `options`: the adapter's."""
    agent = AGUIAdapter(graph, options=AdapterOptions(**options))
    given: Any = {"ai_sdk_version": version, **(settings or {})}
    return Page(create_app(agent, settings=ServerSettings(**given), ai_sdk="/chat"), client, version)


async def watched(app: Any, chat: str = "c1", viewers: int = 2) -> None:
    """Wait until so many watch the run of a chat."""
    async with asyncio.timeout(10):
        while (await call(app, "GET", f"/threads/{chat}/runs")).json[0]["viewers"] < viewers:
            await asyncio.sleep(0)


def brief(chunks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each chunk, without ids and metadata. Deltas of one text stand in one line."""
    lines: list[str] = []
    for chunk in chunks:
        kind, rest = chunk["type"], dict(chunk)
        for name in ("type", "id", "messageId", "toolCallId", "approvalId", "sourceId", "providerMetadata", "dynamic"):
            rest.pop(name, None)
        if kind in ("start", "finish"):
            rest.pop("messageMetadata", None)
        text = rest.get("delta", rest.get("inputTextDelta"))
        if text is not None:
            if lines and lines[-1].startswith(f"{kind} "):
                lines[-1] += f" + {text}"
            else:
                lines.append(f"{kind} {text}")
        else:
            lines.append(" ".join([kind, *(f"{name}={json.dumps(value)}" for name, value in rest.items())]))
    return [_ID.sub("ID", line) for line in lines]


def without_data(messages: list[Any]) -> list[Any]:
    """The parts that a thread must show again: parts of data stand at the end there."""
    shown: list[Any] = json.loads(json.dumps(messages))
    for message in shown:
        message.pop("metadata", None)
        message["parts"] = [part for part in message["parts"] if not part["type"].startswith("data-")]
        for part in message["parts"]:
            if part["type"] == "reasoning":
                part.pop("id", None)  # ai 5 gives it one
            part.pop("rawInput", None)
            part.pop("resultProviderMetadata", None)  # ai 5 does not keep it
    return shown
