"""Live mode with the frames of the AI SDK."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.adk.models import LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types
from websockets.asyncio.client import connect

from tests.adk.speaking import AGAIN, HELLO, WIPED, Speaker, talking, wipe
from tests.support.serving import served

AI = Path(__file__).resolve().parents[1] / "js" / "ai-sdk"


class Page:
    """A page of the AI SDK with the older frames."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.messages: list[dict[str, Any]] = []

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def say(self, text: str) -> list[dict[str, Any]]:
        said = {"id": f"u{len(self.messages)}", "role": "user", "parts": [{"type": "text", "text": text}]}
        self.messages.append(said)
        await self.send(type="submit", id="c", messages=self.messages, trigger="submit-message")
        return await self.turn()

    async def turn(self) -> list[dict[str, Any]]:
        chunks: list[dict[str, Any]] = []
        async with asyncio.timeout(10):
            while (text := await self.socket.recv()) != "[DONE]":
                chunks.append(json.loads(text))
        return chunks


def of(chunks: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [chunk for chunk in chunks if chunk["type"] == kind]


@pytest.mark.parametrize(("approved", "shown"), [(True, "tool-output-available"), (False, "tool-output-denied")])
async def test_the_ai_sdk_answers_by_frames(approved: bool, shown: str) -> None:
    both = LlmResponse(
        content=types.Content(
            role="model",
            parts=[
                types.Part(function_call=types.FunctionCall(name="wipe", args={"path": "/x"})),
                types.Part(function_call=types.FunctionCall(name="locate", args={"city": "Rome"})),
            ],
        )
    )
    speaker = Speaker.of([both], AGAIN, HELLO)
    async with talking(speaker, FunctionTool(wipe, require_confirmation=True)) as host:
        async with connect(f"ws://{host}/live?ai=6") as socket:
            page = Page(socket)
            locate = {"name": "locate", "description": "where", "parameters": {}}
            page.messages.append({"id": "u", "role": "user", "parts": [{"type": "text", "text": "wipe it"}]})
            await page.send(type="submit", id="c", messages=page.messages, tools=[locate])
            first = await page.turn()
            (asked,) = of(first, "tool-approval-request")
            (call_id,) = (c["toolCallId"] for c in of(first, "tool-input-available") if c["toolName"] == "locate")
            for wrong in ({"approvalId": "x"}, {"approvalId": ["x"]}, {}):
                await page.send(type="tool-approval-response", approved=True, **wrong)
                assert json.loads(await socket.recv())["type"] == "error"
            await page.send(type="tool-approval-response", approvalId=asked["approvalId"], approved=approved)
            await page.send(type="tool-output", toolCallId=call_id, output={"at": 41})
            done = await page.turn()
            assert done[0]["messageId"] == of(first, "start")[0]["messageId"]
            assert [c["toolCallId"] for c in of(done, shown)] == [asked["toolCallId"]] * 1
            assert "".join(c["delta"] for c in of(done, "text-delta")) == "Again."
            assert ["/x"] * approved == WIPED
            await page.send(type="tool-output", toolCallId=call_id, output=1)
            assert json.loads(await socket.recv())["type"] == "error"
            await page.send(type="ping")
            assert json.loads(await socket.recv()) == {"type": "pong"}
            assert "".join(c["delta"] for c in of(await page.say("more"), "text-delta")) == "Hello."


async def test_the_ai_sdks_own_frames() -> None:
    async with talking(Speaker.of(HELLO)) as host, connect(f"ws://{host}/live?ai=7") as socket:
        said = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
        await socket.send(json.dumps({"type": "send", "requestId": "r", "id": "c", "messages": [said]}))
        frames = [json.loads(await socket.recv()) for _ in range(3)]
        assert [frame["type"] for frame in frames] == ["start", "chunk", "chunk"]
        while frames[-1]["type"] != "end":
            frames.append(json.loads(await socket.recv()))
        assert "".join(f["chunk"].get("delta", "") for f in frames[1:-1]) == "Hello."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frames", "version", "groups"), [("older", 6, []), ("official", 7, ["send", "abort", "garbage"])]
)
def test_the_judge_of_the_frames_is_content(frames: str, version: int, groups: list[str]) -> None:
    with served("tests.adk.errands:live") as url:
        address = f"{url.replace('http', 'ws')}/live?ai={version}"
        command = ["node", "check-websocket.mjs", "--ws", address, "--frames", frames, "--json"]
        command += [word for group in groups for word in ("--only", group)]
        done = subprocess.run(command, cwd=AI, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)["results"]
    assert report
    assert [one for one in report if not one.get("ok", "note" in one)] == []
