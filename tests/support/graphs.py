"""Graphs around scripted models: one node that chats, the usual loop of agent and tools, nodes in a row."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from yai_nexus_agentkit.testing import ScriptedChatModel

__all__ = ["CALLS", "Graph", "chat", "chat_node", "in_a_row", "let_others_run", "scripted", "tool_loop", "turns"]

Graph = CompiledStateGraph[Any, Any, Any, Any]

_Model = Runnable[Any, Any]


def scripted(*script: Any, **fields: Any) -> ScriptedChatModel:
    """A model with one answer per argument."""
    return ScriptedChatModel(script=list(script), **fields)


def turns(number: int) -> list[float]:
    """Parts of a script that let other tasks run for so many turns of the loop: an order without a clock."""
    return [0.0] * number


async def let_others_run(number: int) -> None:
    """The same for code."""
    for _ in range(number):
        await asyncio.sleep(0)


async def _ainvoke(model: _Model, messages: Any, config: RunnableConfig) -> Any:
    return await model.ainvoke(messages, config)


async def _astream(model: _Model, messages: Any, config: RunnableConfig) -> Any:
    return _merged([chunk async for chunk in model.astream(messages, config)])


def _invoke(model: _Model, messages: Any, config: RunnableConfig) -> Any:
    return model.invoke(messages, config)


def _stream(model: _Model, messages: Any, config: RunnableConfig) -> Any:
    return _merged(list(model.stream(messages, config)))


def _merged(chunks: list[Any]) -> Any:
    """One message of what was streamed; a model that cannot stream gives it whole."""
    return add_ai_message_chunks(*chunks) if len(chunks) > 1 else chunks[0]


CALLS: dict[str, Callable[..., Any]] = {"ainvoke": _ainvoke, "astream": _astream, "invoke": _invoke, "stream": _stream}
"""The four ways to call a model: the first two in an async node, the others in a sync one."""


def chat_node(model: _Model, how: str = "ainvoke") -> Callable[..., Any]:
    """A node that asks the model with the conversation so far, and writes its answer."""
    call = CALLS[how]

    async def ask(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await call(model, state["messages"], config)]}

    def ask_sync(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [call(model, state["messages"], config)]}

    return ask if inspect.iscoroutinefunction(call) else ask_sync


def chat(model: _Model, how: str = "ainvoke", **compile_args: Any) -> Graph:
    """START → chat → END."""
    return in_a_row({"chat": chat_node(model, how)}, **compile_args)


def in_a_row(nodes: dict[str, Any], state: type = MessagesState, **compile_args: Any) -> Graph:
    """The nodes one after the other. Keeps its threads in memory, unless `compile_args` say otherwise."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    last = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(last, name)
        last = name
    builder.add_edge(last, END)
    return builder.compile(**{"checkpointer": InMemorySaver(), **compile_args})


def tool_loop(
    model: BaseChatModel, tools: Sequence[BaseTool | Callable[..., Any]], state: type = MessagesState, **node_args: Any
) -> Graph:
    """agent → tools → agent, until the model calls nothing. `node_args` go to the `ToolNode`."""

    def route(values: dict[str, Any]) -> str:
        last = values["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    builder.add_node("agent", chat_node(model))
    builder.add_node("tools", ToolNode(tools, **node_args))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())
