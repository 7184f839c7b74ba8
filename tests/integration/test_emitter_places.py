# ruff: noqa: E501
"""Everything that an emitter can send, from every place of a graph: the whole stream of each, with both client
generations and both sources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from tests.support.emitting import State, graph_of
from tests.support.playing import Player
from yai_nexus_agentkit import EventEmitter

UI = EventEmitter()


def show(where: str, config: RunnableConfig | None = None, number: int = 5) -> None:
    """One of each kind. Without `config` the emitter finds the run by itself."""
    emitter = EventEmitter(config) if config is not None else UI
    emitter.emit(where, {"at": where})
    emitter.progress(where, 0.5)
    emitter.activity(f"{where}-1", "chart", {"values": []})
    emitter.activity_patch(f"{where}-1", [{"op": "add", "path": "/values/-", "value": 1}])
    emitter.state({"number": number})
    emitter.state_patch([{"op": "replace", "path": "/number", "value": number + 1}])


def async_node() -> Runnable[Any, Any]:
    async def node(state: State, config: RunnableConfig) -> State:
        show("node", config)
        return {"number": 2}

    return graph_of(work=node)


def sync_node() -> Runnable[Any, Any]:
    def node(state: State) -> State:
        show("node")
        return {"number": 2}

    return graph_of(work=node)


def called_code() -> Runnable[Any, Any]:
    def helper() -> None:
        show("helper")

    async def node(state: State) -> State:
        await asyncio.to_thread(helper)
        return {}

    return graph_of(work=node)


def tools() -> Runnable[Any, Any]:
    @tool
    async def look(city: str) -> str:
        """Look."""
        show("tool")
        return city

    def ask(state: State) -> State:
        return {
            "messages": [AIMessage("", id="ask", tool_calls=[{"name": "look", "args": {"city": "Rome"}, "id": "c1"}])]
        }

    return graph_of(ask=ask, tools=ToolNode([look]))


def nested() -> Runnable[Any, Any]:
    def deep(state: State, config: RunnableConfig) -> State:
        show("deep", config)
        return {"number": 3}

    return graph_of(outer=graph_of(inner=graph_of(deep=deep)))


def called_subgraph() -> Runnable[Any, Any]:
    async def deep(state: State) -> State:
        show("deep")
        return {"number": 3}

    inner = graph_of(deep=deep)

    async def outer(state: State) -> State:
        await inner.ainvoke({"number": 1})
        return {"number": 4}

    return graph_of(outer=outer)


def branches() -> Runnable[Any, Any]:
    async def branch(state: State) -> State:
        number = state["number"]
        show(f"branch {number}", number=10 * number)
        return {"done": [number]}

    builder = StateGraph(State).add_node(branch)
    builder.add_node("fan", lambda state: {})
    builder.add_edge(START, "fan")
    builder.add_conditional_edges("fan", lambda state: [Send("branch", {"number": n}) for n in (1, 2)], ["branch"])
    return builder.compile()


def edge() -> Runnable[Any, Any]:
    def route(state: State) -> str:
        show("edge")
        return END

    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"number": 2})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", route, [END])
    return builder.compile()


def start_edge() -> Runnable[Any, Any]:
    def route(state: State) -> str:
        show("start")
        return "work"

    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"done": [1]})
    builder.add_conditional_edges(START, route, ["work"])
    return builder.compile()


def chain() -> Runnable[Any, Any]:
    async def one(value: int) -> int:
        show("chain")
        return value

    pipeline = RunnableLambda(one) | RunnableLambda(lambda value: value)

    async def node(state: State) -> State:
        return {"number": await pipeline.ainvoke(2)}

    return graph_of(work=node)


def functional() -> Runnable[Any, Any]:
    @task
    async def fetch() -> int:
        show("task")
        return 1

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(value: dict[str, int], config: RunnableConfig) -> int:
        show("flow", config)
        return await fetch()

    return flow


def plain_chain() -> Runnable[Any, Any]:
    async def work(value: dict[str, Any]) -> str:
        show("work")
        return "done"

    return RunnableLambda(work)


IN_A_NODE = snapshot(
    [
        "STATE_SNAPSHOT snapshot=(number=1 done=[])",
        "STEP_STARTED stepName=work",
        "CUSTOM name=node value=(at=node) metadata=(langgraph=(node=work path=work))",
        "ACTIVITY_SNAPSHOT messageId=progress:#1:node activityType=progress content=(name=node fraction=0.5 message=null) metadata=(langgraph=(node=work path=work))",
        "ACTIVITY_SNAPSHOT messageId=node-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=work path=work))",
        'ACTIVITY_DELTA messageId=node-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
        'STATE_DELTA delta=[(op=add path="/number" value=5)]',
        'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
        "STEP_FINISHED stepName=work",
        'STATE_DELTA delta=[(op=add path="/number" value=2)]',
    ]
)
PLACES: dict[Callable[[], Runnable[Any, Any]], Any] = {
    async_node: IN_A_NODE,
    sync_node: IN_A_NODE,
    called_code: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=work",
            "CUSTOM name=helper value=(at=helper) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:helper activityType=progress content=(name=helper fraction=0.5 message=null) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=helper-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=work path=work))",
            'ACTIVITY_DELTA messageId=helper-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=work",
            'STATE_DELTA delta=[(op=add path="/number" value=1)]',
        ]
    ),
    tools: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=ask",
            'TOOL_CALL_START toolCallId=c1 toolCallName=look parentMessageId=ask + "{\\"city\\":\\"Rome\\"}" END',
            "STEP_FINISHED stepName=ask",
            "STEP_STARTED stepName=tools",
            "CUSTOM name=tool value=(at=tool) metadata=(langgraph=(node=tools path=tools))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:tool activityType=progress content=(name=tool fraction=0.5 message=null) metadata=(langgraph=(node=tools path=tools toolCallId=c1))",
            "ACTIVITY_SNAPSHOT messageId=tool-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=tools path=tools toolCallId=c1))",
            'ACTIVITY_DELTA messageId=tool-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=c1 content=Rome role=tool",
            "STEP_FINISHED stepName=tools",
            'STATE_DELTA delta=[(op=add path="/number" value=1)]',
        ]
    ),
    nested: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=outer",
            "STEP_STARTED stepName=outer/inner",
            "STEP_STARTED stepName=outer/inner/deep",
            "CUSTOM name=deep value=(at=deep) metadata=(langgraph=(node=deep path=outer/inner/deep))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:deep activityType=progress content=(name=deep fraction=0.5 message=null) metadata=(langgraph=(node=deep path=outer/inner/deep))",
            "ACTIVITY_SNAPSHOT messageId=deep-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=deep path=outer/inner/deep))",
            'ACTIVITY_DELTA messageId=deep-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=outer/inner/deep",
            "STEP_FINISHED stepName=outer/inner",
            "STEP_FINISHED stepName=outer",
            'STATE_DELTA delta=[(op=add path="/number" value=3)]',
        ]
    ),
    called_subgraph: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=outer",
            "STEP_STARTED stepName=outer/deep",
            "CUSTOM name=deep value=(at=deep) metadata=(langgraph=(node=deep path=outer/deep))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:deep activityType=progress content=(name=deep fraction=0.5 message=null) metadata=(langgraph=(node=deep path=outer/deep))",
            "ACTIVITY_SNAPSHOT messageId=deep-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=deep path=outer/deep))",
            'ACTIVITY_DELTA messageId=deep-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=outer/deep",
            "STEP_FINISHED stepName=outer",
            'STATE_DELTA delta=[(op=add path="/number" value=4)]',
        ]
    ),
    branches: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=fan FINISHED",
            "STEP_STARTED stepName=branch",
            "STEP_STARTED stepName=branch#2",
            'CUSTOM name="branch 1" value=(at="branch 1") metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_SNAPSHOT messageId="progress:#1:branch 1" activityType=progress content=(name="branch 1" fraction=0.5 message=null) metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_SNAPSHOT messageId="branch 1-1" activityType=chart content=(values=[]) metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_DELTA messageId="branch 1-1" activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=10)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=11)]',
            'CUSTOM name="branch 2" value=(at="branch 2") metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_SNAPSHOT messageId="progress:#1:branch 2" activityType=progress content=(name="branch 2" fraction=0.5 message=null) metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_SNAPSHOT messageId="branch 2-1" activityType=chart content=(values=[]) metadata=(langgraph=(node=branch path=branch))',
            'ACTIVITY_DELTA messageId="branch 2-1" activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=20)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=21)]',
            "STEP_FINISHED stepName=branch",
            "STEP_FINISHED stepName=branch#2",
            'STATE_DELTA delta=[(op=add path="/number" value=1) (op=add path="/done" value=[1 2])]',
        ]
    ),
    edge: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=work",
            "CUSTOM name=edge value=(at=edge) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:edge activityType=progress content=(name=edge fraction=0.5 message=null) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=edge-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=work path=work))",
            'ACTIVITY_DELTA messageId=edge-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=work",
            'STATE_DELTA delta=[(op=add path="/number" value=2)]',
        ]
    ),
    start_edge: snapshot(
        [
            "CUSTOM name=start value=(at=start) metadata=(langgraph=(node=__start__ path=__start__))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:start activityType=progress content=(name=start fraction=0.5 message=null) metadata=(langgraph=(node=__start__ path=__start__))",
            "ACTIVITY_SNAPSHOT messageId=start-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=__start__ path=__start__))",
            'ACTIVITY_DELTA messageId=start-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STATE_SNAPSHOT snapshot=(number=6 done=[])",
            "STEP_STARTED stepName=work FINISHED",
            'STATE_DELTA delta=[(op=add path="/number" value=1) (op=add path="/done" value=[1])]',
        ]
    ),
    chain: snapshot(
        [
            "STATE_SNAPSHOT snapshot=(number=1 done=[])",
            "STEP_STARTED stepName=work",
            "CUSTOM name=chain value=(at=chain) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:chain activityType=progress content=(name=chain fraction=0.5 message=null) metadata=(langgraph=(node=work path=work))",
            "ACTIVITY_SNAPSHOT messageId=chain-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=work path=work))",
            'ACTIVITY_DELTA messageId=chain-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=work",
            'STATE_DELTA delta=[(op=add path="/number" value=2)]',
        ]
    ),
    functional: snapshot(
        [
            "STEP_STARTED stepName=flow",
            "CUSTOM name=flow value=(at=flow) metadata=(langgraph=(node=flow path=flow))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:flow activityType=progress content=(name=flow fraction=0.5 message=null) metadata=(langgraph=(node=flow path=flow))",
            "ACTIVITY_SNAPSHOT messageId=flow-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=flow path=flow))",
            'ACTIVITY_DELTA messageId=flow-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_STARTED stepName=flow/fetch",
            "CUSTOM name=task value=(at=task) metadata=(langgraph=(node=fetch path=flow/fetch))",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:task activityType=progress content=(name=task fraction=0.5 message=null) metadata=(langgraph=(node=fetch path=flow/fetch))",
            "ACTIVITY_SNAPSHOT messageId=task-1 activityType=chart content=(values=[]) metadata=(langgraph=(node=fetch path=flow/fetch))",
            'ACTIVITY_DELTA messageId=task-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "STEP_FINISHED stepName=flow/fetch",
            "STEP_FINISHED stepName=flow",
            'STATE_DELTA delta=[(op=add path="/number" value=1)]',
            "RUN_FINISHED result=1",
        ]
    ),
    plain_chain: snapshot(
        [
            "CUSTOM name=work value=(at=work)",
            "ACTIVITY_SNAPSHOT messageId=progress:#1:work activityType=progress content=(name=work fraction=0.5 message=null)",
            "ACTIVITY_SNAPSHOT messageId=work-1 activityType=chart content=(values=[])",
            'ACTIVITY_DELTA messageId=work-1 activityType=chart patch=[(op=add path="/values/-" value=1)]',
            'STATE_DELTA delta=[(op=add path="/number" value=5)]',
            'STATE_DELTA delta=[(op=replace path="/number" value=6)]',
            "TEXT_MESSAGE_START messageId=run-1-output role=assistant + done END",
            'STATE_DELTA delta=[(op=add path="/number" value=1)]',
            "RUN_FINISHED result=done",
        ]
    ),
}


@pytest.mark.parametrize(("build", "expected"), PLACES.items(), ids=[place.__name__ for place in PLACES])
async def test_the_whole_stream(play: Player, build: Callable[[], Runnable[Any, Any]], expected: Any) -> None:
    played = await play(build, lambda view: {"message": [], "state": {"number": 1}})

    assert played.stream == expected
