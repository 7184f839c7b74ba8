# ruff: noqa: E501
"""The functional API: entrypoints and tasks, what is kept from turn to turn, questions."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph.message import add_messages
from langgraph.pregel import Pregel
from langgraph.types import RetryPolicy, interrupt

from tests.conftest import Judge
from tests.support.graphs import scripted
from tests.support.playing import Player
from tests.support.two_sources import Source, answer, hear
from yai_nexus_agentkit.testing import ScriptedChatModel


def counting() -> ScriptedChatModel:
    """Says how many messages it was given."""
    return ScriptedChatModel(script=lambda messages: [f"{len(messages)} ", "messages."])


async def test_an_entrypoint_that_returns_a_message(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        model = scripted(["Hello ", "there."])

        @entrypoint()
        async def agent(given: dict[str, Any]) -> BaseMessage:
            return await model.ainvoke(given["messages"])

        return agent

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there. END',
            "STEP_FINISHED stepName=agent",
        ]
    )
    assert [m["content"] for m in played.messages] == ["hi", "Hello there."]


async def test_an_entrypoint_that_returns_text(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        @entrypoint()
        def agent(given: dict[str, Any]) -> str:
            return f"You said {given['messages'][-1].text}."

        return agent

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent FINISHED",
            'TEXT_MESSAGE_START messageId=run-1-output role=assistant + "You said hi." END',
            'RUN_FINISHED result="You said hi."',
        ]
    )


async def test_an_entrypoint_that_returns_data(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        @entrypoint()
        def agent(given: dict[str, Any]) -> dict[str, Any]:
            return {"words": len(given["messages"][-1].text.split()), "tags": {"a"}}

        return agent

    played = await play(build, "one two three")

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent FINISHED",
            "RUN_FINISHED result=(words=3 tags=[a])",
        ]
    )


async def test_tasks_are_steps(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        plan_model, answer_model = scripted("A plan. "), scripted("An answer.")

        @task
        async def plan(messages: list[BaseMessage]) -> BaseMessage:
            return await plan_model.ainvoke(messages)

        @task(name="write answer")
        async def answer(messages: list[BaseMessage], planned: BaseMessage) -> BaseMessage:
            return await answer_model.ainvoke([*messages, planned])

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(given: dict[str, Any]) -> BaseMessage:
            planned = await plan(given["messages"])
            return await answer(given["messages"], planned)

        return agent

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "STEP_STARTED stepName=agent/plan",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A plan. " END',
            "STEP_FINISHED stepName=agent/plan",
            'STEP_STARTED stepName="agent/write answer"',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "An answer." END',
            'STEP_FINISHED stepName="agent/write answer"',
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_what_an_entrypoint_keeps(play: Player) -> None:
    """`previous` is the entrypoint's own memory; the client's messages come with every request."""

    def build() -> Pregel[Any, Any, Any, Any]:
        model = counting()

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(given: dict[str, Any], *, previous: Any = None) -> entrypoint.final[Any, Any]:
            messages = add_messages(previous or [], given["messages"])
            answer = await model.ainvoke(messages)
            return entrypoint.final(value=answer, save=add_messages(messages, [answer]))

        return agent

    played = await play(build, "hi", "and?")

    assert played.streams[1] == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "3 " + messages. END',
            "STEP_FINISHED stepName=agent",
        ]
    )
    assert [m["content"] for m in played.messages] == ["hi", "1 messages.", "and?", "3 messages."]


async def test_state_of_the_request_is_an_argument(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        @entrypoint()
        def agent(given: dict[str, Any]) -> str:
            return f"in {given['city']}"

        return agent

    played = await play(
        build, lambda view: {"message": [{"id": "user-1", "role": "user", "content": "hi"}], "state": {"city": "Rome"}}
    )

    assert [m["content"] for m in played.messages] == ["hi", "in Rome"]
    assert played.state == {"city": "Rome"}


async def test_a_question_in_an_entrypoint(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        model, asked = scripted("Let me ask. "), []

        @task
        async def think(messages: list[BaseMessage]) -> str:
            asked.append(1)
            return (await model.ainvoke(messages)).text

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(given: dict[str, Any]) -> str:
            thought = await think(given["messages"])
            answer = interrupt({"question": "Sure?"})
            return f"{thought}{answer} ({len(asked)})"

        return agent

    played = await play(build, "hi", answer("yes"))

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=agent",
                "STEP_STARTED stepName=agent/think",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Let me ask. " END',
                "STEP_FINISHED stepName=agent/think",
                "STEP_FINISHED stepName=agent",
                "STATE_SNAPSHOT snapshot=()",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#1 content="Let me ask. "',
                'RUN_FINISHED outcome=(type=interrupt interrupts=[(id=#2 reason=langgraph:interrupt message="Sure?" metadata=(langgraph=(value=(question="Sure?"))))])',
            ],
            [
                "STEP_STARTED stepName=agent FINISHED",
                'TEXT_MESSAGE_START messageId=run-2-output role=assistant + "Let me ask. yes (1)" END',
                'RUN_FINISHED result="Let me ask. yes (1)"',
            ],
        ]
    )


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("whole", [False, True], ids=["a message", "the conversation"])
async def test_a_constant_is_an_answer_in_each_run(judge: Judge, source: Source, whole: bool) -> None:
    """LangGraph gives the object an id with its first use."""

    def build() -> Pregel[Any, Any, Any, Any]:
        refusal = AIMessage("I cannot do that.")

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(messages: list[BaseMessage]) -> Any:
            return [*messages, refusal] if whole else refusal

        return agent

    heard = await hear(build, source, judge, "hi", "and?", "please")

    said = [m["content"] for m in heard.views[-1]["messages"]]
    assert said == ["hi", "I cannot do that.", "and?", "I cannot do that.", "please", "I cannot do that."]


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_a_question_in_an_entrypoint_that_returns_the_conversation(judge: Judge, source: Source) -> None:
    """What it returns takes no message from the client, and shows none twice."""

    def build() -> Pregel[Any, Any, Any, Any]:
        model = scripted(["First. "], ["Second."], ["Third."])

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(messages: list[BaseMessage], *, previous: Any = None) -> Any:
            history: Any = add_messages(previous or [], messages)
            history = add_messages(history, [await ask(history)])
            if previous is None:
                interrupt("Sure?")
                history = add_messages(history, [await ask(history)])
            return history

        @task
        async def ask(history: list[BaseMessage]) -> BaseMessage:
            return await model.ainvoke(history)

        return agent

    heard = await hear(build, source, judge, "hi", answer("yes"), "and?")

    said = ["hi", "First. ", "Second."]
    assert [m["content"] for m in heard.views[1]["messages"]] == said
    assert [m["content"] for m in heard.views[2]["messages"]] == [*said, "and?", "Third."]


async def test_a_task_that_fails(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        model = scripted(["Half ", RuntimeError("down")])

        @task
        async def ask(messages: list[BaseMessage]) -> BaseMessage:
            return await model.ainvoke(messages)

        @entrypoint()
        async def agent(given: dict[str, Any]) -> BaseMessage:
            return await ask(given["messages"])

        return agent

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "STEP_STARTED stepName=agent/ask",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "STEP_FINISHED stepName=agent/ask",
            "STEP_FINISHED stepName=agent",
            "RUN_ERROR message=down code=AGENT_ERROR",
        ]
    )


async def test_a_task_that_is_tried_again(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        model = scripted(["Half ", ConnectionError("lost")], "Whole.")

        @task(retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
        async def ask(messages: list[BaseMessage]) -> BaseMessage:
            return await model.ainvoke(messages)

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(given: dict[str, Any]) -> BaseMessage:
            return await ask(given["messages"])

        return agent

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "STEP_STARTED stepName=agent/ask",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "STEP_FINISHED stepName=agent/ask",
            "STEP_STARTED stepName=agent/ask",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Whole. END",
            "STEP_FINISHED stepName=agent/ask",
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#2 content=Whole.",
        ]
    )
    assert [m["content"] for m in played.messages] == ["hi", "Whole."]


async def test_an_entrypoint_as_a_task_of_another(play: Player) -> None:
    def build() -> Pregel[Any, Any, Any, Any]:
        model = scripted("Inner words.")

        @task
        async def ask(messages: list[BaseMessage], config: RunnableConfig) -> BaseMessage:
            return await model.ainvoke(messages, config)

        @entrypoint()
        async def inner(given: dict[str, Any]) -> BaseMessage:
            return await ask(given["messages"])

        @entrypoint(checkpointer=InMemorySaver())
        async def outer(given: dict[str, Any]) -> str:
            found = await inner.ainvoke(given)
            return found.text.upper()

        return outer

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=outer",
            "STEP_STARTED stepName=outer/inner",
            "STEP_STARTED stepName=outer/inner/ask",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Inner words." END',
            "STEP_FINISHED stepName=outer/inner/ask",
            "STEP_FINISHED stepName=outer/inner",
            "STEP_FINISHED stepName=outer",
            'TEXT_MESSAGE_START messageId=run-1-output role=assistant + "INNER WORDS." END',
            'RUN_FINISHED result="INNER WORDS."',
        ]
    )
