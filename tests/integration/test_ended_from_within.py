"""CancelledError that nobody outside caused, and exceptions beyond `Exception`: each stream has its terminal event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.graphs import scripted, tool_loop
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.testing import assert_conformant, collect, run_input, tool_call_parts

SOURCES: list[Literal["events", "callbacks"]] = ["events", "callbacks"]


class Abort(BaseException):
    """An exception of the application's own, beyond `Exception`."""


ERRORS = {"cancelled": asyncio.CancelledError, "own": Abort}


async def end_of(agent: Any, source: Literal["events", "callbacks"], **hooks: Any) -> dict[str, Any]:
    adapter = AGUIAdapter(agent, options=AdapterOptions(source=source), hooks=Hooks(**hooks))
    events = await collect(adapter, run_input("hi"))
    assert_conformant(events)
    return events[-1]


def raising(error: type[BaseException], *, sync: bool) -> Callable[[Any], Any]:
    def fail(given: Any) -> Any:
        raise error("gone")

    async def fail_async(given: Any) -> Any:
        raise error("gone")

    return fail if sync else fail_async


def graph_of(*nodes: Any, saver: Any = None) -> Any:
    """The nodes side by side."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(START, f"n{number}")
    return builder.compile(checkpointer=saver)


async def slow(state: Any) -> dict[str, Any]:
    await asyncio.sleep(10)
    return {}


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "node": lambda fail, saver: graph_of(fail, saver=saver),
    "subgraph": lambda fail, saver: graph_of(graph_of(fail), saver=saver),
    "parallel": lambda fail, saver: graph_of(fail, slow, saver=saver),
    "plain runnable": lambda fail, saver: RunnableLambda(fail),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["no saver", "saver"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ERRORS)
async def test_code_of_the_graph_raises(kind: str, place: str, saver: Any, sync: bool, source: Any) -> None:
    last = await end_of(PLACES[place](raising(ERRORS[kind], sync=sync), saver), source)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_ERROR")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ERRORS)
async def test_a_tool_raises(kind: str, source: Any) -> None:
    @tool
    async def leave() -> str:
        """Leave."""
        raise ERRORS[kind]("gone")

    last = await end_of(tool_loop(scripted(tool_call_parts("leave", {}, "c1")), [leave]), source)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_ERROR")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ERRORS)
async def test_a_model_raises(kind: str, source: Any) -> None:
    model = scripted(["Half", ERRORS[kind]("gone")])
    last = await end_of(model, source)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_ERROR")


@pytest.mark.parametrize("source", SOURCES)
async def test_a_functional_graph_raises(source: Any) -> None:
    @entrypoint()
    async def work(given: dict[str, Any]) -> None:
        raise asyncio.CancelledError

    last = await end_of(work, source)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_ERROR")


# ---------------------------------------------------------------- checkpointers


class CancelsReads(InMemorySaver):
    async def aget_tuple(self, *args: Any, **kwargs: Any) -> Any:
        raise asyncio.CancelledError


class CancelsWrites(InMemorySaver):
    async def aput_writes(self, *args: Any, **kwargs: Any) -> Any:
        raise asyncio.CancelledError


class CancelsCheckpoints(InMemorySaver):
    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        raise asyncio.CancelledError


class CancelsLastCheckpoint(InMemorySaver):
    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["step"] == 1:
            raise asyncio.CancelledError
        return await super().aput(config, checkpoint, metadata, new_versions)


def says_fine(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("Fine.")]}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("durability", [None, "sync", "exit"])
@pytest.mark.parametrize("saver", [CancelsReads, CancelsWrites, CancelsCheckpoints, CancelsLastCheckpoint])
async def test_a_checkpointer_cancels_its_own_work(saver: Any, durability: Any, source: Any) -> None:
    options = AdapterOptions(source=source, durability=durability)
    events = await collect(AGUIAdapter(graph_of(says_fine, saver=saver()), options=options), run_input("hi"))
    assert_conformant(events)
    stored_nothing = durability == "exit" and saver is CancelsWrites  # the last checkpoint has it all
    assert events[-1]["type"] == ("RUN_FINISHED" if stored_nothing else "RUN_ERROR")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("where", ["read", "write", "node"])
async def test_a_cancellation_from_outside_passes(where: str, source: Any) -> None:
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await asyncio.sleep(0.1 if where == "write" else 60)  # LangGraph waits for what is being written

    class Waits(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            await (wait() if where == "read" else asyncio.sleep(0))
            return await super().aget_tuple(config)

        async def aput(self, *args: Any) -> Any:
            await (wait() if where == "write" else asyncio.sleep(0))
            return await super().aput(*args)

    async def node(state: Any) -> dict[str, Any]:
        await (wait() if where == "node" else asyncio.sleep(0))
        return says_fine(state)

    adapter = AGUIAdapter(graph_of(node, saver=Waits()), options=AdapterOptions(source=source))
    task = asyncio.create_task(collect(adapter, run_input("hi")))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ---------------------------------------------------------------- hooks, and what ends the process


async def test_a_hook_cancels_its_own_work() -> None:
    async def before_run(run: Any) -> None:
        raise asyncio.CancelledError

    assert (await end_of(graph_of(says_fine), "events", before_run=before_run))["code"] == "HOOK_ERROR"
    assert (await end_of(graph_of(says_fine), "events", after_run=before_run))["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_the_stream_ends_before_the_process_does(error: type[BaseException]) -> None:
    """Raised in the reader's own task: the error comes behind the terminal event, and ends the loop."""
    events: list[str] = []

    def config(run: Any) -> Any:
        raise error("gone")

    async def read() -> None:
        adapter = AGUIAdapter(graph_of(says_fine), hooks=Hooks(config=config))
        async for event in adapter.run(run_input("hi")):
            events.append(event.type.value)

    with pytest.raises(error):
        asyncio.run(read())
    assert events[-1] == "RUN_ERROR"
