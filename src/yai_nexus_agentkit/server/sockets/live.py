"""Edge. Live mode over a web socket: each connection has an agent, a model and a thread of its own.

The frames are those of the other sockets: AG-UI's, or those of the AI SDK where the address names its version
(``?ai=7``). Between them a client that has the ability ``audio`` may send ``{"type": "audio", "mimeType", "data"}``,
with base64 data; without data the audio ends for now. What the model says arrives as events named ``audio``. Clients of
the AI SDK's older frames may answer by ``tool-approval-response`` and ``tool-output``: the turn goes on as if the
answers of all calls that wait had come in the last message of a ``submit``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.adapter.source import LiveSource
from yai_nexus_agentkit.runs.connections import News
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import Agent, ServedAgent, adapter_of
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.socket_settings import SocketSettings
from yai_nexus_agentkit.server.sockets.agui import agui_socket
from yai_nexus_agentkit.server.sockets.ai_sdk import ai_sdk_socket
from yai_nexus_agentkit.server.sockets.session import Dialect, Session, Socket
from yai_nexus_agentkit.transport.agui_socket import FrameError, Hello
from yai_nexus_agentkit.transport.ai_sdk.socket import answered_part, with_answers
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["LiveSocket", "in_live_mode"]

_LONGEST = 100
"""Characters of a media type."""


def in_live_mode(adapter: AGUIAdapter) -> AGUIAdapter:
    """The same agent in live mode, for one connection. Raises TypeError if its framework has none."""
    source = adapter.source.live()
    if source is None:
        raise TypeError(f"{adapter.source.name} agents have no live mode")
    return AGUIAdapter(source, options=adapter.options, hooks=adapter.hooks)


class _Connected:
    """The agents of the connections, by their threads. An `Agent`."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._of: dict[str | None, AGUIAdapter] = {}

    async def __call__(self, identity: Identity) -> AGUIAdapter:
        if identity.thread not in self._of:
            made = in_live_mode(await adapter_of(self._agent, identity))
            self._of.setdefault(identity.thread, made)
        return self._of[identity.thread]

    async def left(self, identity: Identity) -> None:
        """The connection is gone."""
        adapter = self._of.pop(identity.thread, None)
        if adapter is not None and isinstance(adapter.source, LiveSource):
            await adapter.source.close()


class _LiveDialect:
    """The frames of another dialect, and audio."""

    def __init__(self, session: Session, spoken: Callable[[Session], Dialect]) -> None:
        self._session, self._spoken = session, spoken(session)
        self._submitted: Mapping[str, Any] = {}
        """The last ``submit``."""
        self._answers: dict[str, dict[str, Any]] = {}
        """Answers to some of the calls that wait, as parts of a message, by call."""
        self.ping = self._spoken.ping

    def hello(self, data: Any) -> Hello | None:
        """See `Dialect`, as the others."""
        return self._spoken.hello(data)

    async def connected(self) -> None:
        await self._spoken.connected()

    async def news(self, news: News) -> None:
        await self._spoken.news(news)

    async def failed(self, request_id: str | None, error: Exception) -> None:
        await self._spoken.failed(request_id, error)

    async def take(self, data: Any, raw: bytes) -> None:
        kind = data.get("type") if isinstance(data, Mapping) else None
        if kind == "audio":
            await self._hear(data)
        elif kind in ("tool-approval-response", "tool-output"):
            await self._answer(data, raw)
        else:
            await self._spoken.take(data, raw)
            if kind == "submit":
                self._submitted = data
                self._answers.clear()

    async def _answer(self, frame: Mapping[str, Any], raw: bytes) -> None:
        source, approval = (await self._session.caller.adapter()).source, frame["type"] == "tool-approval-response"
        waiting = source.waiting() if isinstance(source, LiveSource) else []
        asked = {one.question if approval else one.call_id: one for one in waiting if bool(one.question) is approval}
        name = "approvalId" if approval else "toolCallId"
        of = asked.get(str(frame.get(name)))
        if of is None or not self._submitted:
            raise Refusal(409, "NOTHING_WAITS", f"no call waits for this {name}")
        self._answers[of.call_id] = answered_part(of.call_id, of.tool, of.message_id, frame)
        if self._answers.keys() >= {one.call_id for one in waiting}:
            submit = with_answers(self._submitted, list(self._answers.values()))
            self._answers.clear()
            await self._spoken.take(submit, raw)

    async def _hear(self, frame: Mapping[str, Any]) -> None:
        mime_type, text = frame.get("mimeType", ""), frame.get("data", "")
        if not isinstance(mime_type, str) or not isinstance(text, str) or len(mime_type) > _LONGEST:
            raise FrameError("mimeType and data must be strings")
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise FrameError("data is not base64") from error
        if data and not mime_type.startswith("audio/"):
            raise FrameError("mimeType must be that of the audio, such as audio/pcm;rate=16000")
        source = (await self._session.caller.adapter()).source
        if not isinstance(source, LiveSource) or not source.hears or "audio" not in self._session.connection.abilities:
            raise Refusal(409, "NO_AUDIO", "the agent and the connection must both have the ability 'audio'")
        if not source.hear(mime_type, data):
            raise Refusal(409, "NOT_STARTED", "no run has connected the model: send one before the audio")


class LiveSocket:
    """The ASGI application of one agent's live mode."""

    def __init__(self, agent: ServedAgent, given: Agent, service: RunService, settings: ServerSettings) -> None:
        """`given`: the agent as the application has it; `agent`: as the server does."""
        own = replace(settings, sockets=replace(settings.sockets or SocketSettings(), isolated=True))
        self._agents = _Connected(given)
        shown = ServedAgent(agent.name, self._agents, own)
        self._agui = _with_audio(agui_socket(shown, service, own))
        self._ai_sdk = _with_audio(ai_sdk_socket(shown, service, own))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = self._ai_sdk if "ai" in HTTPConnection(scope).query_params else self._agui
        session = Session(socket, scope, receive, send)
        try:
            await session.serve()
        finally:
            if session.is_known:
                await self._agents.left(session.caller.identity)


def _with_audio(socket: Socket) -> Socket:
    """The socket at the agent's own path, with the frames of live mode."""
    return replace(socket, dialect=lambda session: _LiveDialect(session, socket.dialect), end="")
