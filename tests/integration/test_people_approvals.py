"""Approvals: the HITL middleware in both modes, `require_approval`, deepagents; yes, no, edits, and all at once."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.approving import KINDS, Kind, agent_graph
from tests.support.graphs import Graph
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.orchestration.approvals import APPROVAL, require_approval
from yai_nexus_agentkit.testing import tool_calls_part

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware

pytestmark = EACH_PEER

MODES = ["batched", "per_call"]


class Office:
    """Tools that note what they really did."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self) -> list[BaseTool]:
        @tool
        async def look_up(q: str) -> str:
            """Look something up."""
            self.done.append(f"look up {q}")
            return f"found {q}"

        @tool
        async def send_mail(to: str, text: str = "hello") -> str:
            """Send a mail."""
            self.done.append(f"mail {text} to {to}")
            return f"sent to {to}"

        return [look_up, send_mail]


CALLS = tool_calls_part(
    ("look_up", {"q": "moss"}, "call-1"),
    ("send_mail", {"to": "ann"}, "call-2"),
    ("send_mail", {"to": "bob"}, "call-3"),
)


def hitl_agent(office: Office, mode: str, *later: Any, allowed: Any = True, on: str = "send_mail") -> Graph:
    options = {} if mode == "batched" else {"interrupt_mode": mode}
    try:
        hitl = HumanInTheLoopMiddleware(interrupt_on={on: allowed}, **options)
    except TypeError:
        pytest.skip("this langchain has no per-call mode")
    model = strict_model([["Let me see. ", CALLS], ["Done."], *later], ids="all")
    graph: Graph = create_agent(model, office.tools(), middleware=[hitl], checkpointer=InMemorySaver())
    return graph


def skip_rewritten_calls(mode: str) -> None:
    """Older middleware changes the model's own message instead of noting what ran."""
    if mode == "batched" and "edit_notice" not in inspect.signature(HumanInTheLoopMiddleware).parameters:
        pytest.skip("this langchain rewrites an edited call in place")


def results(tab: Tab) -> dict[str, str]:
    return {m["toolCallId"]: m["content"] for m in tab.messages if m["role"] == "tool"}


# ---------------------------------------------------------------- the middleware of langchain


async def test_a_batch_is_one_question_about_its_calls(peer: Peer) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, "batched"), peer)
    await tab.say("hi")
    [question] = tab.questions
    assert question["reason"] == "langgraph:tool_approval"
    assert question["metadata"]["langgraph"]["toolCallIds"] == ["call-2", "call-3"]
    assert question["message"].count("send_mail") == 2
    decisions = question["responseSchema"]["properties"]["decisions"]
    assert (decisions["minItems"], decisions["maxItems"]) == (2, 2)
    assert office.done == []


async def test_per_call_every_call_has_a_question(peer: Peer) -> None:
    """The other tools run meanwhile, once."""
    office = Office()
    tab = Tab(hitl_agent(office, "per_call"), peer)
    await tab.say("hi")
    assert [(q["reason"], q["toolCallId"]) for q in tab.questions] == [
        ("tool_call", "call-2"),
        ("tool_call", "call-3"),
    ]
    assert all("responseSchema" in q for q in tab.questions)
    await tab.answer({"type": "approve"})
    assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]


APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "not today"}
EDIT = {"type": "edit", "edited_action": {"name": "send_mail", "args": {"to": "eve", "text": "hey"}}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("answers", "done", "said"),
    [
        ((APPROVE, APPROVE), ["mail hello to ann", "mail hello to bob"], ("sent to ann", "sent to bob")),
        ((REJECT, APPROVE), ["mail hello to bob"], ("not today", "sent to bob")),
        ((REJECT, REJECT), [], ("not today", "not today")),
        ((EDIT, APPROVE), ["mail hey to eve", "mail hello to bob"], ("sent to eve", "sent to bob")),
        (({"type": "respond", "message": "ask me"}, APPROVE), ["mail hello to bob"], ("ask me", "sent to bob")),
    ],
    ids=["approve", "reject one", "reject all", "edit", "respond"],
)
async def test_decisions(
    peer: Peer, mode: str, answers: tuple[Any, Any], done: list[str], said: tuple[str, str]
) -> None:
    if EDIT in answers:
        skip_rewritten_calls(mode)
    office = Office()
    tab = Tab(hitl_agent(office, mode, ["Later."]), peer)
    await tab.say("hi")
    given = [{"decisions": list(answers)}] if mode == "batched" else list(answers)
    await tab.send(resume=[
        {"interruptId": q["id"], "status": "resolved", "payload": payload}
        for q, payload in zip(tab.questions, given, strict=True)
    ])  # fmt: skip
    assert tab.outcome == "success"
    assert tab.events_of("TOOL_CALL_START") == []
    assert sorted(office.done) == sorted(["look up moss", *done])
    assert said[0] in results(tab)["call-2"]
    assert said[1] in results(tab)["call-3"]
    assert tab.said[-1] == ("assistant", "Done.")
    await tab.say("and now?")
    assert tab.said[-1] == ("assistant", "Later.")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("payload", "done"),
    [
        ({"approved": True}, ["mail hello to ann", "mail hello to bob"]),
        ({"approved": False, "reason": "no!"}, []),
        ({"approved": False}, []),
    ],
    ids=["yes", "no", "no without reason"],
)
async def test_the_protocols_own_approvals(peer: Peer, mode: str, payload: Any, done: list[str]) -> None:
    """``approved``, ``reason`` and ``editedArgs`` (AG-UI 1.0 §16) are understood beside the middleware's decisions."""
    office = Office()
    tab = Tab(hitl_agent(office, mode), peer)
    await tab.say("hi")
    await tab.answer(payload)
    assert tab.outcome == "success"
    assert sorted(office.done) == sorted(["look up moss", *done])
    if "reason" in payload:
        assert "no!" in results(tab)["call-2"]


UNREADABLE: list[Any] = [["fern"], "fern", 7, False]


@pytest.mark.parametrize("mode", MODES)
async def test_the_protocols_own_edits(peer: Peer, mode: str) -> None:
    """Edits that nobody can read never run the model's own arguments: a person wanted to change them."""
    skip_rewritten_calls(mode)
    office = Office()
    tab = Tab(hitl_agent(office, mode, on="look_up"), peer)
    await tab.say("hi")
    asked, done = tab.questions, list(office.done)
    for edits in UNREADABLE:
        await tab.answer({"approved": True, "editedArgs": edits})
        assert (tab.outcome, office.done) == ("INVALID_RESUME", done)
        await tab.send()
        assert tab.questions == asked
    await tab.answer({"approved": True, "editedArgs": {"q": "fern"}})
    assert tab.outcome == "success"
    assert "look up fern" in office.done
    assert "look up moss" not in office.done


async def test_edits_for_a_batch_do_not_say_which_call_they_change(peer: Peer) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, "batched"), peer)
    await tab.say("hi")
    for edits in ({"to": "eve"}, *UNREADABLE):
        await tab.answer({"approved": True, "editedArgs": edits})
        assert (tab.outcome, office.done) == ("INVALID_RESUME", [])
        await tab.send()
    await tab.answer({"approved": True})
    assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]


@pytest.mark.parametrize("mode", MODES)
async def test_abandoned_approvals_are_rejections(peer: Peer, mode: str) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, mode), peer)
    await tab.say("hi")
    await tab.cancel()
    assert office.done == ["look up moss"]
    assert "cancelled" in results(tab)["call-2"]
    assert set(results(tab)) == {"call-1", "call-2", "call-3"}
    assert tab.said[-1] == ("assistant", "Done.")


INCOMPLETE: list[Any] = [
    {"type": "edit"},
    {"type": "respond"},
    {"type": "edit", "edited_action": {"name": "send_mail"}},
    {"type": "edit", "edited_action": {"name": "no_such_tool", "args": {}}},
    {"type": "edit", "edited_action": {"name": "look_up", "args": {"q": "x"}}},
    {**EDIT, "type": "nonsense"},
]


def by_id(questions: list[Any]) -> list[Any]:
    """Tools that ask at the same time may be asked for in any order."""
    return sorted(questions, key=lambda question: question["id"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "nonsense"},
        {"decisions": []},
        {"decisions": [APPROVE]},
        "yes",
        None,
        {"decisions": [APPROVE] * 3},
        *({"decisions": [APPROVE, decision]} for decision in INCOMPLETE),
        {"decisions": [APPROVE, {**EDIT, "type": "approve"}]},
        *INCOMPLETE,
    ],
    ids=str,
)
async def test_misfitting_decisions_are_refused_and_can_be_corrected(peer: Peer, mode: str, wrong: Any) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, mode), peer)
    await tab.say("hi")
    asked = tab.questions
    for _ in range(2):
        await tab.answer(wrong)
        assert tab.outcome == "INVALID_RESUME"
        await tab.send()
        assert by_id(tab.questions) == by_id(asked)
    assert [done for done in office.done if "mail" in done] == []
    await tab.answer({"approved": True})
    assert tab.outcome == "success"
    assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_decision_that_the_tool_does_not_allow_is_refused_and_can_be_corrected(peer: Peer, mode: str) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, mode, allowed={"allowed_decisions": ["approve", "reject"]}), peer)
    await tab.say("hi")
    asked = tab.questions
    await tab.answer({"decisions": [EDIT, EDIT]} if mode == "batched" else EDIT)
    assert tab.outcome == "INVALID_RESUME"
    await tab.send()
    assert by_id(tab.questions) == by_id(asked)
    await tab.answer({"approved": True})
    assert tab.outcome == "success"
    assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]


@pytest.mark.parametrize("mode", MODES)
async def test_approvals_visited_without_an_answer(peer: Peer, mode: str) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, mode, ["It is noon."]), peer)
    await tab.say("hi")
    asked = tab.questions
    await tab.send()
    await tab.say("time?", beyond=["user-2"])
    assert tab.questions == asked
    await tab.answer({"approved": True})
    assert [text for role, text in tab.said if role != "tool"] == [
        "hi",
        "Let me see. ",
        "Done.",
        "time?",
        "It is noon.",
    ]
    assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]


@pytest.mark.parametrize("mode", MODES)
async def test_approvals_by_the_older_command(peer: Peer, mode: str) -> None:
    office = Office()
    tab = Tab(hitl_agent(office, mode), peer, options=AdapterOptions(interrupts="custom"))
    await tab.say("hi")
    values = [event["value"] for event in tab.events_of("CUSTOM")]
    assert len(values) == (1 if mode == "batched" else 2)
    if mode == "batched":
        await tab.send(forwarded_props={"command": {"resume": {"decisions": [APPROVE, REJECT]}}})
        assert sorted(office.done) == ["look up moss", "mail hello to ann"]
    else:
        state = await tab.graph.aget_state({"configurable": {"thread_id": "thread"}})  # type: ignore[attr-defined]
        answers = {i.id: APPROVE for i in state.interrupts}
        await tab.send(forwarded_props={"command": {"resume": answers}})
        assert sorted(office.done) == ["look up moss", "mail hello to ann", "mail hello to bob"]
    assert tab.said[-1] == ("assistant", "Done.")


# ---------------------------------------------------------------- require_approval


def approval_agent(office: Office, kind: Kind, *later: Any, **options: Any) -> Graph:
    look_up, send_mail = office.tools()
    model = strict_model([["Let me see. ", CALLS], ["Done."], *later], ids="all")
    graph: Graph = agent_graph(kind, model, [look_up, require_approval(send_mail, **options)])
    return graph


async def answered(tab: Tab, answer: Any) -> list[str]:
    """Answer until nothing is asked: the calls that were asked about, pause by pause. `answer`: by call id."""
    asked: list[str] = []
    while tab.questions:
        asked += [q["toolCallId"] for q in tab.questions]
        await tab.answer(*(answer(q["toolCallId"]) for q in tab.questions), *[None] * (len(tab.questions) == 1))
    return asked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("first", "second", "done"),
    [
        ({"approved": True}, {"approved": True}, ["mail hello to ann", "mail hello to bob"]),
        ({"approved": False, "reason": "not her"}, {"approved": True}, ["mail hello to bob"]),
        (
            {"approved": True, "editedArgs": {"to": "eve", "text": "hey"}},
            {"approved": False},
            ["mail hey to eve"],
        ),
        (APPROVE, REJECT, ["mail hello to ann"]),
    ],
    ids=["yes", "one no", "edited", "decisions"],
)
async def test_require_approval(peer: Peer, kind: Kind, first: Any, second: Any, done: list[str]) -> None:
    office = Office()
    tab = Tab(approval_agent(office, kind, ["Later."]), peer)
    await tab.say("hi")
    assert {q["reason"] for q in tab.questions} == {"tool_call"}
    asked = await answered(tab, {"call-2": first, "call-3": second}.__getitem__)
    assert asked == ["call-2", "call-3"]
    assert sorted(d for d in office.done if "mail" in d) == sorted(done)
    assert sorted(results(tab)) == ["call-1", "call-2", "call-3"]
    assert ("not her" in results(tab)["call-2"]) == ("reason" in first)
    assert tab.said[-1] == ("assistant", "Done.")
    _, messages = await held(tab.graph)
    marks = {m.tool_call_id: m.additional_kwargs.get(APPROVAL) for m in messages if m.type == "tool"}  # type: ignore[attr-defined]
    assert marks["call-1"] is None
    assert (marks["call-2"] == "denied") == ("her" in str(first))
    await tab.say("next")
    assert tab.said[-1] == ("assistant", "Later.")


@pytest.mark.parametrize("kind", KINDS)
async def test_require_approval_with_a_predicate(peer: Peer, kind: Kind) -> None:
    office = Office()
    tab = Tab(approval_agent(office, kind, when=lambda args: args["to"] == "bob"), peer)
    await tab.say("hi")
    assert await answered(tab, lambda call: {"approved": True}) == ["call-3"]
    assert [office.done.count(f"mail hello to {who}") >= 1 for who in ("ann", "bob")] == [True, True]
    assert tab.said[-1] == ("assistant", "Done.")


@pytest.mark.parametrize("kind", KINDS)
async def test_require_approval_refuses_what_it_cannot_read_before_anything_runs(peer: Peer, kind: Kind) -> None:
    office = Office()
    tab = Tab(approval_agent(office, kind), peer)
    await tab.say("hi")
    asked = tab.questions
    for wrong in ("yes", {"approve": 1}, {"approved": "yes"}, {}):
        await tab.answer(wrong)
        assert tab.outcome == "INVALID_RESUME"
        await tab.send()
        assert tab.questions == asked
    assert await answered(tab, lambda call: {"approved": True}) == ["call-2", "call-3"]
    assert sorted(d for d in office.done if "mail" in d) == ["mail hello to ann", "mail hello to bob"]


# ---------------------------------------------------------------- deepagents


def deep_agent(office: Office, **options: Any) -> Graph:
    deepagents = pytest.importorskip("deepagents")
    look_up, send_mail = office.tools()
    sub_model = strict_model(
        [["On it. ", tool_calls_part(("send_mail", {"to": "ann"}, "call-in"))], ["Mailed."]], ids="all", label="sub"
    )
    order = ("task", {"description": "mail ann", "subagent_type": "clerk"}, "call-task")
    model = strict_model([["Delegating. ", tool_calls_part(order)], ["All done."], ["Later."]], ids="all", label="main")
    clerk = {"name": "clerk", "description": "mails", "system_prompt": "mail", "model": sub_model, **options}
    clerk["tools"] = [look_up, *(clerk.get("tools") or [send_mail])]
    graph: Graph = deepagents.create_deep_agent(model=model, tools=[], subagents=[clerk], checkpointer=InMemorySaver())
    return graph


@pytest.mark.parametrize("how", ["interrupt_on", "require_approval"])
@pytest.mark.parametrize(("payload", "done"), [({"approved": True}, ["mail hello to ann"]), ({"approved": False}, [])])
async def test_a_subagent_asks(peer: Peer, how: str, payload: Any, done: list[str]) -> None:
    office = Office()
    options: dict[str, Any] = {"interrupt_on": {"send_mail": True}}
    if how == "require_approval":
        options = {"tools": [require_approval(office.tools()[1])]}
    tab = Tab(deep_agent(office, **options), peer)
    await tab.say("hi")
    [question] = tab.questions
    assert question["subagentRunId"]
    assert office.done == []
    if peer.version is not None:
        [ended] = [e for e in tab.events if e["type"] == "SUBAGENT_FINISHED"]
        assert ended["subagentRunId"] == question["subagentRunId"]
    await tab.answer(payload)
    assert tab.outcome == "success"
    assert office.done == done
    assert tab.said[-1] == ("assistant", "All done.")
    assert ("tool", "Mailed.") in tab.said
    await tab.say("next")
    assert tab.said[-1] == ("assistant", "Later.")


async def test_a_subagents_question_is_restated(peer: Peer) -> None:
    office = Office()
    tab = Tab(deep_agent(office, interrupt_on={"send_mail": True}), peer)
    await tab.say("hi")
    asked, shown = [{k: v for k, v in q.items() if k != "subagentRunId"} for q in tab.questions], tab.said
    for _ in range(2):
        await tab.send()
        assert [{k: v for k, v in q.items() if k != "subagentRunId"} for q in tab.questions] == asked
        assert tab.said == shown
    await tab.answer({"approved": True})
    assert office.done == ["mail hello to ann"]
    assert tab.said[-1] == ("assistant", "All done.")


async def test_the_agent_that_speaks_to_the_user_asks_about_its_subagents(peer: Peer) -> None:
    """The main agent's approval of the delegation, then the subagent's own question."""
    deepagents = pytest.importorskip("deepagents")
    office = Office()
    sub_model = strict_model([[tool_calls_part(("send_mail", {"to": "ann"}, "call-in"))], ["Mailed."]], label="sub")
    order = ("task", {"description": "mail ann", "subagent_type": "clerk"}, "call-task")
    model = strict_model([["Delegating. ", tool_calls_part(order)], ["All done."]], ids="all", label="main")
    clerk = {"name": "clerk", "description": "mails", "system_prompt": "mail", "model": sub_model}
    clerk |= {"tools": office.tools(), "interrupt_on": {"send_mail": True}}
    graph = deepagents.create_deep_agent(
        model=model, tools=[], subagents=[clerk], interrupt_on={"task": True}, checkpointer=InMemorySaver()
    )
    tab = Tab(graph, peer)
    await tab.say("hi")
    assert tab.questions[0]["metadata"]["langgraph"]["toolCallIds"] == ["call-task"]
    await tab.answer({"approved": True})
    assert [q["message"].count("send_mail") for q in tab.questions] == [1]
    await tab.answer({"approved": True})
    assert office.done == ["mail hello to ann"]
    assert tab.said[-1] == ("assistant", "All done.")
