"""Edge. ``verify``: one turn of an agent, as bytes on the wire, through the conformance checks.

Exit codes: 0 the stream is conformant and the run did not fail, 1 it is not or did, 2 wrong usage or no such agent.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import logging
import time
from collections import Counter
from contextlib import aclosing
from typing import Any

from yai_nexus_agentkit.cli.agents import adapter_opened, run_config
from yai_nexus_agentkit.cli.arguments import (
    add_adapter_options,
    add_agent_arguments,
    add_request_arguments,
    pairs,
    request,
)
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.layout import printable
from yai_nexus_agentkit.cli.notes import warnings_shown
from yai_nexus_agentkit.cli.terminal import Terminal

__all__ = ["configure", "execute"]

_DEFAULT_MESSAGE = "Hello"


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``verify``."""
    parser.description = (
        "Run one turn and check its stream: every event against the models, the rules of AG-UI 1.0, and ag-ui-validate."
    )
    parser.usage = "%(prog)s AGENT [message] [options]"
    parser.epilog = "Exit code: 0 conformant, 1 not conformant or RUN_ERROR, 2 usage."
    parser.add_argument("agent", metavar="AGENT", help="module:attribute or path/to/file.py:attribute")
    add_request_arguments(parser)
    parser.add_argument("--advice", action="store_true", help="also hints about legal but unwise streams")
    parser.add_argument("--ignore", action="append", default=[], metavar="RULE", help="leave out a rule by its name")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    add_agent_arguments(parser)
    add_adapter_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run and check. Returns the exit code."""
    if args.message is None and not args.input and not args.attach:
        args.message = _DEFAULT_MESSAGE
    with warnings_shown(level=logging.ERROR, tracebacks=args.traceback):
        asked, body, seconds = asyncio.run(_stream(args))
    report = {**_report(asked, body, args), "seconds": round(seconds, 3)}
    Terminal().write(f"{json.dumps(report, ensure_ascii=False, indent=2)}\n" if args.json else _text(report))
    return 0 if report["ok"] else 1


async def _stream(args: argparse.Namespace) -> tuple[dict[str, Any], str, float]:
    """The request, the body of the response to it, and how many seconds that took."""
    asked = Client(request(args)).request()
    context = pairs("--context", args.context) or None
    async with adapter_opened(args.agent, args) as adapter:
        began = time.monotonic()
        async with aclosing(adapter.stream_sse(asked, config=run_config(args), context=context)) as frames:
            body = b"".join([frame async for frame in frames]).decode()
        return asked, body, time.monotonic() - began


def _report(asked: dict[str, Any], body: str, args: argparse.Namespace) -> dict[str, Any]:
    from yai_nexus_agentkit.testing import conformance_problems, parse_sse

    problems = conformance_problems([{"events": body, "input": asked}], advice=args.advice, ignore=args.ignore)
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
        "validator": importlib.util.find_spec("ag_ui_validate") is not None,
    }


def _text(report: dict[str, Any]) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in report["events"].items())
    total = sum(report["events"].values())
    lines = [f"{total} events, {report['bytes']:,} bytes in {report['seconds']:.2f} s: {counts}"]
    lines.append(f"outcome: {report['outcome']}" + (f": {report['error']}" if report["error"] else ""))
    layers = "the event models, the grammar and rules of AG-UI 1.0, ag-ui-validate"
    if not report["validator"]:
        layers = (
            "the event models, the grammar and rules of AG-UI 1.0; "
            "pip install 'yai-nexus-agentkit[verify]' adds ag-ui-validate"
        )
    lines.append(f"checked by {layers}")
    lines += [f"  {problem}" for problem in report["problems"]]
    if report["problems"]:
        lines.append(f"not conformant: {len(report['problems'])} problem(s)")
    else:
        lines.append("conformant" if report["ok"] else "conformant, but the run failed")
    return printable("\n".join(lines)) + "\n"
