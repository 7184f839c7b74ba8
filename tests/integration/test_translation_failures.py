# ruff: noqa: E501
"""Runs that fail or stop: what was said stays balanced, and the next turn has everything right again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy, Send

from tests.support.graphs import CALLS, Graph, chat, chat_node, in_a_row, let_others_run, scripted, tool_loop, turns
from tests.support.playing import Player
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.testing import tool_call_parts, tool_calls_part

DOWN = RuntimeError("provider down 503")


class Counting(MessagesState):
    count: int


FAILING: dict[str, list[Any]] = {"before its first word": [DOWN], "in the middle": ["Half an ", "ans", DOWN]}


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize("when", FAILING)
async def test_a_model_that_fails(play: Player, when: str, how: str) -> None:
    played = await play(lambda: chat(scripted(FAILING[when], "Here I am."), how), "hi", "again")

    expected = snapshot(
        {
            "before its first word": [
                ["STEP_STARTED stepName=chat FINISHED", 'RUN_ERROR message="provider down 503" code=AGENT_ERROR'],
                [
                    "STEP_STARTED stepName=chat",
                    'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Here I am." END',
                    "STEP_FINISHED stepName=chat",
                ],
            ],
            "in the middle": [
                [
                    "STEP_STARTED stepName=chat",
                    'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half an " + ans END',
                    "STEP_FINISHED stepName=chat",
                    'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
                ],
                [
                    "STEP_STARTED stepName=chat",
                    'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Here I am." END',
                    "STEP_FINISHED stepName=chat",
                    "MESSAGES_SNAPSHOT",
                    "  user id=user-1 content=hi",
                    "  user id=user-2 content=again",
                    '  assistant id=lc_run--#2 content="Here I am."',
                ],
            ],
        }
    )
    assert played.streams == expected[when]


async def test_a_node_that_fails_after_its_models_answer(play: Player) -> None:
    def build() -> Graph:
        model = scripted(["All ", "well."], "Really.")

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            answer = await model.ainvoke(state["messages"], config)
            if len(state["messages"]) == 1:
                raise RuntimeError("disk full")
            return {"messages": [answer]}

        return in_a_row({"ask": ask})

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=ask",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "All " + well. END',
                "STEP_FINISHED stepName=ask",
                'RUN_ERROR message="disk full" code=AGENT_ERROR',
            ],
            [
                "STEP_STARTED stepName=ask",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Really. END",
                "STEP_FINISHED stepName=ask",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#2 content=Really.",
            ],
        ]
    )


async def test_a_model_that_fails_in_the_middle_of_a_call(play: Player) -> None:
    def build() -> Graph:
        return chat(scripted([*tool_call_parts("weather", {"city": "Rome"}, "call_1", pieces=4)[:3], DOWN], "Hm."))

    played = await play(build, "hi", "again", ignore=["AGUI204"])

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"ci" + "ty\\":" END',
                "STEP_FINISHED stepName=chat",
                'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
            ],
            [
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "  user id=user-2 content=again",
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Hm. END",
                "STEP_FINISHED stepName=chat",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#2 content=Hm.",
            ],
        ]
    )


async def test_a_run_that_fails_after_state_changed_ends_with_the_state(play: Player) -> None:
    def build() -> Graph:
        async def count(state: Counting) -> dict[str, Any]:
            return {"count": 1}

        return in_a_row({"count": count, "chat": chat_node(scripted(["Half", DOWN]))}, Counting)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=count FINISHED",
            'STATE_DELTA delta=[(op=add path="/count" value=1)]',
            "STEP_STARTED stepName=chat",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Half END",
            "STEP_FINISHED stepName=chat",
            "STATE_SNAPSHOT snapshot=(count=1)",
            'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
        ]
    )


async def test_the_first_node_of_a_graph_fails_without_a_model(play: Player) -> None:
    def build() -> Graph:
        def broken(state: MessagesState) -> dict[str, Any]:
            raise KeyError("missing")

        return in_a_row({"broken": broken})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=broken FINISHED",
            "RUN_ERROR message=\"KeyError: 'missing'\" code=AGENT_ERROR",
        ]
    )


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError(), "ValueError"), (Odd(), "Odd"), (ValueError("half \ud83d emoji"), '"half � emoji"')],
    ids=["no text", "a text that fails", "half an emoji"],
)
async def test_errors_with_odd_texts(play: Player, error: Exception, text: str) -> None:
    played = await play(lambda: chat(scripted([error])))

    assert played.stream == ["STEP_STARTED stepName=chat FINISHED", f"RUN_ERROR message={text} code=AGENT_ERROR"]


async def test_an_error_in_a_tool_after_state_and_text(play: Player) -> None:
    @tool
    def explode(n: int) -> str:
        """Explode."""
        raise ZeroDivisionError("n was zero")

    played = await play(
        lambda: tool_loop(scripted(["Try: ", *tool_call_parts("explode", {"n": 0}, "call_1")], "Ok."), [explode]),
        "hi",
        "again",
    )

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=agent",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Try: "',
                'TOOL_CALL_START toolCallId=call_1 toolCallName=explode parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 0}" END',
                "TEXT_MESSAGE_END messageId=lc_run--#1",
                "STEP_FINISHED stepName=agent",
                "STEP_STARTED stepName=tools FINISHED",
                'RUN_ERROR message="n was zero" code=AGENT_ERROR',
            ],
            [
                'TOOL_CALL_RESULT messageId=unanswered-lc_run--#1-call_1 toolCallId=call_1 content="There is no result: the conversation went on before one came. The call may have had an effect." role=tool metadata=(langgraph=(status=error))',
                "STEP_STARTED stepName=agent",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Ok. END",
                "STEP_FINISHED stepName=agent",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#1 content="Try: " toolCalls=[(id=call_1 type=function function=(name=explode arguments="{\\"n\\":0}"))]',
                '  tool id=unanswered-lc_run--#1-call_1 content="There is no result: the conversation went on before one came. The call may have had an effect." toolCallId=call_1 error="There is no result: the conversation went on before one came. The call may have had an effect."',
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#2 content=Ok.",
            ],
        ]
    )


async def test_an_error_in_a_subgraph_two_levels_down(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row({"deep": chat_node(scripted(["Deep ", DOWN], "Deep."))}, checkpointer=None)
        middle = in_a_row({"inner": inner}, checkpointer=None)
        return in_a_row({"before": chat_node(scripted("Before.", "Before again.")), "middle": middle})

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=before",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Before. END",
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=middle",
                "STEP_STARTED stepName=middle/inner",
                "STEP_STARTED stepName=middle/inner/deep",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Deep " END',
                "STEP_FINISHED stepName=middle/inner/deep",
                "STEP_FINISHED stepName=middle/inner",
                "STEP_FINISHED stepName=middle",
                'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
            ],
            [
                "STEP_STARTED stepName=before",
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "Before again." END',
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=middle",
                "STEP_STARTED stepName=middle/inner",
                "STEP_STARTED stepName=middle/inner/deep",
                "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Deep. END",
                "STEP_FINISHED stepName=middle/inner/deep",
                "STEP_FINISHED stepName=middle/inner",
                "STEP_FINISHED stepName=middle",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "  assistant id=lc_run--#1 content=Before.",
                "  user id=user-2 content=again",
                '  assistant id=lc_run--#3 content="Before again."',
                "  assistant id=lc_run--#4 content=Deep.",
            ],
        ]
    )


async def test_an_error_beside_a_branch_that_still_streams(play: Player) -> None:
    def build() -> Graph:
        slow = chat_node(scripted(["Slow ", *turns(300), "and steady."]))

        async def broken(state: MessagesState) -> dict[str, Any]:
            await let_others_run(100)
            raise RuntimeError("broken")

        builder = StateGraph(MessagesState)
        builder.add_node("slow", slow)
        builder.add_node("broken", broken)
        builder.add_edge(START, "slow")
        builder.add_edge(START, "broken")
        return builder.compile()

    played = await play(build, ordered=False)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=broken",
            "STEP_STARTED stepName=slow",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Slow " END',
            "STEP_FINISHED stepName=slow",
            "STEP_FINISHED stepName=broken",
            "RUN_ERROR message=broken code=AGENT_ERROR",
        ]
    )


async def test_many_branches_of_which_one_fails_at_the_end(play: Player) -> None:
    def build() -> Graph:
        async def work(state: dict[str, Any]) -> dict[str, Any]:
            await let_others_run(50 * state["n"])
            if state["n"] == 3:
                raise RuntimeError("third failed")
            return {"messages": [AIMessage(f"Worker {state['n']} done.")]}

        builder = StateGraph(MessagesState)
        builder.add_node("work", work)
        builder.add_conditional_edges(START, lambda s: [Send("work", {"n": n}) for n in (1, 2, 3)], ["work"])
        builder.add_edge("work", END)
        return builder.compile()

    played = await play(build, in_step=False)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=work",
            "STEP_STARTED stepName=work#2",
            "STEP_STARTED stepName=work#3",
            'TEXT_MESSAGE_START messageId=#1 role=assistant + "Worker 1 done." END',
            "STEP_FINISHED stepName=work",
            'TEXT_MESSAGE_START messageId=#2 role=assistant + "Worker 2 done." END',
            "STEP_FINISHED stepName=work#2",
            "STEP_FINISHED stepName=work#3",
            'RUN_ERROR message="third failed" code=AGENT_ERROR',
        ]
    )


async def test_a_call_id_that_a_failed_run_used_already(play: Player) -> None:
    def build() -> Graph:
        async def cut(state: MessagesState) -> dict[str, Any]:
            raise DOWN

        calls = [tool_calls_part((name, {"n": 1}, "call_1")) for name in ("first", "second")]
        inner = in_a_row({"ask": chat_node(scripted(*calls)), "cut": cut}, checkpointer=None)
        return in_a_row({"inner": inner})

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=inner",
                "STEP_STARTED stepName=inner/ask",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=first parentMessageId=lc_run--#1 + "{\\"n\\": 1}" END',
                "STEP_FINISHED stepName=inner/ask",
                "STEP_STARTED stepName=inner/cut FINISHED",
                "STEP_FINISHED stepName=inner",
                'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
            ],
            [
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "  user id=user-2 content=again",
                "STEP_STARTED stepName=inner",
                "STEP_STARTED stepName=inner/ask",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=second parentMessageId=lc_run--#2 + "{\\"n\\": 1}" END',
                "STEP_FINISHED stepName=inner/ask",
                "STEP_STARTED stepName=inner/cut FINISHED",
                "STEP_FINISHED stepName=inner",
                'RUN_ERROR message="provider down 503" code=AGENT_ERROR',
            ],
        ]
    )


async def test_the_recursion_limit(play: Player) -> None:
    def build() -> Graph:
        async def again(state: Counting) -> dict[str, Any]:
            return {"count": state.get("count", 0) + 1, "messages": [AIMessage(f"Step {state.get('count', 0) + 1}.")]}

        builder = StateGraph(Counting)
        builder.add_node("again", again)
        builder.add_edge(START, "again")
        builder.add_edge("again", "again")
        return builder.compile().with_config(recursion_limit=3)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=again",
            'TEXT_MESSAGE_START messageId=#1 role=assistant + "Step 1." END',
            "STEP_FINISHED stepName=again",
            'STATE_DELTA delta=[(op=add path="/count" value=1)]',
            "STEP_STARTED stepName=again",
            'TEXT_MESSAGE_START messageId=#2 role=assistant + "Step 2." END',
            "STEP_FINISHED stepName=again",
            'STATE_DELTA delta=[(op=add path="/count" value=2)]',
            "STEP_STARTED stepName=again",
            'TEXT_MESSAGE_START messageId=#3 role=assistant + "Step 3." END',
            "STEP_FINISHED stepName=again",
            'STATE_DELTA delta=[(op=add path="/count" value=3)]',
            "STATE_SNAPSHOT snapshot=(count=3)",
            'RUN_ERROR message="Recursion limit of 3 reached without hitting a stop condition. You can increase the limit by setting the `recursion_limit` config key.\\nFor troubleshooting, visit: https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT" code=RECURSION_LIMIT',
        ]
    )


async def test_a_timeout_of_the_run(play: Player) -> None:
    played = await play(lambda: chat(scripted(["Slow ", 5.0, "never"])), options=AdapterOptions(execution_timeout=0.4))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Slow " END',
            "STEP_FINISHED stepName=chat",
            'RUN_ERROR message="the run took longer than 0.4 seconds" code=EXECUTION_TIMEOUT',
        ]
    )


# ---------------------------------------------------------------- another try after partial text

LOST: list[Any] = ["Half ", ConnectionError("lost")]
WHOLE = ["Whole ", "answer."]


def node_that_retries() -> Graph:
    builder = StateGraph(MessagesState)
    policy = RetryPolicy(initial_interval=0.01, jitter=False)
    builder.add_node("chat", chat_node(scripted(LOST, WHOLE)), retry_policy=policy)
    builder.add_edge(START, "chat")
    return builder.compile()


def fallback_model() -> Graph:
    return chat(scripted(LOST, label="first").with_fallbacks([scripted(WHOLE, label="second")]))


def model_that_retries() -> Graph:
    return chat(scripted(LOST, WHOLE).with_retry(wait_exponential_jitter=False, stop_after_attempt=2))


@pytest.mark.parametrize("build", [node_that_retries, fallback_model, model_that_retries])
async def test_another_try_after_partial_text(play: Player, build: Callable[[], Graph]) -> None:
    played = await play(build)

    between = ["STEP_FINISHED stepName=chat", "STEP_STARTED stepName=chat"] if build is node_that_retries else []
    assert played.stream == [
        "STEP_STARTED stepName=chat",
        'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
        *between,
        'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Whole " + answer. END',
        "STEP_FINISHED stepName=chat",
        "MESSAGES_SNAPSHOT",
        "  user id=user-1 content=hi",
        '  assistant id=lc_run--#2 content="Whole answer."',
    ]
