"""Edge. The command line. A subcommand is a module of this package with `configure(parser)` and `execute(args)`.

To add one, add the module and a line in `COMMANDS`. Only the module of the subcommand in use is imported.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.cli.arguments import read_environment
from yai_nexus_agentkit.cli.failures import PROGRAM, CommandError, report
from yai_nexus_agentkit.cli.terminal import discard_output

__all__ = ["COMMANDS", "Command", "main", "parse", "parser_of"]

COMMANDS: Mapping[str, str] = {
    "bench": "measure the adapter's CPU time on an agent, as a gate in CI",
    "chat": "talk to an agent in the terminal",
    "init": "make a new project: an agent with an application, tests and a page",
    "run": "run one turn of an agent in the terminal and show its AG-UI events live",
    "serve": "serve agents over HTTP, with a page to try them",
    "verify": "run one turn of an agent through the conformance checks",
}
"""Subcommands, which are also the names of their modules here, and their summaries."""

_WRONG = 2
"""Of wrong usage, as argparse has it."""
_INTERRUPTED = 130
_BROKEN_PIPE = 141
"""As a shell reports them for a program that SIGINT or SIGPIPE ended."""


class Command(Protocol):
    """The module of a subcommand."""

    configure: Callable[[argparse.ArgumentParser], None]
    """Adds the arguments and a description."""

    execute: Callable[[argparse.Namespace], int]
    """Does the work and returns the exit code. Raises `CommandError` for anything that the user can correct."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code; wrong usage raises ``SystemExit(2)``, as argparse does."""
    _fill_streams()
    command, args = parse(sys.argv[1:] if argv is None else argv)
    return _guarded(command.execute, args)


def _fill_streams() -> None:
    """A program that was started without a standard stream (``>&-``) reads nothing there, and writes to nobody."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def parse(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """The command that `argv` names, and its arguments. Raises ``SystemExit`` as argparse does."""
    given = list(argv)
    if not given or given[0] not in COMMANDS:
        overview = _overview()
        asked = (given or ["--help"])[0]
        for near in difflib.get_close_matches(asked.lower(), [*COMMANDS, "--help", "--version"], n=1):
            if near != asked:
                overview.error(f"there is no {asked!r}; did you mean {near!r}?")
        if not asked.startswith("-"):
            overview.error(f"there is no {asked!r}; the commands are {', '.join(sorted(COMMANDS))}")
        overview.parse_args(given or ["--help"])
    command, parser = parser_of(given[0])
    # Intermixed: options may stand between the agent and the message.
    return command, parser.parse_intermixed_args(given[1:])


def parser_of(name: str) -> tuple[Command, argparse.ArgumentParser]:
    """The command of this name, one of `COMMANDS`, and the parser of its arguments."""
    command = cast(Command, import_module(f"{__name__}.{name.replace('-', '_')}"))
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {name}", allow_abbrev=False)
    parser.add_argument("--traceback", action="store_true", help="show the full traceback of an error")
    command.configure(parser)
    return command, parser


def _overview() -> argparse.ArgumentParser:
    """The parser for everything that is not a command: help, the version, an unknown name."""
    margin = max(map(len, COMMANDS)) + 4
    columns = shutil.get_terminal_size().columns - 2
    listed = "\n".join(
        textwrap.fill(f"  {name}".ljust(margin) + summary, columns, subsequent_indent=" " * margin)
        for name, summary in COMMANDS.items()
    )
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=f"LangGraph agents as AG-UI event streams\n\ncommands:\n{listed}",
        epilog=textwrap.fill(f"`{PROGRAM} COMMAND --help` shows the arguments of a command.", columns),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND")
    return parser


def _guarded(execute: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run a command. However it ends, there is an exit code and at most one line."""
    try:
        read_environment(args)
        return execute(args)
    except CommandError as error:
        report(error, tracebacks=args.traceback)
        return _WRONG
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return _INTERRUPTED
    except BrokenPipeError:
        discard_output()  # the reader is gone, as in `... | head`
        return _BROKEN_PIPE
