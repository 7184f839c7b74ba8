"""Client tools: the model calls what the request offers, the run ends, and whatever comes back, or not, goes on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.support.graphs import Graph
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools, context_text, is_pending, tool_routes
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy

from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

pytestmark = EACH_PEER

COLOUR = {
    "name": "pick_colour",
    "description": "Let the user pick.",
    "parameters": {"type": "object", "properties": {}},
}
CONFIRM = {"name": "confirm", "description": "Ask the user.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [COLOUR, CONFIRM]

Kind = Callable[..., Graph]


@tool
async def price(item: str) -> str:
    """Price of an item."""
    return f"{item} costs 5"


@tool
async def heard(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """How much was said."""
    return f"{len(state['messages'])} messages"


def by_hand(model: ScriptedChatModel, tools: Any = (price,), saver: bool = True) -> Graph:
    """A graph with the two routers."""
    after_model, after_tools = tool_routes(server_tools=tools)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        bound = model.bind_tools([*tools, *client_tools(config, exclude=tools)])
        text = context_text(config)
        system = [SystemMessage(text)] if text else []
        return {"messages": [await bound.ainvoke([*system, *state["messages"]], config)]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver() if saver else None)


def agent(model: ScriptedChatModel, tools: Any = (price,), saver: bool = True, **options: Any) -> Graph:
    """`create_agent` with the middleware."""
    around = [*options.pop("before", ()), ClientToolsMiddleware(), *options.pop("after", ())]
    graph: Graph = create_agent(
        model, list(tools), middleware=around, checkpointer=InMemorySaver() if saver else None, **options
    )
    return graph


def deep_agent(model: ScriptedChatModel, tools: Any = (price,), saver: bool = True) -> Graph:
    deepagents = pytest.importorskip("deepagents")
    graph: Graph = deepagents.create_deep_agent(
        model=model,
        tools=list(tools),
        middleware=[ClientToolsMiddleware()],
        checkpointer=InMemorySaver() if saver else None,
    )
    return graph


KINDS = pytest.mark.parametrize("kind", [by_hand, agent, deep_agent], ids=["by hand", "create_agent", "deepagents"])
BOTH = pytest.mark.parametrize("kind", [by_hand, agent], ids=["by hand", "create_agent"])


def turn(text: str, *calls: tuple[str, dict[str, Any], str]) -> list[Any]:
    return [text, tool_calls_part(*calls)]


PICK = ("pick_colour", {}, "call-c")
ASK = ("confirm", {"text": "Sure?"}, "call-q")
BUY = ("price", {"item": "tea"}, "call-s")


def model_of(*script: Any) -> ScriptedChatModel:
    return strict_model(list(script), ids="all")


# ---------------------------------------------------------------- the way there and back


@KINDS
@pytest.mark.parametrize(
    ("calls", "pending", "results"),
    [
        ([PICK], ["call-c"], []),
        ([PICK, ASK], ["call-c", "call-q"], []),
        ([PICK, BUY], ["call-c"], ["call-s"]),
        ([BUY, PICK, ASK], ["call-c", "call-q"], ["call-s"]),
        ([PICK, ("invented", {}, "call-x")], ["call-c"], ["call-x"]),
    ],
    ids=["one", "two", "mixed", "mixed with two", "with an unknown name"],
)
async def test_client_calls_end_the_run_and_their_answers_go_on(
    peer: Peer, kind: Kind, calls: list[Any], pending: list[str], results: list[str]
) -> None:
    tab = Tab(kind(model_of(turn("Well. ", *calls), ["Red."], ["Later."])), peer, tools=TOOLS)
    await tab.say("hi")
    assert tab.outcome == "success"
    assert [call["id"] for call in tab.pending] == pending
    if peer.version is not None:
        assert tab.events[-1]["outcome"]["pendingToolCallIds"] == pending
    else:
        assert "outcome" not in tab.events[-1]
    assert [event["toolCallId"] for event in tab.events_of("TOOL_CALL_RESULT")] == results
    assert [event["toolCallId"] for event in tab.events_of("TOOL_CALL_START")] == [id for _, _, id in calls]
    assert not any(map(is_pending, (await held(tab.graph))[1]))

    await tab.return_results(*["red"] * len(pending))
    assert tab.outcome == "success"
    assert tab.events_of("TOOL_CALL_START") == tab.events_of("TOOL_CALL_RESULT") == []
    assert tab.said[-1] == ("assistant", "Red.")
    assert [m[0] for m in tab.said].count("tool") == len(calls)
    await tab.say("and then?")
    assert tab.said[-1] == ("assistant", "Later.")


@BOTH
async def test_without_a_checkpointer(peer: Peer, kind: Kind) -> None:
    """The request's history is all there is, and enough."""
    tab = Tab(kind(model_of(turn("Well. ", PICK, BUY), ["Red."], ["Later."]), saver=False), peer, tools=TOOLS)
    await tab.say("hi", in_step=False)
    assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red", in_step=False)
    assert tab.said[-1] == ("assistant", "Red.")
    await tab.say("and then?", in_step=False)
    assert [m for m in tab.said if m[0] != "tool"] == [
        ("user", "hi"),
        ("assistant", "Well. "),
        ("assistant", "Red."),
        ("user", "and then?"),
        ("assistant", "Later."),
    ]


@KINDS
async def test_one_client_call_after_another(peer: Peer, kind: Kind) -> None:
    later = [("pick_colour", {}, "call-2"), ("pick_colour", {}, "call-3")]
    script = [turn("First. ", PICK), turn("Second. ", later[0]), turn("Third. ", later[1]), ["Done."]]
    tab = Tab(kind(model_of(*script)), peer, tools=TOOLS)
    await tab.say("hi")
    for colour in ("red", "green", "blue"):
        [call] = tab.pending
        await tab.return_results(colour)
    assert [text for role, text in tab.said if role == "tool"] == ["red", "green", "blue"]
    assert tab.said[-1] == ("assistant", "Done.")
    assert call["id"] == "call-3"


@BOTH
async def test_call_ids_that_recur(peer: Peer, kind: Kind) -> None:
    """Some models number their calls from 0 again in each message."""
    again = [turn(f"Round {n}. ", ("pick_colour", {}, "call_0"), ("price", {"item": "tea"}, "call_1")) for n in (1, 2)]
    tab = Tab(kind(model_of(again[0], ["One."], again[1], ["Two."])), peer, tools=TOOLS)
    ids = []
    for text in ("hi", "again"):
        await tab.say(text)
        [call] = tab.pending
        ids.append(call["id"])
        await tab.return_results(f"{text} red")
    assert len(set(ids)) == 2
    assert [text for role, text in tab.said if role == "tool"].count("again red") == 1
    assert tab.said[-1] == ("assistant", "Two.")


# ---------------------------------------------------------------- what comes back


@BOTH
@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("red", "red"),
        ("", ""),
        ({"colour": "red", "rgb": [255, 0, 0]}, '{"colour": "red", "rgb": [255, 0, 0]}'),
        (None, "null"),
        ("x" * 100_000, "x" * 100_000),
        ("ünïcode \U0001f600", "ünïcode \U0001f600"),
    ],
    ids=["text", "empty", "JSON", "null", "long", "unicode"],
)
async def test_the_model_reads_the_answer(peer: Peer, kind: Kind, content: Any, seen: str) -> None:
    model = model_of(turn("Well. ", PICK), ["Red."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    await tab.return_results(content)
    assert model.calls[-1][-1].content == seen
    assert tab.said[-1] == ("assistant", "Red.")


@BOTH
async def test_an_answer_in_parts(peer: Peer, kind: Kind) -> None:
    """Only clients of 1.0 have them."""
    if peer.version is None:
        return
    model = model_of(turn("Well. ", PICK), ["Red."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    await tab.return_results([{"type": "text", "text": "like this"}, image])
    content = model.calls[-1][-1].content
    assert isinstance(content, list)
    assert [part["type"] for part in content if isinstance(part, dict)] == ["text", "image"]


@BOTH
@pytest.mark.parametrize(("content", "read"), [("it broke", "it broke"), ("", "no screen")], ids=["content", "empty"])
@pytest.mark.parametrize("saver", [True, False], ids=["thread", "no checkpointer"])
async def test_an_error_is_an_answer(peer: Peer, kind: Kind, content: str, read: str, saver: bool) -> None:
    """Models are sent the content alone: where there is none, the error stands for it."""
    model = model_of(turn("Well. ", PICK), ["Pity."], ["Hm."])
    tab = Tab(kind(model, saver=saver), peer, tools=TOOLS)
    await tab.say("hi", in_step=saver)
    failed = tab.result(tab.pending[0], content, error="no screen")
    await tab.send([*tab.messages, failed], in_step=saver)
    for reply in ("Pity.", "Hm."):
        [seen] = [message for message in model.calls[-1] if message.type == "tool"]
        assert (getattr(seen, "status", ""), seen.content) == ("error", read)
        [shown] = [message for message in tab.messages if message["role"] == "tool"]
        assert (shown["error"], shown["content"]) == ("no screen", content)
        assert tab.said[-1] == ("assistant", reply)
        if reply == "Pity.":
            await tab.say("well?", in_step=saver)
            assert "MESSAGES_SNAPSHOT" not in tab.types


@BOTH
async def test_a_late_answer(peer: Peer, kind: Kind) -> None:
    """The user went on first: the call was answered for the model, and an answer that comes now is none any more."""
    model = model_of(turn("Well. ", PICK), ["Never mind."], ["Sure."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    [call] = tab.pending
    await tab.say("let us talk of something else")
    assert tab.said[-1] == ("assistant", "Never mind.")
    late = [*tab.messages, tab.result(call, "red"), {"id": "u9", "role": "user", "content": "well?"}]
    await tab.send(late)
    assert [text for role, text in tab.said if role == "tool"] != ["red"]
    assert [role for role, _ in tab.said].count("tool") == 1
    assert tab.said[-1] == ("assistant", "Sure.")


@BOTH
async def test_a_late_answer_alone_changes_nothing(peer: Peer, kind: Kind) -> None:
    model = model_of(turn("Well. ", PICK), ["Never mind."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    [call] = tab.pending
    await tab.say("something else")
    shown = tab.said
    await tab.send([*tab.messages, tab.result(call, "red")])
    assert tab.outcome == "success"
    assert tab.said == shown
    assert len(model.calls) == 2


@BOTH
async def test_an_answer_twice(peer: Peer, kind: Kind) -> None:
    model = model_of(turn("Well. ", PICK), ["Red."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    answers = [tab.result(tab.pending[0], colour) for colour in ("red", "green")]
    await tab.send([*tab.messages, *answers])
    assert [text for role, text in tab.said if role == "tool"] == ["red"]
    assert tab.said[-1] == ("assistant", "Red.")


@BOTH
async def test_an_answer_to_a_call_that_nobody_made(peer: Peer, kind: Kind) -> None:
    model = model_of(["Hello."], ["Yes?"])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    stray = tab.result({"id": "call-unknown"}, "red")
    await tab.send([*tab.messages, stray])
    assert tab.said == [("user", "hi"), ("assistant", "Hello.")]
    await tab.send([*tab.messages, stray, {"id": "user-2", "role": "user", "content": "and?"}])
    assert tab.said == [("user", "hi"), ("assistant", "Hello."), ("user", "and?"), ("assistant", "Yes?")]


@BOTH
async def test_only_some_calls_are_answered(peer: Peer, kind: Kind) -> None:
    """The others are answered for the model, in the order of the calls."""
    model = model_of(turn("Well. ", PICK, ASK), ["Half of it."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    await tab.send([*tab.messages, tab.result(tab.pending[1], "yes")])
    assert [m.type for m in model.calls[-1]][-2:] == ["tool", "tool"]
    assert [(m["toolCallId"], bool(m.get("error"))) for m in tab.messages if m["role"] == "tool"] == [
        ("call-c", True),
        ("call-q", False),
    ]
    assert tab.said[-1] == ("assistant", "Half of it.")


@KINDS
async def test_a_terminal_client_tool(peer: Peer, kind: Kind) -> None:
    """No answer ever comes: the next message is the user's. The dangling call is answered for the model."""
    model = model_of(turn("Look. ", PICK, BUY), ["Nice."], turn("Again. ", ASK), ["Fine."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("show me")
    await tab.say("thanks")
    assert tab.said[-1] == ("assistant", "Nice.")
    tools = {m["toolCallId"]: m for m in tab.messages if m["role"] == "tool"}
    assert set(tools) == {"call-c", "call-s"}
    assert tools["call-c"]["error"]
    await tab.say("again")
    await tab.say("thanks again")
    assert tab.said[-1] == ("assistant", "Fine.")


@BOTH
async def test_a_terminal_client_tool_that_is_visited_again(peer: Peer, kind: Kind) -> None:
    """Sending the same messages again runs nothing, and the call stays pending."""
    model = model_of(turn("Look. ", PICK), ["Red."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("show me")
    for _ in range(2):
        await tab.send()
        assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red")
    assert tab.said[-1] == ("assistant", "Red.")
    assert len(model.calls) == 2


@BOTH
async def test_an_answer_with_the_next_message(peer: Peer, kind: Kind) -> None:
    model = model_of(turn("Well. ", PICK), ["Red, at noon."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    both = [tab.result(tab.pending[0], "red"), {"id": "u2", "role": "user", "content": "when?"}]
    await tab.send([*tab.messages, *both])
    assert [m.type for m in model.calls[-1]][-3:] == ["ai", "tool", "human"]
    assert tab.said[-1] == ("assistant", "Red, at noon.")


@BOTH
async def test_the_message_before_the_answer(peer: Peer, kind: Kind) -> None:
    """A client may send them the other way round; the model gets them in the order that providers accept."""
    model = model_of(turn("Well. ", PICK), ["Red, at noon."])
    tab = Tab(kind(model), peer, tools=TOOLS)
    await tab.say("hi")
    both = [{"id": "u2", "role": "user", "content": "when?"}, tab.result(tab.pending[0], "red")]
    await tab.send([*tab.messages, *both])
    assert [m.type for m in model.calls[-1]][-3:] == ["ai", "tool", "human"]
    assert tab.said[-1] == ("assistant", "Red, at noon.")


# ---------------------------------------------------------------- with everything else that may end a turn


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("approved", [True, False])
async def test_beside_the_hitl_middleware(peer: Peer, mode: str, order: str, approved: bool) -> None:
    options = {} if mode == "batched" else {"interrupt_mode": mode}
    try:
        hitl = HumanInTheLoopMiddleware(interrupt_on={"price": True}, **options)
    except TypeError:
        pytest.skip("this langchain has no per-call mode")
    around: dict[str, Any] = {order: [hitl]}
    tab = Tab(agent(model_of(turn("Well. ", PICK, BUY), ["Red tea."], ["Bye."]), **around), peer, tools=TOOLS)
    await tab.say("hi")
    assert len(tab.questions) == 1
    await tab.send()
    assert len(tab.questions) == 1
    await tab.answer({"approved": approved})
    assert tab.outcome == "success"
    assert [call["id"] for call in tab.pending] == ["call-c"]
    [result] = tab.events_of("TOOL_CALL_RESULT")
    assert (result["content"] == "tea costs 5") == approved
    await tab.return_results("red")
    assert tab.said[-1] == ("assistant", "Red tea.")
    await tab.say("bye")
    assert tab.said[-1] == ("assistant", "Bye.")


@BOTH
async def test_beside_a_tool_that_asks(peer: Peer, kind: Kind) -> None:
    tab = Tab(
        kind(model_of(turn("Well. ", PICK, BUY), ["Red tea."]), tools=[require_approval(price)]), peer, tools=TOOLS
    )
    await tab.say("hi")
    assert [q["toolCallId"] for q in tab.questions] == ["call-s"]
    await tab.answer({"approved": True})
    assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red")
    assert tab.said[-1] == ("assistant", "Red tea.")


@BOTH
async def test_a_client_that_answers_its_call_while_a_question_is_open(peer: Peer, kind: Kind) -> None:
    """CopilotKit runs its tools at once. The answer waits with the client and is taken when the run comes to it."""
    tab = Tab(
        kind(model_of(turn("Well. ", PICK, BUY), ["Red tea."]), tools=[require_approval(price)]), peer, tools=TOOLS
    )
    await tab.say("hi")
    early = tab.result({"id": "call-c"}, "red")
    entries = [{"interruptId": q["id"], "status": "resolved", "payload": {"approved": True}} for q in tab.questions]
    await tab.send([*tab.messages, early], resume=entries)
    if tab.pending:
        await tab.return_results("red")
    assert sorted(text for role, text in tab.said if role == "tool") == ["red", "tea costs 5"]
    assert tab.said[-1] == ("assistant", "Red tea.")


async def test_beside_a_tool_that_returns_directly(peer: Peer) -> None:
    @tool(return_direct=True)
    async def receipt(item: str) -> str:
        """Print a receipt."""
        return f"receipt for {item}"

    script = [turn("Well. ", PICK, ("receipt", {"item": "tea"}, "call-r")), ["Red."]]
    tab = Tab(agent(model_of(*script), tools=[receipt]), peer, tools=TOOLS)
    await tab.say("hi")
    assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red")
    assert tab.said[-1] == ("assistant", "Red.")


class Verdict(BaseModel):
    """The final verdict."""

    good: bool


@pytest.mark.parametrize("together", [True, False])
async def test_beside_structured_output(peer: Peer, together: bool) -> None:
    verdict = ("Verdict", {"good": True}, "call-v")
    script = [turn("Well. ", PICK, verdict)] if together else [turn("Well. ", PICK), turn("So. ", verdict)]
    model = model_of(*script, turn("Then. ", ("Verdict", {"good": False}, "call-w")))
    tab = Tab(agent(model, response_format=ToolStrategy(Verdict)), peer, tools=TOOLS)
    await tab.say("hi", in_step=False)
    assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red", in_step=False)
    assert tab.outcome == "success"
    assert tab.state["structured_response"] == {"good": not together}


async def test_a_server_tool_that_asks_by_itself_beside_a_client_call(peer: Peer) -> None:
    @tool
    async def sign(text: str) -> str:
        """Sign."""
        return f"signed by {interrupt({'question': text})}"

    tab = Tab(
        agent(model_of(turn("", PICK, ("sign", {"text": "Name?"}, "call-n")), ["Done."]), [sign]), peer, tools=TOOLS
    )
    await tab.say("hi")
    assert [q["message"] for q in tab.questions] == ["Name?"]
    assert not [event for event in tab.events_of("TOOL_CALL_RESULT") if event["toolCallId"] == "call-c"]
    await tab.answer("Ann")
    assert [call["id"] for call in tab.pending] == ["call-c"]
    await tab.return_results("red")
    assert sorted(text for role, text in tab.said if role == "tool") == ["red", "signed by Ann"]


# ---------------------------------------------------------------- names, requests, context


@KINDS
async def test_the_servers_tool_of_the_same_name_wins(peer: Peer, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    """Its twin of the client is not offered."""
    model = model_of(turn("Well. ", BUY), ["Tea."])
    with caplog.at_level(logging.WARNING):
        tab = Tab(kind(model), peer, tools=[{**COLOUR, "name": "price"}, COLOUR])
        await tab.say("hi")
    assert [event["content"] for event in tab.events_of("TOOL_CALL_RESULT")] == ["tea costs 5"]
    assert model.call_tools[0].count("price") == 1
    assert "pick_colour" in model.call_tools[0]


@BOTH
async def test_each_request_has_its_own_tools(peer: Peer, kind: Kind) -> None:
    model = model_of(["One."], ["Two."], ["Three."])
    tab = Tab(kind(model), peer)
    await tab.say("a", tools=[COLOUR])
    await tab.say("b", tools=[CONFIRM])
    await tab.say("c")
    offered = [[name for name in names if name in ("pick_colour", "confirm")] for names in model.call_tools]
    assert offered == [["pick_colour"], ["confirm"], []]


@BOTH
async def test_a_call_to_a_tool_that_the_request_does_not_offer_is_the_models_mistake(peer: Peer, kind: Kind) -> None:
    tab = Tab(kind(model_of(turn("Well. ", PICK), ["Sorry."])), peer, tools=[CONFIRM])
    await tab.say("hi")
    assert tab.pending == []
    assert tab.said[-1] == ("assistant", "Sorry.")


@BOTH
async def test_answers_come_with_a_request_that_offers_no_tools_any_more(peer: Peer, kind: Kind) -> None:
    tab = Tab(kind(model_of(turn("Well. ", PICK), ["Red."])), peer)
    await tab.say("hi", tools=TOOLS)
    await tab.return_results("red", tools=[])
    assert tab.said[-1] == ("assistant", "Red.")


@KINDS
async def test_context_reaches_the_model(peer: Peer, kind: Kind) -> None:
    model = model_of(["Hello."], ["Hello again."])
    tab = Tab(kind(model), peer)
    page = json.dumps({"path": "/cart", "items": 3})
    entries = [{"description": "The page", "value": page}, {"description": "Language", "value": "Greek"}]
    await tab.say("hi", context=entries)
    system = str(model.calls[0][0].content)
    assert page in system or page.replace('"', '\\"') in system
    assert all(word in system for word in ("The page", "Language", "Greek"))
    await tab.say("and?")
    assert "Greek" not in str(model.calls[1][0].content)
    assert all("Greek" not in text for _, text in tab.said)


@BOTH
async def test_forwarded_props_reach_the_graph_only_through_the_hook(peer: Peer, kind: Kind) -> None:
    seen: list[dict[str, Any]] = []

    @tool
    async def spy(config: RunnableConfig) -> str:
        """Look at the configuration."""
        seen.append(dict(config["configurable"]))
        return "seen"

    def script(messages: list[BaseMessage]) -> Any:
        if messages[-1].type == "tool":
            return ["Done."]
        return [tool_calls_part(("spy", {}, f"call-{len(messages)}"))]

    props = {"user_id": "mallory", "thread_id": "other", "model": "big"}
    tab = Tab(kind(strict_model(script), tools=[spy]), peer)
    await tab.say("hi", forwarded_props=props)
    hooked = Tab(
        kind(strict_model(script), tools=[spy]),
        peer,
        hooks=Hooks(config=lambda run: {"configurable": {"model": run.run_input.forwarded_props["model"]}}),
    )
    await hooked.say("hi", forwarded_props=props, config={"configurable": {"user_id": "ann"}})
    plain, mapped = seen
    assert {"user_id", "model"}.isdisjoint(plain)
    assert plain["thread_id"] == mapped["thread_id"] == "thread"
    assert (mapped["user_id"], mapped["model"]) == ("ann", "big")
