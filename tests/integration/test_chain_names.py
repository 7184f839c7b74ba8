"""Which chains are titled spans by default: a name counts when somebody wrote it, not when it is a function's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    Runnable,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from langgraph.graph import MessagesState

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.two_sources import Source, hear

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


def format_docs(value: Any) -> Any:
    return value


@chain
async def look_around(value: Any) -> Any:
    return value


def repeat(values: Any) -> Any:
    yield from values


class Formatter(Runnable[Any, Any]):
    """A chain of somebody's own class."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return self._call_with_config(format_docs, input, config)


FUNCTION = RunnableLambda(format_docs)


def pipeline(model: BaseChatModel) -> Runnable[Any, Any]:
    return ChatPromptTemplate.from_template("{x}") | model | StrOutputParser()


async def streamed(runnable: Runnable[Any, Any], value: Any) -> None:
    async for _ in runnable.astream(value):
        pass


Step = Callable[[BaseChatModel], Awaitable[Any]]

NAMELESS: dict[str, Step] = {
    "a function": lambda model: FUNCTION.ainvoke("x"),
    "a lambda": lambda model: RunnableLambda(lambda value: value).ainvoke("x"),
    "a decorated function": lambda model: look_around.ainvoke("x"),
    "a class": lambda model: Formatter().ainvoke("x"),
    "a generator": lambda model: streamed(RunnableGenerator(repeat), "x"),
    "a pipeline": lambda model: pipeline(model).ainvoke({"x": 1}),
    "a streamed pipeline": lambda model: streamed(pipeline(model), {"x": 1}),
    "side by side": lambda model: RunnableParallel(a=RunnablePassthrough(), b=FUNCTION).ainvoke("x"),
    "with a retry": lambda model: FUNCTION.with_retry().ainvoke("x"),
    "a model with a retry": lambda model: model.with_retry().ainvoke("x"),
    "with tags": lambda model: FUNCTION.with_config(tags=["mine"]).ainvoke("x"),
    "in a batch": lambda model: FUNCTION.abatch(["x", "y"]),
    "in a thread": lambda model: asyncio.to_thread(FUNCTION.invoke, "x"),
}

NAMED: dict[str, Step] = {
    "a function": lambda model: FUNCTION.with_config(run_name="compare_offers").ainvoke("x"),
    "in the call": lambda model: FUNCTION.ainvoke("x", {"run_name": "compare_offers"}),
    "a decorated function": lambda model: look_around.with_config(run_name="compare_offers").ainvoke("x"),
    "a pipeline": lambda model: pipeline(model).with_config(run_name="compare_offers").ainvoke({"x": 1}),
    "a streamed pipeline": lambda model: streamed(pipeline(model).with_config(run_name="compare_offers"), {"x": 1}),
    "with a retry": lambda model: FUNCTION.with_retry().with_config(run_name="compare_offers").ainvoke("x"),
    "in a thread": lambda model: asyncio.to_thread(FUNCTION.with_config(run_name="compare_offers").invoke, "x"),
    "streamed in a thread": lambda model: asyncio.to_thread(
        lambda: list(pipeline(model).with_config(run_name="compare_offers").stream({"x": 1}))
    ),
}


def running(step: Step, *, nested: bool) -> Callable[[], Graph]:
    def build() -> Graph:
        model = scripted("said", streaming=False)

        async def work(state: MessagesState) -> dict[str, Any]:
            await step(model)
            return {"messages": [("ai", "Done.")]}

        graph = in_a_row({"work": work})
        return in_a_row({"inner": graph}) if nested else graph

    return build


def titles(events: list[dict[str, Any]]) -> list[str]:
    return [e["metadata"]["title"] for e in events if e["type"] == "REASONING_START"]


@both_sources
@pytest.mark.parametrize("nested", [False, True], ids=["root", "subgraph"])
@pytest.mark.parametrize("step", NAMELESS.values(), ids=NAMELESS)
async def test_the_name_of_a_function_or_class_is_no_title(
    judge: Judge, source: Source, step: Step, nested: bool
) -> None:
    heard = await hear(running(step, nested=nested), source, judge)
    assert titles(heard.events) == []


@both_sources
@pytest.mark.parametrize("nested", [False, True], ids=["root", "subgraph"])
@pytest.mark.parametrize("step", NAMED.values(), ids=NAMED)
async def test_a_name_that_somebody_wrote_is_a_title(judge: Judge, source: Source, step: Step, nested: bool) -> None:
    heard = await hear(running(step, nested=nested), source, judge)
    assert titles(heard.events) == ["compare_offers"]


@both_sources
async def test_a_batch_has_a_span_for_each_value(judge: Judge, source: Source) -> None:
    def step(model: BaseChatModel) -> Awaitable[Any]:
        return FUNCTION.with_config(run_name="compare_offers").abatch(["x", "y"])

    heard = await hear(running(step, nested=False), source, judge)
    assert titles(heard.events) == ["compare_offers", "compare_offers"]


@both_sources
async def test_all_chains_are_shown_on_demand(judge: Judge, source: Source) -> None:
    heard = await hear(running(NAMELESS["a function"], nested=False), source, judge, chain_spans="all")
    assert titles(heard.events) == ["format_docs"]
