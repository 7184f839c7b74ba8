"""Edge. The process that runs under valgrind: replays recorded runs, and counts what each part of it executes.

    valgrind --tool=callgrind --instr-atstart=no python -m benchmarks.counted '{"module:function": {"case": size}}'

The functions make an adapter from the agent that replays.

Nothing is awaited for real in a replay, so the coroutines are driven by hand, without an event loop: what is left
repeats to the instruction, but for memory addresses.
"""

from __future__ import annotations

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
    recordings: dict[str, Recording] = {}
    for adapter, cases in json.loads(sys.argv[1]).items():
        for name, size in cases.items():
            if name not in recordings:
                recordings[name] = _recorded(name, size)
            _count(name, adapter, recordings[name])
    json.dump({name: recording.natives for name, recording in recordings.items()}, sys.stdout)


def _recorded(name: str, size: int) -> Recording:
    scene = cast(AgentCase, all_cases()[name]).scene(size)
    recording = asyncio.run(record_natives(scene.graph, scene.turns[0].request))
    _counted(f"{name} base", lambda: _drained(recording.bare()))
    return recording


def _count(name: str, adapter: str, recording: Recording) -> None:
    make = _found(adapter)
    _counted(f"{name} translator {adapter}", *_translator(recording, make))
    _counted(f"{name} adapter {adapter}", lambda: _drained(recording.frames(make)))


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


def _translator(recording: Recording, make: Make) -> tuple[Callable[..., Coroutine[Any, Any, Any]], Callable[[], Any]]:
    """The translator alone: fed with the native events, its output dropped; made before the count."""
    adapter = make(recording.agent)

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
