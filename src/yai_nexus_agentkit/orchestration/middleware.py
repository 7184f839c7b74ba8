"""`ClientToolsMiddleware`: client tools and context for `create_agent` and deepagents. Needs the extra ``[langchain]``.

    agent = create_agent(model, tools=TOOLS, middleware=[ClientToolsMiddleware()], checkpointer=saver)

How a client call passes through an agent that has tool nodes only:

1. The model gets the request's tools as dicts, which `create_agent` does not try to execute.
2. When the model calls one, the agent sends the call to the tools node like any other. There it gets a placeholder (a
   tool message marked `PENDING`), while the server's calls run and the HITL middleware asks its questions.
3. Before the model is called again, the run jumps to its end.
4. Every way out, also `return_direct` and structured output, removes the placeholders. The thread ends with the
   client's calls unanswered, and the next request's tool messages follow them.

The AI message is never rewritten: the streamed, the stored and the approved message are the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, SystemMessage, ToolMessage

from yai_nexus_agentkit.orchestration.client_tools import (
    PENDING,
    client_tool_names,
    client_tools,
    context_text,
    is_pending,
)

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        ToolCallRequest,
        hook_config,
    )
    from langchain.agents.structured_output import AutoStrategy, ToolStrategy
except ImportError as error:
    raise ImportError(
        "ClientToolsMiddleware needs the package langchain: pip install 'yai-nexus-agentkit[langchain]'"
    ) from error

from langgraph.runtime import Runtime
from langgraph.types import Command

__all__ = ["ClientToolsMiddleware"]

_UNANSWERED = "The user's application did not answer this call."


class ClientToolsMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Offers the request's tools to the model and ends the run when the model calls one. Adds the request's context.

    Give it to the outermost agent: the calls of a subagent that ends early would be lost. It may stand before or behind
    the HITL middleware. A client tool with the name of a server tool, or of a structured output's schema, is left out
    with a warning.

    The object holds no data of a request, so any number of agents and concurrent runs may share it.

    Args:
        context: Add the request's context entries to the system message (`context_text`).
    """

    def __init__(self, *, context: bool = True) -> None:
        super().__init__()
        self._context = context

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """The model's call with the client's tools and the context."""
        return handler(self._offer(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The model's call with the client's tools and the context."""
        return await handler(self._offer(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """A placeholder for a client's call; server calls pass."""
        return _placeholder(request) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """A placeholder for a client's call; server calls pass."""
        return _placeholder(request) or await handler(request)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The end of the run while client calls are unanswered."""
        return _before_model(state["messages"])

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The end of the run while client calls are unanswered."""
        return _before_model(state["messages"])

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The thread without placeholders."""
        return _without_placeholders(state["messages"])

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The thread without placeholders."""
        return _without_placeholders(state["messages"])

    def _offer(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        # As dicts: for a BaseTool added here the agent would demand somebody who executes it.
        tools = client_tools(exclude=[*request.tools, *_structured_output_names(request)])
        if tools:
            request = request.override(tools=[*request.tools, *tools])
        text = context_text() if self._context else None
        if text is not None:
            request = request.override(system_message=_with_text(request.system_message, text))
        return request


def _structured_output_names(request: ModelRequest[Any]) -> list[str]:
    """The tools that the agent adds for structured output, which are not among the request's."""
    wanted = request.response_format
    if isinstance(wanted, AutoStrategy):
        wanted = ToolStrategy(wanted.schema)
    return [spec.name for spec in wanted.schema_specs] if isinstance(wanted, ToolStrategy) else []


def _with_text(system: SystemMessage | None, text: str) -> SystemMessage:
    if system is None:
        return SystemMessage(content=text)
    if isinstance(system.content, str):
        content: Any = f"{system.content}\n\n{text}"
    else:  # After the author's blocks, so that a provider's prompt cache still fits.
        content = [*system.content, {"type": "text", "text": text}]
    return system.model_copy(update={"content": content})


def _placeholder(request: ToolCallRequest) -> ToolMessage | None:
    """A placeholder if nobody on the server executes this call and the client offers the tool."""
    call = request.tool_call
    if request.tool is not None or call["name"] not in client_tool_names():
        return None
    return ToolMessage(
        content="",
        name=call["name"],
        tool_call_id=call["id"],
        id=f"pending-{uuid4()}",
        additional_kwargs={PENDING: True},
    )


def _tail(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages behind the last AI message."""
    for position in range(len(messages) - 1, -1, -1):
        if isinstance(messages[position], AIMessage):
            return list(messages[position + 1 :])
    return list(messages)


def _before_model(messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
    """Jump to the end while there are placeholders; settle those that a failed run left behind.

    A run that fails or is cancelled between its tools and its end leaves its placeholders in the thread. They are old
    if an answer to one of them follows, or any message of another kind. Then the answered ones are removed, and the
    others become errors that say so to the model. To end the run for them would end every run of the thread.
    """
    tail = _tail(messages)
    held = [message for message in tail if isinstance(message, ToolMessage) and is_pending(message)]
    if not held:
        return None
    answered = {m.tool_call_id for m in tail if isinstance(m, ToolMessage) and not is_pending(m)}
    old = any(m.tool_call_id in answered for m in held) or not all(isinstance(m, ToolMessage) for m in tail)
    if not old:
        return {"jump_to": "end"}
    return {"messages": [_removed(m) if m.tool_call_id in answered else _unanswered(m) for m in held]}


def _without_placeholders(messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
    removed = [_removed(message) for message in _tail(messages) if is_pending(message)]
    return {"messages": removed} if removed else None


def _removed(message: AnyMessage) -> RemoveMessage:
    return RemoveMessage(id=str(message.id))


def _unanswered(message: ToolMessage) -> ToolMessage:
    return ToolMessage(
        content=_UNANSWERED, name=message.name, tool_call_id=message.tool_call_id, id=message.id, status="error"
    )
