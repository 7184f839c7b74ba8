"""Edge. Command line arguments that several subcommands take, and what they mean."""

from __future__ import annotations

import argparse
import base64
import json
import mimetypes
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from yai_nexus_agentkit.cli.failures import CommandError

if TYPE_CHECKING:
    from yai_nexus_agentkit import AdapterOptions

__all__ = [
    "OPTION_CHOICES",
    "OPTION_SECONDS",
    "OPTION_SWITCHES",
    "adapter_options",
    "add_adapter_options",
    "add_agent_arguments",
    "add_request_arguments",
    "configurable",
    "json_file",
    "pairs",
    "request",
]

OPTION_CHOICES: Mapping[str, Sequence[str]] = {
    "custom_events": ("emitter", "all"),
    "messages_snapshot": ("auto", "always", "never"),
    "reasoning": ("standard", "thinking", "off"),
    "chain_spans": ("named", "all", "off"),
    "interrupts": ("outcome", "custom", "both"),
    "subagents": ("auto", "always", "never"),
    "source": ("events", "callbacks"),
    "durability": ("sync", "async", "exit"),
}
"""The fields of `AdapterOptions` with a closed set of values, as flags."""

OPTION_SWITCHES = ("final_state_snapshot", "text_chunks", "predict_state_event", "raw_events")
OPTION_SECONDS = ("execution_timeout", "idle_timeout", "tool_timeout")


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    """What a factory, the graph's configuration and its runtime context get."""
    group = parser.add_argument_group("the agent")
    group.add_argument(
        "--configurable", action="append", default=[], metavar="KEY=VALUE", help="a key of config['configurable']"
    )
    group.add_argument("--context", action="append", default=[], metavar="KEY=VALUE", help="LangGraph's context")
    group.add_argument("--model", metavar="PROVIDER:NAME", help="short for --configurable model=PROVIDER:NAME")
    group.add_argument(
        "--checkpointer", metavar="WHERE", help="where the graph keeps its threads: memory, sqlite:PATH, postgres://..."
    )
    group.add_argument("--store", metavar="WHERE", help="the graph's long-term store: the same")


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    """What the request holds."""
    group = parser.add_argument_group("the request")
    group.add_argument("message", nargs="?", help="what the user says")
    group.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="a file that goes with the message"
    )
    group.add_argument("--state", metavar="FILE", help="the client's state, JSON; - reads standard input")
    group.add_argument("--tools", metavar="FILE", help="tools that the client offers, a JSON list")
    group.add_argument("--thread", metavar="ID", help="the thread; a new one without it")
    group.add_argument("--input", metavar="FILE", help="a whole RunAgentInput, JSON; the other arguments go over it")


def add_adapter_options(parser: argparse.ArgumentParser) -> None:
    """The settings of `AdapterOptions` that can be written on a command line."""
    group = parser.add_argument_group("the adapter (AdapterOptions)")
    for name, choices in OPTION_CHOICES.items():
        group.add_argument(_flag(name), choices=choices, dest=name)
    for name in OPTION_SWITCHES:
        group.add_argument(_flag(name), action=argparse.BooleanOptionalAction, dest=name)
    for name in OPTION_SECONDS:
        group.add_argument(_flag(name), type=float, metavar="SECONDS", dest=name)
    group.add_argument("--predict-state", action="append", metavar="KEY=TOOL.ARGUMENT", dest="predict_state")


def adapter_options(args: argparse.Namespace, own: AdapterOptions) -> AdapterOptions:
    """The adapter's own options with those of the command line over them."""
    given = {field.name: value for field in fields(own) if (value := getattr(args, field.name, None)) is not None}
    if "predict_state" in given:
        given["predict_state"] = dict(map(_prediction, given["predict_state"]))
    try:
        return replace(own, **given)
    except ValueError as error:
        raise CommandError(str(error)) from error


def configurable(args: argparse.Namespace) -> dict[str, Any]:
    """``config["configurable"]`` of the command line."""
    return pairs("--configurable", args.configurable) | ({"model": args.model} if args.model else {})


def pairs(flag: str, given: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE``, each value as JSON where it is JSON, else as text."""
    found: dict[str, Any] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandError(f"{flag} takes KEY=VALUE, not {pair!r}")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def request(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of the request that were given, wire names."""
    fields = json_file("--input", args.input, dict) if args.input else {}
    fields["messages"] = fields.get("messages") or []
    if not isinstance(fields["messages"], list) or not all(map(_is_message, fields["messages"])):
        raise CommandError("--input: messages must be a list of objects with an id and a role")
    if args.state:
        fields["state"] = json_file("--state", args.state, dict)
    if args.tools:
        fields["tools"] = json_file("--tools", args.tools, list)
    if args.thread:
        fields["threadId"] = args.thread
    if args.message is not None or args.attach:
        content: Any = args.message or ""
        if args.attach:
            text = [{"type": "text", "text": args.message}] if args.message else []
            content = [*text, *map(_part, args.attach)]
        said = {"id": str(uuid4()), "role": "user", "content": content}
        fields["messages"].append(said)
    return fields


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and {"id", "role"} <= value.keys()


def json_file(flag: str, name: str, expected: type[dict[Any, Any]] | type[list[Any]]) -> Any:
    """The JSON value in a file, or on standard input for ``-``. Raises `CommandError` unless it is of that type."""
    try:
        value = json.loads(sys.stdin.read() if name == "-" else Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"{flag}: {name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"{flag}: {name} is not JSON: {error}") from error
    if not isinstance(value, expected):
        kind = "object" if expected is dict else "list"
        raise CommandError(f"{flag}: {name} must hold a JSON {kind}")
    return value


def _part(name: str) -> dict[str, Any]:
    """A file as a part of a message (AG-UI 1.0 §3)."""
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"--attach: {name} cannot be read: {error.strerror}") from error
    mime_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    major = mime_type.partition("/")[0]
    source = {"type": "data", "value": base64.b64encode(data).decode(), "mimeType": mime_type}
    kind = major if major in ("image", "audio", "video") else "document"
    return {"type": kind, "source": source, "metadata": {"filename": os.path.basename(name)}}


def _prediction(text: str) -> tuple[str, tuple[str, str]]:
    key, _, path = text.partition("=")
    tool, _, argument = path.partition(".")
    if not (key and tool and argument):
        raise CommandError(f"--predict-state takes KEY=TOOL.ARGUMENT, not {text!r}")
    return key, (tool, argument)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
