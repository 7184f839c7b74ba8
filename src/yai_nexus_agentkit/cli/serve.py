"""Edge. ``serve``: agents behind an HTTP server. Exit codes: 0 stopped, 2 wrong usage, no such agent, no free port."""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.cli.arguments import add_adapter_options, add_agent_arguments
from yai_nexus_agentkit.cli.failures import CommandError
from yai_nexus_agentkit.cli.serving import INSPECTOR, application, inspector_wanted, named_specs
from yai_nexus_agentkit.cli.terminal import Terminal

__all__ = ["configure", "execute"]

_CLOSING = 3
"""Seconds that open streams have to end when the server stops."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``serve``."""
    parser.description = (
        "Serve agents by AG-UI over HTTP. AGENT is as in `run`; one alone answers POST /, several are written "
        "NAME=AGENT and answer POST /NAME."
    )
    parser.usage = "%(prog)s AGENT [NAME=AGENT ...] [options]"
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="module:attribute or path/to/file.py:attribute")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=8000, help="default: %(default)s; 0 takes any free one")
    parser.add_argument("--reload", action="store_true", help="start anew when a Python file of this folder changes")
    parser.add_argument("--cors", action="append", default=[], metavar="ORIGIN", help="pages that may call; * for all")
    parser.add_argument(
        "--inspector",
        action=argparse.BooleanOptionalAction,
        help="a page to try the agents, at /inspector/ (default: where it is installed)",
    )
    parser.add_argument("--identity", metavar="SPEC", help="module:function, from a request to an Identity")
    parser.add_argument("--per-request", action="store_true", help="call the agents' function for each request")
    parser.add_argument("--expose-errors", action="store_true", help="send clients the text of unexpected exceptions")
    add_agent_arguments(parser)
    add_adapter_options(parser)


def port(text: str) -> int:
    number = int(text)
    # getaddrinfo takes larger ones, modulo 65536.
    if not 0 <= number <= 65535:
        raise ValueError(text)
    return number


def execute(args: argparse.Namespace) -> int:
    """Serve until somebody stops it. Returns the exit code."""
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise CommandError("serve needs the server: pip install 'yai-nexus-agentkit[server]'")
    named_specs(args.agents)
    inspector_wanted(args)
    with _bound(args.host, args.port) as listening:
        try:
            if args.reload:
                _supervise(args, listening)
            else:
                _run(args, listening)
        except KeyboardInterrupt:
            Terminal().write("stopped\n")
    return 0


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """The listening socket, taken before anything is loaded or announced. Raises `CommandError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        raise CommandError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error
    with listening:
        listening.set_inheritable(True)
        yield listening


def _run(args: argparse.Namespace, listening: socket.socket) -> None:
    """Serve on the event loop that uvicorn would choose: the agents' checkpointers are opened on it, too."""
    import uvicorn

    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(_serve(args, listening))


async def _serve(args: argparse.Namespace, listening: socket.socket) -> None:
    from yai_nexus_agentkit.cli.stopping import StoppingServer

    async with application(args) as app:
        _log_to_terminal(tracebacks=args.traceback)
        Terminal().write(_banner(args, listening))
        await StoppingServer(app, patience=_CLOSING).serve(sockets=[listening])


def _supervise(args: argparse.Namespace, listening: socket.socket) -> None:
    """Serve in a process of its own, and again in a new one whenever a file changes."""
    import uvicorn
    from uvicorn.supervisors import ChangeReload

    _log_to_terminal(tracebacks=args.traceback)
    config = uvicorn.Config("", reload=True, log_config=None)
    ChangeReload(config, target=partial(_serve_again, args), sockets=[listening]).run()


def _serve_again(args: argparse.Namespace, sockets: Sequence[socket.socket]) -> None:
    """One life of the process under `_supervise`. What cannot be loaded now may be after the next change."""
    try:
        _run(args, sockets[0])
    except CommandError as error:
        if args.traceback:
            traceback.print_exception(error.__cause__ or error)
        sys.stderr.write(f"{error}; waiting for a change\n")
    except KeyboardInterrupt:
        return


def _banner(args: argparse.Namespace, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    specs = named_specs(args.agents)
    lines = [
        f"yai-nexus-agentkit {__version__}",
        *(f"  POST {base}/{name or ''}  {spec}" for name, spec in specs.items()),
    ]
    if inspector_wanted(args):
        lines.append(f"  page {base}/{INSPECTOR}/")
    return "\n".join(lines) + "\n"


def _log_to_terminal(*, tracebacks: bool) -> None:
    """Requests, warnings and errors; with `tracebacks` also what the package says about its work."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    logging.getLogger("yai_nexus_agentkit").setLevel(logging.DEBUG if tracebacks else logging.INFO)
