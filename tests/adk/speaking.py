"""A model in live mode that follows a script, and a server whose agent speaks with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmCapabilities, LlmRequest, LlmResponse
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.genai import types

from tests.support.sockets import listening
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.server import Identity, ServerSettings, SocketSettings, create_app

__all__ = ["AGAIN", "DONE", "HELLO", "WIPED", "Speaker", "call", "chunk", "sound", "talking", "whole", "wipe"]

DONE = LlmResponse(turn_complete=True)


def _response(*parts: types.Part, **more: Any) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=list(parts)), **more)


def chunk(text: str, **more: Any) -> LlmResponse:
    """A piece of an answer."""
    return _response(types.Part(text=text), partial=True, **more)


def whole(text: str, **more: Any) -> LlmResponse:
    """The whole answer, behind its pieces."""
    return _response(types.Part(text=text), partial=False, **more)


def call(name: str, **args: Any) -> LlmResponse:
    return _response(types.Part(function_call=types.FunctionCall(name=name, args=args)))


def sound(data: bytes) -> LlmResponse:
    return _response(types.Part(inline_data=types.Blob(data=data, mime_type="audio/pcm;rate=24000")))


class _Connection(BaseLlmConnection):
    """Says the next part of the script for each content that it gets, and for each end of audio."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._said: asyncio.Queue[Any] = asyncio.Queue()

    def _next(self) -> None:
        for item in self._speaker.script.pop(0) if self._speaker.script else ():
            self._said.put_nowait(item)

    async def send_history(self, history: list[types.Content]) -> None:
        self._speaker.history.append(history)
        if self._speaker.answers_history:
            self._next()

    async def send_content(self, content: types.Content) -> None:
        self._speaker.heard.append(content)
        self._next()

    async def send_realtime(self, blob: Any) -> None:
        self._speaker.audio.append(blob)
        if self._speaker.deaf:
            await asyncio.sleep(3600)
        if isinstance(blob, types.LiveClientRealtimeInput):
            self._next()

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while (item := await self._said.get()) is not None:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, float):
                await asyncio.sleep(item)
                continue
            self._speaker.given += 1
            yield item

    async def close(self) -> None:
        self._said.put_nowait(None)


class Speaker(BaseLlm):
    """`script`: a list of responses for each thing it is told; exceptions are raised, numbers are pauses."""

    model: str = "speaker"
    script: list[Any] = []
    heard: list[Any] = []
    history: list[Any] = []
    audio: list[Any] = []
    requests: list[Any] = []
    open: int = 0
    given: int = 0
    deaf: bool = False
    answers_history: bool = False

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=False)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise AssertionError("this model is connected")
        yield LlmResponse()

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        self.requests.append(llm_request)
        self.open += 1
        try:
            yield _Connection(self)
        finally:
            self.open -= 1

    @classmethod
    def of(cls, *script: Sequence[Any], **more: Any) -> Speaker:
        fresh: dict[str, Any] = {name: [] for name in ("heard", "history", "audio", "requests")}
        return cls(script=list(script), **fresh, **more)


HELLO = [chunk("Hel"), chunk("lo."), whole("Hello."), DONE]
AGAIN = [chunk("Again."), whole("Again."), DONE]
WIPED: list[str] = []


def wipe(path: str) -> dict[str, str]:
    """Delete a folder."""
    WIPED.append(path)
    return {"wiped": path}


@asynccontextmanager
async def talking(
    speaker: Speaker, *tools: Any, sockets: Any = None, settings: Any = None, **options: Any
) -> AsyncIterator[str]:
    WIPED.clear()
    agent = Agent(name="speaker", model=speaker, tools=list(tools))
    given = ServerSettings(
        sockets=SocketSettings(**(sockets or {})),
        identity=lambda request: Identity(user=request.headers.get("x-user", "")),
        **(settings or {}),
    )
    app = create_app(AGUIAdapter(AdkSource(agent, **options)), live="/live", settings=given)
    service = app.state.agui
    async with listening(app) as host:
        yield host
        async with asyncio.timeout(10):
            while service.live or service.holders or await service.connections.of("agent", ""):
                await asyncio.sleep(0.01)
    assert speaker.open == 0
