"""Driver. One run of an ADK agent: in a task of its own, whose events pass through a queue to the translator.

The queue also takes what tools and callbacks emit while no event of ADK's comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing, closing
from typing import Any

from google.adk.runners import Runner

from yai_nexus_agentkit.adapter.adk.files import files_of
from yai_nexus_agentkit.adapter.adk.logged import logged_once
from yai_nexus_agentkit.adapter.adk.plan import Plan
from yai_nexus_agentkit.adapter.adk.plugin import RunPlugin
from yai_nexus_agentkit.adapter.adk.sessions import Place
from yai_nexus_agentkit.adapter.adk.translate import AdkTranslator, Emission
from yai_nexus_agentkit.adapter.run_context import Attempt
from yai_nexus_agentkit.adapter.shared.channel import BoundedChannel
from yai_nexus_agentkit.adapter.source import SourceRun
from yai_nexus_agentkit.errors import AGUIAdapterError
from yai_nexus_agentkit.orchestration.sinks import Sink, enter, token_of

__all__ = ["AdkError", "AdkRun"]


class AdkError(AGUIAdapterError):
    """The agent ended with an error event: the model refused, or gave nothing. `error_code` is ADK's."""

    def __init__(self, error_code: str, message: str | None) -> None:
        super().__init__(f"{error_code}: {message}" if message else error_code)
        self.error_code = error_code


class AdkRun(SourceRun):
    """One prepared run."""

    def __init__(
        self,
        plan: Plan,
        translator: AdkTranslator,
        place: Place,
        slot: Callable[[], AbstractContextManager[None]],
        made: Callable[[Sink], tuple[Runner, RunPlugin]],
        run_config: Any,
        attempt: Attempt | None,
    ) -> None:
        """`slot`: room for a run that goes on; raises `OverloadedError`. `made`: the runner of this run alone."""
        self.translator = translator
        self._plan, self._place, self._slot, self._run_config = plan, place, slot, run_config
        self._channel: BoundedChannel[Any] = BoundedChannel()
        token = token_of(attempt.key) if attempt is not None else ""
        sink = Sink(lambda call, envelope: self._emit(call, envelope), token=token)
        self._runner, self._plugin = made(sink)
        self._sink = sink

    def oldest_tool(self) -> float | None:
        return self._plugin.oldest_tool()

    async def events(self) -> AsyncGenerator[Any, None]:
        """Closing it cancels the agent, and waits until it is gone."""
        if not self._plan.runs:
            if self._plan.refused is not None:
                raise self._plan.refused
            return
        channel = self._channel
        channel.open()
        with self._slot():
            task = asyncio.get_running_loop().create_task(self._work(), name="agui-adk")
            try:
                while await channel.more():
                    yield channel.take()
                await task
            finally:
                if not task.done():
                    task.cancel()
                    await asyncio.wait([task])

    def _emit(self, call: str | None, envelope: Any) -> None:
        self._channel.put(Emission(call, envelope))

    async def _work(self) -> None:
        enter(self._sink)
        failed: AdkError | None = None
        with closing(self._channel), logged_once():
            async with aclosing(self._native()) as natives:
                async for event in natives:
                    self._channel.put(event)
                    await self._channel.room()
                    if event.partial:
                        continue
                    for file in await files_of(self._runner, self._place, event.actions.artifact_delta):
                        self._channel.put(file)
                    if event.error_code and not _is_of_node(event):
                        failed = AdkError(event.error_code, event.error_message)
                    elif event.content is not None and event.content.parts:
                        failed = None
        if failed is not None:
            raise failed

    def _native(self) -> AsyncGenerator[Any, None]:
        plan, message = self._plan, self._plan.message
        extra: dict[str, Any] = {}
        if message is not None:
            extra = {"new_message": message.content, "state_delta": message.delta(plan.state) or None}
        return self._runner.run_async(
            user_id=self._place.user_id,
            session_id=self._place.session_id,
            invocation_id=plan.invocation,
            run_config=self._run_config,
            **extra,
        )


def _is_of_node(event: Any) -> bool:
    """The error is that of a workflow's node, not of an agent: it comes as an exception, too, unless the node was tried
    again."""
    path = event.node_info.path if event.node_info is not None else ""
    return bool(path) and path.rpartition("/")[2].partition("@")[0] != event.author
