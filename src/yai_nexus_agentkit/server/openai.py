"""Edge. OpenAI's chat completions over the agents of a server: each agent is a model.

The wire is a leaf like any other: runs, locks, limits, slow readers and cancellation are those of `RunService`. A
client that goes away ends its run, since it has no other way.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import uuid4

from ag_ui.core import Interrupt, Message, RunFinishedEvent, RunFinishedInterruptOutcome
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.errors import ThreadBusyError, ThreadNotFoundError
from yai_nexus_agentkit.protocol.request import empty_request
from yai_nexus_agentkit.runs.board import Board
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef
from yai_nexus_agentkit.runs.live_run import LiveRun
from yai_nexus_agentkit.runs.operations import OperationCancelledError
from yai_nexus_agentkit.runs.restored import restored
from yai_nexus_agentkit.runs.service import RunService, StoreUnavailableError
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.body import Body, beside_the_loop
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.openai_keys import KeyLimits, KeyRing
from yai_nexus_agentkit.server.openai_settings import OpenAISettings
from yai_nexus_agentkit.server.problems import answered
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.openai.answers import Shown
from yai_nexus_agentkit.transport.openai.placing import Elsewhere, conversation_key
from yai_nexus_agentkit.transport.openai.request import ChatRequest, read_chat, texts_of
from yai_nexus_agentkit.transport.openai.wire import Chat, Given, OpenAIWire
from yai_nexus_agentkit.transport.openai.writers import Chunks
from yai_nexus_agentkit.transport.wire import Encoder, Posted, Refusal

__all__ = ["OpenAI", "plain"]

_CHAT = "/chat/completions"
_GIVEN, _GIVEN_KEPT = "chat-answer", 600.0
"""The notes of answers that threads took, and the seconds for which they are kept."""
_REWRITTEN, _REWRITTEN_KEPT = "chat-rewritten", 7 * 86_400.0
"""The notes of answers that a graph rewrote after they were sent, by message, and the seconds for which they are kept.
After that the next message of their conversation begins a new thread."""
_BRANCHES = 4
"""Threads that are looked at for one conversation; a conversation that took more ways begins a new thread."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_UNNAMED = frozenset({"", "new", "null", "undefined", "none"})
"""Names that clients send while a conversation has none."""


def plain(agent: AGUIAdapter) -> AGUIAdapter:
    """The adapter with those options by which its runs are read here."""
    own = replace(
        agent.options,
        text_chunks=False,
        interrupts="outcome",
        reasoning="off" if agent.options.reasoning == "off" else "standard",
        messages_snapshot="auto",
        marked_messages="developer",
        final_state_snapshot=False,
        predict_state={},
        raw_events=False,
    )
    return agent.replace(options=own)


class _Asking(Caller):
    """The sender of a chat. A posted conversation is compared with what is stored, and not with what a hook would show
    of it: this wire sends nobody a stored message."""

    async def history(self, thread_id: str, *, media: bool = False) -> Sequence[Message]:
        """The messages of a thread as they are stored; none if there is no such thread."""
        try:
            thread = await self.stored(thread_id)
            run = replace(thread.run, declared=True, hooks=replace(thread.run.hooks, on_messages=None))
            return (await thread.store.messages(thread.ref.key, run)).messages
        except ThreadNotFoundError:
            return ()


def _without_data(value: Any) -> Any:
    """The body without the data in it: it is kept, to name what is not accepted, as long as the run."""
    if isinstance(value, dict):
        return {key: _without_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_data(item) for item in value]
    return "data:" if isinstance(value, str) and value.startswith("data:") else value


class OpenAI:
    """The handlers of the models of one server."""

    def __init__(
        self,
        agents: Mapping[str, ServedAgent],
        service: RunService,
        settings: ServerSettings,
        options: OpenAISettings,
    ) -> None:
        """`agents`: by their names as models; at least one."""
        own, wire = replace(settings, disconnect="cancel", disconnect_by_request=False), OpenAIWire()
        self._models = {name: Endpoints(agent, service, own, wire) for name, agent in agents.items()}
        self._first = next(iter(self._models.values()))
        self._label = next(iter(agents)) if len(agents) == 1 else ""
        """The agent that refusals are counted for."""
        self._settings, self._options, self._service = own, options, service
        self._keys = None if options.keys is None else KeyRing(options.keys)
        self._limits = KeyLimits(options, time.monotonic)
        self._created = int(time.time())
        self._chosen: set[str] = set()
        """Threads that were found by the beginning of their conversation, and whose run is about to begin."""
        self._tools: dict[str, frozenset[str]] = {}
        """Names of the tools of agents that are the same for all requests."""
        if options.default_model not in (None, *self._models):
            raise ValueError(f"there is no agent {options.default_model!r} for OpenAISettings.default_model")

    def routes(self) -> list[Route]:
        """All routes, under the base path."""
        path = self._options.path.rstrip("/")
        return [
            Route(f"{path}{_CHAT}", self.completions, methods=["POST"]),
            Route(f"{path}/models", self.models, methods=["GET"]),
            Route(f"{path}/models/", self.models, methods=["GET"]),
            Route(f"{path}/models/{{model:path}}", self.model, methods=["GET"]),
            Route(f"{path}/health", self.health, methods=["GET"]),
            Route(f"{path}/{{rest:path}}", self.unknown, methods=list(_METHODS)),
            Route(path, self.unknown, methods=list(_METHODS)),
        ]

    def refusal(self, error: Exception) -> Response:
        """OpenAI's answer to what a handler raised."""
        return self._first.refusal(error, self._label)

    async def health(self, request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    @answered
    async def unknown(self, request: Request) -> Response:
        """Anything else under the base path."""
        rest = f"/{request.path_params.get('rest', '')}"
        if rest == _CHAT or rest in ("/health", "/models") or rest.startswith("/models/"):
            allow = "POST" if rest == _CHAT else "GET"
            raise Refusal(405, "METHOD_NOT_ALLOWED", f"allowed: {allow}", headers={"allow": allow})
        here = f"POST {self._options.path.rstrip('/')}{_CHAT}"
        raise Refusal(404, "NOT_FOUND", f"there is no such path: agents answer chat completions, {here}")

    @answered
    async def models(self, request: Request) -> Response:
        """The agents that the caller may use."""
        identity = await self._identity(request)
        shown: list[dict[str, Any]] = []
        for name in self._models:
            try:
                shown.append(await self._described(request, name, identity))
            except (HTTPException, PermissionError):  # not for this user
                continue
        return JSONResponse({"object": "list", "data": shown})

    @answered
    async def model(self, request: Request) -> Response:
        """One agent."""
        identity, name = await self._identity(request), request.path_params["model"]
        self._model(name)
        return JSONResponse(await self._described(request, name, identity))

    async def _described(self, request: Request, name: str, identity: Identity) -> dict[str, Any]:
        endpoints = self._models[name]
        able = (await self._caller(request, endpoints, identity).adapter()).capabilities()
        owner = (able.identity and able.identity.type) or "yai-nexus-agentkit"
        return {"id": name, "object": "model", "created": self._created, "owned_by": owner}

    @answered
    async def completions(self, request: Request) -> Response:
        """An answer of an agent, streamed or whole."""
        identity = await self._identity(request)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._limits.place(identity.user))
            response = await self._answer(request, identity, stack)
            response.background = stack.pop_all().aclose  # type: ignore[assignment]  # any function will do
        return response

    async def _answer(self, request: Request, identity: Identity, stack: AsyncExitStack) -> Response:
        """`stack`: left when the answer is over."""
        async with self._first.received(request) as body:
            asked = await beside_the_loop(body.raw, partial(read_chat, body.data))
            endpoints = self._model(asked.model)
            if asked.user:
                identity = replace(identity, facts={**identity.facts, "end_user": asked.user})
            caller = self._caller(request, endpoints, identity)
            chat, key = await self._in_session(caller, await self._chat(caller, asked))
            with self._choosing(key):
                chat, posted = await self._posted(endpoints, caller, chat, body.raw)
                posted = replace(posted, body=_without_data(body.data) if b"data:" in body.raw else body.data)
                wanted = await endpoints.wanted(caller, posted)
            if chat.questions and posted.run_input.resume and not await self._service.busy(wanted.thread.key):
                note = json.dumps(asdict(chat.answered(posted.run_input)))
                with self._board() as board:
                    await board.put(_GIVEN, wanted.thread.key, "", note, keep=_GIVEN_KEPT)
        answer = posted.encoder()
        posted = replace(posted, encoder=lambda: answer)
        if chat.shown.reference:
            stack.push_async_callback(self._forget, caller, chat.shown.thread_id)
        else:
            wanted = replace(wanted, before_end=partial(self._note, wanted.thread, answer))

        async def start() -> LiveRun:
            with self._choosing(key):
                return await self._service.start(wanted)

        return endpoints.streamed(start, posted)

    @contextmanager
    def _choosing(self, key: str | None) -> Iterator[None]:
        """Until the run of this thread holds it, requests that begin in the same way get threads of their own."""
        if key is None:
            yield
            return
        self._chosen.add(key)
        try:
            yield
        finally:
            self._chosen.discard(key)

    # ------------------------------------------------------------------ who asks whom

    async def _identity(self, request: Request) -> Identity:
        if self._keys is not None:
            return await self._keys.identity(request)
        return (await self._first.caller(request)).identity

    def _caller(self, request: Request, endpoints: Endpoints, identity: Identity) -> Caller:
        return _Asking(request, identity, endpoints.agent, self._settings, _CHAT)

    def _model(self, name: str | None) -> Endpoints:
        wanted = name or self._options.default_model or next(iter(self._models))
        if wanted not in self._models:
            raise Refusal(404, "MODEL_NOT_FOUND", f"there is no model {wanted[:100]!r}", path="/model")
        return self._models[wanted]

    async def _chat(self, caller: Caller, asked: ChatRequest) -> Chat:
        options = self._options
        names = {tool["name"] for tool in asked.tools}
        if names:
            names -= await self._own_tools(caller)
        can_call = options.questions == "auto" and asked.calls != "function"  # the id of the call names the question
        own = options.question_tool if can_call and options.question_tool in names else None
        fresh = f"chat-{uuid4().hex}"
        shown = Shown(
            id=f"chatcmpl-{uuid4().hex}",
            created=int(time.time()),
            model=asked.model or caller.agent.name,
            thread_id=fresh,
            tools=names,
            calls=asked.calls,
            reasoning=options.reasoning,
            show_tools=options.show_tools,
            question_tool=own,
            reference=fresh,
            asked=asked.length,
        )
        return Chat.of(asked, shown)

    async def _own_tools(self, caller: Caller) -> frozenset[str]:
        """Names of the agent's tools: it runs these itself, whatever a caller declares."""
        agent = caller.agent
        if (known := self._tools.get(agent.name)) is not None:
            return known
        tools = (await caller.adapter()).capabilities().tools
        found = frozenset(tool.name for tool in (tools and tools.items) or ())
        if agent.fixed is not None:
            self._tools[agent.name] = found
        return found

    # ------------------------------------------------------------------ conversations and threads

    async def _in_session(self, caller: Caller, chat: Chat) -> tuple[Chat, str | None]:
        """The chat in the thread of its conversation, or in one of its own where nothing names that; and the thread's
        key, if others could begin there at the same time."""
        options, asked = self._options, chat.asked
        if options.sessions != "none" and not self._is_task(asked):
            if named := self._named(caller):
                fits = len(named) <= self._settings.max_id
                return chat.at(named if fits else conversation_key("header", named)).named(), None
            user = asked.user or caller.identity.user
            if options.sessions == "user" and user:
                return replace(chat.at(conversation_key("user", asked.user)).named(), tail=True), None
            if options.sessions == "conversation" and user:
                begun = next((m for m in asked.messages if m["role"] == "user"), {"content": ""})
                thread_id = conversation_key("first", asked.user, list(texts_of(begun)))
                key = caller.thread(thread_id).key
                if not await self._service.busy(key) and key not in self._chosen:
                    return chat.at(thread_id).named(), key
        reference = chat.conversation.reference
        return (chat if reference is None else chat.at(reference).referring(reference)), None

    def _named(self, caller: Caller) -> str | None:
        """The name of the conversation, by a header."""
        given = (caller.request.headers.get(name, "").strip() for name in self._options.conversation_headers)
        return next((name for name in given if name.lower() not in _UNNAMED and not name.startswith("{{")), None)

    def _is_task(self, asked: ChatRequest) -> bool:
        if len(asked.messages) != 1:
            return False
        text = "".join(texts_of(asked.messages[0]))
        return text.startswith(tuple(self._options.tasks))

    async def _posted(self, endpoints: Endpoints, caller: Caller, chat: Chat, raw: bytes) -> tuple[Chat, Posted]:
        """The chat in the thread that has the posted conversation, and the run's request."""
        for _ in range(_BRANCHES):
            chat = await self._with_questions(caller, chat)
            try:
                return chat, await endpoints.posted(caller, Body(chat, raw))
            except Elsewhere as other:
                elsewhere = replace(chat.at(other.thread_id), questions=(), given=None)
            if rewritten := await self._rewritten(caller, chat.shown.thread_id):
                with suppress(Elsewhere):
                    chat = replace(chat, rewritten=rewritten)
                    return chat, await endpoints.posted(caller, Body(chat, raw))
            chat = elsewhere
        fresh = f"chat-{uuid4().hex}"
        chat = chat.at(fresh, stored=False).referring(fresh)
        return chat, await endpoints.posted(caller, Body(chat, raw))

    async def _with_questions(self, caller: Caller, chat: Chat) -> Chat:
        """With the thread's open questions and the last answer it took, if the request seems to answer."""
        posted = chat.conversation
        if not chat.stored or (posted.question is None and not posted.results):
            return chat
        with self._board() as board:
            note = (await board.notes(_GIVEN, caller.thread(chat.shown.thread_id).key)).get("")
        given = None if note is None else Given(**json.loads(note))
        return replace(chat, questions=await self._questions(caller, chat.shown.thread_id), given=given)

    async def _rewritten(self, caller: Caller, thread_id: str) -> Collection[str]:
        with self._board() as board:
            return (await board.notes(_REWRITTEN, caller.thread(thread_id).key)).keys()

    async def _note(self, thread: ThreadRef, answer: Encoder) -> None:
        """Note the messages whose text the reader has as it was before the graph rewrote it."""
        for own in answer.rewritten if isinstance(answer, Chunks) else ():
            with self._board() as board:
                await board.put(_REWRITTEN, thread.key, own, "1", keep=_REWRITTEN_KEPT)

    @contextmanager
    def _board(self) -> Iterator[Board]:
        """The notes of all workers. Raises `StoreUnavailableError`."""
        store = self._service.store
        try:
            yield store.board
        except store.away as error:
            raise StoreUnavailableError("the store of runs cannot be reached") from error

    async def _questions(self, caller: Caller, thread_id: str) -> Sequence[Interrupt]:
        adapter, thread = await caller.adapter(), caller.thread(thread_id)
        store, limit = adapter.threads(), self._settings.store_timeout
        async with asyncio.timeout(limit):
            if store is None or not await store.exists(thread.key) or not await store.waits(thread.key):
                return ()
        asked = empty_request(thread_id)
        facts = caller.facts(thread)
        found: list[Interrupt] = []
        async with aclosing(
            restored(adapter, asked, caller.identity, thread, facts, limit, lambda event: event)
        ) as events:
            async for event in events:
                if isinstance(event, RunFinishedEvent) and isinstance(event.outcome, RunFinishedInterruptOutcome):
                    found = event.outcome.interrupts
        return found

    async def _forget(self, caller: Caller, thread_id: str) -> None:
        """Delete a thread that no later request finds, unless it waits for an answer."""
        adapter, thread = await caller.adapter(), caller.thread(thread_id)
        store = adapter.threads()
        if store is None:
            return
        try:
            async with self._service.operation(thread, limit=self._settings.store_timeout):
                if not await store.waits(thread.key):
                    await store.delete(thread.key)
                    await self._service.forget(thread.key)
        except (ThreadBusyError, ThreadNotFoundError, OperationCancelledError, TimeoutError):
            return
