"""The seam between the adapter and an agent framework: who streams, and who translates.

A `Source` knows how to start a run of its framework and what its native events mean. It does not know HTTP, wire
formats, hooks or time limits; `AGUIAdapter` drives it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.options import AdapterOptions, Hooks
from yai_nexus_agentkit.errors import UNEXPECTED, AGUIAdapterError, HookError

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent, RunAgentInput
    from langchain_core.runnables import RunnableConfig

__all__ = ["Outcome", "RunContext", "Source", "SourceRun", "Translator", "error_text"]

_logger = logging.getLogger(__name__)

Outcome = Literal["success", "interrupt", "error", "cancelled", "abandoned"]


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


def error_text(error: BaseException, run: RunContext) -> str:
    """What the client may read of an exception: the `on_error` hook's text, or else the exception's own.

    Both are logged with each other, and once: an exception that is told again has the same text again. A hook that
    fails hides the exception's text, since it was there to hide it.
    """
    text = next((text for known, text in run.told if known is error), None)
    if text is None:
        text = _error_text(error, run)
        run.told.append((error, text))
        if not isinstance(error, AGUIAdapterError) or error.code in UNEXPECTED:
            # Where a hook words it, nobody but the log has the exception.
            level = logging.WARNING if run.hooks.on_error is None else logging.ERROR
            _logger.log(level, "error in run %s, the client reads %r", run.run_input.run_id, text, exc_info=error)
    return text


def _error_text(error: BaseException, run: RunContext) -> str:
    try:
        text = str(error) or type(error).__name__
    except Exception:  # an exception whose own text fails
        text = type(error).__name__
    if run.hooks.on_error is None:
        return text
    try:
        shown: str | None = call_hook("on_error", run.hooks.on_error, error, run)
        return shown or text
    except HookError:
        _logger.exception("the on_error hook failed")
        return "internal error"


class Translator(Protocol):
    """Native events in, AG-UI events out. A state machine without I/O; one per run."""

    def start(self) -> list[BaseEvent]:
        """``RUN_STARTED`` and what the client must know before the run begins. The driver has sent its own
        ``RUN_STARTED`` by then, and leaves this one out."""

    def feed(self, native: Any, /) -> list[BaseEvent]:
        """The events that tell one native event; none for most kinds. Raises `EventTranslationError` if it cannot be
        told.

        Nobody may change an event that was returned. Only with `RunContext.reuse_events` it may be returned again, with
        another delta and alone.
        """

    def finish(self) -> list[BaseEvent]:
        """The native stream ended by itself: close what is open, and end the run."""

    def fail(self, message: str, code: str, /) -> list[BaseEvent]:
        """The run failed: close what is open, and end it with ``RUN_ERROR``."""

    def cancel(self, message: str, /) -> list[BaseEvent]:
        """The run was stopped on purpose: close what is open, and end it as cancelled."""


class SourceRun(Protocol):
    """One prepared run."""

    @property
    def translator(self) -> Translator: ...

    def oldest_tool(self) -> float | None:
        """When the longest running tool of the agent began (``time.monotonic``); None if none runs."""

    def events(self) -> AsyncGenerator[Any, None]:
        """The native events, in order. Closing the generator cancels the agent and leaves no task behind."""


@runtime_checkable
class Source(Protocol):
    """An agent framework's native stream. One object serves any number of concurrent runs."""

    async def prepare(self, run: RunContext, /) -> SourceRun:
        """Read what the thread holds and decide what this request means. Raises `RunInputError` or `ResumeError`;
        nothing ran then."""
