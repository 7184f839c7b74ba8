"""Edge. Command line arguments that several subcommands take, and their values."""

from __future__ import annotations

import argparse
import base64
import math
import mimetypes
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from yai_nexus_agentkit.cli.failures import CommandError
from yai_nexus_agentkit.protocol.json.reader import read_json

if TYPE_CHECKING:
    from yai_nexus_agentkit import AdapterOptions

__all__ = [
    "AGENT",
    "OPTIONS",
    "adapter_options",
    "add_agent_arguments",
    "add_turn_arguments",
    "positive",
    "read_environment",
    "request",
    "run_arguments",
]

_DEPTH = 200
"""Levels of nested JSON, as many as a server can allow."""
AGENT = "module:attribute or path/to/file.py:attribute"

_SWITCH: Mapping[str, Any] = {"action": argparse.BooleanOptionalAction}
_SECONDS: Mapping[str, Any] = {"type": float, "metavar": "SECONDS"}
OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "custom_events": ({"choices": ("emitter", "all")}, "which custom events clients get"),
    "messages_snapshot": ({"choices": ("auto", "always", "never")}, "when a run ends with MESSAGES_SNAPSHOT"),
    "marked_messages": ({"choices": ("developer", "user")}, "the role of what middleware writes as the user"),
    "functional_input": ({"choices": ("declared", "messages", "mapping")}, "the argument of a functional graph"),
    "hold": ({"choices": ("declared", "answer", "never")}, "when answers wait for the middleware behind the model"),
    "reasoning": ({"choices": ("standard", "thinking", "off")}, "reasoning as REASONING_*, as THINKING_*, or not"),
    "chain_spans": ({"choices": ("named", "all", "off")}, "which chains are shown as titled reasoning"),
    "interrupts": ({"choices": ("outcome", "custom", "both")}, "questions as outcome, as CUSTOM event, or both"),
    "subagents": ({"choices": ("auto", "always", "never")}, "when SUBAGENT_* events are sent"),
    "source": ({"choices": ("events", "callbacks")}, "observe the graph by astream_events or by callbacks"),
    "durability": ({"choices": ("sync", "async", "exit")}, "when LangGraph writes checkpoints"),
    "final_state_snapshot": (_SWITCH, "send STATE_SNAPSHOT at the end of each run"),
    "text_chunks": (_SWITCH, "send TEXT_MESSAGE_CHUNK and TOOL_CALL_CHUNK"),
    "predict_state_event": (_SWITCH, "also send CopilotKit's PredictState event"),
    "raw_events": (_SWITCH, "attach the native events, for debugging"),
    "execution_timeout": (_SECONDS, "longest time of a run"),
    "idle_timeout": (_SECONDS, "longest time without a native event"),
    "tool_timeout": (_SECONDS, "longest time of one tool"),
    "predict_state": (
        {"action": "append", "metavar": "KEY=TOOL.ARGUMENT"},
        "fill a state key from a tool's argument while the model writes it",
    ),
}
"""The fields of `AdapterOptions` that are flags: how argparse reads them, and their help."""


def add_turn_arguments(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """The agent, the request of one turn, and the arguments of `add_agent_arguments`. `needed`: there must be an
    agent."""
    parser.usage = "%(prog)s AGENT [message] [options]"
    parser.add_argument("agent", metavar="AGENT", nargs=None if needed else "?", help=AGENT)
    group = parser.add_argument_group("the request")
    group.add_argument("message", nargs="?", help="the user's message")
    group.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="a file that is sent with the message"
    )
    group.add_argument("--state", metavar="FILE", help="the client's state, JSON; - reads standard input")
    group.add_argument("--tools", metavar="FILE", help="tools that the client offers, a JSON list")
    group.add_argument("--thread", metavar="ID", help="the thread (default: a new one)")
    group.add_argument("--input", metavar="FILE", help="a whole RunAgentInput, JSON; other arguments override it")
    add_agent_arguments(parser)


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    """The configuration of the agent, and the options of its adapter."""
    group = parser.add_argument_group("the agent")
    group.add_argument(
        "--configurable", action="append", default=[], metavar="KEY=VALUE", help="a key of config['configurable']"
    )
    group.add_argument(
        "--context", action="append", default=[], metavar="KEY=VALUE", help="a key of LangGraph's runtime context"
    )
    group.add_argument(
        "--env-file", metavar="FILE", help="environment variables, KEY=VALUE lines; those that are set already stay"
    )
    group.add_argument("--model", metavar="PROVIDER:NAME", help="short for --configurable model=PROVIDER:NAME")
    group.add_argument(
        "--checkpointer",
        metavar="WHERE",
        help="where the graph stores its threads: memory, sqlite:PATH, postgres://...",
    )
    group.add_argument("--store", metavar="WHERE", help="where the graph's long-term store is, in the same forms")
    group = parser.add_argument_group("the adapter (AdapterOptions)")
    for name, (kind, text) in OPTIONS.items():
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, help=text, **kind)


def adapter_options(args: argparse.Namespace, own: AdapterOptions) -> AdapterOptions:
    """The adapter's own options, overridden by those of the command line. Raises `CommandError`."""
    given = {field.name: value for field in fields(own) if (value := getattr(args, field.name, None)) is not None}
    if "predict_state" in given:
        given["predict_state"] = dict(map(_prediction, given["predict_state"]))
    try:
        return replace(own, **given)
    except ValueError as error:
        raise CommandError(str(error)) from error


def positive(text: str) -> int:
    """A whole number above 0, as a type for argparse."""
    with suppress(ValueError):
        if (number := int(text)) > 0:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def amount(text: str) -> float:
    """A number above 0, as a type for argparse. No NaN, which every comparison with a limit would pass."""
    with suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def read_environment(args: argparse.Namespace) -> None:
    """Set the environment variables of ``--env-file`` that are not set. Raises `CommandError`."""
    if not getattr(args, "env_file", None):
        return
    try:
        from starlette.config import Config
    except ImportError as error:
        raise CommandError("--env-file needs an extra: pip install 'yai-nexus-agentkit[server]'") from error
    try:
        _read("--env-file", args.env_file).decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"--env-file: {args.env_file} is not UTF-8 text") from error
    for name, value in Config(args.env_file).file_values.items():
        os.environ.setdefault(name.removeprefix("export ").strip(), value)


def run_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a run: `config`, which factories get too, and `context`, LangGraph's, which may be None."""
    model = {"model": args.model} if args.model else {}
    config = {"configurable": _pairs("--configurable", args.configurable) | model}
    return {"config": config, "context": _pairs("--context", args.context) or None}


def _pairs(flag: str, given: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE``; each value as JSON if it is JSON, else as text."""
    found: dict[str, Any] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandError(f"{flag} takes KEY=VALUE, not {pair!r}")
        try:
            found[key] = read_json(value, max_depth=_DEPTH)
        except ValueError:
            found[key] = value
    return found


def request(args: argparse.Namespace, *, default: str | None = None) -> dict[str, Any]:
    """The fields of the request that were given, by their wire names. `default`: the message if there is no other.

    Raises `CommandError`.
    """
    if args.message is None and not args.input and not args.attach:
        args.message = default
    fields = _json_file("--input", args.input, dict) if args.input else {}
    fields["messages"] = fields.get("messages") or []
    if not isinstance(fields["messages"], list) or not all(map(_is_message, fields["messages"])):
        raise CommandError("--input: messages must be a list of objects with an id and a role")
    if args.state:
        fields["state"] = _json_file("--state", args.state, dict)
    if args.tools:
        fields["tools"] = _json_file("--tools", args.tools, list)
    if args.thread:
        fields["threadId"] = args.thread
    if args.message is not None or args.attach:
        content: Any = args.message or ""
        if args.attach:
            text = [{"type": "text", "text": args.message}] if args.message else []
            content = [*text, *map(_part, args.attach)]
        fields["messages"].append({"id": str(uuid4()), "role": "user", "content": content})
    return fields


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and {"id", "role"} <= value.keys()


def _json_file(flag: str, name: str, expected: type[dict[Any, Any]] | type[list[Any]]) -> Any:
    """The JSON value in a file, or on standard input for ``-``. Raises `CommandError` unless it is of that type."""
    text = sys.stdin.read() if name == "-" else _read(flag, name)
    try:
        value = read_json(text, max_depth=_DEPTH)
    except ValueError as error:
        raise CommandError(f"{flag}: {name} {error}") from error
    if not isinstance(value, expected):
        raise CommandError(f"{flag}: {name} must hold a JSON {'object' if expected is dict else 'list'}")
    return value


def _read(flag: str, name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{flag}: {name} cannot be read: {error.strerror}") from error


def _part(name: str) -> dict[str, Any]:
    """A file as a part of a message (AG-UI 1.0 §3)."""
    mime_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    major = mime_type.partition("/")[0]
    value = base64.b64encode(_read("--attach", name)).decode()
    return {
        "type": major if major in ("image", "audio", "video") else "document",
        "source": {"type": "data", "value": value, "mimeType": mime_type},
        "metadata": {"filename": os.path.basename(name)},
    }


def _prediction(text: str) -> tuple[str, tuple[str, str]]:
    key, _, path = text.partition("=")
    tool, _, argument = path.partition(".")
    if not (key and tool and argument):
        raise CommandError(f"--predict-state takes KEY=TOOL.ARGUMENT, not {text!r}")
    return key, (tool, argument)
