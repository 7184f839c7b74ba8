"""Graphs that do one thing each: what a page of the AI SDK can be shown."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop
from tests.support.tools import OSLO, ROME, risky, weather
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import reasoning_part, text_part, tool_call_parts, tool_calls_part


def block(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[fields])


class Noted(MessagesState):
    n: int
    notes: list[str]


@tool
async def found(q: str) -> dict[str, Any]:
    """Finds something."""
    return {"q": q, "hits": [1, None]}


def speaker(*script: Any, **fields: Any) -> Any:
    """A model with these answers, and one for the turn behind them."""
    return scripted(*script, "Bye.", **fields)


def text() -> Graph:
    return chat(speaker(["Hello ", "there."]))


def reasoning() -> Graph:
    said = [reasoning_part("They "), reasoning_part("greet."), reasoning_part(signature="c2lnbmVk"), "Hello!"]
    return chat(speaker(said, provider="anthropic"))


def resumed() -> Graph:
    """The model goes on thinking while it speaks."""
    return chat(speaker([reasoning_part("Hm. "), "Hel", reasoning_part("Well. "), "lo.", reasoning_part("Done.")]))


def named_late() -> Graph:
    """The provider gives the message its id in the last chunk."""
    return chat(speaker([reasoning_part("Hm."), "Hel", "lo.", AIMessageChunk(content="", id="msg_1")]))


def named_late_with_calls() -> Graph:
    asked = tool_calls_part(ROME)
    asked.id = "msg_1"
    return tool_loop(speaker(["Let me see.", asked], ["Sunny."]), [weather])


def written_anew() -> Graph:
    """The node makes a message of its own of the answer."""
    model = speaker(["Hel", "lo."])

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", (await model.ainvoke(state["messages"])).text)]}

    return in_a_row({"node": node, "after": chat_node(speaker("And.", "Bye."))})


def calls() -> Graph:
    return tool_loop(speaker([tool_calls_part(ROME, OSLO)], ["Sunny."]), [weather])


def disordered() -> Graph:
    """The tool node stores the results in another order than they came: a snapshot moves them, and the answer."""
    said = [reasoning_part("Well, "), reasoning_part(signature="c2lnbmVk"), "half."]
    asked = tool_calls_part(("nobody", {}, "call_0"), ROME)
    return tool_loop(speaker([asked], said, provider="anthropic"), [weather])


def json_result() -> Graph:
    return tool_loop(speaker(tool_call_parts("found", {"q": "x"}, "call_1"), ["Done."]), [found])


def failing_tool() -> Graph:
    return tool_loop(speaker(tool_call_parts("risky", {"n": 1}, "call_1"), ["Oh."]), [risky], handle_tool_errors=True)


def broken_arguments() -> Graph:
    return chat(speaker(["Look: ", tool_calls_part(("weather", '{"city": "Ro', "call_1"))]))


def two_nodes() -> Graph:
    return in_a_row({"first": chat_node(speaker("One.")), "second": chat_node(speaker("Two."))})


def values() -> Graph:
    async def first(state: Noted, config: RunnableConfig) -> dict[str, Any]:
        ui = EventEmitter(config)
        ui.emit("note", {"at": 1})
        ui.emit("chart", [1, 2], keep="c")
        return {"n": 1, "notes": ["a"]}

    async def second(state: Noted, config: RunnableConfig) -> dict[str, Any]:
        ui = EventEmitter(config)
        ui.activity("p1", "plan", {"steps": ["a"]})
        ui.activity_patch("p1", [{"op": "add", "path": "/steps/-", "value": "b"}])
        return {"n": 2, "messages": [("ai", "Noted.")]}

    return in_a_row({"first": first, "second": second}, Noted)


def provider() -> Graph:
    hits = [{"type": "web_search_result", "url": "https://w.example/", "title": "Weather"}]
    cited = {"type": "web_search_result_location", "url": "https://w.example/", "title": "Weather", "cited_text": "25"}
    return chat(
        speaker(
            [
                text_part("Let me look.", index=0),
                block(type="server_tool_use", id="srv_1", name="web_search", input={}, index=1),
                block(type="input_json_delta", partial_json='{"query": "rome"}', index=1),
                block(type="web_search_tool_result", tool_use_id="srv_1", content=hits, index=2),
                text_part("It is sunny.", index=3),
                block(type="text", citations=[cited], index=3),
                block(type="image", base64="aGVsbG8=", mime_type="image/png", index=4),
            ],
            provider="anthropic",
        )
    )


def subagent() -> Graph:
    expert = chat(speaker(["It ", "rains."])).with_config(run_name="expert")

    @tool
    async def consult(question: str, config: RunnableConfig) -> str:
        """Ask the expert."""
        answer = await expert.ainvoke({"messages": [HumanMessage(question)]}, config)
        return str(answer["messages"][-1].text)

    return tool_loop(speaker(tool_call_parts("consult", {"question": "why?"}, "call_1"), ["Done."]), [consult])


def unseen() -> Graph:
    """A model that is not streamed: what the thread stores of it comes with the messages."""
    return in_a_row({"quiet": chat_node(speaker("Aside.", tags=["nostream"])), "loud": chat_node(speaker("Aloud."))})


def failing() -> Graph:
    return chat(speaker(["So far.", RuntimeError("it broke")]))


def ends_with_a_tool() -> Graph:
    async def act(state: MessagesState) -> dict[str, Any]:
        calls = getattr(state["messages"][-1], "tool_calls", [])
        return {"messages": [ToolMessage("done", tool_call_id=call["id"]) for call in calls]}

    return in_a_row({"ask": chat_node(speaker(tool_call_parts("weather", {"city": "Rome"}, "call_1"))), "act": act})
