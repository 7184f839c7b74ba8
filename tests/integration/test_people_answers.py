"""Answers that do not fit, come twice, late or not at all: nothing is consumed, nothing is lost, nothing runs twice."""

from __future__ import annotations

import operator
from datetime import timedelta
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER

YES = {"type": "boolean"}


class Counted(MessagesState):
    runs: Annotated[int, operator.add]


def two_questions() -> Graph:
    """Two branches that ask at once, then a node that counts how often it ran."""

    def ask(name: str) -> Any:
        def node(state: Counted) -> dict[str, Any]:
            answer = interrupt({"question": f"{name}?"}, response_schema=YES)
            return {"messages": [AIMessage(f"{name}: {answer}", id=f"{name}-{len(state['messages'])}")]}

        return node

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Counted)
    builder.add_node("a", ask("a"))
    builder.add_node("b", ask("b"))
    builder.add_node("end", lambda state: {"runs": 1})
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "end")
    return builder.compile(checkpointer=InMemorySaver())


def tool_asks(*answers: Any, tools: Any = ()) -> Graph:
    """A loop whose model calls a tool that asks, then says these answers one by one."""

    @tool
    async def ask_user(q: str) -> str:
        """Ask the user."""
        return f"they said {interrupt({'question': q})}"

    calls = [tool_calls_part(("ask_user", {"q": "red?"}, "call-1"))]
    return tool_loop(strict_model([calls, *answers], ids="all"), [ask_user, *tools])


def one_question() -> Graph:
    def ask(state: Counted) -> dict[str, Any]:
        answer = interrupt({"question": "Go?"})
        return {"runs": 1, "messages": [AIMessage(f"answered {answer}", id=f"said-{len(state['messages'])}")]}

    return in_a_row({"ask": ask}, Counted)


async def stored(tab: Tab) -> Any:
    """Everything that a refused request must not change."""
    config = {"configurable": {"thread_id": tab.thread}}
    state = await tab.graph.aget_state(config)  # type: ignore[attr-defined]
    return state.config, state.values, state.next, [(i.id, i.value) for i in state.interrupts]


# ---------------------------------------------------------------- refused


def refusals(first: str, second: str) -> dict[str, list[dict[str, Any]]]:
    yes = {"status": "resolved", "payload": True}
    return {
        "incomplete": [{"interruptId": first, **yes}],
        "unknown beside the right ones": [{"interruptId": i, **yes} for i in (first, second, "0" * 32)],
        "only an unknown one": [{"interruptId": "0" * 32, **yes}],
        "no such id": [{"interruptId": "x", **yes}, {"interruptId": second, **yes}],
        "one misfits": [{"interruptId": first, **yes}, {"interruptId": second, "status": "resolved", "payload": "yes"}],
        "no payload": [{"interruptId": first, **yes}, {"interruptId": second, "status": "resolved"}],
        "one cancelled, one missing": [{"interruptId": first, "status": "cancelled"}],
    }


@pytest.mark.parametrize("case", refusals("", ""))
async def test_refused_answers_consume_nothing(peer: Peer, case: str) -> None:
    tab = Tab(two_questions(), peer)
    await tab.say("hi")
    asked, before = tab.questions, await stored(tab)

    for _ in range(2):
        entries = refusals(*(q["id"] for q in asked))[case]
        await tab.send(resume=entries, reloaded=True)
        assert tab.outcome == "INVALID_RESUME"
        assert tab.types == ["RUN_STARTED", "RUN_ERROR"]
        assert await stored(tab) == before

    await tab.send()
    assert tab.questions == asked
    await tab.answer(True, False)
    assert tab.outcome == "success"
    assert tab.state == {"runs": 1}
    assert sorted(text for _, text in tab.said[1:]) == sorted(
        f"{q['message'][0]}: {answer}" for q, answer in zip(asked, (True, False), strict=True)
    )


async def test_a_refused_answer_with_a_new_message_keeps_the_message_out_until_it_fits(peer: Peer) -> None:
    tab = Tab(two_questions(), peer)
    await tab.say("hi")
    asked, before = tab.questions, await stored(tab)
    wrong = [{"interruptId": q["id"], "status": "resolved", "payload": "maybe"} for q in asked]
    await tab.say("and more", resume=wrong)
    assert tab.outcome == "INVALID_RESUME"
    assert await stored(tab) == before
    right = [{**entry, "payload": True} for entry in wrong]
    await tab.send(resume=right)
    assert tab.outcome == "success"
    assert ("user", "and more") in tab.said


async def test_a_node_that_raises_over_an_answer_can_be_answered_again(peer: Peer) -> None:
    def ask(state: Counted) -> dict[str, Any]:
        first, age = interrupt("Name?"), int(interrupt("Age?"))
        return {"runs": 1, "messages": [AIMessage(f"{first} will be {age + 1}", id="said")]}

    tab = Tab(in_a_row({"ask": ask}, Counted), peer)
    await tab.say("hi")
    await tab.answer("Ann")
    asked = tab.questions
    for wrong in ("nine", "ten"):
        await tab.answer(wrong)
        assert tab.outcome == "AGENT_ERROR"
        assert wrong in tab.events[-1]["message"]
        await tab.send()
        assert tab.questions == asked
    await tab.answer("9")
    assert tab.said[-1] == ("assistant", "Ann will be 10")
    assert tab.state == {"runs": 1}


# ---------------------------------------------------------------- twice, late


async def test_the_same_answer_twice(peer: Peer) -> None:
    tab = Tab(one_question(), peer)
    await tab.say("hi")
    entries = [{"interruptId": q["id"], "status": "resolved", "payload": "yes"} for q in tab.questions]
    await tab.send(resume=entries)
    after = await stored(tab)
    shown = tab.said
    for _ in range(2):
        await tab.send(resume=entries)
        assert tab.outcome == "success"
        assert await stored(tab) == after
        assert tab.said == shown
    assert tab.state == {"runs": 1}


async def test_the_same_answer_twice_from_a_client_that_lost_the_first_response(peer: Peer) -> None:
    """The retry shows what the first one did."""
    graph = one_question()
    tab, retry = Tab(graph, peer), Tab(graph, peer, name="retry")
    await tab.say("hi")
    retry.messages = tab.messages
    entries = [{"interruptId": q["id"], "status": "resolved", "payload": "yes"} for q in tab.questions]
    await tab.send(resume=entries)
    await retry.send(resume=entries)
    assert retry.outcome == "success"
    assert retry.said == tab.said
    assert retry.state == {"runs": 1}


async def test_an_answer_to_a_question_that_another_one_followed(peer: Peer) -> None:
    def ask(state: Counted) -> dict[str, Any]:
        heard = [interrupt("first?"), interrupt("second?")]
        return {"messages": [AIMessage(" ".join(heard), id="said")]}

    tab = Tab(in_a_row({"ask": ask}, Counted), peer)
    await tab.say("hi")
    late = [{"interruptId": q["id"], "status": "resolved", "payload": "one"} for q in tab.questions]
    await tab.send(resume=late)
    second = tab.questions
    before = await stored(tab)
    await tab.send(resume=late, reloaded=True)
    assert tab.outcome == "INVALID_RESUME"
    assert await stored(tab) == before
    await tab.send()
    assert tab.questions == second
    await tab.answer("two")
    assert tab.said[-1] == ("assistant", "one two")


async def test_answers_on_a_thread_that_asked_nothing(peer: Peer) -> None:
    tab = Tab(one_question(), peer)
    entries = [{"interruptId": "0" * 32, "status": "resolved", "payload": "yes"}]
    await tab.send(resume=entries)
    assert tab.outcome == "success"
    await tab.say("hi")
    await tab.answer("yes")
    await tab.send(resume=entries)
    assert tab.outcome == "success"
    assert tab.state == {"runs": 1}


async def test_an_answer_on_a_thread_that_is_gone_runs_nothing_again(peer: Peer) -> None:
    """The client has the whole turn, and the server has nothing: what the turn did must not be done twice."""
    tab = Tab(tool_asks("done"), peer)
    await tab.say("hi")
    tab.graph.checkpointer.delete_thread(tab.thread)  # type: ignore[attr-defined]
    await tab.answer("yes", in_step=False)
    assert tab.outcome == "INVALID_RESUME"
    assert (await stored(tab))[1] == {}


async def test_an_answer_to_nothing_with_a_new_message_is_a_new_message(peer: Peer) -> None:
    tab = Tab(one_question(), peer)
    await tab.say("hi", resume=[{"interruptId": "0" * 32, "status": "resolved", "payload": "yes"}])
    assert [q["message"] for q in tab.questions] == ["Go?"]


# ---------------------------------------------------------------- abandoned


async def test_an_abandoned_question(peer: Peer) -> None:
    tab = Tab(one_question(), peer)
    await tab.say("hi")
    await tab.cancel()
    assert tab.said[-1] == ("assistant", "answered {'status': 'cancelled'}")


async def test_a_tools_abandoned_question(peer: Peer) -> None:
    tab = Tab(tool_asks(["I see."]), peer)
    await tab.say("hi")
    await tab.cancel()
    assert tab.said[-2:] == [("tool", "they said {'status': 'cancelled'}"), ("assistant", "I see.")]


# ---------------------------------------------------------------- visited without an answer


async def test_a_visit_asks_again_and_runs_nothing(peer: Peer) -> None:
    tab = Tab(tool_asks(["Good."]), peer)
    await tab.say("hi")
    asked, before, shown = tab.questions, await stored(tab), tab.said
    for _ in range(2):
        await tab.send()
        assert tab.questions == asked
        assert tab.said == shown
        assert "STEP_STARTED" not in tab.types
        assert await stored(tab) == before
    await tab.answer("yes")
    assert tab.said[-1] == ("assistant", "Good.")


async def test_a_reloaded_page_is_asked_again(peer: Peer) -> None:
    graph = tool_asks(["Good."])
    tab = Tab(graph, peer)
    await tab.say("hi")
    page = Tab(graph, peer, name="page")
    await page.send()
    assert page.questions == tab.questions
    assert page.said == tab.said
    await page.answer("yes")
    assert page.said[-1] == ("assistant", "Good.")


async def test_a_new_message_does_not_answer(peer: Peer) -> None:
    """It is shown but not stored, the question is asked again; with the answer both are dealt with, the tool's result
    first, as providers want it."""
    tab = Tab(tool_asks(["Good."], ["It is noon."]), peer)
    await tab.say("hi")
    asked, before = tab.questions, await stored(tab)
    await tab.say("what time is it?", beyond=["user-2"])
    assert tab.questions == asked
    assert tab.said[-1] == ("user", "what time is it?")
    assert await stored(tab) == before

    await tab.answer("yes")
    assert tab.said == [
        ("user", "hi"),
        ("assistant", "ask_user"),
        ("tool", "they said yes"),
        ("assistant", "Good."),
        ("user", "what time is it?"),
        ("assistant", "It is noon."),
    ]


async def test_two_new_messages_before_the_answer(peer: Peer) -> None:
    tab = Tab(tool_asks(["Good."], ["Yes, and yes."]), peer)
    await tab.say("hi")
    await tab.say("one?", beyond=["user-2"])
    await tab.say("two?", beyond=["user-2", "user-3"])
    await tab.answer("yes")
    assert [text for _, text in tab.said] == [
        "hi",
        "ask_user",
        "they said yes",
        "Good.",
        "one?",
        "two?",
        "Yes, and yes.",
    ]


async def test_a_message_that_comes_with_the_answer(peer: Peer) -> None:
    tab = Tab(tool_asks(["Good."], ["It is noon."]), peer)
    await tab.say("hi")
    await tab.say(
        "and the time?",
        resume=[{"interruptId": q["id"], "payload": "yes", "status": "resolved"} for q in tab.questions],
    )
    assert tab.outcome == "success"
    assert tab.said[2:] == [
        ("tool", "they said yes"),
        ("assistant", "Good."),
        ("user", "and the time?"),
        ("assistant", "It is noon."),
    ]
    await tab.send()
    assert tab.said[-1] == ("assistant", "It is noon.")


async def test_a_message_that_comes_with_the_answer_to_a_node(peer: Peer) -> None:
    """No call is open, so the node itself sees the message."""
    seen: list[list[str]] = []

    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Go?")
        seen.append([m.text for m in state["messages"]])
        return {"messages": [AIMessage(f"{answer} to {len(state['messages'])}", id="said")]}

    tab = Tab(in_a_row({"ask": ask}), peer)
    await tab.say("hi")
    await tab.say("quickly", resume=[{"interruptId": tab.questions[0]["id"], "status": "resolved", "payload": "yes"}])
    assert tab.said[:2] == [("user", "hi"), ("user", "quickly")]
    assert tab.outcome == "success"
    assert len(seen) == 1


async def test_a_message_that_comes_with_an_answer_that_leads_to_another_question(peer: Peer) -> None:
    """It waits for its turn: the model hears it when the last call has its result."""

    @tool
    async def ask_twice(q: str) -> str:
        """Ask twice."""
        return f"{interrupt(q)} and {interrupt('really?')}"

    calls = [tool_calls_part(("ask_twice", {"q": "red?"}, "call-1"))]
    tab = Tab(tool_loop(strict_model([calls, ["Good."], ["It is noon."]], ids="all"), [ask_twice]), peer)
    await tab.say("hi")
    await tab.say(
        "time?",
        resume=[{"interruptId": tab.questions[0]["id"], "status": "resolved", "payload": "yes"}],
        beyond=["user-2"],
    )
    assert [q["message"] for q in tab.questions] == ["really?"]
    assert ("user", "time?") in tab.said
    await tab.answer("sure")
    assert [text for _, text in tab.said] == ["hi", "ask_twice", "yes and sure", "Good.", "time?", "It is noon."]


# ---------------------------------------------------------------- the older ways


@pytest.mark.parametrize("interrupts", ["custom", "both", "outcome"])
@pytest.mark.parametrize("answer", ["yes", {"approved": True, "note": "fine"}, None, False, 0, ["a"]], ids=repr)
async def test_the_custom_event_and_the_command(peer: Peer, interrupts: Any, answer: Any) -> None:
    tab = Tab(one_question(), peer, options=AdapterOptions(interrupts=interrupts))
    await tab.say("hi")
    events = [event for event in tab.events_of("CUSTOM") if event["name"] == "on_interrupt"]
    assert [event["value"] for event in events] == ([{"question": "Go?"}] if interrupts != "outcome" else [])
    assert len(tab.questions) == (0 if interrupts == "custom" else 1)
    assert tab.types.index("MESSAGES_SNAPSHOT") < len(tab.types) - 1 - len(events)

    await tab.send(forwarded_props={"command": {"resume": answer, "interruptEvent": {"question": "Go?"}}})
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", f"answered {answer}")


@pytest.mark.parametrize("interrupts", ["custom", "both"])
async def test_a_visit_repeats_the_custom_event(peer: Peer, interrupts: Any) -> None:
    tab = Tab(one_question(), peer, options=AdapterOptions(interrupts=interrupts))
    await tab.say("hi")
    for _ in range(2):
        await tab.send()
        assert [event["value"] for event in tab.events_of("CUSTOM")] == [{"question": "Go?"}]
    await tab.send(forwarded_props={"command": {"resume": "yes"}})
    assert tab.said[-1] == ("assistant", "answered yes")


async def test_a_command_for_several_questions(peer: Peer) -> None:
    """The older way knows no ids, so one answer for two questions is refused; a map by id is understood."""
    tab = Tab(two_questions(), peer, options=AdapterOptions(interrupts="custom"))
    await tab.say("hi")
    assert sorted(event["value"]["question"] for event in tab.events_of("CUSTOM")) == ["a?", "b?"]
    before = await stored(tab)
    ids = [event["metadata"]["langgraph"]["interruptId"] for event in tab.events_of("CUSTOM")]
    assert tab.events[-1]["metadata"] == {"langgraph": {"interruptIds": ids}}
    await tab.send(forwarded_props={"command": {"resume": True}})
    assert tab.outcome == "INVALID_RESUME"
    assert await stored(tab) == before
    await tab.send(forwarded_props={"command": {"resume": dict.fromkeys(ids, "x")}})
    assert tab.outcome == "INVALID_RESUME"
    assert await stored(tab) == before
    await tab.send(forwarded_props={"command": {"resume": dict.fromkeys(ids, True)}})
    assert tab.outcome == "success"
    assert tab.state == {"runs": 1}


@pytest.mark.parametrize("interrupts", ["outcome", "custom", "both"])
async def test_a_run_that_asked_is_no_success_to_the_application(peer: Peer, interrupts: Any) -> None:
    """In each way in which a client can get the question."""
    ends: list[Any] = []
    hooks = Hooks(after_run=lambda run: ends.append(run.outcome))
    tab = Tab(one_question(), peer, options=AdapterOptions(interrupts=interrupts), hooks=hooks)
    await tab.say("hi")
    await tab.send(reloaded=True)
    await tab.send(forwarded_props={"command": {"resume": "yes"}})
    assert ends == ["interrupt", "interrupt", "success"]


async def test_a_command_on_a_thread_that_asked_nothing(peer: Peer) -> None:
    tab = Tab(one_question(), peer)
    await tab.send(forwarded_props={"command": {"resume": "yes"}})
    assert tab.outcome == "success"


# ---------------------------------------------------------------- CopilotKit's habits


async def test_the_same_run_id_when_it_answers(peer: Peer) -> None:
    tab = Tab(tool_asks(["Good."]), peer)
    await tab.say("hi", run_id="the-run")
    await tab.answer("yes", run_id="the-run")
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", "Good.")
    await tab.send()
    assert tab.said[-1] == ("assistant", "Good.")


@pytest.mark.parametrize("content", ["yes", '{"approved": true}', ""])
async def test_the_answer_comes_twice_as_tool_message_and_as_resume(peer: Peer, content: str) -> None:
    """The tool's own result is the result; the client's message goes, so no call has two."""
    deleted: list[str] = []

    @tool
    async def delete(path: str) -> str:
        """Delete a file."""
        deleted.append(path)
        return f"deleted {path}"

    calls = [tool_calls_part(("delete", {"path": "/a"}, "call-1"))]
    graph = tool_loop(strict_model([calls, ["Done."]], ids="all"), [require_approval(delete)])
    tab = Tab(graph, peer)
    await tab.say("hi", run_id="the-run")
    [question] = tab.questions
    assert (question["reason"], question["toolCallId"]) == ("tool_call", "call-1")
    twice = [*tab.messages, tab.result({"id": "call-1"}, content)]
    entries = [{"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}]
    await tab.send(twice, resume=entries, run_id="the-run")
    assert [m for m in tab.said if m[0] == "tool"] == [("tool", "deleted /a")]
    assert tab.said[-1] == ("assistant", "Done.")
    assert deleted == ["/a"]


async def test_a_tool_message_alone_does_not_answer_a_question(peer: Peer) -> None:
    tab = Tab(tool_asks(["Good."]), peer)
    await tab.say("hi")
    asked, before = tab.questions, await stored(tab)
    await tab.send([*tab.messages, tab.result({"id": "call-1"}, "forged")])
    assert tab.questions == asked
    assert await stored(tab) == before
    assert [m for m in tab.said if m[0] == "tool"] == []
    await tab.answer("yes")
    assert tab.said[-1] == ("assistant", "Good.")


# ---------------------------------------------------------------- no checkpointer, expiry


async def test_without_a_checkpointer_a_question_is_an_error_that_says_so(peer: Peer) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('Go?')}")]}

    tab = Tab(in_a_row({"ask": ask}, checkpointer=None), peer)
    await tab.say("hi")
    assert tab.outcome == "AGENT_ERROR"
    assert "checkpointer" in tab.events[-1]["message"]
    await tab.send(resume=[{"interruptId": "0" * 32, "status": "resolved", "payload": "yes"}])
    assert tab.outcome in ("INVALID_INPUT", "INVALID_RESUME")
    assert "checkpointer" in tab.events[-1]["message"]


@pytest.mark.parametrize("late", [False, True])
async def test_expiry(peer: Peer, late: bool) -> None:
    """Clients before 1.0 would refuse every answer to an expired question, so they do not get the time."""

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    limit = timedelta(microseconds=1) if late else timedelta(hours=1)
    calls = [tool_calls_part(("pay", {"amount": 3}, "call-1"))]
    graph = tool_loop(strict_model([calls, ["Done."]], ids="all"), [require_approval(pay, expires_in=limit)])
    tab = Tab(graph, peer, ignore=["client"])
    await tab.say("hi")
    [question] = tab.questions
    assert ("expiresAt" in question) == (peer.version is not None)
    assert "expires_at" in question["metadata"]["langgraph"]["value"]
    if late and peer.version is not None:
        await tab.cancel()  # all that this client still lets people do
        assert "dismissed" in tab.said[-2][1]
    else:
        await tab.answer({"approved": True})
        assert ("came too late" if late else "paid 3") in tab.said[-2][1]
    assert tab.said[-1] == ("assistant", "Done.")
    _, messages = await held(graph)
    assert len(messages) == 4
