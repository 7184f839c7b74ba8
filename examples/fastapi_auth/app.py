"""An application with users: who is asking comes from a token, and each user has threads of their own."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException, Request
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from examples.models import chat_model, question, words
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import Identity, ServerSettings, add_agui_routes

USERS = {"ann-token": "ann", "bob-token": "bob"}  # your session store, or a verified JWT


def script(messages: list[BaseMessage]) -> list[str]:
    said = sum(message.type == "human" for message in messages)
    return words(f"{messages[0].text} You said “{question(messages)}”. That was message {said} of yours.")


async def chat(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    greeting = f"Hello {config['configurable']['user_name']}!"  # set by `identify`, so no client can choose it
    return {"messages": [await chat_model(config, script).ainvoke([("system", greeting), *state["messages"]])]}


def signed_in(request: Request) -> str:
    """The user of the request. Used by the agent's routes and by the application's own."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or token not in USERS:
        raise HTTPException(401, "sign in first", {"www-authenticate": "Bearer"})
    return USERS[token]


async def identify(request: Any) -> Identity:
    user = signed_in(request)
    return Identity(user=user, config={"configurable": {"user_name": user.capitalize()}})


graph = StateGraph(MessagesState).add_node(chat).add_edge(START, "chat").compile(checkpointer=InMemorySaver())

app = FastAPI(title="An application with an agent")
add_agui_routes(app, AGUIAdapter(graph), "/agent", settings=ServerSettings(identity=identify))


@app.get("/me")
async def me(request: Request) -> dict[str, str]:
    """A route of the application itself, behind the same sign-in."""
    return {"user": signed_in(request)}
