"""Which of a user's connections is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Interrupt, RunErrorEvent, RunFinishedEvent

from yai_nexus_agentkit.protocol.endings import finished
from yai_nexus_agentkit.runs.routing import Connection, Question, elsewhere, ids_of, is_question, needs_of, receivers

NOW, GRACE = 1000.0, 10.0


def one(name: str, *abilities: str, thread: str = "", gone: float | None = None, origin: str = "") -> Connection:
    return Connection(
        id=name, agent="a", user="u", abilities=abilities, thread=thread, gone=gone, origin=origin or name, since=NOW
    )


def asks(source: str = "A", *needs: str) -> Question:
    return Question(thread="t", key="k", source=source, needs=needs)


A, B, C = one("A"), one("B", "geolocation"), one("C", "approve", "geolocation")
CASES = [
    pytest.param("source", asks(), [A, B, C], {"A"}, id="the source"),
    pytest.param("source", asks(), [one("A", gone=NOW - 5), B], set(), id="a source that has just gone"),
    pytest.param("source", asks(), [one("A", gone=NOW - 15), B, C], {"B", "C"}, id="a source that is gone"),
    pytest.param("source", asks(), [B, C], {"B", "C"}, id="a source that is forgotten"),
    pytest.param("source", asks(), [one("A", gone=NOW), one("D", origin="A"), B], {"D"}, id="it came back"),
    pytest.param("source", asks(), [], set(), id="nobody is there"),
    pytest.param("source", asks(""), [A, B], {"A", "B"}, id="plain HTTP caused the turn"),
    pytest.param("source", asks("A", "geolocation"), [A, B], {"B"}, id="an ability"),
    pytest.param("source", asks("B", "geolocation"), [A, B, C], {"B"}, id="the source has the ability"),
    pytest.param("source", asks("A", "geolocation"), [A, one("X", "geolocation", thread="t"), B], {"X"}, id="it looks"),
    pytest.param("source", asks("A", "geolocation", "approve"), [A, B, C], {"C"}, id="two abilities"),
    pytest.param("source", asks("A", "camera"), [A, B, C], {"A"}, id="nobody has the ability"),
    pytest.param("source", asks("A", "geolocation"), [A, one("B", "geolocation", gone=NOW)], {"A"}, id="it is gone"),
    pytest.param("all", asks(), [A, B, C], {"A", "B", "C"}, id="all"),
    pytest.param("all", asks("A", "geolocation"), [A, B, C], {"B", "C"}, id="all that have the ability"),
    pytest.param("ability", asks(), [A, B, C], {"C"}, id="who approves"),
    pytest.param("ability", asks(), [A, B], {"A"}, id="nobody approves"),
    pytest.param("ability", asks("A", "geolocation"), [A, B], {"B"}, id="the ability that is needed"),
    pytest.param(lambda question, open_ones: ["B", "Z"], asks(), [A, B], {"B"}, id="a function"),
    pytest.param(
        lambda question, open_ones: [one.id for one in open_ones], asks(), [A, one("B", gone=NOW)], {"A"}, id="open"
    ),
]


@pytest.mark.parametrize(("policy", "question", "connections", "asked"), CASES)
def test_receivers(policy: Any, question: Question, connections: Sequence[Connection], asked: set[str]) -> None:
    assert receivers(question, connections, policy, now=NOW, grace=GRACE) == asked


class _Run:
    thread_id, run_id = "t", "r"


def interrupt(needs: Any) -> Interrupt:
    return Interrupt(id="i", reason="tool_call", message="Go?", metadata={"langgraph": {"value": {"needs": needs}}})


def test_needs_stand_in_the_value_of_the_interrupt() -> None:
    ended = finished(
        _Run(), [interrupt("camera"), interrupt(["camera", 7, {}, "approve"]), interrupt(None), interrupt(7)]
    )
    assert needs_of(ended) == ("camera", "approve")
    assert ids_of(ended) == ("i",) * 4
    assert needs_of(finished(_Run())) == ()


def test_what_the_others_see() -> None:
    ended = finished(_Run(), [interrupt("camera")])
    custom, terminal = elsewhere(ended, "phone", shown=True)
    asked = [{"reason": "tool_call", "message": "Go?", "toolCallId": None}]
    assert getattr(custom, "value", None) == {"count": 1, "device": "phone", "questions": asked}
    assert isinstance(terminal, RunFinishedEvent)
    assert terminal.outcome is None
    hidden, _ = elsewhere(ended, "phone", shown=False)
    assert getattr(hidden, "value", None) == {"count": 1, "device": "phone"}


def test_which_ends_ask() -> None:
    older = finished(_Run(), metadata={"langgraph": {"interruptIds": ["i"]}})
    ends = [older, finished(_Run(), pending=["c"]), finished(_Run()), RunErrorEvent(message="no")]
    assert [is_question(end) for end in ends] == [True, True, False, False]
    assert getattr(elsewhere(older, "", shown=True)[0], "value", {})["count"] == 1
