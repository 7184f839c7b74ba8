"""Edge. ``verify``: the conformance checks on the bytes of one turn.

Exit codes: 0 the stream is conformant and the run did not fail; 1 otherwise; 2 wrong usage or no such agent.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import re
import time
from collections import Counter
from contextlib import aclosing
from typing import Any

from yai_nexus_agentkit.cli.agents import adapter_opened
from yai_nexus_agentkit.cli.arguments import add_turn_arguments, request, run_arguments
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import CommandError, warnings_shown
from yai_nexus_agentkit.cli.interruptible import run_interruptible
from yai_nexus_agentkit.cli.layout import printable
from yai_nexus_agentkit.cli.terminal import Terminal

__all__ = ["configure", "execute"]

_DEFAULT_MESSAGE = "Hello"
_INSTALL = "pip install 'yai-nexus-agentkit[verify]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``verify``."""
    parser.description = (
        "Run one turn and check its stream: every event against the models, the rules of AG-UI 1.0, and ag-ui-validate."
    )
    parser.epilog = "Exit code: 0 conformant, 1 not conformant or RUN_ERROR, 2 usage."
    add_turn_arguments(parser)
    parser.add_argument("--advice", action="store_true", help="also report legal but unwise streams")
    parser.add_argument("--ignore", action="append", default=[], metavar="RULE", help="skip a rule, by its name")
    parser.add_argument("--json", action="store_true", help="write the report as JSON")


def execute(args: argparse.Namespace) -> int:
    """Run and check. Returns the exit code."""
    _check_names(args.ignore)
    with warnings_shown(level=logging.ERROR, tracebacks=args.traceback):
        asked, body, seconds = run_interruptible(_stream(args))
    report = {**_report(asked, body, args), "seconds": round(seconds, 3)}
    out = Terminal()
    lines = [json.dumps(report, ensure_ascii=False, indent=2) + "\n"] if args.json else map(out.wrapped, _lines(report))
    out.write("".join(lines))
    return 0 if report["ok"] else 1


async def _stream(args: argparse.Namespace) -> tuple[dict[str, Any], str, float]:
    """The request, the body of its response, and the seconds it took."""
    asked = Client(request(args, default=_DEFAULT_MESSAGE)).request()
    async with adapter_opened(args.agent, args) as adapter:
        began = time.monotonic()
        async with aclosing(adapter.stream_sse(asked, **run_arguments(args))) as frames:
            body = b"".join([frame async for frame in frames]).decode()
        return asked, body, time.monotonic() - began


def _report(asked: dict[str, Any], body: str, args: argparse.Namespace) -> dict[str, Any]:
    from yai_nexus_agentkit.testing import conformance_problems, parse_sse
    from yai_nexus_agentkit.testing.rules import ADVICE

    found = conformance_problems({"events": body, "input": asked}, advice=args.advice, ignore=args.ignore)
    advice = [problem for problem in found if any(f"[{name}]" in problem for name in ADVICE)]
    problems = [problem for problem in found if problem not in advice]
    events = parse_sse(body)
    last = events[-1]
    failed = last["type"] == "RUN_ERROR"
    return {
        "agent": args.agent,
        "ok": not problems and not failed,
        "events": dict(Counter(event["type"] for event in events)),
        "bytes": len(body.encode()),
        "outcome": "error" if failed else (last.get("outcome") or {}).get("type", "success"),
        "error": last["message"] if failed else None,
        "problems": problems,
        "advice": advice,
        "validator": importlib.util.find_spec("ag_ui_validate") is not None,
    }


def _check_names(ignored: list[str]) -> None:
    from yai_nexus_agentkit.testing.rules import ADVICE, RULES

    known = ["model", *RULES, *ADVICE]
    for name in ignored:
        if name not in known and not re.fullmatch(r"AGUI\d+", name):
            raise CommandError(f"--ignore: there is no rule {name!r}; the rules are {', '.join(known)}, AGUI001, ...")


def _lines(report: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{count} {kind}" for kind, count in report["events"].items())
    more = ", ag-ui-validate" if report["validator"] else f"; {_INSTALL} adds ag-ui-validate"
    verdict = "conformant" if report["ok"] else "conformant, but the run failed"
    if report["problems"]:
        verdict = f"not conformant: {len(report['problems'])} problem(s)"
    lines = [
        f"{sum(report['events'].values())} events, {report['bytes']:,} bytes in {report['seconds']:.2f} s: {counts}",
        f"outcome: {report['outcome']}" + (f": {report['error']}" if report["error"] else ""),
        f"checked by the event models, the grammar and rules of AG-UI 1.0{more}",
        *(f"  {problem}" for problem in report["problems"]),
        *(f"  legal, but unwise: {line}" for line in report["advice"]),
        verdict,
    ]
    return list(map(printable, lines))
