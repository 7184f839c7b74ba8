"""Driver. The gate: measures what `budgets.toml` names, and says what left its budget.

Counts come first, while valgrind counts instructions in a process of its own; then times, when that is done.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from shutil import which
from types import FrameType
from typing import Any, Literal, TypeAlias, cast

from benchmarks import sockets
from benchmarks.budgets import COUNTED, Budgets, Finding
from benchmarks.contenders import BARE, Contender, Stream, ai_sdk, endpoint_of, socket_of
from benchmarks.registry import AgentCase, Graph, Scene, all_cases
from benchmarks.timing import Figures, measure
from benchmarks.valgrind import counts
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import OverBudget, measure_overhead
from yai_nexus_agentkit.testing.recording import Make

__all__ = ["SECTIONS", "Gate", "instructions"]

SECTIONS = ("counts", "ratios", "wires", "overhead", "sockets", "instructions")

_ATTEMPTS = 3
_REPEATS = 4
_ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class _Item:
    """A case as a section of the budgets wants it measured."""

    name: str
    case: AgentCase
    size: int
    source: Literal["events", "callbacks"] | None
    """How the graph is observed; None: as the adapter does."""

    def scene(self) -> Scene:
        return self.case.scene(self.size)

    def observed(self, make: Make) -> Make:
        """The adapter with this item's source."""
        if self.source is None:
            return make
        source = self.source

        def other(agent: Any) -> AGUIAdapter:
            made = make(agent)
            return AGUIAdapter(made.source, options=replace(made.options, source=source), hooks=made.hooks)

        return other


@dataclass(slots=True)
class Gate:
    """One check of the adapter that `adapter` names (``module:function``, from an agent to an `AGUIAdapter`)."""

    budgets: Budgets = field(default_factory=Budgets.load)
    adapter: str = "yai_nexus_agentkit:AGUIAdapter"
    cases: frozenset[str] | None = None
    """Only these; None: all that have budgets."""

    def check(self, sections: Iterable[str] = SECTIONS) -> Iterator[Finding]:
        """Every figure beside its budget, as soon as it is known. Instructions only on the machine they are for."""
        wanted = set(sections)
        if platform.machine() != self.budgets.machine or not any(self._of("instructions")):
            wanted.discard("instructions")
        make = cast(Make, _found(self.adapter))
        with ExitStack() as stack:
            counting = stack.enter_context(self._counting()) if "instructions" in wanted else None
            if "counts" in wanted:
                for item in self._of("counts"):
                    yield from self.budgets.counts(item.name, asyncio.run(_counts(item.scene(), item.scene(), make)))
            if counting is not None:
                for name, found in counting()[self.adapter].items():
                    yield from self.budgets.instructions(name, found)
            judges = {"ratios": self._ratio, "wires": self._wire, "overhead": self._overhead}
            for section in [name for name in judges if name in wanted]:
                for item in self._of(section):
                    yield judges[section](item, make)
            if "sockets" in wanted and self.cases is None:
                figures = asyncio.run(sockets.figures(self.budgets.cases("sockets")))
                yield from [self.budgets.socket(what, figure) for what, figure in figures.items()]

    def _of(self, section: str) -> Iterator[_Item]:
        known = all_cases()
        for name, budget in self.budgets.cases(section).items():
            case = cast(AgentCase, known[budget.get("case", name)])
            if self.cases is None or case.name in self.cases:
                yield _Item(name, case, budget["size"], budget.get("source"))

    def _ratio(self, item: _Item, make: Make) -> Finding:
        adapter = Contender("adapter", _streams(item.observed(make)))
        return _judged(item, [adapter], lambda bare, ours: self.budgets.ratio(item.name, ours / bare))

    def _wire(self, item: _Item, make: Make) -> Finding:
        made = item.observed(make)
        wires = [Contender("sse", _streams(made)), Contender("ai sdk", ai_sdk(made))]
        if self.budgets.cases("wires")[item.name].get("over") == "socket":
            wires = [Contender("endpoint", endpoint_of(made)), Contender("socket", socket_of(made))]
        return _judged(item, wires, lambda bare, sse, other: self.budgets.wire(item.name, other / sse))

    def _overhead(self, item: _Item, make: Make) -> Finding:
        scene = item.scene()
        budget = self.budgets.cases("overhead")[item.name]["max_us"]
        try:
            overhead = asyncio.run(
                measure_overhead(make(scene.graph), scene.turns[0].request, repeats=5, max_overhead_us=budget)
            )
        except OverBudget as error:
            overhead = error.overhead
        return self.budgets.overhead(item.name, overhead.overhead_us)

    def _counting(self) -> AbstractContextManager[Counting]:
        return instructions({self.adapter: {item.name: item.size for item in self._of("instructions")}})


def _judged(item: _Item, contenders: Sequence[Contender], judge: Callable[..., Finding]) -> Finding:
    """What `judge` says of the least times, the bare loop's first; if it finds a fault, of the medians: a sample may be
    less than the code costs, where a machine was faster for a moment. Both are measured again while both have one."""
    seen = [Figures(name) for name in ("bare", *(one.name for one in contenders))]
    for _ in range(_ATTEMPTS):
        result = measure(item.case, contenders, repeats=_REPEATS, size=item.size, memory=False)
        for known, figures in zip(seen, result.figures, strict=True):
            known.samples += figures.samples
        finding = judge(*(figures.least for figures in seen))
        if not finding.ok and (middle := judge(*(figures.median for figures in seen))).ok:
            finding = middle
        if finding.ok:
            break
    return finding


# ---------------------------------------------------------------- counts


async def _counts(scene: Scene, bare: Scene, make: Make) -> dict[str, int]:
    stream, turn = _streams(make)(scene.graph), scene.turns[0]
    with _tasks() as created, _calls("jsonpatch", "from_diff") as diffs:
        frames = [frame async for frame in stream(turn)]
    with _tasks() as usual:
        async for _ in BARE.open(bare.graph)(bare.turns[0]):
            pass
    body = _ID.sub(b"0" * 36, b"".join(frames))
    return {
        "events": body.count(b"\n\n"),
        "bytes": len(body),
        "tasks": len(created) - len(usual),
        "jsonpatch": len(diffs),
    }


def _streams(make: Make) -> Callable[[Graph], Stream]:
    def open_(graph: Graph) -> Stream:
        adapter: AGUIAdapter = make(graph)
        return lambda turn: adapter.stream_sse(turn.request)

    return open_


@contextmanager
def _tasks() -> Iterator[list[object]]:
    """The asyncio tasks that are created meanwhile."""
    loop, created = asyncio.get_running_loop(), list[object]()

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **given)
        created.append(task)
        return task

    loop.set_task_factory(make)
    try:
        yield created
    finally:
        loop.set_task_factory(None)


@contextmanager
def _calls(module: str, function: str) -> Iterator[list[str]]:
    """The calls of a function that are made meanwhile, in this thread."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == function and frame.f_globals.get("__name__") == module:
            calls.append(function)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


# ---------------------------------------------------------------- instructions


Counting: TypeAlias = Callable[[], dict[str, dict[str, dict[str, float]]]]
"""Waits for the figures: by adapter and case, instructions per native event of the translator and of the whole adapter,
the replay alone taken off; of several runs at once those per run of adapter and endpoint, without the bare loop's."""


@contextmanager
def instructions(sizes: Mapping[str, Mapping[str, int]]) -> Iterator[Counting]:
    """Start counting: the sizes of the cases by adapter. Recorded runs are replayed in one process, which records each
    case once. Several runs at once get a process of their own, since their memory is not the same after other cases:
    that makes a twentieth of what they execute beyond the bare loop.

    Raises RuntimeError if valgrind is not installed; the result raises it if the counting failed.
    """
    if which("valgrind") is None:
        raise RuntimeError("instruction counts need valgrind: install it with the system's package manager")
    names = {name: size for cases in sizes.values() for name, size in cases.items()}
    several = [name for name, size in names.items() if len(cast(AgentCase, all_cases()[name]).scene(size).turns) > 1]
    groups = [[name for name in names if name not in several], *([name] for name in several)]
    wanted = [
        {adapter: {name: cases[name] for name in group if name in cases} for adapter, cases in sizes.items()}
        for group in groups
        if group
    ]
    with tempfile.TemporaryDirectory() as folder, _counting(folder, wanted[0]) as first:

        def finish() -> dict[str, dict[str, dict[str, float]]]:
            natives = _numbers(first)
            for more in wanted[1:]:
                with _counting(folder, more) as process:
                    natives |= _numbers(process)
            found = counts(Path(folder))
            return {adapter: _per_event(adapter, cases, natives, found) for adapter, cases in sizes.items()}

        yield finish


@contextmanager
def _counting(folder: str, sizes: Mapping[str, Mapping[str, int]]) -> Iterator[subprocess.Popen[str]]:
    out = f"--callgrind-out-file={folder}/%p"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", out, sys.executable, "-m", "benchmarks.counted"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with subprocess.Popen(
        [*command, json.dumps(sizes)],
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _numbers(process: subprocess.Popen[str]) -> dict[str, int]:
    """What the process prints, when it has counted."""
    out, problems = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"counting instructions failed:\n{problems[-2_000:]}")
    return cast("dict[str, int]", json.loads(out))


def _per_event(
    adapter: str, cases: Iterable[str], natives: Mapping[str, int], found: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    return {
        case: {
            part: (found[label] - found[f"{case} base"]) / natives[case]
            for part in COUNTED
            if (label := f"{case} {part} {adapter}") in found
        }
        for case in cases
    }


def _found(spec: str) -> Any:
    module, _, name = spec.partition(":")
    return getattr(import_module(module), name)
