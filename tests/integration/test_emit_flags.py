"""The metadata flags of CopilotKit and ag-ui-langgraph: a model call may hide its text, its tool calls, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted, tool_loop
from tests.support.two_sources import Heard, Source, hear
from yai_nexus_agentkit.testing import reasoning_part, tool_call_parts

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])
prefixes = pytest.mark.parametrize("prefix", ["", "copilotkit:"])
CALL = tool_call_parts("weather", {"city": "Rome"}, "call_1")


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


def flags(prefix: str, *names: str) -> dict[str, Any]:
    return {"metadata": {f"{prefix}emit-{name}": False for name in names}}


def helping(config: dict[str, Any], *, streaming: bool = True, synchronous: bool = False) -> Callable[[], Graph]:
    """A node whose helper reasons, speaks and calls a tool. Nothing of it is stored."""

    def build() -> Graph:
        parts = [reasoning_part("Hm. "), reasoning_part("So.")] if streaming else []
        helper = scripted([*parts, "Secret. ", *CALL], streaming=streaming)

        async def node(state: MessagesState) -> dict[str, Any]:
            if synchronous:
                helper.invoke("x", config)
            else:
                await helper.ainvoke("x", config)
            return {}

        return in_a_row({"node": node})

    return build


def streamed(heard: Heard, kind: str) -> list[str]:
    return [e["delta"] for e in heard.events if e["type"] == f"{kind}_CONTENT"]


def calls(heard: Heard) -> list[str]:
    return [e["toolCallName"] for e in heard.events if e["type"] == "TOOL_CALL_START"]


@both_sources
@prefixes
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("synchronous", [False, True])
async def test_text_and_reasoning_are_hidden_and_calls_are_not(
    judge: Judge, source: Source, prefix: str, streaming: bool, synchronous: bool
) -> None:
    config = flags(prefix, "messages")
    heard = await hear(helping(config, streaming=streaming, synchronous=synchronous), source, judge)
    assert streamed(heard, "TEXT_MESSAGE") == []
    assert streamed(heard, "REASONING_MESSAGE") == []
    assert calls(heard) == ["weather"]


@both_sources
@prefixes
@pytest.mark.parametrize("streaming", [True, False])
async def test_calls_are_hidden_and_text_is_not(judge: Judge, source: Source, prefix: str, streaming: bool) -> None:
    heard = await hear(helping(flags(prefix, "tool-calls"), streaming=streaming), source, judge)
    assert streamed(heard, "TEXT_MESSAGE") == ["Secret. "]
    assert calls(heard) == []


@both_sources
@prefixes
async def test_both_are_hidden(judge: Judge, source: Source, prefix: str) -> None:
    heard = await hear(helping(flags(prefix, "messages", "tool-calls")), source, judge)
    assert streamed(heard, "TEXT_MESSAGE") == []
    assert calls(heard) == []


@both_sources
async def test_true_hides_nothing(judge: Judge, source: Source) -> None:
    config = {"metadata": {"emit-messages": True, "copilotkit:emit-tool-calls": True}}
    heard = await hear(helping(config), source, judge)
    assert streamed(heard, "TEXT_MESSAGE") == ["Secret. "]
    assert calls(heard) == ["weather"]


@both_sources
@pytest.mark.parametrize("hidden", ["messages", "tool-calls"])
async def test_what_the_thread_stores_arrives_with_the_messages(judge: Judge, source: Source, hidden: str) -> None:
    def build() -> Graph:
        model = scripted(["Let me look. ", *CALL], "Sun.").with_config(flags("", hidden))
        return tool_loop(model, [weather])  # type: ignore[arg-type]

    heard = await hear(build, source, judge)
    shown = [(m["role"], m.get("content") or "", len(m.get("toolCalls") or ())) for m in heard.views[-1]["messages"]]
    assert shown == [
        ("user", "hi", 0),
        ("assistant", "Let me look. ", 1),
        ("tool", "sun in Rome", 0),
        ("assistant", "Sun.", 0),
    ]
    assert streamed(heard, "TEXT_MESSAGE") == ([] if hidden == "messages" else ["Let me look. ", "Sun."])


@both_sources
async def test_the_flags_of_a_chain_count_for_the_models_in_it(judge: Judge, source: Source) -> None:
    def build() -> Graph:
        helper = scripted("Secret.")

        async def ask(text: str, config: RunnableConfig) -> Any:
            return await helper.ainvoke(text, config)

        async def node(state: MessagesState) -> dict[str, Any]:
            await RunnableLambda(ask).ainvoke("x", flags("", "messages"))  # type: ignore[arg-type]
            return {}

        return in_a_row({"node": node})

    heard = await hear(build, source, judge)
    assert streamed(heard, "TEXT_MESSAGE") == []
