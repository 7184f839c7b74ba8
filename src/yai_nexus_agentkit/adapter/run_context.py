"""One run, and where an application may step into it. `Hooks` are shared by all runs; a `RunContext` belongs to one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import AGUIAdapterError, RunTimeoutError

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent, Message, RunAgentInput
    from langchain_core.runnables import RunnableConfig

    from yai_nexus_agentkit.adapter.source import ThreadStore

__all__ = ["Attempt", "Hooks", "Outcome", "RunContext"]

Outcome = Literal["success", "interrupt", "error", "cancelled", "abandoned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The steps of a run that an application may take part in. The set is closed. Each hook is a plain function; those
    marked *async* may be coroutine functions. A hook that raises, or returns a wrong value, ends the run with
    ``HOOK_ERROR``."""

    before_run: Callable[[RunContext], RunAgentInput | Awaitable[RunAgentInput | None] | None] | None = None
    """*async.* Called before anything is read. Returns another request, or None to keep this one. Raise
    `AGUIAdapterError` to refuse the run."""

    config: Callable[[RunContext], RunnableConfig | Awaitable[RunnableConfig | None] | None] | None = None
    """*async.* Returns a configuration for the run, which is merged under the one given to ``run()``. This is the only
    way for ``forwardedProps`` to reach the graph."""

    on_native: Callable[[Any, RunContext], Iterable[Any]] | None = None
    """Called with each native event before translation. Yields none, one or several events in its place."""

    translate: Callable[[Any, RunContext], Iterable[BaseEvent] | None] | None = None
    """Each native event, after `on_native`: the AG-UI events to send instead of its translation, or None to translate
    it. A message or call that it begins must end in the same list."""

    on_event: Callable[[BaseEvent, RunContext], Iterable[BaseEvent]] | None = None
    """Called with each AG-UI event before it is sent. Yields none, one or several events in its place. If it drops the
    event that opens a message, call, step or span, the rest of that is dropped too. ``RUN_STARTED`` and the terminal
    event cannot be dropped or added."""

    on_state: Callable[[dict[str, Any], RunContext], dict[str, Any]] | None = None
    """Called with the public state, or those keys of it that changed, before it is sent. Returns a dict, with values
    removed or changed."""

    on_messages: Callable[[list[Message], RunContext], list[Message]] | None = None
    """Called with the messages of a snapshot before it is sent. Returns the list to send, with messages removed,
    changed or added. It is also called at the start of a run for the whole thread, so that a message that the client
    sends back as it was shown is not an edit. Added messages must have the same ids in each call."""

    on_error: Callable[[BaseException, RunContext], str | None] | None = None
    """Returns the client's text for an exception, or None for the default, the exception's own text."""

    on_timeout: Callable[[RunTimeoutError, RunContext], Iterable[BaseEvent]] | None = None
    """Called when a time limit ran out. Returns events to send before ``RUN_ERROR``, such as a message that explains
    it."""

    after_run: Callable[[RunContext], Awaitable[None] | None] | None = None
    """*async.* Called after the terminal event, or when the client left (``run.outcome`` says which)."""

    record: Callable[[RunAgentInput | BaseEvent, RunContext], None] | None = None
    """Called with the request as it came, then with each event as it is sent: for an audit trail."""

    def __post_init__(self) -> None:
        check_options(self)


class Attempt(NamedTuple):
    """Which try of a run this is. A worker that goes on with another's run makes the next one."""

    key: str
    """Of the run: what an earlier try stored is found by it."""
    number: int = 1


@dataclass(slots=True)
class RunContext:
    """Everything that belongs to one run alone. Hooks receive it."""

    run_input: RunAgentInput
    """The request. Optional fields that it lacks are None, ``forwarded_props`` too."""
    declared: bool
    """The client declared a protocol version, so it knows AG-UI 1.0 (AG-UI 1.0 §18)."""
    options: AdapterOptions = field(default_factory=AdapterOptions)
    """The adapter's options, with the limits of a server over them."""
    hooks: Hooks = field(default_factory=Hooks)
    """The adapter's hooks."""
    config: RunnableConfig | None = None
    """The configuration given to ``run()``, merged over that of the `config` hook."""
    context: Any = None
    """LangGraph's runtime context."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the request, from the caller of ``run()``: a server puts in user, headers, ..."""
    outcome: Outcome | None = None
    """How the run ended; set before `after_run`."""
    failure: AGUIAdapterError | None = None
    """A hook failed, or an event could not be written, while events were made. The other events are sent, then the run
    ends with this error."""
    error_texts: list[tuple[BaseException, str]] = field(default_factory=list)
    """Exceptions, and the text that the client reads of each."""
    linkable: bool = False
    """The thread is stored with its messages, so a snapshot may link to media in them."""
    unsent: set[str] = field(default_factory=set)
    """Keys of the state that are too large to be sent in this run."""
    attempt: Attempt | None = None
    """Set where another worker could go on with the run. From the second try on, the source goes on from what the
    earlier one stored, and the client gets the state and the messages again."""
    handed_out: bool = False
    """The caller gets the events themselves, and may change them."""
    looking: bool = False
    """Nothing runs: the client asks for the thread as it is now. Its request brings nothing."""
    store: ThreadStore | None = None
    """The agent's threads."""
    sent: list[BaseEvent] = field(default_factory=list)
    """Events that a hook added (`send`); they go out with the next ones."""
    held_state: Any = None
    """The state that the client holds: of the request as it came, which `before_run` may replace."""

    def send(self, *events: BaseEvent) -> None:
        """Send further events from within a hook: `on_native` and `translate` after those of the same native event, any
        other before the terminal event. They go through `Hooks.on_event`."""
        self.sent.extend(events)

    def take_sent(self) -> list[BaseEvent]:
        """The events of `send`, once."""
        events, self.sent = self.sent, []
        return events

    async def pending_calls(self) -> dict[str, str]:
        """Id → name of the thread's tool calls without a result, for `Hooks.before_run`. Reads the thread; empty if the
        agent keeps none, or does not know this one."""
        if self.store is None or not await self.store.exists(self.thread_key):
            return {}
        messages = await self.store.messages(self.thread_key, self)
        answered = {message.tool_call_id for message in messages if message.role == "tool"}
        calls = [call for m in messages if m.role == "assistant" for call in m.tool_calls or ()]
        return {call.id: call.function.name for call in calls if call.id not in answered}

    @property
    def thread_key(self) -> str:
        """The thread's id in the agent's storage: the ``thread_id`` of the configuration, which a server makes from its
        user and the client's thread id; else the client's."""
        wanted = ((self.config or {}).get("configurable") or {}).get("thread_id")
        return self.run_input.thread_id if wanted is None else str(wanted)
