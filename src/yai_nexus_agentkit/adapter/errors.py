"""The errors under their documented import path; the tree itself is in `yai_nexus_agentkit.errors`."""

from yai_nexus_agentkit.errors import (
    AGUIAdapterError,
    Code,
    EncodingError,
    EventTranslationError,
    HookError,
    ResumeError,
    RunInputError,
    RunTimeoutError,
    ThreadBusyError,
)

__all__ = [
    "AGUIAdapterError",
    "Code",
    "EncodingError",
    "EventTranslationError",
    "HookError",
    "ResumeError",
    "RunInputError",
    "RunTimeoutError",
    "ThreadBusyError",
]
