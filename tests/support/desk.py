"""Driver. A second agent framework, small and without LangChain: what another framework's source has to bring.

An agent of this framework is an async generator function that gets the `Turn` and yields what it does:

    ("think", text)  ("say", text)  ("call", id, tool, arguments)  ("result", id, content)  ("state", changes)
    ("emit", name, value)  ("ask", Interrupt)  ("enter", name)  ("leave",)  ("step", name)  ("done",)
    ("spend", input tokens, output tokens)
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ag_ui.core import (
    AgentCapabilities,
    AssistantMessage,
    BaseEvent,
    FunctionCall,
    IdentityCapabilities,
    Interrupt,
    Message,
    TokenUsage,
    ToolCall,
    ToolMessage,
)

from yai_nexus_agentkit import AdapterOptions, NativeRun, RunContext, Source, Visible
from yai_nexus_agentkit.adapter.hook_calls import shown_state
from yai_nexus_agentkit.adapter.native_run import RunKind
from yai_nexus_agentkit.adapter.shared.answers import check_answer, complete_answers
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.adapter.shared.state import OpenState, client_changes
from yai_nexus_agentkit.adapter.source import OPTIONAL, SourceRun, ThreadStore, Translator
from yai_nexus_agentkit.errors import Code, StatePatchError, ThreadNotFoundError
from yai_nexus_agentkit.protocol.calls import ThreadCalls

__all__ = ["Desk", "OutOfPaper", "Turn"]

Native: TypeAlias = tuple[Any, ...]
Agent: TypeAlias = "Callable[[Turn], AsyncGenerator[Native, None]]"
LANGGRAPH_ONLY = frozenset({"chain_spans", "durability", "functional_input", "hold", "marked_messages", "source"})
SHAPE = OpenState(shows=lambda key: not key.startswith("_"))


class OutOfPaper(Exception):
    """An error of this framework that has a code of its own."""


@dataclass(slots=True)
class Stored:
    """One thread."""

    messages: list[Message] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    questions: list[Interrupt] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """The input of an agent."""

    text: str
    """The newest message of the user."""
    thread: Stored
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Payload by question; None for a cancelled one."""
    config: Mapping[str, Any] = field(default_factory=dict)


class Desk(Source):
    """An agent of this framework, and its threads."""

    name = "desk"

    def __init__(self, agent: Agent, *, honours: frozenset[str] = OPTIONAL - LANGGRAPH_ONLY) -> None:
        self.agent, self.honours = agent, honours
        self.threads: dict[str, Stored] = {}

    async def prepare(self, run: RunContext, /) -> DeskRun:
        thread = self.threads.setdefault(run.thread_key, Stored())
        answers = _answers(run, thread)
        known = {message.id for message in thread.messages}
        new = [m for m in run.run_input.messages if m.id not in known and m.role in ("user", "tool")]
        if not thread.questions:
            thread.messages += new
            shown = shown_state(run, SHAPE.state_of(thread.state))
            sent = run.run_input.state if isinstance(run.run_input.state, dict) else {}
            mine = {key: value for key, value in sent.items() if key in shown or key not in thread.state}
            thread.state |= {key: value for key, value, _ in client_changes(mine, shown)}
        text = next((str(m.content) for m in reversed(run.run_input.messages) if m.role == "user"), "")
        turn = Turn(text, thread, answers or {}, run.config or {})
        idle = answers is None if thread.questions else not new
        return DeskRun(self, run, turn, idle=idle)

    def error_code(self, error: Exception) -> Code | None:
        return Code.RECURSION_LIMIT if isinstance(error, OutOfPaper) else None

    def thread_store(self) -> ThreadStore:
        return DeskThreads(self.threads)

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        return AgentCapabilities(identity=IdentityCapabilities(type=self.name))


def _answers(run: RunContext, thread: Stored) -> dict[str, Any] | None:
    """The checked answers to the thread's questions; None if there are none."""
    entries = run.run_input.resume
    if not entries or not thread.questions:
        return None
    given = complete_answers(entries, [question.id for question in thread.questions])
    for question in thread.questions:
        if given[question.id].status == "resolved":
            check_answer(question.id, given[question.id].payload, question.response_schema)
    return {name: None if entry.status == "cancelled" else entry.payload for name, entry in given.items()}


class DeskRun(SourceRun):
    """One prepared run."""

    def __init__(self, desk: Desk, run: RunContext, turn: Turn, *, idle: bool) -> None:
        self._desk, self._turn, self._idle = desk, turn, idle
        self._tool_since: float | None = None
        self.translator = DeskTranslator(run, turn.thread, idle=idle)
        if not idle:
            turn.thread.questions = []

    def oldest_tool(self) -> float | None:
        return self._tool_since

    async def events(self) -> AsyncGenerator[Native, None]:
        if self._idle:
            return
        async for native in self._desk.agent(self._turn):
            if native[0] in ("call", "result"):
                self._tool_since = time.monotonic() if native[0] == "call" else None
            if native[0] == "ask":
                self._turn.thread.questions.append(native[1])
            yield native


class DeskTranslator(Translator):
    """One run's events. Each stretch of text is a message of its own."""

    def __init__(self, run: RunContext, thread: Stored, *, idle: bool) -> None:
        taken = {m.id: m.role for m in (*run.run_input.messages, *thread.messages)}
        calls = ThreadCalls()
        for message in thread.messages:
            if message.role == "assistant":
                for call in message.tool_calls or ():
                    calls.shown(call.id, message.id, name=call.function.name)
            elif message.role == "tool":
                calls.answer(message.tool_call_id, message.id)
        self.reports = Reports(run, source="desk", shape=SHAPE, taken=taken, calls=calls)
        self._thread, self._idle = thread, idle
        self._lacks = not {m.id for m in thread.messages} <= {m.id for m in run.run_input.messages}
        self._run_id, self._count = run.run_input.run_id, 0
        self._message: AssistantMessage | None = None
        """The lane that the agent writes now, by its id."""
        self._inside: list[NativeRun] = []
        """The subagents and steps around what the agent does now, outermost first."""

    def start(self) -> list[BaseEvent]:
        return self.reports.state.begin(self._thread.state)

    def feed(self, native: Native, /) -> list[BaseEvent]:
        kind, *given = native
        events: list[BaseEvent] = getattr(self, f"_{kind}")(*given)
        return events

    def finish(self) -> list[BaseEvent]:
        events = [event for _ in range(len(self._inside)) for event in self._leave()]
        asked = self._thread.questions
        return [*events, *self.reports.finish(asked, messages=self._thread.messages, differs=self._lacks)]

    # ------------------------------------------------------------------ what agents do

    def _think(self, text: str) -> list[BaseEvent]:
        message = self._writing()
        shown = self._shows("model")
        return self.reports.life.reasoning(message.id, f"{message.id}-thought", text) if shown else []

    def _say(self, text: str) -> list[BaseEvent]:
        message = self._writing()
        message.content = f"{message.content or ''}{text}"
        return self.reports.life.text(message.id, message.id, text) if self._shows("model") else []

    def _call(self, call_id: str, tool: str, arguments: Mapping[str, Any]) -> list[BaseEvent]:
        message, text, life = self._writing(), json.dumps(arguments), self.reports.life
        made = ToolCall(id=call_id, function=FunctionCall(name=tool, arguments=text))
        message.tool_calls = [*(message.tool_calls or ()), made]
        if not self._shows("tool", tool):
            return []
        half = len(text) // 2
        events = life.tool_call(message.id, call_id, tool, message.id)
        events = [*events, *life.args(call_id, text[:half]), *life.args(call_id, text[half:])]
        return [*events, *life.end_call(call_id)]

    def _result(self, call_id: str, content: str) -> list[BaseEvent]:
        events = self._written()
        made = ToolMessage(id=f"{call_id}-result", role="tool", tool_call_id=call_id, content=content)
        self._thread.messages.append(made)
        return [*events, *self.reports.life.result(call_id, made.id, content, owner=self._owner)]

    def _state(self, changes: Mapping[str, Any]) -> list[BaseEvent]:
        for key, value in changes.items():
            self._thread.state[key] = value
        self.reports.state.wrote(changes)
        return self.reports.state.step(self._thread.state)

    def _emit(self, name: str, value: Any) -> list[BaseEvent]:
        return self.reports.emitted.custom(name, value, self._inside[-1] if self._inside else None)

    def _ask(self, question: Interrupt) -> list[BaseEvent]:
        return []

    def _spend(self, given: int, made: int) -> list[BaseEvent]:
        self.reports.usage.append(TokenUsage(model="pencil", input_tokens=given, output_tokens=made))
        return []

    def _enter(self, name: str) -> list[BaseEvent]:
        run = self._run(RunKind.GRAPH, name)
        above, run.owner = run.owner, run.id
        self._inside.append(run)
        return [*self._written(), *self.reports.life.start_subagent(run.id, name, parent=above)]

    def _leave(self) -> list[BaseEvent]:
        run, life = self._inside.pop(), self.reports.life
        events = life.end_subagent(run.id) if run.kind is RunKind.GRAPH else life.finish_step(run.id)
        return [*self._written(), *events]

    def _step(self, name: str) -> list[BaseEvent]:
        run, naming = self._run(RunKind.NODE, name), self.reports.options.step_name
        run.path = (name,)
        self._inside.append(run)
        shown = name if naming is None else naming(run)
        return self.reports.life.start_step(run.id, shown, owner=self._owner) if shown else []

    _done = _leave

    def _run(self, kind: RunKind, name: str) -> NativeRun:
        self._count += 1
        return NativeRun(
            f"{name}-{self._count}", kind, name, self._inside[-1] if self._inside else None, owner=self._owner
        )

    def _shows(self, kind: str, name: str = "pencil") -> bool:
        visible = self.reports.options.visible
        if visible is None:
            return True
        if isinstance(visible, Visible):
            return visible.names is None or name in visible.names
        return visible(self._run(RunKind(kind), name))

    @property
    def _owner(self) -> str | None:
        return self._inside[-1].owner if self._inside else None

    def _writing(self) -> AssistantMessage:
        if self._message is None:
            made = AssistantMessage(
                id=f"{self._run_id}-{len(self._thread.messages)}", role="assistant", subagent_run_id=self._owner
            )
            self._thread.messages.append(made)
            self.reports.life.lane(made.id, owner=self._owner)
            self._message = made
        return self._message

    def _written(self) -> list[BaseEvent]:
        """Later text belongs to another message."""
        message, self._message = self._message, None
        return [] if message is None else self.reports.life.end_lane(message.id)


class DeskThreads(ThreadStore):
    """The threads, as they are."""

    def __init__(self, threads: dict[str, Stored]) -> None:
        self._threads = threads

    async def ready(self) -> None:
        pass

    async def exists(self, key: str) -> bool:
        return key in self._threads

    async def paused(self, key: str) -> bool:
        return key in self._threads and bool(self._threads[key].questions)

    async def messages(self, key: str, run: RunContext) -> list[Message]:
        return [message.model_copy() for message in self._read(key).messages]

    async def state(self, key: str) -> dict[str, Any]:
        return SHAPE.state_of(self._read(key).state)

    async def change_state(
        self, key: str, values: Mapping[str, Any], removed: Sequence[str], *, as_node: str | None = None
    ) -> None:
        state = self._read(key).state
        if as_node is not None or any(not SHAPE.shows(name) for name in values):
            raise StatePatchError("there are no nodes, and no such keys")
        state.update(values)
        for name in removed:
            del state[name]

    async def delete(self, key: str) -> None:
        self._read(key)
        del self._threads[key]

    def _read(self, key: str) -> Stored:
        if key not in self._threads:
            raise ThreadNotFoundError("there is no such thread")
        return self._threads[key]
