"""An agent for the judges of joined runs: what it does depends on the word that the user says.

EFFECTS names a file that gets a line ``<pid> <node>`` when a node or tool with an effect begins. PACE multiplies every
pause (1.0).
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from yai_nexus_agentkit import AGUIAdapter, EventEmitter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.server import OpenAISettings, ServerSettings, SocketSettings, add_ai_sdk_routes, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part, tool_call_parts

PACE = float(os.environ.get("PACE", "1.0"))
UNICODE = "ä ß 漢字 😀 line\u2028sep par\u2029sep next\u0085line end"


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    n: int
    plan: str
    fast: str
    slow: str


def effect(name: str) -> None:
    if path := os.environ.get("EFFECTS"):
        with open(path, "a") as file:
            file.write(f"{os.getpid()} {name}\n")


@tool
def lookup(q: str) -> str:
    """Looks something up."""
    return "42"


@tool
def transfer(amount: int) -> str:
    """Moves money."""
    effect("transfer")
    return f"moved {amount}"


def words(text: str) -> list[str]:
    return [f"{w} " for w in text.split(" ")]


def call(name: str, args: dict[str, Any], index: int = 0, pieces: int = 4) -> list[Any]:
    return tool_call_parts(name, args, f"call_{uuid4().hex[:8]}", index=index, pieces=pieces)


def script(messages: list[AnyMessage]) -> tuple[list[Any], float]:
    """The model's next words, and its pause between the pieces."""
    answered: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        answered.insert(0, message)
    if answered:
        given = "; ".join(str(m.content) for m in answered)
        return words("It is 42." if all(m.name == "lookup" for m in answered) else f"The answer: {given}."), 0.02
    users = [m for m in messages if isinstance(m, HumanMessage)]
    word = str(users[-1].text).strip() if users else "hello"

    def thoughts(text: str) -> list[Any]:
        return [reasoning_part(w) for w in words(text)]

    return {
        "think": ([*thoughts("Let me see now."), *words("Thought about it.")], 0.002),
        "backend": (call("lookup", {"q": "it"}), 0.002),
        "act": (call("lookup", {"q": "it"}), 0.002),
        "ask": (call("confirm", {"question": "sure?"}), 0.002),
        "approve": (call("transfer", {"amount": 5}), 0.002),
        "approve two": ([*call("transfer", {"amount": 5}), *call("transfer", {"amount": 6}, index=1)], 0.002),
        "slow": (words(" ".join(f"word{i}" for i in range(80))), 0.04),
        "slowask": ([*words(" ".join(f"word{i}" for i in range(40))), *call("confirm", {"question": "sure?"})], 0.04),
        "slowthink": ([*thoughts(" ".join(f"thought{i}" for i in range(60))), *words("There it is.")], 0.04),
        "slowtool": (call("lookup", {"q": "x" * 300}, pieces=60), 0.04),
        "fail": ([*words("So far so good."), RuntimeError("it broke")], 0.01),
        "state": (words("The state is 3."), 0.01),
        "count": (words(f"{len(users)} messages."), 0.002),
        "unicode": ([UNICODE], 0.002),
    }.get(word, (words("Hello from the agent, this is one answer."), 0.01))


async def speak(parts: list[Any], pause: float, messages: list[AnyMessage], config: RunnableConfig) -> AIMessage:
    return await ScriptedChatModel(script=[parts], pause=pause * PACE).ainvoke(messages, config)


async def model(state: State, config: RunnableConfig) -> dict[str, Any]:
    last = state["messages"][-1]
    changes: dict[str, Any] = {}
    if isinstance(last, HumanMessage) and last.text == "state":
        EventEmitter(config).emit("note", {"at": "once"})
        changes = {"n": 3}
    return {"messages": [await speak(*script(state["messages"]), state["messages"], config)], **changes}


async def prepare(state: State) -> dict[str, Any]:
    """Before `state`: the state changes more than once in the run."""
    return {"n": 1} if state["messages"] and getattr(state["messages"][-1], "text", "") == "state" else {}


async def first(state: State, config: RunnableConfig) -> dict[str, Any]:
    effect("first")
    said = await speak(words("I will look at two things."), 0.01, state["messages"], config)
    return {"messages": [said], "plan": "two things"}


async def fast_task(state: State) -> dict[str, Any]:
    effect("fast_task")
    return {"fast": "done"}


async def slow_task(state: State) -> dict[str, Any]:
    effect("slow_task")
    await asyncio.sleep(1.5 * PACE)
    return {"slow": "done"}


async def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
    effect("answer")
    return {"messages": [await speak(words(" ".join(f"word{i}" for i in range(60))), 0.05, state["messages"], config)]}


def begin(state: State) -> str:
    last = state["messages"][-1] if state.get("messages") else None
    return "first" if isinstance(last, HumanMessage) and last.text == "job" else "prepare"


def after_model(state: State) -> Any:
    calls = [c for c in getattr(state["messages"][-1], "tool_calls", []) if c["name"] != "confirm"]  # the client's
    return [Send("tools", [c]) for c in calls] or END  # each a task of its own: all questions are asked at once


def after_tools(state: State) -> str:
    users = [m for m in state["messages"] if isinstance(m, HumanMessage)]
    return END if users and users[-1].text == "act" else "model"


def build(checkpointer: Any) -> Any:
    graph = StateGraph(State)
    for node in (prepare, model, first, fast_task, slow_task, answer):
        graph.add_node(node.__name__, node)
    graph.add_node("tools", ToolNode([lookup, require_approval(transfer)]))
    graph.add_conditional_edges(START, begin, ["first", "prepare"])
    graph.add_edge("prepare", "model")
    graph.add_conditional_edges("model", after_model, ["tools", END])
    graph.add_conditional_edges("tools", after_tools, ["model", END])
    graph.add_edge("first", "fast_task")
    graph.add_edge("first", "slow_task")
    graph.add_edge(["fast_task", "slow_task"], "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=checkpointer)


def one_worker() -> Any:
    """A server whose runs go on when their viewers leave. Its log of the run that shall fail is of no interest."""
    logging.getLogger("yai_nexus_agentkit").addHandler(logging.NullHandler())
    agent = AGUIAdapter(build(InMemorySaver()))
    app = create_app(agent, settings=ServerSettings(disconnect="continue"), copilotkit="/copilotkit")
    for version in (5, 6, 7):
        settings = ServerSettings(ai_sdk_version=version)
        add_ai_sdk_routes(app, agent, f"/ai/{version}", settings=settings, name="agent", service=app.state.agui)
    return app


def isolated() -> Any:
    """A server whose connections have threads of their own."""
    logging.getLogger("yai_nexus_agentkit").addHandler(logging.NullHandler())
    agent, settings = AGUIAdapter(build(InMemorySaver())), ServerSettings(sockets=SocketSettings(isolated=True))
    app = create_app({"agent": agent}, settings=settings)
    add_ai_sdk_routes(app, agent, "/ai/6", settings=settings, name="agent", service=app.state.agui)
    return app


def models() -> Any:
    """A server for OpenAI's clients. The key ``wrong`` is none."""
    logging.getLogger("yai_nexus_agentkit").addHandler(logging.NullHandler())
    keys = OpenAISettings(keys=lambda key: key != "wrong")
    return create_app({"my_agent": AGUIAdapter(build(InMemorySaver()))}, openai=keys)
