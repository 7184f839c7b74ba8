"""Client tools: the tools of the user's application that a request offers to the model, and the request's context.

In a hand-written graph, bind the request's tools as well as the graph's own, and use two routers. Server calls run
in the graph. Client calls stay unanswered: the run ends, the application executes them, and the next request has their
tool messages.

    after_model, after_tools = tool_routes(server_tools=TOOLS)

    async def agent(state, config):
        tools = [*TOOLS, *client_tools(config, exclude=TOOLS)]
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"], config)]}

    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])

Both routers are needed. With a plain edge from the tools to the agent, a turn that calls tools of both kinds would ask
the model while the client's call is unanswered, and providers refuse that. For `create_agent` and deepagents use
`yai_nexus_agentkit.orchestration.middleware.ClientToolsMiddleware` instead.

Tools and context are in ``config["configurable"]`` of the current run, so one compiled graph serves any number of
requests with different tools at once. The adapter fills it; in a test, fill it by hand.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.constants import END
from langgraph.types import Send

__all__ = [
    "CONTEXT_KEY",
    "PENDING",
    "TOOLS_KEY",
    "ServerTool",
    "ToolRoutes",
    "client_tool_names",
    "client_tools",
    "context_entries",
    "context_text",
    "is_pending",
    "pending_calls",
    "route_after_model",
    "route_after_tools",
    "tool_name",
    "tool_routes",
]

logger = logging.getLogger(__name__)

TOOLS_KEY: Final = "agui_tools"
"""Key in ``config["configurable"]``: the request's tools, a list of ``{"name", "description", "parameters"}``."""

CONTEXT_KEY: Final = "agui_context"
"""Key in ``config["configurable"]``: the request's context entries, a list of ``{"description", "value"}``."""

PENDING: Final = "agui_pending"
"""``additional_kwargs`` key of a placeholder: a tool message in the place of a client's answer while a run ends.

A placeholder is not a result. It is never sent to the client, and no snapshot contains it."""

ServerTool: TypeAlias = "str | BaseTool | Mapping[str, Any] | Callable[..., Any]"
"""A tool of the graph: its name, a LangChain tool, a provider's tool as a dict, or a plain function."""

MESSAGES_KEY: Final = "messages"

_warned: set[str] = set()
"""Names whose clash was reported. Only names of server tools get in, so a client cannot make it grow."""


def client_tools(config: RunnableConfig | None = None, *, exclude: Iterable[ServerTool] = ()) -> list[dict[str, Any]]:
    """The request's tools as ``{"type": "function", "function": {"name", "description", "parameters"}}``.

    Every provider's `bind_tools` takes this format. Parameters that are missing or not an object schema become
    ``{"type": "object", "properties": {}}``. Entries without a name and repeated names are left out.

    Args:
        config: The node's configuration; by default that of the current run. Outside a run there are no tools.
        exclude: The server's tools. A client tool of the same name is left out and logged once, at warning level:
            most providers refuse two tools of one name.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": str(tool.get("description") or ""),
                "parameters": _parameters(tool.get("parameters")),
            },
        }
        for name, tool in _offered(config, exclude).items()
    ]


def client_tool_names(config: RunnableConfig | None = None, *, exclude: Iterable[ServerTool] = ()) -> frozenset[str]:
    """The names of `client_tools`, with the same arguments."""
    return frozenset(_offered(config, exclude))


def context_entries(config: RunnableConfig | None = None) -> list[dict[str, str]]:
    """The application's context: ``{"description": str, "value": str}`` each, in the request's order.

    Values that are not text become JSON text. The user's side wrote them: never take identity or permission from here.

    Args:
        config: The node's configuration; by default that of the current run. Outside a run the list is empty.
    """
    found = []
    for entry in _listed(config, CONTEXT_KEY):
        value = entry.get("value")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        found.append({"description": str(entry.get("description") or ""), "value": text})
    return found


def context_text(config: RunnableConfig | None = None) -> str | None:
    """A paragraph for the system prompt with every context entry; None if the request has none.

    Args:
        config: The node's configuration; by default that of the current run.
    """
    entries = [f"{entry['description'] or 'Context'}:\n{entry['value']}" for entry in context_entries(config)]
    return "\n\n".join(["Context from the user's application:", *entries]) if entries else None


def pending_calls(
    messages: Sequence[AnyMessage],
    config: RunnableConfig | None = None,
    *,
    server_tools: Iterable[ServerTool] = (),
) -> tuple[list[ToolCall], list[ToolCall]]:
    """The calls of the last AI message that no tool message answers yet: the server's, then the client's.

    A call is the client's if the request has a tool of its name and the server has none. All others are the server's,
    also unknown names: the tool node reports those to the model.
    """
    client = client_tool_names(config, exclude=server_tools)
    calls, answered = _last_turn(messages)
    waiting = [call for call in calls if call["id"] not in answered]
    return (
        [call for call in waiting if call["name"] not in client],
        [call for call in waiting if call["name"] in client],
    )


def route_after_model(
    state: Any,
    config: RunnableConfig,
    *,
    tools_node: str = "tools",
    messages_key: str = MESSAGES_KEY,
    server_tools: Iterable[ServerTool] = (),
) -> str | list[Send]:
    """Where to go after the model: every server call to the tools node, else the end.

    Each call goes in a `Send` of its own (a list with that one call, which `ToolNode` accepts; `InjectedState` and
    `ToolRuntime` see the graph's state). So each call is a task, as in `create_agent`: if one asks the user or fails,
    the results of the others are kept, and they do not run again.

    Use it with ``add_conditional_edges("agent", route_after_model, ["tools", END])``; for other names, and where the
    names of client tools may clash with yours, `tool_routes`.
    """
    server, _ = pending_calls(_messages(state, messages_key), config, server_tools=server_tools)
    return [Send(tools_node, [call]) for call in server] if server else END


def route_after_tools(
    state: Any,
    config: RunnableConfig,
    *,
    agent_node: str = "agent",
    messages_key: str = MESSAGES_KEY,
    server_tools: Iterable[ServerTool] = (),
) -> str:
    """Where to go after the tools: the end while client calls are unanswered, else back to the agent.

    Use it with ``add_conditional_edges("tools", route_after_tools, ["agent", END])``.
    """
    _, client = pending_calls(_messages(state, messages_key), config, server_tools=server_tools)
    return END if client else agent_node


class ToolRoutes(NamedTuple):
    """The two routers of a hand-written graph, as `add_conditional_edges` takes them."""

    after_model: Callable[[Any, RunnableConfig], str | list[Send]]
    after_tools: Callable[[Any, RunnableConfig], str]


def tool_routes(
    tools_node: str = "tools",
    agent_node: str = "agent",
    messages_key: str = MESSAGES_KEY,
    server_tools: Iterable[ServerTool] = (),
) -> ToolRoutes:
    """`route_after_model` and `route_after_tools` for other names of nodes and of the messages' channel.

    Args:
        server_tools: The tools of the tools node. A client tool with the name of one of them is ignored. Without this
            argument a client could take over calls of such a name.
    """
    names = [tool_name(tool) for tool in server_tools]

    def after_model(state: Any, config: RunnableConfig) -> str | list[Send]:
        return route_after_model(state, config, tools_node=tools_node, messages_key=messages_key, server_tools=names)

    def after_tools(state: Any, config: RunnableConfig) -> str:
        return route_after_tools(state, config, agent_node=agent_node, messages_key=messages_key, server_tools=names)

    return ToolRoutes(after_model, after_tools)


def tool_name(tool: ServerTool) -> str:
    """The name by which a model calls this tool; empty for a provider's tool without one."""
    if isinstance(tool, str):
        return tool
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, Mapping):
        function = tool.get("function")
        return str((function if isinstance(function, Mapping) else tool).get("name") or "")
    return getattr(tool, "__name__", "")


def is_pending(message: BaseMessage) -> bool:
    """Whether this message is a placeholder for a client's answer (`PENDING`)."""
    return isinstance(message, ToolMessage) and message.additional_kwargs.get(PENDING) is True


def _offered(config: RunnableConfig | None, exclude: Iterable[ServerTool]) -> dict[str, Mapping[str, Any]]:
    """The request's tools by name, the first of each name, without the server's names."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in _listed(config, TOOLS_KEY):
        name = tool.get("name")
        if isinstance(name, str) and name:
            found.setdefault(name, tool)
    if found:
        for name in {tool_name(tool) for tool in exclude}.intersection(found):
            del found[name]
            if name not in _warned:
                _warned.add(name)
                logger.warning("The client's tool %r has the name of a server tool and is ignored.", name)
    return found


def _listed(config: RunnableConfig | None, key: str) -> list[Mapping[str, Any]]:
    """The mappings in a list of the run's configurable values; nothing for any other shape."""
    if config is None:
        try:
            config = get_config()
        except RuntimeError:  # outside a run
            return []
    values = (config.get("configurable") or {}).get(key)
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, (list, tuple)) else []


def _parameters(schema: Any) -> dict[str, Any]:
    """An object schema with `properties`, which some providers require. The request's own object is not changed."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return {"type": "object", "properties": {}}
    properties = schema.get("properties")
    return {**schema, "type": "object", "properties": properties if isinstance(properties, Mapping) else {}}


def _messages(state: Any, key: str) -> Sequence[AnyMessage]:
    """The messages of a graph's state: a list, a mapping or an object with that channel."""
    if isinstance(state, list):
        return state
    return (state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)) or []


def _last_turn(messages: Sequence[AnyMessage]) -> tuple[list[ToolCall], set[str]]:
    """The calls of the last AI message, and the ids of those that are answered after it."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message.tool_calls, answered
        if isinstance(message, ToolMessage) and not is_pending(message):
            answered.add(message.tool_call_id)
    return [], answered
