"""The seam between the adapter and an agent framework: who runs the agent, who translates, who keeps the threads.

A `Source` knows how to start a run of its framework and what the framework's events mean. It knows no HTTP, no wire
format, no hook and no time limit: `AGUIAdapter` drives it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.run_context import Hooks, RunContext

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities, BaseEvent, Message

    from yai_nexus_agentkit.adapter.shared.reports import Reports
    from yai_nexus_agentkit.errors import Code

__all__ = ["OPTIONAL", "LiveSource", "Source", "SourceRun", "ThreadStore", "Translator", "Waiting", "check_honoured"]


OPTIONAL = frozenset(
    {
        "chain_spans",
        "config",
        "custom_events",
        "durability",
        "functional_input",
        "hold",
        "marked_messages",
        "messages_snapshot",
        "source",
        "step_name",
        "tool_timeout",
        "visible",
    }
)
"""The fields of `AdapterOptions` and `Hooks` that a source carries out itself, or not at all. The others work with
every source."""


def check_honoured(source: Source, options: AdapterOptions, hooks: Hooks) -> None:
    """Raise ValueError for an option or hook that the source does not honour."""
    for given, defaults in ((options, AdapterOptions()), (hooks, Hooks())):
        for name in sorted(OPTIONAL - source.honours):
            if getattr(given, name, None) != getattr(defaults, name, None):
                raise ValueError(f"{type(given).__name__}.{name} has no effect on {source.name} agents: leave it out")


class Translator(Protocol):
    """Native events in, AG-UI events out. A state machine without I/O; one per run."""

    reports: Reports
    """Takes reports of the run's facts and returns the events. The driver ends a failed or stopped run by it."""

    def start(self) -> list[BaseEvent]:
        """The events before the agent runs, such as the state. The driver has sent ``RUN_STARTED``."""
        return []

    def feed(self, native: Any, /) -> list[BaseEvent]:
        """The events of one native event; none for most kinds, and never the terminal one (`finish`). An exception
        loses this event only.

        Nobody may change an event that was returned.
        """

    def finish(self) -> list[BaseEvent]:
        """The native stream ended by itself: the last events, up to the terminal one (`Reports.finish`)."""
        return self.reports.finish()

    def raw(self, native: Any, /) -> Any:
        """The part of a native event that `AdapterOptions.raw_events` attaches."""
        return native


class SourceRun(Protocol):
    """One prepared run."""

    translator: Translator

    def oldest_tool(self) -> float | None:
        """When the longest running tool of the agent began (``time.monotonic``); None if none runs."""
        return None

    def events(self) -> AsyncGenerator[Any, None]:
        """The native events, in order. Closing the generator cancels the agent and leaves no task behind."""


@runtime_checkable
class Source(Protocol):
    """An agent framework, behind one agent. One object serves any number of concurrent runs.

    Derive from it: everything but `prepare` has a default.
    """

    name: str = "custom"
    """How errors name this kind of agent."""
    honours: frozenset[str] = frozenset()
    """Which of `OPTIONAL` it carries out. `AGUIAdapter` refuses the others where they are set."""

    continues: bool = False
    """`prepare` goes on from what an earlier try of the run stored (`RunContext.attempt`)."""

    in_memory: bool = False
    """Its threads are in the memory of this process: no other one finds them."""

    instructs: bool = False
    """The agent has instructions of its own, as far as it shows: a server leaves out those of clients then."""

    def defaults(self, options: AdapterOptions) -> AdapterOptions:
        """The options of an adapter, with the source's own in place of those that are not set."""
        return options

    async def prepare(self, run: RunContext, /) -> SourceRun:
        """Read what the thread holds and decide what this request means. Raises `RunInputError` or `ResumeError`;
        nothing ran then."""

    def redacting(self, hooks: Hooks, options: AdapterOptions) -> Hooks:
        """The application's hooks, behind what the agent itself redacts. Called once for an adapter."""
        return hooks

    def merged(self, under: Mapping[str, Any], over: Mapping[str, Any], /) -> Any:
        """Two configurations of a run as one; `over` wins."""
        inner = {key: {**under[key], **value} for key, value in over.items() if isinstance(under.get(key), Mapping)}
        return {**under, **over, **inner}

    def added(self, message: Message, /) -> bool:
        """The message of a request is one that the framework had added to the thread: no client makes one."""
        return False

    def error_code(self, error: Exception) -> Code | None:
        """The ``RUN_ERROR.code`` of an exception of the framework; None for ``AGENT_ERROR``."""
        return None

    def thread_store(self) -> ThreadStore | None:
        """The agent's stored threads; None if it keeps none."""
        return None

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities:
        """The agent's capabilities (AG-UI 1.0 §22), as far as the source knows."""
        from ag_ui.core import AgentCapabilities

        return AgentCapabilities()

    def live(self) -> LiveSource | None:
        """The agent for one connection, whose model listens while it answers; None if the framework has no such
        mode."""
        return None


class Waiting(NamedTuple):
    """A tool call that waits for the client."""

    call_id: str
    tool: str
    message_id: str
    """The answer that made the call."""
    question: str | None
    """Id of the interrupt that asks whether the tool may run; None for a tool of the client's."""


@runtime_checkable
class LiveSource(Source, Protocol):
    """An agent for one connection. Its runs are the turns of one conversation with a model that stays connected."""

    hears: bool
    """It takes audio, and may answer with it."""

    def hear(self, mime_type: str, data: bytes) -> bool:
        """Pass a piece of the client's audio on to the model; none: the audio ends for now. False if no run has
        connected the model. Raises `OverloadedError` if the model is behind; the piece is lost then."""

    def waiting(self) -> list[Waiting]:
        """The calls that wait for the client."""

    async def close(self) -> None:
        """The client is gone: disconnect the model. Tools that wait for the client fail, and are not executed."""


class ThreadStore(Protocol):
    """The stored threads of one agent, by the key that the agent has for them. It does not redact: `Threads` does.

    Operations on a thread that does not exist raise `ThreadNotFoundError`.
    """

    async def ready(self) -> None:
        """Reach the storage once; raises whatever the storage raises."""

    async def exists(self, key: str) -> bool:
        """The thread has been stored."""

    async def paused(self, key: str) -> bool:
        """The thread waits for an answer. False if there is no such thread."""

    async def waits(self, key: str) -> bool:
        """The thread is paused, or its last run ended with calls for the client to answer. False if there is no such
        thread."""
        return await self.paused(key)

    async def messages(self, key: str, run: RunContext) -> list[Message]:
        """The conversation, in the form that the peer and the options of `run` ask for."""

    async def state(self, key: str) -> dict[str, Any]:
        """The public state; values as the agent holds them."""

    async def change_state(
        self, key: str, values: Mapping[str, Any], removed: Sequence[str], *, as_node: str | None = None
    ) -> None:
        """Set the top-level keys of `values` (JSON data) and remove those of `removed`. `as_node`: what follows that
        node is due afterwards (LangGraph).

        Raises `StatePatchError`, and `ThreadPausedError` for a thread that waits for an answer. Nothing changed then.
        """

    async def delete(self, key: str) -> None:
        """Remove the thread with everything that was stored of it. A store may also have ``expire(key)``, for threads
        that were idle for too long."""
