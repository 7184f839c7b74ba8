"""Edge. The process that runs under valgrind: replays recorded runs, and counts what each part of it executes.

    valgrind --tool=callgrind --instr-atstart=no python -m benchmarks.counted CASE=SIZE... [--adapter MODULE:FUNCTION]

Nothing is awaited for real in a replay, so the coroutines are driven by hand, without an event loop: what is left
repeats to the instruction, but for memory addresses.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from importlib import import_module
from typing import Any, cast

from benchmarks.registry import AgentCase, all_cases
from benchmarks.valgrind import counted
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.testing.recording import Make, Recording, record_natives

_WARM_UPS = 3
"""Replays before the count: CPython rewrites code that was executed a few times."""


def main() -> None:
    """Count, and print the number of native events of each case as JSON; the counts are in valgrind's files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--adapter", metavar="MODULE:FUNCTION", help="makes the adapter from the agent that replays")
    given = parser.parse_args()
    make = _found(given.adapter) if given.adapter else None
    natives: dict[str, int] = {}
    for name, _, size in (text.partition("=") for text in given.cases):
        case = cast(AgentCase, all_cases()[name])
        scene = case.scene(int(size))
        recording = asyncio.run(record_natives(scene.graph, scene.turns[0].request))
        natives[name] = recording.natives
        _count(name, recording, make)
    json.dump(natives, sys.stdout)


def _count(name: str, recording: Recording, make: Make | None) -> None:
    _counted(f"{name} base", lambda: _drained(recording.bare()))
    _counted(f"{name} translator", *_translator(recording, make))
    _counted(f"{name} adapter", lambda: _drained(recording.frames(make)))


def _counted(
    label: str, run: Callable[..., Coroutine[Any, Any, Any]], prepare: Callable[[], Any] = lambda: None
) -> None:
    for n in range(_WARM_UPS + 1):
        prepared = prepare()
        coroutine = run() if prepared is None else run(prepared)
        if n < _WARM_UPS:
            _driven(coroutine)
        else:
            with counted(label):
                _driven(coroutine)


def _translator(
    recording: Recording, make: Make | None
) -> tuple[Callable[..., Coroutine[Any, Any, Any]], Callable[[], Any]]:
    """The translator alone: fed with the native events, its output dropped; made before the count."""
    adapter = (make or recording.make)(recording.agent)

    def prepare() -> Any:
        run = RunContext(
            recording.run_input, declared=True, options=adapter.options, hooks=adapter.hooks, config=recording.config
        )
        return _driven(adapter.source.prepare(run))

    async def feed(prepared: Any) -> None:
        translator = prepared.translator
        translator.start()
        async with aclosing(prepared.events()) as natives:
            async for native in natives:
                translator.feed(native)
        translator.finish()

    return feed, prepare


async def _drained(stream: AsyncGenerator[Any, None]) -> None:
    async with aclosing(stream) as items:
        async for _ in items:
            pass


def _driven(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a replay waits for something: it cannot be counted")


def _found(spec: str) -> Make:
    module, _, name = spec.partition(":")
    return cast(Make, getattr(import_module(module), name))


if __name__ == "__main__":
    main()
