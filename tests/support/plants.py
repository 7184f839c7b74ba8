"""Driver. Adapters with a flaw that the benchmark gate must notice, made from what anybody can hand to an adapter."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from ag_ui.core import BaseEvent, CustomEvent, EventType, StateSnapshotEvent

from yai_nexus_agentkit import AGUIAdapter, RunContext
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.adapter.source import Source, SourceRun, Translator
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder

__all__ = ["chatty", "copying", "restating", "slower"]

_AGAIN = 12
"""Every twelfth token is translated and encoded twice. With what the adapter does besides, that is about a fifth of its
own work."""


def slower(agent: Any) -> AGUIAdapter:
    """A slowdown of 20 %."""
    return AGUIAdapter(_Slower(AGUIAdapter(agent).source))


def chatty(agent: Any) -> AGUIAdapter:
    """An event more per token."""

    def more(event: BaseEvent, run: RunContext) -> Iterable[BaseEvent]:
        if event.type == EventType.TEXT_MESSAGE_CONTENT:
            return (event, CustomEvent(name="token", value=None))
        return (event,)

    return AGUIAdapter(agent, hooks=Hooks(on_event=more))


def copying(agent: Any) -> AGUIAdapter:
    """A copy of the state per step, which never travels."""

    def keep(native: Any, run: RunContext) -> Iterable[Any]:
        if (values := _values(native)) is not None:
            copy.deepcopy(values)
        return (native,)

    return AGUIAdapter(agent, hooks=Hooks(on_native=keep))


def restating(agent: Any) -> AGUIAdapter:
    """A copy of the state per step, on the wire."""
    latest: dict[str, Any] = {}

    def look(native: Any, run: RunContext) -> Iterable[Any]:
        latest.update(_values(native) or {})
        return (native,)

    def more(event: BaseEvent, run: RunContext) -> Iterable[BaseEvent]:
        if event.type == EventType.STEP_FINISHED:
            return (event, StateSnapshotEvent(snapshot={k: v for k, v in latest.items() if k != "messages"}))
        return (event,)

    return AGUIAdapter(agent, hooks=Hooks(on_native=look, on_event=more))


def _values(native: Any) -> dict[str, Any] | None:
    """The state after a step, if the event has it."""
    chunk = native["data"].get("chunk") if native["event"] == "on_chain_stream" else None
    return chunk[2] if isinstance(chunk, tuple) and chunk[:2] == ((), "values") else None


class _Slower(Source):
    """The second translator stays in the middle of the first run's answer, so that only tokens cost something."""

    def __init__(self, source: Source) -> None:
        self._source, self.honours = source, source.honours
        self._shadow: Translator | None = None

    async def prepare(self, run: RunContext, /) -> SourceRun:
        first = self._shadow is None
        if self._shadow is None:
            self._shadow = (await self._source.prepare(run)).translator
            self._shadow.start()
        return _SlowRun(await self._source.prepare(run), self._shadow, first=first)


class _SlowRun:
    def __init__(self, prepared: SourceRun, shadow: Translator, *, first: bool) -> None:
        self._prepared = prepared
        self.translator: Translator = _SlowTranslator(prepared.translator, shadow, first=first)
        self.oldest_tool = prepared.oldest_tool

    def events(self) -> AsyncGenerator[Any, None]:
        return self._prepared.events()


class _SlowTranslator:
    def __init__(self, real: Translator, shadow: Translator, *, first: bool) -> None:
        self._real, self._shadow, self._encoder, self._count = real, shadow, SSEEncoder(), 0
        self._opening = first
        self.reports, self.start, self.finish, self.raw = real.reports, real.start, real.finish, real.raw

    def feed(self, native: Any, /) -> list[BaseEvent]:
        self._count += 1
        is_token = native["event"] == "on_chat_model_stream"
        if self._opening or (is_token and self._count % _AGAIN == 0):
            self._opening = self._opening and not is_token
            for event in self._shadow.feed(native):
                self._encoder.encode(event)
        return self._real.feed(native)
