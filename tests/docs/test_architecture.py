"""The page "Architecture" and CONTRIBUTING.md name files and targets that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "yai_nexus_agentkit"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_every_module_that_the_page_names_is_there() -> None:
    """A name with folders is a path in the package or the repository; one without stands somewhere in the package."""
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))
    existing = {path.name for path in PACKAGE.rglob("*.py")}

    assert len(named) > 50
    for name in sorted(named):
        places = [PACKAGE / name, PACKAGE / "adapter" / "langgraph" / name, ROOT / name]
        assert any(place.exists() for place in places) or name in existing, name


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")["layers"]
    checked = [set(re.findall(r"\w+", layer)) for layer in layers]
    shown = PAGE.partition("```text\ncli\n")[2].partition("```")[0]

    assert [{"cli"}, *(set(line.split()) for line in shown.splitlines())] == [c for c in checked if c != {"__main__"}]


def test_every_folder_of_the_package_is_on_the_page() -> None:
    tree = PAGE.partition("src/yai_nexus_agentkit/\n")[2].partition("```")[0]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    assert folders - set(re.findall(r"^ +(\w+)/", tree, re.M)) == set()
