"""The questions of one graph task's tool calls: in a fixed order, each answer for its own call.

LangGraph matches answers to the interrupts of a task by the order in which they are raised. The tools of one `ToolNode`
task raise them from several threads, so the order differs from run to run. A `Round` raises them in its own order.

This module reads LangGraph's internals: the function with which a task reads its channels (for the task's identity and
the list of `Send`s), and the checkpointer. Where a LangGraph does not have them, each call asks for itself, in the
order of arrival, and a missing checkpointer is not noticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Final, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

__all__ = ["Question", "Round", "asked_at", "round_of", "running_config", "task_calls"]

_READ: Final = "__pregel_read"
_CHECKPOINTER: Final = "__pregel_checkpointer"
_TASKS: Final = "__pregel_tasks"
_PUSH: Final = "__pregel_push"

_KNOWS_SCHEMAS: Final = "response_schema" in inspect.signature(interrupt).parameters
"""False in the first releases of langgraph 1.2, where the schema travels inside the interrupt's value."""

_UUID_EPOCH: Final = datetime(1582, 10, 15, tzinfo=UTC)


class Question(NamedTuple):
    """One interrupt."""

    key: str | None
    """Identifies the question within its task. A question with None is asked every time."""
    value: dict[str, Any]
    schema: dict[str, Any]
    """JSON Schema of the answer."""


class Round:
    """The questions of one task in one run. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: dict[str, Any] = {}
        """By key. A retry of a call does not ask again."""

    def answer(self, questions: Iterable[Question], mine: Question) -> Any:
        """The answer to `mine`, once all of `questions` are answered.

        `questions` are those of all calls of the task, in the same order in every run; `mine` may be missing.

        Raises:
            GraphInterrupt: one of them has no answer yet.
        """
        with self._lock:
            for question in questions:
                self._ask(question)
            return self._ask(mine)

    def _ask(self, question: Question) -> Any:
        if question.key is None:
            return _interrupt(question)
        if question.key not in self._answers:
            self._answers[question.key] = _interrupt(question)
        return self._answers[question.key]


_rounds: WeakKeyDictionary[Any, Round] = WeakKeyDictionary()
_rounds_lock: Final = Lock()


def round_of(config: RunnableConfig) -> Round:
    """The round of the task with this configuration, the same for all of its calls."""
    read = (config.get("configurable") or {}).get(_READ)
    if read is None:
        return Round()
    with _rounds_lock:
        return _rounds.setdefault(read, Round())


def running_config(name: str) -> RunnableConfig:
    """The configuration of the task that calls the tool `name`.

    Raises:
        RuntimeError: there is no task, or no checkpointer to keep the question.
    """
    try:
        config = get_config()
    except RuntimeError:
        config = {}
    configurable = config.get("configurable") or {}
    if _READ not in configurable and "checkpoint_ns" not in configurable:
        raise RuntimeError(f"The tool {name!r} requires approval: it can only be called while a graph runs.")
    if _CHECKPOINTER in configurable and not configurable[_CHECKPOINTER]:
        raise RuntimeError(
            f"The tool {name!r} requires approval, but the graph has no checkpointer, so nobody could answer: "
            "compile it with one, such as graph.compile(checkpointer=InMemorySaver())."
        )
    return config


def asked_at() -> datetime:
    """The time of the checkpoint from which the current task runs: the same in every run of the task.

    Raises:
        RuntimeError: the checkpoint's id has no time. LangGraph's ids are UUIDs of version 6 (RFC 9562, 5.6).
    """
    info = get_runtime().execution_info
    try:
        stamp = UUID(info.checkpoint_id if info is not None else "")
    except ValueError:
        stamp = None
    if stamp is None or stamp.version != 6:
        raise RuntimeError("The checkpoint's id is not a UUID of version 6, so questions of this graph cannot expire.")
    ticks = (stamp.int >> 80 << 12) | (stamp.int >> 64 & 0x0FFF)  # 100 ns each
    return _UUID_EPOCH + timedelta(microseconds=ticks // 10)


def task_calls(config: RunnableConfig, state: Any, call_id: str) -> list[Mapping[str, Any]]:
    """The tool calls that run in the same task as `call_id`, in the order of the model's message.

    `config` is the task's configuration, `state` its input from the graph, as in `ToolRuntime.state`.
    """
    path = (config.get("metadata") or {}).get("langgraph_path") or ()
    if path and path[0] == _PUSH:
        state = _sent(config, path)
    if isinstance(state, Mapping) and "tool_call" in state:  # LangChain's older way to send one call
        return [state["tool_call"]]
    if isinstance(state, list) and state and all(_is_call(item) for item in state):
        return state
    return _calls_with(state, call_id)


def _sent(config: RunnableConfig, path: Sequence[Any]) -> Any:
    """The argument of the `Send` that made the task at this path; None if it cannot be found."""
    read = (config.get("configurable") or {}).get(_READ)
    sends = read([_TASKS], False).get(_TASKS, ()) if read is not None else ()
    position = path[1] if len(path) > 1 else None
    return sends[position].arg if isinstance(position, int) and position < len(sends) else None


def _is_call(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "tool_call"


def _calls_with(state: Any, call_id: str) -> list[Mapping[str, Any]]:
    """The calls of the AI message that made this call, in a list of messages or any channel that holds one."""
    if isinstance(state, Mapping):
        channels = list(state.values())
    else:
        channels = [state] if isinstance(state, list) else list(getattr(state, "__dict__", {}).values())
    for messages in channels:
        if isinstance(messages, (list, tuple)):
            last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
            if last is not None and any(call["id"] == call_id for call in last.tool_calls):
                return list(last.tool_calls)
    return []


def _interrupt(question: Question) -> Any:
    if _KNOWS_SCHEMAS:
        return interrupt(question.value, response_schema=question.schema)
    return interrupt({**question.value, "response_schema": question.schema})
