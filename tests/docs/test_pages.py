"""Every code block of README.md, docs/ and the examples' README.md is true.

- Python: executed, all blocks of a page in one module, in order. Functions called ``test_*`` are called afterwards.
  A block with ``title="my_agent.py"`` is also a file of that name, which later commands may use.
- ``console``, ``bash``, ``sh``: commands of this package are executed (``serve`` only loads what it names),
  ``python ...`` too; targets of ``make`` exist, extras of ``pip install`` too. Shown output, after ``$ `` prompts, is
  compared with ``...`` for what differs each time; ``# exit code 3`` says that a command ends so.
- JSON, YAML, TOML: parsed. nginx: its blocks and statements are closed. TypeScript: compiled with the official client's
  types; ``globals.d.ts`` declares what an application would have.
"""

from __future__ import annotations

import asyncio
import contextlib
import doctest
import inspect
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests.docs.blocks import Block, Command, blocks_of, commands_of
from tests.support.command_line import imports_forgotten, project_in
from yai_nexus_agentkit.cli import main, parse
from yai_nexus_agentkit.cli.failures import CommandError
from yai_nexus_agentkit.cli.loading import find, parse_spec

ROOT = Path(__file__).resolve().parents[2]
JS = ROOT / "tests" / "js"
PROGRAM = "yai-nexus-agentkit"


def has_adk() -> bool:
    """google-adk is installed."""
    try:
        return find_spec("google.adk") is not None
    except ModuleNotFoundError:
        return False


def names(pages: Sequence[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
]
ELSEWHERE = {ROOT / "docs" / "adk.md", ROOT / "docs" / "adk-live.md", ROOT / "examples" / "google_adk" / "README.md"}
"""Pages whose code needs the environment of `make test-adk`."""
RECIPES = {ROOT / "docs" / "recipes" / f"{name}.md" for name in ("langfuse", "opentelemetry", "real-models")}
"""Pages whose code needs a service that is elsewhere: `test_recipes.py` runs it."""
HERE = [page for page in PAGES if page not in RECIPES and (page not in ELSEWHERE or has_adk())]
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
SHELL = ("bash", "console", "sh", "shell")
TYPESCRIPT = {"ts": "ts", "typescript": "ts", "tsx": "tsx"}
NAMES = names(PAGES)


def of(page: Path, *languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.page == page and block.language in languages]


# ---------------------------------------------------------------- Python


@pytest.mark.parametrize("page", HERE, ids=names(HERE))
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # A module of its own: type hints of classes are looked up there.
    module = ModuleType(f"page_{re.sub(r'[^a-z0-9]+', '_', page.stem.lower())}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with imports_forgotten(tmp_path), contextlib.redirect_stdout(io.StringIO()):
        for block in of(page, "python", "py"):
            # Line numbers in a traceback are those of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), module.__dict__)
        for name, function in list(vars(module).items()):
            if name.startswith("test_") and callable(function):
                call_test(name, function)


def call_test(name: str, function: Callable[[], Any]) -> None:
    assert not inspect.signature(function).parameters, f"{name}: there are no fixtures on a page"
    result = function()
    if inspect.iscoroutine(result):
        asyncio.run(result)


def files(page: Path, folder: Path) -> None:
    """The files that the page shows, and the examples beside them as in the repository."""
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__", "node_modules")
    )
    for block in BLOCKS:
        if block.page == page and block.title is not None:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")


# ---------------------------------------------------------------- commands


@pytest.mark.parametrize("page", HERE, ids=names(HERE))
def test_commands(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files(page, tmp_path)
    monkeypatch.setenv("EXAMPLE_PAUSE", "0")
    with project_in(tmp_path, capsys, monkeypatch):
        for block in of(page, *SHELL):
            for command in commands_of(block):
                check_command(command, block, capsys)


def check_command(command: Command, block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command.text, comments=True)
    program = words[0] if words else ""
    checker = _CHECKS.get(program, lambda *_: None)
    try:
        checker(words, command, capsys)
    except AssertionError as error:
        pytest.fail(f"{block.place}: {command.text}\n{error}", pytrace=False)


def check_own(words: list[str], command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    if words[1:2] and words[1] in ("serve", "chat"):
        check_loads(words)
        return
    capsys.readouterr()
    try:
        code = main(words[1:])
    except SystemExit as left:
        code = int(left.code or 0)
    shown = capsys.readouterr()
    assert code == command.code, f"exit code {code} instead of {command.code}\n{shown.out}{shown.err}"
    check_output(command, shown.out)


def check_loads(words: list[str]) -> None:
    """Its arguments are right, and its agents are there."""
    try:
        _, args = parse(words[1:])
    except SystemExit as error:
        raise AssertionError("wrong usage") from error
    for spec in getattr(args, "agents", None) or filter(None, [args.agent]):
        try:
            find(parse_spec(spec.rpartition("=")[2]))
        except CommandError as error:
            raise AssertionError(str(error)) from error


def check_python(words: list[str], command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == command.code, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    check_output(command, done.stdout)


def check_output(command: Command, got: str) -> None:
    if command.output:
        rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(command.output, got, rules), f"it shows\n{got}"


def check_make(words: list[str], command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in (word for word in words[1:] if "=" not in word and not word.startswith("-")):
        assert re.search(rf"^{re.escape(target)}:", makefile, re.M), f"there is no target {target}"


def check_pip(words: list[str], command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for word in words[2:]:
        if word.startswith(("-", ".")):
            continue
        wanted = Requirement(word)
        if wanted.name == project["name"]:
            unknown = wanted.extras - project["optional-dependencies"].keys()
            assert not unknown, f"there is no extra {', '.join(unknown)}"


def test_the_readme_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"[\w,]+", page.partition("## Install")[2].partition("\n## ")[0])
    words = {word for piece in named for word in piece.split(",")}
    assert project["optional-dependencies"].keys() - words == set()


_CHECKS: Mapping[str, Callable[[list[str], Command, pytest.CaptureFixture[str]], None]] = {
    PROGRAM: check_own,
    "python": check_python,
    "make": check_make,
    "pip": check_pip,
}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_shell_syntax(page: Path) -> None:
    for block in of(page, *SHELL):
        lines = "\n".join(command.text for command in commands_of(block))
        done = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block.place}: {done.stderr}"


# ---------------------------------------------------------------- data


def parse_nginx(text: str) -> None:
    """Statements end with ``;``, blocks are closed."""
    code = re.sub(r"#.*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", "", text)
    depth = 0
    for piece in re.findall(r"[^{};]+|[{};]", code):
        depth += {"{": 1, "}": -1}.get(piece, 0)
        if depth < 0:
            raise ValueError("a block is closed that is not open")
    if depth:
        raise ValueError("a block is not closed")
    rest = re.split(r"[{};]", code)[-1].strip()
    broken = [line.strip() for line in code.splitlines() if line.strip() and line.strip()[-1] not in "{};"]
    if rest or broken:
        raise ValueError(f"no end of a statement: {rest or broken[0]}")


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "json": json.loads,
    "yaml": yaml.safe_load,
    "yml": yaml.safe_load,
    "toml": tomllib.loads,
    "nginx": parse_nginx,
}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_data(page: Path) -> None:
    for block in of(page, *PARSERS):
        try:
            PARSERS[block.language](block.text)
        except (ValueError, yaml.YAMLError) as error:
            pytest.fail(f"{block.place}: {error}", pytrace=False)


# ---------------------------------------------------------------- TypeScript


def test_typescript(tmp_path: Path) -> None:
    blocks = [block for block in BLOCKS if block.language in TYPESCRIPT]
    if blocks:
        problems = compile_typescript(
            {f"{number}.{TYPESCRIPT[b.language]}": b for number, b in enumerate(blocks)}, tmp_path
        )
        assert not problems, "\n".join(problems)


def compile_typescript(modules: Mapping[str, Block], folder: Path) -> list[str]:
    """The compiler's messages about the blocks, each a module, with the lines of their pages."""
    compiler = JS / "node_modules" / "typescript" / "bin" / "tsc"
    node = shutil.which("node")
    assert node, "TypeScript blocks need Node"
    assert compiler.is_file(), "TypeScript is not installed: run `make test`, or `npm ci` in tests/js"
    (folder / "node_modules").symlink_to(JS / "node_modules")
    shutil.copy(Path(__file__).with_name("globals.d.ts"), folder)
    for name, block in modules.items():
        (folder / name).write_text(f"{block.text}\nexport {{}};\n", "utf-8")
    options = {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "bundler",
        "jsx": "react-jsx",
        "lib": ["ES2022", "DOM", "DOM.Iterable"],
        "types": [],
    }
    config = {"compilerOptions": options, "files": [*modules, "globals.d.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(config), "utf-8")
    done = subprocess.run(
        [node, compiler, "--pretty", "false"], cwd=folder, capture_output=True, text=True, check=False
    )

    def on_its_page(line: str) -> str:
        found = re.match(r"(\d+\.tsx?)\((\d+),\d+\): (.*)", line)
        if found is None:
            return line
        block = modules[found[1]]
        return f"{block.page.name}:{block.line + int(found[2]) - 1}: {found[3]}"

    return [on_its_page(line) for line in done.stdout.splitlines()]


# ---------------------------------------------------------------- links


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^(`{3,}|~{3,}).*?^\1", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of the page's headings, as the site makes them, and those that the page sets itself."""
    text = prose(page)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    plain = [re.sub(r"[^\w\s-]", "", re.sub(r"\]\(.*?\)", "", title)).strip().lower() for title in titles]
    return {re.sub(r"[-\s]+", "-", title) for title in plain} | set(re.findall(r'id="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not re.match(r"[a-z]+:", target):
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors(file), f"{page.name}: {target}"
