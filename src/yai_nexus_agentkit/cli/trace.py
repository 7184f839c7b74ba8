"""Pure. AG-UI events as lines that people read, live.

Text and reasoning are streamed as they come. A second text that runs at the same time waits until the first one has
ended, so that the two are not mixed word by word. A tool call is one line, at its end, with all of its arguments. Steps
and subagents are bars that stand before everything inside them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from yai_nexus_agentkit.cli.layout import Page, shortened
from yai_nexus_agentkit.cli.plain_events import Event, PlainEvents

__all__ = ["Trace", "brief"]


_LIMIT = 400
"""Characters of a value that are shown unless everything shall be."""
_NAMED_BY = 40
"""Characters of a call's arguments that tell its result from those of other calls."""
_BAR_CELLS = 20


@dataclass(slots=True)
class _Text:
    """A message that is being streamed."""

    key: str
    label: str
    style: str
    waiting: str = ""
    """What came while another text had the line."""
    ended: bool = False


@dataclass(slots=True)
class _Call:
    name: str
    arguments: str = ""


class Trace:
    """The trace of one run, or of several on one thread. `feed` returns what has to be written for an event."""

    def __init__(self, page: Page, *, full: bool = False) -> None:
        """`full`: show values in their whole length."""
        self._page = page
        self._limit = None if full else _LIMIT
        self._texts: dict[str, _Text] = {}
        """Open texts and those that wait, in order of their start; the first one has the line."""
        self._calls: dict[str, _Call] = {}
        """By id. Kept after the end: the result names the call."""
        self._growing: dict[str, str] = {}
        """Texts in the state by their path, as they were shown last."""
        self._plain = PlainEvents()
        self._thought = "REASONING"
        """What the last event's thoughts are called on the wire: clients of some versions get ``THINKING_*``."""
        self.count = 0
        """Events so far, chunks as they were sent."""

    def feed(self, event: Event) -> str:
        """What an event adds to the terminal."""
        self.count += 1
        self._thought = "THINKING" if event["type"].startswith("THINKING_") else "REASONING"
        return "".join(self._one(single) for single in self._plain.feed(event))

    def close(self) -> str:
        """End an unfinished line: the run was cut off."""
        return self._page.break_line()

    def _one(self, event: Event) -> str:
        handler = _HANDLERS.get(event["type"])
        if handler is None:
            return self._page.line(event["type"], self._value({k: v for k, v in event.items() if k != "type"}))
        return handler(self, event)

    # ---------------------------------------------------------------- runs

    def _run_started(self, event: Event) -> str:
        self._texts.clear()
        ids = f"thread {event['threadId']}  run {event['runId']}"
        return self._page.line("RUN_STARTED", ids, label_style="bold", style="dim")

    def _run_finished(self, event: Event) -> str:
        outcome = event.get("outcome") or {}
        lines = "".join(self._usage(usage) for usage in event.get("usage") or ())
        match outcome.get("type"):
            case "interrupt":
                ended = self._page.line("RUN_FINISHED", "paused with a question", label_style="bold", style="yellow")
                asked = (self._page.line("", f"? {i.get('message') or i['reason']}") for i in outcome["interrupts"])
                return lines + ended + "".join(asked)
            case "cancelled":
                return lines + self._page.line("RUN_FINISHED", "cancelled", label_style="bold", style="yellow")
        waiting = [self._name_of(call) for call in outcome.get("pendingToolCallIds") or ()]
        text = f"success, the client executes {', '.join(waiting)}" if waiting else "success"
        if event.get("result") is not None:
            text += f": {self._value(event['result'])}"
        return lines + self._page.line("RUN_FINISHED", text, label_style="bold", style="green")

    def _run_error(self, event: Event) -> str:
        lines = "".join(self._usage(usage) for usage in event.get("usage") or ())
        text = f"{event['code']}: {event['message']}" if event.get("code") else event["message"]
        return lines + self._page.line("RUN_ERROR", text, label_style="red", style="red")

    def _usage(self, usage: Event) -> str:
        named = " ".join(usage[key] for key in ("provider", "model") if usage.get(key))
        counts = ", ".join(f"{value:,} {_words(key)}" for key, value in usage.items() if isinstance(value, int))
        return self._page.line("usage", f"{named}: {counts}" if named else counts, style="dim")

    # ---------------------------------------------------------------- steps, subagents

    def _step_started(self, event: Event) -> str:
        name = event["stepName"]
        return self._page.open_bar(_owned("step", name, event), "STEP_STARTED", name)

    def _step_finished(self, event: Event) -> str:
        return self._page.close_bar(_owned("step", event["stepName"], event), "STEP_FINISHED")

    def _subagent_started(self, event: Event) -> str:
        title = event["name"] + (f": {event['description']}" if event.get("description") else "")
        return self._page.open_bar(f"subagent:{event['subagentRunId']}", "SUBAGENT_STARTED", shortened(title, 80))

    def _subagent_finished(self, event: Event) -> str:
        suspended = (event.get("outcome") or {}).get("type") == "suspended"
        key = f"subagent:{event['subagentRunId']}"
        return self._page.close_bar(key, "SUBAGENT_FINISHED", "suspended" if suspended else "")

    def _subagent_error(self, event: Event) -> str:
        key = f"subagent:{event['subagentRunId']}"
        return self._page.close_bar(key, "SUBAGENT_ERROR", shortened(event["message"], 80), style="red")

    # ---------------------------------------------------------------- text and reasoning

    def _text_started(self, event: Event) -> str:
        role = event.get("role", "assistant")
        label = "TEXT_MESSAGE" if role == "assistant" else f"TEXT_MESSAGE {role}"
        self._texts[event["messageId"]] = _Text(event["messageId"], label, "")
        return ""

    def _reasoning_started(self, event: Event) -> str:
        self._texts[event["messageId"]] = _Text(event["messageId"], self._thought, "italic dim")
        return ""

    def _text_content(self, event: Event) -> str:
        text = self._texts.get(event["messageId"])
        if text is None:
            return ""
        if text is not next(iter(self._texts.values())):
            text.waiting += event["delta"]
            return ""
        return self._page.stream(text.key, text.label, event["delta"], label_style="cyan", style=text.style)

    def _text_ended(self, event: Event) -> str:
        text = self._texts.get(event["messageId"])
        if text is None:
            return ""
        text.ended = True
        out = ""
        while self._texts and (first := next(iter(self._texts.values()))).ended:
            out += self._waiting(first) + self._page.break_line()
            del self._texts[first.key]
        return out + (self._waiting(next(iter(self._texts.values()))) if self._texts else "")

    def _waiting(self, text: _Text) -> str:
        waiting, text.waiting = text.waiting, ""
        if not waiting:
            return ""
        return self._page.stream(text.key, text.label, waiting, label_style="cyan", style=text.style)

    def _span_started(self, event: Event) -> str:
        title = (event.get("metadata") or {}).get("title")
        return self._page.open_bar(f"span:{event['messageId']}", f"{self._thought}_START", title) if title else ""

    def _span_ended(self, event: Event) -> str:
        return self._page.close_bar(f"span:{event['messageId']}", f"{self._thought}_END")

    def _encrypted(self, event: Event) -> str:
        text = f"an encrypted value of {len(event['encryptedValue']):,} characters"
        return self._page.line("REASONING", text, label_style="cyan", style="dim")

    # ---------------------------------------------------------------- tool calls

    def _call_started(self, event: Event) -> str:
        self._calls[event["toolCallId"]] = _Call(event["toolCallName"])
        return ""

    def _call_arguments(self, event: Event) -> str:
        if (call := self._calls.get(event["toolCallId"])) is not None:
            call.arguments += event["delta"]
        return ""

    def _call_ended(self, event: Event) -> str:
        call = self._calls.get(event["toolCallId"])
        if call is None:
            return ""
        call.arguments = _compact(call.arguments)
        text = f"{call.name}({shortened(call.arguments, self._limit)})"
        return self._page.line("TOOL_CALL", text, label_style="yellow", style="yellow")

    def _call_result(self, event: Event) -> str:
        failed = ((event.get("metadata") or {}).get("langgraph") or {}).get("status") == "error"
        content = shortened(_content_text(event["content"]), self._limit)
        text = f"{self._name_of(event['toolCallId'])} → {content}"
        style = "red" if failed else "green"
        return self._page.line("TOOL_CALL_RESULT", text, label_style="yellow", style=style)

    def _name_of(self, call_id: str) -> str:
        call = self._calls.get(call_id)
        if call is None:
            return call_id
        arguments = call.arguments if len(call.arguments) <= _NAMED_BY else f"{call.arguments[:_NAMED_BY]}…"
        return f"{call.name}({arguments})"

    # ---------------------------------------------------------------- state, messages, activities, custom

    def _state_snapshot(self, event: Event) -> str:
        return self._page.line("STATE_SNAPSHOT", self._value(event["snapshot"]), label_style="magenta", style="dim")

    def _state_delta(self, event: Event) -> str:
        lines = "\n".join(self._operation(operation) for operation in event["delta"])
        return self._page.line("STATE_DELTA", lines, label_style="magenta")

    def _operation(self, operation: Event) -> str:
        path = operation["path"].removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
        match operation["op"]:
            case "add" | "replace" | "test":
                return f"{path} {self._assigned(path, operation)}"
            case "remove":
                return f"{path} removed"
            case other:
                return f"{path} {other} from {operation.get('from', '')}"

    def _assigned(self, path: str, operation: Event) -> str:
        """The value; of a text that grows only what is new."""
        value, before = operation.get("value"), self._growing.get(path)
        if not isinstance(value, str):
            return f"{'==' if operation['op'] == 'test' else '='} {self._value(value)}"
        self._growing[path] = value
        if before and value.startswith(before):
            return f"+= {self._value(json.dumps(value[len(before) :], ensure_ascii=False))}"
        return f"= {self._value(value)}"

    def _messages_snapshot(self, event: Event) -> str:
        roles: dict[str, int] = {}
        for message in event["messages"]:
            roles[message["role"]] = roles.get(message["role"], 0) + 1
        text = ", ".join(f"{count} {role}" for role, count in roles.items()) or "none"
        return self._page.line("MESSAGES_SNAPSHOT", text, label_style="magenta", style="dim")

    def _activity(self, event: Event) -> str:
        content = event["content"]
        if event["activityType"] == "progress" and isinstance(content.get("fraction"), (int, float)):
            told = [str(content[key]) for key in ("name", "message") if content.get(key)]
            text = "  ".join([_progress(content["fraction"]), *told])
        else:
            text = f"{event['activityType']} {self._value(content)}"
        return self._page.line("ACTIVITY_SNAPSHOT", text, label_style="blue", style="blue")

    def _activity_delta(self, event: Event) -> str:
        lines = "\n".join(self._operation(operation) for operation in event["patch"])
        return self._page.line("ACTIVITY_DELTA", f"{event['activityType']} {lines}", label_style="blue", style="blue")

    def _custom(self, event: Event) -> str:
        text = f"{event['name']} {self._value(event['value'])}"
        return self._page.line("CUSTOM", text, label_style="blue", style="blue")

    def _value(self, value: Any) -> str:
        return shortened(brief(value), self._limit)


def brief(value: Any) -> str:
    """JSON in one line; text that stands alone without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _owned(kind: str, name: str, event: Event) -> str:
    """Steps of two subagents may have one name (AG-UI 1.0 §8)."""
    return f"{kind}:{event.get('subagentRunId', '')}:{name}"


def _compact(arguments: str) -> str:
    """``place="Berlin", days=3``; what is no JSON object stays as it is."""
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    if not isinstance(values, dict):
        return arguments
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def _content_text(content: Any) -> str:
    """The text of a result, media named by their kind."""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] if part.get("type") == "text" else f"[{part.get('type')}]" for part in content)


def _progress(fraction: float) -> str:
    share = min(max(fraction, 0.0), 1.0)
    filled = round(share * _BAR_CELLS)
    return f"{'█' * filled}{'░' * (_BAR_CELLS - filled)} {share:4.0%}"


def _words(name: str) -> str:
    """``inputTokens`` as ``input tokens``."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name)


_HANDLERS: Mapping[str, Callable[[Trace, Event], str]] = {
    "RUN_STARTED": Trace._run_started,
    "RUN_FINISHED": Trace._run_finished,
    "RUN_ERROR": Trace._run_error,
    "STEP_STARTED": Trace._step_started,
    "STEP_FINISHED": Trace._step_finished,
    "SUBAGENT_STARTED": Trace._subagent_started,
    "SUBAGENT_FINISHED": Trace._subagent_finished,
    "SUBAGENT_ERROR": Trace._subagent_error,
    "TEXT_MESSAGE_START": Trace._text_started,
    "TEXT_MESSAGE_CONTENT": Trace._text_content,
    "TEXT_MESSAGE_END": Trace._text_ended,
    "REASONING_START": Trace._span_started,
    "REASONING_END": Trace._span_ended,
    "REASONING_MESSAGE_START": Trace._reasoning_started,
    "REASONING_MESSAGE_CONTENT": Trace._text_content,
    "REASONING_MESSAGE_END": Trace._text_ended,
    "REASONING_ENCRYPTED_VALUE": Trace._encrypted,
    "TOOL_CALL_START": Trace._call_started,
    "TOOL_CALL_ARGS": Trace._call_arguments,
    "TOOL_CALL_END": Trace._call_ended,
    "TOOL_CALL_RESULT": Trace._call_result,
    "STATE_SNAPSHOT": Trace._state_snapshot,
    "STATE_DELTA": Trace._state_delta,
    "MESSAGES_SNAPSHOT": Trace._messages_snapshot,
    "ACTIVITY_SNAPSHOT": Trace._activity,
    "ACTIVITY_DELTA": Trace._activity_delta,
    "CUSTOM": Trace._custom,
}
