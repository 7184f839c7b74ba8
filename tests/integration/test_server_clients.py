"""A real server under uvicorn, and the official clients of both generations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.serving import official_client, served

CLIENTS = ["1.0.0", "0.0.59"]
CONFIRM = {"name": "confirm", "description": "ask the user", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.served_agents:everything") as url:
        yield url


def only_thread(report: dict[str, Any]) -> list[Any]:
    assert report["problems"] == []
    (thread,) = report["threads"]
    turns: list[Any] = thread["turns"]
    return turns


def texts(turn: Any) -> list[str]:
    return [
        message["content"] for message in turn["messages"] if message["role"] == "assistant" and "content" in message
    ]


@pytest.mark.parametrize("client", CLIENTS)
def test_two_turns_with_a_server_tool(server: str, client: str) -> None:
    turns = only_thread(official_client(f"{server}/chat", client, {"turns": [{"user": "hello"}, {"user": "weather"}]}))
    assert texts(turns[0]) == ["Hello from the server."]
    assert texts(turns[1])[-1] == "The answer was sunny in Berlin."
    assert [m["role"] for m in turns[1]["messages"]] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    wire = turns[0]["runs"][0]["wire"]
    assert (wire["status"], wire["contentType"]) == (200, "text/event-stream")


@pytest.mark.parametrize("client", CLIENTS)
def test_client_tools_are_answered_and_the_run_goes_on(server: str, client: str) -> None:
    scenario = {"tools": [CONFIRM], "toolResults": {"confirm": "yes"}, "turns": [{"user": "ask"}, {"user": "hello"}]}
    turns = only_thread(official_client(f"{server}/chat", client, scenario))
    assert len(turns[0]["runs"]) == 2
    assert texts(turns[0])[-1] == "The answer was yes."
    assert texts(turns[1])[-1] == "Hello from the server."


@pytest.mark.parametrize("client", CLIENTS)
def test_an_interrupt_is_answered(server: str, client: str) -> None:
    scenario = {"turns": [{"user": "go"}, {"resume": {"payload": "yes"}}]}
    turns = only_thread(official_client(f"{server}/approval", client, scenario))
    assert len(turns[0]["pendingInterrupts"]) == 1
    assert turns[1]["pendingInterrupts"] == []
    assert texts(turns[1]) == ["answered yes"]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_aborted_run_is_cancelled_and_the_thread_goes_on(server: str, client: str) -> None:
    abort = {"afterType": "TEXT_MESSAGE_CONTENT", "count": 5}
    before = only_thread(official_client(f"{server}/slow", client, {"turns": [{"user": "how often?"}]}))
    scenario = {"turns": [{"user": "long", "abort": abort}, {"user": "how often?"}]}
    turns = only_thread(official_client(f"{server}/slow", client, scenario))
    assert turns[0]["runs"][0]["aborted"]
    assert turns[0]["runs"][0]["settledAfterAbortMs"] < 1000
    assert int(texts(turns[1])[-1]) == int(texts(before[0])[-1]) + 1


@pytest.mark.parametrize("client", CLIENTS)
def test_ten_clients_at_once(server: str, client: str) -> None:
    report = official_client(f"{server}/talk", client, {"parallel": 10, "turns": [{"user": "a"}, {"user": "b"}]})
    assert report["problems"] == []
    assert len(report["threads"]) == 10
    expected = "".join(f"w{n} " for n in range(30))
    for thread in report["threads"]:
        assert texts(thread["turns"][1]) == [expected, expected]
        assert thread["turns"][1]["state"]["count"] == 2


def test_a_silent_stream_has_comments_that_clients_ignore() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEEP_ALIVE", "0.005")
        with served("tests.support.served_agents:everything") as url:
            turns = only_thread(official_client(f"{url}/slow", "1.0.0", {"turns": [{"user": "how often?"}, {
                "user": "long", "abort": {"afterType": "TEXT_MESSAGE_CONTENT", "count": 20}}]}))  # fmt: skip
    assert turns[1]["runs"][0]["wire"]["comments"] > 5
