"""Pure. ADK's events as AG-UI events.

- The chunks of an answer and the whole answer share one event id: that is the lane, and the id of the message.
- Calls, state and everything else of `actions` are read from whole events only. Chunks have previews of calls with
  other ids, and share the object `actions` with the whole event.
- Each agent that speaks is a step. One that another agent delegated a task to is a subagent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ag_ui.core import BaseEvent, Message, TokenUsage

from yai_nexus_agentkit.adapter.adk.code_runs import CodeRuns
from yai_nexus_agentkit.adapter.adk.content import result_text
from yai_nexus_agentkit.adapter.adk.history import (
    MARKS,
    History,
    arguments,
    calls_of,
    cited_facts,
    interim,
    owner_of,
    parts_of,
    public_state,
    responses_of,
    shows,
    texts_of,
    thought_id,
)
from yai_nexus_agentkit.adapter.adk.questions import ASKING, Question
from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.adapter.shared.state import OpenState
from yai_nexus_agentkit.adapter.shared.visible import judge_of
from yai_nexus_agentkit.adapter.source import Translator
from yai_nexus_agentkit.orchestration.envelope import TOOL_OUTPUT, Envelope
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe

__all__ = ["AdkTranslator", "Emission", "Waits"]

SOURCE = "adk"
_WHOLE = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_INCOMPLETE = {
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
    "IMAGE_PROHIBITED_CONTENT": "filter",
    "IMAGE_RECITATION": "filter",
}
"""Kinds of answers that are not whole, by google-genai's finish reason; ``error`` for any other."""


class Emission(NamedTuple):
    """An event of `EventEmitter`, or a file; `call`: the tool call it comes from."""

    call: str | None
    envelope: Envelope


class Waits(Protocol):
    """The questions and calls that wait for the client: of a session's `History`, or of a connection in live mode."""

    def questions(self) -> list[Question]:
        """The open requests to a person."""

    def open_calls(self) -> dict[str, str]:
        """Id → name of the calls that wait for the client's result."""


@dataclass(slots=True)
class _Answer:
    """One model call, from its first chunk to its whole event."""

    visible: bool
    text: str = ""
    thoughts: str = ""


class AdkTranslator(Translator):
    """One run's events."""

    def __init__(
        self,
        run: RunContext,
        history: History,
        state: Mapping[str, Any],
        unshown: Collection[str] = (),
        waits: Waits | None = None,
    ) -> None:
        """`history`: what the session holds, with the request's messages; the run adds its own events. `state`: its
        state, with what the client changed. `unshown`: keys of metadata that ADK copies from the run's configuration to
        every event. `waits`: default: the history.
        """
        held = history.messages()
        given = {message.id: message.role for message in run.run_input.messages}
        self._held = held
        ids = {message.id for message in held}
        own = {i for i, role in given.items() if role in ("user", "assistant", "tool")}
        self._lacks = run.looking or not ids <= given.keys() or not own <= ids
        """The client does not hold what the thread holds, or more."""
        self.reports = Reports(
            run,
            source=SOURCE,
            shape=OpenState(shows=shows),
            taken={**given, **{message.id: message.role for message in held}},
            calls=history.calls(),
        )
        self._again = run.attempt is not None and run.attempt.number > 1
        self._history, self._life = history, self.reports.life
        self._waits = waits or history
        self._state = dict(state)
        self._long, self._code = history.long_running(), CodeRuns()
        self._shows = judge_of(self.reports.options.visible)
        self._answers: dict[str, _Answer] = {}
        self._steps: dict[str, NativeRun] = {}
        """The agent that works on each branch."""
        self._runs = 0
        self._inside: set[str] = set()
        """The subagents that were announced."""
        self._unshown = frozenset(unshown)

    # ------------------------------------------------------------------ the run

    def start(self) -> list[BaseEvent]:
        events = self.reports.state.begin(public_state(self._state))
        return [*events, *self.reports.messages(self._held)] if self._again else events

    def feed(self, native: Any, /) -> list[BaseEvent]:
        if isinstance(native, Emission):
            return self._emitted(native)
        if native.author == "user":  # the result of a task that was delegated, or what an agent says for the user
            self._lacks = self._lacks or any(part.function_response is None for part in parts_of(native))
            return self._results(self._history.add(native))
        return self._chunk(native) if native.partial else self._whole(native)

    def finish(self) -> list[BaseEvent]:
        """Paused at the questions of the last turn; else done, with the calls that the client has to answer."""
        questions = self._waits.questions()
        asked = [question.interrupt() for question in questions]
        live = self._open_calls()
        events = self._life.settle_calls([call for call in self._life.pending_calls if call in live])
        return [*events, *self.reports.finish(asked, messages=self._messages(), differs=self._lacks)]

    def _messages(self) -> list[Message]:
        return self._history.messages()

    def _open_calls(self) -> set[str]:
        """The calls that an answer may still come for."""
        about = {call for one in self._waits.questions() for call in (one.call_id, *one.hosts)}
        return {call for call in {*self._waits.open_calls(), *about} if call is not None}

    # ------------------------------------------------------------------ answers

    def _chunk(self, event: Any) -> list[BaseEvent]:
        lane: str = event.id
        answer = self._answers.get(lane)
        events: list[BaseEvent] = []
        if answer is None:
            answer, events = self._began(event)
        for part in parts_of(event):
            if not part.text:
                continue
            text = clean_text(part.text)
            if part.thought:
                answer.thoughts += text
                if answer.visible:
                    events += self._life.reasoning(lane, thought_id(lane), text)
            else:
                answer.text += text
                if answer.visible:
                    events += self._life.text(lane, lane, text)
        return events

    def _began(self, event: Any) -> tuple[_Answer, list[BaseEvent]]:
        events, agent = self._at(event)
        self._runs += 1
        name = event.model_version or event.author
        run = NativeRun(event.id, RunKind.MODEL, name, agent, owner=agent.owner, path=agent.path)
        answer = self._answers[event.id] = _Answer(self._shows(run))
        self._life.lane(event.id, owner=agent.owner, speaker=event.author)
        return answer, events

    def _whole(self, event: Any) -> list[BaseEvent]:
        """The whole answer of a model, the results of tools, or a change of the state."""
        event = self._history.add(event)
        self._long.update(event.long_running_tool_ids or ())
        events: list[BaseEvent] = []
        if parts_of(event):
            answer = self._answers.get(event.id)
            if answer is None:
                answer, events = self._began(event)
            events += self._rest(event, answer)
            del self._answers[event.id]
            events += [*self._calls(event), *self._ended(event), *self._results(event)]
        self._count(event)
        return [*events, *self._changed(event), *self._custom(event)]

    def _rest(self, event: Any, answer: _Answer) -> list[BaseEvent]:
        """The rest of an answer behind its chunks."""
        text, thoughts = texts_of(event)
        if not answer.visible:
            self._lacks = self._lacks or bool(text)  # it is stored with the thread, so the client gets it at the end
            return []
        events: list[BaseEvent] = []
        if len(thoughts) > len(answer.thoughts) and thoughts.startswith(answer.thoughts):
            events += self._life.reasoning(event.id, thought_id(event.id), thoughts[len(answer.thoughts) :])
        events += self._life.end_reasoning(event.id)
        if text.startswith(answer.text):
            events += self._life.text(event.id, event.id, text[len(answer.text) :])
        elif text != answer.text:
            self._lacks = True  # a callback rewrote the answer
        return events if event.grounding_metadata is not None else [*events, *self._life.end_text(event.id)]

    def _ended(self, event: Any) -> list[BaseEvent]:
        """The answer is over. Its sources go into its metadata, and into an activity."""
        facts = cited_facts(event, texts_of(event)[0]) if event.grounding_metadata is not None else None
        shown = self._life.message_id(event.id)
        events = self._life.end_lane(event.id, facts)
        if facts is None or shown is None:
            return events
        content = {"messageId": shown, "citations": facts["adk"]["citations"]}
        return [*events, *self._life.activity(f"{shown}-citations", "citations", content, owner=owner_of(event))]

    def _count(self, event: Any) -> None:
        """Tokens, and how the answer ended."""
        used = event.usage_metadata
        if used is not None:
            self.reports.usage.append(
                TokenUsage(
                    model=event.model_version,
                    input_tokens=used.prompt_token_count,
                    output_tokens=used.candidates_token_count,
                    total_tokens=used.total_token_count,
                    reasoning_tokens=used.thoughts_token_count,
                    cached_input_tokens=used.cached_content_token_count,
                )
            )
        reason = getattr(event.finish_reason, "value", event.finish_reason)
        if reason is not None:
            whole = reason in _WHOLE
            kind = _INCOMPLETE.get(reason, "error")
            self.reports.unfinished = {} if whole else {"finish_reason": reason, "incomplete": kind}

    # ------------------------------------------------------------------ tools

    def _calls(self, event: Any) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        for call in (*self._code.calls(event), *calls_of(event)):
            if call.name in ASKING or not self._shows(self._tool(event, call.name)):
                continue
            events += self._life.tool_call(event.id, call.id, call.name, event.id)
            events += [*self._life.args(call.id, arguments(call)), *self._life.end_call(call.id)]
        return events

    def _results(self, event: Any) -> list[BaseEvent]:
        waiting = interim(event, self._long)
        events: list[BaseEvent] = []
        for call_id, result in self._code.results(event):
            events += self._life.result(call_id, f"{call_id}-result", result_text(result), owner=owner_of(event))
        for response in responses_of(event):
            if response.id in self._inside:
                self._inside.discard(response.id)
                events += self._life.end_subagent(response.id)
            if response.id not in waiting and response.name not in ASKING:
                text = result_text(response.response)
                events += self._life.result(response.id, f"{response.id}-result", text, owner=owner_of(event))
        return events

    def _tool(self, event: Any, name: str) -> NativeRun:
        agent = self._steps.get(event.branch or "")
        path = agent.path if agent is not None else ()
        return NativeRun(f"{event.id}-{name}", RunKind.TOOL, name, agent, owner=owner_of(event), path=path)

    # ------------------------------------------------------------------ agents

    def _at(self, event: Any) -> tuple[list[BaseEvent], NativeRun]:
        """The agent that speaks, as a step. One that spoke before on the same branch is done; those of parallel
        branches go on."""
        branch, author = event.branch or "", event.author
        agent = self._steps.get(branch)
        if agent is not None and agent.name == author:
            return [], agent
        events: list[BaseEvent] = []
        for other in [b for b in self._steps if _related(b, branch)]:
            events += self._life.finish_step(self._steps.pop(other).id)
        self._runs += 1
        owner = owner_of(event)
        around = (name.partition("@")[0] for name in branch.split("."))
        path = (*(name for name in around if name and name != author), author)
        agent = NativeRun(f"{author}-{self._runs}", RunKind.NODE, author, None, owner=owner, path=path)
        self._steps[branch] = agent
        if owner is not None and owner not in self._inside:
            self._inside.add(owner)
            events += self._life.start_subagent(owner, author, call_id=owner)
        naming: Callable[[NativeRun], str | None] | None = self.reports.options.step_name
        name = author if naming is None else naming(agent)
        if name and self._shows(agent):
            events += self._life.start_step(agent.id, name, owner=owner)
        return events, agent

    # ------------------------------------------------------------------ state and application events

    def _changed(self, event: Any) -> list[BaseEvent]:
        delta = {key: value for key, value in event.actions.state_delta.items() if key != MARKS and shows(key)}
        if not delta:
            return []
        self._state.update(delta)
        self.reports.state.wrote(delta)
        return self.reports.state.step(public_state(self._state))

    def _custom(self, event: Any) -> list[BaseEvent]:
        given = event.custom_metadata or {}
        own = {k: v for k, v in given.items() if k not in self._unshown and not k.startswith("__")}
        return self._life.custom("custom_metadata", json_safe(own), owner=owner_of(event)) if own else []

    def _emitted(self, emission: Emission) -> list[BaseEvent]:
        kind, emitted = emission.envelope["kind"], self.reports.emitted
        if kind == TOOL_OUTPUT:
            call = emission.call
            agent = NativeRun(call or "", RunKind.TOOL, "", None)
            return emitted.tool_output(call, emission.envelope["value"], agent) if call is not None else []
        return emitted.custom(emission.envelope["name"], emission.envelope)


def _related(one: str, other: str) -> bool:
    """The branches are the same, or one lies in the other: not parallel to it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.") or not one or not other
