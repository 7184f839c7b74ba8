"""Approvals: what runs, what does not, and that everything that runs, runs once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import pytest
from dirty_equals import IsPartialDict
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command, RetryPolicy, interrupt

from tests.support.approving import KINDS, SEPARATE, Kind, agent_graph, drive, results, tools_graph
from tests.support.graphs import in_a_row
from tests.support.histories import calls, strict_model, transcript
from yai_nexus_agentkit.orchestration.approvals import APPROVAL, require_approval

YES = {"approved": True}
NO = {"approved": False}


class Shop:
    """Tools that count how often they ran, and with what."""

    def __init__(self, *, asynchronous: bool = True) -> None:
        self.ran: list[Any] = []

        def pay(amount: int, to: str = "shop") -> str:
            """Pay somebody."""
            self.ran.append((amount, to))
            return f"paid {amount} to {to}"

        async def apay(amount: int, to: str = "shop") -> str:
            """Pay somebody."""
            await asyncio.sleep(0)
            return pay(amount, to)

        def look(item: str) -> str:
            """Look at something."""
            self.ran.append(item)
            return f"saw {item}"

        self.pay: BaseTool = tool("pay")(apay if asynchronous else pay)
        self.look: BaseTool = tool(look)


def pay(id: str, **args: Any) -> tuple[str, dict[str, Any], str]:
    return ("pay", args, id)


@pytest.mark.parametrize("answer", [True, YES, {"approved": True, "editedArgs": None}, {"type": "approve"}])
@pytest.mark.parametrize("kind", KINDS)
def test_an_explicit_yes_runs_the_tool_once(kind: Kind, answer: Any) -> None:
    shop = Shop()
    graph = agent_graph(kind, strict_model([calls(pay("p1", amount=5)), "Done."]), [require_approval(shop.pay)])
    state, pauses = drive(graph, lambda _: answer)
    assert pauses == [
        [
            IsPartialDict(
                type="tool_approval",
                tool_call_id="p1",
                name="pay",
                args={"amount": 5},
                description='Allow pay with {"amount": 5}?',
            )
        ]
    ]
    assert shop.ran == [(5, "shop")]
    assert transcript(state["messages"])[2:] == [("tool p1", "paid 5 to shop"), ("ai", "Done.")]
    assert APPROVAL not in results(state)[0].additional_kwargs


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (NO, "denied"),
        (False, "denied"),
        (1, "denied"),
        ("yes", "denied"),
        ("true", "denied"),
        ([], "denied"),
        ({}, "denied"),
        ({"approved": 1}, "denied"),
        ({"approved": "true"}, "denied"),
        ({"approved": None}, "denied"),
        ({"Approved": True}, "denied"),
        ({"editedArgs": {"amount": 1}}, "denied"),
        ({"type": "reject"}, "denied"),
        ({"type": "respond", "message": "no"}, "denied"),
        ({"type": "approve", "approved": False}, "denied"),
        ({"type": "reject", "approved": True}, "denied"),
        ({"decisions": [{"type": "approve"}]}, "denied"),
        ({"status": "cancelled"}, "cancelled"),
        ({"status": "cancelled", "approved": True}, "cancelled"),
        ({"type": "edit"}, "invalid"),
        ({"approved": True, "editedArgs": "amount=1"}, "invalid"),
    ],
)
def test_everything_else_denies(answer: Any, kind: str) -> None:
    shop = Shop()
    graph = agent_graph("routed", strict_model([calls(pay("p1", amount=5)), "I see."]), [require_approval(shop.pay)])
    state, pauses = drive(graph, lambda _: answer)
    [denial] = results(state)
    assert (len(pauses), shop.ran) == (1, [])
    assert "was not executed" in denial.text
    assert (denial.name, denial.status, denial.additional_kwargs[APPROVAL]) == ("pay", "success", kind)


@pytest.mark.parametrize(
    "answer", [{"approved": False, "reason": "too dear"}, {"type": "reject", "message": "too dear"}]
)
def test_the_model_gets_the_reason(answer: Any) -> None:
    graph = agent_graph("routed", strict_model([calls(pay("p1", amount=5)), "I see."]), [require_approval(Shop().pay)])
    state, _ = drive(graph, lambda _: answer)
    assert "too dear" in results(state)[0].text


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": True, "editedArgs": {"amount": 2, "to": "charity"}},
        {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 2, "to": "charity"}}},
        {"type": "edit", "edited_action": {"args": {"amount": "2", "to": "charity"}}},
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_edited_arguments_replace_the_models(kind: Kind, answer: Any) -> None:
    shop = Shop()
    graph = agent_graph(kind, strict_model([calls(pay("p1", amount=5)), "Done."]), [require_approval(shop.pay)])
    state, _ = drive(graph, lambda _: answer)
    assert shop.ran == [(2, "charity")]
    [result] = results(state)
    assert result.text.startswith("The user changed the arguments before pay ran.")
    assert result.text.endswith("\n\npaid 2 to charity")
    assert result.additional_kwargs[APPROVAL] == "edited"
    assert state["messages"][1].tool_calls[0]["args"] == {"amount": 5}


def test_edits_that_leave_out_an_argument_fall_back_to_its_default_not_to_the_models() -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=5, to="thief")), "Done."])
    graph = agent_graph("routed", model, [require_approval(shop.pay)])
    drive(graph, lambda _: {"approved": True, "editedArgs": {"amount": 5}})
    assert shop.ran == [(5, "shop")]


def test_unchanged_edits_are_a_plain_yes() -> None:
    shop = Shop()
    graph = agent_graph(
        "routed", strict_model([calls(pay("p1", amount=5)), "Done."]), [require_approval(shop.pay, allow_edit=False)]
    )
    state, _ = drive(graph, lambda _: {"approved": True, "editedArgs": {"amount": 5}})
    assert results(state)[0].text == "paid 5 to shop"


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ({"amount": "much"}, "amount: "),
        ({}, "amount: "),
        ({"amount": 2, "too": "charity"}, "too: unknown argument"),
    ],
)
def test_edits_that_do_not_fit_deny(edits: Any, says: str) -> None:
    shop = Shop()
    graph = agent_graph("routed", strict_model([calls(pay("p1", amount=5)), "I see."]), [require_approval(shop.pay)])
    state, _ = drive(graph, lambda _: {"approved": True, "editedArgs": edits})
    assert shop.ran == []
    assert says in results(state)[0].text
    assert results(state)[0].additional_kwargs[APPROVAL] == "invalid"


def test_edits_cannot_choose_another_tool() -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=5)), "I see."])
    graph = agent_graph("routed", model, [require_approval(shop.pay), shop.look])
    state, _ = drive(
        graph, lambda _: {"type": "edit", "edited_action": {"name": "look", "args": {"item": "the password"}}}
    )
    assert shop.ran == []
    assert results(state)[0].additional_kwargs[APPROVAL] == "invalid"


def test_where_edits_are_not_allowed_they_deny_and_are_not_offered() -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=5)), "I see."])
    graph = agent_graph("routed", model, [require_approval(shop.pay, allow_edit=False)])
    state, _ = drive(graph, lambda _: {"approved": True, "editedArgs": {"amount": 1}})
    assert shop.ran == []
    assert results(state)[0].additional_kwargs[APPROVAL] == "invalid"


@pytest.mark.parametrize(
    ("async_tool", "asynchronous"),
    [(True, True), (False, True), (False, False)],
    ids=["async tool, async graph", "sync tool, async graph", "sync tool, sync graph"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_several_calls_of_a_message_each_get_their_own_answer(kind: Kind, async_tool: bool, asynchronous: bool) -> None:
    for _ in range(5):  # ToolNode's threads arrive in another order each time.
        shop = Shop(asynchronous=async_tool)
        wanted = [pay(f"p{n}", amount=n) for n in range(5)]
        graph = agent_graph(kind, strict_model([calls(*wanted), "Done."]), [require_approval(shop.pay)])

        def decide(question: Mapping[str, Any]) -> Any:
            amount = question["args"]["amount"]
            assert question["tool_call_id"] == f"p{amount}"
            edited = {"editedArgs": {"amount": 40}} if amount == 4 else {}
            return {"approved": amount % 2 == 0, "reason": f"not {amount}", **edited}

        state, pauses = drive(graph, decide, asynchronous=asynchronous)
        asked = [[question["tool_call_id"] for question in pause] for pause in pauses]
        everything = [f"p{n}" for n in range(5)]
        # Tasks of their own ask at the same time; LangGraph lists them in the order in which they asked.
        assert (list(map(sorted, asked)) if kind in SEPARATE else asked) == (
            [everything] if kind in SEPARATE else [[id] for id in everything]
        )
        assert sorted(shop.ran) == [(0, "shop"), (2, "shop"), (40, "shop")]
        assert [m.tool_call_id for m in results(state)] == everything
        texts = [m.text.splitlines()[-1] for m in results(state)]
        assert texts[::2] == ["paid 0 to shop", "paid 2 to shop", "paid 40 to shop"]
        assert [text.endswith(f"not {n}") for text, n in zip(texts[1::2], (1, 3), strict=True)] == [True, True]


def test_answers_without_an_id_go_to_the_one_open_question() -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=1), pay("p2", amount=2)), "Done."])
    graph = agent_graph("one task", model, [require_approval(shop.pay)])
    config: Any = {"configurable": {"thread_id": "t"}}

    async def run() -> dict[str, Any]:
        await graph.ainvoke({"messages": [HumanMessage("hi")]}, config)
        await graph.ainvoke(Command(resume=NO), config)
        assert shop.ran == []
        return dict(await graph.ainvoke(Command(resume=YES), config))

    state = asyncio.run(run())
    assert shop.ran == [(2, "shop")]
    assert [m.additional_kwargs.get(APPROVAL) for m in results(state)] == ["denied", None]


@pytest.mark.parametrize("kind", SEPARATE)
def test_tools_beside_them_run_once_where_every_call_is_a_task(kind: Kind) -> None:
    shop = Shop()
    wanted = [("look", {"item": "a"}, "l1"), pay("p1", amount=1), ("look", {"item": "b"}, "l2"), pay("p2", amount=2)]
    graph = agent_graph(kind, strict_model([calls(*wanted), "Done."]), [require_approval(shop.pay), shop.look])
    state, pauses = drive(graph, lambda _: YES)
    assert len(pauses) == 1
    assert Counter(map(str, shop.ran)) == Counter(["a", "b", "(1, 'shop')", "(2, 'shop')"])
    assert [m.tool_call_id for m in results(state)] == ["l1", "p1", "l2", "p2"]


def test_answering_one_question_of_several_keeps_the_other_open() -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=1), pay("p2", amount=2)), "Done."])
    graph = agent_graph("routed", model, [require_approval(shop.pay)])
    config: Any = {"configurable": {"thread_id": "t"}}

    async def run() -> dict[str, Any]:
        state = await graph.ainvoke({"messages": [HumanMessage("hi")]}, config)
        by_call = {question.value["tool_call_id"]: question.id for question in state["__interrupt__"]}
        await graph.ainvoke(Command(resume={by_call["p2"]: YES}), config)
        await graph.ainvoke(Command(resume={by_call["p2"]: YES}), config)  # The same answer once more.
        assert shop.ran == [(2, "shop")]
        return dict(await graph.ainvoke(Command(resume={by_call["p1"]: NO}), config))

    state = asyncio.run(run())
    assert shop.ran == [(2, "shop")]
    assert [m.additional_kwargs.get(APPROVAL) for m in results(state)] == ["denied", None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_predicate_decides_by_the_validated_arguments(kind: Kind) -> None:
    shop = Shop()
    seen: list[dict[str, Any]] = []

    def large(args: dict[str, Any]) -> bool:
        seen.append(args)
        return bool(args["amount"] > 100)

    wanted = [pay("p1", amount=5), pay("p2", amount="500"), pay("p3", amount=7)]
    graph = agent_graph(kind, strict_model([calls(*wanted), "Done."]), [require_approval(shop.pay, when=large)])
    _, pauses = drive(graph, lambda _: NO)
    assert [[q["tool_call_id"] for q in pause] for pause in pauses] == [["p2"]]
    assert pauses[0][0]["args"] == {"amount": "500"}  # As the model wrote it.
    assert {"amount": 500, "to": "shop"} in seen
    assert set(shop.ran) == {(5, "shop"), (7, "shop")}


def test_a_predicate_that_fails_asks(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    tools = [require_approval(shop.pay, when=lambda args: bool(args["misspelt"]))]
    graph = agent_graph("routed", strict_model([calls(pay("p1", amount=5)), "I see."]), tools)
    with caplog.at_level(logging.WARNING):
        _, pauses = drive(graph, lambda _: NO)
    assert len(pauses) == 1
    assert shop.ran == []
    assert "The predicate of 'pay' failed" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_asked_about_arguments_that_do_not_fit(kind: Kind) -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount="much"), pay("p2", amount=2)), "Sorry."])
    graph = agent_graph(kind, model, [require_approval(shop.pay)])
    state, pauses = drive(graph, lambda _: YES)
    assert [[q["tool_call_id"] for q in pause] for pause in pauses] == [["p2"]]
    assert shop.ran == [(2, "shop")]
    assert results(state)[0].status == "error"
    assert "amount" in results(state)[0].text


def test_the_message_is_the_authors() -> None:
    shop = Shop()
    for message, expected in (("Really?", "Really?"), (lambda args: f"Pay {args['amount']}?", "Pay 5?")):
        model = strict_model([calls(pay("p1", amount=5)), "Done."])
        graph = agent_graph("routed", model, [require_approval(shop.pay, message=message)])
        _, [[question]] = drive(graph, lambda _: YES)
        assert question["description"] == expected


def test_the_default_message_of_a_large_call_stays_readable() -> None:
    model = strict_model([calls(pay("p1", amount=5, to="x" * 100_000)), "Done."])
    graph = agent_graph("routed", model, [require_approval(Shop().pay)])
    _, [[question]] = drive(graph, lambda _: NO)
    assert len(question["description"]) < 600
    assert question["args"]["to"] == "x" * 100_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("limit", "expected"), [(timedelta(hours=1), None), (timedelta(milliseconds=1), "expired")], ids=["in time", "late"]
)
def test_a_yes_counts_until_the_limit(kind: Kind, limit: timedelta, expected: str | None) -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=1)), "Done."])
    graph = agent_graph(kind, model, [require_approval(shop.pay, expires_in=limit)])
    before = datetime.now(UTC)

    def decide(question: Mapping[str, Any]) -> Any:
        asked = datetime.fromisoformat(question["expires_at"]) - limit
        assert before - timedelta(milliseconds=1) <= asked <= datetime.now(UTC)
        time.sleep(0.01)
        return YES

    state, _ = drive(graph, decide)
    assert shop.ran == ([] if expected else [(1, "shop")])
    assert results(state)[0].additional_kwargs.get(APPROVAL) == expected


def test_a_no_after_the_limit_is_a_no() -> None:
    model = strict_model([calls(pay("p1", amount=1)), "I see."])
    graph = agent_graph("routed", model, [require_approval(Shop().pay, expires_in=timedelta(milliseconds=1))])
    state, _ = drive(graph, lambda _: time.sleep(0.01) or {"approved": False, "reason": "too dear"})
    assert results(state)[0].additional_kwargs[APPROVAL] == "denied"
    assert "too dear" in results(state)[0].text


def test_asking_again_does_not_move_the_limit() -> None:
    graph = agent_graph(
        "routed",
        strict_model([calls(pay("p1", amount=1), pay("p2", amount=2)), "Done."]),
        [require_approval(Shop().pay, expires_in=timedelta(minutes=1))],
    )
    config: Any = {"configurable": {"thread_id": "t"}}

    def limits(state: Mapping[str, Any]) -> dict[str, str]:
        return {q.value["tool_call_id"]: q.value["expires_at"] for q in state["__interrupt__"]}

    async def run() -> None:
        state = await graph.ainvoke({"messages": [HumanMessage("hi")]}, config)
        first = limits(state)
        p1 = next(q.id for q in state["__interrupt__"] if q.value["tool_call_id"] == "p1")
        await asyncio.sleep(0.05)
        assert limits(await graph.ainvoke(Command(resume={p1: YES}), config))["p2"] == first["p2"]

    asyncio.run(run())


@pytest.mark.parametrize("limit", [timedelta(0), timedelta(seconds=-1)])
def test_a_limit_must_be_positive(limit: timedelta) -> None:
    with pytest.raises(ValueError, match="positive"):
        require_approval(Shop().pay, expires_in=limit)


@pytest.mark.parametrize("edits", [True, False])
def test_the_schema_of_the_answer_takes_what_is_understood(edits: bool) -> None:
    graph = agent_graph(
        "routed",
        strict_model([calls(pay("p1", amount=5))]),
        [require_approval(Shop().pay, allow_edit=edits)],
    )
    state = asyncio.run(graph.ainvoke({"messages": [HumanMessage("hi")]}, {"configurable": {"thread_id": "t"}}))
    [question] = state["__interrupt__"]
    schema = getattr(question, "response_schema", None) or question.value["response_schema"]
    validator = jsonschema.Draft202012Validator(schema)
    for answer in (
        YES,
        NO,
        {"approved": False, "reason": "no"},
        {"type": "approve"},
        {"type": "reject", "message": ""},
    ):
        validator.validate(answer)
    edited = [{"approved": True, "editedArgs": {"amount": 2}}, {"type": "edit", "edited_action": {"args": {}}}]
    assert validator.is_valid(edited[1]) is edits
    validator.validate(edited[0])
    for misfit in ({}, "yes", {"approved": "yes"}, {"type": "respond"}, {"reason": "no"}):
        assert not validator.is_valid(misfit)
    if edits:
        assert not validator.is_valid({"approved": True, "editedArgs": {"amount": "much"}})


@pytest.mark.parametrize("kind", ["one task", "routed"])
def test_without_a_checkpointer_the_error_says_so(kind: Kind) -> None:
    shop = Shop()
    graph = tools_graph(kind, strict_model([calls(pay("p1", amount=5))]), [require_approval(shop.pay)]).compile()
    with pytest.raises(RuntimeError, match="'pay' requires approval, but the graph has no checkpointer"):
        asyncio.run(graph.ainvoke({"messages": [HumanMessage("hi")]}))
    assert shop.ran == []


def test_outside_a_graph_the_error_says_so() -> None:
    shop = Shop(asynchronous=False)
    asking = require_approval(shop.pay)
    ways = [
        lambda: asking.invoke({"amount": 5}),
        lambda: asking.run({"amount": 5}),
        lambda: asyncio.run(asking.ainvoke({"amount": 5})),
        lambda: asyncio.run(asking.arun({"amount": 5})),
        lambda: asking.func(amount=5),  # type: ignore[attr-defined]
    ]
    for way in ways:
        with pytest.raises(RuntimeError, match="requires approval"):
            way()
    assert shop.ran == []


def test_a_retried_node_does_not_ask_again() -> None:
    attempts: list[int] = []

    @tool
    def flaky(x: int) -> str:
        """Fail once."""
        attempts.append(x)
        if len(attempts) == 1:
            raise ConnectionError("lost")
        return "fine"

    retry = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    graph = agent_graph(
        "one task",
        strict_model([calls(("flaky", {"x": 1}, "f1")), "Done."]),
        [require_approval(flaky)],
        retry=retry,
    )
    state, pauses = drive(graph, lambda _: YES)
    assert len(pauses) == 1
    assert attempts == [1, 1]
    assert results(state)[0].text == "fine"


@pytest.mark.parametrize("kind", KINDS)
def test_an_approved_tool_may_ask_a_question_of_its_own(kind: Kind) -> None:
    got: list[Any] = []

    @tool
    def sign(document: str) -> str:
        """Sign."""
        got.append(interrupt({"question": f"Password for {document}?"}))
        return "signed"

    graph = agent_graph(
        kind, strict_model([calls(("sign", {"document": "d"}, "s1")), "Done."]), [require_approval(sign)]
    )
    state, pauses = drive(graph, lambda q: "secret" if "question" in q else YES)
    assert [len(pause) for pause in pauses] == [1, 1]
    assert got == ["secret"]
    assert results(state)[0].text == "signed"


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_subgraph(kind: Kind) -> None:
    shop = Shop()
    model = strict_model([calls(pay("p1", amount=1), pay("p2", amount=2)), "Done."])
    if kind == "create_agent":
        inner = pytest.importorskip("langchain.agents").create_agent(model, [require_approval(shop.pay)])
    else:
        inner = tools_graph(kind, model, [require_approval(shop.pay, expires_in=timedelta(minutes=1))]).compile()
    state, _ = drive(in_a_row({"inner": inner}), lambda q: {"approved": q["args"]["amount"] == 2})
    assert shop.ran == [(2, "shop")]
    assert [m.additional_kwargs.get(APPROVAL) for m in results(state)] == ["denied", None]


def test_two_threads_at_once_do_not_mix_their_answers() -> None:
    shop = Shop()

    def script(messages: list[Any]) -> Any:
        return "Done." if len(messages) > 1 else calls(*(pay(f"p{n}", amount=n, to=messages[0].text) for n in range(3)))

    graph = agent_graph("one task", strict_model(script), [require_approval(shop.pay)])

    async def one(name: str) -> list[str]:
        config: Any = {"configurable": {"thread_id": name}}
        state = await graph.ainvoke({"messages": [HumanMessage(name)]}, config)
        while questions := state.get("__interrupt__"):
            await asyncio.sleep(0)
            assert {q.value["args"]["to"] for q in questions} == {name}
            verdicts = {q.id: {"approved": (q.value["args"]["amount"] + len(name)) % 2 == 0} for q in questions}
            state = await graph.ainvoke(Command(resume=verdicts), config)
        return [m.text for m in results(state)]

    async def both() -> None:
        even, odd = await asyncio.gather(one("even"), one("odd"))
        assert [text.startswith("paid") for text in even] == [True, False, True]
        assert [text.startswith("paid") for text in odd] == [False, True, False]

    asyncio.run(both())
    assert Counter(shop.ran) == Counter([(0, "even"), (2, "even"), (1, "odd")])
