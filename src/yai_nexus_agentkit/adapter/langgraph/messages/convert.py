"""Pure. Messages of LangChain as AG-UI's; `to_langchain` is the way back. Total in both directions.

Members without a field in LangChain's messages (metadata, encrypted values, ids of parts, error texts) stays in
``additional_kwargs["agui"]``, which no provider is sent, so that a snapshot gives the client back what it had: a
snapshot that restates a message without its metadata erases it (AG-UI 1.0, section 11).

Normalised on the way there and back: empty assistant content and an empty list of calls are absent; arguments that are
a JSON object are rewritten; calls whose arguments are not come after the others; an ``error`` on a tool message
without one is its text. The ``error`` of a tool message without content is the model's content, and not the client's.
Left out: reasoning that does not say its provider's form, activities, subagents' messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    FunctionCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from ag_ui.core.types import ContentPart
from langchain_core import messages as lc
from langgraph.prebuilt.tool_node import msg_content_output

from yai_nexus_agentkit.adapter.langgraph.messages.answer import (
    activities,
    answer_facts,
    served_call,
    served_result,
    with_facts,
)
from yai_nexus_agentkit.adapter.langgraph.messages.content import (
    Whole,
    calls_of,
    given_id,
    message_id,
    model_calls,
    read_whole,
    served_ids,
)
from yai_nexus_agentkit.adapter.langgraph.messages.layout import Place
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE, is_withheld, mark_of
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import SIGNATURES, reasoning_message
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.orchestration.approvals import APPROVAL
from yai_nexus_agentkit.orchestration.client_tools import PENDING
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.deltas import unchecked
from yai_nexus_agentkit.protocol.fetched_media import as_sent, has_fetched
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text
from yai_nexus_agentkit.protocol.parts import for_old_peer, part_from_block, parts_text

__all__ = [
    "DEVELOPER",
    "KEPT",
    "Conversion",
    "client_form",
    "is_shown",
    "result_content",
    "to_agui",
    "tool_content",
    "was_fetched",
]

KEPT = "agui"
"""Key in ``additional_kwargs`` of what LangChain has no field for."""

DEVELOPER = "__openai_role__"
"""LangChain's own mark of a developer message, in ``additional_kwargs`` of a system message."""
_user, _assistant = unchecked(UserMessage, "id", "content"), unchecked(AssistantMessage, "id", "content")
_function, _call = unchecked(FunctionCall, "name", "arguments"), unchecked(ToolCall, "id", "function")
"""Most messages and calls of a long thread have no more than text, which is known to be text."""


def to_agui(
    messages: Sequence[lc.BaseMessage],
    *,
    declared: bool = True,
    reasoning: bool = True,
    marked: str = "developer",
    foreign: Iterable[Message] = (),
) -> list[Message]:
    """The messages as a client holds them. `declared=False` gives what clients before 1.0 accept. `marked`: the role of
    what middleware wrote under the user's name, ``developer`` or ``user``. `foreign`: messages of subagents that the
    client holds beside them; no call gets the id of one of theirs.

    Left out: removals, placeholders (`PENDING`), what is withheld, answers that say nothing, and kinds of message that
    nobody knows.
    """
    return _ToAGUI(declared, reasoning, marked, calls_of((), foreign=foreign)).read(messages)


class Conversion:
    """The messages of one run's client, each time that all are needed. Those that did not change are converted once.

    The results share these messages: nobody may change them. What changed is seen by the fields of the thread's
    messages, whose values are compared by identity first, so not inside of a value that was changed in place.
    """

    def __init__(self, form: Mapping[str, Any]) -> None:
        """`form`: the arguments of `to_agui`."""
        self._form = form
        self._foreign: list[Message] = []
        self._read: list[tuple[Any, ...]] = []
        """The fields of the messages that `_pass` has read."""
        self._pass: _ToAGUI | None = None

    def of(self, messages: Sequence[lc.BaseMessage], foreign: Iterable[Message]) -> list[Message]:
        """As `to_agui`."""
        foreign, fields = list(foreign), [tuple(message.__dict__.values()) for message in messages]
        if self._pass is None or foreign != self._foreign or fields[: len(self._read)] != self._read:
            self._pass, self._read = _ToAGUI(**self._form, calls=calls_of((), foreign=foreign)), []
        found = self._pass.read(messages[len(self._read) :], start=len(self._read))
        self._foreign, self._read = foreign, fields
        return found


def client_form(options: AdapterOptions, *, declared: bool) -> dict[str, Any]:
    """The arguments of `to_agui` for a client."""
    return {"declared": declared, "reasoning": options.reasoning != "off", "marked": options.marked_messages}


def was_fetched(message: lc.BaseMessage) -> bool:
    """The message has files whose URL the client sent, and is shown."""
    return bool(message.additional_kwargs) and has_fetched(_kept(message).get("parts"))


def is_shown(message: lc.BaseMessage) -> bool:
    """Whether a client has a message for this one: placeholders, answers that say nothing and what is withheld are not
    shown."""
    if (kind := message.type) == "human" or (kind == "ai" and _is_plain(message)):  # most of a long thread
        return True
    if message.additional_kwargs and is_withheld(message):
        return False
    if kind == "tool":
        return not message.additional_kwargs.get(PENDING)
    if isinstance(message, lc.AIMessage):
        if message.tool_calls or message.invalid_tool_calls:
            return True
        whole = read_whole(message)
        return bool(whole.text or whole.served)
    if isinstance(message, lc.ChatMessage):
        return bool(to_agui([message]))
    return not isinstance(message, lc.RemoveMessage)


def _is_plain(message: lc.BaseMessage) -> bool:
    """The message has text, and no more than that."""
    return message.content.__class__ is str and bool(message.content) and not message.additional_kwargs


def _calls(message: lc.BaseMessage) -> bool:
    return isinstance(message, lc.AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)


def tool_content(message: lc.ToolMessage, *, declared: bool = True) -> str | list[ContentPart]:
    """A tool's result for the wire: text, or parts where it holds media and the peer declared 1.0 (section 6).

    Blocks that are neither text nor media become JSON text; so does a whole list that holds anything but blocks, as
    ToolNode stores it.
    """
    content: Any = message.content
    if not isinstance(content, str) and not all(isinstance(block, Mapping) for block in content):
        content = msg_content_output(content)
    if isinstance(content, str):
        return clean_text(content)
    parts = [part_from_block(block) or part_from_block(json_text(block)) for block in content]
    known = [part for part in parts if part is not None]
    kept = _kept(message).get("parts")
    if declared and (isinstance(kept, list) or any(part.type != "text" for part in known)):
        return _with_kept(known, kept)
    return parts_text(known, "\n")


def result_content(message: lc.ToolMessage, *, declared: bool = True) -> str | list[ContentPart]:
    """The same for the client that sent the message: without an error that stands in the place of empty content, where
    `to_langchain` put it for the model."""
    content = tool_content(message, declared=declared)
    if message.status == "error" and (kept := _kept(message)).get("blank") and content == kept.get("error"):
        return ""
    return content


class _ToAGUI:
    """One pass over a list of messages."""

    def __init__(self, declared: bool, reasoning: bool, marked: str, calls: ThreadCalls) -> None:
        self.out: list[Message] = []
        self._marked = marked
        self._behind: list[Message] = []
        """Activities of an answer, which stand behind it and the results of its calls."""
        self._declared = declared
        self._reasoning = reasoning
        self._calls = calls

    def read(self, messages: Iterable[lc.BaseMessage], start: int = 0) -> list[Message]:
        """All that was read, and these messages; `start`: the place of the first of them."""
        for position, message in enumerate(messages, start):
            convert = _TO_AGUI.get(message.type)
            if convert is not None and not (message.additional_kwargs and is_withheld(message)):
                if self._behind and convert is not _ToAGUI.tool:  # the results of the last answer's calls are complete
                    self.out += self._behind
                    self._behind = []
                convert(self, message, message_id(message, position))
        return [*self.out, *self._behind]

    def human(self, message: lc.BaseMessage, own_id: str) -> None:
        content = message.content
        if self._marked == "developer" and message.additional_kwargs and mark_of(message):
            self.out.append(DeveloperMessage(id=own_id, content=_plain(message), **_named(message)))
            return
        if isinstance(content, str):
            fields = _named(message) if message.additional_kwargs or message.name else None
            make = partial(UserMessage, **fields) if fields else _user
            self.out.append(make(id=own_id, content=clean_text(content)))
            return
        found = [part for part in map(part_from_block, content) if part is not None]
        parts = _with_kept(found, _kept(message).get("parts"))
        if not self._declared:
            parts = for_old_peer(parts)
        self.out.append(UserMessage(id=own_id, content=parts or "", **_named(message)))

    def system(self, message: lc.BaseMessage, own_id: str) -> None:
        developer = message.additional_kwargs.get(DEVELOPER) == "developer"
        model = DeveloperMessage if developer else SystemMessage
        self.out.append(model(id=own_id, content=_plain(message), **_named(message)))

    def ai(self, message: lc.BaseMessage, own_id: str) -> None:
        if _is_plain(message) and not (message.response_metadata or _calls(message)):
            make = partial(AssistantMessage, **_named(message)) if message.name else _assistant
            self.out.append(make(id=own_id, content=_plain(message)))
            return
        whole, fields = read_whole(message), _named(message)
        if self._reasoning and whole.blocks:
            provider = message.response_metadata.get("model_provider")
            self.out += [reasoning_message(own_id, n, block, provider) for n, block in enumerate(whole.blocks)]
        calls, results = self._served(whole, message, own_id) if whole.served else ([], [])
        if isinstance(message, lc.AIMessage) and _calls(message):
            calls += self._tool_calls(message, own_id)
        if calls:
            fields["tool_calls"] = calls
        metadata = fields.get("metadata")
        if (message.response_metadata or message.additional_kwargs or whole.cited) and (
            facts := answer_facts(message, whole)
        ):
            metadata = {SOURCE: facts} if metadata is None else with_facts(metadata, facts)
            if whole.text:
                fields["metadata"] = metadata
        own = metadata.get(SOURCE) if metadata is not None else None
        cites = type(own) is dict and "citations" in own
        extras = activities(own_id, whole, metadata) if cites or whole.media else []
        if extras and whole.media_first:
            self.out.append(extras.pop(0))
        if whole.text or calls:  # else it would be an empty bubble (AG-UI 1.0, section 5)
            self.out.append(AssistantMessage(id=own_id, content=clean_text(whole.text) or None, **fields))
        self.out += results
        self._behind += extras

    def _served(self, whole: Whole, message: lc.BaseMessage, own_id: str) -> tuple[list[ToolCall], list[ToolMessage]]:
        """The calls of the provider's tools, and their results."""
        provider = message.response_metadata.get("model_provider")
        calls: list[ToolCall] = []
        results: list[tuple[bool, Place, ToolMessage]] = []
        for one in whole.served:
            raw, result = served_ids(own_id, one, whole.served)
            call = self._calls.made(own_id, raw)
            self._calls.answer(call.id, result)
            calls.append(served_call(one, call.id, provider))
            results.append((one.answer is None, one.answered_at, served_result(one, call.id, result)))
        results.sort(key=lambda result: result[:2])  # as they came; those that never came at the end
        return calls, [result for *_, result in results]

    def _tool_calls(self, message: lc.AIMessage, own_id: str) -> list[ToolCall]:
        kept, signatures = _kept(message).get("calls"), message.additional_kwargs.get(SIGNATURES)
        calls = []
        for raw_id, call in model_calls(message, own_id):
            args = call.get("args")
            arguments = json_text(args) if isinstance(args, Mapping) else clean_text(args or "")
            function = _function(clean_text(call.get("name") or ""), arguments)
            extra = kept.get(raw_id) if isinstance(kept, Mapping) else None
            if extra is None and isinstance(signatures, Mapping) and raw_id in signatures:
                extra = {"encrypted_value": signatures[raw_id]}
            made = self._calls.made(own_id, raw_id, given=given_id(call))
            make = partial(ToolCall, **_extra(extra)) if extra else _call
            calls.append(make(id=made.id, function=function))
        return calls

    def tool(self, message: lc.BaseMessage, own_id: str) -> None:
        if not isinstance(message, lc.ToolMessage) or message.additional_kwargs.get(PENDING):
            return
        content = result_content(message, declared=self._declared)
        fields = _facts(message)
        if decided := message.additional_kwargs.get(APPROVAL):
            fields["metadata"] = with_facts(fields.get("metadata") or {}, {"approval": str(decided)})
        if message.status == "error":
            error = _kept(message).get("error")
            text = content if isinstance(content, str) else parts_text(content, "\n")
            fields["error"] = error if isinstance(error, str) else text or "error"
        raw = clean_text(str(message.tool_call_id))
        call = self._calls.meant(raw)
        call_id = self._calls.answer(raw if call is None else call.id, own_id).id
        self.out.append(ToolMessage(id=own_id, content=content, tool_call_id=call_id, **fields))

    def function(self, message: lc.BaseMessage, own_id: str) -> None:
        """OpenAI's calls before tools had no ids; the name links call and result."""
        call_id = clean_text(message.name or own_id)
        self.out.append(ToolMessage(id=own_id, content=_plain(message), tool_call_id=call_id))

    def chat(self, message: lc.BaseMessage, own_id: str) -> None:
        """A free role: those of AG-UI are themselves, any other is a named assistant."""
        role = getattr(message, "role", "")
        text, fields = _plain(message), _named(message)
        match role:
            case "user" | "human":
                self.human(message, own_id)
            case "system":
                self.out.append(SystemMessage(id=own_id, content=text, **fields))
            case "developer":
                self.out.append(DeveloperMessage(id=own_id, content=text, **fields))
            case _ if not text:  # an empty bubble
                return
            case "assistant" | "ai":
                self.out.append(AssistantMessage(id=own_id, content=text, **fields))
            case _:
                fields.setdefault("name", clean_text(str(role)) or "unknown")
                self.out.append(AssistantMessage(id=own_id, content=text, **fields))


_TO_AGUI: Mapping[str, Callable[[_ToAGUI, lc.BaseMessage, str], None]] = {
    "human": _ToAGUI.human,
    "HumanMessageChunk": _ToAGUI.human,
    "system": _ToAGUI.system,
    "SystemMessageChunk": _ToAGUI.system,
    "ai": _ToAGUI.ai,
    "AIMessageChunk": _ToAGUI.ai,
    "tool": _ToAGUI.tool,
    "ToolMessageChunk": _ToAGUI.tool,
    "function": _ToAGUI.function,
    "FunctionMessageChunk": _ToAGUI.function,
    "chat": _ToAGUI.chat,
    "ChatMessageChunk": _ToAGUI.chat,
}


def _plain(message: lc.BaseMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return clean_text(content)
    return parts_text([part for part in map(part_from_block, content) if part is not None], "")


def _named(message: lc.BaseMessage) -> dict[str, Any]:
    fields = _facts(message) if message.additional_kwargs else {}
    if message.name:
        fields["name"] = clean_text(message.name)
    return fields


def _facts(message: lc.BaseMessage) -> dict[str, Any]:
    """The members that all messages may have, with the mark of middleware in the metadata."""
    fields = _extra(_kept(message))
    if mark := mark_of(message):
        fields["metadata"] = {**(fields.get("metadata") or {}), **mark}
    return fields


def _kept(message: lc.BaseMessage) -> Mapping[str, Any]:
    kept = message.additional_kwargs.get(KEPT)
    return kept if isinstance(kept, Mapping) else {}


def _extra(kept: Any) -> dict[str, Any]:
    """The members that all messages and calls may have."""
    fields: dict[str, Any] = {}
    if isinstance(kept, Mapping):
        if isinstance(metadata := kept.get("metadata"), Mapping):
            fields["metadata"] = json_safe(metadata)
        if isinstance(encrypted := kept.get("encrypted_value"), str):
            fields["encrypted_value"] = clean_text(encrypted)
    return fields


def _with_kept(parts: list[ContentPart], kept: Any) -> list[ContentPart]:
    """The parts with their own ids and metadata, unless the graph has changed their number."""
    if not isinstance(kept, list) or len(kept) != len(parts):
        return parts
    out: list[ContentPart] = []
    for part, extra in zip(parts, kept, strict=True):
        own = json_safe(extra) if isinstance(extra, Mapping) else {}
        whole = part.model_copy(update={key: own[key] for key in ("id", "metadata") if key in own})
        out.append(as_sent(whole))
    return out
