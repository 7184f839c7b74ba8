"""Calls of the application's own functions. One that raises, or returns what it must not, becomes a `HookError`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ag_ui.core import ActivityMessage, BaseEvent, ReasoningMessage, RunAgentInput, ToolMessage
from ag_ui.core import BaseMessage as TextualMessage
from pydantic import BaseModel

from yai_nexus_agentkit.errors import AGUIAdapterError, HookError

__all__ = ["acall_hook", "call_hook"]

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
