"""Pure. The running model calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import BaseEvent, token_usage_from_langchain_metadata
from langchain_core.messages import AIMessage, BaseMessage

from yai_nexus_agentkit.adapter.langgraph.messages.finish import finish_of
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView
from yai_nexus_agentkit.adapter.langgraph.translate.holding import Holding, whole_text
from yai_nexus_agentkit.adapter.langgraph.translate.model_lane import ModelLane
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.adapter.shared.reports import Reports

__all__ = ["ModelCalls"]


class ModelCalls:
    """The running model calls: a lane for each that is shown, by run id."""

    def __init__(self, reports: Reports, view: ClientView, notes: RunNotes, holding: Holding | None = None) -> None:
        self._reports, self._life, self._view, self._notes = reports, reports.life, view, notes
        self._holding = holding
        self._lanes: dict[str, ModelLane] = {}
        self._failed: dict[NativeRun | None, list[str]] = {}
        """Failed model calls whose lanes are open, by the run around them."""

    def start(self, run: NativeRun) -> list[BaseEvent]:
        """A model call began. An earlier attempt at the same place that failed (a retry, a fallback) is over."""
        failed = self._notes.failed_models
        while failed:
            if (lane := self._lanes.get(failed.pop(0))) is not None:
                self._failed.setdefault(lane.run.parent, []).append(lane.key)
        events = [event for attempt in self._failed.pop(run.parent, ()) for event in self.abandon(attempt)]
        if run.id in self._notes.structured:
            run.silent = True
        if not run.silent and run.owner is None:
            self._reports.unfinished = {}
        if self._holding is not None:
            events += self._holding.model_began(run)
        elif not run.silent:
            self._lanes[run.id] = ModelLane(run, self._life, self._view)
        return events

    def stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        """A chunk of a chat model."""
        lane = self._lanes.get(native["run_id"])
        if lane is None:
            return []
        chunk = native["data"]["chunk"]
        events = lane.more(chunk)
        return lane.stream(chunk) if events is None else events

    def stream_text(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        """A chunk of a text model."""
        lane = self._lanes.get(native["run_id"])
        chunk = native["data"].get("chunk")
        text = chunk if isinstance(chunk, str) else getattr(chunk, "text", "")
        return lane.say(text) if lane is not None and text else []

    def end(self, run_id: str, run: NativeRun | None, output: Any) -> list[BaseEvent]:
        """A model call ended. `output`: its whole message; a text model's is a dict, which says nothing new."""
        message = output if isinstance(output, BaseMessage) else None
        if run is not None and message is not None:
            self._count(run, message)
        lane = self._lanes.pop(run_id, None)
        if lane is None:
            if self._holding is not None and run is not None and not run.silent:
                return self._held(self._holding, run, output)
            if message is not None and message.id:
                self._view.kept_silent(message.id)
            return []
        if message is not None and not lane.spoke and self._view.holds(message.id or ""):
            return self._life.end_lane(lane.key)  # a cached answer under the id of an old message, which it replaces
        self._note_finish(run, message)
        return lane.end(message)

    def _note_finish(self, run: NativeRun | None, message: BaseMessage | None) -> None:
        if run is not None and run.owner is None and "incomplete" in (facts := finish_of(message)):
            self._reports.unfinished = facts

    def _held(self, holding: Holding, run: NativeRun, output: Any) -> list[BaseEvent]:
        message = output if isinstance(output, AIMessage) else AIMessage(whole_text(output), id=f"lc_run--{run.id}")
        if self._view.holds(message.id or ""):
            return []  # cached, under the id of an old message
        self._note_finish(run, message)
        return holding.answer(message, run, lambda answer: ModelLane(run, self._life, self._view).end(answer))

    def abandon(self, run_id: str) -> list[BaseEvent]:
        """The model call will not end: it failed, or was cancelled."""
        lane = self._lanes.pop(run_id, None)
        if lane is None:
            return []
        self._view.lost(lane.message_id)
        if self._reports.predictor is not None:
            self._reports.predictor.lose([call.id for call in lane.made()])
        return lane.end(None)

    def abandon_all(self) -> list[BaseEvent]:
        """No model call will end any more."""
        return [event for run_id in list(self._lanes) for event in self.abandon(run_id)]

    def _count(self, run: NativeRun, message: BaseMessage) -> None:
        metadata = getattr(message, "usage_metadata", None)
        if not metadata:
            return
        model = (message.response_metadata or {}).get("model_name") or run.metadata.get("ls_model_name")
        usage = token_usage_from_langchain_metadata(metadata, provider=run.metadata.get("ls_provider"), model=model)
        if usage is not None:
            self._reports.usage.append(usage)
