"""Edge. The process that runs under valgrind: replays recorded runs, and counts what each part of it executes.

    valgrind --tool=callgrind --instr-atstart=no python -m benchmarks.counted '{"module:function": {"case": size}}'

The functions make an adapter from the agent that replays.

Nothing is awaited for real in a replay, so the coroutines are driven by hand, without an event loop: what is left
repeats to the instruction, but for memory addresses. A case of several turns is not replayed: its runs go on at once,
in an event loop with a clock of its own, through the bare loop, the adapter and the endpoint.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, nullcontext
from importlib import import_module
from typing import Any, cast

from benchmarks import virtual_time
from benchmarks.contenders import BARE, Stream, endpoint_of
from benchmarks.registry import AgentCase, Graph, Scene, all_cases
from benchmarks.valgrind import counted
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.testing.recording import Make, Recording, record_natives

_WARM_UPS = 3
"""Replays before the count: CPython rewrites code that was executed a few times."""


def main() -> None:
    """Count, and print the number of native events (or of runs) of each case as JSON; the counts are in valgrind's
    files."""
    recordings: dict[str, Recording] = {}
    numbers: dict[str, int] = {}
    for adapter, cases in json.loads(sys.argv[1]).items():
        for name, size in cases.items():
            scene = cast(AgentCase, all_cases()[name]).scene(size)
            numbers[name] = len(scene.turns)
            if numbers[name] > 1:
                _count_runs(name, adapter, size)
                continue
            if name not in recordings:
                recordings[name] = _recorded(name, scene)
            _count(name, adapter, recordings[name])
            numbers[name] = recordings[name].natives
    json.dump(numbers, sys.stdout)


def _count_runs(name: str, adapter: str, size: int) -> None:
    make, case = _found(adapter), cast(AgentCase, all_cases()[name])

    def streamed(graph: Graph) -> Stream:
        made = make(graph)
        return lambda turn: made.stream_sse(turn.request)

    for label, open_ in {"base": BARE.open, "adapter": streamed, "endpoint": endpoint_of(make)}.items():
        for n in range(_WARM_UPS + 1):
            scene = case.scene(size)
            full = f"{name} {label}" if label == "base" else f"{name} {label} {adapter}"
            virtual_time.run(_at_once(scene, open_(scene.graph), full if n == _WARM_UPS else None))


async def _at_once(scene: Scene, stream: Stream, label: str | None) -> None:
    with counted(label) if label is not None else nullcontext():
        await asyncio.gather(*(_drained(stream(turn)) for turn in scene.turns))


def _recorded(name: str, scene: Scene) -> Recording:
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
