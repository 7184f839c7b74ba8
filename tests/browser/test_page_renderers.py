"""The renderer of docs/chat-page.md, in a copy of the page's sources, built and shown."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import ROOT, Browser, installed
from tests.browser.talking import ANSWER, MESSAGE, say
from tests.docs.blocks import blocks_of
from tests.support.serving import served

WEB = ROOT / "src" / "yai_nexus_agentkit" / "page" / "web"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    copied = tmp_path / "web"
    shutil.copytree(WEB, copied, ignore=shutil.ignore_patterns("node_modules"))
    (copied / "node_modules").symlink_to(installed(WEB, "vite") / "node_modules")
    component, entries = (block.text for block in blocks_of(ROOT / "docs" / "chat-page.md") if block.language == "jsx")
    (copied / "src" / "widgets" / "Price.tsx").write_text(component)
    registry = copied / "src" / "widgets" / "registry.tsx"
    imported, head, entry, *_ = (line for line in entries.splitlines() if line)
    text = registry.read_text()
    assert text.count(head) == 1
    registry.write_text(f"{imported}\n{text.replace(head, head + entry)}")
    environment = {**os.environ, "PAGE_OUT": str(tmp_path / "dist")}
    done = subprocess.run(["npm", "run", "build"], cwd=copied, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "dist"


def test_an_event_is_drawn_by_a_component_of_ones_own(
    page: Browser, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGE", str(built))
    with served("tests.support.own_page:app") as url:
        page.open(f"{url}/chat/")
        page.see(MESSAGE)
        say(page, "Tea, please")
        assert page.texts(f"{ANSWER} p.card") == ["Tea: 4 €"]
        page.evaluate("location.reload()")
        page.see(f"{ANSWER} p.card:has-text('Tea: 4 €')")
