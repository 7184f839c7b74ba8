# ruff: noqa: E501
"""Model text on the wire: every way to call a model, and the models that do not stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import FakeStreamingListLLM
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tests.support.graphs import CALLS, Graph, chat, chat_node, in_a_row, scripted, turns
from tests.support.playing import Player
from yai_nexus_agentkit.testing import ScriptedChatModel, text_part


def of_one_step(step: str, stream: list[str]) -> list[str]:
    """The stream of a graph with one node that sends one line, without the lines of its step."""
    assert stream[:3:2] == [f"STEP_STARTED stepName={step}", f"STEP_FINISHED stepName={step}"]
    return [stream[1], *stream[3:]]


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, snapshot('TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END')),
        (
            {"streaming": False},
            snapshot('TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant + "Hello there" END'),
        ),
        (
            {"disable_streaming": True, "ids": "all"},
            snapshot('TEXT_MESSAGE_START messageId=scripted-0 role=assistant + "Hello there" END'),
        ),
    ],
    ids=["it streams", "it cannot stream", "streaming is disabled"],
)
async def test_however_a_node_calls_its_model(play: Player, how: str, options: Any, line: str) -> None:
    """The answer streams; a model that does not stream gives its whole answer at once."""
    played = await play(lambda: chat(scripted(["Hello ", "there"], **options), how))
    assert of_one_step("chat", played.stream) == [line]


NONE = AIMessageChunk(content=[])
LATE = AIMessageChunk(content="there", id="msg_1")
HELLO = ["Hello ", "there"]


@pytest.mark.parametrize(
    ("parts", "options", "lines"),
    [
        pytest.param(
            HELLO,
            {"ids": ids},
            snapshot(['TEXT_MESSAGE_START messageId=scripted-0 role=assistant + "Hello " + there END']),
            id=f"the provider's id on {ids} chunks",
        )
        for ids in ("all", "first")
    ]
    + [
        pytest.param(
            ["Hello ", LATE],
            {},
            snapshot(
                [
                    'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
                    "MESSAGES_SNAPSHOT metadata=(langgraph=(renamed=(lc_run--#1=msg_1)))",
                    "  user id=user-1 content=hi",
                    '  assistant id=msg_1 content="Hello there"',
                ]
            ),
            id="the provider's id comes late: a snapshot puts it right",
        ),
        pytest.param(
            [AIMessageChunk(content="Hello", id="user-1")],
            {},
            snapshot(
                [
                    "TEXT_MESSAGE_START messageId=user-1-2 role=assistant + Hello END",
                    "MESSAGES_SNAPSHOT",
                    "  assistant id=user-1 content=Hello",
                ]
            ),
            id="the provider's id is a user message's",
        ),
        pytest.param(
            ["", NONE, "", "Hel", "", NONE, "lo", "", NONE],
            {},
            snapshot(["TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo END"]),
            id="empty chunks are nothing",
        ),
        pytest.param(
            [text_part("Check"), text_part("ing "), "now", "."],
            {},
            snapshot(['TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Check + "ing " + now + "." END']),
            id="content changes from blocks to text",
        ),
    ],
)
async def test_chunks_of_an_answer(play: Player, parts: Any, options: Any, lines: list[str]) -> None:
    played = await play(lambda: chat(scripted(parts, **options)))
    assert of_one_step("chat", played.stream) == lines


@pytest.mark.parametrize(
    ("model", "answer", "lines"),
    [
        pytest.param(
            lambda: scripted(HELLO),
            lambda said: AIMessage(said.content),
            snapshot(['TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END']),
            id="made again: it ends up once",
        ),
        pytest.param(
            lambda: scripted(HELLO),
            lambda said: AIMessage(said.content + "!", id=said.id),
            snapshot(
                [
                    'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
                    "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[lc_run--#1]))",
                    "  user id=user-1 content=hi",
                    '  assistant id=lc_run--#1 content="Hello there!"',
                ]
            ),
            id="edited under its id",
        ),
        pytest.param(
            lambda: FakeStreamingListLLM(responses=["Hey"]),
            AIMessage,
            snapshot(["TEXT_MESSAGE_START messageId=#1 role=assistant + Hey END"]),
            id="of a text model that knows no messages",
        ),
    ],
)
async def test_an_answer_that_the_node_makes_of_its_models(
    play: Player, model: Callable[[], Any], answer: Callable[[Any], AIMessage], lines: list[str]
) -> None:
    def build() -> Graph:
        made = model()

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [answer(await made.ainvoke(state["messages"], config))]}

        return in_a_row({"ask": ask})

    played = await play(build)
    assert of_one_step("ask", played.stream) == lines


async def test_a_cached_answer_comes_under_the_id_of_the_message_it_replaces(play: Player) -> None:
    def build() -> Graph:
        model = scripted(["It is ", "noon."], cache=InMemoryCache())

        async def clock(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke("what time is it?", config)]}

        return in_a_row({"clock": clock})

    played = await play(build, "what time is it?", "and now?")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=clock",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "It is " + noon. END',
                "STEP_FINISHED stepName=clock",
            ],
            ["STEP_STARTED stepName=clock FINISHED"],
        ]
    )


async def test_a_cached_answer_of_another_thread_streams_like_any_other(play: Player) -> None:
    def build() -> Graph:
        model = scripted(["It is ", "noon."], cache=InMemoryCache())
        model.invoke("what time is it?")

        async def clock(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke("what time is it?", config)]}

        return in_a_row({"clock": clock})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=clock",
            'TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant + "It is noon." END',
            "STEP_FINISHED stepName=clock",
        ]
    )


async def test_two_models_at_once_in_one_node(play: Player) -> None:
    def build() -> Graph:
        one, two = scripted(["A1 ", *turns(100), "A2"]), scripted([*turns(50), "B1 ", *turns(100), "B2"])

        async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            answers = await asyncio.gather(*(model.ainvoke(state["messages"], config) for model in (one, two)))
            return {"messages": list(answers)}

        return in_a_row({"both": both})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=both",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A1 "',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "B1 "',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=A2 END",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=B2 END",
            "STEP_FINISHED stepName=both",
        ]
    )


async def test_one_model_for_two_questions_at_once(play: Player) -> None:
    def build() -> Graph:
        starts = {"one": 0, "two": 50}
        model = ScriptedChatModel(
            script=lambda asked: [*turns(starts[asked[-1].text]), f"Re {asked[-1].text}: ", *turns(100), "yes"]
        )

        async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": await model.abatch(["one", "two"], config)}

        return in_a_row({"both": both})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=both",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Re one: "',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Re two: "',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=yes END",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=yes END",
            "STEP_FINISHED stepName=both",
        ]
    )


async def test_the_second_of_two_answers_is_dropped_by_the_graph(play: Player) -> None:
    def build() -> Graph:
        draft, final = scripted("A draft."), scripted("The answer.")

        async def writer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            await draft.ainvoke(state["messages"], config)
            return {"messages": [await final.ainvoke(state["messages"], config)]}

        return in_a_row({"writer": writer})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=writer",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A draft." END',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "The answer." END',
            "STEP_FINISHED stepName=writer",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#2 content="The answer."',
        ]
    )


async def test_a_provider_that_gives_every_answer_the_same_id(play: Player) -> None:
    def build() -> Graph:
        model = scripted(*([AIMessageChunk(content=text, id="same")] for text in ("One", "Two", "Three")))
        return in_a_row({"chat": chat_node(model), "more": chat_node(model)})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            "TEXT_MESSAGE_START messageId=same role=assistant + One END",
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=more",
            "TEXT_MESSAGE_START messageId=same-2 role=assistant + Two END",
            "STEP_FINISHED stepName=more",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[same]))",
            "  user id=user-1 content=hi",
            "  assistant id=same content=Two",
        ]
    )


async def test_an_answer_that_a_later_node_edits_in_place(play: Player) -> None:
    def build() -> Graph:
        async def shout(state: MessagesState) -> dict[str, Any]:
            state["messages"][-1].content = "HELLO THERE"
            return {"messages": [state["messages"][-1]]}

        return in_a_row({"chat": chat_node(scripted(["Hello ", "there"])), "shout": shout})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=shout FINISHED",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[lc_run--#1]))",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 content="HELLO THERE"',
        ]
    )


async def test_constant_answers_of_nodes_stream_too(play: Player) -> None:
    def build() -> Graph:
        async def greet(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage("Welcome!")]}

        return in_a_row({"greet": greet, "chat": chat_node(scripted(["How ", "are you?"]))})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=greet",
            'TEXT_MESSAGE_START messageId=#1 role=assistant + "Welcome!" END',
            "STEP_FINISHED stepName=greet",
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "How " + "are you?" END',
            "STEP_FINISHED stepName=chat",
        ]
    )


async def test_emoji_that_the_provider_splits_between_chunks(play: Player) -> None:
    high, low = "\ud83d", "\ude00"  # the halves of 😀
    played = await play(lambda: chat(scripted(["Hi ", high, low, " bye ", high, "!"])), in_step=False)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hi " + "😀" + " bye " + "�!" END',
            "STEP_FINISHED stepName=chat",
        ]
    )
    assert [m["content"] for m in played.messages] == ["hi", "Hi 😀 bye \ufffd!"]


@pytest.mark.parametrize("nothing", ["", ["", ""]])
async def test_a_model_that_says_nothing_makes_no_bubble(play: Player, nothing: Any) -> None:
    played = await play(lambda: chat(scripted(nothing, "Two.")), "hi", "again")

    assert played.streams == snapshot(
        [
            ["STEP_STARTED stepName=chat FINISHED"],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
            ],
        ]
    )


async def test_content_as_blocks(play: Player) -> None:
    def build() -> Graph:
        return chat(
            scripted(
                [
                    AIMessageChunk(content=[]),
                    text_part("Hel", index=0),
                    AIMessageChunk(content=[{"type": "text", "text": "lo"}, " you", {"type": "text", "text": "!"}]),
                    AIMessageChunk(content=[{"type": "text", "citations": [{"url": "https://a.b"}], "index": 0}]),
                    AIMessageChunk(content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]),
                    "",
                    " Bye.",
                ],
                ids="all",
            )
        )

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=scripted-0 role=assistant + Hel + lo + " you" + "!"',
            'ACTIVITY_SNAPSHOT messageId=scripted-0-media activityType=media content=(messageId=scripted-0 parts=[(type=image source=(type=data value="AA==" mimeType=image/png))])',
            'TEXT_MESSAGE_CONTENT messageId=scripted-0 delta=" Bye."',
            "TEXT_MESSAGE_END messageId=scripted-0 metadata=(langgraph=(citations=[(url=https://a.b start_index=0 end_index=3)]))",
            "ACTIVITY_SNAPSHOT messageId=scripted-0-citations activityType=citations content=(messageId=scripted-0 citations=[(url=https://a.b start_index=0 end_index=3)])",
            "STEP_FINISHED stepName=chat",
        ]
    )


REFUSALS = {
    "chat completions": [AIMessageChunk(content="", additional_kwargs={"refusal": t}) for t in ("I can", "not.")],
    "responses": [AIMessageChunk(content=[{"type": "refusal", "refusal": t, "index": 0}]) for t in ("I can", "not.")],
}


@pytest.mark.parametrize("parts", REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_an_answer(play: Player, parts: Any) -> None:
    played = await play(lambda: chat(scripted(parts, "Two.")), "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "I can" + not.',
                "TEXT_MESSAGE_END messageId=lc_run--#1 metadata=(langgraph=(incomplete=refusal))",
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED metadata=(langgraph=(incomplete=refusal))",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
            ],
        ]
    )


RAW_MESSAGES = {
    "tuple": [("ai", "Hello there")],
    "dict": [{"role": "assistant", "content": "Hello there"}],
    "one tuple": ("ai", "Hello there"),
    "one dict": {"role": "assistant", "content": "Hello there"},
}


@pytest.mark.parametrize("written", RAW_MESSAGES.values(), ids=RAW_MESSAGES.keys())
async def test_messages_that_a_node_writes_as_tuples_or_dicts(play: Player, written: Any) -> None:
    def build() -> Graph:
        async def greet(state: MessagesState) -> dict[str, Any]:
            return {"messages": written}

        return in_a_row({"greet": greet})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=greet",
            'TEXT_MESSAGE_START messageId=#1 role=assistant + "Hello there" END',
            "STEP_FINISHED stepName=greet",
        ]
    )


async def test_raw_messages_of_several_kinds_between_streamed_ones(play: Player) -> None:
    def build() -> Graph:
        async def note(state: MessagesState) -> dict[str, Any]:
            return {"messages": [("user", "[seen]"), {"type": "ai", "content": "Noted."}, "as a human"]}

        return in_a_row({"one": chat_node(scripted("One.")), "note": note, "two": chat_node(scripted("Two."))})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=one",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "STEP_FINISHED stepName=one",
            "STEP_STARTED stepName=note FINISHED",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#1 content=One.",
            '  user id=#2 content="[seen]"',
            "  assistant id=#3 content=Noted.",
            '  user id=#4 content="as a human"',
            "STEP_STARTED stepName=two",
            "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant + Two. END",
            "STEP_FINISHED stepName=two",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#1 content=One.",
            '  user id=#2 content="[seen]"',
            "  assistant id=#3 content=Noted.",
            '  user id=#4 content="as a human"',
            "  assistant id=lc_run--#5 content=Two.",
        ]
    )


async def test_usage_of_several_models(play: Player) -> None:
    def usage(n: int) -> Any:
        return {"input_tokens": n, "output_tokens": 2, "total_tokens": n + 2, "input_token_details": {"cache_read": 1}}

    def build() -> Graph:
        small = {"usage": usage(5), "model_name": "small"}
        return in_a_row(
            {
                "one": chat_node(scripted("One.", **small)),
                "two": chat_node(scripted("Two.", **small)),
                "three": chat_node(scripted("Three.", usage=usage(10), model_name="large", streaming=False)),
            }
        )

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=one",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "STEP_FINISHED stepName=one",
            "STEP_STARTED stepName=two",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
            "STEP_FINISHED stepName=two",
            "STEP_STARTED stepName=three",
            "TEXT_MESSAGE_START messageId=lc_run--#3-0 role=assistant + Three. END",
            "STEP_FINISHED stepName=three",
            "RUN_FINISHED",
            "  usage provider=scriptedchatmodel model=small inputTokens=10 outputTokens=4 totalTokens=14 cachedInputTokens=2",
            "  usage provider=scriptedchatmodel model=large inputTokens=10 outputTokens=2 totalTokens=12 cachedInputTokens=1",
        ]
    )


async def test_three_turns(play: Player) -> None:
    played = await play(lambda: chat(scripted("One.", "Two.", "Three.", ids="all")), "a", "b", "c")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=scripted-0 role=assistant + One. END",
                "STEP_FINISHED stepName=chat",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=scripted-1 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=scripted-2 role=assistant + Three. END",
                "STEP_FINISHED stepName=chat",
            ],
        ]
    )
