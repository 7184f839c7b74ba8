"""The page about serving lists every refusal of the server."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def refusals() -> Iterator[tuple[int, str]]:
    """Status and error of each `Refusal` that is written out in the code, and of each `HTTPException` with a name."""
    for module in (ROOT / "src" / "yai_nexus_agentkit" / "server").glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refusal":
                status, error = node.args[:2]
                if isinstance(status, ast.Constant) and isinstance(error, ast.Constant):
                    yield int(str(status.value)), str(error.value)
            if isinstance(node, ast.Dict) and module.stem == "problems":
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                        yield int(str(key.value)), str(value.value)


def test_every_refusal_is_in_the_table() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "http-routes.md").read_text("utf-8").splitlines()
        if line[:1] == "|"
    ]
    found = set(refusals())

    assert {(404, "NOT_FOUND"), (413, "BODY_TOO_LARGE"), (503, "NOT_READY")} <= found
    missing = [
        (status, error)
        for status, error in sorted(found)
        if not any(str(status) in row[0].split(", ") and f"`{error}`" in row[1] for row in rows)
    ]
    assert missing == []
