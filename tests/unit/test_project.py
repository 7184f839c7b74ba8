"""The project's own rules: dependency bounds, size budgets, what importing the package costs."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = sorted(
    [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests" / "support").rglob("*.py"), ROOT / "tests/conftest.py"]
)
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50


def foreign(requirements: list[str]) -> dict[str, Requirement]:
    parsed = [Requirement(text) for text in requirements]
    return {found.name: found for found in parsed if found.name != PROJECT["name"]}


def bound(requirement: Requirement, operator: str) -> Version | None:
    found = [Version(part.version) for part in requirement.specifier if part.operator == operator]
    return found[0] if found else None


def test_the_lowest_versions_that_are_tested_are_the_lowest_that_are_allowed() -> None:
    lines = (ROOT / "tests/constraints/lowest.txt").read_text().splitlines()
    pinned = {name: Version(version) for name, version in (line.split("==") for line in lines if "==" in line)}
    tested = foreign(PROJECT["dependencies"])
    for extra in ("langchain", "server", "fastapi", "media", "sqlite"):
        tested |= foreign(EXTRAS[extra])
    assert pinned == {name: bound(requirement, ">=") for name, requirement in tested.items()}


@pytest.mark.parametrize("group", ["", *EXTRAS])
def test_every_dependency_is_bounded_on_both_sides(group: str) -> None:
    for requirement in foreign(EXTRAS[group] if group else PROJECT["dependencies"]).values():
        low, high = bound(requirement, ">="), bound(requirement, "<")
        assert low is not None, f"{requirement} has no lower bound"
        assert high is not None, f"{requirement} has no upper bound"
        assert high.release[1:] in ((), (0,)) or low.major == 0, f"{requirement}: bound it on the next major version"


def test_the_core_is_five_packages() -> None:
    assert set(foreign(PROJECT["dependencies"])) == {
        "langgraph",
        "langchain-core",
        "ag-ui-protocol",
        "pydantic",
        "jsonpatch",
    }


def test_the_extra_all_is_all_extras() -> None:
    named = Requirement(EXTRAS["all"][0])
    assert named.extras == set(EXTRAS) - {"all", "adk"}  # which needs an environment of its own


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = [line for statement in body for line in (statement.lineno, statement.end_lineno or 0)]
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", max(lines) - min(lines) + 1 if lines else 0


def test_modules_and_functions_stay_within_their_budgets() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}
    long = {name: size for path in MODULES for name, size in functions(path) if size > MAX_FUNCTION_LINES}
    assert long == {}


def test_no_module_is_a_drawer_for_everything() -> None:
    assert [path for path in MODULES if path.stem in ("utils", "util", "helpers", "common", "misc")] == []


IMPURE = {"asyncio", "logging", "random", "threading", "time"}
FRAMEWORKS = {"fastapi", "langchain", "langchain_core", "langgraph", "starlette", "uvicorn"}


def impurities(path: Path) -> Iterator[str]:
    """Forbidden imports and waits of a pure module. Those of `adapter/langgraph` compute with LangChain's types."""
    forbidden = IMPURE if "langgraph" in path.parts else IMPURE | FRAMEWORKS
    tree = ast.parse(path.read_text())
    typing_only = {
        inner for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield f"{path.name}:{node.lineno} awaits"
        elif isinstance(node, ast.Import | ast.ImportFrom) and node not in typing_only:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"{path.name}:{node.lineno} {n}" for n in names if n.partition(".")[0] in forbidden)


def test_modules_that_call_themselves_pure_are() -> None:
    pure = [
        path for path in MODULES if "Pure." in (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0]
    ]
    assert len(pure) > 40
    assert [fault for path in pure for fault in impurities(path)] == []


def test_importing_the_package_loads_no_framework() -> None:
    heavy = ["ag_ui", "fastapi", "jsonpatch", "langchain_core", "langgraph", "pydantic", "starlette", "uvicorn"]
    code = f"import sys, yai_nexus_agentkit; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
