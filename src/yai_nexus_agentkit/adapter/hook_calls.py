"""Calls of the application's own functions. One that raises, or returns what it must not, becomes a `HookError`."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ag_ui.core import (
    ActivityMessage,
    BaseEvent,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessage,
    RunAgentInput,
    ToolMessage,
)
from ag_ui.core import BaseMessage as TextualMessage
from pydantic import BaseModel

from yai_nexus_agentkit.adapter.error_places import raised_at
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import UNEXPECTED, AGUIAdapterError, HookError, own_text
from yai_nexus_agentkit.protocol.json.json_safe import json_safe

__all__ = [
    "acall_hook",
    "being_cancelled",
    "call_hook",
    "copied",
    "error_text",
    "guarded",
    "shown_messages",
    "shown_snapshot",
    "shown_state",
]

_logger = logging.getLogger(__name__)
_MESSAGES = (TextualMessage, ToolMessage, ActivityMessage, ReasoningMessage)


def being_cancelled() -> bool:
    """Somebody cancels the current task. A CancelledError at another time is a failure: of work that the agent, its
    checkpointer or a hook had cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def call_hook(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook and return its value; of the hooks that return several items, a list. Raises `HookError`."""
    try:
        value = hook(*args)
        if name in _SEVERAL and _is_several(value):
            value = list(value)  # a generator runs here, and may raise here
    except Exception as error:
        raise _raised(name, error) from error
    return _checked(name, value)


async def acall_hook(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """The same for a hook that may be a coroutine function. An `AGUIAdapterError` passes: `before_run` refuses a run by
    it."""
    try:
        value = hook(*args)
        if inspect.isawaitable(value):
            value = await value
    except AGUIAdapterError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise
        raise _raised(name, error) from error
    return _checked(name, value)


def _raised(name: str, error: BaseException) -> HookError:
    return HookError(f"the {name} hook raised {type(error).__name__}: {error}", hook=name)


def _checked(name: str, value: Any) -> Any:
    wanted, fits = _RETURNS[name]
    if fits(value):
        return value
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
    raise HookError(f"the {name} hook must return {wanted}, not {_named(value)}", hook=name)


def _named(value: Any) -> str:
    """A value as an error names it: by its type, since its content may be private."""
    if value is None or isinstance(value, bool):
        return str(value)
    if inspect.iscoroutine(value):
        return "a coroutine: it is called without await"
    if isinstance(value, list) and value:
        return f"a list with {', '.join(sorted({type(item).__name__ for item in value}))}"
    return f"an object of type {type(value).__name__}"


def _is_several(value: Any) -> bool:
    """The value holds several items. Models, mappings and texts are iterable too, but are meant as one item."""
    return isinstance(value, Iterable) and not isinstance(value, (BaseModel, Mapping, str, bytes))


def _none_or(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kinds)


def _list_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kinds) for item in value)


_SEVERAL = frozenset({"on_native", "on_event", "on_timeout", "translate"})
_RETURNS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "before_run": ("a RunAgentInput or None", _none_or(RunAgentInput)),
    "config": ("a mapping or None", _none_or(Mapping)),
    "on_native": ("an iterable of native events", _list_of(object)),
    "translate": (
        "an iterable of AG-UI events or None",
        lambda value: value is None or _list_of(BaseEvent)(value),
    ),
    "on_event": ("an iterable of AG-UI events", _list_of(BaseEvent)),
    "on_timeout": ("an iterable of AG-UI events", _list_of(BaseEvent)),
    "on_state": ("a dict", lambda value: isinstance(value, dict)),
    "on_messages": ("a list of AG-UI messages", _list_of(*_MESSAGES)),
    "on_error": ("a str or None", _none_or(str)),
    "record": ("None", lambda value: not inspect.isawaitable(value)),
    "after_run": ("None", lambda value: True),
    "visible": ("True or False", lambda value: isinstance(value, bool)),
    "step_name": ("a str or None", _none_or(str)),
}
"""The values that each hook must return: in words, and as a check."""


def error_text(error: BaseException, run: RunContext) -> str:
    """The text that the client may read of an exception: the `on_error` hook's, else the exception's own.

    An exception has one text per run, and is logged once, with it. If the hook fails, the exception's text stays
    hidden: the hook may have been there to hide it.
    """
    text = next((text for known, text in run.error_texts if known is error), None)
    if text is None:
        text = _error_text(error, run)
        run.error_texts.append((error, text))
        if not isinstance(error, AGUIAdapterError) or error.code in UNEXPECTED:
            # With a hook, the exception itself is in the log only.
            level = logging.WARNING if run.hooks.on_error is None else logging.ERROR
            cause = error.__cause__ if isinstance(error, AGUIAdapterError) else None  # what a hook raised
            where = raised_at(cause or error) or "an unknown place"
            name = run.run_input.run_id
            _logger.log(level, "error in run %s at %s; the client reads %r", name, where, text, exc_info=error)
    return text


def _error_text(error: BaseException, run: RunContext) -> str:
    text = own_text(error)
    if run.hooks.on_error is None:
        return text
    try:
        shown: str | None = call_hook("on_error", run.hooks.on_error, error, run)
        return shown or text
    except HookError:
        _logger.exception("the on_error hook failed")
        return "internal error"


def shown_state(run: RunContext, state: dict[str, Any]) -> dict[str, Any]:
    """The public state as the `on_state` hook shows it to clients. Raises `HookError`."""
    hook = run.hooks.on_state
    return state if hook is None else call_hook("on_state", hook, copied(state), run)


def copied(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state whose values a hook may change in place: the agent goes on with the given ones."""
    copies: dict[str, Any] = {}
    for key, value in state.items():
        try:
            copies[key] = copy.deepcopy(value)
        except Exception:  # a lock, a connection: clients see it as JSON in any case
            copies[key] = json_safe(value)
    return copies


def shown_messages(run: RunContext, messages: list[Message]) -> list[Message]:
    """The messages as the `on_messages` hook shows them to clients; the given ones stay as they are.

    Raises `HookError`.
    """
    hook = run.hooks.on_messages
    if hook is None:
        return messages
    shown: list[Message] = call_hook("on_messages", hook, [m.model_copy(deep=True) for m in messages], run)
    return shown


def shown_snapshot(run: RunContext, snapshot: MessagesSnapshotEvent) -> list[BaseEvent]:
    """The events that the hooks `on_messages` and `on_event` make of a snapshot outside of the run's own stream.

    Raises `HookError`.
    """
    shown = snapshot.model_copy(update={"messages": shown_messages(run, list(snapshot.messages))})
    hook = run.hooks.on_event
    return [shown] if hook is None else list(call_hook("on_event", hook, shown, run))


def guarded(run: RunContext, name: str, function: Callable[..., Any], instead: Any, *more: Any) -> Callable[[Any], Any]:
    """A function of the application, for use while events are made: if it fails, it returns `instead`, and the run ends
    after those events were sent. An exception would lose them, and with them the spans that they opened."""

    def call(value: Any) -> Any:
        try:
            return call_hook(name, function, value, *more)
        except HookError as error:
            run.failure = run.failure or error
            return instead

    return call
