# ruff: noqa: E501
"""Every kind of state a graph can have: schemas, channels that are private, input, or output, none, no conversation."""

from __future__ import annotations

import operator
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Annotated, Any

import pytest
import typing_extensions
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import AnyValue, DeltaChannel, EphemeralValue, Topic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, RemoveMessage, add_messages
from langgraph.managed import RemainingSteps
from pydantic import BaseModel

from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.playing import Player
from tests.support.verifier import ClientRun
from yai_nexus_agentkit.testing import ScriptedChatModel


def counting() -> ScriptedChatModel:
    """Says how many messages it was given."""
    return ScriptedChatModel(script=lambda messages: [f"{len(messages)} ", "messages."])


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    city: str = "Rome"
    visits: list[str] = []


@dataclass
class DataclassState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    city: str = "Rome"
    visits: Annotated[list[str], operator.add] = field(default_factory=list)


class StandardTypedDict(typing.TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    city: str
    visits: Annotated[list[str], operator.add]


class ExtendedTypedDict(typing_extensions.TypedDict):
    messages: typing_extensions.Required[Annotated[list[AnyMessage], add_messages]]
    city: typing_extensions.NotRequired[str]
    left: RemainingSteps


class Draft(typing_extensions.TypedDict):
    draft: str


def newest(old: list[Any], new: list[Any]) -> list[Any]:
    return add_messages(old, new)[-3:]


class Short(typing_extensions.TypedDict):
    messages: Annotated[list[AnyMessage], newest]


def merge(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return {key: old.get(key, 0) + new.get(key, 0) for key in {**old, **new}}


class Reduced(MessagesState):
    total: Annotated[int, operator.add]
    log: Annotated[list[str], operator.add]
    seen: Annotated[set[str], operator.or_]
    counts: Annotated[dict[str, int], merge]
    last: str


async def test_several_turns_without_a_checkpointer(play: Player) -> None:
    """The client's history is the whole conversation; state goes round through the client too."""

    class State(MessagesState):
        turns: int

    def build() -> Graph:
        model = counting()

        async def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"], config)], "turns": state.get("turns", 0) + 1}

        return in_a_row({"answer": answer}, State, checkpointer=None)

    played = await play(build, "hi", "and?", "and then?")

    assert played.streams[2] == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(turns=2)",
            "STEP_STARTED stepName=answer",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "5 " + messages. END',
            "STEP_FINISHED stepName=answer",
            'STATE_DELTA delta=[(op=add path="/turns" value=3)]',
        ]
    )
    assert [m["content"] for m in played.messages if m["role"] == "assistant"] == [
        "1 messages.",
        "3 messages.",
        "5 messages.",
    ]
    assert played.state == {"turns": 3}


async def test_a_graph_without_messages(play: Player) -> None:
    """Its model's words stream and stay with the client."""

    class State(typing_extensions.TypedDict):
        question: str
        answer: str

    def build() -> Graph:
        model = scripted(["Forty-", "two."], "Nothing.")

        async def think(state: State, config: RunnableConfig) -> dict[str, Any]:
            return {"answer": (await model.ainvoke(state["question"], config)).text}

        return in_a_row({"think": think}, State)

    def ask(text: str) -> Any:
        return lambda view: {"state": {**view["state"], "question": text}}

    played = await play(build, ask("What?"), ask("And now?"))

    assert played.streams == snapshot(
        [
            [
                'STATE_SNAPSHOT snapshot=(question="What?")',
                "STEP_STARTED stepName=think",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Forty- + two. END",
                "STEP_FINISHED stepName=think",
                'STATE_DELTA delta=[(op=add path="/answer" value=Forty-two.)]',
            ],
            [
                'STATE_SNAPSHOT snapshot=(question="And now?" answer=Forty-two.)',
                "STEP_STARTED stepName=think",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Nothing. END",
                "STEP_FINISHED stepName=think",
                'STATE_DELTA delta=[(op=add path="/answer" value=Nothing.)]',
            ],
        ]
    )
    assert played.state == {"question": "And now?", "answer": "Nothing."}


async def test_a_list_of_messages_as_the_whole_state(play: Player) -> None:
    def build() -> Graph:
        model = counting()

        async def answer(messages: list[BaseMessage], config: RunnableConfig) -> list[BaseMessage]:
            return [await model.ainvoke(messages, config)]

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Annotated[list[AnyMessage], add_messages])
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, "hi", "and?")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=answer",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "1 " + messages. END',
                "STEP_FINISHED stepName=answer",
            ],
            [
                "STEP_STARTED stepName=answer",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "3 " + messages. END',
                "STEP_FINISHED stepName=answer",
            ],
        ]
    )


async def test_pydantic_state(play: Player) -> None:
    def build() -> Graph:
        model = scripted("In Rome.", "In Oslo.")

        async def answer(state: PydanticState, config: RunnableConfig) -> dict[str, Any]:
            answer = await model.ainvoke(state.messages, config)
            return {"messages": [answer], "visits": [*state.visits, state.city]}

        return in_a_row({"answer": answer}, PydanticState)

    played = await play(
        build,
        "where?",
        lambda view: {
            "message": [*view["messages"], {"id": "user-2", "role": "user", "content": "and now?"}],
            "state": {**view["state"], "city": "Oslo"},
        },
    )

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=answer",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "In Rome." END',
                "STEP_FINISHED stepName=answer",
                'STATE_DELTA delta=[(op=add path="/visits" value=[Rome])]',
            ],
            [
                "STATE_SNAPSHOT snapshot=(city=Oslo visits=[Rome])",
                "STEP_STARTED stepName=answer",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "In Oslo." END',
                "STEP_FINISHED stepName=answer",
                'STATE_DELTA delta=[(op=add path="/visits" value=[Rome Oslo])]',
            ],
        ]
    )
    assert played.state == {"city": "Oslo", "visits": ["Rome", "Oslo"]}


async def test_dataclass_state(play: Player) -> None:
    def build() -> Graph:
        model = scripted("In Rome.", "In Oslo.")

        async def answer(state: DataclassState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state.messages, config)], "visits": [state.city]}

        return in_a_row({"answer": answer}, DataclassState)

    played = await play(
        build,
        "where?",
        lambda view: {
            "message": [*view["messages"], {"id": "user-2", "role": "user", "content": "and now?"}],
            "state": {**view["state"], "city": "Oslo"},
        },
    )

    assert played.streams[1] == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(city=Oslo visits=[Rome])",
            "STEP_STARTED stepName=answer",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "In Oslo." END',
            "STEP_FINISHED stepName=answer",
            'STATE_DELTA delta=[(op=add path="/visits" value=[Rome Oslo])]',
        ]
    )
    assert played.state == {"city": "Oslo", "visits": ["Rome", "Oslo"]}


async def test_the_standard_librarys_typed_dict(play: Player) -> None:
    """Python 3.11's own cannot be turned into a JSON schema; the adapter needs none."""

    def build() -> Graph:
        model = scripted("One.", "Two.")

        async def answer(state: StandardTypedDict, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"], config)], "city": "Rome", "visits": ["x"]}

        return in_a_row({"answer": answer}, StandardTypedDict)

    played = await play(build, "hi", "and?")

    assert played.state == {"city": "Rome", "visits": ["x", "x"]}
    assert [m["content"] for m in played.messages] == ["hi", "One.", "and?", "Two."]


async def test_required_keys_and_managed_values(play: Player) -> None:
    """`RemainingSteps` is LangGraph's, and no state."""

    def build() -> Graph:
        async def answer(state: ExtendedTypedDict) -> dict[str, Any]:
            return {"messages": [AIMessage(f"More than 20 steps: {state['left'] > 20}.", id="left")], "city": "Rome"}

        return in_a_row({"answer": answer}, ExtendedTypedDict)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=answer",
            'TEXT_MESSAGE_START messageId=left role=assistant + "More than 20 steps: True." END',
            "STEP_FINISHED stepName=answer",
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
        ]
    )
    assert played.state == {"city": "Rome"}


async def test_private_channels_stay_private(play: Player) -> None:
    """A schema that only two nodes know between them."""

    def build() -> Graph:
        async def write(state: MessagesState) -> Draft:
            return {"draft": "secret"}

        async def publish(state: Draft) -> dict[str, Any]:
            return {"messages": [AIMessage(f"{len(state['draft'])} letters.", id="published")]}

        return in_a_row({"write": write, "publish": publish})

    played = await play(build, "hi", "again")

    assert played.streams[0] == snapshot(
        [
            "STEP_STARTED stepName=write FINISHED",
            "STEP_STARTED stepName=publish",
            'TEXT_MESSAGE_START messageId=published role=assistant + "6 letters." END',
            "STEP_FINISHED stepName=publish",
        ]
    )
    assert "secret" not in str(played.runs)


async def test_only_the_output_schema_is_shared(play: Player) -> None:
    class Whole(MessagesState):
        question: str
        notes: str
        answer: str

    class Given(typing_extensions.TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        question: str

    class Taken(typing_extensions.TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        answer: str

    def build() -> Graph:
        async def think(state: Whole) -> dict[str, Any]:
            return {"notes": f"thought about {state['question']}", "answer": "42"}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Whole, input_schema=Given, output_schema=Taken)
        builder.add_node("think", think)
        builder.add_node("say", chat_node(scripted("The answer is 42.", "Still 42.")))
        builder.add_edge(START, "think")
        builder.add_edge("think", "say")
        return builder.compile(checkpointer=InMemorySaver())

    def ask(view: Any) -> dict[str, Any]:
        said = {"id": f"user-{len(view['messages'])}", "role": "user", "content": "?"}
        return {
            "message": [*view["messages"], said],
            "state": {**view["state"], "question": "life", "notes": "mine", "answer": "43"},
        }

    played = await play(build, ask, ask)

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=think FINISHED",
                'STATE_DELTA delta=[(op=add path="/answer" value="42")]',
                "STEP_STARTED stepName=say",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "The answer is 42." END',
                "STEP_FINISHED stepName=say",
            ],
            [
                'STATE_SNAPSHOT snapshot=(answer="42")',
                "STEP_STARTED stepName=think FINISHED",
                "STEP_STARTED stepName=say",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Still 42." END',
                "STEP_FINISHED stepName=say",
            ],
        ]
    )
    assert played.state == {"answer": "42"}


async def test_a_conversation_outside_of_the_output_schema(play: Player) -> None:
    """Its messages are no business of the client: what streamed stays, and nothing is restated."""

    class Whole(MessagesState):
        answer: str

    class Taken(typing_extensions.TypedDict):
        answer: str

    def build() -> Graph:
        model = counting()

        async def think(state: Whole, config: RunnableConfig) -> dict[str, Any]:
            answer = await model.ainvoke(state["messages"], config)
            return {"messages": [answer], "answer": answer.text}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Whole, output_schema=Taken)
        builder.add_node("think", think)
        builder.add_edge(START, "think")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, "hi", "and?")

    assert played.streams[1] == snapshot(
        [
            'STATE_SNAPSHOT snapshot=(answer="1 messages.")',
            "STEP_STARTED stepName=think",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "3 " + messages. END',
            "STEP_FINISHED stepName=think",
            'STATE_DELTA delta=[(op=add path="/answer" value="3 messages.")]',
        ]
    )
    assert played.state == {"answer": "3 messages."}


async def test_a_reducer_that_keeps_the_newest_messages(play: Player) -> None:
    """Messages that the graph forgets vanish at the client and do not come back with the next request."""

    played = await play(lambda: in_a_row({"chat": chat_node(counting())}, Short), "one", "two", "three")

    assert played.streams[2] == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "3 " + messages. END',
            "STEP_FINISHED stepName=chat",
            "MESSAGES_SNAPSHOT",
            '  assistant id=lc_run--#2 content="3 messages."',
            "  user id=user-3 content=three",
            '  assistant id=lc_run--#3 content="3 messages."',
        ]
    )
    assert [m["content"] for m in played.messages] == ["3 messages.", "three", "3 messages."]


async def test_a_node_that_summarises_the_conversation(play: Player) -> None:
    def build() -> Graph:
        async def summarise(state: MessagesState) -> dict[str, Any]:
            if len(state["messages"]) < 4:
                return {}
            kept = AIMessage("We talked.", id="summary")
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), kept]}

        return in_a_row({"chat": chat_node(counting()), "summarise": summarise})

    played = await play(build, "one", "two", "three")

    assert played.streams[1:] == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "3 " + messages. END',
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=summarise",
                'TEXT_MESSAGE_START messageId=summary role=assistant + "We talked." END',
                "STEP_FINISHED stepName=summarise",
                "MESSAGES_SNAPSHOT",
                '  assistant id=summary content="We talked."',
            ],
            [
                "STEP_STARTED stepName=chat",
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "2 " + messages. END',
                "STEP_FINISHED stepName=chat",
                "STEP_STARTED stepName=summarise FINISHED",
            ],
        ]
    )
    assert [m["content"] for m in played.messages] == ["We talked.", "three", "2 messages."]


async def test_reducers_of_every_kind(play: Player) -> None:
    """Only what the graph makes of the writes counts; echoed values are not reduced again."""

    def build() -> Graph:
        async def left(state: Reduced) -> dict[str, Any]:
            return {"total": 1, "log": ["left"], "seen": {"l"}, "counts": {"l": 1}}

        async def right(state: Reduced) -> dict[str, Any]:
            return {"total": 10, "log": ["right"], "seen": {"r"}, "counts": {"r": 1, "l": 1}, "last": "right"}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Reduced)
        for name, node in (("left", left), ("right", right)):
            builder.add_node(name, node)
            builder.add_edge(START, name)
            builder.add_edge(name, END)
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, "hi", "again")

    assert [line for line in played.streams[0] if "STATE" in line] == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(total=0 log=[] seen=[] counts=())",
            'STATE_DELTA delta=[(op=add path="/total" value=11) (op=add path="/log" value=[left right]) (op=add path="/seen" value=[l r]) (op=add path="/counts" value=(l=2 r=1)) (op=add path="/last" value=right)]',
        ]
    )
    assert played.state == {
        "total": 22,
        "log": ["left", "right", "left", "right"],
        "seen": ["l", "r"],
        "counts": {"l": 4, "r": 2},
        "last": "right",
    }


def joined(held: list[Any] | None, writes: Sequence[Any]) -> list[Any]:
    return reduce(operator.add, writes, held or [])


def merged(held: list[Any] | None, writes: Sequence[Any]) -> list[Any]:
    return reduce(add_messages, writes, held or [])


class Incremental(typing_extensions.TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged)]
    log: Annotated[list[str], DeltaChannel(joined)]


async def test_channels_that_store_only_what_changed(play: Player) -> None:
    def build() -> Graph:
        return in_a_row({"chat": chat_node(counting()), "note": lambda state: {"log": ["x"]}}, Incremental)

    played = await play(
        build,
        "hi",
        "and?",
        lambda view: {
            "message": [*view["messages"], {"id": "user-3", "role": "user", "content": "well?"}],
            "state": {"log": ["mine"]},
        },
    )

    assert [line for stream in played.streams for line in stream if line.startswith("STATE")] == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(log=[])",
            'STATE_DELTA delta=[(op=add path="/log" value=[x])]',
            "STATE_SNAPSHOT snapshot=(log=[x])",
            'STATE_DELTA delta=[(op=add path="/log" value=[x x])]',
            "STATE_SNAPSHOT snapshot=(log=[mine])",
            'STATE_DELTA delta=[(op=add path="/log" value=[mine x])]',
        ]
    )
    assert [m["content"] for m in played.messages] == [
        "hi",
        "1 messages.",
        "and?",
        "3 messages.",
        "well?",
        "5 messages.",
    ]


class Fleeting(MessagesState):
    topic: Annotated[list[str], Topic(str)]
    topics: Annotated[list[str], Topic(str, accumulate=True)]
    passing: Annotated[str, EphemeralValue(str)]
    any: Annotated[str, AnyValue(str)]


async def test_channels_that_forget(play: Player) -> None:
    """Values that live for one step only are gone at the client too."""

    def build() -> Graph:
        written = {"topic": ["a", "b"], "topics": ["x"], "passing": "e", "any": "first"}
        return in_a_row({"write": lambda state: written, "other": lambda state: {"any": "second"}}, Fleeting)

    played = await play(build, "hi", "again")

    assert [line for stream in played.streams for line in stream if line.startswith("STATE")] == snapshot(
        [
            'STATE_DELTA delta=[(op=add path="/topic" value=[a b]) (op=add path="/topics" value=[x]) (op=add path="/passing" value=e) (op=add path="/any" value=first)]',
            'STATE_DELTA delta=[(op=add path="/any" value=second) (op=remove path="/topic") (op=remove path="/passing")]',
            "STATE_SNAPSHOT snapshot=(topics=[x])",
            'STATE_DELTA delta=[(op=add path="/topic" value=[a b]) (op=add path="/topics" value=[x x]) (op=add path="/passing" value=e) (op=add path="/any" value=first)]',
            'STATE_DELTA delta=[(op=add path="/any" value=second) (op=remove path="/topic") (op=remove path="/passing")]',
        ]
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("mine", ["x"]),
        (["mine"], ["x"]),
        ([], ["x"]),
        (["x"], ["x"]),
        (["x", "mine", "too"], ["x", "mine", "too"]),
    ],
    ids=str,
)
async def test_a_channel_that_can_only_grow(play: Player, change: Any, expected: list[str]) -> None:
    """LangGraph cannot set it: what a client adds is added, another change is undone by the snapshot at the start."""

    def build() -> Graph:
        return in_a_row({"write": lambda state: {} if state.get("topics") else {"topics": ["x"]}}, Fleeting)

    def changed(view: ClientRun) -> dict[str, Any]:
        said = [*view["messages"], {"id": "user-2", "role": "user", "content": "again"}]
        return {"message": said, "state": {**view["state"], "topics": change}}

    played = await play(build, "hi", changed)

    assert [event["snapshot"] for event in played.events if event["type"] == "STATE_SNAPSHOT"] == [{"topics": expected}]
