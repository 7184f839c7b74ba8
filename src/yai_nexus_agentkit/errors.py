"""The package's errors, one tree.

    AGUIAdapterError
    ├── EventTranslationError   one native event could not be translated; logged and skipped
    ├── RunInputError           the request is wrong; says where and why
    │   ├── MediaError          a file that it names could not be had
    │   └── NoToolResultsError  its only news is the result of a call that nobody made
    ├── ResumeError             the answers do not fit the open questions; nothing was consumed
    ├── ThreadBusyError         another run holds the thread
    ├── ThreadNotFoundError     no such thread, or somebody else's
    ├── ThreadPausedError       the thread waits for an answer, and the operation would erase its question
    ├── StatePatchError         a patch of a thread's state is malformed, or does not apply
    ├── OverloadedError         a limit of the server is reached
    ├── RunTimeoutError         a time limit of the options or the server ran out
    ├── EncodingError           an event could not be encoded
    │   └── TooLargeError       it is larger than clients read
    └── HookError               a hook of the application failed

Every class knows the ``RUN_ERROR.code`` it becomes (`Code`, a closed set).
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "AGUIAdapterError",
    "Code",
    "EncodingError",
    "EventTranslationError",
    "HookError",
    "MediaError",
    "NoToolResultsError",
    "OverloadedError",
    "ResumeError",
    "RunInputError",
    "RunTimeoutError",
    "StatePatchError",
    "ThreadBusyError",
    "ThreadNotFoundError",
    "ThreadPausedError",
    "TooLargeError",
]


class Code(StrEnum):
    """Every value that ``RUN_ERROR.code`` can have. The protocol defines none (AG-UI 1.0, events, RunError)."""

    INVALID_INPUT = "INVALID_INPUT"
    INVALID_RESUME = "INVALID_RESUME"
    THREAD_BUSY = "THREAD_BUSY"
    OVERLOADED = "OVERLOADED"
    EXECUTION_TIMEOUT = "EXECUTION_TIMEOUT"
    IDLE_TIMEOUT = "IDLE_TIMEOUT"
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    RECURSION_LIMIT = "RECURSION_LIMIT"
    NO_TOOL_RESULTS = "NO_TOOL_RESULTS"
    AGENT_ERROR = "AGENT_ERROR"
    TRANSLATION_ERROR = "TRANSLATION_ERROR"
    HOOK_ERROR = "HOOK_ERROR"
    ENCODING_ERROR = "ENCODING_ERROR"
    TOO_LARGE = "TOO_LARGE"
    CANCELLED = "CANCELLED"
    WORKER_LOST = "WORKER_LOST"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    """The store cannot be reached, so that this viewer gets no more of a run of another worker."""
    BACKEND_ERROR = "BACKEND_ERROR"
    """The server that runs the agent cannot be reached, or failed."""
    THREAD_IS_LOCKED = "THREAD_IS_LOCKED"
    """``THREAD_BUSY`` as an event: with ``ServerSettings(busy="stream")``, and on `StrictSSEWire`."""


UNEXPECTED = frozenset({Code.HOOK_ERROR, Code.ENCODING_ERROR, Code.TRANSLATION_ERROR})
"""Errors of this package whose text contains that of a foreign exception."""


class AGUIAdapterError(Exception):
    """Root of all errors of this package."""

    code: Code = Code.AGENT_ERROR


class EventTranslationError(AGUIAdapterError):
    """One native event could not be translated. `event_type` is its type."""

    code = Code.TRANSLATION_ERROR

    def __init__(self, message: str, *, event_type: str | None = None) -> None:
        super().__init__(message)
        self.event_type = event_type


class RunInputError(AGUIAdapterError):
    """The request cannot be used. `path` is a JSON Pointer into it (``""`` is the whole)."""

    code = Code.INVALID_INPUT

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.reason = message


class MediaError(RunInputError):
    """A file that the request names is not accepted, or could not be fetched. `path` is that of the part, `detail` is
    for the log alone: clients must not learn it."""

    def __init__(self, message: str, *, path: str = "", detail: str = "") -> None:
        super().__init__(message, path=path)
        self.detail = detail


class NoToolResultsError(RunInputError):
    """All that the request brings is a result for a tool call that nobody made."""

    code = Code.NO_TOOL_RESULTS


class ResumeError(AGUIAdapterError):
    """The answers do not fit the thread's open interrupts. Nothing was consumed; they can be answered again."""

    code = Code.INVALID_RESUME


class ThreadBusyError(AGUIAdapterError):
    """Another run of the thread is active. `retry_after` is in seconds."""

    code = Code.THREAD_BUSY

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ThreadNotFoundError(AGUIAdapterError):
    """The thread does not exist, or belongs to somebody else."""


class ThreadPausedError(AGUIAdapterError):
    """The thread waits for an answer, and the operation would erase its question."""


class StatePatchError(AGUIAdapterError):
    """A patch of a thread's state is wrong at `path`. `conflict`: the patch is well-formed but does not apply."""

    def __init__(self, message: str, *, path: str = "", conflict: bool = False) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.conflict = conflict


class OverloadedError(AGUIAdapterError):
    """A limit is reached: too many runs, or a client reads too slowly. `retry_after` is in seconds."""

    code = Code.OVERLOADED

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RunTimeoutError(AGUIAdapterError):
    """A time limit ran out; `code` says which one."""

    def __init__(self, message: str, *, code: Code = Code.EXECUTION_TIMEOUT) -> None:
        super().__init__(message)
        self.code = code


class EncodingError(AGUIAdapterError):
    """An event could not be encoded."""

    code = Code.ENCODING_ERROR


class TooLargeError(EncodingError):
    """An event has `size` characters, and clients read `limit` at most. The run sends it in smaller events, if it
    can."""

    code = Code.TOO_LARGE

    def __init__(self, message: str, *, size: int, limit: int) -> None:
        super().__init__(message)
        self.size, self.limit = size, limit


class HookError(AGUIAdapterError):
    """A hook raised, or returned a wrong value. `hook` is its name; the exception that it raised is chained."""

    code = Code.HOOK_ERROR

    def __init__(self, message: str, *, hook: str) -> None:
        super().__init__(message)
        self.hook = hook


def own_text(error: BaseException) -> str:
    """The text of any exception; the class of one without a text. A `KeyError` has only the key as its text, so that
    its class stands in front."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # an exception whose own text fails
        text = ""
    if not text:
        return name
    return f"{name}: {text}" if type(error).__str__ is KeyError.__str__ else text
