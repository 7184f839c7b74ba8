"""Edge. The command line of the benchmarks.

python -m benchmarks                        # every case, as tables
python -m benchmarks tokens tools --json    # two of them
python -m benchmarks --peer                 # ag-ui-langgraph beside ours (make bench-peer has it installed)
python -m benchmarks tokens --ladder        # where its time goes
python -m benchmarks --gate                 # what CI checks; --update writes the measured figures as budgets
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.budgets import FILE, updated
from benchmarks.contenders import available, peer_is_there
from benchmarks.gate import SECTIONS, Gate
from benchmarks.registry import AgentCase, all_cases
from benchmarks.timing import Result, measure, measure_function


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = _parser().parse_args(argv)
    if unknown := set(given.cases) - set(given.known):
        sys.exit(f"unknown cases: {', '.join(sorted(unknown))}; known: {', '.join(given.known)}")
    if given.ladder:
        return _ladder(given)
    return _gate(given) if given.gate else _suite(given)


def _parser() -> argparse.ArgumentParser:
    from benchmarks.over_http import HTTP_CASES

    names = [*all_cases(), *HTTP_CASES]
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all; {', '.join(names)}")
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the JSON to a file")
    parser.add_argument("--docs", action="store_true", help="write tables and plot into the documentation")
    parser.add_argument("--peer", action="store_true", help="also measure ag-ui-langgraph")
    parser.add_argument("--ladder", action="store_true", help="the adapter's parts, added one after the other")
    parser.add_argument("--repeats", type=int, default=9, metavar="N", help="rounds (default: 9)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=8,
        metavar="N",
        help="begin no new round of a case after N seconds (default: 8)",
    )
    gate = parser.add_argument_group("the gate")
    gate.add_argument("--gate", action="store_true", help="compare with budgets.toml; exit code 1 if one is exceeded")
    gate.add_argument("--update", action="store_true", help="write measured counts and instructions into budgets.toml")
    gate.add_argument("--only", action="append", choices=SECTIONS, help="a section of the budgets; may be repeated")
    gate.add_argument("--adapter", default="yai_nexus_agentkit:AGUIAdapter", metavar="MODULE:FUNCTION")
    parser.set_defaults(known=names)
    return parser


def _suite(given: argparse.Namespace) -> int:
    from benchmarks.over_http import HTTP_CASES, http_servers, measure_http
    from benchmarks.report import about, as_json, comparison, http_table, markdown

    if given.peer and not peer_is_there():
        sys.exit("ag-ui-langgraph is not installed here: make bench-peer makes an environment that has it")
    wanted = [name for name in given.known if not given.cases or name in given.cases]
    results: list[Result] = []
    http: dict[str, dict[str, Any]] = {}
    for name in wanted:
        print(f"measuring {name}", file=sys.stderr)
        if name in HTTP_CASES:
            http[name] = dict(asyncio.run(measure_http(name, http_servers(peer=given.peer))))
        else:
            results.append(_measured(name, given))
    data = as_json(results, http)
    tables = [about(), markdown(results)]
    if http:
        tables += ["HTTP", http_table(http, {name: title for name, (title, _) in HTTP_CASES.items()})]
    print(json.dumps(data, indent=1) if given.json else "\n\n".join(tables))
    if given.output is not None:
        given.output.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    if given.docs:
        from benchmarks.documents import README, draw, insert

        insert({"tables": "\n\n".join(tables)})
        if given.peer:
            insert({"comparison": comparison(results)}, README)
        draw(results)
    return 0


def _ladder(given: argparse.Namespace) -> int:
    from benchmarks.ladder import ladder

    for name, case in all_cases().items():
        if isinstance(case, AgentCase) and (not given.cases or name in given.cases):
            print(ladder(case, repeats=given.repeats), flush=True)
    return 0


def _measured(name: str, given: argparse.Namespace) -> Result:
    case = all_cases()[name]
    if isinstance(case, AgentCase):
        return measure(case, available(peer=given.peer), repeats=given.repeats, seconds=given.seconds)
    return measure_function(case, repeats=given.repeats)


def _gate(given: argparse.Namespace) -> int:
    gate = Gate(adapter=given.adapter, cases=frozenset(given.cases) or None)
    findings = []
    for finding in gate.check(given.only or SECTIONS):
        print(finding, flush=True)
        findings.append(finding)
    if given.update:
        FILE.write_text(updated(FILE.read_text("utf-8"), findings), "utf-8")
        print(f"{FILE.name} has the measured figures now: read the difference")
        findings = [finding for finding in findings if finding.section in ("ratios", "overhead")]
    failed = [finding for finding in findings if not finding.ok]
    print(f"{len(failed)} of {len(findings)} figures are outside of their budgets" if failed else "within all budgets")
    return 1 if failed else 0


if __name__ == "__main__":
    gc.collect()
    gc.freeze()  # modules are not part of any run
    sys.exit(main())
