"""`AGUIAdapter`: an agent with its configuration, and its runs as AG-UI events or bytes."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ag_ui.core import BaseEvent, RunAgentInput

from yai_nexus_agentkit.adapter.driver import Driver
from yai_nexus_agentkit.adapter.frameworks import source_of
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.run_context import Attempt, Hooks
from yai_nexus_agentkit.adapter.shared.threads import Threads
from yai_nexus_agentkit.adapter.source import Source, check_honoured

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities
    from google.adk.apps import App
    from google.adk.runners import Runner
    from google.adk.workflow import BaseNode
    from langchain_core.runnables import Runnable, RunnableConfig

    from yai_nexus_agentkit.adapter.control import RunControl

__all__ = ["AGUIAdapter"]

T = TypeVar("T")

DEFAULTS = AdapterOptions()
NO_HOOKS = Hooks()


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AGUIAdapter:
    """An agent as AG-UI event streams. Frozen, and without anything of a run: one object serves any number of
    concurrent runs.

    `agent`: a compiled LangGraph graph, any other LangChain runnable, an agent, app or runner of google-adk, or a
    `Source`.

    Raises TypeError for anything else, and ValueError for an option or hook that this kind of agent does not honour.
    """

    source: Source
    options: AdapterOptions
    hooks: Hooks
    effective_hooks: Hooks
    """`hooks`, behind what the agent itself redacts: those of every run, and of the stored threads."""

    def __init__(
        self,
        agent: Runnable[Any, Any] | Source | BaseNode | App | Runner,
        *,
        options: AdapterOptions = DEFAULTS,
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._set(source_of(agent), options, hooks)

    def _set(self, source: Source, options: AdapterOptions, hooks: Hooks) -> None:
        given: tuple[tuple[object, type], ...] = ((options, AdapterOptions), (hooks, Hooks))
        for value, kind in given:
            if not isinstance(value, kind):
                raise TypeError(f"options and hooks are AdapterOptions and Hooks, not {type(value).__name__}")
        check_honoured(source, options, hooks)
        options = source.defaults(options)
        effective = source.redacting(hooks, options)
        fields = {"source": source, "options": options, "hooks": hooks, "effective_hooks": effective}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def replace(self, *, options: AdapterOptions | None = None, hooks: Hooks | None = None) -> Self:
        """A new adapter for the same agent, with these options and hooks instead; None keeps this adapter's."""
        made = copy.copy(self)
        made._set(self.source, options or self.options, hooks or self.hooks)
        return made

    def threads(self) -> Threads | None:
        """The agent's stored threads, as this adapter's clients may see them; None if it keeps none."""
        store = self.source.thread_store()
        return None if store is None else Threads(store)

    def capabilities(self) -> AgentCapabilities:
        """The agent's capabilities (AG-UI 1.0 §22), as far as its source knows."""
        return self.source.capabilities(self.options)

    def run(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[BaseEvent, None]:
        """The AG-UI events of one run, ``RUN_STARTED`` first, exactly one of ``RUN_FINISHED`` and ``RUN_ERROR`` last.

        `run_input`: the request, as a model or as JSON data (cleaned as AG-UI 1.0 §17 asks). `config`: the run's
        configuration; wins over that of the `config` hook. `context`: LangGraph's runtime context. `request`: facts
        about the request, for hooks. `control`: stops this run from outside.

        An exception of the run becomes ``RUN_ERROR`` and is not raised. Closing the generator, or cancelling its
        consumer, cancels the agent and leaves no task behind.
        """
        given = {"config": config, "context": context, "request": {} if request is None else request}
        return self._driver(run_input, control, **given, handed_out=True).stream(lambda event: event)

    event_stream_adapter = run
    """`run` under its older name."""

    def stream_sse(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """Like `run`, but as Server-Sent Events: one frame of bytes per event (AG-UI 1.0 §19). An event that cannot be
        encoded ends the run with ``ENCODING_ERROR``, after closing what is open."""
        from yai_nexus_agentkit.transport.agui_sse import SSEEncoder

        return self.stream(
            run_input,
            SSEEncoder().encode,
            config=config,
            context=context,
            request=request,
            control=control,
        )

    def stream(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        wire: Callable[[BaseEvent], T],
        *,
        config: RunnableConfig | None = None,
        context: Any = None,
        request: Mapping[str, Any] | None = None,
        control: RunControl | None = None,
        attempt: Attempt | None = None,
        looking: bool = False,
    ) -> AsyncGenerator[T, None]:
        """Like `run`, but yields ``wire(event)``. For custom transports.

        `wire` is called once per event, in order and at once. It may keep an event, but not change the messages of a
        snapshot: a later one may have the same. An `EncodingError` that it raises ends the run with
        ``ENCODING_ERROR``, after closing what is open. `attempt`: for a run that others may go on with
        (`RunContext.attempt`); the source must be able to (`Source.continues`). `looking`: show the thread as it
        stands, and run nothing.
        """
        facts = {} if request is None else request
        given = {"config": config, "context": context, "request": facts, "attempt": attempt, "looking": looking}
        return self._driver(run_input, control, **given).stream(wire)

    def _driver(self, run_input: RunAgentInput | Mapping[str, Any], control: RunControl | None, **given: Any) -> Driver:
        return Driver(self.source, run_input, control, options=self.options, hooks=self.effective_hooks, **given)
