"""Traces the files of the package that a run opens: per event on the wire, for a turn, before the first native event.

``python -m tests.support.trace_files`` prints the trace of one `create_agent` turn with one tool.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

import yai_nexus_agentkit
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, run_input, tool_call_parts

__all__ = ["Trace", "trace_turn"]

_ROOT = f"{Path(yai_nexus_agentkit.__file__).parent}/"


@dataclass(slots=True)
class Part:
    """The calls between two events on the wire."""

    event: str
    """Type of the event that ended it."""
    calls: list[str] = field(default_factory=list)
    """File of each call of a function of ours, in order; paths inside the package."""

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(self.calls))

    @property
    def changes(self) -> int:
        """How often a call went to another file than the call before."""
        return sum(one != other for one, other in zip(self.calls, self.calls[1:], strict=False))


@dataclass(slots=True)
class Trace:
    """One traced turn."""

    parts: list[Part]
    preparation: Part
    """Everything before the first native event, ``RUN_STARTED`` included."""

    @property
    def files(self) -> list[str]:
        return sorted({name for part in self.parts for name in part.calls})


@contextmanager
def _noted(note: Callable[[str, str], None]) -> Iterator[None]:
    def profile(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_ROOT) and "/testing/" not in code.co_filename:
            note(code.co_filename.removeprefix(_ROOT), code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def _agent() -> AGUIAdapter:
    script = [tool_call_parts("weather", {"city": "Oslo"}, "call_1"), ["It is ", "sunny."]]
    return AGUIAdapter(create_agent(ScriptedChatModel(script=script), [weather], checkpointer=InMemorySaver()))


async def _turn(adapter: AGUIAdapter, thread: str) -> Trace:
    parts, current, started = [], Part(""), False
    preparation = Part("first native event")

    def note(name: str, function: str) -> None:
        nonlocal started
        started = started or function == "feed"
        current.calls.append(name)
        if not started:
            preparation.calls.append(name)

    with _noted(note):
        async for frame in adapter.stream_sse(run_input("Weather in Oslo?", thread_id=thread)):
            current.event = frame.decode().partition('"type":"')[2].partition('"')[0]
            parts.append(current)
            current = Part("")
    return Trace(parts, preparation)


async def trace_turn() -> Trace:
    """The trace of one turn with one tool, in a process that is warm: an earlier turn imported whatever is lazy."""
    await _turn(_agent(), "warm")
    return await _turn(_agent(), "traced")


def _print(found: Trace) -> None:
    for part in [found.preparation, *found.parts]:
        print(f"{part.event:24} {len(part.files):3} files {part.changes:4} changes")
    print(f"{'whole turn':24} {len(found.files):3} files")
    print("preparation:", *found.preparation.files, sep="\n  ")
    print("later:", *sorted(set(found.files) - set(found.preparation.files)), sep="\n  ")


if __name__ == "__main__":
    _print(asyncio.run(trace_turn()))
