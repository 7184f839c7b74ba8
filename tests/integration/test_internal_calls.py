"""Model calls that middleware makes for itself are marked by LangChain, and are not streamed to the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.two_sources import Heard, Source, hear
from yai_nexus_agentkit.testing import reasoning_part, tool_call_parts

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")
marks = pytest.importorskip("langchain.agents.middleware.internal_call_transformer")

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])
MARKED = {"metadata": marks.internal_call_metadata()}


@tool
async def look_up(term: str) -> str:
    """Look a term up."""
    return f"about {term}"


def guard_model() -> BaseChatModel:
    return scripted([reasoning_part("Is it safe? "), "SAFE"])


def guard_agent() -> Graph:
    calls = tool_call_parts("look_up", {"term": "x"}, "call_hidden")
    made: Graph = agents.create_agent(scripted(["Let me see. ", *calls], ["SAFE"]), [look_up])
    return made


class Guard(middleware.AgentMiddleware):  # type: ignore[name-defined, misc]
    """Asks a model, or an agent, of its own before the agent's model runs."""

    def __init__(self, own: Any, *, synchronous: bool = False) -> None:
        super().__init__()
        self._own, self._synchronous = own, synchronous

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        if self._synchronous:
            self._own.invoke(state if isinstance(self._own, type(guard_agent())) else state["messages"], MARKED)
        elif isinstance(self._own, BaseChatModel):
            await self._own.ainvoke(state["messages"], MARKED)
        else:
            await self._own.ainvoke({"messages": state["messages"]}, MARKED)


GUARDS: dict[str, Callable[[], Guard]] = {
    "a model": lambda: Guard(guard_model()),
    "a model that cannot stream": lambda: Guard(scripted("SAFE", streaming=False)),
    "a model in sync code": lambda: Guard(guard_model(), synchronous=True),
    "an agent with a tool": lambda: Guard(guard_agent()),
}


def said(heard: Heard) -> list[str]:
    return [m["content"] for m in heard.views[-1]["messages"] if m["role"] in ("assistant", "reasoning", "tool")]


@both_sources
@pytest.mark.parametrize("nested", [False, True], ids=["root", "subgraph"])
@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
async def test_a_guards_own_calls_are_not_shown(
    judge: Judge, source: Source, guard: Callable[[], Guard], nested: bool
) -> None:
    def build() -> Graph:
        saver = None if nested else InMemorySaver()
        agent = agents.create_agent(scripted("Hello."), [], middleware=[guard()], checkpointer=saver)
        return in_a_row({"agent": agent}) if nested else agent  # type: ignore[no-any-return]

    heard = await hear(build, source, judge)
    assert said(heard) == ["Hello."]
    text = [e["delta"] for e in heard.events if e["type"].endswith("_CONTENT")]
    assert text == ["Hello."]
    assert not [e for e in heard.events if e["type"].startswith(("TOOL_CALL", "REASONING"))]


@both_sources
async def test_its_tokens_count(judge: Judge, source: Source) -> None:
    def build() -> Graph:
        own = scripted("SAFE", usage={"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}, streaming=False)
        made: Graph = agents.create_agent(scripted("Hello."), [], middleware=[Guard(own)], checkpointer=InMemorySaver())
        return made

    heard = await hear(build, source, judge)
    assert [entry["inputTokens"] for entry in heard.events[-1]["usage"]] == [5]
