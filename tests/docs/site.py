"""Build the documentation into `site/`: the pages of `docs/`, and the repository's other pages. `make docs` runs it.

The builder reads one folder, so everything is copied into `.artifacts/docs` first, with links that lead there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["pages"]

ROOT = Path(__file__).resolve().parents[2]
GATHERED = ROOT / ".artifacts" / "docs"
_BEHIND = "\u200b\ufeff" * 500
"""Words that nobody sees: of no width, with spaces of no width between them. The search knows no weights of pages:
entries without the word in their titles stand in the order of the places where the word comes first in them."""


def pages() -> Mapping[Path, str]:
    """Every page: its file, and where it is on the site, as in the navigation of `mkdocs.yml`."""
    docs = ROOT / "docs"
    found = {page: str(page.relative_to(docs)) for page in sorted(docs.rglob("*.md"))}
    found |= {ROOT / f"{name}.md": f"{name.lower()}.md" for name in ("CHANGELOG", "CONTRIBUTING")}
    found |= {ROOT / "examples" / "README.md": "examples/index.md"}
    found |= {page: f"examples/{page.parent.name}.md" for page in sorted((ROOT / "examples").glob("*/README.md"))}
    return found


def linked(page: Path, places: Mapping[Path, str]) -> str:
    """The text of a page, with links to other pages as the site has them."""
    up = Path(*[".."] * len(Path(places[page]).parent.parts))

    def moved(link: re.Match[str]) -> str:
        target, mark, anchor = link[1].partition("#")
        file = (page.parent / target).resolve()
        place = places.get(file / "README.md") or places.get(file)
        if place is None or not target:
            return link[0]
        return f"]({up / place}{mark}{anchor})"

    return re.sub(r"\]\(([^)\s:]+)\)", moved, page.read_text("utf-8"))


def gather() -> None:
    shutil.rmtree(GATHERED, ignore_errors=True)
    shutil.copytree(ROOT / "docs", GATHERED)
    places = pages()
    for page, place in places.items():
        (GATHERED / place).parent.mkdir(exist_ok=True)
        (GATHERED / place).write_text(linked(page, places), "utf-8")


def searched(items: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The search finds guides first: the words of the API stand far behind in their entries, where they count least.
    Attributes are words of their class, since each option is a section of the page "Options and hooks"."""
    shown: dict[str, dict[str, str]] = {}
    for item in items:
        place, text = item["location"], item["text"]
        if place.startswith("api/"):
            owner = shown.get(place.rpartition(".")[0])
            if owner is not None and "attribute</code>" in item["title"]:
                owner["text"] += f" {text}"
                continue
            text = f"{_BEHIND}{text}"
        elif place.startswith("changelog/"):
            text = ""
        shown[place] = item | {"text": text}
    return list(shown.values())


def main() -> int:
    gather()
    builder = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(builder, cwd=ROOT, check=False)
    if done.returncode == 0:
        index = ROOT / "site" / "search.json"
        search = json.loads(index.read_text("utf-8"))
        text = json.dumps(search | {"items": searched(search["items"])}, ensure_ascii=False)
        index.write_text(text, "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
