"""Requests that once stopped a server: small ones with large effects, for the tests and for `make soak`."""

from __future__ import annotations

import json
from collections.abc import Callable

__all__ = ["ATTACKS", "HEAD", "PREFIX", "times"]

HEAD = "POST /PATH HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: SIZE\r\n\r\n"
PREFIX = '{"threadId": "t", "runId": "r"'


def times(number: int, unit: str) -> str:
    """The unit again and again; ``#`` in it is the number."""
    return ",".join(unit.replace("#", str(n)) for n in range(number))


def listed(number: int, unit: str) -> str:
    return "[" + times(number, unit) + "]"


def run(members: str) -> str:
    return PREFIX + ', "messages": [], ' + members + "}"


def messages(text: str) -> str:
    return PREFIX + ', "messages": ' + text + "}"


DOUBLING = [{"op": "copy", "from": "/notes/items", "path": "/notes/items/-"}] * 60
CALLS = '{"id": "#", "role": "assistant", "toolCalls": @}'
ATTACKS: dict[str, tuple[str, Callable[[], str], int]] = {
    "a copy that doubles": (
        "PATCH",
        lambda: json.dumps([{"op": "add", "path": "/notes/items", "value": [1]}, *DOUBLING]),
        409,
    ),
    "operations": ("PATCH", lambda: listed(6_000, '{"op": "add", "path": "/notes/k#", "value": 1}'), 422),
    "tests": ("PATCH", lambda: listed(1_000, '{"op": "test", "path": "/notes/k#", "value": 1}'), 409),
    "a key twice in a patch": ("PATCH", lambda: "{" + times(60_000, '"#": 1') + ', "7": 2}', 400),
    "a key twice": ("POST", lambda: run(times(60_000, '"#": 1') + ', "7": 2'), 400),
    "a long pointer": ("PATCH", lambda: json.dumps([{"op": "remove", "path": "/notes" * 500_000}]), 409),
    "a number that is no double": ("PATCH", lambda: '[{"op": "add", "path": "/notes/x", "value": 1e400}]', 400),
    "digits": ("POST", lambda: run('"state": ' + listed(800, "1" * 4_200)), 400),
    "empty messages": ("POST", lambda: messages(listed(60_000, "{}")), 422),
    "ten thousand empty messages": ("POST", lambda: messages(listed(10_000, "{}")), 422),
    "empty tools": ("POST", lambda: run('"tools": ' + listed(60_000, "{}")), 422),
    "empty context": ("POST", lambda: run('"context": ' + listed(60_000, "{}")), 422),
    "empty answers": ("POST", lambda: run('"resume": ' + listed(60_000, "{}")), 422),
    "empty parts": (
        "POST",
        lambda: messages('[{"id": "m", "role": "user", "content": ' + listed(60_000, "{}") + "}]"),
        422,
    ),
    "wrong calls": ("POST", lambda: messages(listed(60, CALLS.replace("@", listed(1_000, "{}")))), 422),
    "lists in the state": ("POST", lambda: run('"state": ' + listed(1_000_000, "[]")), 413),
    "half emojis": ("POST", lambda: run('"state": "' + r"\ud83d" * 600_000 + '"'), 200),
    "one long text": ("POST", lambda: run('"state": "' + "é," * 1_300_000 + '"'), 200),
    "a long thread id": ("POST", lambda: json.dumps({"threadId": "x" * 3_000_000, "runId": "r", "messages": []}), 422),
    "a long run id": ("POST", lambda: json.dumps({"threadId": "t", "runId": "x" * 257, "messages": []}), 422),
    "deep nesting": ("POST", lambda: "[" * 100_000, 400),
}
"""Method, body, and the status that answers it."""
