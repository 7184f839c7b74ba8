# ruff: noqa: E501
"""Nodes that remove messages, or replace the whole conversation."""

from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.playing import Player


async def test_a_node_that_removes_an_older_message(play: Player) -> None:
    def build() -> Graph:
        async def forget(state: MessagesState) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id=state["messages"][0].id)]}

        return in_a_row({"chat": chat_node(scripted("One.", "Two.")), "forget": forget})

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=forget FINISHED",
                "MESSAGES_SNAPSHOT",
                "  assistant id=lc_run--#1 content=One.",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=forget FINISHED",
                "MESSAGES_SNAPSHOT",
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#2 content=Two.",
            ],
        ]
    )


async def test_a_node_that_removes_the_answer_just_streamed(play: Player) -> None:
    def build() -> Graph:
        async def censor(state: MessagesState) -> dict[str, Any]:
            return {
                "messages": [RemoveMessage(id=state["messages"][-1].id), AIMessage("Let us talk of something else.")]
            }

        return in_a_row({"chat": chat_node(scripted("Something rude.")), "censor": censor})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Something rude." END',
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=censor",
            'TEXT_MESSAGE_START messageId=#2 role=assistant + "Let us talk of something else." END',
            "STEP_FINISHED stepName=censor",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=#2 content="Let us talk of something else."',
        ]
    )


async def test_a_node_that_replaces_the_whole_conversation(play: Player) -> None:
    def build() -> Graph:
        async def summarise(state: MessagesState) -> dict[str, Any]:
            kept = SystemMessage(f"{len(state['messages'])} messages so far", id="summary")
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), kept, state["messages"][-1]]}

        return in_a_row({"chat": chat_node(scripted("One.", "Two.")), "summarise": summarise})

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=summarise FINISHED",
                "MESSAGES_SNAPSHOT",
                "MESSAGES_SNAPSHOT",
                '  system id=summary content="2 messages so far"',
                "  assistant id=lc_run--#1 content=One.",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=summarise FINISHED",
                "MESSAGES_SNAPSHOT",
                '  system id=summary content="4 messages so far"',
                "  assistant id=lc_run--#2 content=Two.",
            ],
        ]
    )


async def test_trimming_before_the_model(play: Player) -> None:
    def build() -> Graph:
        async def trim(state: MessagesState) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id=m.id) for m in state["messages"][:-2]]}

        return in_a_row({"trim": trim, "chat": chat_node(scripted("One.", "Two.", "Three."))})

    played = await play(build, "a", "b", "c")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=trim FINISHED",
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
                "STEP_FINISHED stepName=chat",
            ],
            [
                "STEP_STARTED stepName=trim FINISHED",
                "MESSAGES_SNAPSHOT",
                "  assistant id=lc_run--#1 content=One.",
                "  user id=user-2 content=b",
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
                "MESSAGES_SNAPSHOT",
                "  assistant id=lc_run--#1 content=One.",
                "  user id=user-2 content=b",
                "  assistant id=lc_run--#2 content=Two.",
            ],
            [
                "STEP_STARTED stepName=trim FINISHED",
                "MESSAGES_SNAPSHOT",
                "  assistant id=lc_run--#2 content=Two.",
                "  user id=user-3 content=c",
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Three. END",
                "STEP_FINISHED stepName=chat",
                "MESSAGES_SNAPSHOT",
                "  assistant id=lc_run--#2 content=Two.",
                "  user id=user-3 content=c",
                "  assistant id=lc_run--#3 content=Three.",
            ],
        ]
    )


async def test_removing_what_is_not_there(play: Player) -> None:
    def build() -> Graph:
        async def forget(state: MessagesState) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id="no-such-message")]}

        return in_a_row({"chat": chat_node(scripted("One.")), "forget": forget})

    played = await play(build, in_step=False)  # the thread cannot be read either

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=forget FINISHED",
            "RUN_ERROR message=\"Attempting to delete a message with an ID that doesn't exist ('no-such-message')\" code=AGENT_ERROR",
        ]
    )
