"""Pure. Code that a model had executed, as calls of a tool: ADK's events have it as parts of their own, without ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["CodeCall", "CodeRuns"]


class CodeCall(NamedTuple):
    """One piece of code. It has the members of a function call that are read here."""

    id: str
    args: dict[str, Any]
    name: str = "execute_code"


@dataclass(slots=True)
class CodeRuns:
    """Pairs code with its result: the next one on the same branch. One per run, or per reading of a history."""

    _open: dict[str | None, str] = field(default_factory=dict)

    def calls(self, event: Any) -> list[CodeCall]:
        """The code in an event."""
        found: list[CodeCall] = []
        for number, part in enumerate(_parts(event)):
            if part.executable_code is not None:
                call = CodeCall(f"{event.id}-code-{number}", {"code": part.executable_code.code or ""})
                self._open[event.branch] = call.id
                found.append(call)
        return found

    def results(self, event: Any) -> list[tuple[str, dict[str, Any]]]:
        """The results in an event, each with the id of its call. Ask for its calls before."""
        found: list[tuple[str, dict[str, Any]]] = []
        for part in _parts(event):
            result, call = part.code_execution_result, self._open.get(event.branch)
            if result is not None and call is not None:
                del self._open[event.branch]
                outcome = getattr(result.outcome, "value", result.outcome)
                found.append((call, {"outcome": outcome, "output": result.output or ""}))
        return found


def _parts(event: Any) -> list[Any]:
    return list(event.content.parts or ()) if event.content is not None else []
