"""Edge. Writes tables between their marks in the documentation, and the plot beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.timing import Result

__all__ = ["PAGE", "PLOT", "README", "draw", "insert"]

README = Path(__file__).resolve().parent.parent / "README.md"
_DOCS = README.with_name("docs")
PAGE = _DOCS / "performance.md"
PLOT = _DOCS / "images" / "performance.svg"


def insert(texts: Mapping[str, str], page: Path = PAGE) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->``. Raises ValueError if a mark is missing."""
    text = page.read_text("utf-8")
    for name, new in texts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page.name} has no marks {name!r}")
        text = pattern.sub(partial(_between, new), text)
    page.write_text(text, "utf-8")


def _between(new: str, found: re.Match[str]) -> str:
    return f"{found[1]}\n{new}\n\n{found[2]}"


def draw(results: Sequence[Result], file: Path = PLOT) -> None:
    """The ratios as bars, one group per case, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "performance"  # the same figures give the same file
    from matplotlib import pyplot

    agents = [result for result in results if result.base.name == "bare"]
    names = [figures.name for figures in agents[0].figures[1:]]
    height = 0.8 / len(names)
    figure, axes = pyplot.subplots(figsize=(9, 0.35 * len(agents) * (1 + len(names) / 4) + 1), layout="constrained")
    for n, name in enumerate(names):
        ratios = [result.ratio(result.figures[n + 1]) for result in agents]
        places = [row + n * height for row in range(len(agents))]
        bars = axes.barh(places, [ratio - 1 for ratio in ratios], height, left=1, label=name)
        axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(agents))], [result.name for result in agents])
    axes.invert_yaxis()
    axes.set_xlabel("CPU time as a multiple of the bare loop (1), logarithmic")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=8)
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
