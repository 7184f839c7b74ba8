"""Driver. ADK's live mode as a `LiveSource`: one conversation with a connected model, whose turns are runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ag_ui.core import Tool
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.genai import types

from yai_nexus_agentkit.adapter.adk.client_tools import ClientTool, client_tools
from yai_nexus_agentkit.adapter.adk.history import History, parts_of, public_state
from yai_nexus_agentkit.adapter.adk.plan import Entry, Plan, plan_of
from yai_nexus_agentkit.adapter.adk.run import AdkError
from yai_nexus_agentkit.adapter.adk.sessions import Place, Sessions, message_event
from yai_nexus_agentkit.adapter.adk.talk import LivePlugin, Talk
from yai_nexus_agentkit.adapter.adk.translate import AdkTranslator, Emission
from yai_nexus_agentkit.adapter.hook_calls import shown_state
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.source import LiveSource, SourceRun, ThreadStore, Waiting
from yai_nexus_agentkit.orchestration.envelope import custom_envelope

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities

    from yai_nexus_agentkit.adapter.adk.source import AdkSource

__all__ = ["AdkLive"]

_logger = logging.getLogger(__name__)
_TEXT, _AUDIO = types.Modality.TEXT, types.Modality.AUDIO


class AdkLive(LiveSource):
    """One connection's agent. A run sends the user's new message to the model, and ends with the model's turn, or when
    a tool waits for the client."""

    name = "adk"
    in_memory = True
    instructs = True

    def __init__(
        self,
        base: AdkSource,
        runner: Callable[..., Runner],
        sessions: Sessions,
        *,
        offers: Callable[[str, str], bool] | None,
        hears: bool,
        config: Callable[[RunContext], Any] | None,
        answer_within: float,
    ) -> None:
        """`runner`: makes one for a session, with the plugins that are given."""
        self.honours, self.hears = base.honours, hears
        self._base, self._runner, self._sessions, self._within = base, runner, sessions, answer_within
        self._offers = offers
        self._config = config or self._default_config
        self._talk: Talk | None = None

    def thread_store(self) -> ThreadStore:
        """The agent's threads."""
        return self._base.thread_store()

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        """The agent's capabilities."""
        return self._base.capabilities(options)

    def _default_config(self, run: RunContext) -> RunConfig:
        return RunConfig(response_modalities=[_AUDIO if self.hears else _TEXT])

    async def prepare(self, run: RunContext, /) -> LiveTurn:
        """Take the answers of a request, and send what is new in it to the model. Raises `ResumeError`."""
        place = self._sessions.place(run)
        session = await self._sessions.read(place)
        talk = await self._current(place, session, looking=run.looking)
        history = History.of(talk.known(session.events) if session is not None else ())
        state = dict(session.state) if session is not None else {}
        run.linkable = True
        given = run.run_input
        waited = len(talk.waiting())
        asked = run if run.looking else replace(run, run_input=talk.take(given))
        answered = len(talk.waiting()) < waited
        shown = shown_state(run, public_state(state))
        plan = Plan() if talk.waits else plan_of(asked, history, state, shown, self._base.agent.name)
        config, audio = self._config(run), self.hears and "audio" in run.request.get("abilities", ())
        said = _as_one(plan) if talk.is_open else _said(plan)
        if not run.looking:
            goes_on = said is not None or audio
            if session is None and (goes_on or plan.stored or plan.state):
                session = await self._sessions.begin(place)
            if not talk.is_open:
                await self._sessions.store(session, plan.stored, plan.state if said is None else {})
                if goes_on:
                    await self._connect(talk, place, session, config, given.tools)
            if talk.is_open and (said is not None or plan.state):
                talk.say(said and said.content, said.delta(plan.state) if said is not None else plan.state)
        history.events += [message_event(entry) for entry in (*plan.stored, plan.message) if entry is not None]
        translator = AdkTranslator(run, history, {**state, **plan.state}, config.custom_metadata or (), talk)
        patient = not run.looking and not talk.waits and (said is not None or answered or audio)
        return LiveTurn(talk, translator, plan, audio=audio, patient=patient)

    async def _current(self, place: Place, session: Session | None, *, looking: bool) -> Talk:
        """The conversation that goes on, or a new one that is not open yet."""
        talk = self._talk
        if talk is not None and not looking and (not talk.is_open or talk.is_behind(session)):
            await talk.close()
        return talk if talk is not None and talk.is_open else Talk(place, self._within)

    async def _connect(self, talk: Talk, place: Place, session: Any, config: Any, tools: Iterable[Tool] | None) -> None:
        """Connect the model, with the agent's tools and the client's."""
        plugin = LivePlugin(place.session_id, talk)
        runner = self._runner(place, session, plugin)
        if offered := client_tools(tools, talk.result):
            runner.agent = await _with_tools(runner.agent, offered, self._offers or _all)
        talk.open(runner, session, config, plugin.oldest_tool)
        self._talk = talk

    def hear(self, mime_type: str, data: bytes) -> bool:
        """See `LiveSource`."""
        if self._talk is None or not self._talk.is_open:
            return False
        self._talk.hear(mime_type, data)
        return True

    def waiting(self) -> list[Waiting]:
        """See `LiveSource`."""
        return [] if self._talk is None else self._talk.waiting()

    async def close(self) -> None:
        """See `LiveSource`."""
        if self._talk is not None:
            await self._talk.close()


class LiveTurn(SourceRun):
    """The model's turn. `patient`: it is waited for; else the turn is what has come already."""

    def __init__(self, talk: Talk, translator: AdkTranslator, plan: Plan, *, audio: bool, patient: bool) -> None:
        self.translator = translator
        self._talk, self._refused, self._audio, self._patient = talk, plan.refused, audio, patient

    def oldest_tool(self) -> float | None:
        return self._talk.oldest_tool()

    async def events(self) -> AsyncGenerator[Any, None]:
        """Closing it before the turn is over disconnects the model."""
        if self._refused is not None:
            raise self._refused
        over = False
        try:
            async for event in self._natives():
                for one in _shown(event, audio=self._audio):
                    yield one
            over = True
        finally:
            if not over:
                await self._talk.close()

    async def _natives(self) -> AsyncIterator[Any]:
        talk, failed = self._talk, None
        items = talk.channel.items
        while items or (self._patient and not talk.waits):
            if not items and not await talk.channel.more():
                await talk.ended()
                break
            event = talk.channel.take()
            talk.read(event)
            if event is None:
                continue
            yield event
            if isinstance(event, Emission):
                continue
            if event.error_code:
                failed = AdkError(event.error_code, event.error_message)
            if event.turn_complete:
                break
            self._patient = self._patient or bool(parts_of(event))  # a turn that has begun is read to its end
        if failed is not None:
            raise failed


def _said(plan: Plan) -> Entry | None:
    """The message for a connected model; results of another connection's calls are only stored."""
    message = plan.message
    if message is not None and any(part.function_response for part in parts_of(message)):
        plan.stored.append(message)
        plan.message = None
    return plan.message


def _as_one(plan: Plan) -> Entry | None:
    """The same for a conversation that goes on: several messages of the user's are one."""
    message = _said(plan)
    before = [entry for entry in plan.stored if entry.author == "user"]
    if message is None or not before:
        return message
    parts = [part for entry in (*before, message) for part in parts_of(entry)]
    seen = [i for entry in before for i in entry.marks["messages"].values()]
    plan.stored.clear()
    plan.message = Entry(types.Content(role="user", parts=parts), {**message.marks, "seen": seen})
    return plan.message


def _all(agent: str, tool: str) -> bool:
    return True


async def _with_tools(agent: Any, tools: Sequence[ClientTool], offers: Callable[[str, str], bool]) -> Any:
    """A copy of an agent, and of those below it, that have the client's tools. Their own win."""
    if not isinstance(agent, BaseAgent):
        _logger.warning("%s is not an agent: it does not get the client's tools", agent.name)
        return agent
    copied = agent.clone()
    todo = [copied]
    while todo:
        one = todo.pop()
        todo += one.sub_agents
        if isinstance(one, LlmAgent):
            taken = {tool.name for tool in await one.canonical_tools()}
            more = [tool for tool in tools if tool.name not in taken and offers(one.name, tool.name)]
            one.tools = [*one.tools, *more]
    return copied


def _shown(event: Any, *, audio: bool) -> Iterator[Any]:
    """An event as the translator reads it. `audio`: the client hears."""
    if isinstance(event, Emission):
        yield event
        return
    if (heard := event.input_transcription) is not None:
        yield _custom("input_transcription", {"text": heard.text, "finished": bool(heard.finished)})
        if event.partial:
            return
    if event.interrupted:
        yield _custom("interrupted", {})
    spoken = [part.inline_data for part in parts_of(event) if part.inline_data is not None]
    for blob in spoken if audio else ():
        yield _custom("audio", blob.data or b"", blob.mime_type or "audio/pcm")
    if spoken:
        rest = [part for part in event.content.parts if part.inline_data is None]
        event = event.model_copy(update={"content": types.Content(role=event.content.role, parts=rest)})
    yield event


def _custom(name: str, value: Any, mime_type: str | None = None) -> Emission:
    return Emission(None, custom_envelope(name, value, mime_type))
