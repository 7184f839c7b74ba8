"""Edge. The server of ``serve``: when it stops, it ends the active runs before it closes connections."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette

__all__ = ["StoppingServer"]


class StoppingServer(uvicorn.Server):
    """A uvicorn server for the application of `create_app`. Uvicorn alone waits for open streams and cuts off those
    that do not end, so that clients see half of a run. This server cancels the runs; clients get their last event.

    `patience`: seconds that runs get to end. A second Ctrl-C ends the wait.
    """

    def __init__(self, app: Starlette, *, patience: int) -> None:
        # A stream that is still open after `patience` is cut off at once.
        config = uvicorn.Config(
            app,
            log_config=None,
            timeout_graceful_shutdown=1,
            ws_per_message_deflate=False,  # tokens are too short to gain from it
        )
        super().__init__(config)
        self._runs, self._patience = app.state.agui, patience

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called once, when the server stops."""
        for server in self.servers:
            server.close()  # no new requests meanwhile
        ending = asyncio.ensure_future(self._runs.aclose(patience=self._patience))
        while not ending.done() and not self.force_exit:
            await asyncio.wait([ending], timeout=0.05)
        ending.cancel()
        await super().shutdown(sockets)
