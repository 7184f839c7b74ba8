"""The grammar of `testing.grammar` alone, without ag-ui-validate: it finds what the others refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from random import Random
from typing import Any

import pytest

from tests.support.verifier import Verifier
from tests.unit.test_lifecycle_conformance import CHOICES, OTHERS, REQUEST, SPEECH, Played, play
from yai_nexus_agentkit.testing import conformance_problems, wire
from yai_nexus_agentkit.testing.grammar import Grammar

FIXTURES = files("ag_ui_validate") / "spec" / "fixtures"
STRUCTURAL = ["AGUI00", "AGUI10", "AGUI201", "AGUI202", "AGUI203", "AGUI205", "AGUI207", "AGUI401", "AGUI60"]
NO_ERRORS = ["AGUI005", "AGUI008", "AGUI105", "AGUI605", "AGUI606"]
"""Warnings; and the first, a late RUN_ERROR, which AG-UI 1.0 admits."""


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the ``verify`` extra."""
    monkeypatch.setitem(sys.modules, "ag_ui_validate", None)


def fixtures(folder: str, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    for entry in (FIXTURES / folder).iterdir():
        stream = entry / "stream.jsonl" if name else entry
        if stream.name.endswith(".jsonl") and stream.is_file() and "not-json" not in entry.name:
            yield entry.name, [json.loads(line) for line in stream.read_text("utf-8").splitlines() if line.strip()]


@pytest.mark.usefixtures("alone")
def test_a_text_that_is_left_open_is_found_without_the_extra() -> None:
    run = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    assert conformance_problems([run]) == ["run 0 event 2: [text] message 'm' is still open"]


@pytest.mark.usefixtures("alone")
def test_every_structural_fault_of_the_validators_catalog_is_found() -> None:
    found = {}
    for name, events in fixtures("invalid", "stream.jsonl"):
        if name.startswith(tuple(STRUCTURAL)) and not name.startswith(tuple(NO_ERRORS)):
            found[name] = conformance_problems([events], ignore=["version", "model"])
    assert len(found) > 15
    assert [name for name, problems in found.items() if not problems] == []


@pytest.mark.usefixtures("alone")
def test_what_the_validator_calls_valid_is_valid() -> None:
    for _, events in fixtures("valid"):
        assert conformance_problems([events], ignore=["version"]) == []


def test_one_fault_is_reported_once() -> None:
    for name, events in fixtures("invalid", "stream.jsonl"):
        if name.startswith(("AGUI101", "AGUI102", "AGUI201", "AGUI602")):
            assert len(conformance_problems([events], ignore=["version", "model"])) == 1, name


JUNK: list[Any] = [None, 5, True, [], {}, [1], {"a": 1}, "x", [{}], {"id": 5}, [{"id": []}], {"messages": 5}]


def test_whatever_a_field_holds_is_a_problem_and_no_exception() -> None:
    random = Random(1)
    for _ in range(300):
        events = [wire(event) for event in sound(random).events]
        damaged = random.choice(events)
        damaged[random.choice(list(damaged))] = random.choice(JUNK)
        assert isinstance(conformance_problems([{"events": events, "input": REQUEST}]), list)


# ---------------------------------------------------------------- against the client


def damaged(events: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """One event lost, doubled, moved, or made another entity's."""
    events = list(events)
    at = random.randrange(len(events))
    match random.randrange(4):
        case 0:
            del events[at]
        case 1:
            events.insert(random.randrange(len(events)), events[at])
        case 2:
            events.insert(random.randrange(len(events)), events.pop(at))
        case _:
            name = next((key for key in ("messageId", "toolCallId", "stepName") if key in events[at]), "none")
            others = [event[name] for event in events if name in event]
            if others:
                events[at] = {**events[at], name: random.choice(others)}
    return events


def sound(random: Random) -> Played:
    tables = [*SPEECH, *SPEECH, *OTHERS]
    facts = [random.choice(random.choice(tables)) for _ in range(random.randint(5, 40))]
    options = {**{name: random.choice(values) for name, values in CHOICES.items()}, "reasoning": "standard"}
    return play(options, [*facts, ("finish", (), {})])


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("seed", range(4))
def test_what_the_client_refuses_is_found(verifier: Verifier, seed: int) -> None:
    """Sound streams with one damage: each that the official client refuses has a problem, and the undamaged have none.
    Whether owners and chunks agree is the client's own matter."""
    random = Random(seed)
    runs = []
    for _ in range(150):
        whole = [wire(event) for event in sound(random).events]
        assert conformance_problems([{"events": whole, "input": REQUEST}]) == []
        runs.append({"events": damaged(whole, random), "input": REQUEST})
    views = verifier.replay(runs, "1.0.0", chain=False)
    refused = [(run, view.get("error")) for run, view in zip(runs, views, strict=True) if not view["accepted"]]
    assert len(refused) > 30
    missed = [error for run, error in refused if not conformance_problems([run])]
    assert [error for error in missed if "does not match" not in str(error)] == []


@pytest.mark.parametrize("seed", range(4))
def test_the_grammar_refuses_nothing_that_the_client_takes(verifier: Verifier, seed: int) -> None:
    """But for a message or call that begins again after its end, where the client appends."""
    random = Random(100 + seed)
    runs = [{"events": damaged([wire(e) for e in sound(random).events], random), "input": REQUEST} for _ in range(150)]
    for run, view in zip(runs, verifier.replay(runs, "1.0.0", chain=False), strict=True):
        if view["accepted"]:
            grammar = Grammar()
            found = [problem for event in run["events"] for problem in grammar.feed(event)]
            assert [problem for problem in found if "already closed" not in problem] == []
