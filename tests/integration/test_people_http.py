"""People in the loop over HTTP: a real server, and the official clients of both generations."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

pytest.importorskip("langchain")

from tests.support.errands import CLIENT_TOOLS
from tests.support.serving import official_client, served

pytestmark = pytest.mark.parametrize("client", ["1.0.0", "0.0.59"])


DEEP = pytest.mark.skipif(find_spec("deepagents") is None, reason="deepagents is not installed")
AGENTS = ["by-hand", "agent", *(pytest.param(name, marks=DEEP) for name in ("deep", "deep-callbacks"))]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.served_people:everything") as url:
        yield url


def turns(url: str, client: str, *turns: dict[str, Any], **scenario: Any) -> list[Any]:
    """The turns of a scenario without problems: no warning of the client, nothing refused but what `allowRunError`
    admits. These agents never wait for anything, so a short answer may well arrive in one piece."""
    report = official_client(url, client, {"tools": CLIENT_TOOLS, "turns": list(turns), **scenario})
    assert [problem for problem in report["problems"] if "arrived in one piece" not in problem] == []
    found: list[Any] = report["threads"][0]["turns"]
    return found


def texts(turn: Any, role: str) -> list[str]:
    return [message.get("content", "") for message in turn["messages"] if message["role"] == role]


@pytest.mark.parametrize("agent", AGENTS)
def test_questions_approvals_and_client_tools(server: str, client: str, agent: str) -> None:
    """A whole conversation: a mixed turn, questions one after the other, an approval with edits, and small talk."""
    results = {"pick": "red", "show": {"$error": "no screen"}}
    first, second, third, fourth, fifth = turns(
        f"{server}/{agent}",
        client,
        {"user": "look pick show"},
        {"user": "ask twice"},
        {"resume": {"payload": "yes"}},
        {"resume": {"payload": "really"}},
        {"user": "hello"},
        toolResults=results,
    )
    assert len(first["runs"]) == 2
    assert sorted(texts(first, "tool")) == ["found look 0", "no screen", "red"]
    assert len(second["pendingInterrupts"]) == 2
    assert [question["message"] for question in third["pendingInterrupts"]] == ["twice 1, really?"]
    assert fourth["pendingInterrupts"] == []
    assert {"they said yes", "yes and really"} <= set(texts(fourth, "tool"))
    assert texts(fifth, "assistant")[-1] == "You said hello. "


@pytest.mark.parametrize("agent", AGENTS)
def test_an_approval_with_edits(server: str, client: str, agent: str) -> None:
    edited = {"approved": True, "editedArgs": {"q": "less"}}
    asked, paid = turns(f"{server}/{agent}", client, {"user": "pay"}, {"resume": {"payload": edited}})
    [question] = asked["pendingInterrupts"]
    assert question["reason"] == "tool_call"
    assert texts(paid, "tool")[0].endswith("paid less")
    assert [len(message.get("toolCalls", [])) for message in paid["messages"] if message["role"] == "assistant"] == [
        1,
        0,
    ]


@DEEP
@pytest.mark.parametrize(("payload", "says"), [({"approved": True}, "paid 5"), ({"approved": False}, "not executed")])
def test_a_subagent_of_a_deep_agent_asks(server: str, client: str, payload: Any, says: str) -> None:
    """The question goes to the user, the answer to the file that the agent writes, the file to the client's state."""
    asked, done, again = turns(
        f"{server}/delegating", client, {"user": "pay"}, {"resume": {"payload": payload}}, {"user": "again"}
    )
    [question] = asked["pendingInterrupts"]
    assert question["reason"] == "tool_call"
    assert done["pendingInterrupts"] == []
    assert texts(done, "assistant")[-1] == "All done."
    [(_, file)] = done["state"]["files"].items()
    assert says in str(file["content"])
    assert len(again["pendingInterrupts"]) == 1
    assert again["state"]["files"] == done["state"]["files"]


def test_a_batch_of_approvals(server: str, client: str) -> None:
    decisions = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "not bob"}]}
    asked, sent = turns(f"{server}/mailer", client, {"user": "ann bob"}, {"resume": {"payload": decisions}})
    assert [question["reason"] for question in asked["pendingInterrupts"]] == ["langgraph:tool_approval"]
    assert texts(sent, "tool")[0] == "sent to ann" or "sent to ann" in texts(sent, "tool")
    assert any("not bob" in text for text in texts(sent, "tool"))


def test_answers_by_id_and_refusals(server: str, client: str) -> None:
    scenario = [
        {"user": "go"},
        {"resume": [{"payload": "x"}, {"payload": "y"}]},
        {"resume": [{"payload": {"width": 3}}, {"payload": {"width": 3}}]},
    ]
    asked, refused, answered = turns(f"{server}/form", client, *scenario, allowRunError=True)
    assert sorted(question["message"] for question in asked["pendingInterrupts"]) == ["How wide?", "Sure?"]
    assert refused["runs"][0]["runError"]["code"] == "INVALID_RESUME"
    assert answered["pendingInterrupts"] == []
    assert "3 wide" in texts(answered, "assistant")


def test_an_abandoned_question(server: str, client: str) -> None:
    asked, left = turns(f"{server}/by-hand", client, {"user": "ask"}, {"resume": {"status": "cancelled"}})
    assert len(asked["pendingInterrupts"]) == 1
    assert texts(left, "tool") == ["they said {'status': 'cancelled'}"]


def test_the_older_way(server: str, client: str) -> None:
    [asked] = turns(f"{server}/older", client, {"user": "go"})
    events = [event for event in asked["runs"][0]["events"] if event["type"] == "CUSTOM"]
    assert asked["pendingInterrupts"] == []
    assert sorted(str(event["value"]) for event in events) == ["Sure?", "{'question': 'How wide?'}"]


def test_a_message_sent_with_the_answer(server: str, client: str) -> None:
    _, both = turns(f"{server}/agent", client, {"user": "ask"}, {"user": "look", "resume": {"payload": "yes"}})
    assert texts(both, "user") == ["ask", "look"]
    assert [message["role"] for message in both["messages"]] == [
        *["user", "assistant", "tool", "assistant"],
        *["user", "assistant", "tool", "assistant"],
    ]


def test_edited_repeated_and_deleted_messages(server: str, client: str) -> None:
    def said(id: str, text: str) -> dict[str, str]:
        return {"id": id, "role": "user", "content": text}

    edited, again = turns(
        f"{server}/by-hand",
        client,
        {"messages": [said("u1", "hello")]},
        {"messages": [said("u1", "look")]},
    )
    assert texts(edited, "user") == ["hello"]
    assert texts(again, "user") == ["look"]
    assert texts(again, "tool") == ["found look 0"]
    assert again["state"]["turns"] == 1


def test_a_reloaded_page(server: str, client: str) -> None:
    thread = f"reload-{client}"
    turns(f"{server}/agent", client, {"user": "hello"}, {"user": "ask"}, threadId=thread)
    [visited, answered] = turns(
        f"{server}/agent", client, {"messages": []}, {"resume": {"payload": "yes"}}, threadId=thread
    )
    assert texts(visited, "user") == ["hello", "ask"]
    assert len(visited["pendingInterrupts"]) == 1
    assert texts(answered, "tool") == ["they said yes"]
