"""Edge. The HTTP response of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.runs.service import LiveRun
from yai_nexus_agentkit.server.problems import refused
from yai_nexus_agentkit.server.pump import Pump
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.wire import Encoder, Wire

__all__ = ["HttpSink", "RunResponse"]


class HttpSink:
    """The body of one HTTP response. `more_headers`: to send beside the encoder's."""

    def __init__(
        self, encoder: Encoder, receive: Receive, send: Send, more_headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self._encoder, self._receive, self._send, self._more_headers = encoder, receive, send, more_headers
        self._begun = False

    async def begin(self) -> None:
        """Send status and headers, if they were not sent yet."""
        if not self._begun:
            self._begun = True
            own = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._encoder.headers.items()]
            headers = [*own, *self._more_headers]
            await self._send({"type": "http.response.start", "status": self._encoder.status, "headers": headers})

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send a piece of the body."""
        await self.begin()
        await self._send({"type": "http.response.body", "body": body, "more_body": not last})

    async def gone(self) -> None:
        """Returns when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class RunResponse(Response):
    """Opens a run and streams it. If the run cannot begin, the wire's refusal is sent instead of a stream."""

    def __init__(
        self,
        opened: Callable[[], AbstractAsyncContextManager[LiveRun]],
        encoder: Encoder,
        wire: Wire,
        settings: ServerSettings,
    ) -> None:
        super().__init__()
        del self.headers["content-length"]  # what is left are headers that FastAPI's dependencies set
        self._opened, self._encoder, self._wire, self._settings = opened, encoder, wire, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        encoder, settings = self._encoder, self._settings
        async with AsyncExitStack() as held:
            try:
                run = await held.enter_async_context(self._opened())
            except Exception as error:
                await refused(error, self._wire, settings)(scope, receive, send)
                return
            sink = HttpSink(encoder, receive, send, self.raw_headers)
            await Pump(run, encoder, sink, settings, held.aclose).serve()
        if self.background is not None:
            await self.background()
