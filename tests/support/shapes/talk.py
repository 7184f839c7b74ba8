"""Models, chains, custom events, and runnables that are no graphs."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.language_models.llms import LLM
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import GenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough, chain
from langchain_core.tools import tool
from langgraph.config import get_stream_writer

from tests.support.shapes.base import (
    ASK,
    NUMBER,
    SHAPES,
    Case,
    Numbers,
    Shape,
    model,
    remembering,
    row,
    saying,
    shape,
)
from yai_nexus_agentkit.orchestration.events import EventEmitter

# ---------------------------------------------------------------------------------------------------------------- chat


def _chat(how: str) -> Case:
    scripted = model(["Hel", "lo"])

    async def ainvoke(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    async def astream(state: Any) -> Any:
        return {"messages": [functools.reduce(operator.add, [c async for c in scripted.astream(state["messages"])])]}

    def invoke(state: Any) -> Any:
        return {"messages": [scripted.invoke(state["messages"])]}

    def stream(state: Any) -> Any:
        return {"messages": [functools.reduce(operator.add, scripted.stream(state["messages"]))]}

    async def blocking(state: Any) -> Any:
        return {"messages": [scripted.invoke(state["messages"])]}

    nodes = {"ainvoke": ainvoke, "astream": astream, "invoke": invoke, "stream": stream, "blocking": blocking}
    return Case(remembering(chat=nodes[how]), config={"tags": ["app"], "metadata": {"user": 7}, "run_name": "my run"})


for _how in ("ainvoke", "astream", "invoke", "stream", "blocking"):
    SHAPES[f"chat_{_how}"] = Shape(functools.partial(_chat, _how), "exact")


@shape()
def whole_message() -> Any:
    scripted = saying("Hello", streaming=False)

    async def chat(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"], {"tags": ["nostream"]})]}

    return row(chat=chat)


@shape()
def constant_and_two_turns() -> Any:
    return Case(remembering(say=lambda state: {"messages": ["plain text"]}), [ASK, {"messages": [("user", "again")]}])


@shape()
def chains_in_a_node() -> Any:
    answer = ChatPromptTemplate.from_messages([("user", "{q}")]) | saying("a ", "b") | StrOutputParser()

    @chain
    async def plan_it(question: str) -> str:
        return str(await answer.ainvoke({"q": question}))

    class Shelf(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(query)]

    async def think(state: Any) -> Any:
        found = await Shelf().ainvoke("x")
        text = await plan_it.ainvoke(found[0].page_content)
        parts = [part async for part in answer.astream({"q": text})]
        return {"messages": [AIMessage("".join(parts), id="made")]}

    return row(think=think)


@shape()
def chain_as_node() -> Any:
    return row(chat=RunnableLambda(lambda state: state["messages"]) | saying("x ", "y") | (lambda m: {"messages": [m]}))


@shape()
def generator_node() -> Any:
    async def chat(state: Any) -> AsyncIterator[Any]:
        yield {"messages": [AIMessage("one", id="1")]}
        yield {"messages": [AIMessage("two", id="2")]}

    return row(chat=chat)


@shape()
def prompts_in_batches() -> Any:
    async def chat(state: Any) -> Any:
        return {"messages": (await saying("x ", "y").abatch(["p", "q"], {"max_concurrency": 1}))[:1]}

    return row(chat=chat)


# ------------------------------------------------------------------------------------------------------- custom events


@shape()
def dispatched() -> Any:
    async def node(state: Any) -> Any:
        await adispatch_custom_event("one", {"n": 1})
        await saying("x").ainvoke("y")
        await adispatch_custom_event("two", [2])
        return {"number": 2}

    def blocking(state: Any) -> Any:
        dispatch_custom_event("three", 3)
        EventEmitter().emit("four", 4)
        saying("x").invoke("y")
        EventEmitter().emit("five", 5)
        return {"number": 3}

    return Case(row(node, blocking, state=Numbers), [NUMBER])


@shape("split")
def written() -> Any:
    async def node(state: Any) -> Any:
        get_stream_writer()("a")
        await saying("x ", "y").ainvoke("z")
        get_stream_writer()({"b": 1})
        return {"number": 2}

    def blocking(state: Any) -> Any:
        get_stream_writer()("c")
        saying("x ", "y").invoke("z")
        get_stream_writer()("d")
        return {"number": 3}

    return Case(row(node, sub=row(blocking, node, state=Numbers), state=Numbers), [NUMBER])


@shape()
def lost_callbacks() -> Any:
    async def node(state: Any) -> Any:
        await asyncio.gather(saying("in").ainvoke("x"))
        await asyncio.to_thread(saying("thread").invoke, "x")
        await saying("lost").ainvoke("x", {"callbacks": []})
        return {"number": 2}

    return Case(row(node, state=Numbers), [NUMBER])


# ------------------------------------------------------------------------------------------------------ plain runnables


def _plain(agent: Any, *inputs: Any) -> Case:
    return Case(agent, list(inputs), graph=False)


@shape()
def plain_chain() -> Any:
    prompt = ChatPromptTemplate.from_messages([("user", "{q}")])
    return _plain(prompt | saying("a ", "b", "c") | StrOutputParser(), {"q": "x"})


@shape()
def plain_parallel() -> Any:
    return _plain(RunnablePassthrough.assign(n=lambda x: x["q"] * 2) | (lambda x: x["n"]), {"q": 2})


@shape()
def plain_model() -> Any:
    return _plain(saying("a ", "b"), "x")


class Speller(LLM):
    """A text model that says a letter at a time."""

    @property
    def _llm_type(self) -> str:
        return "speller"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        return prompt

    def _stream(
        self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[GenerationChunk]:
        yield from (GenerationChunk(text=letter) for letter in prompt)


@shape()
def plain_llm() -> Any:
    return Case(Speller(), ["abc"], graph=False, beside=False)


@shape()
def llm_in_a_node() -> Any:
    async def ask(state: Any) -> Any:
        [part async for part in Speller().astream("abc")]
        return {"messages": [AIMessage(await Speller().ainvoke("abc"), id="abc")]}

    return Case(row(ask=ask), beside=False)


@tool
def add(a: int, b: int) -> int:
    """Sum."""
    return a + b


@shape()
def plain_tool() -> Any:
    return _plain(add, {"a": 1, "b": 2}, {"type": "tool_call", "name": "add", "id": "c", "args": {"a": 1, "b": 2}})


@shape()
def plain_lambdas() -> Any:
    async def later(x: int) -> int:
        return x + 1

    return _plain(RunnableLambda(lambda x: x + 1) | RunnableLambda(later), 1)


@shape()
def plain_generators() -> Any:
    async def letters(stream: AsyncIterator[str]) -> AsyncIterator[str]:
        async for text in stream:
            for letter in text:
                yield letter

    async def doubled(stream: AsyncIterator[str]) -> AsyncIterator[str]:
        async for text in stream:
            yield text * 2

    return _plain(RunnableGenerator(letters) | RunnableGenerator(doubled), "abc")


@shape()
def plain_failure() -> Any:
    def fail(x: Any) -> Any:
        raise ValueError("no")

    return _plain(RunnableLambda(fail), 1)
