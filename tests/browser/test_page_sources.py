"""The parts of the chat page that need no browser: forms from schemas, questions, and what is drawn of a thread."""

from __future__ import annotations

import subprocess

from tests.browser.chromium import ROOT, installed

WEB = ROOT / "src/yai_nexus_agentkit/page/web"


def test_the_page_s_own_tests() -> None:
    done = subprocess.run(["npm", "test"], cwd=installed(WEB, "vite"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout
