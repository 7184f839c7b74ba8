"""Pure. The budgets of the gate: read from `budgets.toml`, compared with what was measured, rewritten on request."""

from __future__ import annotations

import platform
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["COUNTED", "FILE", "Budgets", "Finding", "updated"]

FILE = Path(__file__).with_name("budgets.toml")

_EXACT = ("events", "bytes", "tasks", "jsonpatch")
COUNTED = ("translator", "adapter", "endpoint")
"""The parts whose instructions are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure beside its budget."""

    section: str
    case: str
    what: str
    measured: float
    budget: float | None
    """None: there is no budget for this version of Python."""
    verdict: str
    """Empty if the figure is within its budget; else what is wrong."""

    @property
    def ok(self) -> bool:
        """The figure is within its budget."""
        return not self.verdict

    def __str__(self) -> str:
        name = f"{self.section:<12} {self.case:<18} {self.what:<10}"
        budget = "-" if self.budget is None else f"{self.budget:>12,.6g}"
        return f"{name} {self.measured:>12,.6g} {budget:>12}  {self.verdict or 'ok'}"


@dataclass(frozen=True, slots=True)
class Budgets:
    """The parsed file."""

    data: Mapping[str, Any]

    @classmethod
    def load(cls, text: str | None = None) -> Budgets:
        """From the file, or from its text."""
        return cls(tomllib.loads(FILE.read_text("utf-8") if text is None else text))

    def cases(self, section: str) -> Mapping[str, Mapping[str, Any]]:
        """The budgets of a section by case."""
        cases: Mapping[str, Mapping[str, Any]] = self.data[section]
        return cases

    def counts(self, case: str, measured: Mapping[str, int]) -> list[Finding]:
        """Exact figures."""
        return [self._exact("counts", case, what, measured[what]) for what in _EXACT]

    def ratio(self, case: str, measured: float) -> Finding:
        """CPU time as a multiple of the bare loop's."""
        return self._at_most("ratios", case, "max", measured)

    def wire(self, case: str, measured: float) -> Finding:
        """CPU time of a run on another wire, as a multiple of AG-UI's over SSE."""
        return self._at_most("wires", case, "max", measured)

    def socket(self, case: str, measured: float) -> Finding:
        """Figures of a server with a hundred, or a thousand, open sockets."""
        return self._at_most("sockets", case, "max", measured)

    def overhead(self, case: str, measured: float) -> Finding:
        """Microseconds per native event."""
        return self._at_most("overhead", case, "max_us", measured)

    def instructions(self, case: str, measured: Mapping[str, float]) -> list[Finding]:
        """Instructions per native event, or per run, within the margin of the versions that are installed. A case has
        budgets for some of the parts."""
        return [self._near(case, what, measured[what]) for what in COUNTED if what in self.cases("instructions")[case]]

    @property
    def machine(self) -> str:
        """The kind of processor whose instructions are counted."""
        return str(self.data["about"]["machine"])

    @property
    def margin(self) -> float | None:
        """How far instruction counts may be off, as a share; None if there are none for this Python."""
        about = self.data["about"]
        if about["python"] != f"{sys.version_info.major}.{sys.version_info.minor}":
            return None
        same = all(version(name) == about[name] for name in ("pydantic-core", "ag-ui-protocol"))
        return float(about["margin"] if same else about["foreign_margin"])

    def _exact(self, section: str, case: str, what: str, measured: float) -> Finding:
        budget = self.data[section][case][what]
        verdict = "" if measured == budget else f"{measured - budget:+,} against the budget"
        return Finding(section, case, what, measured, budget, verdict)

    def _at_most(self, section: str, case: str, what: str, measured: float) -> Finding:
        budget = self.data[section][case][what]
        verdict = "" if measured <= budget else "over its budget"
        return Finding(section, case, what, measured, budget, verdict)

    def _near(self, case: str, what: str, measured: float) -> Finding:
        budget, margin = float(self.data["instructions"][case][what]), self.margin
        if margin is None:
            return Finding("instructions", case, what, measured, None, "")
        off = measured / budget - 1 if budget else float("inf")
        verdict = "" if abs(off) <= margin else f"{off:+.1%} against the budget, allowed are ± {margin:.0%}"
        return Finding("instructions", case, what, measured, budget, verdict)


def updated(text: str, findings: Iterable[Finding]) -> str:
    """The file's text with the measured figures as budgets: those that repeat (counts and instructions), and the
    versions they were measured with. Maxima are decisions, and stay."""
    figures = {(f.section, f.case, f.what): f.measured for f in findings if f.section in ("counts", "instructions")}
    about = {name: version(name) for name in ("pydantic-core", "ag-ui-protocol")}
    about["machine"] = platform.machine()
    about["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    lines, section, case = [], "", ""
    for line in text.splitlines():
        if header := re.fullmatch(r"\[(\w+)(?:\.(\w+))?\]", line):
            section, case = header[1], header[2] or ""
        key = line.partition(" = ")[0]
        if (section, case, key) in figures:
            line = f"{key} = {_shown(figures[section, case, key])}"
        elif section == "about" and key in about:
            line = f'{key} = "{about[key]}"'
        lines.append(line)
    return "\n".join(lines) + "\n"


def _shown(figure: float) -> str:
    return f"{round(figure):_}"
