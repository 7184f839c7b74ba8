"""Functional graphs that run the model's calls by hand, and the argument that they are called with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph.message import add_messages
from langgraph.pregel import Pregel

from tests.conftest import Judge
from tests.support.graphs import scripted
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import record, run_input, tool_calls_part

Source = Literal["events", "callbacks"]
SOURCES = pytest.mark.parametrize("source", ["events", "callbacks"])
PEERS = pytest.mark.parametrize(
    ("version", "source"), [("1.0", "events"), (None, "callbacks")], ids=["1.0.0", "0.0.59"]
)


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


RUNS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "by its call": look.invoke,
    "by its arguments": lambda call: ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"]),
    "as a function": lambda call: ToolMessage(look.func(call["args"]["q"]), tool_call_id=call["id"]),  # type: ignore[misc]
    "into a dict": lambda call: {"role": "tool", "content": look.invoke(call["args"]), "tool_call_id": call["id"]},
}


@dataclass(frozen=True)
class Agent:
    """LangGraph's documented loop of model and tools as a functional graph."""

    runs: str
    tasks: bool
    sync: bool
    returns_all: bool
    saver: bool = True

    def build(self) -> Pregel[Any, Any, Any, Any]:
        calls = tool_calls_part(("look", {"q": "x"}, "c1"), ("look", {"q": "y"}, "c2"))
        model = scripted(*[["Hm. ", calls], "Done."] * 2)
        run, saver = RUNS[self.runs], InMemorySaver() if self.saver else None
        return self._sync(model, run, saver) if self.sync else self._async(model, run, saver)

    def _final(self, messages: Any) -> Any:
        return entrypoint.final(value=messages if self.returns_all else messages[-1], save=messages)

    def _sync(self, model: Any, run: Callable[[Any], Any], saver: Any) -> Pregel[Any, Any, Any, Any]:
        @task
        def ask(messages: Any) -> Any:
            return model.invoke(messages)

        @task
        def look_up(call: Any) -> Any:
            return run(call)

        @entrypoint(checkpointer=saver)
        def agent(messages: list[BaseMessage], *, previous: Any = None) -> Any:
            while True:
                answer = ask(messages).result() if self.tasks else model.invoke(messages)
                messages = add_messages(messages, answer)  # type: ignore[assignment, arg-type]
                if not answer.tool_calls:
                    return self._final(messages)
                futures = [look_up(call) for call in answer.tool_calls] if self.tasks else []
                results = [f.result() for f in futures] if self.tasks else [run(call) for call in answer.tool_calls]
                messages = add_messages(messages, results)  # type: ignore[assignment, arg-type]

        return agent

    def _async(self, model: Any, run: Callable[[Any], Any], saver: Any) -> Pregel[Any, Any, Any, Any]:
        @task
        async def ask(messages: Any) -> Any:
            return await model.ainvoke(messages)

        @task
        async def look_up(call: Any) -> Any:
            return run(call)

        @entrypoint(checkpointer=saver)
        async def agent(messages: list[BaseMessage], *, previous: Any = None) -> Any:
            while True:
                answer = await (ask(messages) if self.tasks else model.ainvoke(messages))
                messages = add_messages(messages, answer)  # type: ignore[assignment, arg-type]
                if not answer.tool_calls:
                    return self._final(messages)
                made = answer.tool_calls
                results = await asyncio.gather(*map(look_up, made)) if self.tasks else [run(call) for call in made]
                messages = add_messages(messages, results)  # type: ignore[assignment, arg-type]

        return agent


def shown(events: Sequence[dict[str, Any]]) -> list[str]:
    """Texts and results, in order; results that stand together sorted, since tasks run at once."""
    found = [
        e.get("delta") or e["content"] for e in events if e["type"] in ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_RESULT")
    ]
    at = [n for n, text in enumerate(found) if text.startswith("found")]
    assert at == list(range(at[0], at[0] + len(at)))
    return [*found[: at[0]], *sorted(found[at[0] : at[-1] + 1]), *found[at[-1] + 1 :]]


@PEERS
@pytest.mark.parametrize("returns_all", [True, False], ids=["returns all", "returns the last"])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("tasks", [True, False], ids=["tasks", "inline"])
@pytest.mark.parametrize("runs", RUNS)
async def test_results_come_before_the_model_goes_on(
    judge: Judge, runs: str, tasks: bool, sync: bool, returns_all: bool, version: Any, source: Source
) -> None:
    agent = Agent(runs, tasks, sync, returns_all, saver=sync)
    adapter = AGUIAdapter(agent.build(), options=AdapterOptions(source=source))
    held: list[dict[str, Any]] = []
    done = []
    for turn in (1, 2):  # the ids of the calls recur
        held = [*held, {"id": f"user-{turn}", "role": "user", "content": "hi"}]
        done.append(await record(adapter, run_input(held, run_id=f"r{turn}", protocol_version=version)))
        assert shown(done[-1]["events"]) == ["Hm. ", "found x", "found y", "Done."]
        assert "pendingToolCallIds" not in done[-1]["events"][-1].get("outcome", {})
        held = list(judge(done).messages)
    assert sorted(m["content"] for m in held if m["role"] == "tool") == ["found x", "found x", "found y", "found y"]


# ---------------------------------------------------------------- the argument


def undeclared(given: Any) -> Any:
    return AIMessage(f"{type(given).__name__} {len(given)}")


def listed(given: list[BaseMessage]) -> Any:
    return undeclared(given)


def mapped(given: dict[str, Any]) -> Any:
    return undeclared(given)


ARGUMENTS = [
    (undeclared, "declared", "dict 2"),
    (undeclared, "messages", "list 1"),
    (undeclared, "mapping", "dict 2"),
    (listed, "declared", "list 1"),
    (listed, "mapping", "dict 2"),
    (mapped, "declared", "dict 2"),
    (mapped, "messages", "list 1"),
]


@SOURCES
@pytest.mark.parametrize("saver", [True, False], ids=["saver", "no saver"])
@pytest.mark.parametrize(("function", "wanted", "text"), ARGUMENTS)
async def test_the_argument_of_a_functional_graph(
    judge: Judge, function: Any, wanted: Any, text: str, saver: bool, source: Source
) -> None:
    agent = entrypoint(checkpointer=InMemorySaver() if saver else None)(function)
    adapter = AGUIAdapter(agent, options=AdapterOptions(source=source, functional_input=wanted))
    run = await record(adapter, run_input("hi", state={"city": "Oslo"}))
    assert judge([run]).messages[-1]["content"] == text
