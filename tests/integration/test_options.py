# ruff: noqa: E501
"""Every setting of the adapter, and the values that are not its default."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda, chain
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop
from tests.support.playing import Player
from yai_nexus_agentkit import AdapterOptions, Visible
from yai_nexus_agentkit.testing import reasoning_part, tool_call_parts


class Counted(MessagesState):
    count: int


# ---------------------------------------------------------------- chains as thinking spans


def planner() -> Graph:
    """A node with a named chain around one without a name, an LCEL chain, and a branch after it."""
    model = scripted("A plan.", "An answer.")

    @chain
    async def look_around(question: str, config: RunnableConfig) -> str:
        return question.upper()

    @chain
    async def plan_the_trip(question: str, config: RunnableConfig) -> str:
        seen = await look_around.ainvoke(question, config)
        return (await model.ainvoke(seen, config)).text

    pipeline = ChatPromptTemplate.from_template("{plan}") | model | StrOutputParser()

    async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        plan = await plan_the_trip.with_config(run_name="plan_the_trip").ainvoke("where?", config)
        compared = RunnableLambda(lambda plan: {"plan": plan}).with_config(run_name="Compare offers")
        answer = await pipeline.ainvoke(await compared.ainvoke(plan, config), config)
        return {"messages": [AIMessage(answer, id="answer")]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: END, [END])
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("spans", ["named", "all", "off"])
async def test_chains_as_thinking_spans(play: Player, spans: Any) -> None:
    played = await play(planner, options=AdapterOptions(chain_spans=spans))

    expected = snapshot(
        {
            "named": [
                "REASONING_START messageId=#1 metadata=(title=plan_the_trip) END",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "A plan." END',
                'REASONING_START messageId=#3 metadata=(title="Compare offers") END',
                'TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + "An answer." END',
                "MESSAGES_SNAPSHOT metadata=(langgraph=(renamed=(lc_run--#4=answer)))",
                "  user id=user-1 content=hi",
                '  assistant id=answer content="An answer."',
            ],
            "all": [
                "REASONING_START messageId=#1 metadata=(title=plan_the_trip)",
                "REASONING_START messageId=#2 metadata=(title=look_around) END",
                "REASONING_END messageId=#1",
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "A plan." END',
                'REASONING_START messageId=#4 metadata=(title="Compare offers") END',
                "REASONING_START messageId=#5 metadata=(title=RunnableSequence) END",
                'TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant + "An answer." END',
                "REASONING_START messageId=#7 metadata=(title=Unnamed) END",
                "MESSAGES_SNAPSHOT metadata=(langgraph=(renamed=(lc_run--#6=answer)))",
                "  user id=user-1 content=hi",
                '  assistant id=answer content="An answer."',
            ],
            "off": [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A plan." END',
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "An answer." END',
                "MESSAGES_SNAPSHOT metadata=(langgraph=(renamed=(lc_run--#2=answer)))",
                "  user id=user-1 content=hi",
                '  assistant id=answer content="An answer."',
            ],
        }
    )
    assert played.without("RUN", "STATE", "STEP") == expected[spans]


async def test_spans_and_reasoning_as_thinking_events(play: Player) -> None:
    """The events that clients 0.0.37 to 0.0.44 know. One level only, and never beside REASONING events."""

    def build() -> Graph:
        model = scripted([reasoning_part("Hm. "), reasoning_part("Yes."), "It is."])

        @chain
        async def inner(text: str, config: RunnableConfig) -> Any:
            return await model.ainvoke(text, config)

        @chain
        async def outer(text: str, config: RunnableConfig) -> Any:
            return await inner.with_config(run_name="inner").ainvoke(text, config)

        async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await outer.with_config(run_name="outer").ainvoke("go", config)]}

        return in_a_row({"work": work})

    played = await play(build, options=AdapterOptions(reasoning="thinking"), ignore=["model", "client"], in_step=False)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=work",
            "THINKING_START title=outer",
            'THINKING_TEXT_MESSAGE_START + "Hm. " + Yes. END',
            "THINKING_END",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "It is." END',
            "STEP_FINISHED stepName=work",
        ]
    )
    [view] = play.verifier.replay(play.old.runs, "0.0.40")
    assert (view["ok"], view["warnings"]) == (True, [])
    assert view["messages"][-1]["content"] == "It is."


async def test_no_reasoning(play: Player) -> None:
    def build() -> Graph:
        return chat(scripted([reasoning_part("Hm. ", signature=None), "It is."]))

    played = await play(build, "hi", options=AdapterOptions(reasoning="off"), in_step=False)

    assert [event["type"] for event in played.events] == snapshot(
        [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "STEP_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "STEP_FINISHED",
            "RUN_FINISHED",
        ]
    )


# ---------------------------------------------------------------- what is hidden


def silent_parts(**tags: list[str]) -> Graph:
    """A model, a tool and a node, each with the tags given for it."""

    @tool
    def count(n: int) -> int:
        """Count."""
        return n + 1

    count.tags = tags.get("tool", [])
    asks = scripted(tool_call_parts("count", {"n": 1}, "call_1"), "Two.").with_config(tags=tags.get("model", []))
    graph = tool_loop(asks, [count]).copy()
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("loop", graph.copy({"checkpointer": None}))
    last = RunnableLambda(chat_node(scripted("Bye."))).with_config(tags=tags.get("node", []))
    builder.add_node("last", last)
    builder.add_edge(START, "loop")
    builder.add_edge("loop", "last")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"model": ["nostream"]},
        {"tool": ["nostream"]},
        {"node": ["nostream"]},
    ],
    ids=str,
)
async def test_what_is_tagged_nostream_is_silent_and_still_stored(play: Player, tags: dict[str, list[str]]) -> None:
    played = await play(lambda: silent_parts(**tags))

    expected = snapshot(
        {
            "{}": [
                "STEP_STARTED stepName=loop",
                "STEP_STARTED stepName=loop/agent",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=count parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 1}" END',
                "STEP_FINISHED stepName=loop/agent",
                "STEP_STARTED stepName=loop/tools",
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="2" role=tool',
                "STEP_FINISHED stepName=loop/tools",
                "STEP_STARTED stepName=loop/agent",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Two. END",
                "STEP_FINISHED stepName=loop/agent",
                "STEP_FINISHED stepName=loop",
                "STEP_STARTED stepName=last",
                "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Bye. END",
                "STEP_FINISHED stepName=last",
            ],
            "{'model': ['nostream']}": [
                "STEP_STARTED stepName=loop",
                "STEP_STARTED stepName=loop/agent FINISHED",
                "STEP_STARTED stepName=loop/tools",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=count parentMessageId=#1-message + "{\\"n\\":1}" END',
                'TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call_1 content="2" role=tool',
                "STEP_FINISHED stepName=loop/tools",
                "STEP_STARTED stepName=loop/agent FINISHED",
                "STEP_FINISHED stepName=loop",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#2 toolCalls=[(id=call_1 type=function function=(name=count arguments="{\\"n\\":1}"))]',
                '  tool id=tool-#1 content="2" toolCallId=call_1',
                "  assistant id=lc_run--#3 content=Two.",
                "STEP_STARTED stepName=last",
                "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Bye. END",
                "STEP_FINISHED stepName=last",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#2 toolCalls=[(id=call_1 type=function function=(name=count arguments="{\\"n\\":1}"))]',
                '  tool id=tool-#1 content="2" toolCallId=call_1',
                "  assistant id=lc_run--#3 content=Two.",
                "  assistant id=lc_run--#4 content=Bye.",
            ],
            "{'tool': ['nostream']}": [
                "STEP_STARTED stepName=loop",
                "STEP_STARTED stepName=loop/agent",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=count parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 1}" END',
                "STEP_FINISHED stepName=loop/agent",
                "STEP_STARTED stepName=loop/tools",
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="2" role=tool',
                "STEP_FINISHED stepName=loop/tools",
                "STEP_STARTED stepName=loop/agent",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Two. END",
                "STEP_FINISHED stepName=loop/agent",
                "STEP_FINISHED stepName=loop",
                "STEP_STARTED stepName=last",
                "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Bye. END",
                "STEP_FINISHED stepName=last",
            ],
            "{'node': ['nostream']}": [
                "STEP_STARTED stepName=loop",
                "STEP_STARTED stepName=loop/agent",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=count parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 1}" END',
                "STEP_FINISHED stepName=loop/agent",
                "STEP_STARTED stepName=loop/tools",
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="2" role=tool',
                "STEP_FINISHED stepName=loop/tools",
                "STEP_STARTED stepName=loop/agent",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Two. END",
                "STEP_FINISHED stepName=loop/agent",
                "STEP_FINISHED stepName=loop",
                "STEP_STARTED stepName=last FINISHED",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=count arguments="{\\"n\\":1}"))]',
                '  tool id=tool-#2 content="2" toolCallId=call_1',
                "  assistant id=lc_run--#3 content=Two.",
                "  assistant id=lc_run--#4 content=Bye.",
            ],
        }
    )
    assert played.without("RUN", "STATE") == expected[str(tags)]
    assert [m.get("content") for m in played.messages] == ["hi", None, "2", "Two.", "Bye."]


async def test_both_spellings_of_nostream_mean_the_same(play: Player) -> None:
    langgraphs = await play(lambda: silent_parts(model=["nostream"]))
    langsmiths = await play(lambda: silent_parts(model=["langsmith:nostream"]))

    assert langgraphs.stream == langsmiths.stream


VISIBLE = {
    "function": lambda run: run.name != "second",
    "nodes": Visible(nodes={"first"}),
    "tags": Visible(tags={"public"}),
    "names": Visible(names={"ScriptedChatModel"}),
    "names of nothing": Visible(names=frozenset()),
}


@pytest.mark.parametrize("kind", VISIBLE)
async def test_what_visible_excludes_is_silent(play: Player, kind: str) -> None:
    def build() -> Graph:
        public = scripted("One.").with_config(tags=["public"])
        private = scripted("Two.").with_config(run_name="helper")
        return in_a_row(
            {"first": chat_node(public), "second": chat_node(private), "third": chat_node(scripted("Three."))}
        )

    played = await play(build, options=AdapterOptions(visible=VISIBLE[kind]))

    expected = snapshot(
        {
            "function": [
                "STEP_STARTED stepName=first",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=One.",
                "STEP_STARTED stepName=third",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=Three.",
            ],
            "nodes": [
                "STEP_STARTED stepName=first",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=One.",
            ],
            "names": [
                "STEP_STARTED stepName=first",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=One.",
                "STEP_STARTED stepName=second",
                "STEP_STARTED stepName=third",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=Three.",
            ],
            "names of nothing": [
                "STEP_STARTED stepName=first",
                "STEP_STARTED stepName=second",
                "STEP_STARTED stepName=third",
            ],
            "tags": [
                "STEP_STARTED stepName=first",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=One.",
                "STEP_STARTED stepName=second",
                "STEP_STARTED stepName=third",
            ],
        }
    )
    assert played.only("STEP_STARTED", "TEXT_MESSAGE_CONTENT") == expected[kind]
    assert [m["content"] for m in played.messages] == ["hi", "One.", "Two.", "Three."]


async def test_names_of_steps(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row({"think": chat_node(scripted("Hm.")), "say": chat_node(scripted("Yes."))}, checkpointer=None)
        return in_a_row({"prepare": lambda state: {}, "inner": inner})

    def name(run: Any) -> str | None:
        return None if run.name == "think" else f"{run.metadata['langgraph_step']}. {' > '.join(run.path)}"

    played = await play(build, options=AdapterOptions(step_name=name))

    assert played.only("STEP") == snapshot(
        [
            'STEP_STARTED stepName="1. prepare" FINISHED',
            'STEP_STARTED stepName="2. inner"',
            'STEP_STARTED stepName="2. inner > say" FINISHED',
            'STEP_FINISHED stepName="2. inner"',
        ]
    )


# ---------------------------------------------------------------- how things are sent


async def test_text_and_calls_as_chunks(play: Player) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def build() -> Graph:
        said = [reasoning_part("Hm."), "Let me ", "add. ", *tool_call_parts("add", {"a": 1, "b": 2}, "call_1")]
        return tool_loop(scripted(said, ["It is ", "3."]), [add])

    played = await play(build, options=AdapterOptions(text_chunks=True))

    assert played.without("STEP") == snapshot(
        [
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + Hm. END",
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            'TEXT_MESSAGE_CHUNK messageId=lc_run--#1 delta="Let me "',
            'TEXT_MESSAGE_CHUNK messageId=lc_run--#1 delta="add. "',
            "TOOL_CALL_CHUNK toolCallId=call_1 toolCallName=add parentMessageId=lc_run--#1",
            'TOOL_CALL_CHUNK toolCallId=call_1 toolCallName=add parentMessageId=lc_run--#1 delta="{\\"a\\": 1,"',
            'TOOL_CALL_CHUNK toolCallId=call_1 toolCallName=add parentMessageId=lc_run--#1 delta=" \\"b\\": 2}"',
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="3" role=tool',
            'TEXT_MESSAGE_CHUNK messageId=lc_run--#3 delta="It is "',
            'TEXT_MESSAGE_CHUNK messageId=lc_run--#3 delta="3."',
        ]
    )


async def test_two_models_at_once_as_chunks(play: Player) -> None:
    """Each chunk names its message: a client opens it again and appends."""

    def build() -> Graph:
        turns = [asyncio.Event() for _ in range(6)]
        turns[0].set()

        async def speak(first: int, config: RunnableConfig) -> Any:
            parts, turn = [], first
            await turns[turn].wait()
            async for part in scripted([f"a{first} ", f"b{first} ", f"c{first}"]).astream("go", config):
                parts.append(part)
                if turn + 1 < len(turns):
                    turns[turn + 1].set()
                turn += 2
                if turn < len(turns):
                    await turns[turn].wait()
            return add_ai_message_chunks(*parts)

        async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": list(await asyncio.gather(speak(0, config), speak(1, config)))}

        return in_a_row({"both": both})

    played = await play(build, options=AdapterOptions(text_chunks=True), ignore=["AGUI104"])

    assert [line.split(" ", 2)[2] for line in played.only("TEXT_MESSAGE_CHUNK")] == snapshot(
        ['delta="a0 "', 'delta="a1 "', 'delta="b0 "', 'delta="b1 "', "delta=c0", "delta=c1"]
    )


async def test_native_events_attached(play: Player) -> None:
    played = await play(lambda: chat(scripted(["Hi ", "you."])), options=AdapterOptions(raw_events=True), same=False)

    raw = [(event["type"], event["rawEvent"]["event"]) for event in played.events if "rawEvent" in event]
    assert raw == snapshot(
        [
            ("STATE_SNAPSHOT", "on_chain_stream"),
            ("STEP_STARTED", "on_chain_start"),
            ("TEXT_MESSAGE_START", "on_chat_model_stream"),
            ("TEXT_MESSAGE_CONTENT", "on_chat_model_stream"),
            ("TEXT_MESSAGE_CONTENT", "on_chat_model_stream"),
            ("TEXT_MESSAGE_END", "on_chat_model_end"),
            ("STEP_FINISHED", "on_chain_stream"),
        ]
    )
    [chunk] = [e for e in played.events if e["type"] == "TEXT_MESSAGE_CONTENT" and e["delta"] == "Hi "]
    assert chunk["rawEvent"]["data"]["chunk"]["content"] == "Hi "


@pytest.mark.parametrize("when", ["always", "never"])
async def test_messages_snapshots(play: Player, when: Any) -> None:
    """Once with a client that is in step, once with one that is not: the node rebuilds its answer."""

    def build() -> Graph:
        model = scripted("One.", "Two.")

        async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            said = await model.ainvoke(state["messages"], config)
            return {"messages": [said if len(state["messages"]) < 2 else AIMessage("Rebuilt.", id="rebuilt")]}

        return in_a_row({"answer": answer})

    played = await play(build, "hi", "and?", options=AdapterOptions(messages_snapshot=when), in_step=when == "always")

    expected = snapshot(
        {
            "always": [
                [
                    "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
                    "MESSAGES_SNAPSHOT",
                    "  user id=user-1 content=hi",
                    "  assistant id=lc_run--#1 content=One.",
                ],
                [
                    "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                    "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[rebuilt]))",
                    "  user id=user-1 content=hi",
                    "  assistant id=lc_run--#1 content=One.",
                    '  user id=user-2 content="and?"',
                    "  assistant id=rebuilt content=Rebuilt.",
                    "MESSAGES_SNAPSHOT",
                    "  user id=user-1 content=hi",
                    "  assistant id=lc_run--#1 content=One.",
                    '  user id=user-2 content="and?"',
                    "  assistant id=rebuilt content=Rebuilt.",
                ],
            ],
            "never": [
                ["TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END"],
                [
                    "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                    "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[rebuilt]))",
                    "  user id=user-1 content=hi",
                    "  assistant id=lc_run--#1 content=One.",
                    '  user id=user-2 content="and?"',
                    "  assistant id=rebuilt content=Rebuilt.",
                ],
            ],
        }
    )
    assert [
        [line for line in stream if line.startswith(("MESSAGES", "  ", "TEXT_MESSAGE_START"))]
        for stream in played.streams
    ] == expected[when]


async def test_a_state_snapshot_at_the_end(play: Player) -> None:
    def build() -> Graph:
        return in_a_row({"count": lambda state: {"count": state.get("count", 0) + 1}}, Counted)

    played = await play(build, options=AdapterOptions(final_state_snapshot=True))

    assert played.only("STATE", "RUN_FINISHED") == snapshot(
        [
            'STATE_DELTA delta=[(op=add path="/count" value=1)]',
            "STATE_SNAPSHOT snapshot=(count=1)",
        ]
    )


@pytest.mark.parametrize("which", ["emitter", "all"])
async def test_custom_events_of_others(play: Player, which: Any) -> None:
    def build() -> Graph:
        async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            await adispatch_custom_event("mine", {"a": {1}}, config=config)
            get_stream_writer()("written")
            return {}

        return in_a_row({"work": work})

    played = await play(build, options=AdapterOptions(custom_events=which))

    expected = snapshot(
        {
            "emitter": [],
            "all": [
                "CUSTOM name=mine value=(a=[1]) metadata=(langgraph=(node=work path=work))",
                "CUSTOM name=langgraph.custom value=written metadata=(langgraph=(node=work path=work))",
            ],
        }
    )
    assert played.only("CUSTOM") == expected[which]


def delegating() -> Graph:
    """A tool that runs a graph: a subagent."""
    helper = in_a_row({"help": chat_node(scripted("I helped."))}, checkpointer=None)

    @tool
    async def delegate(task: str, config: RunnableConfig) -> str:
        """Delegate."""
        found = await helper.ainvoke({"messages": [("user", task)]}, config)
        return str(found["messages"][-1].text)

    return tool_loop(scripted(tool_call_parts("delegate", {"task": "help"}, "call_1"), "Done."), [delegate])


@pytest.mark.parametrize("when", ["auto", "always", "never"])
async def test_life_stories_of_subagents(play: Player, when: Any) -> None:
    """Their words are tagged in any case; both generations of clients read what they get."""
    played = await play(delegating, options=AdapterOptions(subagents=when))

    kinds = {
        "1.0": [e["type"] for e in played.events if e["type"].startswith("SUBAGENT")],
        "before": [e["type"] for e in play.old.events if e["type"].startswith("SUBAGENT")],
        "tagged": len([e for e in play.old.events if e.get("subagentRunId")]),
    }
    expected = snapshot(
        {
            "auto": {"1.0": ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"], "before": [], "tagged": 5},
            "always": {
                "1.0": ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"],
                "before": ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"],
                "tagged": 7,
            },
            "never": {"1.0": [], "before": [], "tagged": 5},
        }
    )
    assert kinds == expected[when]
