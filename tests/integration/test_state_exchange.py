# ruff: noqa: E501
"""State in both directions: what clients send, what is no JSON, what is shown before the graph has it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import logging
import operator
import pathlib
import uuid
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.support.graphs import Graph, chat_node, in_a_row, scripted, tool_loop
from tests.support.lines import named
from tests.support.playing import Player, Turn
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.testing import assert_conformant, collect, tool_call_parts, tool_calls_part


class Shared(MessagesState):
    city: str
    log: Annotated[list[str], operator.add]
    plan: dict[str, Any]


def says(number: int, **state: Any) -> Turn:
    """A turn that changes keys of the state; None removes one from the request."""

    def turn(view: Any) -> dict[str, Any]:
        merged = {key: value for key, value in {**view["state"], **state}.items() if value is not None}
        said = {"id": f"user-{number}", "role": "user", "content": f"turn {number}"}
        return {"message": [*view["messages"], said], "state": merged}

    return turn


def logging_graph() -> Graph:
    async def note(state: Shared) -> dict[str, Any]:
        return {"log": [f"in {state.get('city')}"]}

    return in_a_row({"note": note}, Shared)


def states(played: Any) -> list[list[str]]:
    return named(*([e for e in run["events"] if e["type"].startswith("STATE_")] for run in played.runs))


ROME = says(1, city="Rome")


@pytest.mark.parametrize(
    ("turns", "streams", "end"),
    [
        pytest.param(
            [ROME, says(2), says(3)],
            snapshot(
                [
                    [
                        "STATE_SNAPSHOT snapshot=(city=Rome log=[])",
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome"])]',
                    ],
                    [
                        'STATE_SNAPSHOT snapshot=(city=Rome log=["in Rome"])',
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome" "in Rome"])]',
                    ],
                    [
                        'STATE_SNAPSHOT snapshot=(city=Rome log=["in Rome" "in Rome"])',
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome" "in Rome" "in Rome"])]',
                    ],
                ]
            ),
            {"city": "Rome", "log": ["in Rome"] * 3},
            id="sent back as it came: no change",
        ),
        pytest.param(
            [ROME, says(2, city="Oslo", log=["mine"]), says(3, log=[], plan={"a": [1, {"b": None}]})],
            snapshot(
                [
                    [
                        "STATE_SNAPSHOT snapshot=(city=Rome log=[])",
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome"])]',
                    ],
                    [
                        "STATE_SNAPSHOT snapshot=(city=Oslo log=[mine])",
                        'STATE_DELTA delta=[(op=add path="/log" value=[mine "in Oslo"])]',
                    ],
                    [
                        "STATE_SNAPSHOT snapshot=(city=Oslo log=[] plan=(a=[1 (b=null)]))",
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Oslo"])]',
                    ],
                ]
            ),
            {"city": "Oslo", "log": ["in Oslo"], "plan": {"a": [1, {"b": None}]}},
            id="changed, past reducers: a list that the client set is the list",
        ),
        pytest.param(
            [says(1, city="Rome", plan={"a": 1}), says(2, city=None, plan=None, log=None)],
            snapshot(
                [
                    [
                        "STATE_SNAPSHOT snapshot=(city=Rome log=[] plan=(a=1))",
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome"])]',
                    ],
                    [
                        'STATE_SNAPSHOT snapshot=(city=Rome log=["in Rome"] plan=(a=1))',
                        'STATE_DELTA delta=[(op=add path="/log" value=["in Rome" "in Rome"])]',
                    ],
                ]
            ),
            {"city": "Rome", "plan": {"a": 1}, "log": ["in Rome"] * 2},
            id="keys left out stay",
        ),
    ],
)
async def test_state_that_the_client_sends(play: Player, turns: list[Turn], streams: Any, end: Any) -> None:
    played = await play(logging_graph, *turns)

    assert states(played) == streams
    assert played.state == end


async def test_the_default_of_a_channel_that_nobody_wrote_is_no_change(play: Player) -> None:
    """A visit that sends it back runs nothing: the channel's default is in no checkpoint, but clients are shown it."""

    def count(state: Shared) -> dict[str, Any]:
        return {"messages": [AIMessage("counted", id="count")]}

    def visit(view: Any) -> dict[str, Any]:
        return {"message": view["messages"], "state": view["state"]}

    played = await play(lambda: in_a_row({"count": count}, Shared), says(1), visit)
    assert all("STATE_SNAPSHOT snapshot=(log=[])" in stream for stream in played.streams)
    assert [any("counted" in line for line in stream) for stream in played.streams] == [True, False]


@pytest.mark.parametrize("state", [None, [], "text", 7, {"messages": ["x"], "nothing": 1, "tools": [], "__proto__": 1}])
async def test_state_of_the_wrong_form_is_ignored(play: Player, caplog: pytest.LogCaptureFixture, state: Any) -> None:
    with caplog.at_level(logging.WARNING):
        played = await play(logging_graph, lambda view: {**says(1)(view), "state": state}, says(2, city="Rome"))

    assert played.state == {"city": "Rome", "log": ["in None", "in Rome"]}
    assert ("'nothing', which is not an input of the graph" in caplog.text) == isinstance(state, dict)


async def test_a_value_of_the_wrong_type(play: Player) -> None:
    """A value that the reducer could combine with nothing is refused before the graph runs and stored nowhere; the client
    keeps it, and sends it until it mends it."""
    played = await play(
        logging_graph, says(1, city="Rome"), says(2, log="no list"), says(3), says(4, log=["ok"]), in_step=False
    )

    assert [run["events"][-1]["type"] for run in played.runs] == snapshot(
        ["RUN_FINISHED", "RUN_ERROR", "RUN_ERROR", "RUN_FINISHED"]
    )
    assert states(played) == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=(city=Rome log=[])",
                'STATE_DELTA delta=[(op=add path="/log" value=["in Rome"])]',
            ],
            [],
            [],
            [
                "STATE_SNAPSHOT snapshot=(city=Rome log=[ok])",
                'STATE_DELTA delta=[(op=add path="/log" value=[ok "in Rome"])]',
            ],
        ]
    )


class Strict(BaseModel):
    messages: Annotated[list[Any], operator.add] = []
    size: int = 0
    names: list[str] = []


async def test_a_value_that_the_schema_refuses(play: Player) -> None:
    """Before the graph runs: LangGraph would store it, and no later run of the thread could start."""

    def build() -> Graph:
        return in_a_row({"grow": lambda state: {"size": state.size + 1}}, Strict)

    played = await play(
        build, says(1, size="big"), says(2, size=3, names=["a", 1]), says(3, names=["a"]), in_step=False
    )

    assert [stream[-1] for stream in played.streams] == snapshot(
        [
            'RUN_ERROR message="/state/size: Input should be a valid integer, unable to parse string as an integer" code=INVALID_INPUT',
            'RUN_ERROR message="/state/names/1: Input should be a valid string" code=INVALID_INPUT',
            'STATE_DELTA delta=[(op=add path="/size" value=4)]',
        ]
    )
    assert played.state == {"size": 4, "names": ["a"]}


class Silent(TypedDict):
    """No conversation: the request's messages are no input."""

    turns: int
    guess: str


@pytest.mark.parametrize("checkpointer", [True, False])
async def test_the_state_is_sent_before_a_graph_without_input_runs(play: Player, checkpointer: bool) -> None:
    def build() -> Graph:
        def count(state: Silent, config: RunnableConfig) -> dict[str, Any]:
            EventEmitter(config).state({"guess": "soon"})
            return {"turns": state.get("turns", 0) + 1}

        return in_a_row({"count": count}, Silent, **({} if checkpointer else {"checkpointer": None}))

    played = await play(build, "hi", "again")

    assert states(played) == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=()",
                'STATE_DELTA delta=[(op=add path="/guess" value=soon)]',
                'STATE_DELTA delta=[(op=add path="/turns" value=1) (op=remove path="/guess")]',
            ],
            [
                "STATE_SNAPSHOT snapshot=(turns=1)",
                'STATE_DELTA delta=[(op=add path="/guess" value=soon)]',
                'STATE_DELTA delta=[(op=add path="/turns" value=2) (op=remove path="/guess")]',
            ],
        ]
    )


class Color(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    color: Color = Color.RED


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


def values() -> dict[str, Any]:
    """Values of every kind that LangGraph takes and JSON does not."""
    cycle: dict[str, Any] = {"name": "loop"}
    cycle["self"] = cycle
    return {
        "datetime": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "date": dt.date(2026, 1, 2),
        "delta": dt.timedelta(hours=1, seconds=1),
        "uuid": uuid.UUID(int=5),
        "bytes": b"\x00\xff",
        "set": {3, 1, 2},
        "tuple": (1, (2,)),
        "decimal": decimal.Decimal("1.10"),
        "path": pathlib.Path("/a/b"),
        "enum": Color.RED,
        "model": Point(x=1),
        "dataclass": Pair(Point(x=2), {4}),
        "message": HumanMessage("hi", id="m"),
        "class": Point,
        "odd": Odd(),
        "nan": [float("nan"), float("inf")],
        "surrogate": "half \ud83d emoji",
        "cycle": cycle,
        "keys": {1: "int", None: "none", (1, 2): "tuple", Color.RED: "enum"},
        "complex": 1 + 2j,
        "function": len,
        "big": 2**70,
    }


Every = TypedDict("Every", {"messages": Annotated[list[Any], operator.add], **dict.fromkeys(values(), Any)})  # type: ignore[misc]


class Anything(MessagesState):
    value: Any


async def test_state_that_is_no_json(play: Player) -> None:
    """One channel per kind. The same values again are no change, and what the client sends back is none either.

    Not so for integers above 2**53: in JavaScript they come back as floats.
    """

    def write(state: Any) -> dict[str, Any]:
        return {kind: value for kind, value in values().items() if kind != "big"}

    # Without a checkpointer: what its serializer makes of such values is not the point.
    played = await play(lambda: in_a_row({"one": write, "two": write}, Every, checkpointer=None), "hi", "again")

    assert [len(found) for found in states(played)] == [2, 1]
    assert played.state.keys() == values().keys() - {"big"}


async def test_what_values_of_every_kind_look_like(play: Player) -> None:
    played = await play(lambda: in_a_row({"set": lambda state: {"value": values()}}, Anything, checkpointer=None))

    assert played.state["value"] == snapshot(
        {
            "datetime": "2026-01-02T03:04:05Z",
            "date": "2026-01-02",
            "delta": "PT1H1S",
            "uuid": "00000000-0000-0000-0000-000000000005",
            "bytes": "AP8=",
            "set": [1, 2, 3],
            "tuple": [1, [2]],
            "decimal": "1.10",
            "path": "/a/b",
            "enum": "red",
            "model": {"x": 1, "color": "red"},
            "dataclass": {"left": {"x": 2, "color": "red"}, "right": [4]},
            "message": {
                "content": "hi",
                "additional_kwargs": {},
                "response_metadata": {},
                "type": "human",
                "name": None,
                "id": "m",
            },
            "class": "<class 'tests.integration.test_state_exchange.Point'>",
            "odd": "<odd>",
            "nan": [None, None],
            "surrogate": "half � emoji",
            "cycle": {"name": "loop", "self": "<cycle>"},
            "keys": {"1": "int", "None": "none", "1,2": "tuple", "red": "enum"},
            "complex": "1+2j",
            "function": "<built-in function len>",
            "big": 1.1805916207174113e21,
        }
    )


@tool
async def show(kind: str) -> Any:
    """Show a value."""
    return values()[kind]


@tool
async def take(value: Any) -> str:
    """Take anything."""
    return type(value).__name__


async def test_tool_results_that_are_no_json(play: Player) -> None:
    """LangChain makes text of them; the client gets that text."""
    kinds = sorted(values().keys() - {"class", "surrogate"})

    def build() -> Graph:
        calls = tool_calls_part(*(("show", {"kind": kind}, f"call_{kind}") for kind in kinds))
        return tool_loop(scripted(calls, "Done."), [show])

    played = await play(build)

    assert {m["toolCallId"]: m["content"] for m in played.messages if m["role"] == "tool"} == snapshot(
        {
            "call_big": "1180591620717411303424",
            "call_bytes": "b'\\x00\\xff'",
            "call_complex": "(1+2j)",
            "call_cycle": "{'name': 'loop', 'self': {...}}",
            "call_dataclass": "Pair(left=Point(x=2, color=<Color.RED: 'red'>), right={4})",
            "call_date": "2026-01-02",
            "call_datetime": "2026-01-02 03:04:05+00:00",
            "call_decimal": "1.10",
            "call_delta": "1:00:01",
            "call_enum": "Color.RED",
            "call_function": "<built-in function len>",
            "call_keys": "{1: 'int', None: 'none', (1, 2): 'tuple', <Color.RED: 'red'>: 'enum'}",
            "call_message": "content='hi' additional_kwargs={} response_metadata={} id='m'",
            "call_model": "x=1 color=<Color.RED: 'red'>",
            "call_nan": "[NaN, Infinity]",
            "call_odd": "<odd>",
            "call_path": "/a/b",
            "call_set": "{1, 2, 3}",
            "call_tuple": "[1, [2]]",
            "call_uuid": "00000000-0000-0000-0000-000000000005",
        }
    )


async def test_arguments_that_are_no_json(play: Player) -> None:
    """Of a tool that the program calls; a model's arguments are JSON."""

    async def by_hand(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        for kind in ("datetime", "model", "set", "odd", "surrogate", "nan", "bytes", "cycle"):
            await take.ainvoke({"value": values()[kind]}, config)
        return {}

    played = await play(lambda: in_a_row({"hand": by_hand}))

    assert [event["delta"] for event in played.events if event["type"] == "TOOL_CALL_ARGS"] == snapshot(
        [
            '{"value":"2026-01-02T03:04:05Z"}',
            '{"value":{"x":1,"color":"red"}}',
            '{"value":[1,2,3]}',
            '{"value":"<odd>"}',
            '{"value":"half � emoji"}',
            '{"value":[null,null]}',
            '{"value":"AP8="}',
            '{"value":{"name":"loop","self":"<cycle>"}}',
        ]
    )


async def test_objects_changed_in_place(play: Player) -> None:
    def build() -> Graph:
        async def first(state: Shared) -> dict[str, Any]:
            return {"plan": {"steps": ["a"], "done": False}}

        async def second(state: Shared) -> dict[str, Any]:
            state["plan"]["steps"].append("b")
            return {"plan": state["plan"]}

        async def third(state: Shared) -> dict[str, Any]:
            state["plan"]["done"] = True  # written by nobody, yet it is in the state
            return {"city": "Rome"}

        return in_a_row({"first": first, "second": second, "third": third}, Shared, checkpointer=None)

    played = await play(build, in_step=False)

    assert states(played) == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=(log=[])",
                'STATE_DELTA delta=[(op=add path="/plan" value=(steps=[a] done=false))]',
                'STATE_DELTA delta=[(op=add path="/plan" value=(steps=[a b] done=false))]',
                'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
            ]
        ]
    )


async def test_emitted_state_is_corrected_by_the_graphs(play: Player) -> None:
    def build() -> Graph:
        async def work(state: Shared, config: RunnableConfig) -> dict[str, Any]:
            emitter = EventEmitter(config)
            emitter.state({"plan": {"steps": ["a"]}, "city": "soon"})
            emitter.state_patch([{"op": "add", "path": "/plan/steps/-", "value": "b"}])
            await scripted("Working.").ainvoke("go", config)
            return {"plan": {"steps": ["a", "b", "c"]}}

        return in_a_row({"work": work}, Shared)

    played = await play(build)

    assert played.only("STATE", "STEP", "TEXT_MESSAGE_CONTENT") == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(log=[])",
            "STEP_STARTED stepName=work",
            'STATE_DELTA delta=[(op=add path="/plan" value=(steps=[a])) (op=add path="/city" value=soon)]',
            'STATE_DELTA delta=[(op=add path="/plan/steps/-" value=b)]',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=Working.",
            "STEP_FINISHED stepName=work",
            'STATE_DELTA delta=[(op=add path="/plan" value=(steps=[a b c])) (op=remove path="/city")]',
        ]
    )
    assert played.state == {"plan": {"steps": ["a", "b", "c"]}, "log": []}


async def test_a_patch_that_does_not_apply_is_skipped(play: Player, caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Graph:
        async def work(state: Shared, config: RunnableConfig) -> dict[str, Any]:
            emitter = EventEmitter(config)
            emitter.state_patch([{"op": "replace", "path": "/plan/at/all", "value": 1}])
            emitter.emit("after")
            return {"city": "Rome"}

        return in_a_row({"work": work}, Shared)

    played = await play(build)

    assert played.only("STATE", "CUSTOM", "RUN") == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(log=[])",
            "CUSTOM name=after value=null metadata=(langgraph=(node=work path=work))",
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
        ]
    )
    assert "emitted state patch" in caplog.text


class Doc(MessagesState):
    document: str
    title: str


async def test_predicted_state_that_comes_true(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_call_parts("write", {"document": "A short text."}, "call_1", pieces=2))

        async def agent(state: Doc, config: RunnableConfig) -> dict[str, Any]:
            answer = await model.ainvoke(state["messages"], config)
            return {"messages": [answer], "document": answer.tool_calls[0]["args"]["document"]}

        return in_a_row({"agent": agent}, Doc)

    played = await play(
        build, options=AdapterOptions(predict_state={"document": ("write", "document")}, predict_state_event=True)
    )

    assert played.only("STATE", "CUSTOM", "TOOL") == snapshot(
        [
            "CUSTOM name=PredictState value=[(state_key=document tool=write tool_argument=document)]",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=write parentMessageId=lc_run--#1 + "{\\"document\\": \\"" + "A short text.\\"}"',
            'STATE_DELTA delta=[(op=add path="/document" value="A short text.")]',
            "TOOL_CALL_END toolCallId=call_1",
        ]
    )
    assert played.state == {"document": "A short text."}


async def test_an_answer_that_is_state_too(play: Player) -> None:
    """Messages in other channels are state, not conversation."""

    class Two(MessagesState):
        draft: list[Any]

    def build() -> Graph:
        async def write(state: Two) -> dict[str, Any]:
            return {"draft": [AIMessage("a draft", id="draft")]}

        return in_a_row({"write": write, "say": chat_node(scripted("Done.", "Again."))}, Two)

    played = await play(build, "hi", "and?")

    assert states(played) == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=()",
                'STATE_DELTA delta=[(op=add path="/draft" value=[(content="a draft" additional_kwargs=() response_metadata=() type=ai name=null id=draft tool_calls=[] invalid_tool_calls=[] usage_metadata=null)])]',
            ],
            [
                'STATE_SNAPSHOT snapshot=(draft=[(content="a draft" additional_kwargs=() response_metadata=() type=ai name=null id=draft tool_calls=[] invalid_tool_calls=[] usage_metadata=null)])'
            ],
        ]
    )


async def test_emitted_state_that_the_graph_never_writes(play: Player) -> None:
    class Advancing(Shared, total=False):
        progress: float

    def build() -> Graph:
        async def one(state: Shared, config: RunnableConfig) -> dict[str, Any]:
            EventEmitter(config).state({"progress": 0.5, "city": "guess"})
            return {"log": ["one"]}

        async def two(state: Shared, config: RunnableConfig) -> dict[str, Any]:
            EventEmitter(config).state({"progress": 1.0})
            return {"log": ["two"]}

        return in_a_row({"one": one, "two": two}, Advancing)

    played = await play(build, "hi", "again")

    assert states(played) == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=(log=[])",
                'STATE_DELTA delta=[(op=add path="/progress" value=0.5) (op=add path="/city" value=guess)]',
                'STATE_DELTA delta=[(op=add path="/log" value=[one]) (op=remove path="/progress") (op=remove path="/city")]',
                'STATE_DELTA delta=[(op=add path="/progress" value=1.0)]',
                'STATE_DELTA delta=[(op=add path="/log" value=[one two]) (op=remove path="/progress")]',
            ],
            [
                "STATE_SNAPSHOT snapshot=(log=[one two])",
                'STATE_DELTA delta=[(op=add path="/progress" value=0.5) (op=add path="/city" value=guess)]',
                'STATE_DELTA delta=[(op=add path="/log" value=[one two one]) (op=remove path="/progress") (op=remove path="/city")]',
                'STATE_DELTA delta=[(op=add path="/progress" value=1.0)]',
                'STATE_DELTA delta=[(op=add path="/log" value=[one two one two]) (op=remove path="/progress")]',
            ],
        ]
    )


class Private(Shared, total=False):
    secret: str


def emitting(*emits: tuple[str, Any]) -> Graph:
    """One node that emits, (method, argument), and writes the city. Clients are shown the city and the plan."""

    async def work(state: Private, config: RunnableConfig) -> dict[str, Any]:
        emitter = EventEmitter(config)
        for method, argument in emits:
            getattr(emitter, method)(argument)
        return {"city": "Rome", "secret": "s3cret"}

    builder = StateGraph(Private, output_schema=Shared).add_node(work).add_edge(START, "work")
    return builder.compile()


async def test_emitted_keys_that_the_graph_keeps_from_clients_are_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    graph = emitting(
        ("state", {"secret": "s3cret", "city": "soon", "messages": ["s3cret"], "unknown": 1}),
        ("state", {"secret": "s3cret again"}),
        ("state_patch", [{"op": "add", "path": "/secret", "value": "s3cret"}]),
        ("state_patch", [{"op": "add", "path": "", "value": {"secret": "s3cret"}}]),
        (
            "state_patch",
            [
                {"op": "add", "path": "/plan", "value": {"a": 1}},
                {"op": "copy", "from": "/plan", "path": "/secret"},
                {"op": "replace", "path": "/plan/a", "value": 2},
            ],
        ),
    )

    events = await collect(AGUIAdapter(graph), "hi")

    assert [event["delta"] for event in events if event["type"] == "STATE_DELTA"] == [
        [{"op": "add", "path": "/city", "value": "soon"}],
        [{"op": "remove", "path": "/log"}, {"op": "remove", "path": "/city"}],
        [{"op": "add", "path": "/plan", "value": {"a": 1}}, {"op": "replace", "path": "/plan/a", "value": 2}],
        [
            {"op": "add", "path": "/city", "value": "Rome"},
            {"op": "add", "path": "/log", "value": []},
            {"op": "remove", "path": "/plan"},
        ],
    ]
    assert_conformant(events)
    assert "s3cret" not in str(events)
    assert [record.getMessage() for record in caplog.records] == [
        f"the state key {key!r} is hidden from clients: not sent early" for key in ("secret", "messages", "unknown")
    ]


async def test_emitted_patches_are_redacted_as_the_state_is() -> None:
    graph = emitting(
        (
            "state_patch",
            [
                {"op": "add", "path": "/city", "value": "Kyiv, 12 Secret Street"},
                {"op": "add", "path": "/plan", "value": {"a": 1}},
            ],
        ),
        ("state_patch", [{"op": "add", "path": "/plan/b", "value": 2}]),
        ("state_patch", [{"op": "remove", "path": "/plan"}]),
        ("state_patch", [{"op": "remove", "path": "/plan"}]),  # applies no more
    )

    def public(state: dict[str, Any], run: Any) -> dict[str, Any]:
        return {key: value.split(",")[0] if key == "city" else value for key, value in state.items() if key != "log"}

    events = await collect(AGUIAdapter(graph, hooks=Hooks(on_state=public)), "hi")

    assert [event["delta"] for event in events if event["type"] == "STATE_DELTA"] == [
        [{"op": "add", "path": "/city", "value": "Kyiv"}, {"op": "add", "path": "/plan", "value": {"a": 1}}],
        [{"op": "add", "path": "/plan", "value": {"a": 1, "b": 2}}],  # no longer than a patch of it
        [{"op": "remove", "path": "/plan"}],
        [{"op": "add", "path": "/city", "value": "Rome"}],
    ]


async def test_keys_kept_from_clients_are_not_predicted() -> None:
    async def work(state: Private, config: RunnableConfig) -> dict[str, Any]:
        model = scripted(tool_call_parts("write", {"text": "s3" + "cret" * 20}, "c1"))
        await model.ainvoke("go", config)
        return {"secret": "written"}

    graph = StateGraph(Private, output_schema=Shared).add_node(work).add_edge(START, "work").compile()
    options = AdapterOptions(predict_state={"secret": ("write", "text")})

    events = await collect(AGUIAdapter(graph, options=options), "hi")

    assert [event for event in events if event["type"] == "STATE_DELTA"] == []


async def test_state_predicted_from_a_calls_arguments(play: Player) -> None:
    @tool
    def write(document: str, title: str = "") -> str:
        """Write."""
        return "written"

    text = "It was a dark and stormy night; the rain fell in torrents."

    def build() -> Graph:
        model = scripted(tool_call_parts("write", {"title": "Night", "document": text}, "call_1", pieces=4), "Done.")
        graph = tool_loop(model, [write], Doc)
        return graph

    played = await play(
        build, options=AdapterOptions(predict_state={"document": ("write", "document"), "title": ("write", "title")})
    )

    assert played.only("STATE", "TOOL", "STEP") == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=write parentMessageId=lc_run--#1 + "{\\"title\\": \\"Night\\", \\"doc" + "ument\\": \\"It was a dark "',
            'STATE_DELTA delta=[(op=add path="/document" value="It was a dark ") (op=add path="/title" value=Night)]',
            'TOOL_CALL_ARGS toolCallId=call_1 delta="and stormy night; the r"',
            'STATE_DELTA delta=[(op=add path="/document" value="It was a dark and stormy night; the r")]',
            'TOOL_CALL_ARGS toolCallId=call_1 delta="ain fell in torrents.\\"}"',
            'STATE_DELTA delta=[(op=add path="/document" value="It was a dark and stormy night; the rain fell in torrents.")]',
            "TOOL_CALL_END toolCallId=call_1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=written role=tool",
            "STEP_FINISHED stepName=tools",
            'STATE_DELTA delta=[(op=remove path="/document") (op=remove path="/title")]',
            "STEP_STARTED stepName=agent FINISHED",
        ]
    )
