"""Tool calls, and what they return."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from benchmarks.cases.parts import scene
from benchmarks.registry import Graph, Scene, agent_case
from yai_nexus_agentkit.testing import Part, ScriptedChatModel, tool_call_parts

_RESULT = 34_000
_MARKER = "the one and only result"


@agent_case("{size} tool calls in a loop", size=10, small=2)
def tools(size: int) -> Scene:
    """Model, tool, model, tool, ..., then an answer of 20 tokens. Arguments are streamed in pieces."""
    return scene(_loop(size, ""))


@agent_case("a tool that returns 34 kB, once", size=1, small=1)
def tool_result(size: int) -> Scene:
    """A large result: how often does it go over the wire?"""
    return scene(_loop(size, _MARKER.ljust(_RESULT, ".")), marker=_MARKER)


def _loop(calls: int, extra: str) -> Graph:
    async def search(query: str, limit: int) -> str:
        """Search."""
        return f"{limit} results for {query}{extra}"

    def script(messages: list[BaseMessage]) -> list[Part]:
        done = sum(isinstance(message, ToolMessage) for message in messages)
        if done < calls:
            return list(tool_call_parts("search", {"query": f"question {done}", "limit": 10}, f"call_{done}"))
        return [f"word{n} " for n in range(20)]

    model = ScriptedChatModel(script=script).bind_tools([search])

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, list[AIMessage]]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([search]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())
