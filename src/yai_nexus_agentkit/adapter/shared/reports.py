"""The facts that a source reports of one run, as events: grammar, state, messages, the end.

A source makes one `Reports` per run, as soon as it knows what the thread holds. The options and hooks for what clients
see of a run are carried out here, for all sources alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from ag_ui.core import BaseEvent, Interrupt, Message, TokenUsage

from yai_nexus_agentkit.adapter.hook_calls import copied, error_text, guarded
from yai_nexus_agentkit.adapter.options import AdapterOptions, Visible
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.emitted import Emitted
from yai_nexus_agentkit.adapter.shared.predicted import Predictor
from yai_nexus_agentkit.adapter.shared.state import OpenState, SharedState, StateShape
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.endings import with_questions
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["Reports"]


class Reports:
    """The events of one run.

    `life`: the grammar; text, reasoning, calls, steps and subagents are reported to it. `state`: the shared state.
    `emitted`: what the application emits. `usage`: the tokens that model calls used; the source adds an entry per call.
    `options`: the adapter's, whose functions no longer raise.
    """

    def __init__(
        self,
        run: RunContext,
        *,
        source: str = "agent",
        shape: StateShape | None = None,
        taken: Mapping[str, str] | None = None,
        calls: ThreadCalls | None = None,
    ) -> None:
        """`source`: the key of the framework's facts in the metadata of events. `shape`: the keys of the agent's state;
        None for an agent without one. `taken`: id -> role of every message that the client or the thread holds; None
        for those of the request. `calls`: the thread's tool calls so far.
        """
        options, given, hook = run.options, run.run_input, run.hooks.on_state
        self._run, self._source = run, source
        self.options = _guarded_options(run)
        self.life = RunLifecycle(
            thread_id=given.thread_id,
            run_id=given.run_id,
            declared=run.declared,
            reasoning=options.reasoning,
            text_chunks=options.text_chunks,
            announce_subagents=options.subagents == "always" or (options.subagents == "auto" and run.declared),
            taken={message.id: message.role for message in given.messages} if taken is None else taken,
            calls=calls,
        )
        redact = None if hook is None else guarded(run, "on_state", lambda state: hook(copied(state), run), None)
        self.state = SharedState(shape or OpenState(functional=True), self.life, redact, run.held_state, run.unsent)
        self.usage: list[TokenUsage] = []
        self.unfinished: Mapping[str, Any] = {}
        """How the last answer ended, if it is not whole: the end event says it, in its metadata under `source`."""

    @cached_property
    def emitted(self) -> Emitted:
        """Events that the application emits while the agent works."""
        return Emitted(self.life, self.state, source=self._source, everything=self.options.custom_events == "all")

    @cached_property
    def predictor(self) -> Predictor | None:
        """Fills state keys from the arguments of calls; None if no key is predicted."""
        fields, announce = self.options.predict_state, self.options.predict_state_event
        return Predictor(fields, self.life, self.state, announce=announce) if fields else None

    def error_text(self, error: BaseException) -> str:
        """The text that a client may read of an exception."""
        return error_text(error, self._run)

    # ------------------------------------------------------------------ messages

    @property
    def shares_messages(self) -> bool:
        """The events are written at once, and nobody else gets them who could change their messages."""
        return not (self._run.handed_out or self._run.hooks.on_event or self._run.hooks.record)

    def shown(self, messages: list[Message]) -> list[Message] | None:
        """The messages as the `on_messages` hook shows them, which may change its copies in place; None if it failed:
        nothing may be sent then."""
        hook = self._run.hooks.on_messages
        if hook is None:
            return messages
        copies = [message.model_copy(deep=True) for message in messages]
        shown: list[Message] | None = guarded(self._run, "on_messages", hook, None, self._run)(copies)
        return shown

    def messages(self, messages: Iterable[Message]) -> list[BaseEvent]:
        """``MESSAGES_SNAPSHOT`` of the whole conversation; none while a message or call is open."""
        shown = self.shown(list(messages))
        return [] if shown is None else self.life.messages_snapshot(shown)

    # ------------------------------------------------------------------ the end

    def finish(
        self,
        interrupts: Sequence[Interrupt] = (),
        *,
        result: Any = None,
        messages: Iterable[Message] | None = None,
        differs: bool = False,
    ) -> list[BaseEvent]:
        """End the run: paused if there are `interrupts`, else done.

        `messages`: the thread's, for the snapshot at the end; None if the source keeps none. `differs`: they are not
        what the client holds now.
        """
        when = self.options.messages_snapshot
        events = self.settle(paused=bool(interrupts))
        if messages is not None and (interrupts or when == "always" or (when == "auto" and differs)):
            events += self.messages(messages)
        return [*events, *self.end(interrupts, result=result)]

    def settle(self, *, paused: bool) -> list[BaseEvent]:
        """The first part of `finish`: close what is open, and send what the client lacks of the state."""
        events = [*self.life.close_all(), *self.state.finish()]
        return [*events, *self.state.snapshot()] if paused or self.options.final_state_snapshot else events

    def end(self, interrupts: Sequence[Interrupt] = (), *, result: Any = None) -> list[BaseEvent]:
        """The last part of `finish`: the terminal event, with the questions in the way that the option says.

        The ``on_interrupt`` event of clients before 0.0.54 has the question as the agent put it (in the metadata of the
        interrupt, under `source`: ``value``). Its id, by which one of several is answered, is in the metadata.
        """
        way, key = self.options.interrupts, self._source
        events: list[BaseEvent] = []
        for interrupt in interrupts if way != "outcome" else ():
            value = (interrupt.metadata or {}).get(key, {}).get("value", interrupt.message)
            events += self.life.custom("on_interrupt", value, metadata={key: {"interruptId": interrupt.id}})
        metadata = {key: dict(self.unfinished)} if self.unfinished else None
        finish = partial(self.life.finish, result=result, usage=self.usage, metadata=metadata)
        if way != "custom":
            return [*events, *finish(interrupts=interrupts)]
        events += finish()
        if interrupts:
            events[-1] = with_questions(events[-1], [interrupt.id for interrupt in interrupts], key)
        return events

    def fail(self, message: str, code: str) -> list[BaseEvent]:
        """End the run with ``RUN_ERROR``."""
        return [*self._stop(), *self.life.fail(message, code, usage=self.usage)]

    def cancel(self, message: str) -> list[BaseEvent]:
        """End the run as cancelled."""
        return [*self._stop(), *self.life.cancel(message, usage=self.usage)]

    def _stop(self) -> list[BaseEvent]:
        if self.life.ended:
            return []
        return [*self.life.close_all(), *(self.state.snapshot() if self.state.changed else [])]


def _guarded_options(run: RunContext) -> AdapterOptions:
    """The options, with functions that hide what they fail for."""
    options = run.options
    if options.step_name is not None:
        options = replace(options, step_name=guarded(run, "step_name", options.step_name, None))
    if options.visible is not None and not isinstance(options.visible, Visible):
        options = replace(options, visible=guarded(run, "visible", options.visible, False))
    return options
