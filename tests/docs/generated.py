"""Edge. The parts of the pages that are made from the code, and from real runs.

A region of a page stands between two comments::

    <!-- generated: fields of yai_nexus_agentkit.AdapterOptions -->
    ...
    <!-- end of generated -->

- ``fields of CLASS``: the fields of a dataclass with type, default and docstring
- ``members of CLASS``: the values of an enumeration, as a list
- ``tree of MODULE``: the indented block of a module's docstring
- ``arguments of COMMAND``: the arguments of a subcommand that belong to no group, as a table; ``arguments of COMMAND:
  GROUP`` those of a group
- ``rules of MAPPING``: names and their meaning, as a table
- ``events of NAME: KINDS``: the events that the page's Python blocks above left in a variable, one JSON object per
  line; KINDS are patterns such as ``TEXT_MESSAGE_*``, and ``+metadata`` shows metadata too

``python -m tests.docs.generated`` writes them anew; a test fails while they are out of date.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.docs.blocks import blocks_of
from yai_nexus_agentkit.cli import parser_of
from yai_nexus_agentkit.cli.arguments import OPTIONS

__all__ = ["DOCS", "PAGES", "fresh", "groups_of", "regions"]

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_REGION = re.compile(r"(<!-- generated: (?P<what>.+?) -->\n)(?P<text>.*?)(<!-- end of generated -->)", re.DOTALL)
_ID = re.compile(r"(lc_run--)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


@dataclass(frozen=True)
class Region:
    """One generated part of a page."""

    what: str
    line: int
    """The line of its first comment, from 1."""
    text: str


def regions(page: Path) -> list[Region]:
    """The generated parts of a page, in order."""
    text = page.read_text("utf-8")
    return [Region(m["what"], text.count("\n", 0, m.start()) + 1, m["text"]) for m in _REGION.finditer(text)]


def fresh(page: Path) -> str:
    """The page with its generated parts as they should be.

    Raises:
        ValueError: a region says nothing that is known.
    """
    namespace = _Namespace(page)
    found = iter(regions(page))

    def made(match: re.Match[str]) -> str:
        return f"{match[1]}\n{_made(match['what'], namespace, next(found).line)}\n\n{match[4]}"

    return _REGION.sub(made, page.read_text("utf-8"))


class _Namespace:
    """The names that the Python blocks of a page define, executed as far as a line."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._module = ModuleType(f"generated_{page.stem.replace('-', '_')}")
        sys.modules[self._module.__name__] = self._module
        self._left = [block for block in blocks_of(page) if block.language == "python"]

    def until(self, line: int) -> Mapping[str, Any]:
        with contextlib.redirect_stdout(io.StringIO()):
            while self._left and self._left[0].line < line:
                block = self._left.pop(0)
                exec(compile("\n" * (block.line - 1) + block.text, str(self._page), "exec"), self._module.__dict__)
        return self._module.__dict__


def _made(what: str, namespace: _Namespace, line: int) -> str:
    kind, _, rest = what.partition(" of ")
    if kind == "events":
        name, _, kinds = rest.partition(":")
        return events(namespace.until(line)[name.strip()], kinds.split())
    if kind in _FROM_CODE:
        return _FROM_CODE[kind](rest)
    raise ValueError(f"nothing is known of {what!r}")


# ---------------------------------------------------------------- from the code


def _target(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def fields(path: str) -> str:
    """The fields of a dataclass, one section each."""
    return "\n\n".join(
        f"### `{name}`\n\n`{kind}`, default {default}\n\n{text}" for name, kind, default, text in _fields(_target(path))
    )


def _fields(cls: type) -> Iterator[tuple[str, str, str, str]]:
    body = ast.parse(inspect.getsource(cls)).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            if not isinstance(after, ast.Expr) or not isinstance(after.value, ast.Constant):
                raise ValueError(f"{cls.__name__}.{node.target.id} has no docstring")
            yield node.target.id, ast.unparse(node.annotation), _default(node.value), _markdown(after.value.value)


def _default(value: ast.expr | None) -> str:
    text = ast.unparse(value) if value is not None else "none"
    factory = re.fullmatch(r"field\(default_factory=(\w+)\)", text)
    text = {"dict": "{}", "list": "[]"}.get(factory[1], f"{factory[1]}()") if factory else text
    return "as described below" if text.startswith("_") else "`" + text.replace("'", '"') + "`"


def members(path: str) -> str:
    """The values of an enumeration."""
    return "\n".join(f"- `{member.value}`" for member in _target(path))


def tree(path: str) -> str:
    """The first indented block of a module's docstring."""
    lines = (inspect.getdoc(import_module(path)) or "").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("    "))
    end = next((n for n, line in enumerate(lines) if n > start and not line.strip()), len(lines))
    return "\n".join(["```text", *(line[4:] for line in lines[start:end]), "```"])


def rules(path: str) -> str:
    """A mapping of names to their meaning, as a table."""
    rows = [f"| `{name}` | {text} |" for name, text in _target(path).items()]
    return "\n".join(["| name | meaning |", "| --- | --- |", *rows])


def arguments(path: str) -> str:
    """The arguments of a subcommand, or of one of its groups, as a table."""
    command, _, title = path.partition(":")
    rows = [f"| {_usage(action)} | {_help(action)} |" for action in groups_of(command.strip())[title.strip()]]
    return "\n".join(["| argument | meaning |", "| --- | --- |", *rows])


def groups_of(command: str) -> dict[str, list[argparse.Action]]:
    """The arguments of a subcommand by the titles of their groups; those without a group under ""."""
    _, parser = parser_of(command)
    builtin = {parser._positionals.title, parser._optionals.title}
    groups: dict[str, list[argparse.Action]] = {}
    for group in parser._action_groups:
        title = "" if group.title in builtin else group.title or ""
        groups.setdefault(title, []).extend(a for a in group._group_actions if a.dest != "help")
    return groups


def _usage(action: argparse.Action) -> str:
    names = " or ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    if action.choices:
        return f"{names} " + ", ".join(f"`{choice}`" for choice in action.choices)
    metavar = action.metavar or action.dest.upper()
    return names if action.nargs == 0 or not action.option_strings else f"{names[:-1]} {metavar}`"


def _help(action: argparse.Action) -> str:
    """The help that the program prints; an option of the adapter leads to its section, too."""
    link = f"[`{action.dest}`](hooks-and-options.md#{action.dest}): " if action.dest in OPTIONS else ""
    text = (action.help or "") % {**vars(action)}
    more = "; may be repeated" if isinstance(action, argparse._AppendAction) else ""
    return link + f"{text}{more}".replace("|", "\\|").replace("*", "\\*")


_FROM_CODE: Mapping[str, Callable[[str], str]] = {
    "arguments": arguments,
    "fields": fields,
    "members": members,
    "rules": rules,
    "tree": tree,
}


def _markdown(text: str) -> str:
    """A docstring's reStructuredText literals as Markdown's."""
    return re.sub(r"``(.+?)``", r"`\1`", " ".join(inspect.cleandoc(text).split()))


# ---------------------------------------------------------------- from real runs


def events(found: list[dict[str, Any]], kinds: list[str]) -> str:
    """Events of the given kinds, with short ids in place of those that differ in each run."""
    shown = [event for event in found if not kinds or any(fnmatch(event["type"], kind) for kind in kinds)]
    if not shown:
        raise ValueError(f"no event is one of {', '.join(kinds)}: {', '.join(event['type'] for event in found)}")
    names: dict[str, str] = {}
    plain = [event if "+metadata" in kinds else _without(event, "metadata") for event in shown]
    lines = [json.dumps(_named(event, names), ensure_ascii=False) for event in plain]
    return "\n".join(["```jsonl", *lines, "```"])


def _without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name != key}


def _named(value: Any, names: dict[str, str], key: str = "") -> Any:
    """`value` with each generated id replaced by the field that it first stood in and a number."""
    if isinstance(value, dict):
        return {name: _named(inner, names, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, names, key) for inner in value]
    if not isinstance(value, str):
        return value

    def short(match: re.Match[str]) -> str:
        if match[0] not in names:
            stem = re.sub(r"(?<!^)(?=[A-Z])", "-", key).lower().removesuffix("-id").removesuffix("_id") or "id"
            names[match[0]] = f"{stem}-{1 + sum(name.startswith(stem + '-') for name in names.values())}"
        return names[match[0]]

    return _ID.sub(short, value)


def main() -> None:
    """Write every page anew whose generated parts are out of date."""
    for page in PAGES:
        if regions(page) and (text := fresh(page)) != page.read_text("utf-8"):
            page.write_text(text, "utf-8")
            print(page)


if __name__ == "__main__":
    main()
