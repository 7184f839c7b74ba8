"""Edge. ``serve``: agents over HTTP. Exit codes: 0 stopped; 2 wrong usage, no such agent, or no free port."""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from ipaddress import ip_address

from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.cli.arguments import AGENT, add_agent_arguments, amount, positive
from yai_nexus_agentkit.cli.failures import LOG_FORMAT, CommandError, report, warn
from yai_nexus_agentkit.cli.interruptible import ctrl_c_heard
from yai_nexus_agentkit.cli.models import MODELS, port_of
from yai_nexus_agentkit.cli.serving import (
    AI_SDK,
    COPILOTKIT,
    INSPECTOR,
    LIVE,
    application,
    inspector_wanted,
    named_specs,
    page_wanted,
)
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.workers import Announce, supervise

__all__ = ["configure", "execute"]

_WRONG = 2
"""The exit code of wrong usage."""
_CLOSING = 3
"""Seconds that open streams get to end when the server stops."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``serve``."""
    parser.description = (
        "Serve agents as AG-UI over HTTP. AGENT is the same as for `run`. One agent answers POST /; several are "
        "written NAME=AGENT and answer POST /NAME."
    )
    parser.epilog = "Exit code: 0 stopped, 2 usage, no such agent, or no free port."
    parser.usage = "%(prog)s AGENT [NAME=AGENT ...] [options]"
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=AGENT)
    _add_process(parser)
    _add_wires(parser)
    _add_runs(parser)
    add_agent_arguments(parser)


def _add_process(parser: argparse.ArgumentParser) -> None:
    """The address, and the processes."""
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name by which clients may address the server; * for any (default: any, unless --host is local)",
    )
    parser.add_argument("--port", type=port, help="the port (default: 8000, with --openai $PORT; 0 = any free port)")
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="the number of processes; several need a --run-store that they share (default: %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--reload", action="store_true", help="restart when a Python file here changes")
    parser.add_argument(
        "--cors", action="append", default=[], metavar="ORIGIN", help="an origin whose pages may call; * for all"
    )


def _add_wires(parser: argparse.ArgumentParser) -> None:
    """Pages, and other clients than AG-UI's."""
    parser.add_argument(
        "--page",
        action=argparse.BooleanOptionalAction,
        help="show a chat page at / (default: if it is built, as it is in a wheel)",
    )
    parser.add_argument("--title", help="the title of the chat page (default: from the agent's name, or its module's)")
    parser.add_argument(
        "--example", action="append", default=[], metavar="TEXT", help="a message that the chat page offers"
    )
    parser.add_argument(
        "--inspector",
        action=argparse.BooleanOptionalAction,
        help="show every event of the agents, at /inspector/ (default: if it is installed)",
    )
    parser.add_argument("--copilotkit", action="store_true", help="serve pages made with CopilotKit, at /copilotkit")
    parser.add_argument("--openai", action="store_true", help="serve the agents as models to OpenAI's clients, at /v1")
    parser.add_argument("--ai-sdk", action="store_true", help="serve pages made with the AI SDK, at /api/chat")
    parser.add_argument(
        "--ai-sdk-version",
        type=int,
        choices=[5, 6, 7],
        help="the major version of their npm package ai (default: 6)",
    )
    parser.add_argument("--live", action="store_true", help="a web socket to google-adk's live mode, at /live")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Users, and their runs."""
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
        help="what happens to a run whose viewers left (default: %(default)s)",
    )
    parser.add_argument(
        "--orphaned",
        type=amount,
        metavar="SECONDS",
        help="how long a run may go on without viewers (default: no limit)",
    )
    parser.add_argument(
        "--max-runs-per-user",
        type=positive,
        metavar="N",
        help="the number of runs that a user may have at once in each process (default: no limit)",
    )
    parser.add_argument(
        "--expose-errors",
        action=argparse.BooleanOptionalAction,
        help="send clients the text of unexpected exceptions (default: in a terminal, if --host is local)",
    )


def port(text: str) -> int:
    """A port, as a type for argparse."""
    with suppress(ValueError):
        # getaddrinfo takes larger ones, modulo 65536.
        if 0 <= (number := int(text)) <= 65535:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a port: a whole number from 0 to 65535")


def execute(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Returns the exit code."""
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise CommandError("serve needs an extra: pip install 'yai-nexus-agentkit[server]'")
    named_specs(args)
    _check(args)
    with _bound(args.host, port_of(args)) as listening:
        local = ip_address(listening.getsockname()[0]).is_loopback
        if not args.identity and not local:
            keys = args.openai and os.environ.get("API_KEYS")
            where = f"API_KEYS guards {MODELS} only: on the other paths " if keys else ""
            warn(f"{where}everybody who can reach {args.host} shares the same threads; --identity separates users")
        if args.expose_errors is None:
            args.expose_errors = local and Terminal().interactive
        try:
            if args.workers > 1:
                return supervise(partial(_work, args), args.workers, listening)
            if args.reload:
                _supervise(args, listening)
            else:
                _run(args, listening)
        except KeyboardInterrupt:
            Terminal().write("stopped\n")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, and warn of those that change nothing. Raises `CommandError`."""
    page, inspector = page_wanted(args), inspector_wanted(args)
    if args.open and not (page or inspector):
        raise CommandError("--open needs a page: leave out --no-page, or pip install 'yai-nexus-agentkit[inspector]'")
    if args.example and not page:
        warn("--example changes nothing without the chat page")
    if args.ai_sdk_version and not args.ai_sdk:
        warn("--ai-sdk-version changes nothing without --ai-sdk")
    if args.workers == 1:
        return
    if args.reload:
        raise CommandError("--reload is for one worker: leave --workers out")
    if args.run_store.startswith("memory"):
        shared = "sqlite:PATH, redis://... or postgresql://..."
        raise CommandError(f"--workers {args.workers} needs a store that the workers share: --run-store {shared}")
    for flag, where in (("--checkpointer", args.checkpointer), ("--store", args.store)):
        if where == "memory":
            raise CommandError(f"{flag} memory is the memory of one worker: use sqlite:PATH or postgres://...")


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


def _run(args: argparse.Namespace, listening: socket.socket, loaded: Announce | None = lambda: None) -> None:
    """Serve on the event loop that uvicorn would choose; the agents' checkpointers are opened on the same loop.

    `loaded`: called after the banner; without it, there is none. Raises `CommandError`.
    """
    import uvicorn

    # Else uvicorn ends the process before its files are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(_serve(args, listening, loaded))


def _work(args: argparse.Namespace, listening: socket.socket, loaded: Announce | None) -> int:
    """The work of one of several workers. Returns its exit code."""
    try:
        _run(args, listening, loaded)
    except CommandError as error:
        report(error, tracebacks=args.traceback)
        return _WRONG
    return 0


async def _serve(args: argparse.Namespace, listening: socket.socket, loaded: Announce | None) -> None:
    from yai_nexus_agentkit.cli.stopping import StoppingServer

    opening = application(args, listening.getsockname()[0], first=loaded is not None)
    async with AsyncExitStack() as stack:
        with ctrl_c_heard():
            app = await stack.enter_async_context(opening)
        _log_to_terminal(tracebacks=args.traceback)
        if loaded is not None:
            Terminal().write(_banner(args, listening))
            _open_page(args, listening)
            loaded()
        await StoppingServer(app, patience=_CLOSING).serve(sockets=[listening])


def _supervise(args: argparse.Namespace, listening: socket.socket) -> None:
    """Serve in a process of its own; start a new one whenever a file changes."""
    import uvicorn
    from uvicorn.supervisors import ChangeReload

    _log_to_terminal(tracebacks=args.traceback)
    _open_page(args, listening)
    again = argparse.Namespace(**{**vars(args), "open": False})
    config = uvicorn.Config("", reload=True, log_config=None)
    ChangeReload(config, target=partial(_serve_again, again), sockets=[listening]).run()


def _serve_again(args: argparse.Namespace, sockets: Sequence[socket.socket]) -> None:
    """The process that `_supervise` starts. An agent that cannot be loaded waits for the next change."""
    try:
        _run(args, sockets[0])
    except CommandError as error:
        report(error, tracebacks=args.traceback, more="; waiting for a change")
    except KeyboardInterrupt:
        return


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _open_page(args: argparse.Namespace, listening: socket.socket) -> None:
    """Show the page in a browser, with ``--open``. Its requests wait until the agents are loaded."""
    if args.open:
        # An address that means every interface leads nowhere in a browser.
        here = _url(listening).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        path = "" if page_wanted(args) else f"{INSPECTOR}/"
        threading.Thread(target=webbrowser.open, args=(f"{here}/{path}",), daemon=True).start()


def _banner(args: argparse.Namespace, listening: socket.socket) -> str:
    base, specs, workers = _url(listening), named_specs(args), args.workers
    lines = [
        f"yai-nexus-agentkit {__version__}" + (f", {workers} workers" if workers > 1 else ""),
        *(f"  POST {base}/{name or ''}  {spec}" for name, spec in specs.items()),
    ]
    if args.copilotkit:
        lines.append(f"  CopilotKit {base}{COPILOTKIT}")
    if args.openai:
        lines.append(f"  OpenAI {base}{MODELS}")
    if args.ai_sdk:
        lines += [f"  AI SDK {base}{AI_SDK}{f'/{name}' if name else ''}" for name in specs]
    if args.live:
        sockets = base.replace("http", "ws", 1)
        lines += [f"  live {sockets}{LIVE}{f'/{name}' if name else ''}" for name in specs]
    if page_wanted(args):
        lines.append(f"  page {base}/")
    if inspector_wanted(args):
        lines.append(f"  inspector {base}/{INSPECTOR}/")
    if args.page is None and not page_wanted(args):
        lines.append("  The chat page is not built; `make page` in the repository does it, with Node.")
    if args.expose_errors:
        lines.append("  Clients see the text of exceptions; --no-expose-errors hides it.")
    return "".join(map(Terminal().wrapped, lines))


def _log_to_terminal(*, tracebacks: bool) -> None:
    """Log requests, warnings and errors; with `tracebacks` also the package's debug records."""
    logging.basicConfig(format=f"%(asctime)s [%(process)d] {LOG_FORMAT}")
    logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    logging.getLogger("yai_nexus_agentkit").setLevel(logging.DEBUG if tracebacks else logging.INFO)
