"""Pure. What an inline callback handler learns of native runs beside the stream of events, and the translator asks for.

v2 events lack the tool call id at a tool's start and the mark of a structured-output call; both are known here before
the event arrives.
"""

from __future__ import annotations

import time

__all__ = ["RunNotes"]


class RunNotes:
    """Facts by run id. Written by the handler of this run, read by its translator.

    `complete` is False where no handler watches (a replayed recording): then an unknown tool call id means nothing.
    """

    def __init__(self, *, complete: bool) -> None:
        self.complete = complete
        self._tool_calls: dict[str, str] = {}
        self._tool_texts: dict[str, str] = {}
        self._structured: set[str] = set()
        self._errors: dict[str, BaseException] = {}
        self._failed_models: set[str] = set()
        self._inside: dict[str, str] = {}
        self._running: dict[str, float] = {}
        """Tools under way: when each began."""

    def note_tool(self, run_id: str, tool_call_id: str | None, text: str | None = None) -> None:
        """A tool started; `tool_call_id` is None when it was called with plain arguments, `text` its only argument
        where that was given alone."""
        self._running[run_id] = time.monotonic()
        if tool_call_id is not None:
            self._tool_calls[run_id] = tool_call_id
        elif text is not None:
            self._tool_texts[run_id] = text

    def note_tool_over(self, run_id: str) -> None:
        """A tool returned or raised."""
        self._running.pop(run_id, None)

    def note_structured(self, run_id: str) -> None:
        """A model call whose output is data for the program, not words for the user."""
        self._structured.add(run_id)

    def note_inside(self, run_id: str, tool_run_id: str) -> None:
        """A run was started by a tool's code, although its callbacks name another parent."""
        self._inside[run_id] = tool_run_id

    def tool_around(self, run_id: str) -> str | None:
        """The tool run whose code started this run, where the run's ancestors do not say so."""
        return self._inside.get(run_id) if self._inside else None

    def note_error(self, run_id: str, error: BaseException) -> None:
        """A chain, graph or node failed."""
        self._errors[run_id] = error

    def note_model_error(self, run_id: str) -> None:
        """A model call failed."""
        self._failed_models.add(run_id)

    def failed_models(self) -> tuple[str, ...]:
        """Model calls that failed so far."""
        return tuple(self._failed_models) if self._failed_models else ()

    def oldest_tool(self) -> float | None:
        """When the longest running tool began (``time.monotonic``)."""
        return min(list(self._running.values()), default=None)

    def tool_call_id(self, run_id: str) -> str | None:
        """The model's id of the call that a tool run executes."""
        return self._tool_calls.get(run_id)

    def tool_text(self, run_id: str) -> str | None:
        """The text that a tool was run with instead of named arguments, which its event does not show."""
        return self._tool_texts.get(run_id)

    def is_structured(self, run_id: str) -> bool:
        """The model call produces structured output."""
        return run_id in self._structured

    def error(self, run_id: str) -> BaseException | None:
        """Why a run failed, if it did."""
        return self._errors.get(run_id)
