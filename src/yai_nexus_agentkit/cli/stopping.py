"""Edge. The server of ``serve``: when it is stopped, it ends the runs under way before it closes connections."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette

__all__ = ["StoppingServer"]


class StoppingServer(uvicorn.Server):
    """A uvicorn server for the application of `create_app`. By itself uvicorn waits for open streams, and cuts off
    those that do not end: clients see half of a run. Here the runs are cancelled, and their streams end by saying so.

    `patience`: seconds that runs have to end; a second Ctrl-C ends the wait.
    """

    def __init__(self, app: Starlette, *, patience: int) -> None:
        # What does not end in that time is cut off right away: it has had its time.
        super().__init__(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
        self._runs, self._patience = app.state.agui, patience

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called once, when the server is to stop."""
        for server in self.servers:
            server.close()  # no new requests meanwhile
        ending = asyncio.ensure_future(self._runs.aclose(patience=self._patience))
        while not ending.done() and not self.force_exit:
            await asyncio.wait([ending], timeout=0.05)
        ending.cancel()
        await super().shutdown(sockets)
