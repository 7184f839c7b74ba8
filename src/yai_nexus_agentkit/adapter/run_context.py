"""One run, and where an application may step into it. `Hooks` are frozen and shared; a `RunContext` is one run's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import AGUIAdapterError

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent, Message, RunAgentInput
    from langchain_core.runnables import RunnableConfig

__all__ = ["Hooks", "Outcome", "RunContext"]

Outcome = Literal["success", "interrupt", "error", "cancelled", "abandoned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where an application may step into a run. The set is closed; each hook may be a plain function, those marked
    *async* also a coroutine function. A hook that raises, or returns what it must not, ends the run with
    ``HOOK_ERROR``, never the server."""

    before_run: Callable[[RunContext], RunAgentInput | Awaitable[RunAgentInput | None] | None] | None = None
    """*async.* Before anything is read; may return another request, or raise `AGUIAdapterError` to refuse the run."""

    config: Callable[[RunContext], RunnableConfig | Awaitable[RunnableConfig | None] | None] | None = None
    """*async.* The run's configuration, merged under the one given to ``run()``. The only way ``forwardedProps`` reach
    the graph."""

    on_native: Callable[[Any, RunContext], Iterable[Any]] | None = None
    """Each native event before translation: yield none, one or several."""

    on_event: Callable[[BaseEvent, RunContext], Iterable[BaseEvent]] | None = None
    """Each AG-UI event before it is sent: drop, change, or fan out. What follows a dropped opener of the same message,
    call, step or span is dropped too. ``RUN_STARTED`` and the terminal event cannot be dropped or added."""

    on_state: Callable[[dict[str, Any], RunContext], dict[str, Any]] | None = None
    """The public state, or those keys of it that changed, before it is sent: return a dict, with values left out or
    changed."""

    on_messages: Callable[[list[Message], RunContext], list[Message]] | None = None
    """The messages of a snapshot before it is sent: return the list of those to send, with messages left out, changed
    or added. Asked at the start of a run for the whole thread too: what the client sends back as it was shown is no
    edit, and no loss. Added messages keep their ids from one call to the next."""

    on_error: Callable[[BaseException, RunContext], str | None] | None = None
    """The client's text for an exception; ``None`` keeps the default, the exception's own text."""

    after_run: Callable[[RunContext], Awaitable[None] | None] | None = None
    """*async.* After the terminal event, or when the run was abandoned (``run.outcome`` says which)."""

    record: Callable[[RunAgentInput | BaseEvent, RunContext], None] | None = None
    """The request as it came, then every event as it goes: for an audit trail."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(slots=True)
class RunContext:
    """All that belongs to one run and to nobody else. Hooks receive it."""

    run_input: RunAgentInput
    """The request. Optional fields that it lacks are None, ``forwarded_props`` too."""
    declared: bool
    """The client named a protocol version: it is of generation 1.0 or later (AG-UI 1.0 §18)."""
    options: AdapterOptions = field(default_factory=AdapterOptions)
    """The adapter's options, with the limits of a server over them."""
    hooks: Hooks = field(default_factory=Hooks)
    """The adapter's hooks."""
    config: RunnableConfig | None = None
    """What the caller of ``run()`` gave, over what the `config` hook gave."""
    context: Any = None
    """LangGraph's runtime context."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What the server knows of the request: user, headers, ... Whatever the caller of ``run()`` puts in."""
    reuse_events: bool = False
    """Nobody keeps an event until the next one is asked for: one that differs from the one before in its delta alone
    may be the same object."""
    outcome: Outcome | None = None
    """How the run ended; set before `after_run`."""
    failure: AGUIAdapterError | None = None
    """A hook failed, or an event could not be written, while something was told. What was told besides is sent, then
    the run ends with it."""
    told: list[tuple[BaseException, str]] = field(default_factory=list)
    """Exceptions, and what the client reads of each."""
    held_state: Any = field(init=False)
    """The state that the client holds, as it came with the request: `before_run` may put another request in."""

    def __post_init__(self) -> None:
        self.held_state = self.run_input.state

    @property
    def thread_key(self) -> str:
        """The thread's id in the agent's storage: the ``thread_id`` of the configuration, which a server makes from its
        user and the client's thread id; else the client's."""
        wanted = ((self.config or {}).get("configurable") or {}).get("thread_id")
        return self.run_input.thread_id if wanted is None else str(wanted)
