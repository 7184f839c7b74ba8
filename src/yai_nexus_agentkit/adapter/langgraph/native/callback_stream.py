"""The second way to observe an agent: an inline callback handler next to ``astream``.

It yields the events of ``astream_events(version="v2")`` in their shape and order, at less than half the cost. v2's
handler is asynchronous: every callback suspends the node, and in a worker thread starts an event loop. This one is
synchronous. Each of its methods is a few dictionary and deque operations, all atomic, so any thread may call them
without a lock.

Deliberate differences from v2:

- There are events for failed chains, models and retrievers (``on_chain_error``, ``on_llm_error``,
  ``on_retriever_error``). Runs that a question leaves open stay open, as in v2.
- A graph's chunks come where the graph made them (`chunk_tap`); v2 has those of subgraphs and stream writers later.
- Nothing puts LangChain's default recursion limit over the graph's own.
- The reader may be a few events behind. Events carry live objects, and what v2 showed unset may be set by then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import GenerationChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langchain_core.utils.aiter import aclosing
from langchain_core.utils.uuid import uuid7
from langgraph.errors import GraphBubbleUp
from langgraph.pregel import Pregel

from yai_nexus_agentkit.adapter.langgraph.native.chunk_tap import ORIGIN, ChunkOrigin
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes, SideHandler, with_handler
from yai_nexus_agentkit.adapter.shared.channel import Channel

__all__ = ["callback_events"]

Event: TypeAlias = dict[str, Any]
"""A native event in v2's shape."""

_MISSING: Any = object()


@dataclass(slots=True)
class _Run:
    """A native run between its start and its end."""

    kind: str
    head: Event
    """Name, ids, tags and metadata: the same objects in all its events, as in v2."""
    input: Any
    """`_MISSING` while the run has only begun to read it."""
    call_id: str | None = None
    blocks: bool = False
    """A chunk with blocks of content has come."""
    stream: Event = field(init=False)
    """A stream event of this run, all but its data."""

    def __post_init__(self) -> None:
        self.stream = {**self.head, "event": f"on_{self.kind}_stream"}

    def event(self, action: str, data: Event) -> Event:
        return {**self.head, "event": f"on_{self.kind}_{action}", "data": data}


class StreamHandler(SideHandler, _StreamingCallbackHandler[Any]):
    """One per run of the agent: puts native events, and does the duties of `SideHandler` before each.

    LangChain's streaming handler is a base because models stream on ``invoke`` only where they find one, and LangGraph
    streams its nodes only for a subclass of it.
    """

    def __init__(self, notes: RunNotes, graph_input: Any, put: Callable[[Event], None]) -> None:
        super().__init__(notes)
        self._graph_input, self._put = graph_input, put
        self._runs: dict[UUID, _Run] = {}
        self._parents: dict[UUID, list[str]] = {}
        """Ancestors of every run that started, outermost first. Never dropped: children and custom events may come
        after a run's end."""
        self._tapped: dict[UUID, object] = {}
        """Runs whose chunks come from a tap and not from `on_llm_new_token`; the value is the first tap."""
        self._first: UUID | None = None
        """The run that started first. It gets the agent's input, which LangChain may not know yet when it starts."""

    def __copy__(self) -> StreamHandler:
        return self

    def __deepcopy__(self, memo: Any) -> StreamHandler:
        return self

    def chunk(self, run_id: UUID, chunk: Any) -> None:
        """A chunk of a run's output; nothing if the run is over."""
        run = self._runs.get(run_id)
        if run is not None:
            self._put({**run.stream, "data": {"chunk": chunk}})

    # ------------------------------------------------------------------ runs

    def _start(self, kind: str, run_id: UUID, given: Any, serialized: Any, kwargs: Mapping[str, Any]) -> None:
        parent = kwargs.get("parent_run_id")
        above = [] if parent is None else [*self._parents.get(parent, ()), str(parent)]
        self._parents[run_id] = above
        head: Event = {
            "name": _name(kwargs.get("name"), serialized),
            "run_id": str(run_id),
            "parent_ids": above,
            "tags": kwargs.get("tags") or [],
            "metadata": kwargs.get("metadata") or {},
        }
        run = self._runs[run_id] = _Run(kind, head, given, kwargs.get("tool_call_id"))
        if self._first is None:
            self._first, given = run_id, self._graph_input
        self._put(run.event("start", {} if given is _MISSING else {"input": given}))

    def _over(self, run_id: UUID) -> _Run | None:
        self._tapped.pop(run_id, None)
        return self._runs.pop(run_id, None)

    def _end(self, run_id: UUID, output: Any, given: Any = None) -> None:
        run = self._over(run_id)
        if run is None:
            return
        data = {"output": output}
        if run_id != self._first:
            data["input"] = _given(run, given)
        self._put(run.event("end", data))

    def _fail(self, event: str, run_id: UUID, error: BaseException, given: Any = None) -> None:
        run = self._over(run_id)
        if run is not None and not isinstance(error, GraphBubbleUp):  # a question or a handover: left open, as in v2
            self._put({**run.head, "event": event, "data": {"error": error, "input": _given(run, given)}})

    # ------------------------------------------------------------------ chains, and what runs as one

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_chain_start(serialized, inputs, run_id=run_id, **kwargs)
        given = _MISSING if _is_placeholder(inputs) else inputs
        self._start(kwargs.get("run_type") or "chain", run_id, given, serialized, kwargs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_chain_end(outputs, run_id=run_id, **kwargs)
        self._end(run_id, outputs, kwargs.get("inputs"))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_chain_error(error, run_id=run_id, **kwargs)
        self._fail("on_chain_error", run_id, error, kwargs.get("inputs"))

    # ------------------------------------------------------------------ models

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_chat_model_start(serialized, messages, run_id=run_id, **kwargs)
        self._start("chat_model", run_id, {"messages": messages}, serialized, kwargs)

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_llm_start(serialized, prompts, run_id=run_id, **kwargs)
        self._start("llm", run_id, {"prompts": prompts}, serialized, kwargs)

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        run = self._runs.get(run_id)
        if run is None or run_id in self._tapped:
            return
        if run.kind == "chat_model":
            piece = AIMessageChunk(content=token) if chunk is None else chunk.message
            if type(piece.content) is list and not run.blocks:
                # LangChain may merge all later chunks into the first one's own list, before it is read.
                run.blocks = True
                blocks = [dict(block) if type(block) is dict else block for block in piece.content]
                piece = piece.model_copy(update={"content": blocks})
        elif chunk is not None:
            piece = chunk
        else:
            piece = GenerationChunk(text=token if isinstance(token, str) else "")
        self._put({**run.stream, "data": {"chunk": piece}})

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_llm_end(response, run_id=run_id, **kwargs)
        run = self._runs.get(run_id)
        if run is None:
            return
        if run.kind == "chat_model":
            output: Any = next((g.message for choices in response.generations for g in choices[:1]), {})
        else:
            choices = [
                [{"text": g.text, "generation_info": g.generation_info, "type": g.type} for g in choices]
                for choices in response.generations
            ]
            output = {"generations": choices, "llm_output": response.llm_output}
        self._end(run_id, output)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_llm_error(error, run_id=run_id, **kwargs)
        self._fail("on_llm_error", run_id, error)

    # ------------------------------------------------------------------ tools, retrievers, custom events

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_tool_start(serialized, input_str, run_id=run_id, **kwargs)
        self._start("tool", run_id, kwargs.get("inputs") or {}, serialized, kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_tool_end(output, run_id=run_id, **kwargs)
        self._end(run_id, output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_tool_error(error, run_id=run_id, **kwargs)
        run = self._over(run_id)
        if run is not None:
            call_id = kwargs.get("tool_call_id") or run.call_id
            self._put(run.event("error", {"error": error, "input": run.input, "tool_call_id": call_id}))

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_retriever_start(serialized, query, run_id=run_id, **kwargs)
        self._start("retriever", run_id, {"query": query}, serialized, kwargs)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_retriever_end(documents, run_id=run_id, **kwargs)
        self._end(run_id, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_retriever_error(error, run_id=run_id, **kwargs)
        self._fail("on_retriever_error", run_id, error)

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        super().on_custom_event(name, data, run_id=run_id, **kwargs)
        self._put(
            {
                "event": "on_custom_event",
                "name": name,
                "run_id": str(run_id),
                "parent_ids": self._parents.get(run_id, []),
                "tags": kwargs.get("tags") or [],
                "metadata": kwargs.get("metadata") or {},
                "data": data,
            }
        )

    # ------------------------------------------------------------------ output that is read

    async def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Called around the output of every run that streams. The first tap of a run puts its chunks."""
        first = self._is_first_tap(run_id)
        async for chunk in output:
            if first:
                self.chunk(run_id, chunk)
            yield chunk

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        """The same in synchronous code."""
        first = self._is_first_tap(run_id)
        for chunk in output:
            if first:
                self.chunk(run_id, chunk)
            yield chunk

    def _is_first_tap(self, run_id: UUID) -> bool:
        own = object()
        return self._tapped.setdefault(run_id, own) is own


def callback_events(
    agent: Runnable[Any, Any],
    graph_input: Any,
    config: RunnableConfig,
    *,
    notes: RunNotes,
    extra: Mapping[str, Any],
    origin: ChunkOrigin | None = ORIGIN,
) -> AsyncGenerator[Event, None]:
    """The native events of a graph or any other runnable, in v2's shape. The run begins with the first event that is
    asked for, goes on in a task of its own whether or not events are read, and is cancelled and awaited by `aclose`.

    `config` needs no handler of ours: the one that makes the events also writes `notes` and sets message ids. `extra`:
    arguments of ``astream`` (for a graph ``stream_mode=["updates", "values", "custom"]`` and ``subgraphs=True``).
    `origin`: how to get a graph's chunks where they are made; None reads them from ``astream``.

    Raises what the agent raises, after the events that came before.
    """
    channel: Channel[Event] = Channel()
    handler = StreamHandler(notes, graph_input, channel.put)
    return _read(channel, _Pump(agent, graph_input, config, handler, extra, origin))


@dataclass(slots=True)
class _Pump:
    """Runs the agent to its end; what happens reaches the reader through the handler."""

    agent: Runnable[Any, Any]
    graph_input: Any
    config: RunnableConfig
    handler: StreamHandler
    extra: Mapping[str, Any]
    origin: ChunkOrigin | None

    async def run(self) -> None:
        run_id, config = self._observed()
        agent, handler, origin, arguments = self.agent, self.handler, self.origin, dict(self.extra)
        if origin is not None and isinstance(agent, Pregel) and await origin.works():
            prepared = origin.prepare(agent, config, partial(handler.chunk, run_id), arguments)
            if prepared is not None:
                config, arguments = prepared
                async with aclosing(agent.astream(self.graph_input, config, **arguments)) as chunks:
                    async for _ in chunks:
                        pass  # the handler has them already
                return
        async with aclosing(agent.astream(self.graph_input, config, **arguments)) as chunks:
            async for _ in handler.tap_output_aiter(run_id, chunks):
                pass

    def _observed(self) -> tuple[UUID, RunnableConfig]:
        """The root run's id, and the configuration with our handler. As in v2, a surrounding run of LangChain hands
        down what is not given."""
        config = ensure_config(self.config)
        if self.config.get("recursion_limit") is None:
            del config["recursion_limit"]  # LangChain's default would win over the graph's own
        run_id = config["run_id"] = config.get("run_id") or uuid7()
        config["callbacks"] = with_handler(config.get("callbacks"), self.handler)
        return run_id, config


async def _read(channel: Channel[Event], pump: _Pump) -> AsyncGenerator[Event, None]:
    channel.open()
    task = asyncio.get_running_loop().create_task(pump.run())
    task.add_done_callback(lambda _: channel.close())
    events = channel.items
    try:
        while await channel.more():
            while events:
                yield events.popleft()
    except asyncio.CancelledError as cancelled:
        task.cancel(*cancelled.args[:1])
        raise
    finally:
        channel.close()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task  # for the graph's cleanup, and for its exception


def _name(name: str | None, serialized: Any) -> str:
    if name is not None:
        return name
    if isinstance(serialized, Mapping):
        if "name" in serialized:
            return str(serialized["name"])
        if serialized.get("id"):
            return str(serialized["id"][-1])
    return "Unnamed"


def _is_placeholder(inputs: Any) -> bool:
    """LangChain sends this as the input of a run that has only begun to read it."""
    return (
        isinstance(inputs, dict) and len(inputs) == 1 and isinstance(inputs.get("input"), str) and not inputs["input"]
    )


def _given(run: _Run, at_end: Any) -> Any:
    """A run's input, as it is known at its end."""
    if at_end is not None:
        return at_end
    return {} if run.input is _MISSING or run.input is None else run.input
