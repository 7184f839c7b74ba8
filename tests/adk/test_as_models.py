"""Agents of google-adk as models for OpenAI's clients."""

from __future__ import annotations

from typing import Any

from google.adk.agents import Agent
from google.adk.tools import FunctionTool

from tests.adk.playing import Scripted, calling
from tests.support.chats import chat, message_of, said, text_of
from tests.support.serving import call
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app

HERE = {"X-Conversation-Id": "c"}
WHERE: Any = {"type": "function", "function": {"name": "where", "parameters": {"type": "object", "properties": {}}}}


def app_of(*answers: Any, tools: Any = ()) -> tuple[Any, Scripted]:
    model = Scripted(answers=list(answers))
    agent = Agent(name="helper", model=model, tools=list(tools))
    return create_app({"helper": AGUIAdapter(agent)}, openai="/v1"), model


async def test_a_conversation_goes_on_in_its_session() -> None:
    app, model = app_of(["Hel", "lo"], ["Again"], ["Other"])
    assert [m["owned_by"] for m in (await call(app, "GET", "/v1/models")).json["data"]] == ["adk"]
    assert await text_of(app, "hi", HERE, model="") == "Hello"
    assert await text_of(app, said("hi", "Hello", "and"), HERE, model="") == "Again"
    assert len(model.requests[-1].contents) == 3
    assert await text_of(app, said("hi", "Hello", "more"), model="") == "Other"


async def test_tools_of_the_caller() -> None:
    app, _ = app_of([calling("where")], ["In Rome."])
    message = message_of(await chat(app, "where am I?", HERE, model="", tools=[WHERE]))
    [made] = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": made["id"], "content": "41.9 N"}
    assert await text_of(app, [*said("where am I?"), message, result], HERE, model="", tools=[WHERE]) == "In Rome."


async def test_an_approval_is_text() -> None:
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    app, model = app_of([calling("pay", amount=5)], ["Done."], tools=[FunctionTool(pay, require_confirmation=True)])
    question = await text_of(app, "pay", HERE, model="")
    assert "reply with yes or no" in question
    assert await text_of(app, said("pay", question, "yes"), HERE, model="") == "Done."
    assert "paid 5" in str(model.requests[-1].contents)
    asked = len(model.requests)
    assert await text_of(app, said("pay", question, "yes"), HERE, model="") == "Done.", "repeated"
    assert (await chat(app, said("pay", question, "no"), HERE, model="")).status == 409
    assert len(model.requests) == asked
