"""Driver. The command line in this process, run in a folder of the test's own, as a user would in a project."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from yai_nexus_agentkit.cli import main

__all__ = ["Project", "Result", "imports_forgotten", "project_in", "project_with", "run_main"]


@dataclass(frozen=True)
class Result:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of ``run --json``."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def types(self) -> list[str]:
        """Types of the events."""
        return [event["type"] for event in self.events]

    @property
    def last(self) -> dict[str, Any]:
        """The last event."""
        return self.events[-1]


def run_main(capsys: pytest.CaptureFixture[str], *args: object) -> Result:
    """The command line with these arguments."""
    capsys.readouterr()
    try:
        code = main([str(arg) for arg in args])
    except SystemExit as exit_:  # argparse, on wrong usage
        code = exit_.code if isinstance(exit_.code, int) else 1
    captured = capsys.readouterr()
    return Result(code, captured.out, captured.err)


class Project:
    """A folder with modules, which is the current folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def write(self, name: str, source: str) -> Path:
        """A file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), "utf-8")
        importlib.invalidate_caches()
        return path

    def run(self, *args: object) -> Result:
        """``yai-nexus-agentkit run`` with these arguments."""
        return run_main(self._capsys, "run", *args)

    def verify(self, *args: object) -> Result:
        """``yai-nexus-agentkit verify`` with these arguments."""
        return run_main(self._capsys, "verify", *args)


def project_with(agent: str) -> Any:
    """A fixture: a project whose module ``my_agent.py`` has this source."""

    @pytest.fixture
    def project(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Project]:
        with project_in(tmp_path, capsys, monkeypatch) as made:
            made.write("my_agent.py", agent)
            yield made

    return project


@contextmanager
def project_in(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project for the time of a test; what it imports is forgotten afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with imports_forgotten(folder):
        yield Project(folder, capsys)


@contextmanager
def imports_forgotten(folder: Path) -> Iterator[None]:
    """Modules imported from the folder meanwhile are forgotten: the next test has others of the same names."""
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in [name for name in set(sys.modules) - before if _comes_from(name, folder)]:
            del sys.modules[name]


def _comes_from(name: str, folder: Path) -> bool:
    module = sys.modules[name]
    paths = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return any(str(path).startswith(str(folder)) for path in paths)
