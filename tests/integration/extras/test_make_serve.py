"""``make serve``, as somebody runs it who has just cloned the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agui_inspector")

from tests.support.server_process import started
from yai_nexus_agentkit.page.files import is_built
from yai_nexus_agentkit.testing import assert_conformant

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make"),
    pytest.mark.skipif(
        not (Path(sys.prefix) / "bin/yai-nexus-agentkit").exists(), reason="the package is not installed"
    ),
]


def test_it_opens_a_page_and_answers() -> None:
    """In the environment of the tests; what the target would install is old enough for make (``-o``), and the chat
    page is not built anew."""
    target = ["serve", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.server", "SERVE_ARGS=--port 0", "NEW_NODE=false"]
    with started(ROOT, "make", *target) as server:
        status, url, page = server.get("/")
        assert (status, "/inspector" in url) == (200, not is_built())
        assert ("is not built" in server.shown) is not is_built()
        assert "<html" in page.lower()
        events = server.post("/")
        assert_conformant(events)
        assert events[-1]["type"] == "RUN_FINISHED"
        assert "pip" not in server.shown


def test_on_a_fresh_machine_it_installs_what_the_page_needs(tmp_path: Path) -> None:
    fresh = tmp_path / "venv"
    said = subprocess.run(
        ["make", "--dry-run", "serve", f"VENV={fresh}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    steps = [f"-m venv {fresh}", "--editable .\n", '--editable ".[server,fastapi,inspector]"', "agentkit serve"]
    places = [said.stdout.find(step) for step in steps]
    assert -1 not in places, said.stdout
    assert places == sorted(places)
