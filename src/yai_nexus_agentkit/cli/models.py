"""Edge. ``serve --openai``: agents as models, set up by environment variables, so that an image needs nothing else."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.failures import CommandError, warn

if TYPE_CHECKING:
    from yai_nexus_agentkit.server import Identity, OpenAISettings

__all__ = ["MODELS", "VARIABLES", "model_settings", "port_of", "server_settings"]

MODELS = "/v1"
"""The base path of the models."""
_PORT = 8000
_MB = 1024 * 1024
_REMOTE = "yai_nexus_agentkit.adapter.adk.remote"
"""The module of the agent that is elsewhere."""


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    default: float | str | None
    help: str


VARIABLES = (
    _Variable("PORT", 8080, "the port, unless --port is given"),
    _Variable("API_KEYS", None, "the keys that may call, separated by commas: KEY, or KEY=USER; unset: everybody may"),
    _Variable("ADK_APP_NAME", None, "the agent that answers requests without a model; none: the first one"),
    _Variable("MAX_FILE_SIZE_MB", 20, "the largest file of a request, in megabytes"),
    _Variable("DOWNLOAD_TIMEOUT", 30, "seconds for the files of a request to arrive"),
    _Variable("TIMEOUT", 120, "seconds without a sign of life from the agent; then its run ends"),
)
"""The environment variables of ``--openai``."""


def port_of(args: argparse.Namespace) -> int:
    """The port to listen on. Raises `CommandError`."""
    if args.port is not None:
        return int(args.port)
    if not args.openai:
        return _PORT
    port = _number("PORT")
    if not port.is_integer() or port > 65535:
        raise CommandError(f"PORT must be a port, not {os.environ['PORT']!r}")
    return int(port)


def model_settings(args: argparse.Namespace, identity: Identity) -> OpenAISettings | None:
    """The settings of the models, if they are served. `identity`: each key's owner gets its fields, except the user.
    Raises `CommandError`."""
    if not args.openai:
        return None
    from yai_nexus_agentkit.server import OpenAISettings
    from yai_nexus_agentkit.server.openai_keys import name_of

    if os.environ.get("ADK_HOST") and not any(_REMOTE in spec for spec in args.agents):
        warn(f"ADK_HOST is ignored: agents run in this process; {_REMOTE}:from_environment is the one there")
    return OpenAISettings(
        path=MODELS,
        keys={key: replace(identity, user=user or name_of(key)) for key, user in _keys().items()} or None,
        default_model=os.environ.get("ADK_APP_NAME") or None,
    )


def server_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Settings of the server that follow. Raises `CommandError`."""
    if not args.openai:
        return {}
    from yai_nexus_agentkit.server import Fetcher

    size = _number("MAX_FILE_SIZE_MB") * _MB
    one = ceil(size)
    fetcher = Fetcher(size=one, request_size=4 * one, memory=16 * one, timeout=_number("DOWNLOAD_TIMEOUT"))
    fetches = find_spec("httpx") is not None
    if not fetches:
        warn("files that requests name by URL are not fetched: pip install 'yai-nexus-agentkit[media]'")
    return {
        "max_body": ceil(one * 4 / 3) + 4 * _MB,  # as base64, and the rest of the request
        "idle_timeout": _number("TIMEOUT"),
        "media": "fetch" if fetches else "pass",
        "fetcher": fetcher,
    }


def _keys() -> dict[str, str]:
    """The names of users by their keys. Raises `CommandError`, which shows no key."""
    text = os.environ.get("API_KEYS", "")
    users: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        key, _, user = map(str.strip, entry.partition("="))
        if not key:
            raise CommandError("API_KEYS has a user without a key: each is KEY, or KEY=USER")
        if key in users:
            raise CommandError("API_KEYS has a key twice: a key belongs to one user")
        users[key] = user
    if text and not users:
        raise CommandError("API_KEYS has no key in it: unset it if anyone may call")
    return users


def _number(name: str) -> float:
    [variable] = [one for one in VARIABLES if one.name == name]
    text = os.environ.get(name) or str(variable.default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise CommandError(f"{name} must be a number above 0, not {text!r}")
    return value
