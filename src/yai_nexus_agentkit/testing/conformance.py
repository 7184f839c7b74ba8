"""Pure. Checks that recorded runs are conformant AG-UI 1.0. Three layers; none needs a client:

- ``model``: every event against the ``ag_ui`` models, strictly; nulls and unknown fields are problems too
- rule names: `yai_nexus_agentkit.testing.rules`
- ``AGUI...``: errors of ag-ui-validate (the ``verify`` extra), except its mistakes about 1.0 and faults that a rule has
  reported for the same event
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ag_ui.core import BaseEvent, Event
from pydantic import BaseModel, TypeAdapter, ValidationError

from yai_nexus_agentkit.testing.rules import RunRules, ThreadFacts
from yai_nexus_agentkit.testing.runs import Run, WireEvent, wire

__all__ = ["AnyRun", "assert_conformant", "conformance_problems", "normalise", "parse_sse"]

AnyEvent: TypeAlias = BaseEvent | Mapping[str, Any] | str
AnyRun: TypeAlias = Sequence[AnyEvent] | Run | Mapping[str, Any] | str | bytes
"""Events (models, wire dicts or JSON texts), ``{"events": ..., "input": request}``, or SSE text."""

_FORMS = "a run is a list of events, a mapping with 'events', or the text of an SSE response"

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)
_STRUCTURAL = ("AGUI00", "AGUI10", "AGUI201", "AGUI202", "AGUI203", "AGUI205", "AGUI207", "AGUI40", "AGUI60")
"""Beginnings of ag-ui-validate's codes for faults of the grammar: one fault is reported once."""


def parse_sse(text: str) -> list[WireEvent]:
    """The events of an SSE response body.

    Raises:
        ValueError: a client would refuse the framing.
    """
    if "\r" in text:
        raise ValueError("carriage return in the stream: frames must use LF only")
    events = []
    for block in text.split("\n\n"):
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            events.append(wire("\n".join(data)))
    return events


def normalise(run: AnyRun) -> dict[str, Any]:
    """``{"events": [...], "input": {...} or None}`` for any accepted form of a run.

    Raises:
        TypeError: it is not a run.
        ValueError: it is not strict JSON, or the SSE framing is wrong.
    """
    given: Any = None
    events: Any = run
    if isinstance(run, Mapping):
        given, events = run.get("input"), run.get("events", run.get("sse"))
        if isinstance(given, BaseModel):
            given = json.loads(given.model_dump_json(by_alias=True))
    if isinstance(events, bytes):
        events = events.decode()
    if isinstance(events, Mapping) or not isinstance(events, Iterable):
        raise TypeError(f"{_FORMS}, not {type(run).__name__}")
    if isinstance(events, str):
        events = parse_sse(events)
    return {"events": [wire(event) for event in events], "input": given}


def conformance_problems(
    runs: AnyRun | Sequence[AnyRun], *, advice: bool = False, ignore: Iterable[str] = ()
) -> list[str]:
    """The problems of one run, or of the runs of one thread in order; each a line with the rule's name in brackets.

    A run with its request (``{"events": ..., "input": ...}``) is checked more closely: its ids, the known messages and
    calls. `ignore`: names of rules, AGUI codes, or ``model``. `advice`: also report legal but unwise streams.

    Raises:
        TypeError: something is neither a run nor an event.
    """
    found: list[str] = []
    try:
        normal = [normalise(run) for run in _as_runs(runs)]
    except ValueError as error:
        return [f"unreadable run: {error}"]
    thread = ThreadFacts()
    for number, run in enumerate(normal):
        events, given = run["events"], run["input"]
        thread.learn((given or {}).get("messages"))
        known_calls = set(thread.calls)
        modelled = {n: list(_model_problems(n, event)) for n, event in enumerate(events)}
        ruled = _rule_problems(events, given, thread, advice, wrong={n for n, texts in modelled.items() if texts})
        problems = [text for texts in (*modelled.values(), *ruled.values()) for text in texts]
        problems += _validator_problems(events, known_calls, ruled.keys())
        found += [f"run {number} {problem}" for problem in problems]
    dropped = tuple(f"[{name}]" for name in ignore)
    return [problem for problem in dict.fromkeys(found) if not any(name in problem for name in dropped)]


def assert_conformant(runs: AnyRun | Sequence[AnyRun], *, advice: bool = False, ignore: Iterable[str] = ()) -> None:
    """Assert that one run, or the runs of one thread in order, are conformant AG-UI 1.0. `advice` and `ignore` as in
    `conformance_problems`.

    Raises:
        AssertionError: one line per problem, then the stream in short.
    """
    several = _as_runs(runs)
    problems = conformance_problems(several, advice=advice, ignore=ignore)
    if not problems:
        return
    lines = [f"{len(problems)} problem(s) in the AG-UI stream:", *(f"  {problem}" for problem in problems)]
    for number, run in enumerate(several):
        try:
            events = normalise(run)["events"]
        except ValueError:
            continue
        lines.append(f"run {number}:")
        lines += [f"  {n:4} {_short(event)}" for n, event in enumerate(events)]
    raise AssertionError("\n".join(lines))


def _as_runs(runs: Any) -> list[Any]:
    """One run or several as a list of runs: a run is SSE text, a mapping with events, or a list of events."""
    if isinstance(runs, (str, bytes, Mapping)):
        return [runs]
    if not isinstance(runs, Iterable):
        raise TypeError(f"{_FORMS}, not {type(runs).__name__}")
    items = list(runs)
    return items if items and not any(map(_is_event, items)) else [items]


def _is_event(item: Any) -> bool:
    if isinstance(item, str):
        return item.lstrip().startswith("{")
    return isinstance(item, BaseEvent) or (isinstance(item, Mapping) and not item.keys() & {"events", "sse"})


def _short(event: WireEvent) -> str:
    rest = {name: value for name, value in event.items() if name != "type"}
    text = json.dumps(rest, ensure_ascii=False)
    return f"{event.get('type')} {text if len(text) <= 160 else text[:157] + '...'}"


def _model_problems(position: int, event: WireEvent) -> Iterable[str]:
    where = f"event {position} {event.get('type')}: [model]"
    try:
        model = _EVENT.validate_json(json.dumps(event), strict=True)
    except ValidationError as error:
        for detail in error.errors()[:3]:
            yield f"{where} {'/'.join(str(x) for x in detail['loc'][1:]) or 'type'}: {detail['msg']}"
    else:
        yield from (f"{where} {problem}" for problem in _walk(model, ""))


def _walk(model: BaseModel, path: str) -> Iterable[str]:
    """Unknown fields and nulls: the models accept them, clients strip or refuse them."""
    fields = type(model).model_fields
    for name in model.model_fields_set:
        value = getattr(model, name, None)
        if name not in fields:
            yield f"{path}{name}: not a field of {type(model).__name__}, clients strip it"
            continue
        alias = fields[name].alias or name
        if value is None and not fields[name].is_required():
            yield f"{path}{alias}: null where the field should be left out"
        for place, inner in _inner_models(alias, value):
            # JSON Patch operations may have more fields.
            yield from () if hasattr(inner, "op") else _walk(inner, f"{path}{place}/")


def _inner_models(alias: str, value: Any) -> Iterable[tuple[str, BaseModel]]:
    if isinstance(value, BaseModel):
        yield alias, value
    elif isinstance(value, list):
        yield from ((f"{alias}/{n}", item) for n, item in enumerate(value) if isinstance(item, BaseModel))


def _rule_problems(
    events: Sequence[WireEvent],
    given: Mapping[str, Any] | None,
    thread: ThreadFacts,
    advice: bool,
    *,
    wrong: Collection[int],
) -> dict[int, list[str]]:
    """By the event's position; those of the run as a whole under -1, as in ag-ui-validate. `wrong`: positions of the
    events that the models refuse; these may have a list in the place of an id."""
    starts = [n for n, event in enumerate(events) if event.get("type") == "RUN_STARTED"]
    rules = RunRules(thread, given, last_start=starts[-1] if starts else -1, advice=advice)
    found: dict[int, list[str]] = {}
    for position, event in enumerate(events):
        try:
            found[position] = rules.feed(position, event)
        except (TypeError, AttributeError):
            if position not in wrong:
                raise
    found[-1] = rules.finish()
    return {position: problems for position, problems in found.items() if problems}


def _validator_problems(events: Sequence[WireEvent], known_calls: set[str], ruled: Collection[int]) -> Iterable[str]:
    """`ruled`: positions of the events for which the rules reported something."""
    try:
        from ag_ui_validate import ValidatorOptions, create_validator
    except ImportError:
        return
    validator = create_validator(ValidatorOptions())
    for event in events:
        validator.feed(event)
    validator.finalize()
    for found in validator.report().diagnostics:
        event = events[found.event_index] if 0 <= found.event_index < len(events) else {}
        if found.event_index in ruled and found.rule.startswith(_STRUCTURAL):
            continue
        if found.severity == "error" and not _admitted(found.rule, found.pointer, event, known_calls):
            place = f"event {found.event_index} {event.get('type')}: " if event else ""
            yield f"{place}[{found.rule}] {found.message}"


def _admitted(rule: str, pointer: str | None, event: WireEvent, known_calls: set[str]) -> bool:
    """An error of ag-ui-validate 0.4 that AG-UI 1.0 allows, or that the rules check better."""
    kind = str(event.get("type"))
    match rule:
        case "AGUI003" | "AGUI006" | "AGUI007":
            return True  # The rules report a missing end, and steps per owner.
        case "AGUI001" | "AGUI005":
            return kind == "RUN_ERROR"  # A run may fail before it starts and after it finished.
        case "AGUI207":
            return event.get("toolCallId") in known_calls  # The call was announced in an earlier run.
        case "AGUI504" if pointer == "/content":
            return isinstance(event.get("content"), list)  # Results may carry parts.
        case "AGUI504":
            # It lets RAW end a chunk stream; the rules check that a chunk continues one.
            return kind.endswith("_CHUNK") and pointer in ("/messageId", "/toolCallId")
        case _:
            return False
