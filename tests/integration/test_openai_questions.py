"""Questions of an agent: as text that the next message answers, or as calls of the caller's tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.support import errand_words
from tests.support.chats import chat, chats_with, chunks_of, error_of, message_of, said, streamed, text_of
from tests.support.errand_words import build
from tests.support.graphs import in_a_row
from tests.support.serving import call
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app

HERE = {"X-OpenWebUI-Chat-Id": "chat-1"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents without pauses."""
    monkeypatch.setattr(errand_words, "PACE", 0.0)


ASK: Any = {"type": "function", "function": {"name": "ask_user", "parameters": {"type": "object"}}}


def errands() -> Any:
    return chats_with(build(InMemorySaver()))


def asking(*values: Any) -> Any:
    """Asks these, one after another, and repeats the answers."""

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"you said {[interrupt(value) for value in values]}")]}

    return in_a_row({"ask": ask}, MessagesState, checkpointer=InMemorySaver())


def posted(messages: list[dict[str, Any]], text: str, answer: str) -> list[dict[str, Any]]:
    return [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": answer}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("headers", [None, HERE], ids=["by reference", "by header"])
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("Yes!", "The answer: moved 5. "),
        ("no", "The user did not approve the call of transfer."),
        ("six would do", "six would do"),
        ('{"approved": true, "editedArgs": {"amount": 6}}', "moved 6. "),
    ],
)
async def test_an_approval_is_asked_and_answered_as_text(stream: bool, headers: Any, reply: str, says: str) -> None:
    app = errands()
    asked = await chat(app, "approve", headers, stream=stream)
    text = streamed(asked) if stream else message_of(asked)["content"]
    assert "transfer" in text
    assert "reply with yes or no" in text
    answer = await chat(app, posted(said("approve"), text, reply), headers, stream=stream)
    assert says in (streamed(answer) if stream else message_of(answer)["content"])


@pytest.mark.parametrize("headers", [None, HERE], ids=["by reference", "by header"])
async def test_the_conversation_goes_on_after_the_answer(headers: Any) -> None:
    app = errands()
    text = await text_of(app, "approve", headers)
    messages = posted(said("approve"), text, "yes")
    messages += [{"role": "assistant", "content": await text_of(app, messages, headers)}, *said("hello")]
    assert (await text_of(app, messages, headers)).startswith("Hello")
    threads = (await call(app, "GET", "/model/threads")).json
    assert len(threads) == (0 if headers is None else 1), "a thread is kept as long as its question is open"
    if headers:
        stored = (await call(app, "GET", "/model/threads/chat-1/messages")).json["messages"]
        assert [m["content"] for m in stored if m["role"] == "user"] == ["approve", "hello"]


async def test_several_questions_are_answered_at_once_or_each() -> None:
    for reply, results in (("yes", "moved 5; moved 6"), ("1: yes\n2: no", "moved 5; The user did not approve")):
        app = errands()
        text = await text_of(app, "approve two", HERE)
        assert "1. " in text
        assert "2. " in text
        assert results in await text_of(app, posted(said("approve two"), text, reply), HERE)


@pytest.mark.parametrize(
    ("value", "hint", "reply", "got"),
    [
        ({"question": "Where to?"}, "reply in your own words", "Rome", ["Rome"]),
        ("How many?", "reply in your own words", "42", ["42"]),
        ({"message": "How many?", "response_schema": {"type": "integer"}}, "of type integer", "42", [42]),
        ({"message": "Sure?", "response_schema": {"type": "boolean"}}, "reply with yes or no", "no", [False]),
        ({"message": "Which?", "response_schema": {"type": "string", "enum": ["a", "b"]}}, "one of: a, b", "b", ["b"]),
        ({"anything": [1]}, "reply in your own words", '{"a": 1}', [{"a": 1}]),
    ],
)
async def test_kinds_of_questions(value: Any, hint: str, reply: str, got: Any) -> None:
    app = chats_with(asking(value))
    text = await text_of(app, "go", HERE)
    assert hint in text
    assert await text_of(app, posted(said("go"), text, reply), HERE) == f"you said {got}"


async def test_an_answer_that_does_not_fit_is_refused_and_can_be_given_again() -> None:
    pytest.importorskip("jsonschema")
    app = chats_with(asking({"message": "How many?", "response_schema": {"type": "integer"}}))
    text = await text_of(app, "go", HERE)
    wrong = await chat(app, posted(said("go"), text, "many"), HERE)
    assert (wrong.status, wrong.json["error"]["code"]) == (400, "invalid_resume")
    assert await text_of(app, posted(said("go"), text, "42"), HERE) == "you said [42]"


async def test_questions_one_after_another() -> None:
    app = chats_with(asking("First?", "Second?"))
    first = await text_of(app, "go", HERE)
    messages = posted(said("go"), first, "one")
    second = await text_of(app, messages, HERE)
    assert second.startswith("Second?")
    messages = posted(messages, second, "two")
    assert await text_of(app, messages, HERE) == "you said ['one', 'two']"


@pytest.mark.parametrize("called", [False, True], ids=["text", "call"])
@pytest.mark.parametrize("headers", [None, HERE], ids=["by its beginning", "by header"])
@pytest.mark.parametrize("further", [False, True], ids=["at the end", "two questions"])
async def test_an_answer_is_taken_once(headers: Any, called: bool, further: bool) -> None:
    """A repeated answer gets the same reply, an edited one is refused: neither is a new message, or the answer to the
    next question."""
    app, more = chats_with(asking("First?", *["Second?"] * further)), {"user": "ann", "tools": [ASK] * called}
    first = message_of(await chat(app, "go", headers, **more))

    def answered(reply: str) -> list[dict[str, Any]]:
        calls = first.get("tool_calls")
        answer = {"role": "tool", "tool_call_id": calls[0]["id"]} if calls else {"role": "user"}
        return [*said("go"), first, {**answer, "content": reply}]

    second = message_of(await chat(app, answered("one"), headers, **more))
    for stream in (False, True):
        again = await chat(app, answered("one"), headers, **more, stream=stream)
        text = streamed(again) if stream else message_of(again)["content"]
        assert text == second["content"]
        assert stream or message_of(again) == second
        refused = await chat(app, answered("other"), headers, **more, stream=stream)
        assert error_of(refused) == (409, "already_answered", "messages[2]")
        assert refused.headers["x-should-retry"] == "false"
    if further and not called:
        assert await text_of(app, posted(answered("one"), second["content"], "two"), headers, **more) == (
            "you said ['one', 'two']"
        )
    elif not further:
        assert second["content"] == "you said ['one']"
    assert message_of(await chat(app, "go", headers, **more))["content"].startswith("First?" * (not called)), "back"


async def test_nothing_is_executed_twice_and_the_conversation_goes_on() -> None:
    app = errands()
    text = await text_of(app, "approve", HERE)
    messages = posted(said("approve"), text, "yes")
    answer = await text_of(app, messages, HERE)
    assert "moved 5" in answer
    assert await text_of(app, messages, HERE) == answer
    more = posted(messages, answer, "count")
    assert await text_of(app, more, HERE) == "2 messages. "
    assert (await chat(app, messages, HERE)).status == 409, "the thread is further"


@pytest.mark.parametrize("called", [False, True], ids=["text", "call"])
async def test_an_answer_whose_run_failed_is_given_again(called: bool) -> None:
    booked: list[str] = []

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"Booked for {interrupt('Which day?')}.")]}

    def mail(state: MessagesState) -> dict[str, Any]:
        booked.append(str(state["messages"][-1].content))
        if len(booked) == 1:
            raise RuntimeError("no mail today")
        return {"messages": [("ai", "Mail is sent.")]}

    app = chats_with(in_a_row({"ask": ask, "mail": mail}, MessagesState, checkpointer=InMemorySaver()))
    more = {"tools": [ASK] * called}
    asked = message_of(await chat(app, "go", HERE, **more))
    answer = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"]} if called else {"role": "user"}
    messages = [*said("go"), asked, {**answer, "content": "Friday"}]
    assert (await chat(app, messages, HERE, **more)).status == 500
    for _ in range(2):
        assert await text_of(app, messages, HERE, **more) == "Booked for Friday.\n\nMail is sent."
    assert booked == ["Booked for Friday."] * 2


async def test_an_answer_that_came_too_late_is_not_the_one_that_counts() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def ask(state: MessagesState) -> dict[str, Any]:
        day = interrupt("Which day?")
        begun.set()
        await go_on.wait()
        return {"messages": [("ai", f"Booked for {day}.")]}

    app = chats_with(in_a_row({"ask": ask}, MessagesState, checkpointer=InMemorySaver()))
    text = await text_of(app, "go", HERE)
    friday, sunday = (posted(said("go"), text, day) for day in ("Friday", "Sunday"))
    first = asyncio.create_task(text_of(app, friday, HERE))
    await begun.wait()
    assert error_of(await chat(app, sunday, HERE))[:2] == (409, "thread_busy")
    go_on.set()
    assert await first == await text_of(app, friday, HERE) == "Booked for Friday."
    assert error_of(await chat(app, sunday, HERE))[:2] == (409, "already_answered")


async def test_an_open_question_is_asked_again() -> None:
    app = errands()
    text = await text_of(app, "approve", HERE)
    assert await text_of(app, "approve", HERE) == text, "the same request again"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "headers",
    [None, HERE, {"X-Conversation-Id": "local: /{}%" + "x" * 200}],
    ids=["by its id", "by header", "by any header"],
)
async def test_a_question_is_a_call_of_the_caller_s_tool(stream: bool, headers: Any) -> None:
    app = errands()
    asked = await chat(app, "approve two", headers, tools=[ASK], stream=stream)
    calls = message_of(asked)["tool_calls"] if not stream else joined(chunks_of(asked))
    assert [call["function"]["name"] for call in calls] == ["ask_user", "ask_user"]
    given = [json.loads(call["function"]["arguments"]) for call in calls]
    assert all("transfer" in one["question"] and one["reason"] == "tool_call" for one in given)
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": content}
        for call, content in zip(calls, ("yes", '{"approved": false, "reason": "too much"}'), strict=True)
    ]
    messages = [*said("approve two"), {"role": "assistant", "content": "", "tool_calls": calls}, *results]
    answer = await chat(app, messages, headers, tools=[ASK], stream=stream)
    text = streamed(answer) if stream else message_of(answer)["content"]
    assert "moved 5" in text
    assert "too much" in text
    more = [*messages, {"role": "assistant", "content": text}, *said("hello")]
    assert (await text_of(app, more, headers, tools=[ASK])).startswith("Hello")


def joined(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for chunk in chunks:
        for piece in (chunk["choices"] or [{"delta": {}}])[0]["delta"].get("tool_calls", ()):
            if "id" in piece:
                calls.append({key: value for key, value in piece.items() if key != "index"})
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return calls


async def test_a_setting_makes_questions_text_in_any_case() -> None:
    app = chats_with(build(InMemorySaver()), questions="text")
    message = message_of(await chat(app, "approve", tools=[ASK]))
    assert "tool_calls" not in message
    assert "[question chat-" in message["content"]


async def test_nobody_answers_the_question_of_another_user() -> None:
    app = chats_with(build(InMemorySaver()), keys={"a": "ann", "b": "bob"}, sessions="none")
    ann, bob = ({"authorization": f"Bearer {key}"} for key in "ab")
    text = await text_of(app, "approve", ann)
    answer = await text_of(app, posted(said("approve"), text, "yes"), bob)
    assert answer.startswith("Hello"), "a thread of his own, where 'yes' is a message like any other"
    assert "moved 5" in await text_of(app, posted(said("approve"), text, "yes"), ann)


async def test_a_tool_that_the_caller_lacks_is_no_silent_end() -> None:
    """`confirm` is a tool of clients, and this one did not declare it."""
    app = errands()
    for stream in (False, True):
        answer = await chat(app, "ask", stream=stream)
        text = streamed(answer) if stream else message_of(answer)["content"]
        assert text == "The agent waits for tools that this client does not have: confirm."


async def test_an_agent_that_could_not_take_the_answer_fails() -> None:
    app = create_app(
        AGUIAdapter(in_a_row({"ask": lambda state: interrupt("Where to?")}, checkpointer=None)), openai="/v1"
    )
    answer = await chat(app, "go", model="")
    assert (answer.status, "no checkpointer" in answer.json["error"]["message"]) == (500, True)
