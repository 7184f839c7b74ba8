"""``init``: the project that it makes, and what it refuses."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests.support.command_line import Project, project_in, run_main
from tests.support.providers import openai_chat
from tests.support.providers.server import ModelServer
from tests.support.screen import in_a_terminal
from yai_nexus_agentkit.cli import parse

SOURCES = Path(__file__).parents[3] / "src" / "yai_nexus_agentkit"
TOOLS = SOURCES.parents[1] / ".venvs" / "package" / "bin" / "python"
FILES = [
    ".dockerignore",
    ".env.example",
    ".github/workflows/ci.yml",
    ".gitignore",
    "Dockerfile",
    "README.md",
    "agent.py",
    "app.py",
    "pyproject.toml",
    "script.py",
    "tests/test_agent.py",
    "tests/test_app.py",
    "wheels/README.md",
]


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with project_in(tmp_path, capsys, monkeypatch) as project:
        yield project


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def in_git(folder: str) -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=True)
    return {line.removeprefix(f"{folder}/") for line in listed.stdout.split()}


# ---------------------------------------------------------------- the files


def test_a_project_has_all_files_under_its_own_name(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_main(capsys, "init", "Hello_World.2", "--page", "none")
    folder = here.folder / "Hello_World.2"

    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("hello-world-2: 13 files. Next:\n  cd Hello_World.2\n")
    assert files_of(folder) == FILES
    assert [name for name in FILES if "my-agent" in (folder / name).read_text()] == []
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "hello-world-2"
    for text in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        assert version(Requirement(text).name) in Requirement(text).specifier


def test_the_sources_of_the_page_are_copied(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """All that git has, and nothing that tools left there."""
    run_main(capsys, "init", "mine")
    made = set(files_of(here.folder / "mine"))

    page = {f"page/{name}" for name in in_git("page/web")}
    assert made == {*FILES, ".github/workflows/page.yml", *page}
    assert {"page/package-lock.json", "page/.npmrc", "page/src/main.tsx"} <= page


@pytest.mark.parametrize("page", ["vite", "none"])
def test_workflows_are_parsed_and_their_commands_exist(
    page: str, here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run_main(capsys, "init", "mine", "--page", page)
    workflows = sorted((here.folder / "mine/.github/workflows").iterdir())

    assert [file.stem for file in workflows] == ["ci"] + ["page"] * (page == "vite")
    ran = [shlex.split(line) for file in workflows for line in commands_of(yaml.safe_load(file.read_text()))]
    assert [words[0] for words in ran] == [
        "pip",
        "pytest",
        *["yai-nexus-agentkit"] * 2,
        *["npm"] * 3 * (page == "vite"),
    ]
    for words in ran:
        if words[0] == "yai-nexus-agentkit":
            parse(words[1:])
    assert [words[1] for words in ran if words[0] == "yai-nexus-agentkit"] == ["verify", "bench"]


def commands_of(workflow: dict[Any, Any]) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all("run" in step or re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in steps)
    assert workflow[True] == ["push", "pull_request"]  # YAML 1.1 reads the key `on` so
    return [step["run"] for step in steps if "run" in step]


@pytest.mark.parametrize("page", ["vite", "none"])
def test_the_dockerfile_copies_what_is_there(page: str, here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run_main(capsys, "init", "mine", "--page", page)
    folder = here.folder / "mine"
    lines = (folder / "Dockerfile").read_text().splitlines()

    ignored = (folder / ".dockerignore").read_text().split()
    for line in lines:
        match line.split():
            case ["COPY", first, *_] if first.startswith("--from="):
                assert f"FROM node:22-slim AS {first.removeprefix('--from=')}" in lines
            case ["COPY", *sources, _]:
                for source in sources:
                    assert list(folder.glob(source)), line
                    assert source not in ignored
    command = next(line for line in lines if line.startswith("CMD "))
    assert yaml.safe_load(command.removeprefix("CMD "))[:2] == ["uvicorn", "app:app"]
    assert [line for line in plain_dockerfile() if line not in lines] == []


def plain_dockerfile() -> list[str]:
    return (SOURCES / "cli/starter/project/Dockerfile").read_text().splitlines()


# ---------------------------------------------------------------- names and folders


@pytest.mark.parametrize(
    ("given", "name"),
    [("a-b", "a-b"), ("class", "class"), ("X", "x"), ("7", "7"), ("inner/mine", "mine"), ("empty", "empty"), (".", "")],
)
def test_names(given: str, name: str, here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("inner", "empty", "new"):
        (here.folder / folder).mkdir()
    os.chdir("new" if given == "." else ".")
    result = run_main(capsys, "init", given, "--page", "none")

    assert (result.code, result.err) == (0, "")
    assert Path(given, "pyproject.toml").read_text().count(f'name = "{name or "new"}"') == 1
    assert (f"  cd {given}\n" in result.out) == (given != ".")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "'': '' is not a name"),
        ("-a", None),
        ("a b", "'a b': 'a b' is not a name for a project: use letters, digits"),
        ("a-", "'a-': 'a-' is not a name"),
        ("größe", "'größe': 'größe' is not a name"),
        ("fastapi", "'fastapi': fastapi is a package that is installed here; choose another name"),
        ("LangGraph", "'LangGraph': langgraph is a package"),
        ("yai_nexus-agentkit", "'yai_nexus-agentkit': yai-nexus-agentkit is a package"),
        ("no/mine", "'no/mine': there is no folder "),
        ("file", "'file' is a file"),
        ("file/mine", "'file/mine': there is no folder "),
        ("full", "'full' is not empty, it has .git, a, b, c, d, and 2 more; choose a new folder"),
        ("x" * 300, f"'{'x' * 300}' cannot be read: File name too long"),
        ("/proc/mine", "/proc/mine cannot be written: "),
    ],
)
def test_what_is_refused(given: str, why: str | None, here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    here.write("file", "")
    for name in (".git", *"abcdef"):
        here.write(f"full/{name}", "mine")
    before = files_of(here.folder)
    result = run_main(capsys, "init", given)

    assert (result.code, result.out) == (2, "")
    assert why is None or result.err.startswith(f"yai-nexus-agentkit: {why}")
    assert why is None or result.err.count("\n") == 1
    assert files_of(here.folder) == before


def test_an_unknown_page_is_refused(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_main(capsys, "init", "mine", "--page", "svelte")

    assert result.code == 2
    assert "--page: invalid choice: 'svelte'" in result.err
    assert files_of(here.folder) == []


@pytest.mark.parametrize("given", ["shut", "shut/mine"])
def test_a_folder_without_permission_is_one_line(given: str, here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (here.folder / "shut").mkdir(mode=0)
    with as_nobody():
        result = run_main(capsys, "init", given)

    assert (result.code, result.err) == (2, f"yai-nexus-agentkit: {given!r} cannot be read: Permission denied\n")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may do everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_the_commands_fit_a_narrow_terminal(tmp_path: Path) -> None:
    folder = os.path.dirname(sys.executable)
    with in_a_terminal(
        tmp_path, "init", "mine", "--page", "none", columns=40, PATH=f"{folder}:{os.environ['PATH']}"
    ) as (
        screen,
        process,
    ):
        assert process.wait(timeout=30) == 0
        screen.wait_for_end()
    assert all(len(line) <= 40 for line in screen.shown.splitlines())
    assert "\n  cd mine\n" in screen.shown
    assert 'pip install -e ".[dev]"\n  uvicorn app:app --reload\n' in screen.shown


# ---------------------------------------------------------------- what it does


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starter")
    subprocess.run([sys.executable, "-m", "yai_nexus_agentkit", "init", "mine"], cwd=folder, check=True)
    return folder / "mine"


def checked(folder: Path, *command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("MODEL", "PYTEST_ADDOPTS")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_tests_pass(made: Path) -> None:
    assert "4 passed" in checked(made, sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def test_its_gates_hold(made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL", raising=False)
    with project_in(made, capsys, monkeypatch):
        for command in commands_of(yaml.safe_load(Path(".github/workflows/ci.yml").read_text())):
            program, *words = shlex.split(command)
            if program == "yai-nexus-agentkit":
                result = run_main(capsys, *words)
                assert result.code == 0, result.out + result.err


def test_a_model_that_its_environment_names_answers(made: Path) -> None:
    settings = (made / ".env.example").read_text()
    with ModelServer([openai_chat.answer("Hello ", "from a model.")]) as server:
        for line in ("MODEL=openai:gpt-5-mini", "OPENAI_API_KEY="):
            assert f"# {line}\n" in settings
            settings = settings.replace(f"# {line}", line)
        settings = settings.replace("OPENAI_API_KEY=", f"OPENAI_API_KEY=secret\nOPENAI_BASE_URL={server.url}/v1")
        (made / ".env").write_text(settings)
        shown = checked(made, sys.executable, "-m", "yai_nexus_agentkit", "run", "agent:graph", "Hi")
        (made / ".env").unlink()

    assert "Hello from a model." in shown
    assert [body["model"] for body in server.bodies] == ["gpt-5-mini"]
    assert [tool["function"]["name"] for tool in server.bodies[0]["tools"]] == ["look_up_weather", "send_mail"]


def test_its_requirements_are_installed_by_its_description_alone(made: Path, tmp_path: Path) -> None:
    """As the Dockerfile does it. Nothing of the project itself is installed: it runs in its folder."""
    assert TOOLS.exists(), "make test sets it up: make .venvs/package/.stamp"
    shutil.copy(made / "pyproject.toml", tmp_path)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
    checked(tmp_path, str(TOOLS), "-m", "pip", "wheel", *options, "--wheel-dir", "out", ".")

    with zipfile.ZipFile(tmp_path / "out" / "mine-0.1.0-py3-none-any.whl") as wheel:
        metadata = Parser().parsestr(wheel.read("mine-0.1.0.dist-info/METADATA").decode())
        assert [name for name in wheel.namelist() if "dist-info" not in name] == []
    needed = {Requirement(text).name for text in metadata.get_all("Requires-Dist", [])}
    assert needed == {"python-dotenv", "yai-nexus-agentkit", "httpx", "pytest", "pytest-asyncio"}


def test_its_code_is_formatted(made: Path) -> None:
    ruff = shutil.which("ruff", path=os.path.dirname(sys.executable))
    assert ruff
    checked(made, ruff, "check", "--no-cache")
    checked(made, ruff, "format", "--check", "--no-cache")
