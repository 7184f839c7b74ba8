"""Pure. A provider's own work while its model answers: calls of its own tools, media, citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.adapter.langgraph.messages.answer import (
    activity_id,
    argument_text,
    call_metadata,
    citations_content,
    media_content,
    result_metadata,
    result_text,
)
from yai_nexus_agentkit.adapter.langgraph.messages.content import Whole, served_ids
from yai_nexus_agentkit.adapter.langgraph.messages.layout import Layout, Served
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import Answered, Argued, Called
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.protocol.activities import CITATIONS, MEDIA
from yai_nexus_agentkit.protocol.calls import Call
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.parts import MediaPart

__all__ = ["ProviderWork"]


class ProviderWork:
    """The events of one model call's provider. `layout`: of the answer."""

    def __init__(self, run: NativeRun, life: RunLifecycle, layout: Layout) -> None:
        self._run, self._life, self._layout = run, life, layout
        self.calls: list[Call] = []
        """By number (`Served.number`)."""
        self._media = 0
        """How many media were sent."""
        self._omitted = 0

    # ------------------------------------------------------------------ calls

    def called(self, piece: Called, message_id: str, provider: Any) -> list[BaseEvent]:
        """A call begins, in the answer of this id."""
        served, made = self._layout.called(piece), self._life.calls.made
        raw, _ = served_ids(message_id, served, self._layout.served)
        name = clean_text(piece.name)
        call = made(message_id, raw, scope=self._run.scope, name=name, args=served.call.args)
        self.calls.append(call)
        facts = call_metadata(served, provider)

        def close(_: str) -> list[BaseEvent]:
            return self._give(served, message_id)  # the run ends while the provider works

        events = self._life.tool_call(self._run.id, call.id, name, message_id, facts, close)
        if piece.args is not None:
            events += self._life.args(call.id, argument_text(piece.args))
        return events

    def argued(self, piece: Argued) -> list[BaseEvent]:
        """More arguments of a call; nothing if it is the application's."""
        served = self._layout.argued(piece)
        return self._life.args(self.calls[served.number].id, clean_text(piece.text)) if served is not None else []

    def answered(self, piece: Answered, message_id: str) -> list[BaseEvent]:
        """A result."""
        served = self._layout.answered(piece)
        return self._give(served, message_id) if served is not None else []

    def _give(self, served: Served, message_id: str) -> list[BaseEvent]:
        call, (_, result) = self.calls[served.number], served_ids(message_id, served, self._layout.served)
        events = [] if served.call.args is not None or served.pieces else self._life.args(call.id, "{}")
        facts = result_metadata(served)
        return [
            *events,
            *self._life.result(call.id, result, result_text(served), owner=self._run.owner, metadata=facts),
        ]

    # ------------------------------------------------------------------ media and citations

    def media(self, parts: Sequence[MediaPart], message_id: str) -> list[BaseEvent]:
        """More media of the answer."""
        self._layout.part()
        first, self._media = self._media, self._media + len(parts)
        own_id, content = activity_id(message_id, MEDIA), media_content(message_id, parts)
        self._omitted += content.get("omitted", 0)
        if not first:
            return self._life.activity(own_id, MEDIA, content, owner=self._run.owner)
        added = [{"op": "add", "path": "/parts/-", "value": part} for part in content["parts"]]
        if "omitted" in content:
            added.append({"op": "add", "path": "/omitted", "value": self._omitted})
        return self._life.activity_delta(own_id, MEDIA, added)

    def cite(self, facts: Mapping[str, Any], message_id: str) -> list[BaseEvent]:
        """The citations of the whole answer, if it has some."""
        if not (citations := facts.get("citations")):
            return []
        content = citations_content(message_id, json_safe(citations))
        return self._life.activity(activity_id(message_id, CITATIONS), CITATIONS, content, owner=self._run.owner)

    # ------------------------------------------------------------------ the end

    def complete(self, whole: Whole, message_id: str, provider: Any) -> list[BaseEvent]:
        """The parts of the whole message that its chunks lacked."""
        events: list[BaseEvent] = []
        for served in whole.served:
            known = self._layout.served[served.number : served.number + 1]
            if not known:
                events += self.called(served.call, message_id, provider)
                for text in served.pieces:
                    events += self._life.args(self.calls[-1].id, clean_text(text))
                known = [self._layout.served[-1]]
                known[0].pieces = served.pieces
            if known[0].answer is None and served.answer is not None:
                known[0].answer, known[0].answered_at = served.answer, served.answered_at
                events += self._give(known[0], message_id)
        if rest := whole.media[self._media :]:
            events += self.media(rest, message_id)
        return events

    def close(self, message_id: str) -> list[BaseEvent]:
        """The answer is over. A call without result gets one that says so: it is never open."""
        waiting = [served for served in self._layout.served if served.answer is None]
        return [event for served in waiting for event in self._give(served, message_id)]
