"""`AGUIAdapter`: an agent, frozen configuration, and its runs as AG-UI events or bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from ag_ui.core import BaseEvent, EventType, RunAgentInput, RunErrorEvent

from yai_nexus_agentkit.adapter.driver import Driver
from yai_nexus_agentkit.adapter.options import AdapterOptions, Hooks
from yai_nexus_agentkit.adapter.source import Source
from yai_nexus_agentkit.errors import Code, EncodingError

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from yai_nexus_agentkit.adapter.control import RunControl

__all__ = ["AGUIAdapter"]

_DEFAULTS = AdapterOptions()
_NO_HOOKS = Hooks()
_TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)


class AGUIAdapter:
    """An agent as AG-UI event streams.

    `agent`: a compiled LangGraph graph, any other LangChain runnable, or a `Source`. The adapter holds nothing of a
    run: one object serves any number of concurrent runs.
    """

    def __init__(
        self,
        agent: Runnable[Any, Any] | Source,
        *,
        options: AdapterOptions = _DEFAULTS,
        hooks: Hooks = _NO_HOOKS,
    ) -> None:
        self.options = options
        self.hooks = hooks
        self.source: Source = _source(agent)

    async def run(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[BaseEvent, None]:
        """The AG-UI events of one run, ``RUN_STARTED`` first, exactly one of ``RUN_FINISHED`` and ``RUN_ERROR`` last.

        `run_input`: the request, as a model or as JSON data (cleaned as AG-UI 1.0 §17 asks). `config`: over the
        `config` hook's. `context`: LangGraph's runtime context. `request`: what the server knows, for hooks. `control`:
        stops this run from outside.

        Raises nothing of the run: every exception becomes ``RUN_ERROR``. Closing the generator, or cancelling its
        consumer, cancels the agent and leaves no task behind.
        """
        async with aclosing(
            self.batches(run_input, config=config, context=context, request=request, control=control)
        ) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    event_stream_adapter = run
    """`run` under the name that older code knows."""

    async def stream_sse(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The same as Server-Sent Events: one frame per event (AG-UI 1.0 §19). An event that cannot be encoded ends the
        run with ``ENCODING_ERROR``, after closing what is open."""
        from yai_nexus_agentkit.transport.sse import SSEEncoder

        encode = SSEEncoder().encode
        ended = False
        async with aclosing(
            self.batches(run_input, config=config, context=context, request=request, control=control)
        ) as batches:
            step: Callable[[], Any] = batches.__anext__
            while True:
                try:
                    batch = await step()
                except StopAsyncIteration:
                    break
                step = batches.__anext__
                for n, event in enumerate(batch):
                    try:
                        frame = encode(event)
                    except EncodingError as error:
                        error.lost = batch[n:]
                        step = partial(batches.athrow, error)
                        break
                    yield frame
                    ended = event.type in _TERMINAL
        if not ended:
            yield encode(RunErrorEvent(message="the end of the run could not be encoded", code=Code.ENCODING_ERROR))

    def batches(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[list[BaseEvent], None]:
        """What `run` gives, those events together that tell one native event; no batch is empty. For writers of a wire.

        An `EncodingError` thrown into the generator (``athrow``) ends the run with that code. Its `lost` says which
        events were not sent.
        """
        given = {"config": config, "context": context, "request": request or {}}
        return Driver(self.source, run_input, control, options=self.options, hooks=self.hooks, **given).batches()


def _source(agent: Any) -> Source:
    from langchain_core.runnables import Runnable

    if isinstance(agent, Runnable):
        from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource

        return LangGraphSource(agent)
    if isinstance(agent, Source):
        return agent
    hint = ": compile it first, graph.compile()" if hasattr(agent, "compile") else ""
    raise TypeError(f"an agent is a compiled graph, a runnable or a Source, not {type(agent).__name__}{hint}")
