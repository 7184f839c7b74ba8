"""An application that shows a build of one's own of the chat page: the folder in the environment variable PAGE."""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from yai_nexus_agentkit import AGUIAdapter, EventEmitter
from yai_nexus_agentkit.server import add_agui_routes, add_page

__all__ = ["app"]


def pet(name: str, says: str) -> dict[str, Any]:
    return {"title": name, "type": "object", "properties": {says: {"type": "string"}}, "required": [says]}


CHOSEN = {"type": "array", "items": {"anyOf": [pet("Cat", "purrs"), pet("Dog", "barks")]}}
PETS = {"type": "object", "properties": {"pets": CHOSEN}, "required": ["pets"]}
SIGN = {"type": "object", "properties": {"word": {"type": "string", "format": "password"}}, "required": ["word"]}


def sell(state: MessagesState) -> dict[str, Any]:
    if state["messages"][-1].text == "Pay both":
        requests = [{"name": "pay", "args": {"to": name}} for name in ("Ada", "Bob")]
        review = {"action_name": "pay", "allowed_decisions": ["approve", "reject"]}
        answer = interrupt({"action_requests": requests, "review_configs": [review]})
        return {"messages": [("ai", ", ".join(decision["type"] for decision in answer["decisions"]))]}
    if state["messages"][-1].text == "Adopt":
        chosen = interrupt("Which pets?", response_schema=PETS)
        return {"messages": [("ai", f"{chosen['pets']}, {interrupt('Sign', response_schema=SIGN)}")]}
    EventEmitter().emit("price", {"item": "Tea", "euros": 4}, keep=True)
    return {"messages": [("ai", "Here you are.")]}


def app() -> FastAPI:
    graph = StateGraph(MessagesState).add_node(sell).add_edge(START, "sell").compile(checkpointer=InMemorySaver())
    made = FastAPI()
    add_agui_routes(made, AGUIAdapter(graph), "/agent")
    add_page(made, "/agent", files=os.environ["PAGE"])
    return made
