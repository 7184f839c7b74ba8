"""The page about agents as models: its JavaScript runs, its table of variables is the program's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from tests.docs.blocks import blocks_of
from tests.support.serving import served
from yai_nexus_agentkit.cli.models import VARIABLES
from yai_nexus_agentkit.server import OpenAISettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "openai.md"


def test_the_javascript_client_reads_the_answer(tmp_path: Path) -> None:
    [block] = [block for block in blocks_of(PAGE) if block.language == "js"]
    (tmp_path / "node_modules").symlink_to(ROOT / "tests" / "js" / "openai" / "node_modules")
    with served("tests.docs.agents:models") as url:
        (tmp_path / "page.mjs").write_text(block.text.replace("http://127.0.0.1:8080", url))
        command = ["node", "page.mjs"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("Hello there.", "")


def test_the_variables_are_those_of_the_program() -> None:
    rows = [f"| `{v.name}` | {'' if v.default is None else f'`{v.default}` '}| {v.help} |" for v in VARIABLES]
    assert "\n".join(rows) in PAGE.read_text("utf-8")


def test_librechat_sends_the_header_that_names_a_thread() -> None:
    [block] = [block for block in blocks_of(PAGE) if block.language == "yaml"]
    [endpoint] = yaml.safe_load(block.text)["endpoints"]["custom"]
    assert set(endpoint["headers"]) <= set(OpenAISettings().conversation_headers)
