"""The last words of CI and `make`, and what they report as missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "/bin/bash"


def program(folder: Path, name: str, *lines: str) -> None:
    """A program of this name that does these lines of shell."""
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def run_ci(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: str) -> tuple[int, list[str]]:
    """Exit status and output of `.ci/run` when `make test` does these lines of shell."""
    program(folder, "make", *lines)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    done = subprocess.run([BASH, ".ci/run"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def test_ci_ends_with_the_closing_line_of_the_main_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    suites = ["echo '===== 315 passed in 15.22s ====='", "echo '297 passed, 3 deselected in 9.10s'", "echo done"]
    status, lines = run_ci(monkeypatch, tmp_path, *suites)
    assert (status, lines[-1]) == (0, "===== 315 passed in 15.22s =====")


def test_ci_fails_as_make_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    status, lines = run_ci(monkeypatch, tmp_path, "echo '== 1 failed, 314 passed in 15.22s (0:00:15) =='", "exit 2")
    assert (status, lines[-1]) == (2, "== 1 failed, 314 passed in 15.22s (0:00:15) ==")
    assert run_ci(monkeypatch, tmp_path, "echo lint is unhappy >&2", "exit 2")[0] == 2


@pytest.mark.parametrize("closing", ["===== no tests ran in 0.01s =====", "===== 12 skipped in 0.01s =====", ""])
def test_ci_fails_when_no_test_was_executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, closing: str) -> None:
    status, lines = run_ci(monkeypatch, tmp_path, f"echo '{closing}'")
    assert status == 1
    assert "no test passed" in " ".join(lines)


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "id", "echo 1000")
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [BASH, str(ROOT / ".ci/system-packages"), "chromium"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "missing: Chromium" in done.stderr
    program(tmp_path, "chromium", "exit 0")
    assert subprocess.run(command).returncode == 0


def test_an_unknown_program_is_an_error_of_the_caller() -> None:
    done = subprocess.run([BASH, str(ROOT / ".ci/system-packages"), "emacs"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "unknown name 'emacs'" in done.stderr
