"""Pure. The code blocks of a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "Command", "blocks_of", "commands_of"]

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
_TITLE = re.compile(r'\btitle="([^"]*)"')
_EXIT = re.compile(r"\s+# exit code (\d+)$")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    """The line of its first line of code, from 1."""
    language: str
    title: str | None
    """The file that the block shows, from ``title="..."``."""
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One line of a shell block, continuation lines joined."""

    text: str
    code: int
    """The exit code that it ends with: 0, or what a comment ``# exit code 3`` says."""
    output: str
    """Its output on the page; empty where the page shows none."""


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, those in lists and admonitions too.

    Raises:
        ValueError: a block is not closed.
    """
    return list(_blocks(page))


def _blocks(page: Path) -> Iterator[Block]:
    lines = iter(enumerate(page.read_text("utf-8").splitlines(), 1))
    for number, line in lines:
        opened = _FENCE.match(line)
        if opened is None:
            continue
        code: list[str] = []
        for _, inner in lines:
            if inner.strip().startswith(opened["fence"]) and not inner.strip().strip("`~"):
                break
            code.append(inner.removeprefix(opened["indent"]))
        else:
            raise ValueError(f"{page.name}:{number}: the block is not closed")
        info = opened["info"].strip()
        language = re.split(r"[\s{]", info, maxsplit=1)[0].lower()
        title = _TITLE.search(info)
        yield Block(page, number + 1, language, title[1] if title else None, "\n".join(code) + "\n")


def commands_of(block: Block) -> list[Command]:
    """The commands of a shell block. With prompts, ``$ ``, the other lines are output; without, each line is a command,
    except comments."""
    prompts = any(line.startswith("$ ") for line in block.text.splitlines())
    found: list[tuple[str, list[str]]] = []
    joining = False
    for line in block.text.splitlines():
        if joining:
            found[-1] = (f"{found[-1][0].removesuffix(chr(92))}{line.strip()}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif prompts and found:
            found[-1][1].append(line)
        elif line.strip() and not line.strip().startswith("#"):
            found.append((line.strip(), []))
        joining = bool(found) and found[-1][0].endswith("\\")
    return [_command(text, "\n".join(output).strip("\n")) for text, output in found]


def _command(text: str, output: str) -> Command:
    code = _EXIT.search(text)
    return Command(text[: code.start()] if code else text, int(code[1]) if code else 0, output)
