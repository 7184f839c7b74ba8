"""Calls of the application's own functions. One that raises, or returns what it must not, becomes a `HookError`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ag_ui.core import ActivityMessage, BaseEvent, Message, ReasoningMessage, RunAgentInput, ToolMessage
from ag_ui.core import BaseMessage as TextualMessage
from pydantic import BaseModel

from yai_nexus_agentkit.adapter.options import AdapterOptions, Visible
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import UNEXPECTED, AGUIAdapterError, HookError

__all__ = ["acall_hook", "call_hook", "error_text", "guarded", "guarded_options", "shown_messages", "shown_state"]

_logger = logging.getLogger(__name__)
_MESSAGES = (TextualMessage, ToolMessage, ActivityMessage, ReasoningMessage)


def call_hook(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """What a hook returns; as a list, where it returns an iterable. Raises `HookError`."""
    try:
        value = hook(*args)
        if name in _SEVERAL and _is_several(value):
            value = list(value)  # a generator runs here, and may raise here
    except Exception as error:
        raise _raised(name, error) from error
    return _checked(name, value)


async def acall_hook(name: str, hook: Callable[..., Any], *args: Any) -> Any:
    """The same for a hook that may be a coroutine function. An error of this package passes: so `before_run` refuses a
    run."""
    try:
        value = hook(*args)
        if inspect.isawaitable(value):
            value = await value
    except AGUIAdapterError:
        raise
    except Exception as error:
        raise _raised(name, error) from error
    return _checked(name, value)


def _raised(name: str, error: Exception) -> HookError:
    return HookError(f"the {name} hook raised {type(error).__name__}: {error}", hook=name)


def _checked(name: str, value: Any) -> Any:
    wanted, fits = _RETURNS[name]
    if fits(value):
        return value
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it
    raise HookError(f"the {name} hook must return {wanted}, not {_told(value)}", hook=name)


def _told(value: Any) -> str:
    """A value as an error names it: by its type, since what is in it may be nobody's business."""
    if value is None or isinstance(value, bool):
        return str(value)
    if inspect.iscoroutine(value):
        return "a coroutine: it is called without await"
    if isinstance(value, list) and value:
        return f"a list with {', '.join(sorted({type(item).__name__ for item in value}))}"
    return f"an object of type {type(value).__name__}"


def _is_several(value: Any) -> bool:
    """Models, mappings and texts can be iterated too, but whoever returns one meant a single item."""
    return isinstance(value, Iterable) and not isinstance(value, (BaseModel, Mapping, str, bytes))


def _none_or(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kinds)


def _list_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kinds) for item in value)


_SEVERAL = frozenset({"on_native", "on_event"})
_RETURNS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "before_run": ("a RunAgentInput or None", _none_or(RunAgentInput)),
    "config": ("a mapping or None", _none_or(Mapping)),
    "on_native": ("an iterable of native events", _list_of(object)),
    "on_event": ("an iterable of AG-UI events", _list_of(BaseEvent)),
    "on_state": ("a dict", lambda value: isinstance(value, dict)),
    "on_messages": ("a list of AG-UI messages", _list_of(*_MESSAGES)),
    "on_error": ("a str or None", _none_or(str)),
    "record": ("None", lambda value: not inspect.isawaitable(value)),
    "after_run": ("None", lambda value: True),
    "visible": ("True or False", lambda value: isinstance(value, bool)),
    "step_name": ("a str or None", _none_or(str)),
}
"""What each hook must return, and whether a value is that."""


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


def shown_state(run: RunContext, state: dict[str, Any]) -> dict[str, Any]:
    """The public state as the `on_state` hook shows it to clients. Raises `HookError`."""
    hook = run.hooks.on_state
    return state if hook is None else call_hook("on_state", hook, state, run)


def shown_messages(run: RunContext, messages: list[Message]) -> list[Message]:
    """The messages as the `on_messages` hook shows them to clients; the given ones stay as they are.

    Raises `HookError`.
    """
    hook = run.hooks.on_messages
    if hook is None:
        return messages
    shown: list[Message] = call_hook("on_messages", hook, [m.model_copy(deep=True) for m in messages], run)
    return shown


def guarded(run: RunContext, name: str, function: Callable[..., Any], instead: Any, *more: Any) -> Callable[[Any], Any]:
    """A function of the application as the translator calls it: if it fails, it gives `instead`, and the run ends after
    the events that are being made were sent. An exception would lose them, and with them what they opened."""

    def call(value: Any) -> Any:
        try:
            return call_hook(name, function, value, *more)
        except HookError as error:
            run.failure = run.failure or error
            return instead

    return call


def guarded_options(run: RunContext) -> AdapterOptions:
    """What a failing function does not name or show stays hidden."""
    options = run.options
    if options.step_name is not None:
        options = replace(options, step_name=guarded(run, "step_name", options.step_name, None))
    if options.visible is not None and not isinstance(options.visible, Visible):
        options = replace(options, visible=guarded(run, "visible", options.visible, False))
    return options
