"""The thread of a posted conversation. The agent counts the user's messages in its thread, and its own turns there: a
conversation that was only posted again has the messages, but not the turns."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState

from tests.support.chats import chat, chats_with, counter, error_of, message_of, said, text_of
from tests.support.graphs import in_a_row
from tests.support.serving import call
from yai_nexus_agentkit import AGUIAdapter, Hooks
from yai_nexus_agentkit.server import create_app

USER: Any = {"user": "ann"}
OPEN_WEBUI, ANOTHER = {"X-OpenWebUI-Chat-Id": "chat-1"}, {"X-OpenWebUI-Chat-Id": "chat-2"}
ONE, TWO, THREE = "1 said, turn 1", "2 said, turn 2", "3 said, turn 3"


@pytest.mark.parametrize(
    ("sessions", "headers", "more", "second"),
    [
        ("conversation", None, USER, TWO),
        ("conversation", OPEN_WEBUI, {}, TWO),
        ("conversation", {"x-conversation-id": "c"}, USER, TWO),
        ("conversation", {"x-conversation-id": "c" * 1000}, USER, TWO),
        ("conversation", None, {}, "2 said, turn 1"),
        ("conversation", {"x-conversation-id": "new"}, {}, "2 said, turn 1"),
        ("conversation", {"x-conversation-id": "{{LIBRECHAT_BODY_CONVERSATIONID}}"}, {}, "2 said, turn 1"),
        ("conversation", {"x-conversation-id": "null", **OPEN_WEBUI}, {}, TWO),
        ("header", OPEN_WEBUI, {}, TWO),
        ("header", None, USER, "2 said, turn 1"),
        ("user", None, USER, TWO),
        ("user", None, {}, "2 said, turn 1"),
        ("none", OPEN_WEBUI, USER, "2 said, turn 1"),
    ],
)
async def test_a_conversation_goes_on(sessions: Any, headers: Any, more: Any, second: str) -> None:
    app = chats_with(counter(), sessions=sessions)
    assert await text_of(app, "hi", headers, **more) == ONE
    assert await text_of(app, said("hi", ONE, "and"), headers, **more) == second


@pytest.mark.parametrize("headers", [None, OPEN_WEBUI])
async def test_it_goes_where_its_reader_goes(headers: Any) -> None:
    app = chats_with(counter())
    posted = said("hi", ONE, "and", TWO, "then")
    for n in (1, 3, 5):
        assert await text_of(app, posted[:n], headers, **USER) == f"{n // 2 + 1} said, turn {n // 2 + 1}"
    assert await text_of(app, posted, headers, **USER) == THREE, "repeated"
    edited = said("hi", ONE, "rather")
    assert await text_of(app, edited, headers, **USER) == TWO, "edited"
    assert await text_of(app, [*edited, *said("", TWO)[1:], *said("more")], headers, **USER) == THREE
    back = [*posted, *said("", THREE)[1:], *said("back")]
    assert await text_of(app, back, headers, **USER) == "4 said, turn 1", "what it left is posted anew"
    further = [*back, *said("", "4 said, turn 1")[1:], *said("on")]
    assert await text_of(app, further, headers, **USER) == "5 said, turn 2", "and goes on from there"


async def test_another_beginning_is_another_conversation() -> None:
    app = chats_with(counter())
    assert await text_of(app, "hi", OPEN_WEBUI) == ONE
    assert await text_of(app, "hello", OPEN_WEBUI) == ONE, "edited"
    assert await text_of(app, said("hello", ONE, "and"), OPEN_WEBUI) == TWO
    assert await text_of(app, said("hi", ONE, "and"), OPEN_WEBUI) == TWO
    assert await text_of(app, said("hi", ONE, "and"), ANOTHER) == "2 said, turn 1"


GREETING: Any = {"role": "assistant", "content": "Welcome."}
SYSTEM: Any = {"role": "system", "content": "Be terse."}


@pytest.mark.parametrize("headers", [None, OPEN_WEBUI])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([GREETING, *said("hi")], said("hi")),
        (said("hi"), [GREETING, *said("hi")]),
        ([SYSTEM, GREETING, *said("hi")], [SYSTEM, *said("hi")]),
        ([GREETING, *said("hi")], [{**GREETING, "content": "Welcome. Ask me."}, *said("hi")]),
        ([GREETING], said("")),
        ([GREETING], said("hi")),
        ([SYSTEM], [SYSTEM, *said("hi")]),
        ([SYSTEM, *said("hi")], [SYSTEM]),
        ([GREETING, *said("hi")], [SYSTEM]),
    ],
)
async def test_what_begins_otherwise_has_a_thread_of_its_own(first: Any, then: Any, headers: Any) -> None:
    app, users = chats_with(counter()), (sum(m["role"] == "user" for m in posted) for posted in (first, then))
    assert [await text_of(app, posted, headers, **USER) for posted in (first, then)] == [
        f"{n} said, turn 1" for n in users
    ]


async def test_titles_never_touch_the_thread() -> None:
    app = chats_with(counter())
    await text_of(app, "hi", OPEN_WEBUI)
    for task in ("### Task:\nSuggest a title", "Provide a concise, 5-word-or-less title", "Summarise: hi"):
        assert await text_of(app, task, OPEN_WEBUI) == ONE
    assert await text_of(app, said("hi", ONE, "and"), OPEN_WEBUI) == TWO
    listed = (await call(app, "GET", "/model/threads")).json
    assert [thread["title"] for thread in listed] == ["hi", "Summarise: hi"], "a prompt that is not known as a task"
    assert listed[0]["threadId"] == "chat-1"


async def test_two_conversations_that_begin_alike() -> None:
    app = chats_with(counter())
    first, second = said("hi", ONE, "first"), said("hi", ONE, "second")
    assert await text_of(app, "hi", **USER) == ONE
    assert await text_of(app, first, **USER) == TWO
    assert await text_of(app, "hi", **USER) == ONE
    assert await text_of(app, second, **USER) == TWO
    assert await text_of(app, [*first, *said("", TWO, "on")[1:]], **USER) == "3 said, turn 1"


async def test_answers_are_known_as_their_readers_have_them() -> None:
    app = chats_with(counter())
    await text_of(app, "hi", OPEN_WEBUI)
    thought = f"<think>Well.</think>\n\n{ONE} "
    assert await text_of(app, said("hi", thought, "and"), OPEN_WEBUI) == TWO
    assert await text_of(app, said("hi", thought, "and", "2 sa", "then"), OPEN_WEBUI) == THREE, "stopped in the middle"


@pytest.mark.parametrize("url", ["data:image/png;base64,iVBORw0K", "https://example.com/a.png"])
async def test_messages_with_files_are_known(url: str) -> None:
    app = chats_with(counter())
    look = {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}],
    }
    assert await text_of(app, [look], OPEN_WEBUI) == ONE
    assert await text_of(app, [look, *said("", ONE, "and")[1:]], OPEN_WEBUI) == TWO
    bare = said("look", ONE, "and")
    assert await text_of(app, bare, OPEN_WEBUI) == "2 said, turn 1", "another message"


async def test_what_a_hook_hides_of_stored_messages_is_compared_all_the_same() -> None:
    def masked(messages: Any, run: Any) -> Any:
        return [message.model_copy(update={"content": "***"}) for message in messages]

    app = create_app({"model": AGUIAdapter(counter(), hooks=Hooks(on_messages=masked))}, openai="/v1")
    assert await text_of(app, "my card is 4111", OPEN_WEBUI) == ONE
    assert await text_of(app, said("my card is 4111", ONE, "and"), OPEN_WEBUI) == TWO
    assert await text_of(app, said("my card is 4112", ONE, "and"), OPEN_WEBUI) == "2 said, turn 1"
    stored = (await call(app, "GET", "/model/threads/chat-1/messages")).json["messages"]
    assert {message["content"] for message in stored} == {"***"}


@pytest.mark.parametrize(
    ("first", "then", "seen", "further"),
    [
        ([SYSTEM], [{**SYSTEM, "content": "Be kind."}], "Be kind. hi", "Be kind. hi and"),
        ([SYSTEM], [], "Be terse. hi", "Be terse. hi and"),
        ([], [SYSTEM], "hi", "hi Be terse. and"),
    ],
)
async def test_instructions_are_no_part_of_the_beginning(first: Any, then: Any, seen: str, further: str) -> None:
    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", " ".join(str(m.content) for m in state["messages"] if m.type != "ai"))]}

    app = chats_with(in_a_row({"agent": agent}, MessagesState, checkpointer=InMemorySaver()))
    await text_of(app, [*first, *said("hi")], **USER)
    assert await text_of(app, [*then, *said("hi")], **USER) == seen
    assert await text_of(app, [*then, *said("hi", seen, "and")], **USER) == further
    assert len((await call(app, "GET", "/model/threads")).json) == 1


async def test_instructions_replace_each_other() -> None:
    app = chats_with(counter())
    system: Any = [{"role": "system", "content": "Be terse."}]
    await text_of(app, [*system, *said("hi")], OPEN_WEBUI)
    await text_of(app, [*system, *said("hi", ONE, "and")], OPEN_WEBUI)
    other: Any = [{"role": "developer", "content": "Be kind."}]
    assert await text_of(app, [*other, *said("hi", ONE, "and", TWO, "then")], OPEN_WEBUI) == THREE
    messages = (await call(app, "GET", "/model/threads/chat-1/messages")).json["messages"]
    assert [m["content"] for m in messages if m["role"] in ("system", "developer")] == ["Be kind."]


async def test_threads_that_nobody_finds_again_are_deleted() -> None:
    app = chats_with(counter())
    for n in range(3):
        await text_of(app, f"hi {n}")
        await chat(app, f"hi {n}", stream=True)
    assert (await call(app, "GET", "/model/threads")).json == []


async def test_agents_without_memory_get_the_whole_conversation() -> None:
    app = chats_with(counter(memory=False))
    for headers in (None, OPEN_WEBUI):
        assert await text_of(app, said("hi", ONE, "and"), headers, **USER) == "2 said, turn 1"


async def test_models_and_users_have_their_own_threads() -> None:
    app = chats_with({"model": counter(), "other": counter()}, keys={"a": "ann", "b": "bob"}, default_model="other")
    ann, bob = ({**OPEN_WEBUI, "authorization": f"Bearer {key}"} for key in "ab")
    posted = said("hi", ONE, "and")
    await text_of(app, "hi", ann)
    assert await text_of(app, posted, bob) == "2 said, turn 1"
    assert await text_of(app, posted, ann, model="") == "2 said, turn 1"
    assert await text_of(app, posted, ann) == TWO
    answer = await chat(app, "hi", ann, model="none")
    assert error_of(answer) == (404, "model_not_found", "model")
    assert message_of(await chat(app, "hi", ann, model=None))["content"] == ONE


async def test_the_user_s_one_thread_takes_what_is_new() -> None:
    app = chats_with(counter(), sessions="user")
    assert await text_of(app, "hi", **USER) == ONE
    assert await text_of(app, "something else", **USER) == TWO
    assert await text_of(app, said("a", "b", "c"), **USER) == THREE
    assert await text_of(app, "hi", user="bob") == ONE
