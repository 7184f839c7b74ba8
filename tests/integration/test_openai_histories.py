"""Conversations in the shapes in which clients keep them: parts, results and files."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

from tests.support.chats import CHAT, body_of, chat, chats_with, message_of, said, streamed
from tests.support.graphs import in_a_row
from tests.support.serving import JSON, Exchange, call
from yai_nexus_agentkit.testing import ScriptedChatModel

PNG = "data:image/png;base64,AAAA"
USER = {"role": "user", "content": "hi"}


def user(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


def answer(content: Any, **more: Any) -> list[Any]:
    return [USER, {"role": "assistant", "content": content, **more}, USER]


def result(content: Any, arguments: Any = "{}") -> list[Any]:
    calls = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    return [USER, asked, {"role": "tool", "tool_call_id": "c", "content": content}]


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def image(key: str = "image_url", url: Any = None) -> dict[str, Any]:
    return {"type": key, key: url or {"url": PNG}}


SHAPES: dict[str, tuple[list[Any], Any]] = {
    "an answer whose only part is empty": (answer([text("")]), ("ai", "")),
    "an answer that refused": (answer(None, refusal="No."), ("ai", "No.")),
    "a part that refused": (answer([{"type": "refusal", "refusal": "No."}]), ("ai", "No.")),
    "an answer with its thoughts": (answer([{"type": "thinking", "thinking": "hm"}, text("So.")]), ("ai", "So.")),
    "an answer of a model that draws": (answer([text("See."), image()]), ("ai", "See.")),
    "an answer that is only a picture": (answer([image()]), ("ai", "")),
    "a result in parts": (result([text("a"), text(""), text("b")]), ("tool", "ab")),
    "a result of nothing": (result(None), ("tool", "")),
    "a call without arguments": (result("a", None), ("tool", "a")),
    "a call whose arguments are no text": (result("a", {"b": 1}), ("tool", "a")),
    "a result with a text that is no object": (result(["a", text("b")]), ("tool", "ab")),
    "a text that is no object": (user("look", image()), ("human", ["text", "image/png"])),
    "a result with a picture": (result([text("a"), image()]), ("tool", ["text", "image/png"])),
    "a picture alone": (result([image()]), ("tool", ["image/png"])),
    "an address without an object": (user(image(url=PNG)), ("human", ["image/png"])),
    "a video": (user(image("video_url", {"url": "data:video/mp4;base64,AAAA"})), ("human", ["video/mp4"])),
    "a sound": (user(image("audio_url", {"url": "data:audio/wav;base64,AAAA"})), ("human", ["audio/wav"])),
    "a file whose name says its type": (
        user({"type": "file", "file": {"file_data": "AAAA", "filename": "a.csv"}}),
        ("human", ["text/csv"]),
    ),
    "a file whose data says its type": (
        user({"type": "file", "file": {"file_data": "JVBERi0xLjc="}}),
        ("human", ["application/pdf"]),
    ),
}


@pytest.mark.parametrize(("messages", "expected"), SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("memory", [True, False])
async def test_what_clients_keep_of_a_conversation_reaches_the_agent(
    messages: list[Any], expected: tuple[str, Any], memory: bool
) -> None:
    heard: list[Any] = []

    async def node(state: Any) -> dict[str, Any]:
        heard.extend((m.type, m.content) for m in state["messages"])
        return {"messages": [("ai", "ok")]}

    app = chats_with(in_a_row({"node": node}, **({} if memory else {"checkpointer": None})))
    assert message_of(await chat(app, messages, {"X-Conversation-Id": "c"}))["content"] == "ok"
    role, content = heard[-1 if messages[-1] is not USER or len(messages) == 1 else -2]
    kinds = content if isinstance(content, str) else [part.get("mime_type", part["type"]) for part in content]
    assert (role, kinds) == expected


async def test_a_client_of_another_api_learns_the_right_path() -> None:
    answered = await call(chats_with(in_a_row({"node": lambda state: {}})), "POST", "/v1/responses", {"input": "hi"})
    assert answered.json["error"]["message"].endswith("POST /v1/chat/completions")


async def test_models_are_listed_behind_a_slash_too() -> None:
    app = chats_with(in_a_row({"node": lambda state: {}}))
    assert (await call(app, "GET", "/v1/models/")).json == (await call(app, "GET", "/v1/models")).json


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("same_id", [False, True])
@pytest.mark.parametrize("memory", [True, False])
async def test_a_graph_rewrites_what_it_said(stream: bool, same_id: bool, memory: bool) -> None:
    """A whole answer has the text that the thread has. A streamed one cannot, but the conversation goes on in it."""
    heard: list[Any] = []
    model = ScriptedChatModel(script=lambda messages: [f"secret {len(messages)}", "."])

    async def node(state: MessagesState) -> dict[str, Any]:
        heard.append([message.text for message in state["messages"]])
        spoken = await model.ainvoke(state["messages"])
        own = spoken.id if same_id else None
        return {"messages": [AIMessage(spoken.text.replace("secret", "***"), id=own)]}

    app = chats_with(in_a_row({"node": node}, MessagesState, **({} if memory else {"checkpointer": None})))
    texts = ["hi"]
    for following in ("and", "more"):
        answered = await chat(app, said(*texts), {"X-Conversation-Id": "c"}, stream=stream)
        texts += [streamed(answered) if stream else message_of(answered)["content"], following]
    shown = "secret" if stream else "***"
    assert texts == ["hi", f"{shown} 1.", "and", f"{shown} 3.", "more"]
    assert heard[-1] == ["hi", "*** 1." if memory else texts[1], "and"]
    if memory:
        await chat(app, said(*texts), {"X-Conversation-Id": "c"})
        assert len((await call(app, "GET", "/model/threads")).json) == 1
        await chat(app, said("hi", "edited", "and"), {"X-Conversation-Id": "other"})
        assert heard[-1] == ["hi", "edited", "and"]


async def test_a_request_right_after_a_rewritten_answer_finds_its_thread() -> None:
    """The next request may come before the connection of the answer has ended."""
    heard: list[list[str]] = []

    def script(messages: list[Any]) -> list[str]:
        heard.append([message.text for message in messages])
        return ["secret"]

    model = ScriptedChatModel(script=script)

    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("***", id=(await model.ainvoke(state["messages"])).id)]}

    app = chats_with(in_a_row({"node": node}, MessagesState))
    headers = {"X-Conversation-Id": "c", **JSON}
    first = Exchange(app, "POST", CHAT, body_of(said("hi"), stream=True), headers)
    await first.until(lambda answer: b'"finish_reason":"stop"' in answer.body)
    await chat(app, said("hi", "secret", "and"), headers)
    assert heard[-1] == ["hi", "***", "and"]
    await first.end()
