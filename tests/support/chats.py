"""Chats with agents as models, by hand: requests, and what their answers say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.serving import JSON, Exchange, call
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import OpenAISettings, ServerSettings, create_app

CHAT = "/v1/chat/completions"


class Turns(MessagesState, total=False):
    turns: int


def counter(*, memory: bool = True) -> Any:
    """Says how many messages of the user its thread holds, and how many of its own turns it remembers."""

    def agent(state: Turns) -> dict[str, Any]:
        turns = state.get("turns", 0) + 1
        said = sum(isinstance(message, HumanMessage) for message in state["messages"])
        return {"messages": [AIMessage(f"{said} said, turn {turns}")], "turns": turns}

    builder = StateGraph(Turns)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=InMemorySaver() if memory else None)


def chats_with(agents: Any, settings: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """An application with the agent, or agents, as models. `options`: of `OpenAISettings`."""
    named = agents if isinstance(agents, Mapping) else {"model": agents}
    adapters = {name: AGUIAdapter(agent) for name, agent in named.items()}
    return create_app(adapters, settings=ServerSettings(**(settings or {})), openai=OpenAISettings(**options))


def said(*texts: str) -> list[dict[str, Any]]:
    """A conversation: the user, the agent, the user, ..."""
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


def body_of(messages: Sequence[Mapping[str, Any]] | str, **more: Any) -> bytes:
    asked = said(messages) if isinstance(messages, str) else messages
    return json.dumps({"model": "model", "messages": asked, **more}).encode()


async def chat(
    app: Any, messages: Sequence[Mapping[str, Any]] | str, headers: Mapping[str, str] | None = None, **more: Any
) -> Exchange:
    """A whole exchange."""
    return await call(app, "POST", CHAT, body_of(messages, **more), {**JSON, **(headers or {})})


def message_of(answer: Exchange) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    message: dict[str, Any] = answer.json["choices"][0]["message"]
    return message


async def text_of(app: Any, messages: Sequence[Mapping[str, Any]] | str, *given: Any, **more: Any) -> str:
    """The text of a whole answer."""
    return str(message_of(await chat(app, messages, *given, **more))["content"])


def chunks_of(answer: Exchange) -> list[dict[str, Any]]:
    """The chunks of a stream that is complete."""
    *frames, mark, rest = answer.body.decode().split("\n\n")
    assert (mark, rest) == ("data: [DONE]", "")
    return [json.loads(frame.removeprefix("data: ")) for frame in frames if not frame.startswith(":")]


def streamed(answer: Exchange, member: str = "content") -> str:
    """The text of a stream, or its reasoning."""
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer) if chunk["choices"]]
    return "".join(delta.get(member) or "" for delta in deltas)


def error_of(answer: Exchange) -> tuple[int, str, str | None]:
    """Status, code and member of a refusal."""
    error = answer.json["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return answer.status, error["code"], error["param"]
