"""Driver. One connection to a model in live mode: ADK's `run_live` in a task of its own, from the first turn until the
client is gone.

ADK's confirmation of tools does not work in live mode: nothing is asked, and the tool is denied. Here the tool waits
instead, and the connection's client is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ag_ui.core import RunAgentInput, ToolMessage
from google.adk.agents.live_request_queue import LiveRequest, LiveRequestQueue
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from yai_nexus_agentkit.adapter.adk.content import response_of
from yai_nexus_agentkit.adapter.adk.files import files_of
from yai_nexus_agentkit.adapter.adk.history import calls_of, parts_of
from yai_nexus_agentkit.adapter.adk.logged import logged_once
from yai_nexus_agentkit.adapter.adk.plugin import RunPlugin
from yai_nexus_agentkit.adapter.adk.questions import CONFIRMATION, Question, answer_to
from yai_nexus_agentkit.adapter.adk.sessions import Place
from yai_nexus_agentkit.adapter.adk.translate import Emission
from yai_nexus_agentkit.adapter.shared.answers import complete_answers
from yai_nexus_agentkit.adapter.shared.channel import BoundedChannel
from yai_nexus_agentkit.adapter.source import Waiting
from yai_nexus_agentkit.errors import OverloadedError
from yai_nexus_agentkit.orchestration.sinks import Sink, enter

__all__ = ["LivePlugin", "Talk"]

_logger = logging.getLogger(__name__)
_MOST_UNHEARD = 1024 * 1024
"""Bytes of audio that may wait for the model: half a minute of speech."""


class _Requests(LiveRequestQueue):
    """The client's messages, and how much of its audio the model has not taken."""

    def __init__(self) -> None:
        super().__init__()
        self.unheard = 0

    async def get(self) -> LiveRequest:
        request = await super().get()
        self.unheard -= _size(request)
        return request

    def send(self, req: LiveRequest) -> None:
        self.unheard += _size(req)
        super().send(req)


def _size(request: LiveRequest) -> int:
    return len(request.blob.data or b"") if request.blob is not None else 0


@dataclass(slots=True)
class _Waiting:
    """A tool that waits for the client."""

    call_id: str
    name: str
    question: Question | None
    """None: a tool of the client's."""
    answer: asyncio.Future[dict[str, Any]]


class Talk:
    """One connection. It is open from `open` until `close`, or until the model ends it."""

    def __init__(self, place: Place, answer_within: float) -> None:
        self.channel: BoundedChannel[Any] = BoundedChannel()
        """The events that no turn has read yet; None only wakes the reader."""
        self.sink = Sink(lambda call, envelope: self.channel.put(Emission(call, envelope)))
        self._place, self._within = place, answer_within
        self._requests = _Requests()
        self.oldest_tool: Callable[[], float | None] = lambda: None
        """When the longest running tool began."""
        self.invocation = ""
        """ADK's id of all that is stored of this conversation."""
        self._before: str | None = None
        """Id of the event that was stored last when the model was connected."""
        self._task: asyncio.Task[None] | None = None
        self._raised: Exception | None = None
        """The exception that a turn was given."""
        self._read: set[str] = set()
        """Ids of the events that turns have read."""
        self._waiting: dict[str, _Waiting] = {}
        """By an id that nobody can guess."""
        self._called: dict[str, str] = {}
        """The calls that a reader can know, and the ids of the answers that made them."""

    @property
    def is_open(self) -> bool:
        """Its events go on, or some were not read."""
        return self._task is not None and (not self._task.done() or bool(self.channel.items))

    def is_behind(self, session: Session | None) -> bool:
        """The stored session was deleted, or changed by somebody else: ADK can store nothing more of this one."""
        if session is None:
            return True
        last = session.events[-1] if session.events else None
        return last is not None and last.invocation_id != self.invocation and last.id != self._before

    def open(self, runner: Runner, session: Session, run_config: Any, oldest_tool: Callable[[], float | None]) -> None:
        """Connect the model. `session`: as it is stored."""
        self.oldest_tool, self._before = oldest_tool, session.events[-1].id if session.events else None
        self.channel.open()
        self._task = asyncio.get_running_loop().create_task(self._work(runner, run_config), name="agui-adk-live")

    async def _work(self, runner: Runner, run_config: Any) -> None:
        enter(self.sink)
        place = {"user_id": self._place.user_id, "session_id": self._place.session_id}
        events = runner.run_live(**place, live_request_queue=self._requests, run_config=run_config)
        with closing(self.channel), logged_once():
            async with aclosing(events) as natives:
                async for event in natives:
                    self._called |= {call.id: event.id for call in calls_of(event)}
                    self.channel.put(event)
                    for file in await files_of(runner, self._place, event.actions.artifact_delta):
                        self.channel.put(file)
                    await self.channel.room()

    def read(self, event: Any) -> None:
        """A turn has this event."""
        if isinstance(event, Event) and not event.partial and not any(part.inline_data for part in parts_of(event)):
            self._read.add(event.id)  # pieces and audio are not stored

    def known(self, events: Iterable[Event]) -> list[Event]:
        """The stored events without those that no turn has read yet: they are the next turn's."""
        own, read = self.invocation, self._read
        return [e for e in events if e.invocation_id != own or e.id in read or (e.author == "user" and e.content)]

    async def ended(self) -> None:
        """All events were read. Raises what the agent raised."""
        if self._task is not None:
            try:
                await self._task
            except Exception as error:
                self._raised = error
                raise

    async def close(self) -> None:
        """Disconnect the model; tools that wait are cancelled."""
        self._requests.close()
        self.channel.items.clear()
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        if error is not None and error is not self._raised:
            _logger.warning("a live conversation ended between two turns", exc_info=error)

    # ------------------------------------------------------------------ to the model

    def say(self, content: types.Content | None, delta: Mapping[str, Any]) -> None:
        """Send a message, and store it with a change of the state."""
        self._requests.send(LiveRequest(content=content, state_delta=dict(delta) or None))

    def hear(self, mime_type: str, data: bytes) -> None:
        """Send audio; none: it ends for now. Raises `OverloadedError`."""
        if not data:
            self._requests.send_audio_stream_end()
            return
        if self._requests.unheard + len(data) > _MOST_UNHEARD:
            raise OverloadedError("the model has not taken the audio before this")
        self._requests.send(LiveRequest(blob=types.Blob(data=data, mime_type=mime_type)))

    # ------------------------------------------------------------------ what waits for the client

    async def confirm(self, tool: Any, args: Mapping[str, Any], call_id: str, hint: str = "") -> ToolConfirmation:
        """The client's decision about a call; no answer in time is a denial."""
        asked = {
            "originalFunctionCall": {"id": call_id, "name": tool.name, "args": dict(args)},
            "toolConfirmation": {"hint": hint},
        }
        question = Question(uuid4().hex, CONFIRMATION, asked)
        answer = await self._answer(question.id, call_id, tool.name, question) or {}
        return ToolConfirmation(confirmed=answer.get("confirmed") is True, payload=answer.get("payload"))

    async def result(self, name: str, call_id: str) -> dict[str, Any]:
        """The client's result of its tool."""
        answer = await self._answer(call_id, call_id, name, None)
        return {"error": "the client gave no result in time"} if answer is None else answer

    async def _answer(self, key: str, call_id: str, name: str, question: Question | None) -> dict[str, Any] | None:
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[key] = _Waiting(call_id, name, question, answer)
        self.channel.put(None)
        try:
            async with asyncio.timeout(self._within):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[key]

    def _known(self) -> list[_Waiting]:
        return [one for one in self._waiting.values() if one.call_id in self._called and not one.answer.done()]

    def questions(self) -> list[Question]:
        """The confirmations that the client is asked for."""
        return [one.question for one in self._known() if one.question is not None]

    def open_calls(self) -> dict[str, str]:
        """Id → name of the calls that wait for the client's result."""
        return {one.call_id: one.name for one in self._known() if one.question is None}

    def waiting(self) -> list[Waiting]:
        """All of them."""
        asked = {one.call_id: one.question.id for one in self._known() if one.question is not None}
        return [
            Waiting(one.call_id, one.name, self._called[one.call_id], asked.get(one.call_id)) for one in self._known()
        ]

    @property
    def waits(self) -> bool:
        """Something waits for the client."""
        return bool(self._known())

    def take(self, given: RunAgentInput) -> RunAgentInput:
        """Give the answers of a request to the tools that wait for them; returns the rest of it: a connected model has
        the other results. Raises `ResumeError` for answers that do not fit, and takes none then."""
        results = {m.tool_call_id: m for m in given.messages if isinstance(m, ToolMessage)}
        asked = {question.id: question for question in self.questions()}
        answers = complete_answers(given.resume, list(asked)) if given.resume else {}
        decided = {i: answer_to(asked[i], entry).response or {} for i, entry in answers.items()}
        calls = self.open_calls()
        decided |= {call: response_of(m.error or m.content) for call, m in results.items() if call in calls}
        for key, answer in decided.items():
            self._waiting[key].answer.set_result(answer)
        rest = [m for m in given.messages if not isinstance(m, ToolMessage)] if self.is_open else given.messages
        return given.model_copy(update={"messages": rest, "resume": None})


class LivePlugin(RunPlugin):
    """Calls wait for their confirmation. The pieces of an answer, and the whole, get one id: in live mode each has one
    of its own."""

    def __init__(self, session_id: str, talk: Talk) -> None:
        super().__init__(session_id, (), talk.sink)
        self._talk = talk
        self._answers: dict[tuple[str, str | None], str] = {}
        """Id of the answer that an agent gives now, by agent and branch."""

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        await super().before_run_callback(invocation_context=invocation_context)
        self._talk.invocation = invocation_context.invocation_id

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        key = event.author, event.branch
        if not any(part.text for part in parts_of(event)):
            if event.turn_complete:
                self._answers.pop(key, None)
        elif event.partial:
            event.id = self._answers.setdefault(key, event.id)
        else:
            event.id = self._answers.pop(key, event.id)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """The client's tools are the agents' own here."""

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        if await tool.check_require_confirmation(tool_args, tool_context) is True:
            call_id = tool_context.function_call_id
            tool_context.tool_confirmation = await self._talk.confirm(tool, tool_args, call_id)
        await super().before_tool_callback(tool=tool, tool_args=tool_args, tool_context=tool_context)

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        """A tool that asked by itself is called again with the decision, as ADK does outside of live mode. One that
        asked for credentials gets none."""
        await super().after_tool_callback(tool=tool, tool_args=tool_args, tool_context=tool_context, result=result)
        call_id = tool_context.function_call_id
        tool_context.actions.requested_auth_configs.pop(call_id, None)
        asked = tool_context.actions.requested_tool_confirmations.pop(call_id, None)
        if asked is None:
            return None
        tool_context.actions.skip_summarization = None
        tool_context.tool_confirmation = await self._talk.confirm(tool, tool_args, call_id, asked.hint)
        return await tool.run_async(args=tool_args, tool_context=tool_context)
