"""Tools return all kinds of Python values; LangChain turns them into text for the model."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime

from langchain_core.tools import tool
from pydantic import BaseModel

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import plain, results, snapshot

TITLE = "whatever type a tool returns, its result arrives once, as text equal to what the conversation keeps"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/1072"


class Place(BaseModel):
    name: str
    at: datetime


@dataclasses.dataclass
class Box:
    w: int


VALUES = {
    "a_dict": {"k": [1, None, "é"]},
    "a_list": ["x", 2, {"y": 3}],
    "strings": ["one", "two"],
    "number": 3.5,
    "truth": True,
    "nothing": None,
    "empty": "",
    "raw": b"\x00\xff",
    "model": Place(name="Rome", at=datetime(2026, 1, 2)),
    "box": Box(4),
    "a_tuple": (1, 2),
    "a_set": {7},
}


def make(name, value):
    async def f():
        return value

    f.__name__ = name
    f.__doc__ = name
    return tool(f)


def build():
    return tool_graph(
        streaming(ids="all", script=[stream_calls(*[(n, {}, "c_" + n) for n in VALUES]), ["done"]]),
        [make(n, v) for n, v in VALUES.items()],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + streamed_ids(ev, "done")
    kept = {m["toolCallId"]: plain(m["content"]) for m in snapshot(ev) or [] if m["role"] == "tool"}
    for n in VALUES:
        p += called(
            ev, "c_" + n, n, {}, lambda r, n=n: r == kept.get("c_" + n) or n == "strings"
        )  # a list of texts may be shown joined or as JSON
    got = dict(results(ev))
    for n, want in (
        ("a_dict", VALUES["a_dict"]),
        ("a_list", VALUES["a_list"]),
        ("number", 3.5),
        ("truth", True),
        ("nothing", None),
    ):
        try:
            same = json.loads(got.get("c_" + n, "?")) == want
        except ValueError:
            same = False
        if not same:
            p.append(f"{n} came as {got.get('c_' + n)!r}")
    if "one" not in got.get("c_strings", "") or "two" not in got.get("c_strings", ""):
        p.append(f"strings came as {got.get('c_strings')!r}")
    if "Rome" not in got.get("c_model", ""):
        p.append(f"model came as {got.get('c_model')!r}")
    return p
