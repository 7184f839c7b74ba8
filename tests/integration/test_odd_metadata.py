"""Applications put what they like into the metadata of events. No wire takes it for facts of a source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import BaseEvent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from tests.support.graphs import in_a_row, scripted, tool_loop
from tests.support.serving import Exchange, call, run_body
from yai_nexus_agentkit import AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import tool_calls_part

NAMES = (
    "renamed", "rewritten", "approval", "status", "executor", "incomplete", "toolCallIds", "interruptIds", "value",
    "answers", "unfinished",
)  # fmt: skip
ODD = [7, "text", True, None, [], ["x", 7, []], {"a": 7}, {"needs": 7}, {"action_requests": 7}]
JSON = {"content-type": "application/json"}
USER = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
WIRES: dict[str, tuple[str, Any]] = {
    "AG-UI": ("/", run_body("hi")),
    "AI SDK": ("/chat", {"id": "c1", "trigger": "submit-message", "messages": [USER]}),
    "OpenAI": ("/v1/chat/completions", {"model": "agent", "messages": [{"role": "user", "content": "hi"}]}),
    "OpenAI, streamed": (
        "/v1/chat/completions",
        {"model": "agent", "stream": True, "messages": [{"role": "user", "content": "hi"}]},
    ),
}


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    raise ValueError("no such city")


def rewriting() -> Any:
    """Says something, and stores another text under another id."""
    model = scripted(["Secret."])

    async def node(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage((await model.ainvoke(state["messages"])).text.replace("Secret", "Public"))]}

    return in_a_row({"node": node})


def asking() -> Any:
    return in_a_row({"node": lambda state: interrupt({"question": "Sure?", "needs": [7, {}, "camera"]})})


def failing() -> Any:
    model = scripted([tool_calls_part(("look_up", {"city": "Atlantis"}, "c1"))], ["Sorry."])
    return tool_loop(model, [look_up], handle_tool_errors=True)


def ended(wire: str, answer: Exchange) -> bool:
    """The answer is whole."""
    text = answer.body.decode()
    if wire == "OpenAI":
        return bool(answer.json["choices"][0]["finish_reason"])
    last = {"AG-UI": '"type":"RUN_FINISHED"', "AI SDK": '"type":"finish"', "OpenAI, streamed": '"finish_reason":"'}
    return last[wire] in text and "_ERROR" not in text and '"type":"error"' not in text


@pytest.mark.parametrize("graph", [rewriting, failing, asking])
@pytest.mark.parametrize("value", ODD, ids=json.dumps)
@pytest.mark.parametrize("wire", WIRES)
async def test_it_is_only_passed_on(wire: str, value: Any, graph: Any) -> None:
    def marked(event: BaseEvent, run: RunContext) -> Iterator[BaseEvent]:
        if "metadata" in type(event).model_fields:
            own = {"mine": dict.fromkeys(NAMES, value), "plain": value}
            event = event.model_copy(update={"metadata": {**own, **(getattr(event, "metadata", None) or {})}})
        yield event

    app = create_app(AGUIAdapter(graph(), hooks=Hooks(on_event=marked)), ai_sdk="/chat", openai="/v1")
    target, body = WIRES[wire]
    answer = await call(app, "POST", target, json.dumps(body).encode(), JSON)
    assert answer.status == 200
    assert ended(wire, answer)
