"""Patches of the state over HTTP: what the graph could not read is refused, and nothing of such a patch is stored."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel, model_validator

from tests.support.serving import call, run_body
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.identity import thread_key
from yai_nexus_agentkit.server import ServerSettings, create_app

CONFIG: Any = {"configurable": {"thread_id": thread_key("agent", "", "t1")}}


class Thread:
    """A thread that has run once."""

    def __init__(self, graph: Any) -> None:
        settings = ServerSettings(patch_as_node=True)
        self.graph, self.app = graph, create_app(AGUIAdapter(graph), settings=settings)
        self._runs = 0

    async def run(self, **body: Any) -> str:
        """How the run ended: the type of its last event, or its error's code."""
        self._runs += 1
        given = run_body(f"turn {self._runs}", run=f"r{self._runs}", **body)
        given["messages"][0]["id"] = f"u{self._runs}"
        done = await call(self.app, "POST", "/", given)
        return str(done.events[-1].get("code") or done.types()[-1])

    async def patch(self, *operations: Any, query: str = "") -> tuple[int, str]:
        """Status, and where the fault is."""
        answer = await call(self.app, "PATCH", f"/threads/t1/state{query}", list(operations))
        return answer.status, answer.json["detail"]["path"] if answer.status != 200 else ""

    async def put(self, key: str, value: Any, query: str = "") -> tuple[int, str]:
        return await self.patch({"op": "add", "path": f"/{key}", "value": value}, query=query)

    async def state(self) -> Any:
        return (await call(self.app, "GET", "/threads/t1/state")).json["snapshot"]

    async def stored(self) -> list[str]:
        """The ids of the thread's checkpoints."""
        return [s.config["configurable"]["checkpoint_id"] async for s in self.graph.aget_state_history(CONFIG)]

    async def due(self) -> tuple[str, ...]:
        return tuple((await self.graph.aget_state(CONFIG)).next)


async def thread_of(schema: Any, node: Callable[[Any], Any], **schemas: Any) -> Thread:
    builder: Any = StateGraph(schema, **schemas)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    assert await thread.run() == "RUN_FINISHED"
    return thread


# ---------------------------------------------------------------- schemas that refuse values


class Form(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    count: int = 0
    items: Annotated[list[str], operator.add] = []


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("count", "many", "/count"),
        ("count", None, "/count"),
        ("items", "one", "/items"),
        ("items", ["one", 2], "/items/1"),
        ("items/-", 2, "/items/1"),
    ],
)
async def test_what_a_model_refuses_is_stored_nowhere(key: str, value: Any, path: str) -> None:
    thread = await thread_of(Form, lambda state: {"count": state.count + 1, "items": ["i"]})
    before = await thread.stored()
    assert await thread.put(key, value) == (422, path)
    assert await thread.put(key, value, "?as_node=work") == (422, path)
    both = [{"op": "replace", "path": "/count", "value": 7}, {"op": "add", "path": f"/{key}", "value": value}]
    assert (await thread.patch(*both))[0] == 422
    assert await thread.stored() == before
    assert await thread.run() == "RUN_FINISHED"
    assert await thread.state() == {"count": 2, "items": ["i", "i"]}


async def test_the_model_may_be_the_state_s_or_the_input_s() -> None:
    class Loose(MessagesState, total=False):
        count: int

    class Given(BaseModel):
        messages: list[Any] = []
        count: int = 0

    thread = await thread_of(Loose, lambda state: {"count": 1}, input_schema=Given)
    assert await thread.put("count", "many") == (422, "/count")

    class Strict(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        count: int = 0

    class Plain(MessagesState, total=False):
        count: int

    thread = await thread_of(Strict, lambda state: {"count": 1}, input_schema=Plain)
    assert await thread.put("count", "many") == (422, "/count")
    assert await thread.run() == "RUN_FINISHED"


class Span(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    start: int = 1
    end: int = 2

    @model_validator(mode="after")
    def ordered(self) -> Span:
        if self.start > self.end:
            raise ValueError("the end is before the start")
        return self


async def test_a_model_compares_the_fields_as_they_will_be() -> None:
    thread = await thread_of(Span, lambda state: {"start": state.start, "end": state.end})
    before = await thread.stored()
    assert (await thread.put("start", 5))[0] == 422
    assert await thread.stored() == before
    later = [{"op": "replace", "path": "/start", "value": 5}, {"op": "replace", "path": "/end", "value": 6}]
    assert await thread.patch(*later) == (200, "")
    assert (await thread.put("end", 4))[0] == 422
    assert await thread.run(state={"start": 7, "end": 8}) == "RUN_FINISHED"
    assert await thread.run(state={"start": 9, "end": 8}) == "INVALID_INPUT"
    assert await thread.state() == {"start": 7, "end": 8}


async def test_a_key_without_which_the_model_cannot_be_stays() -> None:
    class Order(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        item: str
        note: str | None = None

    builder: Any = StateGraph(Order)
    builder.add_node("work", lambda state: {"note": state.item})
    builder.add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    assert await thread.run(state={"item": "tea"}) == "RUN_FINISHED"
    assert await thread.patch({"op": "remove", "path": "/item"}) == (422, "/item")
    assert await thread.patch({"op": "remove", "path": "/note"}) == (200, "")
    assert await thread.run() == "RUN_FINISHED"
    assert await thread.state() == {"item": "tea", "note": "tea"}


# ---------------------------------------------------------------- reducers


@dataclasses.dataclass
class Profile:
    name: str = ""
    visits: int = 0


def merged(left: Profile, right: Profile) -> Profile:
    return Profile(right.name or left.name, left.visits + right.visits)


def latest(left: Any, right: Any) -> Any:
    return right if right is not None else left


def extended(left: list[str] | None, right: list[str] | None) -> list[str]:
    return [*(left or []), *(right or [])]


class Reduced(MessagesState, total=False):
    tags: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]
    seen: Annotated[set[str], operator.or_]
    table: Annotated[dict[str, int], operator.or_]
    profile: Annotated[Profile, merged]
    anything: Annotated[list[str], latest]
    maybe: Annotated[list[str], extended]


def reduce_all(state: Reduced) -> dict[str, Any]:
    return {
        "tags": ["t"],
        "total": 1,
        "seen": {"s"},
        "table": {"k": 1},
        "profile": Profile("p", 1),
        "maybe": ["m"],
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tags", "text"),
        ("tags", 5),
        ("tags", None),
        ("tags", {"a": 1}),
        ("total", "5"),
        ("total", [1]),
        ("seen", "text"),
        ("seen", [["a"]]),
        ("table", ["k"]),
        ("profile", {"name": []}),
        ("profile", "ann"),
        ("maybe", 5),
    ],
)
async def test_what_a_reducer_cannot_combine_is_refused(key: str, value: Any) -> None:
    """By a patch, and in a request: each would make every later run fail."""
    thread = await thread_of(Reduced, reduce_all)
    before, state = await thread.stored(), await thread.state()
    status, path = await thread.put(key, value)
    assert (status, path.split("/")[1]) == (422, key)
    assert await thread.run(state={**state, key: value}) == "INVALID_INPUT"
    assert await thread.stored() == before
    assert await thread.run() == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("tags", [], ["t"]),
        ("total", 1.5, 2.5),
        ("seen", ["x"], ["s", "x"]),
        ("table", {"j": 2}, {"j": 2, "k": 1}),
        ("profile", {"name": "ann", "visits": 4}, {"name": "p", "visits": 5}),
        ("anything", "text", "text"),
        ("maybe", None, ["m"]),
        ("maybe", ["x"], ["x", "m"]),
    ],
)
@pytest.mark.parametrize("way", ["patch", "request"])
async def test_what_a_reducer_can_combine_is_taken_as_its_type(way: str, key: str, value: Any, after: Any) -> None:
    """JSON has no sets and dataclasses: the channel gets one."""
    thread = await thread_of(Reduced, reduce_all)
    if way == "patch":
        assert await thread.put(key, value) == (200, "")
        assert await thread.run() == "RUN_FINISHED"
    else:
        assert await thread.run(state={**await thread.state(), key: value}) == "RUN_FINISHED"
    held = (await thread.state())[key]
    assert (sorted(held) if key == "seen" else held) == after


# ---------------------------------------------------------------- the whole patch, or nothing


class Routed(MessagesState, total=False):
    way: str
    size: int


async def test_an_edge_that_cannot_read_the_patched_state_refuses_it() -> None:
    """LangGraph evaluates the edges out of START on the new values, which are stored by then."""

    def route(state: Routed) -> str:
        return {"left": "work", "": "work"}[state.get("way", "")]

    builder: Any = StateGraph(Routed)
    builder.add_node("work", lambda state: {"size": 1})
    builder.add_conditional_edges(START, route, ["work"])
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    before = await thread.stored()
    both = [{"op": "add", "path": "/way", "value": "right"}, {"op": "remove", "path": "/size"}]
    assert (await thread.patch(*both))[0] == 422
    assert await thread.stored() == before
    assert await thread.put("way", "left") == (200, "")
    assert await thread.run() == "RUN_FINISHED"


class Walk(MessagesState, total=False):
    mood: str


async def walk() -> tuple[Thread, list[str]]:
    ran: list[str] = []
    builder: Any = StateGraph(Walk)
    builder.add_node("first", lambda state: ran.append("first"))
    builder.add_node("second", lambda state: ran.append("second"))
    builder.add_node("sad", lambda state: ran.append("sad"))
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", lambda state: "second" if state.get("mood") else "sad", ["second", "sad"])
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run(state={"mood": "good"})
    ran.clear()
    return thread, ran


@pytest.mark.parametrize(
    ("operations", "due"),
    [
        ([{"op": "replace", "path": "/mood", "value": "better"}], "second"),
        ([], "second"),
        ([{"op": "test", "path": "/mood", "value": "good"}], "second"),
        ([{"op": "remove", "path": "/mood"}], "sad"),
        ([{"op": "replace", "path": "/mood", "value": "good"}], "second"),
    ],
)
async def test_every_patch_counts_as_the_named_node_s(operations: list[Any], due: str) -> None:
    """Also one that only removes, or changes nothing; edges see the state as it is afterwards."""
    thread, ran = await walk()
    assert await thread.patch(*operations, query="?as_node=first") == (200, "")
    assert await thread.due() == (due,)
    assert ran == []
    await thread.graph.ainvoke(None, CONFIG)
    assert ran == [due]


async def test_graphs_without_keys_take_an_empty_patch() -> None:
    """Whose state is the list of messages, or which have a return value for one."""
    builder: Any = StateGraph(Annotated[list[AnyMessage], add_messages])  # type: ignore[type-var]
    builder.add_node("work", lambda messages: [("ai", "hello")])
    builder.add_edge(START, "work")
    bare = Thread(builder.compile(checkpointer=InMemorySaver()))

    @entrypoint(checkpointer=InMemorySaver())
    async def work(given: Any) -> dict[str, Any]:
        return {"done": True}

    for thread in (bare, Thread(work)):
        assert await thread.run() == "RUN_FINISHED"
        before = await thread.stored()
        assert await thread.patch() == (200, "")
        assert (await thread.put("anything", 1))[0] == 422
        assert await thread.stored() == before
        assert (await thread.patch(query="?as_node=work"))[0] in (200, 422)
        assert await thread.run() == "RUN_FINISHED"


async def test_a_removal_leaves_nothing_due() -> None:
    """Of a thread whose node failed, too: as after any other patch."""

    def work(state: Walk) -> Any:
        if state.get("mood") == "bad":
            raise ValueError("no")
        return {}

    thread = await thread_of(Walk, work)
    assert await thread.run(state={"mood": "bad"}) == "AGENT_ERROR"
    assert await thread.due() == ("work",)
    assert await thread.patch({"op": "remove", "path": "/mood"}) == (200, "")
    assert await thread.due() == ()
    assert await thread.state() == {}
    assert await thread.run() == "RUN_FINISHED"


class Replayed(MessagesState, total=False):
    log: Annotated[list[str], DeltaChannel(lambda held, writes: [*held, *(one for new in writes for one in new)])]


async def test_a_removed_value_does_not_come_back() -> None:
    """Of a channel, too, whose value LangGraph makes anew from all that was ever written."""
    thread = await thread_of(Replayed, lambda state: {"log": [f"turn {len(state['messages'])}"]})
    assert await thread.put("log/-", "mine") == (200, "")
    assert await thread.state() == {"log": ["turn 1", "mine"]}
    assert await thread.put("log", 5) == (422, "/log")
    assert await thread.patch({"op": "remove", "path": "/log"}) == (200, "")
    assert await thread.state() == {"log": []}
    assert await thread.run() == "RUN_FINISHED"
    assert await thread.state() == {"log": ["turn 2"]}


async def test_a_run_begins_with_the_whole_state() -> None:
    """Also with what a checkpoint alone does not hold; a client that sends it back changes nothing."""
    thread = await thread_of(Replayed, lambda state: {"log": [f"turn {len(state['messages'])}"]})
    again = await call(thread.app, "POST", "/", run_body("again", run="again", state={"log": ["turn 1"]}))
    assert [e["snapshot"] for e in again.events if e["type"] == "STATE_SNAPSHOT"] == [{"log": ["turn 1"]}]
    assert await thread.state() == {"log": ["turn 1", "turn 2"]}


async def test_a_request_begins_anew_where_something_is_due() -> None:
    """The application runs what a patch made due; the next message of a client takes its place."""
    thread, ran = await walk()
    await thread.patch(query="?as_node=first")
    assert await thread.run() == "RUN_FINISHED"
    assert ran == ["first", "second"]
    assert await thread.due() == ()
