"""Pure. Results as tables and as JSON."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.timing import Figures, Result

__all__ = ["about", "as_json", "comparison", "environment", "http_table", "markdown"]

_PACKAGES = ("langgraph", "langchain-core", "pydantic-core", "ag-ui-protocol", "ag-ui-langgraph")

_SHORT = ("tokens", "arguments", "state", "thread_in_sync", "interleaved")
"""The cases of README.md; docs/performance.md has all."""

Cell = Callable[[Result, Figures], str]


def environment() -> dict[str, Any]:
    """The versions and the machine on which the figures depend."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def as_json(results: Sequence[Result], http: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Everything that was measured. Times in milliseconds of CPU, sizes in bytes."""
    return {
        "environment": environment(),
        "cases": {result.name: _case(result) for result in results},
        "http": {name: dict(figures) for name, figures in http.items()},
    }


def _case(result: Result) -> dict[str, Any]:
    natives = result.base.samples[0].events
    found: dict[str, Any] = {"title": result.title, "rounds": len(result.base.samples)}
    if natives > 1:
        found["natives"] = natives
    for figures in result.figures:
        first = figures.samples[0]
        entry = {
            "least_ms": round(figures.least * 1e3, 3),
            "median_ms": round(figures.median * 1e3, 3),
            "least_wall_ms": round(min(sample.wall for sample in figures.samples) * 1e3, 3),
            "peak_bytes": figures.peak,
        }
        if figures is not result.base:
            entry |= {
                "ratio": round(result.ratio(figures), 4),
                "ratio_of_medians": round(result.ratio_of_medians(figures), 4),
            }
            if natives > 1:
                entry |= {"us_per_native": round(result.microseconds(figures), 3)}
                entry |= {"events": first.events, "bytes": first.size}
        if first.copies is not None:
            entry["copies"] = first.copies
        found[figures.name] = entry
    return found


def markdown(results: Sequence[Result]) -> str:
    """The tables of the agents' cases, then the one of the functions."""
    agents = [result for result in results if result.base.name == "bare"]
    functions = [result for result in results if result.base.name != "bare"]
    parts = []
    if agents:
        parts += [
            "CPU time as a multiple of the bare loop: least of all rounds (median)",
            _table(agents, "bare", _milliseconds, _ratio),
            "Microseconds of CPU per native event, beyond the bare loop",
            _table(agents, "native events", _natives, lambda r, f: f"{r.microseconds(f):,.1f}"),
            "Events and bytes on the wire; copies of the largest value, where it matters",
            _table(agents, "", lambda r, f: "", _wire),
            "Peak of traced memory in MB",
            _table(agents, "bare", _peak, _peak),
        ]
    if functions:
        parts += [
            "Functions by themselves, CPU time as a multiple of the reference: least (median)",
            _table(
                functions, "reference", _milliseconds, lambda r, f: f"{r.ratio(f):.2f} ({r.ratio_of_medians(f):.2f})"
            ),
        ]
    return "\n\n".join(parts)


def comparison(results: Sequence[Result]) -> str:
    """The short table of README.md: times as multiples of the bare loop, and bytes on the wire, beside the peer as it
    is installed and with its raw events off. Cases that were measured without the peer are left out."""
    names = {
        "adapter": "here",
        "peer adapter, raw off": "ag-ui-langgraph, raw events off",
        "peer adapter": "by default",
    }
    rows = [["CPU time (bytes)", *names.values()], ["---"] + ["---:"] * len(names)]
    for result in results:
        found = {figures.name: figures for figures in result.figures}
        if result.name in _SHORT and found.keys() >= names.keys():
            cells = (f"{result.ratio(found[name]):.2f} × ({found[name].samples[0].size:,})" for name in names)
            rows.append([result.title, *cells])
    return _lines(rows)


def http_table(http: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """One row per case and server."""
    columns: dict[str, str | tuple[str, ...]] = {
        "CPU µs per token": "cpu_us_per_token",
        "tokens/s": "tokens_per_second",
        "first event p50 / p99, ms": ("first_event_ms_p50", "first_event_ms_p99"),
        "gap p99, ms": "gap_ms_p99",
        "kB per stream": "kilobytes_per_stream",
        "bytes per token": "bytes_per_token",
    }
    rows = [["case", "server", *columns], ["---"] * (2 + len(columns))]
    for name, servers in http.items():
        for server, figures in servers.items():
            cells = [_join(figures, key) for key in columns.values()]
            rows.append([titles[name], server.replace("_", " "), *cells])
    return _lines(rows)


def _join(figures: Mapping[str, Any], key: str | tuple[str, ...]) -> str:
    keys = (key,) if isinstance(key, str) else key
    return " / ".join(f"{figures[one]:,}" for one in keys if one in figures)


def _table(results: Sequence[Result], base: str, of_base: Cell, of_other: Cell) -> str:
    names = [figures.name for figures in results[0].figures[1:]]
    head = ["case", *([base] if base else []), *names]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for result in results:
        first = [of_base(result, result.base)] if base else []
        rows.append([result.title, *first, *(of_other(result, figures) for figures in result.figures[1:])])
    return _lines(rows)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _milliseconds(result: Result, figures: Figures) -> str:
    return f"{figures.least * 1e3:,.1f} ms"


def _ratio(result: Result, figures: Figures) -> str:
    return f"{result.ratio(figures):.2f} ({result.ratio_of_medians(figures):.2f})"


def _natives(result: Result, figures: Figures) -> str:
    return f"{figures.samples[0].events:,}"


def _wire(result: Result, figures: Figures) -> str:
    first = figures.samples[0]
    copies = "" if first.copies is None else f", {first.copies} {'copy' if first.copies == 1 else 'copies'}"
    return f"{first.events:,} / {first.size:,}{copies}"


def _peak(result: Result, figures: Figures) -> str:
    return f"{figures.peak / 1e6:.2f}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def about() -> str:
    """The environment in one line."""
    found = environment()
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return f"Python {found['python']}, {found['machine']}; {packages}"


if __name__ == "__main__":
    sys.stdout.write(f"{about()}\n")
