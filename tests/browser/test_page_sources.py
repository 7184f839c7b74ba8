"""The parts of the chat page that need no browser: forms from schemas, questions, and what is drawn of a thread."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.browser.chromium import ROOT, installed

WEB = ROOT / "src/yai_nexus_agentkit/page/web"


def test_the_page_s_own_tests() -> None:
    done = subprocess.run(["npm", "test"], cwd=installed(WEB, "vite"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout


def test_a_build_empties_no_folder_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("not a page")
    build = ["npm", "exec", "--", "vite", "build"]
    environment = {**os.environ, "PAGE_OUT": str(tmp_path)}
    done = subprocess.run(build, cwd=WEB, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "PAGE_OUT=dist" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
