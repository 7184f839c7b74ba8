"""Pure. How each AG-UI event looks in a terminal.

- Text and reasoning are streamed. A second text waits until the first one has ended, so that their words do not mix.
- Subagents, titled reasoning and, if they are wanted, steps are bars at the start of every line inside them.
- A tool call is one line, written at its end, with all of its arguments.
- Everything else is one line, by the table `_LINES`. A type that is not in it is shown as its JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from yai_nexus_agentkit.cli.chunks import Event
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.layout import Page, shortened
from yai_nexus_agentkit.protocol import events
from yai_nexus_agentkit.protocol.events import Entity, Move, row_of

__all__ = ["BRIEF", "Trace", "compact"]

_TEXTS: Mapping[Entity, tuple[str, str]] = {
    events.TEXT: ("TEXT_MESSAGE", ""),
    events.REASONING: ("REASONING", "italic dim"),
    events.THOUGHT: ("THINKING", "italic dim"),
}
"""Label and style of streamed text."""
_BARS = (events.STEP, events.SUBAGENT, events.SPAN, events.THINKING)

BRIEF: Mapping[str, str] = {
    "TEXT_MESSAGE": "",
    "REASONING": "~",
    "THINKING": "~",
    "TOOL_CALL": "*",
    "TOOL_CALL_RESULT": "=",
    "SUBAGENT_STARTED": "",
    "SUBAGENT_FINISHED": "",
    "SUBAGENT_ERROR": "!",
    "ACTIVITY_SNAPSHOT": "+",
    "ACTIVITY_DELTA": "+",
    "CUSTOM": "+",
    "RUN_ERROR": "!",
}
"""Labels in a conversation. Events with other labels are not shown there."""

_LIMIT = 400
"""Characters of a value that are shown, without `full`."""
_TITLE = 80
_CALL = 40
"""Characters of the arguments in the name of a call."""
_BAR_CELLS = 20


@dataclass(slots=True)
class _Text:
    """A message that is being streamed."""

    label: str
    style: str
    waiting: str = ""
    """Text that is not written yet."""
    ended: bool = False


class Trace:
    """The trace of the runs of one thread. `feed` returns the text to write for an event."""

    def __init__(
        self,
        page: Page,
        client: Client,
        *,
        full: bool = False,
        steps: bool = False,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        """`client` has got every event that `feed` gets. `full`: show values in their whole length. `steps`: show
        steps. `marks`: the labels to show, as in `BRIEF`; default: all, with the events' types."""
        self._page, self._client = page, client
        self._limit = None if full else _LIMIT
        self._steps, self._marks = steps, marks
        self._hidden = 0
        """Steps of this run that were not shown. Counted by `feed`, reset by `summary`."""
        self._texts: dict[str, _Text] = {}
        """Open texts and those that wait, in the order of their start; the first one has the line."""
        self._growing: dict[str, str] = {}
        """Texts in the state by their path, as they were last shown."""

    def feed(self, event: Event) -> str:
        """The text to write for an event that is not a chunk."""
        kind = event["type"]
        entity, move = row_of(kind).entity, row_of(kind).move
        if entity in _TEXTS:
            return self._streamed(event, entity, move)
        if entity is events.STEP and not self._steps:
            self._hidden += move == "opens"
            return ""
        if entity in _BARS:
            return self._bar(event, entity, move)
        if entity is events.CALL and move in ("opens", "continues"):
            return ""
        if kind == "RUN_STARTED":
            self._texts.clear()
        out = self._line(event)
        return out + self._changed() if kind == "MESSAGES_SNAPSHOT" else out

    def _line(self, event: Event) -> str:
        colour, style, text, label = _LINES.get(event["type"], _OTHER)
        if (shown := self._label(label or event["type"])) is None:
            return ""
        out = "".join(self._page.line("usage", _usage(usage), style="dim") for usage in event.get("usage") or ())
        style = _unusual_style(event) or style
        return out + self._page.line(shown, text(self, event), label_style=colour, style=style)

    def _changed(self) -> str:
        """The answers that stand on the screen and are no longer the thread's."""
        out = ""
        for shown, now in self._client.changed:
            begun = " ".join(shown.split())
            which = f'"{begun if len(begun) <= _CALL else f"{begun[:_CALL]}…"}"'
            out += self.note(f"{which} was rewritten:" if now else f"{which} was removed", "yellow")
            out += self.note(now) if now else ""
        return out

    def note(self, text: str, style: str = "", label: str = "") -> str:
        """A line that is not an event."""
        return self._page.line(label, text, style=style)

    def break_line(self) -> str:
        """End a line that is unfinished."""
        return self._page.break_line()

    def summary(self, count: int, seconds: float) -> str:
        """The line after a run of so many events; none in a conversation."""
        hidden, self._hidden = self._hidden, 0
        if self._marks is not None:
            return ""
        steps = f"; --steps shows {hidden} step{'s' * (hidden > 1)}" if hidden else ""
        return self.note(f"{count} events in {seconds:.1f} s{steps}", "dim")

    def conversation(self, *, answer: bool = False) -> str:
        """The conversation of the thread so far; with `answer` only what came after the user's last message."""
        labels = {"user": ">", "assistant": ""}
        said = [(m["role"], _content(m.get("content") or "")) for m in self._client.messages]
        if answer:
            said = list(reversed(list(takewhile(lambda one: one[0] != "user", reversed(said)))))
        return "".join(self.note(text, label=labels[role]) for role, text in said if text and role in labels)

    def _label(self, label: str) -> str | None:
        """The label as it is shown; None if the event is not."""
        return label if self._marks is None else self._marks.get(label)

    def _streamed(self, event: Event, entity: Entity, move: Move | None) -> str:
        key = event.get("messageId", "thinking")  # THINKING_* has no ids: one thought at a time
        if move == "opens":
            label, style = _TEXTS[entity]
            label = self._label(label) or ""
            role = event.get("role", "assistant")
            self._texts[key] = _Text(label if role in ("assistant", "reasoning") else f"{label} {role}", style)
        elif (text := self._texts.get(key)) is not None:
            text.waiting += event.get("delta", "")
            text.ended = move == "closes"
        return self._written()

    def _written(self) -> str:
        """The waiting part of the first text; if that has ended, the next text too, and so on."""
        out = ""
        for key, text in list(self._texts.items()):
            waiting, text.waiting = text.waiting, ""
            if waiting:
                out += self._page.stream(key, text.label, waiting, label_style="cyan", style=text.style)
            if not text.ended:
                break
            out += self._page.break_line()
            del self._texts[key]
        return out

    def _bar(self, event: Event, entity: Entity, move: Move | None) -> str:
        # Steps of two subagents may have one name (AG-UI 1.0 §8).
        key = (entity, event.get("subagentRunId"), event.get("stepName"), event.get("messageId"))
        if move == "opens":
            title = event.get("stepName") or event.get("name") or event.get("title")
            title = title or (event.get("metadata") or {}).get("title", "")
            title += f": {event['description']}" if event.get("description") else ""
            label = self._label(event["type"])
            return "" if not title or label is None else self._page.open_bar(key, label, shortened(title, _TITLE))
        suspended = (event.get("outcome") or {}).get("type") == "suspended"
        note = event.get("message", "suspended" if suspended else "")
        style = "red" if event["type"] == "SUBAGENT_ERROR" else "dim"
        return self._page.close_bar(key, self._label(event["type"]) or "", shortened(note, _TITLE), style=style)

    # ---------------------------------------------------------------- the text of a line

    def outcome(self, event: Event) -> str:
        """How the run ended."""
        outcome = event.get("outcome") or {}
        text = {"interrupt": "paused with a question", "cancelled": "cancelled"}.get(outcome.get("type", ""), "success")
        if outcome.get("pendingToolCallIds"):
            text += ", waits for tools of the client"
        return text if event.get("result") is None else f"{text}: {self.value(event['result'])}"

    def call(self, call_id: str, *, brief: bool = True) -> str:
        """``get_weather(place="Berlin")``, or the id of an unknown call."""
        if (call := self._client.call(call_id)) is None:
            return call_id
        name, arguments = call["name"], compact(call["arguments"])
        if brief:
            arguments = arguments if len(arguments) <= _CALL else f"{arguments[:_CALL]}…"
        return f"{name}({shortened(arguments, self._limit)})"

    def result(self, event: Event) -> str:
        """The call and its result."""
        return f"{self.call(event['toolCallId'])} → {shortened(_content(event['content']), self._limit)}"

    def activity(self, event: Event) -> str:
        """The activity's kind and content; progress as a bar."""
        kind, content = event["activityType"], event["content"]
        if kind != "progress" or not isinstance(content.get("fraction"), (int, float)):
            return f"{kind} {self.value(content)}"
        share = min(max(content["fraction"], 0.0), 1.0)
        filled = round(share * _BAR_CELLS)
        bar = f"{'█' * filled}{'░' * (_BAR_CELLS - filled)} {share:4.0%}"
        return "  ".join([bar, *(str(content[key]) for key in ("name", "message") if content.get(key))])

    def patch(self, operations: Iterable[Event]) -> str:
        """A JSON Patch, one operation per line."""
        return "\n".join(map(self._operation, operations))

    def _operation(self, operation: Event) -> str:
        path = operation["path"].removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
        value, before = operation.get("value"), self._growing.get(path)
        match operation["op"]:
            case "add" | "replace":
                if isinstance(value, str):
                    self._growing[path] = value
                    if before and value.startswith(before):
                        return f"{path} += {self.value(json.dumps(value[len(before) :], ensure_ascii=False))}"
                return f"{path} = {self.value(value)}"
            case "test":
                return f"{path} == {self.value(value)}"
            case "remove":
                return f"{path} removed"
            case other:
                return f"{path} {other} from {operation.get('from', '')}"

    def value(self, value: Any) -> str:
        """JSON in one line; a text without quotes."""
        return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), self._limit)


def compact(arguments: str) -> str:
    """``place="Berlin", days=3``; anything but a JSON object as it is."""
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    if not isinstance(values, dict):
        return arguments
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def _content(content: Any) -> str:
    """The text of a result; for media their kind."""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] if part.get("type") == "text" else f"[{part.get('type')}]" for part in content)


def _roles(messages: Iterable[Event]) -> str:
    counts = Counter(message["role"] for message in messages)
    return ", ".join(f"{count} {role}" for role, count in counts.items()) or "none"


def _usage(usage: Event) -> str:
    """``provider model: 1,200 input tokens, 3 output tokens``."""
    named = " ".join(usage[key] for key in ("provider", "model") if usage.get(key))
    words = {key: re.sub("[A-Z]", lambda capital: f" {capital[0].lower()}", key) for key in usage}
    counts = ", ".join(f"{value:,} {words[key]}" for key, value in usage.items() if isinstance(value, int))
    return f"{named}: {counts}" if named else counts


def _unusual_style(event: Event) -> str | None:
    """Of a run that did not succeed, or a tool that failed."""
    if (event.get("outcome") or {}).get("type") in ("interrupt", "cancelled"):
        return "yellow"
    facts = (event.get("metadata") or {}).values()  # by the source's name
    return "red" if any(isinstance(own, dict) and own.get("status") == "error" for own in facts) else None


class _Line(NamedTuple):
    colour: str
    """Of the label."""
    style: str
    """Of the text."""
    text: Callable[[Trace, Event], str]
    label: str | None = None
    """Default: the type."""


_LINES: Mapping[str, _Line] = {
    "RUN_STARTED": _Line("bold", "dim", lambda _, event: f"thread {event['threadId']}  run {event['runId']}"),
    "RUN_FINISHED": _Line("bold", "green", Trace.outcome),
    "RUN_ERROR": _Line("red", "red", lambda _, event: ": ".join(filter(None, (event.get("code"), event["message"])))),
    "TOOL_CALL_END": _Line(
        "yellow", "yellow", lambda trace, event: trace.call(event["toolCallId"], brief=False), "TOOL_CALL"
    ),
    "TOOL_CALL_RESULT": _Line("yellow", "green", Trace.result),
    "STATE_SNAPSHOT": _Line("magenta", "dim", lambda trace, event: trace.value(event["snapshot"])),
    "STATE_DELTA": _Line("magenta", "", lambda trace, event: trace.patch(event["delta"])),
    "MESSAGES_SNAPSHOT": _Line("magenta", "dim", lambda _, event: _roles(event["messages"])),
    "ACTIVITY_SNAPSHOT": _Line("blue", "blue", Trace.activity),
    "ACTIVITY_DELTA": _Line(
        "blue", "blue", lambda trace, event: f"{event['activityType']} {trace.patch(event['patch'])}"
    ),
    "CUSTOM": _Line("blue", "blue", lambda trace, event: f"{event['name']} {trace.value(event['value'])}"),
    "REASONING_ENCRYPTED_VALUE": _Line(
        "cyan",
        "dim",
        lambda _, event: f"an encrypted value of {len(event['encryptedValue']):,} characters",
        "REASONING",
    ),
}
_OTHER = _Line("dim", "", lambda trace, event: trace.value({key: event[key] for key in event if key != "type"}))
