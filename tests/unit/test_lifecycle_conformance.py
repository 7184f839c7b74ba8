"""Any sequence of facts, however absurd, becomes a stream that every judge of AG-UI accepts, and loses no word of it.

Ids are drawn from one small set for everything (messages, calls, lanes, steps, spans, subagents), so that they collide
across kinds, owners and lanes; the thread holds some of them before the run. Values of a wrong type are among them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    FunctionCall,
    Interrupt,
    ReasoningMessage,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.grammar import thread_calls
from tests.support.verifier import ClientRun, Verifier
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle, run_started
from yai_nexus_agentkit.testing import conformance_problems

HELD: list[dict[str, Any]] = [
    {"id": "u1", "role": "user", "content": "hello"},
    {
        "id": "a1",
        "role": "assistant",
        "content": "an old answer",
        "toolCalls": [
            {"id": call, "type": "function", "function": {"name": "old_tool", "arguments": "{}"}}
            for call in ("old", "done")
        ],
    },
    {"id": "t1", "role": "tool", "toolCallId": "done", "content": "an old result"},
    {"id": "r1", "role": "reasoning", "content": "old thoughts"},
]
REQUEST = {"threadId": "thread", "runId": "run", "messages": HELD, "state": {"k": 0}}

STORED = ["x", "x", "x", "y", "y", "x-2", "x-message", "u1", "a1", "t1", "r1", "old", "done", ""]
IDS: list[Any] = [*STORED, None, 5]
CALLS: list[Any] = ["x", "x", "y", "c", "old", "done", "", None, 5]
LANES = ["x", "x", "L"]
OWNERS: list[Any] = [None, None, None, "x", "s", "", 5]
SUBAGENTS: list[Any] = ["x", "s", "s2", "", 5]
SPANS = ["x", "y", "span"]
TEXTS: list[Any] = ["one ", "two ", "", None, 5]
METADATA: list[Any] = [None, {"n": None, "app": {"a": [1]}}]
PICTURE = {"type": "image", "source": {"type": "url", "value": "http://pictures.invalid/1"}}
CONTENTS: list[Any] = ["done", [], [TextPart(text="a"), PICTURE, {"type": "text", "text": "b"}]]
PATCHES: list[Any] = [[], [{"op": "add", "path": "/k", "value": None}]]
USAGE: list[Any] = [[], [TokenUsage(model="m", input_tokens=1), TokenUsage(model="m", input_tokens=2), TokenUsage()]]

Fact = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of `RunLifecycle` and its arguments."""


def facts(name: str, *pools: Iterable[Any], **named: Iterable[Any]) -> list[Fact]:
    """Every combination of arguments from the pools. One draw each keeps long sequences cheap to make and to shrink."""
    rows = product(*pools, *named.values())
    count = len(pools)
    return [(name, row[:count], dict(zip(named, row[count:], strict=True))) for row in rows]


def stored(kind: str, message_id: str, owner: str | None, call_id: str) -> Any:
    """A message of a snapshot."""
    common: dict[str, Any] = {"id": message_id, "subagent_run_id": owner}
    match kind:
        case "user":
            return UserMessage(content="hi", **common)
        case "assistant":
            call = ToolCall(id=call_id, function=FunctionCall(name="tool", arguments="{}"))
            return AssistantMessage(content="stored", tool_calls=[call], **common)
        case "tool":
            return ToolMessage(content="stored", tool_call_id=call_id, **common)
        case "reasoning":
            return ReasoningMessage(content="stored", **common)
        case _:
            return ActivityMessage(activity_type="plan", content={}, **common)


def question(interrupt_id: str, call_id: str | None, owner: str | None) -> Interrupt:
    return Interrupt(
        id=interrupt_id,
        reason="confirmation",
        message="sure?",
        tool_call_id=call_id,
        subagent_run_id=owner,
        expires_at="2030-01-01T00:00:00Z",
        metadata={"langgraph": {"value": None}},
    )


ROLES = ["user", "assistant", "tool", "reasoning", "activity"]
MESSAGES = [stored(*row) for row in product(ROLES, STORED, [None, None, "x"], ["x", "y"])]
QUESTIONS = [question(*row) for row in product(STORED, [None, "x", "c", "old"], [None, "x"])]
SPEECH = [
    facts("lane", LANES, owner=OWNERS, within=[(), ("x",), ("span", "y")]),
    facts("text", LANES, IDS, TEXTS),
    facts("text", LANES, ["x", "y"], TEXTS),
    facts("end_text", LANES),
    facts("reasoning", LANES, IDS, TEXTS),
    facts("reasoning", LANES, ["x", "y"], TEXTS, METADATA),
    facts("encrypted_reasoning", LANES, ["x", "y", "r1", "", None], TEXTS),
    facts("end_reasoning", LANES),
    facts("end_lane", LANES),
    facts("tool_call", LANES, CALLS, ["search", "ask", "", None], [None, *IDS]),
    facts("tool_call", LANES, ["x", "y", "c"], ["search"], ["x", "y"]),
    facts("args", CALLS, ["{}", " ", "", None]),
    facts("args", ["x", "y", "c"], [" "]),
    facts("end_call", CALLS),
    facts("result", CALLS, IDS, [*CONTENTS, 5], owner=OWNERS, metadata=METADATA),
    facts("result", ["x", "y", "c"], IDS, ["done"]),
    facts("settle_calls", [[]]),
]
OTHERS = [
    facts("start_step", SPANS, ["node", "node#2", "other", 5], owner=OWNERS, metadata=METADATA),
    facts("finish_step", SPANS),
    facts("open_span", SPANS, ["Planning", "", 5], owner=OWNERS),
    facts("close_span", SPANS),
    facts(
        "start_subagent",
        SUBAGENTS,
        ["researcher", "", 5],
        parent=OWNERS,
        call_id=[None, *CALLS],
    ),
    facts("end_subagent", SUBAGENTS, error=[None, None, "broken", 5], suspended=[None, (), ("x", "")]),
    facts("state_snapshot", [{}, {"k": 1}]),
    facts("state_delta", PATCHES),
    facts("custom", ["app.event", 5], [None, {"a": 1}], owner=OWNERS, metadata=METADATA),
    facts("activity", IDS, ["plan"], [{"k": 0}], owner=OWNERS, metadata=METADATA),
    facts("activity_delta", ["x", "y", "a1", 5], ["plan"], PATCHES),
    facts("close_all"),
]
ENDS = [
    facts("finish", result=[None, {"r": None}], usage=USAGE),
    facts("cancel", ["stopped"], usage=USAGE),
    facts("fail", ["broken"], ["AGENT_ERROR"], usage=USAGE),
]
CHOICES: dict[str, list[Any]] = {
    "reasoning": ["standard", "standard", "thinking", "off"],
    "text_chunks": [False, False, True],
    "announce_subagents": [False, True],
    "declared": [False, True],
}


@dataclass
class Played:
    """A run, and what a client must have of it in the end."""

    options: dict[str, Any]
    sequence: list[Fact]
    events: list[Any] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=lambda: defaultdict(str))
    arguments: dict[str, str] = field(default_factory=lambda: defaultdict(str))

    @property
    def run(self) -> dict[str, Any]:
        return {"events": self.events, "input": REQUEST}

    @property
    def clients(self) -> tuple[str, ...]:
        """Clients before 1.0 refuse what only declared peers are sent."""
        newer = self.options["declared"] or self.options["announce_subagents"]
        return ("1.0.0",) if newer else ("1.0.0", "0.0.59")


def play(options: dict[str, Any], sequence: list[Fact]) -> Played:
    """The events of a sequence of facts that ends the run."""
    life = RunLifecycle(
        thread_id="thread",
        run_id="run",
        taken={m["id"]: m["role"] for m in HELD},
        calls=thread_calls("old", "done", answered=["done"]),
        **options,
    )
    played = Played(options, sequence)
    played.events.append(run_started("thread", "run", None))
    for name, args, named in played.sequence:
        try:
            events = getattr(life, name)(*args, **named) or []
        except ValidationError:
            continue  # a value of a wrong type: nothing was sent, so nothing may have changed
        played.events += events
        if name == "text" and isinstance(args[2], str) and args[2] and not life.ended:
            message_id = life.message_id(args[0])
            assert message_id is not None
            played.texts[message_id] += args[2]
        if name == "args" and events:
            played.arguments[args[0]] += args[1]
    assert life.ended
    return played


def stream_problems(played: Played) -> list[str]:
    # A chunk after another event starts its message or call again: AG-UI 1.0 admits that, ag-ui-validate does not.
    # The arguments here are no JSON, and the models know no THINKING events.
    ignore = ["AGUI204", *(["AGUI104", "AGUI205"] if played.options["text_chunks"] else [])]
    if played.options["reasoning"] == "thinking":
        ignore.append("model")
    return [*conformance_problems([played.run], ignore=ignore), *sender_problems(played)]


def sender_problems(played: Played) -> list[str]:
    """Duties of a sender that neither clients nor other judges check (AG-UI 1.0, "[spec]")."""
    found: list[str] = []
    started: set[Any] = {None}
    open_calls: set[Any] = set()
    for event in (json.loads(event.model_dump_json(by_alias=True)) for event in played.events):
        kind = event["type"]
        found += [
            f"{kind}: {name} {value!r}" for name, value in identifiers(event) if not (isinstance(value, str) and value)
        ]
        if kind == "SUBAGENT_STARTED":
            started.add(event["subagentRunId"])
        tags = [event.get("subagentRunId"), *(i.get("subagentRunId") for i in questions_of(event))]
        if played.options["announce_subagents"]:
            found += [f"{kind}: {tag} was not announced" for tag in tags if tag not in started]
        if kind in ("TOOL_CALL_START", "TOOL_CALL_END"):
            (open_calls.add if kind == "TOOL_CALL_START" else open_calls.discard)(event["toolCallId"])
        if kind == "TOOL_CALL_RESULT" and event["toolCallId"] in open_calls:
            found.append("a result of a call that is open")
        if not played.options["declared"]:
            newer = isinstance(event.get("content"), list) or "pendingToolCallIds" in str(event.get("outcome"))
            found += (
                [f"{kind}: clients before 1.0 refuse it"] if newer or "cancelled" in str(event.get("outcome")) else []
            )
            found += [f"{kind}: {i['id']} would expire" for i in questions_of(event) if "expiresAt" in i]
    return found


def identifiers(value: Any) -> Iterable[tuple[str, Any]]:
    """Every field of an event that holds an id, those of inner messages, calls and interrupts included."""
    if isinstance(value, list):
        for item in value:
            yield from identifiers(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "id" or name.endswith("Id"):
                yield name, item
            elif name.endswith("Ids"):
                yield from ((name, one) for one in item)
            elif name not in ("metadata", "snapshot", "content", "event"):
                yield from identifiers(item)


def questions_of(event: dict[str, Any]) -> list[dict[str, Any]]:
    return (event.get("outcome") or {}).get("interrupts") or []


def client_problems(played: Played, view: ClientRun) -> list[str]:
    if not view["ok"]:
        return [f"rejected: {view.get('error')}"]
    # The 1.0 client says of each THINKING event that it is an old one.
    expected = "[ag-ui][compat]" if played.options["reasoning"] == "thinking" else "nothing"
    found = [f"warning: {warning}" for warning in view["warnings"] if expected not in warning]
    if any(event.type == "MESSAGES_SNAPSHOT" for event in played.events):
        return found  # which replaced what was streamed
    by_id = {m["id"]: m for m in view["messages"]}
    texts = {i: m["content"] for i, m in by_id.items() if m["role"] == "assistant" and m.get("content")}
    calls = [call for m in by_id.values() for call in m.get("toolCalls") or []]
    arguments = {call["id"]: call["function"]["arguments"] for call in calls if call["function"]["arguments"]}
    if len(by_id) != len(view["messages"]):
        found.append("two messages have one id")
    if texts != {"a1": "an old answer", **played.texts}:
        found.append(f"texts: {texts}, said: {dict(played.texts)}")
    if arguments != {"old": "{}", "done": "{}", **played.arguments}:
        found.append(f"arguments: {arguments}, given: {dict(played.arguments)}")
    return found


def _one(tables: list[list[Fact]]) -> st.SearchStrategy[Fact]:
    return st.one_of(*(st.sampled_from(table) for table in tables))


_snapshot = st.lists(st.sampled_from(MESSAGES), max_size=4).map(lambda m: ("messages_snapshot", (m,), {}))
_paused = st.lists(st.sampled_from(QUESTIONS), max_size=2).map(lambda q: ("finish", (), {"interrupts": q}))
_facts = st.one_of(_one(SPEECH), _one(SPEECH), _one(OTHERS), _snapshot)
_ends = st.one_of(_one(ENDS), _paused)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()}),
    st.lists(_facts, min_size=10, max_size=60),
    _ends,
    st.lists(st.one_of(_facts, _ends), max_size=3),
)
def test_any_sequence_of_facts_is_a_conformant_stream(
    verifier: Verifier, options: dict[str, Any], facts: list[Fact], end: Fact, late: list[Fact]
) -> None:
    played = play(options, [*facts, end, *late])
    assert stream_problems(played) == []
    for client in played.clients:
        [view] = verifier.replay([played.run], client, chain=False)
        assert client_problems(played, view) == []


@pytest.mark.parametrize("seed", range(6))
def test_long_runs_are_conformant_streams(verifier: Verifier, seed: int) -> None:
    """Longer than Hypothesis likes, where the facts lie far apart that do not go together."""
    random = Random(seed)

    def fact() -> Fact:
        table = random.choice([*SPEECH, *SPEECH, *OTHERS, None])
        if table is None:
            return ("messages_snapshot", (random.sample(MESSAGES, random.randint(0, 5)),), {})
        return random.choice(table)

    def one() -> Played:
        options = {name: random.choice(values) for name, values in CHOICES.items()}
        paused: Fact = ("finish", (), {"interrupts": random.sample(QUESTIONS, random.randint(0, 3))})
        end = random.choice([paused, random.choice(random.choice(ENDS))])
        return play(options, [*(fact() for _ in range(random.randint(20, 90))), end])

    runs = [one() for _ in range(100)]
    found = [(problem, played) for played in runs for problem in stream_problems(played)]
    for client in ("1.0.0", "0.0.59"):
        meant = [played for played in runs if client in played.clients]
        views = verifier.replay([played.run for played in meant], client, chain=False)
        found += [(p, played) for played, view in zip(meant, views, strict=True) for p in client_problems(played, view)]
    assert found == []
