"""A node silences a helper model with the metadata flags of CopilotKit and ag-ui-langgraph."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming
from tests.scenarios.reading import texts, tool_calls

TITLE = "a model call whose metadata says emit-messages: false (or emit-tool-calls: false) is not streamed"
SOURCE = "https://github.com/CopilotKit/CopilotKit/issues/3203"


def silenced(config, flag):
    flags = {f"copilotkit:{flag}": False, flag: False}
    return {**config, "metadata": {**config.get("metadata", {}), **flags}}


def build():
    calls = stream_calls(("classify", {"x": 1}, "c_hidden"))
    helper = streaming(ids="all", label="h", script=[["ROUTE=", "billing"], calls])
    main = streaming(ids="all", label="m", script=[["Hello ", "there"]])

    async def route(state, config):
        await helper.ainvoke("x", silenced(config, "emit-messages"))
        await helper.ainvoke("x", silenced(config, "emit-tool-calls"))
        return {}

    async def chat(state, config):
        return {"messages": [await main.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("route", route)
    g.add_node("chat", chat)
    g.add_edge(START, "route")
    g.add_edge("route", "chat")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + streamed_ids(ev, "Hello there")
    if any("ROUTE" in t for t in texts(ev).values()):
        p.append(f"the silenced model was streamed: {list(texts(ev).values())}")
    if "c_hidden" in tool_calls(ev):
        p.append("the silenced tool call was streamed")
    return p
