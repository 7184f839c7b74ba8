"""Pure. The parts of an answer other than text and reasoning, as AG-UI entities, and back.

AG-UI has no entity of its own for what a provider does by itself. Here a call of a provider's tool is a tool call with
a result, both with ``{"executor": "provider"}`` in ``metadata["langgraph"]``; media and citations are activities of the
types `MEDIA` and `CITATIONS`; the rest is metadata of the answer. The metadata of a call has its shape (``form``, and
the ``block`` without what the call says), so that it can be put back ``at`` its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ag_ui.core import ActivityMessage, AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage
from langchain_core.messages import BaseMessage
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.messages.citations import citations_of
from yai_nexus_agentkit.adapter.langgraph.messages.content import Whole
from yai_nexus_agentkit.adapter.langgraph.messages.finish import finish_of
from yai_nexus_agentkit.adapter.langgraph.messages.layout import Place, Served
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import Answered, Called, shape_of
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import place_of
from yai_nexus_agentkit.protocol.activities import CITATIONS, MEDIA
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text
from yai_nexus_agentkit.protocol.parts import MediaPart

__all__ = [
    "activities",
    "activity_id",
    "answer_facts",
    "argument_text",
    "call_metadata",
    "citations_content",
    "is_derived",
    "media_content",
    "own_messages",
    "restore_served",
    "result_metadata",
    "result_text",
    "served_call",
    "served_result",
    "with_facts",
]

_role = attrgetter("role")
_MARK = {"executor": "provider"}
_MAX_MEDIA = 8 * 1024 * 1024
"""Characters of one picture or sound: clients give up at an event of 10 MiB (AG-UI 1.0, HTTP and SSE)."""
_SAID = frozenset({"user", "assistant", "system", "developer"})
"""Roles of messages that are never derived."""
_INCOMPLETE = {SOURCE: {**_MARK, "status": "incomplete"}}
"""Of the result of a call that has none."""


def is_derived(message: Message) -> bool:
    """The message shows a part of an answer, and is none of the thread's: reasoning, an activity, or the result of a
    provider's tool."""
    return message.role not in _SAID and (message.role != "tool" or _is_marked(message))


def own_messages(messages: Sequence[Message]) -> list[Message]:
    """Those that are not derived (`is_derived`). A result is known without its mark too, by its call's, or by the names
    of `content.served_ids`: clients before 0.0.59 drop metadata."""
    if _SAID.issuperset(map(_role, messages)):
        return list(messages)
    made = [(call, m.id) for m in messages if m.role == "assistant" and m.tool_calls for call in m.tool_calls]
    makers = {call.id: maker for call, maker in made}
    marked = {call.id for call, _ in made if _is_marked(call)}

    def is_result(message: Message) -> bool:
        if not isinstance(message, ToolMessage):
            return False
        maker = makers.get(message.tool_call_id)
        named = maker is not None and message.id.rpartition("-provider-")[0] == maker
        return named or message.tool_call_id in marked

    return [m for m in messages if m.role in _SAID or not (is_derived(m) or is_result(m))]


def _facts(entity: Any) -> Mapping[str, Any]:
    facts = (entity.metadata or {}).get(SOURCE) if isinstance(entity.metadata, Mapping) else None
    return facts if isinstance(facts, Mapping) else {}


def _is_marked(entity: Any) -> bool:
    return _facts(entity).get("executor") == "provider"


# ---------------------------------------------------------------------- metadata and activities


def answer_facts(message: BaseMessage, whole: Whole) -> dict[str, Any]:
    """How the answer ended (`finish_of`), and its ``citations``."""
    facts: dict[str, Any] = finish_of(message)
    cites = whole.cited or message.additional_kwargs or "grounding_metadata" in message.response_metadata
    if cites and (citations := citations_of(message, whole.text, whole.cited)):
        facts["citations"] = citations
    return facts


def with_facts(metadata: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a message, with these facts of ours."""
    own = metadata.get(SOURCE)
    return {**metadata, SOURCE: {**(own if isinstance(own, Mapping) else {}), **facts}}


def activity_id(message_id: str, activity_type: str) -> str:
    """The id of an activity of an answer."""
    return f"{message_id}-{activity_type}"


def media_content(message_id: str, parts: Iterable[MediaPart]) -> dict[str, Any]:
    """Content of the activity with an answer's media; ``omitted`` is the number of those that no client takes."""
    given = [part.model_dump(mode="json", by_alias=True) for part in parts]
    kept = [part for part in given if len(part["source"]["value"]) <= _MAX_MEDIA]
    omitted = {"omitted": len(given) - len(kept)} if len(kept) < len(given) else {}
    return {"messageId": message_id, "parts": kept, **omitted}


def citations_content(message_id: str, citations: Sequence[Any]) -> dict[str, Any]:
    """Content of the activity with an answer's citations."""
    return {"messageId": message_id, "citations": list(citations)}


def activities(message_id: str, whole: Whole, metadata: Mapping[str, Any] | None) -> list[ActivityMessage]:
    """The activities of an answer, media first. `metadata`: of the answer."""
    facts = (metadata or {}).get(SOURCE)
    citations = facts.get("citations") if isinstance(facts, Mapping) else None
    found: list[tuple[str, dict[str, Any]]] = []
    if whole.media:
        found.append((MEDIA, media_content(message_id, whole.media)))
    if isinstance(citations, list) and citations:
        found.append((CITATIONS, citations_content(message_id, citations)))
    return [
        ActivityMessage(id=activity_id(message_id, kind), activity_type=kind, content=content)
        for kind, content in found
    ]


# ---------------------------------------------------------------------- calls of the provider's tools


def call_metadata(served: Served, provider: Any) -> dict[str, Any]:
    """Metadata of the call. `provider`: ``model_provider`` of its message."""
    facts: dict[str, Any] = {**_MARK, "form": served.call.form, "at": list(served.place)}
    if isinstance(provider, str) and provider:
        facts["provider"] = clean_text(provider)
    if served.call.rest:
        facts["block"] = json_safe(served.call.rest)
    return {SOURCE: facts}


def argument_text(args: Any) -> str:
    """The argument text of a call."""
    return clean_text(args) if isinstance(args, str) else json_text(args)


def result_metadata(served: Served) -> dict[str, Any]:
    """Metadata of the result's message."""
    answer = served.answer
    if answer is None:
        return _INCOMPLETE
    facts: dict[str, Any] = {**_MARK, "form": answer.form, "at": list(served.answered_at)}
    if answer.failed:
        facts["status"] = "error"
    if isinstance(answer.content, str):
        facts["text"] = True
    if answer.rest:
        facts["block"] = json_safe(answer.rest)
    return {SOURCE: facts}


def result_text(served: Served) -> str:
    """The content of the result's message: text as it is, other data as JSON."""
    content = served.answer.content if served.answer is not None else ""
    return clean_text(content) if isinstance(content, str) else json_text(content)


def served_call(served: Served, call_id: str, provider: Any) -> ToolCall:
    """The call in a message. Arguments that are a JSON object are rewritten, as those of other calls."""
    args = _arguments(served.args) or served.args if isinstance(served.args, str) else served.args
    function = FunctionCall(name=clean_text(served.call.name), arguments=argument_text(args))
    return ToolCall(id=call_id, function=function, metadata=call_metadata(served, provider))


def served_result(served: Served, call_id: str, message_id: str) -> ToolMessage:
    """The result as a message."""
    return ToolMessage(
        id=message_id, tool_call_id=call_id, content=result_text(served), metadata=result_metadata(served)
    )


class Restored(NamedTuple):
    """Parts of a message that hold its calls of the provider's tools."""

    blocks: list[tuple[Place, list[Any], bool]]
    """With their places (`layout.arrange`)."""
    response_metadata: dict[str, Any]
    calls: frozenset[str]
    """Ids of these calls."""


def restore_served(message: AssistantMessage, results: Mapping[str, ToolMessage]) -> Restored:
    """The provider's calls of an answer, in the provider's shapes. `results`: by call id; of derived messages alone.

    Left out, since a provider refuses it: a call without result, and one that does not say its shape.
    """
    restored = Restored([], {}, frozenset(call.id for call in message.tool_calls or () if _is_served(call, results)))
    for call in message.tool_calls or ():
        facts, result = _facts(call), results.get(call.id)
        shape = shape_of(str(facts.get("form")))
        if call.id not in restored.calls or shape is None:
            continue
        if isinstance(provider := facts.get("provider"), str):
            restored.response_metadata["model_provider"] = provider
        if shape.version is not None:
            restored.response_metadata["output_version"] = shape.version
        raw, block = call.id.removesuffix(f"-{message.id}"), facts.get("block")
        rest = block if isinstance(block, Mapping) else {}
        called = Called(raw, call.function.name, _arguments(call.function.arguments), shape.name, rest)
        answered = _answered(result, raw) if result is not None else None
        place = place_of(facts.get("at"))
        if shape.both is not None:
            restored.blocks.append((place, [shape.both(called, answered)], True))
        elif result is not None and answered is not None and shape.call is not None:
            other = shape_of(answered.form)
            if other is not None and other.result is not None:
                restored.blocks.append((place, [shape.call(called)], True))
                restored.blocks.append((place_of(_facts(result).get("at")), [other.result(answered)], True))
    return restored


def _is_served(call: ToolCall, results: Mapping[str, ToolMessage]) -> bool:
    return _is_marked(call) or call.id in results


def _answered(result: ToolMessage, raw: str) -> Answered | None:
    facts = _facts(result)
    if not isinstance(form := facts.get("form"), str) or not isinstance(result.content, str):
        return None
    content: Any = result.content
    if not facts.get("text"):
        try:
            content = from_json(content)
        except ValueError:
            return None
    block = facts.get("block")
    return Answered(raw, content, form, block if isinstance(block, Mapping) else {})


def _arguments(text: str) -> dict[str, Any]:
    try:
        parsed = from_json(text)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
