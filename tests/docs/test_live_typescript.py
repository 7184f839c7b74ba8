"""The pages' TypeScript clients do what the pages say: compiled, and run in Node against a real server."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.support.serving import served

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / "tests" / "js" / "node_modules"
BROWSER = """
(globalThis as any).window = { confirm: () => true, prompt: () => "Rome" };
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.docs.agents:served") as url:
        yield url


def run(page: str, mark: str, url: str, folder: Path, *, then: str = "") -> list[str]:
    """The output of the only TypeScript block of a page that has `mark`, with a server of ours for the page's."""
    (block,) = [b for b in blocks_of(ROOT / "docs" / page) if b.language == "typescript" and mark in b.text]
    text = block.text.replace('"http://localhost:8000/"', json.dumps(url))
    assert url in text
    shutil.copy(Path(__file__).with_name("globals.d.ts"), folder)
    (folder / "node_modules").symlink_to(MODULES)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "browser.ts").write_text(f"{BROWSER}export {{}};\n")
    (folder / "page.ts").write_text(f'import "./browser.js";\n{text}\n{then}\nexport {{}};\n')
    options = ["--target", "ES2022", "--module", "ESNext", "--moduleResolution", "bundler", "--skipLibCheck"]
    compiler = ["node", str(MODULES / "typescript/bin/tsc"), *options, "--lib", "ES2022,DOM,DOM.Iterable"]
    for command in ([*compiler, "globals.d.ts", "page.ts"], ["node", "page.js"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


SHOW = "console.log(JSON.stringify(agent.messages.map(({ content }) => content)));"


def test_a_page_with_a_subscriber(server: str, tmp_path: Path) -> None:
    printed = run("clients.md", "onRunErrorEvent", f"{server}/talk", tmp_path)

    assert printed[:3] == ["{ mood: 'good' }", "Hello ", "there."]


def test_tools_of_the_page(server: str, tmp_path: Path) -> None:
    printed = run("clients.md", "toolCalls", f"{server}/confirm", tmp_path, then=SHOW)

    assert json.loads(printed[-1]) == ["Delete everything", None, "yes", "The page said yes."]


def test_questions(server: str, tmp_path: Path) -> None:
    printed = run("clients.md", "pendingInterrupts", f"{server}/ask", tmp_path, then=SHOW)

    assert json.loads(printed[-1]) == ["Book a trip", "You want Rome."]


def test_joining_a_thread(server: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    run("clients.md", "onRunErrorEvent", f"{server}/talk", tmp_path_factory.mktemp("first"))
    printed = run("clients.md", "RejoiningAgent", f"{server}/talk", tmp_path_factory.mktemp("again"), then=SHOW)

    assert "Hello there." in json.loads(printed[-1])


def test_without_a_library(server: str, tmp_path: Path) -> None:
    assert run("clients.md", "function* events", f"{server}/talk", tmp_path) == ["Hello ", "there."]
