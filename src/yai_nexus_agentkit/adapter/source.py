"""The seam between the adapter and an agent framework: who streams, and who translates.

A `Source` knows how to start a run of its framework and what its native events mean. It does not know HTTP, wire
formats, hooks or time limits; `AGUIAdapter` drives it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from yai_nexus_agentkit.adapter.options import AdapterOptions, Hooks
from yai_nexus_agentkit.errors import HookError

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent, RunAgentInput
    from langchain_core.runnables import RunnableConfig

__all__ = ["Outcome", "RunContext", "Source", "SourceRun", "Translator", "call_hook", "error_text"]

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
    outcome: Outcome | None = None
    """How the run ended; set before `after_run`."""


def error_text(error: BaseException, run: RunContext) -> str:
    """What the client may read of an exception: the `on_error` hook's text, or else the exception's own.

    A hook that raises hides the exception's text, since it was there to hide it.
    """
    try:
        text = str(error) or type(error).__name__
    except Exception:  # an exception whose own text fails
        text = type(error).__name__
    if run.hooks.on_error is None:
        return text
    try:
        return run.hooks.on_error(error, run) or text
    except Exception:
        _logger.exception("the on_error hook raised")
        return "internal error"


def call_hook(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook of the application. Raises `HookError` if it raises."""
    try:
        return hook(*args)
    except Exception as error:
        raise HookError(f"the {name} hook raised {type(error).__name__}: {error}", hook=name) from error


class Translator(Protocol):
    """Native events in, AG-UI events out. A state machine without I/O; one per run."""

    def start(self) -> list[BaseEvent]:
        """``RUN_STARTED`` and what the client must know before the run begins."""

    def feed(self, native: Any, /) -> list[BaseEvent]:
        """The events that tell one native event; none for most kinds. Raises `EventTranslationError` if it cannot be
        told."""

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
