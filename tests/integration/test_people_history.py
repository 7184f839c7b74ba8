"""People who go back: edited, repeated and deleted messages. The thread goes on from where it was then, all of it."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER


class State(MessagesState):
    turns: Annotated[int, operator.add]
    notes: Annotated[list[str], operator.add]
    title: str


class Memory(MessagesState):
    """Of the subgraph: nobody but itself writes it."""

    remembered: Annotated[list[str], operator.add]
    title: str


class Diary:
    """A graph whose every part remembers: counters, lists, a title, and (`memory`) a subgraph that does by itself."""

    def __init__(self, saver: BaseCheckpointSaver[Any] | None = None, *, memory: bool = True) -> None:
        self.ran: Counter[str] = Counter()
        """How often the model was asked with this last message."""
        self.memory: list[str] = []
        """The messages that the subgraph remembered in the last turn."""
        self.model = strict_model(self._answer, ids="all")
        self.graph = self._build(saver or InMemorySaver(), memory)

    def _answer(self, messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type == "tool":
            return ["Priced. "]
        said = last.text
        self.ran[said] += 1
        if said.startswith("price"):
            return [f"{said}? ", tool_calls_part(("price", {"item": said}, f"call-{len(messages)}"))]
        return [f"re {said} ", f"({len(messages)})"]

    def _build(self, saver: BaseCheckpointSaver[Any], memory: bool) -> Graph:
        @tool
        async def price(item: str) -> str:
            """Price of an item."""
            self.ran[f"tool {item}"] += 1
            return "5"

        async def agent(state: State, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await self.model.bind_tools([price]).ainvoke(state["messages"], config)]}

        def count(state: State) -> dict[str, Any]:
            texts = [m.text for m in state["messages"] if m.type == "human"]
            return {"turns": 1, "notes": [texts[-1]], "title": f"about {texts[0]}"}

        def remember(state: Memory) -> dict[str, Any]:
            last = next(m.text for m in reversed(state["messages"]) if m.type == "human")
            self.memory = [*state.get("remembered", []), last]
            return {"remembered": [last]}

        inner: StateGraph[Any, Any, Any, Any] = StateGraph(Memory)
        inner.add_node("remember", remember)
        inner.add_edge(START, "remember")
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
        builder.add_node("agent", agent)
        builder.add_node("tools", ToolNode([price]))
        builder.add_node("count", count)
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: "count"})
        builder.add_edge("tools", "agent")
        if memory:
            builder.add_node("memory", inner.compile(checkpointer=True))
            builder.add_edge("count", "memory")
        return builder.compile(checkpointer=saver)

    def check(self, tab: Tab, *texts: str) -> None:
        """The thread has had exactly these turns: every part of it says so."""
        assert [text for role, text in tab.said if role == "user"] == list(texts)
        assert tab.state == {"turns": len(texts), "notes": list(texts), "title": f"about {texts[0]}"}
        assert self.memory == list(texts)
        assert [m.text for m in self.model.calls[-1] if m.type == "human"] == list(texts)


async def said(tab: Tab, *texts: str, **request: Any) -> None:
    for text in texts:
        await tab.say(text, **request)
        assert tab.outcome == "success"


# ---------------------------------------------------------------- edit, repeat, delete


@pytest.mark.parametrize("number", [0, 1, 2], ids=["first", "second", "last"])
@pytest.mark.parametrize("new_id", [None, "edited"], ids=["same id", "new id"])
async def test_an_edited_message(peer: Peer, saver: BaseCheckpointSaver[Any], number: int, new_id: str | None) -> None:
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    if new_id is not None and number == 0:
        new_id = None  # a request that has nothing of the thread is no edit
    await tab.edit(number, "x", id=new_id)
    branch = [*"abc"[:number], "x"]
    diary.check(tab, *branch)
    await tab.say("d")
    diary.check(tab, *branch, "d")
    assert max(diary.ran.values()) == 1


@pytest.mark.parametrize("number", [0, 1, 2], ids=["first", "second", "last"])
async def test_an_answer_is_generated_again(peer: Peer, saver: BaseCheckpointSaver[Any], number: int) -> None:
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    before = tab.messages
    await tab.regenerate(number)
    branch = "abc"[: number + 1]
    diary.check(tab, *branch)
    assert tab.messages[-1]["id"] not in {m["id"] for m in before}
    assert tab.messages[:-1] == before[: len(tab.messages) - 1]
    await tab.say("d")
    diary.check(tab, *branch, "d")
    assert diary.ran == Counter({**dict.fromkeys("abcd", 1), "abc"[number]: 2})


@pytest.mark.parametrize("number", [0, 1, 2], ids=["all", "two", "one"])
async def test_a_deleted_tail_and_a_new_message(peer: Peer, saver: BaseCheckpointSaver[Any], number: int) -> None:
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    tab.cut(number)
    if not tab.messages:
        return  # indistinguishable from a window of the newest messages: see test_people_threads
    await tab.say("x")
    diary.check(tab, *"abc"[:number], "x")
    await tab.say("d")
    diary.check(tab, *"abc"[:number], "x", "d")


async def test_again_and_again(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    """Edits of edited messages, repeated answers on branches, back to what was deleted."""
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    await tab.edit(1, "x")
    await tab.edit(1, "y")
    diary.check(tab, "a", "y")
    await tab.regenerate()
    diary.check(tab, "a", "y")
    await said(tab, "z", "w")
    await tab.edit(2, "q", id="fresh")
    diary.check(tab, "a", "y", "q")
    await tab.regenerate()
    diary.check(tab, "a", "y", "q")
    await tab.edit(2, "r")
    diary.check(tab, "a", "y", "r")
    await tab.edit(1, "b")
    diary.check(tab, "a", "b")
    await tab.edit(0, "A")
    diary.check(tab, "A")
    await said(tab, "B")
    diary.check(tab, "A", "B")


async def test_the_old_branch_stays_in_the_threads_history(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    config: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    old = await diary.graph.aget_state(config)
    await tab.edit(0, "x")
    kept = [state async for state in diary.graph.aget_state_history(config)]
    assert old.config in [state.config for state in kept]
    [again] = [state for state in kept if state.config == old.config]
    assert again.values == old.values
    head = await diary.graph.aget_state(config)
    assert [m.text for m in head.values["messages"] if m.type == "human"] == ["x"]


async def test_an_edit_in_place_that_keeps_what_followed(peer: Peer) -> None:
    """A client that changes a message and cuts nothing: the questions behind it are asked again, in order."""
    diary = Diary()
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    changed = [{**m, "content": "x"} if m["content"] == "b" else m for m in tab.messages]
    await tab.send(changed)
    assert [text for role, text in tab.said if role == "user"] == ["a", "x", "c"]
    assert tab.state["turns"] == 2
    assert tab.said[-1] == ("assistant", "re c (4)")


async def test_an_edit_and_a_new_message_at_once(peer: Peer) -> None:
    diary = Diary()
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b")
    changed = [{**m, "content": "x"} if m["content"] == "b" else m for m in tab.messages]
    await tab.send([*changed, {"id": "new", "role": "user", "content": "n"}])
    assert [text for role, text in tab.said if role == "user"] == ["a", "x", "n"]
    assert tab.said[-1][1].startswith("re n")


async def test_what_the_user_changes_of_the_state_goes_into_the_branch(peer: Peer) -> None:
    """Only that: the rest of the client's state belongs to the branch that is left."""

    class Own(State, total=False):
        wish: str

    def count(state: Own) -> dict[str, Any]:
        return {"turns": 1, "messages": [AIMessage(f"wish {state.get('wish')}", id=f"said-{len(state['messages'])}")]}

    tab = Tab(in_a_row({"count": count}, Own), peer)
    await said(tab, "a", "b", "c")
    assert tab.state["turns"] == 3
    await tab.edit(1, "x", state={**tab.state, "wish": "tea"})
    assert tab.state == {"turns": 2, "notes": [], "wish": "tea"}
    assert tab.said[-1] == ("assistant", "wish tea")


async def test_an_edit_of_a_message_with_parts(peer: Peer) -> None:
    diary = Diary()
    tab = Tab(diary.graph, peer)
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    await tab.say([{"type": "text", "text": "look"}, image])
    await tab.say("b")
    await tab.send()
    assert tab.state["turns"] == 2
    await tab.edit(0, [{"type": "text", "text": "look again"}, image])
    assert tab.state == {"turns": 1, "notes": ["look again"], "title": "about look again"}
    await tab.edit(0, "no picture")
    diary.check(tab, "no picture")


async def test_a_message_sent_again_with_the_same_parts_is_the_same(peer: Peer) -> None:
    """Clients write the same content in many ways."""
    diary = Diary()
    tab = Tab(diary.graph, peer)
    await tab.say("a")
    first, *rest = tab.messages
    same = {**first, "content": [{"type": "text", "text": "a"}]}
    await tab.send([same, *rest, {"id": "u2", "role": "user", "content": "b"}], in_step=False)
    assert tab.state["turns"] == 2
    assert diary.ran == Counter("ab")


# ---------------------------------------------------------------- turns with tools


@pytest.mark.parametrize("act", ["edit", "regenerate", "cut"])
async def test_a_turn_with_a_tool_is_taken_back(peer: Peer, saver: BaseCheckpointSaver[Any], act: str) -> None:
    diary = Diary(saver)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "price tea", "c")
    if act == "edit":
        await tab.edit(1, "price milk")
    elif act == "regenerate":
        await tab.regenerate(1)
    else:
        tab.cut(1)
        await tab.say("price milk")
    item = "price tea" if act == "regenerate" else "price milk"
    diary.check(tab, "a", item)
    assert [role for role, _ in tab.said] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert diary.ran[f"tool {item}"] == (2 if act == "regenerate" else 1)
    await tab.say("d")
    diary.check(tab, "a", item, "d")


async def test_a_tail_cut_in_the_middle_of_a_turn(peer: Peer) -> None:
    """Missing answers alone are no cut: an aborted run looks like that. The client gets them back."""
    diary = Diary()
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "price tea")
    whole = tab.messages
    await tab.send([*whole[:-1], {"id": "u9", "role": "user", "content": "b"}])
    diary.check(tab, "a", "price tea", "b")
    assert {m["id"] for m in whole} <= {m["id"] for m in tab.messages}


# ---------------------------------------------------------------- while a question is open


def asking() -> Graph:
    @tool
    async def ask_user(q: str) -> str:
        """Ask the user."""
        return f"they said {interrupt({'question': q})}"

    def script(messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type == "human" and last.text.startswith("ask"):
            return [tool_calls_part(("ask_user", {"q": f"{last.text}?"}, f"call-{len(messages)}"))]
        return [f"re {last.text}"]

    return tool_loop(strict_model(script, ids="all"), [ask_user])


async def test_the_message_that_led_to_the_question_is_edited(peer: Peer) -> None:
    tab = Tab(asking(), peer)
    await tab.say("ask one")
    old = tab.questions
    await tab.edit(0, "ask two", reloaded=True)
    assert [q["message"] for q in tab.questions] == ["ask two?"]
    assert tab.questions[0]["id"] != old[0]["id"]
    await tab.answer("yes")
    assert tab.said == [
        ("user", "ask two"),
        ("assistant", "ask_user"),
        ("tool", "they said yes"),
        ("assistant", "re they said yes"),
    ]


async def test_the_question_goes_with_its_message(peer: Peer) -> None:
    tab = Tab(asking(), peer)
    await tab.say("a")
    await tab.say("ask")
    await tab.edit(1, "never mind", reloaded=True)
    assert tab.outcome == "success"
    assert tab.said == [("user", "a"), ("assistant", "re a"), ("user", "never mind"), ("assistant", "re never mind")]
    await tab.say("b")
    assert tab.said[-1] == ("assistant", "re b")


async def test_an_earlier_message_is_edited_while_a_question_is_open(peer: Peer) -> None:
    tab = Tab(asking(), peer)
    await tab.say("a")
    await tab.say("ask")
    await tab.edit(0, "b", reloaded=True)
    assert tab.said == [("user", "b"), ("assistant", "re b")]
    await tab.say("ask more")
    await tab.answer("yes")
    assert tab.said[-1] == ("assistant", "re they said yes")


async def test_repeating_a_message_whose_question_is_open_asks_again(peer: Peer) -> None:
    """A page that lost the response sends the same again: nothing to go back to yet."""
    tab = Tab(asking(), peer)
    await tab.say("ask")
    asked = tab.questions
    await tab.send(tab.messages[:1], reloaded=True)
    assert tab.questions == asked
    await tab.answer("yes")
    assert tab.said[-1] == ("assistant", "re they said yes")


async def test_an_edit_with_an_answer_is_an_answer(peer: Peer) -> None:
    """Never a fork on a resume: the question would go with the branch."""
    tab = Tab(asking(), peer)
    await tab.say("a")
    await tab.say("ask")
    entries = [{"interruptId": q["id"], "status": "resolved", "payload": "yes"} for q in tab.questions]
    changed = [{**m, "content": "changed"} if m["id"] == "user-1" else m for m in tab.messages]
    await tab.send(changed, resume=entries)
    assert tab.outcome == "success"
    assert ("user", "a") in tab.said
    assert tab.said[-1] == ("assistant", "re they said yes")


async def test_an_answered_question_is_taken_back(peer: Peer) -> None:
    """Its message is edited: the question is open again, under an id of its own."""
    tab = Tab(asking(), peer)
    await tab.say("ask one")
    first = tab.questions[0]["id"]
    await tab.answer("yes")
    await tab.edit(0, "ask two")
    assert [q["message"] for q in tab.questions] == ["ask two?"]
    assert tab.questions[0]["id"] != first
    await tab.answer("no")
    assert tab.said[-1] == ("assistant", "re they said no")


async def test_a_turn_before_an_answered_question_is_taken_back(peer: Peer) -> None:
    tab = Tab(asking(), peer)
    await tab.say("a")
    await tab.say("ask")
    await tab.answer("yes")
    await tab.say("b")
    await tab.regenerate(1)
    assert [q["message"] for q in tab.questions] == ["ask?"]
    await tab.answer("no")
    await tab.edit(0, "x")
    assert tab.said == [("user", "x"), ("assistant", "re x")]


# ---------------------------------------------------------------- other kinds of threads


async def test_a_thread_made_elsewhere(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    """Without our metadata the checkpoints are walked."""
    diary = Diary(saver)
    config: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    for number, text in enumerate("abc", 1):
        given = {"messages": [HumanMessage(text, id=f"user-{number}")]}
        await diary.graph.ainvoke(given, config)
    tab = Tab(diary.graph, peer)
    await tab.send()
    assert [text for role, text in tab.said if role == "user"] == ["a", "b", "c"]
    await tab.edit(1, "x")
    diary.check(tab, "a", "x")
    await tab.regenerate(0)
    diary.check(tab, "a")


@pytest.mark.parametrize("act", ["edit", "regenerate", "cut"])
async def test_checkpoints_written_at_the_end_of_runs_only(
    peer: Peer, saver: BaseCheckpointSaver[Any], act: str
) -> None:
    """There are no checkpoints of inputs then; the last one of the run before serves."""
    diary = Diary(saver)
    tab = Tab(diary.graph, peer, options=AdapterOptions(durability="exit"))
    await said(tab, "a", "b", "c")
    if act == "edit":
        await tab.edit(1, "b2")
        branch = ["a", "b2"]
    elif act == "regenerate":
        await tab.regenerate(1)
        branch = ["a", "b"]
    else:
        tab.cut(1)
        await tab.say("b2")
        branch = ["a", "b2"]
    diary.check(tab, *branch)
    await tab.say("d")
    diary.check(tab, *branch, "d")


async def test_the_first_message_of_a_thread_with_checkpoints_at_the_end_only(peer: Peer) -> None:
    """There is nothing before it. The messages are right; other channels cannot return to a state that nobody kept."""
    diary = Diary(memory=False)
    tab = Tab(diary.graph, peer, options=AdapterOptions(durability="exit"))
    await said(tab, "a", "b")
    await tab.edit(0, "x")
    assert [text for role, text in tab.said if role == "user"] == ["x"]
    await tab.say("d")
    assert [text for role, text in tab.said if role == "user"] == ["x", "d"]


async def test_a_pruned_history(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    """Only the newest checkpoint is left: the branch is cut off at the head, with a warning."""
    saver = InMemorySaver()
    diary = Diary(saver, memory=False)
    tab = Tab(diary.graph, peer)
    await said(tab, "a", "b", "c")
    for checkpoints in saver.storage["thread"].values():
        for id in sorted(checkpoints)[:-1]:
            del checkpoints[id]
    await tab.edit(1, "x")
    assert [text for role, text in tab.said if role == "user"] == ["a", "x"]
    assert tab.said[-1] == ("assistant", "re x (3)")
    assert any("no checkpoint before message" in record.getMessage() for record in caplog.records)
    await tab.say("d")
    assert [text for role, text in tab.said if role == "user"] == ["a", "x", "d"]
    await tab.edit(1, "y")
    assert [text for role, text in tab.said if role == "user"] == ["a", "y"]


async def test_messages_that_came_in_together(peer: Peer) -> None:
    """Imported in one checkpoint: there is none between them."""
    diary = Diary(memory=False)
    config: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    imported = [
        HumanMessage("a", id="u1"),
        AIMessage("A", id="a1"),
        HumanMessage("b", id="u2"),
        AIMessage("B", id="a2"),
    ]
    await diary.graph.aupdate_state(config, {"messages": imported, "turns": 2, "notes": ["a", "b"]}, as_node="count")
    tab = Tab(diary.graph, peer)
    await tab.send()
    await tab.edit(1, "x")
    assert tab.said == [("user", "a"), ("assistant", "A"), ("user", "x"), ("assistant", "re x (3)")]
    await tab.say("c")
    await tab.edit(2, "d")
    assert [text for role, text in tab.said if role == "user"] == ["a", "x", "d"]
    assert (await held(diary.graph))[0]["turns"] == 4  # two imported, x (cut off at the head), d in c's place


def last_four(left: Any, right: Any) -> Any:
    return add_messages(left, right)[-4:]  # type: ignore[index]


class Short(State):
    messages: Annotated[list[Any], last_four]  # type: ignore[misc]


async def test_a_graph_that_trims_its_own_messages(peer: Peer) -> None:
    """Forgotten messages are not added again. No checkpoint has exactly the rest, so an edit cuts at the head."""

    def agent(state: Short) -> dict[str, Any]:
        return {"turns": 1, "messages": [AIMessage(f"re {state['messages'][-1].text}")]}

    tab = Tab(in_a_row({"agent": agent}, Short), peer)
    await said(tab, "a", "b", "c")
    assert [text for _, text in tab.said] == ["b", "re b", "c", "re c"]
    await tab.edit(1, "x")
    assert tab.said[-2:] == [("user", "x"), ("assistant", "re x")]
    assert [text for _, text in tab.said] == ["b", "re b", "x", "re x"]
