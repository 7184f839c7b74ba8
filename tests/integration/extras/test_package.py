"""The source distribution and the wheel, built from it: what is in them, what an index shows, and that they run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

from tests.support.server_process import serving, started
from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.page.files import is_built
from yai_nexus_agentkit.testing import assert_conformant

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ROOT / ".venvs" / "package" / "bin" / "python"
CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

AGENT = """
import sys
from langgraph.graph import START, MessagesState, StateGraph

def say(state):
    return {"messages": [("ai", sys.modules["yai_nexus_agentkit"].__file__)]}
graph = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()
"""
COMMAND = "from yai_nexus_agentkit.cli import main; main()"
WHOLE = """
from my_agent import graph
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app
create_app(AGUIAdapter(graph), page=True)
"""


def run(*command: object, folder: Path = ROOT) -> str:
    done = subprocess.run([str(part) for part in command], cwd=folder, env=CLEAN, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both."""
    assert TOOLS.exists(), "make test sets it up: make .venvs/package/.stamp"
    assert is_built(), "make test builds it: make page"
    folder = tmp_path_factory.mktemp("dist")
    run(TOOLS, "-m", "build", "--no-isolation", "--outdir", folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    [found] = dist.glob("*.whl")
    return found


def named(files: set[str], pattern: str) -> list[str]:
    return sorted(name for name in files if PurePosixPath(name).match(pattern))


def test_both_have_the_page_its_sources_and_the_starter(dist: Path, wheel: Path) -> None:
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as unpacked:
        sources = {name.partition("/src/")[2] or name.partition("/")[2] for name in unpacked.getnames()}
    with zipfile.ZipFile(wheel) as unpacked:
        installed = set(unpacked.namelist())
    here = ROOT / "src" / "yai_nexus_agentkit"
    files = [path for folder in ("page", "cli/starter") for path in (here / folder).rglob("*") if path.is_file()]
    web = {f"yai_nexus_agentkit/{path.relative_to(here).as_posix()}" for path in files}
    web = {name for name in web if not re.search("node_modules|__pycache__|_cache/", name)}
    assert len(named(web, "static/assets/*.js")) >= 1
    assert len(named(web, "web/src/*.tsx")) >= 1
    assert {f"yai_nexus_agentkit/cli/starter/project/{name}" for name in (".env.example", ".gitignore")} <= web
    for there in (sources, installed):
        assert web - there == set()
        assert [name for name in there if "node_modules" in name or "__pycache__" in name] == []
    assert {"Makefile", "README.md", "docs/chat-page.md", "examples/demo/agent.py"} <= sources
    assert [name for name in installed if not name.startswith("yai_nexus_agentkit")] == []


# ---------------------------------------------------------------- what an index shows


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as unpacked:
        text = unpacked.read(f"yai_nexus_agentkit-{__version__}.dist-info/METADATA").decode()
    return Parser().parsestr(text)


def test_an_index_accepts_both(dist: Path) -> None:
    checked = run(TOOLS, "-m", "twine", "check", "--strict", *dist.iterdir())
    assert checked.count("PASSED") == 2


def test_the_metadata_says_who_and_what(metadata: Message) -> None:
    assert metadata["Author"] == "The yai-nexus-agentkit authors"
    assert {"ag-ui", "langgraph", "google-adk", "openai", "ai-sdk"} <= set(metadata["Keywords"].split(","))
    assert "Topic :: Scientific/Engineering :: Artificial Intelligence" in metadata.get_all("Classifier", [])
    assert (metadata["License-Expression"], metadata["License-File"]) == ("MIT", "LICENSE")


def test_pictures_and_links_of_the_description_lead_somewhere(metadata: Message) -> None:
    """There is nothing beside a description on an index."""
    text = str(metadata.get_payload())
    said = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|href)=[\"']([^\"']+)", text)
    assert [both for both in targets if not re.match("https?://|#", both[0] or both[1])] == []
    assert "![" not in re.sub(r"!\[[^\]]*\]\(https?:", "", text)
    for heading in re.findall("^#+ .+$", said, re.MULTILINE):
        assert heading in text
    assert "https://docs.ag-ui.com" in text


# ---------------------------------------------------------------- without a build


def test_a_clone_without_node_shows_the_inspector_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agui_inspector")
    copied = tmp_path / "src" / "yai_nexus_agentkit"
    left_out = shutil.ignore_patterns("node_modules", "static", "__pycache__")
    shutil.copytree(ROOT / "src" / "yai_nexus_agentkit", copied, ignore=left_out)
    (tmp_path / "my_agent.py").write_text(AGENT)
    monkeypatch.setenv("PYTHONPATH", str(copied.parent))
    with serving(tmp_path, "my_agent:graph") as server:
        assert "The chat page is not built" in server.shown
        assert server.get("/")[1] == f"{server.base}/inspector/"
        assert str(copied) in str(server.post())
    for code in (COMMAND, WHOLE):
        command = [sys.executable, "-c", code, "serve", "my_agent:graph", "--page", "--port", "0"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert "the chat page is not built" in done.stderr.splitlines()[-1]
        assert "run `make page`" in done.stderr


# ---------------------------------------------------------------- it runs


def test_the_wheel_serves_the_page(wheel: Path, tmp_path: Path) -> None:
    """In a new environment that borrows its dependencies from this one."""
    fresh = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", fresh)
    python = fresh / "bin" / "python"
    run(TOOLS, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", f"{wheel}[server]")
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "my_agent.py").write_text(AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        command = str(fresh / "bin" / "yai-nexus-agentkit")
        with started(tmp_path, command, "serve", "my_agent:graph", "--port", "0") as server:
            assert f"  page {server.base}/\n" in server.shown
            home = server.get("/")[2]
            for source in re.findall(r'(?:src|href)="\./([^"]+)"', home):
                assert server.get(f"/{source}")[0] == 200
            events = server.post()
    assert_conformant(events)
    assert str(site / "yai_nexus_agentkit") in str(events), "the installed files run"
