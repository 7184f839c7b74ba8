"""The caller's configuration reaches the graph, and the graph's own stays."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, CallbackManager
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore

from tests.conftest import Judge
from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.orchestration.client_tools import client_tools, context_entries
from yai_nexus_agentkit.testing import ScriptedChatModel, collect, record, run_input, wire

SOURCES = pytest.mark.parametrize("source", ["events", "callbacks"])


class Count(MessagesState):
    count: Annotated[int, operator.add]


class Seen(BaseCallbackHandler):
    """Records its calls."""

    def __init__(self) -> None:
        self.starts: list[str] = []
        self.tokens: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, name: str | None = None, **kwargs: Any) -> None:
        self.starts.append(str(name))

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tokens.append(token)


class SeenAsync(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.tokens: list[str] = []

    async def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tokens.append(token)


def looping(steps: int, **compile_args: Any) -> Graph:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Count)
    builder.add_node("again", lambda state: {"count": 1})
    builder.add_edge(START, "again")
    builder.add_conditional_edges("again", lambda state: "again" if state["count"] < steps else END, ["again", END])
    return builder.compile(**compile_args)


def looking(seen: list[Any]) -> Graph:
    async def look(state: MessagesState, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        seen.append((config, runtime))
        return {}

    return in_a_row({"look": look})


@dataclass
class Who:
    user: str = "nobody"


@SOURCES
async def test_the_runtime_context(source: Any) -> None:
    users: list[str] = []

    def look(state: MessagesState, runtime: Runtime[Who]) -> None:
        users.append(runtime.context.user)

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState, context_schema=Who)
    builder.add_node("look", look)
    builder.add_edge(START, "look")
    adapter = AGUIAdapter(builder.compile(checkpointer=InMemorySaver()), options=AdapterOptions(source=source))

    await collect(adapter, "hi", context=Who("ann"))
    await collect(adapter, "hi", context={"user": "bob"})

    assert users == ["ann", "bob"]


@SOURCES
async def test_tags_metadata_callbacks_and_names_arrive(source: Any) -> None:
    seen: list[Any] = []
    inline, later = Seen(), SeenAsync()
    graph = looking(seen)
    config: RunnableConfig = {
        "tags": ["mine"],
        "metadata": {"customer": 7},
        "callbacks": [inline, later],
        "run_name": "my run",
        "configurable": {"flavour": "sweet"},
        "max_concurrency": 3,
    }
    chatting = in_a_row({"look": graph.copy({"checkpointer": None}), "chat": chat_node(scripted(["a", "b"]))})

    await collect(AGUIAdapter(chatting, options=AdapterOptions(source=source)), "hi", config=config)

    [(arrived, _)] = seen
    assert "mine" in arrived["tags"]
    assert arrived["metadata"]["customer"] == 7
    assert arrived["configurable"]["flavour"] == "sweet"
    assert arrived["max_concurrency"] == 3
    assert inline.starts[0] == "my run"
    assert [t for t in inline.tokens if t] == [t for t in later.tokens if t] == ["a", "b"]


@SOURCES
@pytest.mark.parametrize("form", ["list", "manager"])
async def test_the_callers_own_objects_are_left_alone(source: Any, form: str) -> None:
    """The same configuration serves many runs: nothing is added to it."""
    handler = Seen()
    callbacks: Any = [handler] if form == "list" else CallbackManager([handler], [handler])
    config: RunnableConfig = {"callbacks": callbacks, "tags": ["t"], "metadata": {}, "configurable": {}}
    adapter = AGUIAdapter(chat(scripted("One.", "Two.")), options=AdapterOptions(source=source))

    await collect(adapter, "hi", config=config)
    await collect(adapter, "hi", config=config)

    assert (config["tags"], config["metadata"], config["configurable"]) == (["t"], {}, {})
    assert len(callbacks if form == "list" else callbacks.handlers) == 1
    assert handler.starts.count("chat") == 2


@SOURCES
@pytest.mark.parametrize(
    ("own", "given", "steps", "fails"),
    [
        (None, None, 50, False),
        (60, None, 50, False),
        (5, None, 10, True),
        (5, 30, 20, False),
        (60, 5, 10, True),
    ],
)
async def test_recursion_limits(judge: Judge, source: Any, own: Any, given: Any, steps: int, fails: bool) -> None:
    """The caller's over the graph's own over the default."""
    graph = looping(steps)
    if own is not None:
        graph = graph.with_config(recursion_limit=own)
    config: RunnableConfig = {} if given is None else {"recursion_limit": given}

    events = await collect(AGUIAdapter(graph, options=AdapterOptions(source=source)), "hi", config=config)

    assert events[-1].get("code") == ("RECURSION_LIMIT" if fails else None)
    if not fails:
        assert judge([events]).state["count"] == steps


class Counting(InMemorySaver):
    """Counts what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.writes.append(metadata["source"])
        return await super().aput(config, checkpoint, metadata, new_versions)


@SOURCES
@pytest.mark.parametrize(
    ("durability", "writes"),
    [
        (None, ["input", "loop", "loop", "loop", "loop"]),
        ("sync", ["input", "loop", "loop", "loop", "loop"]),
        ("exit", ["loop"]),
    ],
)
async def test_durability(source: Any, durability: Any, writes: list[str]) -> None:
    saver = Counting()
    graph = looping(3, checkpointer=saver)

    await collect(AGUIAdapter(graph, options=AdapterOptions(source=source, durability=durability)), "hi")

    assert saver.writes == writes


@SOURCES
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_durability_means_nothing_without_a_checkpointer(judge: Judge, source: Any, durability: Any) -> None:
    """LangGraph fails at the end of such a run with ``sync``, and warns about the others."""
    graph = chat(scripted("Hello."), checkpointer=None)
    run = await record(
        AGUIAdapter(graph, options=AdapterOptions(source=source, durability=durability)), run_input("hi")
    )

    assert judge([run]).messages[-1]["content"] == "Hello."
    assert run["events"][-1]["type"] == "RUN_FINISHED"


@SOURCES
async def test_a_thread_continues_whatever_the_durability(judge: Judge, source: Any) -> None:
    graph = chat(scripted("One.", "Two."))
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source, durability="exit"))
    runs = []
    messages: list[Any] = []
    for number in (1, 2):
        messages = [*messages, {"id": f"user-{number}", "role": "user", "content": "hi"}]
        runs.append(await collect(adapter, run_input(messages, thread_id="t", run_id=f"run-{number}")))
        messages = judge(runs).messages

    assert [m["content"] for m in messages] == ["hi", "One.", "hi", "Two."]
    state: CheckpointTuple = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [m.id for m in state.values["messages"]] == [m["id"] for m in messages]


@SOURCES
async def test_the_store_reaches_the_nodes(source: Any) -> None:
    store = InMemoryStore()

    async def remember(state: MessagesState, runtime: Runtime[Any]) -> None:
        assert runtime.store is not None
        await runtime.store.aput(("notes",), "key", {"said": state["messages"][-1].content})

    graph = in_a_row({"remember": remember}, store=store)
    await collect(AGUIAdapter(graph, options=AdapterOptions(source=source)), "hello")

    assert store.get(("notes",), "key").value == {"said": "hello"}


@SOURCES
async def test_the_requests_tools_and_context_are_in_the_configuration(source: Any) -> None:
    found: list[Any] = []

    async def look(state: MessagesState, config: RunnableConfig) -> None:
        found.append((client_tools(config), context_entries(config)))

    tools = [{"name": "pick", "description": "Pick.", "parameters": {"type": "object", "properties": {}}}]
    request = run_input("hi", tools=tools, context=[{"description": "page", "value": "home"}])
    await collect(AGUIAdapter(in_a_row({"look": look}), options=AdapterOptions(source=source)), request)

    [(given, context)] = found
    assert given[0]["function"]["name"] == "pick"
    assert context == [{"description": "page", "value": "home"}]


async def test_a_subgraph_with_a_thread_of_its_own(judge: Judge) -> None:
    """Called with another thread id: nothing of its chunks is mistaken for the graph's."""
    helper = chat(scripted("Helper."), checkpointer=InMemorySaver())

    async def ask(state: MessagesState) -> dict[str, Any]:
        found = await helper.ainvoke({"messages": [("user", "help")]}, {"configurable": {"thread_id": "other"}})
        return {"messages": [("assistant", found["messages"][-1].text.upper())]}

    for source in ("events", "callbacks"):
        events = await collect(AGUIAdapter(in_a_row({"ask": ask}), options=AdapterOptions(source=source)), "hi")
        assert [m["content"] for m in judge([events]).messages if m["role"] == "assistant"] == ["HELPER."]
        helper = chat(scripted("Helper."), checkpointer=InMemorySaver())


@SOURCES
async def test_a_run_inside_another_langchain_run(source: Any) -> None:
    """The outer run's callbacks and tags hold for the inner one, as for anything called in a runnable."""
    seen: list[Any] = []
    handler = Seen()
    adapter = AGUIAdapter(looking(seen), options=AdapterOptions(source=source))

    async def outer(text: str) -> list[dict[str, Any]]:
        return await collect(adapter, text)

    events = await RunnableLambda(outer).ainvoke("hi", {"callbacks": [handler], "tags": ["outer"], "run_name": "outer"})

    assert events[-1]["type"] == "RUN_FINISHED"
    assert handler.starts[0] == "outer"
    assert "look" in handler.starts
    [(config, _)] = seen
    assert "outer" in config["tags"]


@SOURCES
async def test_an_earlier_checkpoint(judge: Judge, source: Any) -> None:
    """Named by the server: the run goes on from there, and the client gets the thread as it was then."""
    graph = chat(ScriptedChatModel(script=lambda messages: [f"{len(messages)} messages."]))
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))
    users = [{"id": f"user-{number}", "role": "user", "content": f"q{number}"} for number in range(4)]
    for number in (1, 2, 3):
        await collect(adapter, run_input(users[:number], thread_id="t"))
    thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
    states = [state async for state in graph.aget_state_history(thread)]
    [early] = [state for state in states if len(state.values["messages"]) == 2 and not state.next]
    checkpoint = {"checkpoint_id": early.config["configurable"]["checkpoint_id"]}

    asked = run_input([*users[:1], users[3]], thread_id="t")
    events = await collect(adapter, asked, config={"configurable": checkpoint})

    shown = judge([{"events": events, "input": wire(asked.model_dump_json(by_alias=True))}]).messages
    assert [m["content"] for m in shown] == ["q0", "1 messages.", "q3", "3 messages."]
    assert [m.id for m in (await graph.aget_state(thread)).values["messages"]] == [m["id"] for m in shown]


@SOURCES
async def test_the_graphs_own_configuration_stays(source: Any) -> None:
    seen: list[Any] = []
    handler = Seen()
    own = looking(seen).with_config(
        tags=["own"], callbacks=[handler], metadata={"a": 1}, configurable={"size": 1, "color": "red"}
    )

    await collect(
        AGUIAdapter(own, options=AdapterOptions(source=source)),
        "hi",
        config={"tags": ["mine"], "configurable": {"color": "blue"}, "metadata": {"b": 2}},
    )

    [(config, _)] = seen
    assert {"own", "mine"} <= set(config["tags"])
    assert (config["configurable"]["size"], config["configurable"]["color"]) == (1, "blue")
    assert (config["metadata"]["a"], config["metadata"]["b"]) == (1, 2)
    assert "look" in handler.starts
