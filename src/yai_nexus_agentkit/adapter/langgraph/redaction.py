"""Pure. The redaction of an agent's own `PIIMiddleware`, for everything of the agent that goes to clients.

The middleware redacts the text of messages in the thread. Arguments of calls, reasoning and state stay there as they
are, since the agent works with them; LangChain's v3 stream redacts them on the way to the reader. This does the same,
as hooks in front of the application's. What a user wrote is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import BaseEvent, EventType, Message, RunFinishedInterruptOutcome
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE, is_marked
from yai_nexus_agentkit.adapter.run_context import Hooks, RunContext
from yai_nexus_agentkit.protocol.json.json_safe import json_safe, json_text

__all__ = ["redacting"]

Rule = Callable[[str], str]
_ARGUMENTS = (EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_CHUNK)
_FREE = ("delta", "content", "value", "patch", "result", "message", "outcome")
"""The fields of events that hold what an agent says. Ids, names and encrypted values are none."""
_SNAPSHOTS = (EventType.MESSAGES_SNAPSHOT, EventType.STATE_SNAPSHOT, EventType.STATE_DELTA)
"""Made from what `on_messages` and `on_state` let through."""


def redacting(middlewares: Sequence[Any], hooks: Hooks) -> Hooks:
    """The hooks, behind the redaction of these `PIIMiddleware`s."""
    redact = _Redaction([_rule(one) for one in middlewares])
    on_messages, on_state, on_event = hooks.on_messages, hooks.on_state, hooks.on_event

    def messages(given: list[Message], run: RunContext) -> list[Message]:
        shown = [redact.message(message) for message in given]
        return shown if on_messages is None else on_messages(shown, run)

    def state(given: dict[str, Any], run: RunContext) -> dict[str, Any]:
        shown = {key: redact.value(value) for key, value in given.items()}
        return shown if on_state is None else on_state(shown, run)

    def event(given: BaseEvent, run: RunContext) -> Iterable[BaseEvent]:
        shown = redact.event(given)
        return [shown] if on_event is None else on_event(shown, run)

    return replace(hooks, on_messages=messages, on_state=state, on_event=event)


def _rule(middleware: Any) -> Rule:
    """The redaction of a text by the middleware's own public hooks. Text that it blocks gets placeholders."""

    def redact(text: str) -> str:
        matches = middleware.detector(text) if text else ()
        if not matches:
            return text
        if middleware.strategy in ("redact", "block"):
            placeholder = f"[REDACTED_{str(middleware.pii_type).upper()}]"
            for match in sorted(matches, key=lambda match: match["start"], reverse=True):
                text = text[: match["start"]] + placeholder + text[match["end"] :]
            return text
        if middleware.apply_to_output:
            changed = middleware.after_model({"messages": [AIMessage(text)]}, None)
        else:
            result = ToolMessage(text, tool_call_id="")
            changed = middleware.before_model({"messages": [AIMessage(""), result]}, None)
        return str(changed["messages"][-1].content) if changed else text

    return redact


class _Redaction:
    """All rules of an agent, on values of any shape. Values that need no change are returned as they are."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def text(self, text: str) -> str:
        for rule in self._rules:
            text = rule(text)
        return text

    def value(self, value: Any) -> Any:
        """Every text in a value. An object that is none of JSON's becomes JSON where its text needs a change."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            changed: Any = {key: self.value(inner) for key, inner in value.items()}
            return changed if any(changed[key] is not inner for key, inner in value.items()) else value
        if isinstance(value, list | tuple):
            changed = [self.value(inner) for inner in value]
            return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
        if value is None or isinstance(value, bool | int | float):
            return value
        safe = json_safe(value)
        return value if (changed := self.value(safe)) is safe else changed

    def arguments(self, text: str) -> str:
        """The argument text of a call, which stays JSON."""
        try:
            parsed = from_json(text)
        except ValueError:
            return self.text(text)
        changed = self.value(parsed)
        return text if changed is parsed else json_text(changed)

    def message(self, message: Message) -> Message:
        """A message, unless the user wrote it or gave it as an instruction."""
        if message.role == "user" or (message.role in ("system", "developer") and not is_marked(message)):
            return message
        update: dict[str, Any] = {}
        for name in ("content", "error"):
            given = getattr(message, name, None)
            if (changed := self._content(given)) is not given:
                update[name] = changed
        if (changed := self._cited(message.metadata)) is not message.metadata:
            update["metadata"] = changed
        calls = getattr(message, "tool_calls", None) or ()
        texts = [self.arguments(call.function.arguments) for call in calls]
        if any(text is not call.function.arguments for text, call in zip(texts, calls, strict=True)):
            update["tool_calls"] = [
                call.model_copy(update={"function": call.function.model_copy(update={"arguments": text})})
                for text, call in zip(texts, calls, strict=True)
            ]
        return message.model_copy(update=update) if update else message

    def _cited(self, metadata: dict[str, Any] | None) -> dict[str, Any] | None:
        """Metadata with the words of its citations redacted; other facts of ours are none of the agent's words."""
        facts = (metadata or {}).get(SOURCE)
        citations = facts.get("citations") if isinstance(facts, Mapping) else None
        if metadata is None or facts is None or (changed := self.value(citations)) is citations:
            return metadata
        return {**metadata, SOURCE: {**facts, "citations": changed}}

    def _content(self, content: Any) -> Any:
        if not isinstance(content, list):
            return self.value(content)
        parts = [self._part(part) for part in content]
        return parts if any(a is not b for a, b in zip(parts, content, strict=True)) else content

    def _part(self, part: Any) -> Any:
        given = getattr(part, "text", None)
        changed = self.text(given) if isinstance(given, str) else given
        return part if changed is given else part.model_copy(update={"text": changed})

    def event(self, event: BaseEvent) -> BaseEvent:
        """An event, with the texts of its free fields redacted."""
        if event.type in _SNAPSHOTS:
            return event
        update: dict[str, Any] = {}
        for name in _FREE:
            given = getattr(event, name, None)
            if given is not None and (changed := self._field(event, name, given)) is not given:
                update[name] = changed
        if (metadata := self._cited(event.metadata)) is not event.metadata:
            update["metadata"] = metadata
        return event.model_copy(update=update) if update else event

    def _field(self, event: BaseEvent, name: str, given: Any) -> Any:
        if name == "delta" and event.type in _ARGUMENTS:
            return self.arguments(given)
        if isinstance(given, RunFinishedInterruptOutcome):
            asked = [self._question(one) for one in given.interrupts]
            return given.model_copy(update={"interrupts": asked})
        if isinstance(given, BaseModel):
            return given
        return self._content(given) if name == "content" else self.value(given)

    def _question(self, interrupt: Any) -> Any:
        texts = {"message": interrupt.message, "metadata": interrupt.metadata}
        return interrupt.model_copy(update={key: self.value(value) for key, value in texts.items()})
