"""Turns that fail around an answer: the person decides anew, what ran is known, and the thread stays usable."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.approving import KINDS, SEPARATE, Kind, agent_graph, tools_graph
from tests.support.graphs import Graph, in_a_row, let_others_run, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, resolved
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER


class Bank:
    """A tool that asks first, and fails as often as the test wants. Its log has what it really did."""

    def __init__(self, failures: int = 0) -> None:
        self.log: list[str] = []
        self._failures = failures

    def pay(self) -> BaseTool:
        def pay(amount: int) -> str:
            """Pay."""
            self.log.append("tried")
            if self._failures:
                self._failures -= 1
                raise ConnectionError("bank down")
            self.log.append("paid")
            return f"paid {amount}"

        async def apay(amount: int) -> str:
            return pay(amount)

        return require_approval(StructuredTool.from_function(pay, apay))


PAY = tool_calls_part(("pay", {"amount": 1}, "call-pay"))
YES, NO = {"approved": True}, {"approved": False}


# ---------------------------------------------------------------- an answer over which something failed


def paying_graph(bank: Bank) -> Graph:
    """A graph that another one calls; it has no checkpointer of its own."""
    model = strict_model([[PAY], lambda messages: [f"inner: {messages[-1].text}"]], ids="all", label="inner")
    return tools_graph("routed", model, [bank.pay()]).compile()


def in_a_tool(inner: Graph, *, sync: bool) -> Any:
    @tool
    def helper(errand: str) -> str:
        """Run an errand."""
        return str(inner.invoke({"messages": [HumanMessage(errand)]})["messages"][-1].text)

    @tool("helper")
    async def ahelper(errand: str) -> str:
        """Run an errand."""
        return str((await inner.ainvoke({"messages": [HumanMessage(errand)]}))["messages"][-1].text)

    order = tool_calls_part(("helper", {"errand": "pay"}, "call-help"))
    model = strict_model([[order], lambda messages: [messages[-1].text]], ids="all", label="outer")
    return tool_loop(model, [helper if sync else ahelper])


def in_a_node(inner: Graph, *, sync: bool) -> Any:
    def call(state: MessagesState) -> dict[str, Any]:
        return {"messages": [inner.invoke({"messages": state["messages"]})["messages"][-1]]}

    async def acall(state: MessagesState) -> dict[str, Any]:
        return {"messages": [(await inner.ainvoke({"messages": state["messages"]}))["messages"][-1]]}

    return in_a_row({"call": call if sync else acall})


def in_a_task(inner: Graph, *, sync: bool) -> Any:
    """A functional graph; LangGraph runs its sync tasks in threads."""

    @task
    def call(text: str) -> str:
        return str(inner.invoke({"messages": [HumanMessage(text)]})["messages"][-1].text)

    @task
    async def acall(text: str) -> str:
        return str((await inner.ainvoke({"messages": [HumanMessage(text)]}))["messages"][-1].text)

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        return {"result": await (call if sync else acall)("pay")}

    return flow


CALLED = {
    f"{'invoke' if sync else 'ainvoke'} in a {where}": (build, sync)
    for where, build in (("tool", in_a_tool), ("node", in_a_node), ("task", in_a_task))
    for sync in (True, False)
}


@pytest.mark.parametrize(("build", "sync"), CALLED.values(), ids=CALLED)
@pytest.mark.parametrize(("second", "log"), [(NO, ["tried"]), (YES, ["tried", "tried", "paid"])], ids=["no", "yes"])
async def test_a_decision_after_an_approved_call_failed(
    peer: Peer, build: Any, sync: bool, second: Any, log: list[str]
) -> None:
    """The graph that asked is called by another one's node or tool, and reads its thread by itself."""
    bank = Bank(failures=1)
    tab = Tab(build(paying_graph(bank), sync=sync), peer)
    await tab.say("hi", in_step=False)
    asked = tab.questions
    asked = [q["id"] for q in tab.questions]
    assert [q["message"] for q in tab.questions] == ['Allow pay with {"amount": 1}?']
    await tab.answer(YES, in_step=False)
    assert (tab.outcome, bank.log) == ("AGENT_ERROR", ["tried"])
    await tab.send(in_step=False)
    assert [q["id"] for q in tab.questions] == asked
    await tab.answer(second, in_step=False)
    assert (tab.outcome, bank.log) == ("success", log)


@pytest.mark.parametrize("sync", [True, False], ids=["invoke", "ainvoke"])
async def test_a_called_graph_that_raises_over_an_answer_can_be_answered_again(peer: Peer, sync: bool) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        first, age = interrupt("Name?"), int(interrupt("Age?"))
        return {"messages": [AIMessage(f"{first} will be {age + 1}", id="said")]}

    tab = Tab(in_a_node(in_a_row({"ask": ask}, checkpointer=None), sync=sync), peer)
    await tab.say("hi")
    await tab.answer("Ann")
    for wrong in ("nine", "ten"):
        await tab.answer(wrong)
        assert tab.outcome == "AGENT_ERROR"
        assert wrong in tab.events[-1]["message"]
        await tab.send()
        assert [q["message"] for q in tab.questions] == ["Age?"]
    await tab.answer("9")
    assert tab.said[-1] == ("assistant", "Ann will be 10")


# ---------------------------------------------------------------- a turn of which a part failed


def half_failing(bank: Bank, kind: Kind, *, asks: bool) -> Graph:
    """Each turn calls a tool that works, and one that does not; later turns just talk."""

    @tool
    async def look(q: str) -> str:
        """Look something up."""
        await let_others_run(20)
        raise ConnectionError("archive down")

    @tool
    async def send(amount: int) -> str:
        """Pay without asking."""
        bank.log.append("paid")
        return f"paid {amount}"

    calls = [("pay" if asks else "send", {"amount": 1}, "call-pay"), ("look", {"q": "x"}, "call-look")]
    model = strict_model([[tool_calls_part(*calls)], ["Hello."], ["Still here."]], ids="all")
    graph: Graph = agent_graph(kind, model, [bank.pay() if asks else send, look])
    return graph


@pytest.mark.parametrize("kind", SEPARATE)
@pytest.mark.parametrize("asks", [True, False], ids=["approved", "unasked"])
async def test_what_ran_beside_a_tool_that_failed_is_known(peer: Peer, kind: Kind, asks: bool) -> None:
    """A new message gives the failed step up, but not what its other tools did; every call has a result before it."""
    bank = Bank()
    tab = Tab(half_failing(bank, kind, asks=asks), peer)
    await tab.say("pay and look")
    if asks:
        await tab.send()
        await tab.answer(YES)
    assert (tab.outcome, bank.log.count("paid")) == ("AGENT_ERROR", 1)
    await tab.send()
    assert ("tool", "paid 1") in tab.said
    for text, reply in (("hello", "Hello."), ("and now?", "Still here.")):
        await tab.say(text)
        assert (tab.outcome, tab.said[-1]) == ("success", ("assistant", reply))
    results = {m["toolCallId"]: m["content"] for m in tab.messages if m["role"] == "tool"}
    assert results["call-pay"] == "paid 1"
    assert results["call-look"].startswith("There is no result")
    assert bank.log.count("paid") == 1


async def test_what_a_branch_wrote_beside_one_that_failed_is_kept(peer: Peer) -> None:
    """As the thread showed it: no state of a visited thread vanishes because somebody speaks."""

    class Noted(MessagesState):
        notes: Annotated[list[str], operator.add]

    async def note(state: Noted) -> dict[str, Any]:
        return {"notes": [state["messages"][-1].text]}

    async def fail(state: Noted) -> dict[str, Any]:
        await let_others_run(20)
        if len(state["messages"]) == 1:
            raise ConnectionError("down")
        return {}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Noted)
    builder.add_node("note", note)
    builder.add_node("fail", fail)
    builder.add_edge(START, "note")
    builder.add_edge(START, "fail")
    graph = builder.compile(checkpointer=InMemorySaver())
    tab, page = Tab(graph, peer), Tab(graph, peer, name="page")
    await tab.say("one")
    assert (tab.outcome, tab.state) == ("AGENT_ERROR", {"notes": []})
    await page.send()
    assert page.state == {"notes": ["one"]}
    await tab.say("two")  # with the state that it was shown, which is no wish to change anything
    assert tab.state == {"notes": ["one", "two"]}


# ---------------------------------------------------------------- the same answer again


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["resume", "command"])
async def test_an_answer_that_was_taken_before_its_run_failed_goes_on_from_there(
    peer: Peer, kind: Kind, how: str
) -> None:
    """The client tries again what ended in an error: the tool has run, the model has yet to speak."""
    bank, down = Bank(), [True, True]

    def speak(messages: list[Any]) -> Any:
        if down:
            down.pop()
            raise ConnectionError("model down")
        return ["All done."]

    model = strict_model([[PAY], speak, speak, speak, ["Hello."]], ids="all")
    tab = Tab(agent_graph(kind, model, [bank.pay()]), peer)
    await tab.say("go")
    again: dict[str, Any] = {"resume": [resolved(tab.questions[0]["id"], YES)]}
    if how == "command":
        again = {"forwarded_props": {"command": {"resume": YES}}}
    outcomes = []
    for _ in range(4):
        await tab.send(**again, reloaded=True)
        outcomes.append(tab.outcome)
    assert outcomes == ["AGENT_ERROR", "AGENT_ERROR", "success", "success"]
    assert bank.log == ["tried", "paid"]
    assert [text for _, text in tab.said] == ["go", "pay", "paid 1", "All done."]
    await tab.say("and now?")
    assert tab.said[-1] == ("assistant", "Hello.")


# ---------------------------------------------------------------- a subgraph that got beyond its question


def paying_subgraph(bank: Bank) -> Graph:
    """A node that is an agent. Its model is down once, after the payment."""
    down = [True]

    def speak(messages: list[Any]) -> Any:
        if messages[-1].type == "human" and messages[-1].text == "go":
            return [PAY]
        if down:
            down.pop()
            raise ConnectionError("model down")
        return [f"Re {messages[-1].text}."]

    inner = tools_graph("routed", strict_model(speak, ids="all"), [bank.pay()]).compile()
    return in_a_row({"agent": inner})


async def test_a_question_that_a_subgraph_left_behind_is_not_asked_again(peer: Peer) -> None:
    """Nobody can say no any more. The answer, sent again, goes on."""
    bank = Bank()
    tab = Tab(paying_subgraph(bank), peer)
    await tab.say("go")
    answer = [resolved(tab.questions[0]["id"], YES)]
    await tab.send(resume=answer)
    assert (tab.outcome, bank.log) == ("AGENT_ERROR", ["tried", "paid"])
    await tab.send(reloaded=True)
    assert (tab.outcome, tab.questions) == ("success", [])
    assert tab.said[-1] == ("tool", "paid 1")
    await tab.send(resume=answer)
    assert (tab.outcome, bank.log) == ("success", ["tried", "paid"])
    assert [text for _, text in tab.said] == ["go", "pay", "paid 1", "Re paid 1."]


async def test_what_ran_in_a_subgraph_that_failed_is_known(peer: Peer) -> None:
    bank = Bank()
    tab = Tab(paying_subgraph(bank), peer)
    await tab.say("go")
    await tab.send(resume=[resolved(tab.questions[0]["id"], YES)])
    assert tab.outcome == "AGENT_ERROR"
    await tab.say("hello", reloaded=True)
    assert [text for _, text in tab.said] == ["go", "pay", "paid 1", "hello", "Re hello."]
    assert bank.log == ["tried", "paid"]
