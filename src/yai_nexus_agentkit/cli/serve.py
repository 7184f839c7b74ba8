"""Edge. ``serve``: agents over HTTP. Exit codes: 0 stopped; 2 wrong usage, no such agent, or no free port."""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from ipaddress import ip_address

from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.cli.arguments import AGENT, add_agent_arguments
from yai_nexus_agentkit.cli.failures import CommandError, report, warn
from yai_nexus_agentkit.cli.models import MODELS, port_of
from yai_nexus_agentkit.cli.serving import AI_SDK, COPILOTKIT, INSPECTOR, application, inspector_wanted, named_specs
from yai_nexus_agentkit.cli.terminal import Terminal

__all__ = ["configure", "execute"]

_CLOSING = 3
"""Seconds that open streams get to end when the server stops."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``serve``."""
    parser.description = (
        "Serve agents as AG-UI over HTTP. AGENT is the same as for `run`. One agent answers POST /; several are "
        "written NAME=AGENT and answer POST /NAME."
    )
    parser.usage = "%(prog)s AGENT [NAME=AGENT ...] [options]"
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=AGENT)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name by which clients may address the server; * for any (default: any, unless --host is local)",
    )
    parser.add_argument("--port", type=port, help="the port (default: 8000, with --openai $PORT; 0 = any free port)")
    parser.add_argument("--reload", action="store_true", help="restart when a Python file here changes")
    parser.add_argument(
        "--cors", action="append", default=[], metavar="ORIGIN", help="an origin whose pages may call; * for all"
    )
    parser.add_argument(
        "--inspector",
        action=argparse.BooleanOptionalAction,
        help="serve a page to try the agents, at /inspector/ (default: if it is installed)",
    )
    parser.add_argument("--copilotkit", action="store_true", help="serve pages made with CopilotKit, at /copilotkit")
    parser.add_argument("--openai", action="store_true", help="serve the agents as models to OpenAI's clients, at /v1")
    parser.add_argument("--ai-sdk", action="store_true", help="serve pages made with the AI SDK, at /api/chat")
    parser.add_argument(
        "--ai-sdk-version",
        type=int,
        choices=[5, 6, 7],
        default=6,
        help="the major version of their npm package ai (default: %(default)s)",
    )
    parser.add_argument("--identity", metavar="SPEC", help="module:function that returns the Identity of a request")
    parser.add_argument("--per-request", action="store_true", help="call the agents' functions for each request")
    parser.add_argument(
        "--run-store",
        metavar="WHERE",
        default="memory:",
        help="what workers share of threads and runs: memory:, sqlite:PATH, redis://..., postgresql://...",
    )
    parser.add_argument(
        "--disconnect",
        choices=["cancel", "continue"],
        default="cancel",
        help="what becomes of a run whose viewers left (default: %(default)s)",
    )
    parser.add_argument("--expose-errors", action="store_true", help="send clients the text of unexpected exceptions")
    add_agent_arguments(parser)


def port(text: str) -> int:
    number = int(text)
    # getaddrinfo takes larger ones, modulo 65536.
    if not 0 <= number <= 65535:
        raise ValueError(text)
    return number


def execute(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Returns the exit code."""
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise CommandError("serve needs an extra: pip install 'yai-nexus-agentkit[server]'")
    named_specs(args)
    inspector_wanted(args)
    with _bound(args.host, port_of(args)) as listening:
        if not args.identity and not ip_address(listening.getsockname()[0]).is_loopback:
            warn(f"everybody who can reach {args.host} shares the same threads; --identity separates users")
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
    """The listening socket, bound before any agent is loaded. Raises `CommandError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(f"Port {port} is in use; choose another with --port (0 = any free port).") from error
        raise CommandError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    with listening:
        listening.set_inheritable(True)
        yield listening


def _run(args: argparse.Namespace, listening: socket.socket) -> None:
    """Serve on the event loop that uvicorn would choose; the agents' checkpointers are opened on the same loop."""
    import uvicorn

    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(_serve(args, listening))


async def _serve(args: argparse.Namespace, listening: socket.socket) -> None:
    from yai_nexus_agentkit.cli.stopping import StoppingServer

    async with application(args, listening.getsockname()[0]) as app:
        _log_to_terminal(tracebacks=args.traceback)
        Terminal().write(_banner(args, listening))
        await StoppingServer(app, patience=_CLOSING).serve(sockets=[listening])


def _supervise(args: argparse.Namespace, listening: socket.socket) -> None:
    """Serve in a process of its own; start a new one whenever a file changes."""
    import uvicorn
    from uvicorn.supervisors import ChangeReload

    _log_to_terminal(tracebacks=args.traceback)
    config = uvicorn.Config("", reload=True, log_config=None)
    ChangeReload(config, target=partial(_serve_again, args), sockets=[listening]).run()


def _serve_again(args: argparse.Namespace, sockets: Sequence[socket.socket]) -> None:
    """The process that `_supervise` starts. An agent that cannot be loaded waits for the next change."""
    try:
        _run(args, sockets[0])
    except CommandError as error:
        report(error, tracebacks=args.traceback, more="; waiting for a change")
    except KeyboardInterrupt:
        return


def _banner(args: argparse.Namespace, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    specs = named_specs(args)
    lines = [
        f"yai-nexus-agentkit {__version__}",
        *(f"  POST {base}/{name or ''}  {spec}" for name, spec in specs.items()),
    ]
    if args.copilotkit:
        lines.append(f"  CopilotKit {base}{COPILOTKIT}")
    if args.openai:
        lines.append(f"  OpenAI {base}{MODELS}")
    if args.ai_sdk:
        lines += [f"  AI SDK {base}{AI_SDK}{f'/{name}' if name else ''}" for name in specs]
    if inspector_wanted(args):
        lines.append(f"  page {base}/{INSPECTOR}/")
    return "\n".join(lines) + "\n"


def _log_to_terminal(*, tracebacks: bool) -> None:
    """Log requests, warnings and errors; with `tracebacks` also the package's debug records."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    logging.getLogger("yai_nexus_agentkit").setLevel(logging.DEBUG if tracebacks else logging.INFO)
