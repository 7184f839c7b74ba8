"""The agent with a model that plays a script: no key, no network."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, assert_conformant, record, run_input, tool_call_parts

from agent import build_graph


def agent(*script: Any) -> AGUIAdapter:
    return AGUIAdapter(build_graph(ScriptedChatModel(script=list(script)), InMemorySaver()))


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


async def test_it_looks_up_the_weather() -> None:
    call = tool_call_parts("look_up_weather", {"city": "Oslo"}, "call_1")
    run = await record(agent(call, ["It is ", "windy."]), "How is the weather in Oslo?")

    assert_conformant([run])
    assert [event["content"] for event in of(run["events"], "TOOL_CALL_RESULT")] == ["windy, 12 °C"]
    assert "".join(event["delta"] for event in of(run["events"], "TEXT_MESSAGE_CONTENT")) == "It is windy."


@pytest.mark.parametrize(
    ("approved", "result"), [(True, "The mail to ann@example.com is sent."), (False, "The user did not")]
)
async def test_a_mail_is_sent_after_a_yes_only(approved: bool, result: str) -> None:
    call = tool_call_parts("send_mail", {"to": "ann@example.com", "text": "Hi"}, "call_1")
    adapter = agent(call, ["Done."])

    first = await record(adapter, run_input("Write to Ann", thread_id="t"))
    [question] = first["events"][-1]["outcome"]["interrupts"]
    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": approved}}
    second = await record(adapter, run_input(thread_id="t", resume=[answer]))

    assert_conformant([first, second])
    assert question["message"] == "Send this mail to ann@example.com?"
    assert of(first["events"], "TOOL_CALL_RESULT") == []
    assert of(second["events"], "TOOL_CALL_RESULT")[0]["content"].startswith(result)
