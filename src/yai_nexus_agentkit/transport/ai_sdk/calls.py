"""Pure. Tool calls as parts of a message of the AI SDK.

All tools are ``dynamic``: the page's code has no schemas of the server's tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ag_ui.core import AssistantMessage, Message, ToolCallResultEvent
from pydantic import TypeAdapter

from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk, facts_of
from yai_nexus_agentkit.transport.ai_sdk.questions import past_approval
from yai_nexus_agentkit.transport.facts import word

__all__ = ["Calls"]

_DENIALS = frozenset({"denied", "cancelled", "expired", "invalid"})
"""Values of the fact ``approval`` of a result: the tool did not run."""


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    state: Literal["streaming", "complete", "over"] = "streaming"
    """Its arguments come; they are there; it has its result, or cannot have one."""
    loose: bool = False
    """Nothing says that its arguments are complete."""
    provider: bool = False
    """The model's provider runs it."""
    facts: dict[str, Any] = field(default_factory=dict)
    args: list[str] = field(default_factory=list)

    def chunk(self, kind: str, **more: Any) -> Chunk:
        executed = {"providerExecuted": True} if self.provider else {}
        return {"type": kind, "toolCallId": self.id, **more, "dynamic": True, **executed}


class Calls:
    """The calls of one message. `earlier`: the conversation, whose calls a question may be about. `verdicts`: the
    page's answers to approvals, by call. `past`: those of approvals that the page does not have."""

    def __init__(
        self,
        version: int,
        earlier: Sequence[Message],
        verdicts: Mapping[str, bool | None],
        past: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._version, self.earlier, self._verdicts, self._past = version, earlier, verdicts, past
        self._calls: dict[str, _Call] = {}

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._calls

    @property
    def streaming(self) -> bool:
        """The arguments of a call are not complete, and an event will say when they are."""
        return any(call.state == "streaming" and not call.loose for call in self._calls.values())

    def begin(self, call_id: str, name: str, event: Any, *, loose: bool = False) -> Chunk:
        """A new call, announced by `event`. `loose`: no event will say that its arguments are complete."""
        facts = facts_of(event, event.parent_message_id)
        call = self._calls[call_id] = _Call(call_id, name, loose=loose, facts=facts)
        call.provider = word(event.metadata, "executor") == "provider"
        return call.chunk("tool-input-start", toolName=name)

    def hold(self, call_id: str) -> None:
        """The client has this call, with its arguments."""
        self._calls.setdefault(call_id, _Call(call_id, "", state="complete"))

    def more(self, call_id: str, delta: str) -> Iterator[Chunk]:
        """A piece of the arguments."""
        call = self._calls.get(call_id)
        if call is not None and call.state == "streaming":
            call.args.append(delta)
            yield {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": delta}

    def sign(self, call_id: str, value: str) -> None:
        """Note the provider's signature of a call."""
        if (call := self._calls.get(call_id)) is not None:
            call.facts["encryptedValue"] = value

    def complete(self, call_id: str | None = None) -> Iterator[Chunk]:
        """The arguments are complete: of this call, or of all."""
        for call in list(self._calls.values()) if call_id is None else filter(None, [self._calls.get(call_id)]):
            if call.state == "streaming":
                chunk = self._input(call)
                yield chunk
                if call.id in self._past and self._version > 6 and chunk["type"] == "tool-input-available":
                    yield from past_approval(call.id, self._past[call.id])

    def _input(self, call: _Call) -> Chunk:
        text, call.args, call.state = "".join(call.args), [], "complete"
        more: dict[str, Any] = {"providerMetadata": {"agui": call.facts}} if call.facts else {}
        try:
            return call.chunk("tool-input-available", toolName=call.name, input=json.loads(text or "{}"), **more)
        except (ValueError, RecursionError):
            call.state = "over"
            error = "the arguments are not JSON"
            return call.chunk("tool-input-error", toolName=call.name, input=text, errorText=error, **more)

    def answer(self, event: ToolCallResultEvent) -> Iterator[Chunk]:
        """The result of a call, or why it has none."""
        call = self._calls.get(event.tool_call_id)
        if call is None:
            return
        yield from self.complete(call.id)
        if call.state == "over":
            return
        call.state = "over"
        output, approved, past = _output(event.content), self._verdicts.get(call.id), self._past.get(call.id)
        if past is not None:
            approved = past["approved"]
        denied = word(event.metadata, "approval") in _DENIALS
        shows = self._version > (5 if past is None else 6)  # 6 cannot be sent an answered approval, which denials need
        if shows and (approved is False or (denied and approved is None)):
            yield {"type": "tool-output-denied", "toolCallId": call.id}
        elif denied or word(event.metadata, "status") == "error":  # too late, for example: the page had approved
            yield call.chunk("tool-output-error", errorText=_text(output), **_facts(event))
        else:
            yield call.chunk("tool-output-available", output=output, **_facts(event))

    def are_over(self, call_ids: Iterable[str]) -> bool:
        """There are some of these that no provider runs, and each has its result, or cannot have one."""
        own = [call for call in map(self._calls.__getitem__, call_ids) if not call.provider]
        return bool(own) and all(call.state == "over" for call in own)

    def forget(self, call_ids: Iterable[str]) -> None:
        """The client has these no more."""
        for call_id in call_ids:
            del self._calls[call_id]

    def can_wait(self, call_id: str) -> bool:
        """The message has the call, or an older one, and it has no result."""
        call = self._calls.get(call_id)
        return call.state != "over" if call is not None else self._older(call_id) is not None

    def again(self, call_id: str) -> Chunk:
        """A call of an older message once more: a question about it must follow it in the same message."""
        name, args = self._older(call_id) or ("", "")
        call = self._calls[call_id] = _Call(call_id, name, args=[args])
        return self._input(call)

    def _older(self, call_id: str) -> tuple[str, str] | None:
        for message in reversed(self.earlier):
            for call in (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ():
                if call.id == call_id:
                    return call.function.name, call.function.arguments
        return None


def _facts(event: ToolCallResultEvent) -> dict[str, Any]:
    """The result's id and metadata, which pages from version 6 on keep and send back."""
    metadata = {"metadata": event.metadata} if event.metadata else {}
    return {"providerMetadata": {"agui": {"resultId": event.message_id, **metadata}}}


_CONTENT: TypeAdapter[Any] = TypeAdapter(Any)


def _output(content: Any) -> Any:
    """A result as JSON data. Text that is an object or a list in JSON is read; other text stays as it is."""
    if not isinstance(content, str):
        return json_safe(_CONTENT.dump_python(content, mode="json", by_alias=True, exclude_none=True))
    if content[:1] in ("{", "["):
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            return content
    return content


def _text(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
