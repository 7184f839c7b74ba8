"""The additions of one run to ADK's runner: the client's tools, the times of tools, and the sink of emitted events."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from google.adk.models import LlmResponse
from google.adk.plugins import BasePlugin

from yai_nexus_agentkit.adapter.adk.client_tools import ClientTool
from yai_nexus_agentkit.adapter.adk.history import parts_of
from yai_nexus_agentkit.orchestration.sinks import Sink, at_call, sinking

__all__ = ["RunPlugin"]

_logger = logging.getLogger(__name__)


class RunPlugin(BasePlugin):
    """One per run: runs share neither tools nor times."""

    def __init__(
        self, session_id: str, tools: Sequence[ClientTool], sink: Sink, offers: Callable[[str, str], bool] | None = None
    ) -> None:
        """`offers`: (agent, tool) → the agent gets the tool; None: every agent gets all."""
        super().__init__(name="yai_nexus_agentkit")
        self._session, self._tools, self._sink, self._offers = session_id, tools, sink, offers
        self._began: dict[str, float] = {}
        """When each running tool began, by the id of its call."""
        self._refused: set[str] = set()
        self._called: set[str | None] | None = None
        """Ids of the thread's calls; None until a model gives one."""
        self._chunked: dict[tuple[str, str | None], str] = {}
        """Id of the answer whose chunks an agent gives now, by agent and branch."""

    def oldest_tool(self) -> float | None:
        """When the longest running tool began."""
        return min(self._began.values(), default=None)

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        sinking(invocation_context.invocation_id, self._sink)

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Code that is executed takes an answer's place, in an event with an id of its own: it gets that of the chunks,
        by which clients have the message."""
        key = event.author, event.branch
        if event.partial:
            self._chunked[key] = event.id
            return
        chunked = self._chunked.pop(key, event.id)
        if chunked != event.id and any(part.executable_code for part in parts_of(event)):
            event.id = chunked  # ADK keeps the id of an event whatever this returns

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> LlmResponse | None:
        """Give the model the client's tools. The agent's own win, and an agent inside a tool gets none: nobody could
        answer it. While one of them waits for its result, the model is not called, and the agent ends."""
        if callback_context.session.id != self._session:
            return None
        if self._waits(callback_context):
            return LlmResponse()
        tools = [t for t in self._tools if self._offers is None or self._offers(callback_context.agent_name, t.name)]
        taken = [tool.name for tool in tools if tool.name in llm_request.tools_dict]
        for name in taken:
            if name not in self._refused:
                self._refused.add(name)
                _logger.warning("the client's tool %r is left out: the agent has one of this name", name)
        llm_request.append_tools([tool for tool in tools if tool.name not in taken])
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: LlmResponse) -> None:
        """Give calls ids that are unique in the thread. Some models number calls from 0 in each answer (``call_0``): a
        repeated id gets a suffix, or neither ADK nor a client could tell the calls apart. For a call without an id, ADK
        makes one that models never see."""
        if llm_response.partial or llm_response.content is None:
            return
        for part in llm_response.content.parts or ():
            if (call := part.function_call) is not None and call.id:
                if self._called is None:
                    events = callback_context.session.events
                    self._called = {one.id for event in events for one in event.get_function_calls()}
                numbered = (f"{call.id}-{number}" for number in count(2))
                while call.id in self._called:
                    call.id = next(numbered)
                self._called.add(call.id)

    def _waits(self, context: Any) -> bool:
        """The agent called a tool of the client's in this turn, and has no result."""
        answered: set[str] = set()
        names = {tool.name for tool in self._tools}
        for event in reversed(context.session.events) if names else ():
            if event.invocation_id != context.invocation_id:
                break
            answered.update(response.id for response in event.get_function_responses())
            if event.author == context.agent_name and any(
                call.name in names and call.id in (event.long_running_tool_ids or ()) and call.id not in answered
                for call in event.get_function_calls()
            ):
                return True
        return False

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        self._began[tool_context.function_call_id] = time.monotonic()
        at_call(tool_context.function_call_id)

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
        self._began.pop(tool_context.function_call_id, None)

    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Any) -> None:
        self._began.pop(tool_context.function_call_id, None)
