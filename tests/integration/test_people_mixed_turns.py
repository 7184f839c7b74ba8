"""Turns in which a tool asks and the client has calls of its own, and what people say and send meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from tests.support.graphs import Graph
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, resolved
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware

from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

pytestmark = EACH_PEER

COLOUR = {"name": "pick_colour", "description": "Pick.", "parameters": {"type": "object", "properties": {}}}


@tool
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def by_hand(model: ScriptedChatModel) -> Graph:
    tools = [require_approval(pay)]
    after_model, after_tools = tool_routes(server_tools=tools)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        bound = model.bind_tools([*tools, *client_tools(config, exclude=tools)])
        return {"messages": [await bound.ainvoke(state["messages"], config)]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver())


def agent(model: ScriptedChatModel, tools: list[BaseTool] | None = None, *before: Any) -> Graph:
    graph: Graph = create_agent(
        model,
        tools or [require_approval(pay)],
        middleware=[*before, ClientToolsMiddleware()],
        checkpointer=InMemorySaver(),
    )
    return graph


def hitl_agent(model: ScriptedChatModel) -> Graph:
    return agent(model, [pay], HumanInTheLoopMiddleware(interrupt_on={"pay": True}))


Kind = Callable[[ScriptedChatModel], Graph]
KINDS = pytest.mark.parametrize("kind", [by_hand, agent, hitl_agent], ids=["by hand", "approval", "HITL middleware"])

PAY, PICK = ("pay", {"amount": 1}, "call-pay"), ("pick_colour", {}, "call-pick")


def turn(*calls: tuple[str, dict[str, Any], str]) -> list[Any]:
    return [tool_calls_part(*calls)]


def replying(*first: Any) -> ScriptedChatModel:
    """These answers, then echoes of what was said last."""
    return strict_model([*first, *[lambda messages: [f"Re {messages[-1].text}."]] * 3], ids="all")


def yes(tab: Tab) -> list[dict[str, Any]]:
    return [resolved(q["id"], {"approved": True}) for q in tab.questions]


def user(text: str) -> dict[str, Any]:
    return {"id": f"user-{text}", "role": "user", "content": text}


# ---------------------------------------------------------------- with the answer to the question


UNANSWERED = ("tool", "There is no result: the conversation went on before one came. The call may have had an effect.")
PAID, RED = ("tool", "paid 1"), ("tool", "red")


@KINDS
@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (["new"], [PAID, UNANSWERED, ("user", "new"), ("assistant", "Re new.")]),
        (["one", "two"], [PAID, UNANSWERED, ("user", "one"), ("user", "two"), ("assistant", "Re two.")]),
        (["red", "new"], [PAID, RED, ("assistant", "Re paid 1."), ("user", "new"), ("assistant", "Re new.")]),
        (["red"], [PAID, RED, ("assistant", "Re paid 1.")]),
        ([], [PAID]),
    ],
    ids=["a message", "two messages", "the result and a message", "the result", "nothing"],
)
async def test_the_answer_to_a_question_with(
    peer: Peer, kind: Kind, sent: list[str], shown: list[tuple[str, str]]
) -> None:
    """The client's call is answered before the model hears what the user said next, and the thread stays usable."""
    tab = Tab(kind(replying(turn(PAY, PICK))), peer, tools=[COLOUR])
    await tab.say("go")
    new = [tab.result({"id": "call-pick"}, text) if text == "red" else user(text) for text in sent]
    await tab.send([*tab.messages, *new], resume=yes(tab))
    assert tab.outcome == "success"
    assert sorted(tab.said[2:]) == sorted(shown)
    assert [m for m in tab.said[2:] if m[0] != "tool"] == [m for m in shown if m[0] != "tool"]
    await tab.say("and then?")
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", "Re and then?.")


@KINDS
async def test_a_result_counts_although_the_page_offers_its_tools_no_more(peer: Peer, kind: Kind) -> None:
    tab = Tab(kind(replying(turn(PAY, PICK))), peer, tools=[COLOUR])
    await tab.say("go")
    await tab.send([*tab.messages, tab.result({"id": "call-pick"}, "red")], resume=yes(tab), tools=[])
    assert sorted(tab.said[2:]) == sorted([PAID, RED, ("assistant", "Re paid 1.")])


@KINDS
@pytest.mark.parametrize("clash", [True, False])
async def test_a_result_for_the_call_that_is_asked_about_is_none(peer: Peer, kind: Kind, clash: bool) -> None:
    """Not even if the page offers a tool of that name: the server's wins."""
    tools = [{**COLOUR, "name": "pay"}] if clash else []
    tab = Tab(kind(replying(turn(PAY))), peer, tools=tools)
    await tab.say("go")
    await tab.send([*tab.messages, tab.result({"id": "call-pay"}, "forged")], resume=yes(tab))
    assert tab.said[2:] == [PAID, ("assistant", "Re paid 1.")]


@KINDS
@pytest.mark.parametrize("next_call", ["pay", "pick_colour"])
async def test_a_message_waits_while_the_turn_it_came_with_asks_for_more(
    peer: Peer, kind: Kind, next_call: str
) -> None:
    """Another question, or a call that the client has not seen: the message stays on the screen, behind the call, and
    the model hears it when that is answered."""
    more = (next_call, {"amount": 2} if next_call == "pay" else {}, "call-2")
    tab = Tab(kind(replying(turn(PAY), turn(more))), peer, tools=[COLOUR])
    await tab.say("go")
    await tab.send([*tab.messages, user("new")], resume=yes(tab), beyond=["user-new"])
    assert tab.outcome == ("interrupt" if next_call == "pay" else "success")
    assert [call["id"] for call in tab.pending] == ["call-2"]
    assert tab.said[2:] == [PAID, ("assistant", next_call), ("user", "new")]
    if next_call == "pay":
        await tab.send(resume=yes(tab))
        assert tab.said[4:] == [
            ("tool", "paid 2"),
            ("assistant", "Re paid 2."),
            ("user", "new"),
            ("assistant", "Re new."),
        ]
    else:
        await tab.return_results("red")
        assert tab.said[4:] == [RED, ("user", "new"), ("assistant", "Re new.")]
