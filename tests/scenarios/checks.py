"""Pure. What every run of a kind must show. Each check returns problems as text, none when all is well."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tests.scenarios.reading import (
    Events,
    Message,
    expand,
    index,
    interrupts,
    of,
    plain,
    results,
    shape,
    snapshot,
    spoken,
    texts,
    tool_calls,
    view,
)

__all__ = [
    "balanced",
    "called",
    "consistent",
    "failure",
    "lifecycle",
    "no_duplicates",
    "ordered",
    "paused",
    "streamed_ids",
    "strict_json",
    "success",
]

_HI: tuple[Message, ...] = ({"id": "u1", "role": "user", "content": "hi"},)
_PAIRS = {
    "TEXT_MESSAGE": "messageId",
    "TOOL_CALL": "toolCallId",
    "REASONING_MESSAGE": "messageId",
    "REASONING": "messageId",
}


def lifecycle(events: Events, run: str = "r1", thread: str = "t", end: str = "RUN_FINISHED") -> list[str]:
    """Run starts and ends as it should, once, with the caller's ids."""
    if not events:
        return ["no events at all"]
    problems = []
    first, last = events[0], events[-1]
    if first["type"] != "RUN_STARTED":
        problems.append(f"first event is {first['type']}")
    elif (first["threadId"], first["runId"]) != (thread, run):
        problems.append(f"RUN_STARTED carries {first['threadId']}/{first['runId']}, not {thread}/{run}")
    if last["type"] != end:
        problems.append(f"last event is {last['type']}, expected {end}: {last.get('message')}")
    elif end == "RUN_FINISHED" and (last["threadId"], last["runId"]) != (thread, run):
        problems.append(f"RUN_FINISHED carries {last['threadId']}/{last['runId']}, not {thread}/{run}")
    for type_ in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"):
        count = len(of(events, type_))
        if count > (1 if type_ in ("RUN_STARTED", end) else 0):
            problems.append(f"{count} {type_} events")
    return problems


def balanced(events: Events, steps: bool = True) -> list[str]:
    """Everything opened is closed, in order, before the run's last event."""
    problems: list[str] = []
    open_: set[tuple[Any, ...]] = set()
    for event in expand(events):
        type_ = event["type"]
        kind = next((k for k in _PAIRS if type_ in (f"{k}_START", f"{k}_CONTENT", f"{k}_ARGS", f"{k}_END")), None)
        if kind is not None:
            entity = (kind, event[_PAIRS[kind]])
            if type_.endswith("_START"):
                if entity in open_:
                    problems.append(f"{type_} for {entity[1]} while it is open")
                open_.add(entity)
            elif entity not in open_:
                problems.append(f"{type_} for {entity[1]} which is not open")
            if type_.endswith("_END"):
                open_.discard(entity)
        step = ("STEP", event.get("stepName"), event.get("subagentRunId"))
        if type_ == "STEP_STARTED":
            if step in open_:
                problems.append(f"step {event['stepName']} started twice")
            open_.add(step)
        elif type_ == "STEP_FINISHED":
            if step not in open_:
                problems.append(f"step {event['stepName']} finished but was not open")
            open_.discard(step)
        elif type_ in ("RUN_FINISHED", "RUN_ERROR"):
            left = [f"{entity[0]} {entity[1]}" for entity in open_ if steps or entity[0] != "STEP"]
            if left:
                problems.append(f"still open at {type_}: {', '.join(left)}")
    return problems


def success(events: Events, run: str = "r1", thread: str = "t") -> list[str]:
    """A run that ended well, nothing left open, not paused."""
    problems = lifecycle(events, run, thread)
    if not problems and interrupts(events):
        problems.append("run ended with an interrupt")
    if not problems and (events[-1].get("outcome") or {}).get("type", "success") != "success":
        problems.append(f"outcome {events[-1]['outcome']}")
    return problems + balanced(events)


def failure(
    events: Events, run: str = "r1", thread: str = "t", says: str | None = None, steps: bool = False
) -> list[str]:
    """A run that ended with RUN_ERROR as its last event and left no message, call or reasoning (or step) open."""
    problems = lifecycle(events, run, thread, end="RUN_ERROR") + balanced(events, steps)
    if not problems and says and says not in (events[-1].get("message") or ""):
        problems.append(f"RUN_ERROR says {events[-1].get('message')!r}, not {says!r}")
    return problems


def paused(events: Events, n: int = 1, run: str = "r1", thread: str = "t") -> list[str]:
    """A run that ended with n distinct questions, with state and messages delivered before."""
    problems = lifecycle(events, run, thread) + balanced(events)
    asked = [question.get("id") for question in interrupts(events)]
    if len(asked) != n:
        problems.append(f"{len(asked)} interrupts, expected {n}")
    if len(set(asked)) != len(asked):
        problems.append("two interrupts share one id: they cannot be answered apart")
    if not all(asked):
        problems.append("an interrupt has no id")
    problems += [
        f"no {type_} before the interrupt" for type_ in ("MESSAGES_SNAPSHOT", "STATE_SNAPSHOT") if not of(events, type_)
    ]
    return problems


def no_duplicates(messages: Sequence[Message] | None, where: str = "snapshot") -> list[str]:
    """No message, call or answer twice."""
    shown = messages or []
    lists = {
        "the same message id": [m["id"] for m in shown],
        "the same tool call": [c["id"] for m in shown for c in m.get("toolCalls") or []],
        "an answer to the same call": [m["toolCallId"] for m in shown if m["role"] == "tool"],
    }
    return [f"{where} has {what} twice: {ids}" for what, ids in lists.items() if len(set(ids)) != len(ids)]


def consistent(events: Events, start: Sequence[Message] = _HI) -> list[str]:
    """The last snapshot agrees with what was streamed: same ids, same text, each message once."""
    last = snapshot(events)
    if last is None:
        return ["no MESSAGES_SNAPSHOT"]
    problems = no_duplicates(last)
    by_id = {m["id"]: m for m in last}
    for id, text in texts(events).items():
        if id in by_id and plain(by_id[id].get("content")) != text:
            problems.append(f"message {id} streamed as {text!r}, the snapshot says {plain(by_id[id].get('content'))!r}")
    stored = {c["id"]: c["function"]["arguments"] for m in last for c in m.get("toolCalls") or []}
    for id, call in tool_calls(events).items():
        if id in stored and not _same_json(call["args"], stored[id]):
            problems.append(f"call {id} streamed {call['args']!r}, the snapshot says {stored[id]!r}")
    shown = view(events, start)
    problems += no_duplicates(shown, "the client's list")
    mine, theirs = ([m["id"] for m in spoken(ms) if m["role"] != "tool"] for ms in (shown, last))
    if mine != theirs:  # where tool messages end up is a matter of its own: `ordered`
        problems.append(f"the client's list is {shape(spoken(shown))}, the snapshot {shape(spoken(last))}")
    return problems


def _same_json(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one or "{}") == json.loads(other or "{}"))
    except ValueError:
        return False


def ordered(events: Events, start: Sequence[Message] = _HI) -> list[str]:
    """The list the client is left with has every message, tool results included, where the snapshot has it."""
    shown, last = spoken(view(events, start)), spoken(snapshot(events))
    if [m["id"] for m in shown] != [m["id"] for m in last]:
        return [f"the client is left with {shape(shown)}, the snapshot says {shape(last)}"]
    return []


def streamed_ids(events: Events, *wanted: str) -> list[str]:
    """These texts were streamed under the ids the snapshot gives them; else the client redraws or doubles them."""
    problems, last = [], snapshot(events) or []
    for text in wanted:
        streamed = [id for id, found in texts(events).items() if found == text]
        stored = [m["id"] for m in last if plain(m.get("content")) == text]
        if len(streamed) != 1:
            problems.append(f"{text!r} was streamed by {len(streamed)} messages: {list(texts(events).values())}")
        elif streamed[0] not in stored:
            problems.append(f"{text!r} was streamed as {streamed[0]} but the snapshot has it under {stored}")
        count = sum(m["role"] == "assistant" and plain(m.get("content")) == text for m in last)
        if count > 1:
            problems.append(f"the snapshot has {text!r} {count} times")
    return problems


def called(events: Events, id: str, name: str, args: Any, result: Any = None, times: int = 1) -> list[str]:
    """Exactly one start, arguments and end with the model's id and, if asked, exactly one result."""
    problems, call = [], tool_calls(events).get(id)
    if times and call is None:
        return [f"no TOOL_CALL events for {id} (got {list(tool_calls(events))})"]
    if not times and call is not None:
        problems.append(f"TOOL_CALL events for {id} although they were sent in an earlier run")
    if times and call is not None:
        if call["name"] != name:
            problems.append(f"call {id} is named {call['name']!r}, not {name!r}")
        if (call["starts"], call["ends"]) != (times, times):
            problems.append(f"call {id} has {call['starts']} starts and {call['ends']} ends")
        if not _same_json(call["args"], json.dumps(args)):
            problems.append(f"arguments of {id} are {call['args']!r}, expected {json.dumps(args)}")
    if result is not None:
        problems += _answered(events, id, result, times)
    return problems


def _answered(events: Events, id: str, result: Any, times: int) -> list[str]:
    found = [text for call_id, text in results(events) if call_id == id]
    if len(found) != 1:
        return [f"{len(found)} results for {id}"]
    problems = []
    if not (result(found[0]) if callable(result) else found[0] == result):
        problems.append(f"result of {id} is {found[0][:120]!r}")
    if times and index(events, "TOOL_CALL_RESULT", toolCallId=id) < index(events, "TOOL_CALL_END", toolCallId=id):
        problems.append(f"result of {id} before its TOOL_CALL_END")
    return problems


def strict_json(value: Any, path: str = "$") -> list[str]:
    """Problems a strict JSON reader would have with this value."""
    if isinstance(value, dict):
        return [problem for key, item in value.items() for problem in strict_json(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [problem for n, item in enumerate(value) for problem in strict_json(item, f"{path}[{n}]")]
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{path} is {value}, which JSON does not have"]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return [f"{path} holds a lone surrogate, which UTF-8 cannot carry"]
    return []
