"""Small real graphs, most of them after a public bug report against an adapter of this kind, each with what a user must
see. Both sources; each stream also goes through all layers of conformance.

A case defines ``TITLE``, ``SOURCE``, ``build()`` (a fresh graph), ``turns()`` (requests as JSON, or a callable that
makes one from the earlier runs) or ``drive(start)``, and ``check(runs)`` (problems as text; events as on the wire).
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

from tests.conftest import Judge
from tests.scenarios.kit import Request
from tests.scenarios.reading import Events, view
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import run_input, wire

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))

FAULTS = {}
"""Situations that fail, and what each lacks. Whoever mends one removes its line."""


def _param(path: Path) -> Any:
    fault = FAULTS.get(path.stem)
    marks = [pytest.mark.xfail(strict=True, reason=fault)] if fault else []
    return pytest.param(path, id=path.stem, marks=marks)


def load(path: Path) -> ModuleType:
    """The case as a fresh module: some note at module level what their models were asked."""
    spec = importlib.util.spec_from_file_location(f"tests.scenarios.cases.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # type hints of states are looked up there
    spec.loader.exec_module(module)
    return module


def settled(events: Events, request: Request) -> Events:
    """The run as ``check`` sees it: where no MESSAGES_SNAPSHOT was sent because the client is in sync, the list the
    client holds stands in for it. Never before an interrupt, where a snapshot is a duty."""
    if not events or any(event["type"] == "MESSAGES_SNAPSHOT" for event in events):
        return events
    if (events[-1].get("outcome") or {}).get("type") == "interrupt":
        return events
    held = {"type": "MESSAGES_SNAPSHOT", "messages": view(events, request["messages"])}
    return [*events[:-1], held, events[-1]]


def starter(case: ModuleType, source: Literal["events", "callbacks"]) -> Callable[[Request], AsyncIterator[Any]]:
    adapter = AGUIAdapter(case.build(), options=AdapterOptions(**{**getattr(case, "OPTIONS", {}), "source": source}))

    async def start(request: Request) -> AsyncIterator[Any]:
        fields = {key: value for key, value in request.items() if key != "messages"}
        async with aclosing(adapter.run(run_input(request["messages"], **fields))) as events:
            async for event in events:
                yield wire(event)

    return start


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("path", [_param(path) for path in CASES])
async def test_scenario(judge: Judge, path: Path, source: Literal["events", "callbacks"]) -> None:
    case = load(path)
    start = starter(case, source)
    if hasattr(case, "drive"):
        assert case.check(await asyncio.wait_for(case.drive(start), 30)) == []
        return
    runs: list[Events] = []
    requests: list[Request] = []
    for given in case.turns():
        seen = [settled(*pair) for pair in zip(runs, requests, strict=True)]
        requests.append(given(seen) if callable(given) else given)
        runs.append([event async for event in start(requests[-1])])
    assert case.check([settled(*pair) for pair in zip(runs, requests, strict=True)]) == []
    judge(
        [{"events": events, "input": {"state": {}, **request}} for events, request in zip(runs, requests, strict=True)],
        clients=["1.0.0"],
        ignore=getattr(case, "IGNORE", ()),
    )
