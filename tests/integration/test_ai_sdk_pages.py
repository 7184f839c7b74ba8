"""Pages of the AI SDK with people in front of them: approvals, questions, the page's tools, reloads, edits, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.ai_sdk_page import Client, Page, brief, chunks_of, client, page_of
from tests.support.errand_words import build
from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted
from tests.support.serving import call, talker
from yai_nexus_agentkit.orchestration.client_tools import client_tools
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

PNG = "data:image/png;base64,aGVsbG8="


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


def errands(ai: Client, version: int = 6, **settings: Any) -> Page:
    return page_of(build(InMemorySaver()), ai, version, settings={"expose_errors": True, **settings})


def said(page: Page) -> str:
    return "".join(part["text"] for part in page.parts if part["type"] == "text")


def states(page: Page) -> list[str]:
    return [part["state"] for part in page.parts if part["type"] == "dynamic-tool"]


@tool
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


def middleware_agent(pay: BaseTool = pay) -> Graph:
    """LangChain's middleware asks about all calls at once."""

    def script(messages: list[AnyMessage]) -> list[Any]:
        if isinstance(messages[-1], HumanMessage):
            return [tool_calls_part(("pay", {"amount": 5}, "call_1"), ("pay", {"amount": 6}, "call_2"))]
        return ["; ".join(str(m.content) for m in messages if isinstance(m, ToolMessage))]

    model = ScriptedChatModel(script=script)
    asking = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    agent: Any = create_agent(model, [pay], middleware=[asking], checkpointer=InMemorySaver())
    return agent


def asker() -> Graph:
    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"question": "Which city?"})
        return {"messages": [("ai", f"To {answer}.")]}

    return in_a_row({"plan": chat_node(scripted("Let me ask.", "Again.")), "ask": ask})


# ---------------------------------------------------------------- approvals


@pytest.mark.parametrize("version", [6, 7])
async def test_approvals_of_a_turn_are_answered_together(ai: Client, version: int) -> None:
    page = errands(ai, version)
    asked = await page.say("approve two")
    assert states(page) == ["approval-requested"] * 2
    assert page.chunks[-1]["finishReason"] == "tool-calls"
    page.approve()
    page.approve(False, "too much")
    done = await page.send()
    assert done["id"] == asked["id"]
    assert states(page) == ["output-available", "output-denied"]
    assert "moved 5" in said(page)
    assert "too much" in said(page)
    stored = (await page.reloaded()).messages
    assert [p["state"] for p in stored[-1]["parts"] if p["type"] == "dynamic-tool"] == states(page)


@pytest.mark.parametrize("reload", [False, True])
async def test_langchains_middleware_is_answered_by_one_decision_for_each_call(ai: Client, reload: bool) -> None:
    page = page_of(middleware_agent(), ai)
    await page.say("pay")
    assert len({part["approval"]["id"] for part in page.parts if "approval" in part}) == 2
    page = await page.reloaded() if reload else page
    assert states(page) == ["approval-requested"] * 2
    page.approve()
    page.approve(False, "not this one")
    await page.send()
    assert "paid 5" in said(page)
    assert "not this one" in said(page)
    assert "paid 6" not in said(page)


async def test_ai_5_answers_an_approval_as_a_question(ai: Client) -> None:
    page = errands(ai, 5)
    await page.say("approve")
    assert states(page) == ["input-available"] * 2, "the call, and the question about it"
    question = page.parts[-1]
    assert (question["toolName"], question["input"]["toolCallId"]) == ("tool_call", page.parts[1]["toolCallId"])
    assert [part["type"] for part in page.parts].count("step-start") == 2, "a step of its own: it alone is waited for"
    question |= {"state": "output-available", "output": {"approved": False, "reason": "no"}}
    await page.send()
    assert states(page)[0] == "output-error"
    assert "Their reason: no" in said(page)


@pytest.mark.parametrize("whole", [True, False], ids=["the whole chat", "the last message"])
async def test_a_question_is_asked_again_where_the_user_talks_instead(ai: Client, whole: bool) -> None:
    page = errands(ai)
    await page.say("approve")
    call_id = page.part("approval-requested")["toolCallId"]
    page.messages = page.messages if whole else []
    await page.say("hello?")
    part = page.part("approval-requested")
    assert (part["toolCallId"], part["toolName"], part["input"]) == (call_id, "transfer", {"amount": 5})
    page.approve()
    await page.send()
    assert states(page) == ["output-available"]
    if whole:  # else the answer came without the message that waited for it
        assert [m["role"] for m in (await page.reloaded()).messages].count("user") == 2


async def test_a_reply_that_waits_is_made_anew(ai: Client) -> None:
    page = errands(ai)
    await page.say("approve")
    await page.regenerate()
    assert states(page) == ["approval-requested"]
    page.approve()
    await page.send()
    assert states(page) == ["output-available"]


async def test_an_answer_to_no_open_question_is_refused_and_changes_nothing(ai: Client) -> None:
    page = errands(ai)
    await page.say("approve")
    forged = Page(page.app, ai)
    forged.messages = [page.messages[0], {**page.reply, "parts": [dict(part) for part in page.reply["parts"]]}]
    part = forged.part("approval-requested")
    part |= {"state": "approval-responded", "approval": {"id": "another", "approved": True}}
    refused = chunks_of((await forged.start().end()).body)
    assert brief(refused)[-1].startswith('error errorText="these interrupts are not open')
    assert [c["data"]["code"] for c in refused if c["type"] == "data-error"] == ["INVALID_RESUME"]
    page.approve()
    await page.send()
    assert states(page) == ["output-available"]


# ---------------------------------------------------------------- questions and the page's tools


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("reload", [False, True])
async def test_a_question_is_a_call_that_the_page_answers(ai: Client, version: int, reload: bool) -> None:
    page = page_of(asker(), ai, version)
    await page.say("go")
    page = await page.reloaded() if reload else page
    part = page.part("input-available")
    assert (part["type"], part["toolName"]) == ("dynamic-tool", "langgraph:interrupt")
    assert part["input"]["message"] == "Which city?"
    page.output("Rome")
    await page.send()
    assert said(page) == "Let me ask.To Rome."
    assert len(page.messages) == 2
    await page.say("go")
    page.output(error="no")
    await page.send()
    assert "'status': 'cancelled'" in said(page)


@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize("error", [None, "denied by the browser"])
async def test_the_pages_tool(ai: Client, reload: bool, error: str | None) -> None:
    page = errands(ai)
    await page.say("ask")
    page = await page.reloaded() if reload else page
    assert page.reply["parts"][-1]["toolName"] == "confirm", "the last step has the call: pages answer by themselves"
    page.output({"answer": "maybe"}, error)
    await page.send()
    assert (error or "maybe") in said(page)
    assert states(page) == ["output-error" if error else "output-available"]
    assert len(page.messages) == 2


EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
LOCATE = {"description": "Where the user is", "parameters": EMPTY}


@pytest.mark.parametrize(
    ("declared", "reached"),
    [
        ([{"name": "locate", **LOCATE}], [("locate", "Where the user is", EMPTY)]),
        ({"locate": LOCATE, "bare": {}}, [("locate", "Where the user is", EMPTY), ("bare", "", EMPTY)]),
        ({}, []),
        (None, []),
    ],
    ids=["a list, as in AG-UI", "an object, as of assistant-ui", "an empty object", "nothing"],
)
async def test_tools_that_the_page_declares_reach_the_agent(ai: Client, declared: Any, reached: Any) -> None:
    seen: list[Any] = []

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        functions = [tool["function"] for tool in client_tools(config)]
        seen.extend((one["name"], one["description"], one["parameters"]) for one in functions)
        return {"messages": [("ai", "ok")]}

    page = page_of(in_a_row({"node": node}), ai)
    await page.say("hi", tools=declared, context=[{"description": "city", "value": "Rome"}], mood="good", system=None)
    assert (said(page), seen) == ("ok", reached)


# ---------------------------------------------------------------- the conversation


async def test_a_reply_is_made_anew_and_a_message_is_edited(ai: Client) -> None:
    page = errands(ai)
    await page.say("hello")
    await page.say("count")
    assert said(page) == "2 messages. "
    first = page.reply["id"]
    await page.regenerate()
    assert (said(page), page.reply["id"]) == ("2 messages. ", first)
    page.messages = page.messages[:1]
    page.messages[0]["parts"] = [{"type": "text", "text": "count"}]
    await page.send(messageId="u1")
    assert said(page) == "1 messages. "
    assert len((await page.reloaded()).messages) == 2


async def test_a_page_that_sends_the_last_message_only(ai: Client) -> None:
    page = errands(ai)
    await page.say("hello")
    page.messages = []
    await page.say("count")
    assert said(page) == "2 messages. "


async def test_files_reach_the_model_and_come_back(ai: Client) -> None:
    heard: list[Any] = []

    def script(messages: list[AnyMessage]) -> list[Any]:
        heard.append(messages)
        return ["Seen."]

    page = page_of(chat(ScriptedChatModel(script=script)), ai)
    picture = {"type": "file", "mediaType": "image/png", "url": PNG, "filename": "cat.png"}
    far = {"type": "file", "mediaType": "application/pdf", "url": "https://files.example/a.pdf"}
    page.asked("look", picture, far, {"type": "data-draft", "data": 1})
    page.messages[0]["metadata"] = {"at": 7}
    await page.send()
    kinds = [(part["type"], part.get("url"), part.get("base64")) for part in heard[0][-1].content]
    assert kinds == [
        ("text", None, None),
        ("image", None, "aGVsbG8="),
        ("file", "https://files.example/a.pdf", None),
    ]
    again = await page.reloaded()
    assert again.messages[0]["parts"] == [{"type": "text", "text": "look"}, picture, far]
    assert again.messages[0]["metadata"] == {"at": 7}
    await again.say("and now?")
    assert [message.type for message in heard[-1]] == ["human", "ai", "human"], "it was no edit of the first message"


async def test_a_graph_without_a_checkpointer_is_given_the_whole_chat(ai: Client) -> None:
    heard: list[Any] = []

    def script(messages: list[AnyMessage]) -> list[Any]:
        heard.append([(m.type, m.text, [c["name"] for c in getattr(m, "tool_calls", [])]) for m in messages])
        return ["Hi ", "there."] if len(heard) > 1 else [tool_calls_part(("locate", {"exact": True}, "call_1"))]

    page = page_of(chat(ScriptedChatModel(script=script), checkpointer=None), ai)
    await page.say("where?")
    page.output({"lat": 1})
    await page.send()
    await page.say("and?")
    assert heard[-1] == [
        ("human", "where?", []),
        ("ai", "", ["locate"]),
        ("tool", '{"lat": 1}', []),
        ("ai", "Hi there.", []),
        ("human", "and?", []),
    ]
    assert (await call(page.app, "GET", "/chat/c1")).json == []


# ---------------------------------------------------------------- metadata


async def test_metadata_has_the_run_its_usage_and_its_model(ai: Client) -> None:
    tokens = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    page = page_of(chat(scripted(["Hi."], usage=tokens, model_name="gpt-5-mini")), ai)
    shown = await page.say("hi")
    assert shown["metadata"].pop("runId")
    usage = {"inputTokens": 12, "outputTokens": 3, "totalTokens": 15}
    assert shown["metadata"] == {"usage": usage, "model": "gpt-5-mini"}


@pytest.mark.parametrize(
    ("word", "reason"), [("length", "length"), ("content_filter", "content-filter"), ("pause_turn", "other")]
)
async def test_an_answer_that_is_not_whole_says_why(ai: Client, word: str, reason: str) -> None:
    from langchain_core.messages import AIMessageChunk

    cut = AIMessageChunk(content="", response_metadata={"finish_reason": word})
    page = page_of(chat(scripted(["Hi", cut])), ai)
    await page.say("hi")
    assert page.chunks[-1]["finishReason"] == reason


# ---------------------------------------------------------------- joining


@pytest.mark.parametrize("version", [6, 7])
async def test_a_page_that_reloads_while_an_answered_question_goes_on(ai: Client, version: int) -> None:
    """The client forgets what it had at the first `start`: the replay has the whole answer."""

    async def slow(state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Go on?")
        spoken = await ScriptedChatModel(script=[[f"{answer} ", *["word "] * 20]], pause=0.02).ainvoke(
            state["messages"]
        )
        return {"messages": [spoken]}

    page = page_of(in_a_row({"plan": chat_node(scripted("First.")), "slow": slow}), ai, version)
    await page.say("hi")
    page.output("yes")
    running = page.start()
    await running.until(lambda it: b"word" in it.body)
    joined = await call(page.app, "GET", "/chat/c1/stream")
    page.take(chunks_of((await running.end()).body))
    late = Page(page.app, ai, version)
    late.messages = page.messages[:1]
    late.take(chunks_of(joined.body))
    assert late.reply["id"] == page.reply["id"]
    assert said(late) == said(page) == "First." + "yes " + "word " * 20


async def test_a_stopped_run_ends_with_abort_and_the_chat_goes_on(ai: Client) -> None:
    page = page_of(talker(200, 0.02), ai)
    page.asked("hi")
    running = page.start()
    await running.until(lambda it: b"w3 " in it.body)
    assert (await call(page.app, "POST", "/chat/c1/stop", {})).json == {"stopped": True}
    page.take(chunks_of((await running.end()).body))
    assert page.chunks[-1]["type"] == "abort"
    assert (await call(page.app, "POST", "/chat/c1/stop", {})).json == {"stopped": False}
    busy = page_of(talker(3), ai)
    await busy.say("hi")
    assert said(busy) == "w0 w1 w2 "


async def test_a_message_whose_run_goes_on_is_refused_until_it_ends(ai: Client) -> None:
    page = page_of(talker(100, 0.02), ai, settings={"ending_wait": 0.0})
    page.asked("hi")
    running = page.start()
    await running.until(lambda it: b"w3 " in it.body)
    refused = await page.start().end()
    assert (refused.status, refused.json["error"]) == (409, "THREAD_BUSY")
    running.disconnect()
    await running.end()
    assert (await call(page.app, "GET", "/chat/c1/stream")).status == 200, "it goes on without the page"


def subgraph_with_a_question() -> Graph:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"Inner: {interrupt('Inside?')}.")]}

    inner = StateGraph(MessagesState).add_node(ask).add_edge(START, "ask").compile()
    return in_a_row({"inner": inner, "after": chat_node(scripted("Done."))})


async def test_a_question_from_inside_a_subgraph(ai: Client) -> None:
    page = page_of(subgraph_with_a_question(), ai)
    await page.say("hi")
    page.output("yes")
    await page.send()
    assert said(page) == "Inner: yes.Done."
