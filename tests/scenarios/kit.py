"""Parts of the scenarios: scripted models, the usual graphs, requests as a client would send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from tests.scenarios.reading import Events, Message, interrupts
from yai_nexus_agentkit.testing import ScriptedChatModel, ai_message, tool_call_part, tool_call_parts, tool_calls_part

__all__ = [
    "Request",
    "ai",
    "answers",
    "blocking",
    "call_part",
    "calls_part",
    "chat_graph",
    "hello",
    "stream_calls",
    "streaming",
    "tool_graph",
    "turn",
    "user",
]

Request: TypeAlias = dict[str, Any]


def streaming(script: Any, *, ids: Any = None, label: str = "m", pause: float = 0.0) -> ScriptedChatModel:
    """A model that streams its script part by part."""
    return ScriptedChatModel(script=script, ids=ids, label=label, pause=pause)


def blocking(script: Any, *, ids: Any = None, label: str = "m") -> ScriptedChatModel:
    """A model that cannot stream: one whole message per call."""
    return ScriptedChatModel(script=script, ids=ids, label=label, streaming=False)


def call_part(name: str | None = None, args: str = "", id: str | None = None, index: int = 0, content: Any = "") -> Any:
    """One streamed fragment of a tool call."""
    return tool_call_part(name, args, id, index=index, content=content)


def calls_part(*calls: tuple[str, Mapping[str, Any], str], content: Any = "") -> Any:
    """Whole tool calls (name, args, id) arriving together in one chunk."""
    return tool_calls_part(*calls, content=content)


def stream_calls(*calls: tuple[str, Mapping[str, Any], str]) -> list[Any]:
    """Tool calls (name, args, id) one after the other: name first, then the arguments in two pieces."""
    return [
        part for index, (name, args, id) in enumerate(calls) for part in tool_call_parts(name, args, id, index=index)
    ]


def ai(content: Any = "", *calls: tuple[str, Mapping[str, Any], str], **fields: Any) -> Any:
    """A whole AI message with tool calls (name, args, id)."""
    return ai_message(content, *calls, **fields)


def chat_graph(model: Any, state: type = MessagesState, checkpointer: Any = True, **compile_args: Any) -> Any:
    """START → chat → END."""

    async def chat(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    builder.add_node("chat", chat)
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=InMemorySaver() if checkpointer is True else checkpointer, **compile_args)


def tool_graph(
    model: Any,
    tools: Sequence[Any],
    state: type = MessagesState,
    checkpointer: Any = True,
    backend: Sequence[str] | None = None,
    node_args: Mapping[str, Any] | None = None,
) -> Any:
    """agent → tools → agent, until the model calls nothing.

    Calls to tools named in `backend` (default: all) are executed; others end the run, as a client's tool does.
    """
    names = backend if backend is not None else [tool.name for tool in tools]

    async def agent(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    def route(state: dict[str, Any]) -> str:
        calls = getattr(state["messages"][-1], "tool_calls", None) or []
        return "tools" if any(call["name"] in names for call in calls) else END

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools, **(node_args or {})))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver() if checkpointer is True else checkpointer)


def user(id: str, text: str) -> Message:
    return {"id": id, "role": "user", "content": text}


def turn(run: str, messages: Sequence[Message], thread: str = "t", **fields: Any) -> Request:
    return {"threadId": thread, "runId": run, "messages": list(messages), **fields}


def hello(text: str = "hi") -> list[Request]:
    """The one-turn conversation that most scenarios use."""
    return [turn("r1", [user("u1", text)])]


def answers(events: Events, payload: Any = None, status: str = "resolved") -> list[dict[str, Any]]:
    """A ``resume`` that answers every question of a run with `payload`, a value or a function of the question."""
    given = []
    for question in interrupts(events):
        entry = {"interruptId": question["id"], "status": status}
        if status == "resolved":
            entry["payload"] = payload(question) if callable(payload) else payload
        given.append(entry)
    return given
