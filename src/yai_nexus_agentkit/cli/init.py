"""Edge. ``init``: a new project with an agent, an application, tests and a page. Exit codes: 0 made, 2 wrong usage.

The project is a copy of the files in ``starter/``, with the project's name in the place of `_PLACEHOLDER`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from yai_nexus_agentkit.cli.failures import PROGRAM, CommandError
from yai_nexus_agentkit.cli.terminal import Terminal

__all__ = ["configure", "execute"]

_PACKAGE = Path(__file__).resolve().parent.parent
_STARTER = _PACKAGE / "cli" / "starter"
_PAGE = _PACKAGE / "page"
_PLACEHOLDER = "my-agent"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
"""Names of Python packages."""
_LISTED = 5
"""Entries of a folder that is not empty, in the message that says so."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``init``."""
    parser.description = (
        "Make a new project: an agent, a FastAPI application with users and stored conversations, tests, a workflow "
        "for CI, a Dockerfile, and a page. It runs at once, without a key."
    )
    parser.epilog = "Exit code: 0 the project is there, 2 usage, or a folder that is not empty."
    parser.add_argument("folder", metavar="NAME", help="the folder of the project; its last part is the project's name")
    parser.add_argument(
        "--page",
        choices=["vite", "none"],
        default="vite",
        help="the React sources of the page, or none: the page as it is in this package (default: %(default)s)",
    )


def execute(args: argparse.Namespace) -> int:
    """Make it, and show how it is started. Returns the exit code."""
    folder = Path(os.path.abspath(args.folder))
    name = _checked_name(folder.name if args.folder else "", args.folder)
    _check_free(folder, args.folder)
    sources = [_STARTER / "project"] + [_STARTER / "vite"] * (args.page == "vite")
    files = {path: source for root in sources for path, source in _files(root)}
    if args.page == "vite":
        files |= {Path("page") / path: source for path, source in _files(_PAGE / "web")}
    try:
        for path, source in files.items():
            _write(folder / path, source, name if source.is_relative_to(_STARTER) else None)
    except OSError as error:
        raise CommandError(f"{args.folder} cannot be written: {error.strerror}: {error.filename}") from error
    out = Terminal()
    out.write(out.wrapped(f"{name}: {len(files)} files. Next:"))
    out.write("".join(f"  {command}\n" for command in _commands(folder, args.page)))
    out.write(out.wrapped("Then open http://127.0.0.1:8000/"))
    if args.page == "none" and not _is_built():
        out.write(out.wrapped("There is no page yet: run `make page` in the clone of yai-nexus-agentkit."))
    return 0


def _checked_name(text: str, given: str) -> str:
    """The project's name, as package indexes write it. Raises `CommandError`."""
    if not _NAME.fullmatch(text):
        raise CommandError(
            f"{given!r}: {text!r} is not a name for a project: use letters, digits, '-', '_' and '.', with a letter "
            "or digit at both ends"
        )
    name = re.sub(r"[-_.]+", "-", text).lower()
    if _is_taken(name):
        raise CommandError(f"{given!r}: {name} is a package that is installed here; choose another name")
    return name


def _is_taken(name: str) -> bool:
    """A package of this name is installed, so that the project might need itself. One that was installed from a folder
    is an earlier project."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return False
    return name == PROGRAM or found.read_text("direct_url.json") is None


def _check_free(folder: Path, given: str) -> None:
    """Raises `CommandError`: the folder has something in it, or cannot be made."""
    try:
        if not folder.parent.is_dir():
            raise CommandError(f"{given!r}: there is no folder {folder.parent}")
        there = sorted(entry.name for entry in folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise CommandError(f"{given!r} is a file") from None
    except OSError as error:
        raise CommandError(f"{given!r} cannot be read: {error.strerror}") from error
    if there:
        more = f", and {len(there) - _LISTED} more" if len(there) > _LISTED else ""
        raise CommandError(f"{given!r} is not empty, it has {', '.join(there[:_LISTED])}{more}; choose a new folder")


def _files(root: Path) -> Iterator[tuple[Path, Path]]:
    """The files below a folder: their paths in it, and where they are. Without what tools leave there."""
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.endswith(("cache", "cache__")) and name != "node_modules"
        )
        for name in sorted(names):
            source = Path(parent) / name
            yield source.relative_to(root), source


def _write(target: Path, source: Path, name: str | None) -> None:
    """Copy a file; with a `name`, that takes the place of the placeholder."""
    content = source.read_bytes()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content if name is None else content.replace(_PLACEHOLDER.encode(), name.encode()))


def _is_built() -> bool:
    """The package has a page, as its wheels do. In a clone it must be built."""
    return (_PAGE / "static" / "index.html").is_file()


def _commands(folder: Path, page: str) -> Iterator[str]:
    """The next commands, in the environment that runs this."""
    where = os.path.relpath(folder)
    if where != os.curdir:
        yield f"cd {shlex.quote(where)}"
    found = shutil.which("python")
    active = found is not None and Path(found).parent.absolute() == Path(sys.executable).parent.absolute()
    python = shlex.quote(sys.executable)
    if find_spec("pip"):
        pip = "pip" if active else f"{python} -m pip"
    else:
        pip = "uv pip" if active else f"uv pip --python {python}"
    yield f'{pip} install -e ".[dev]"'
    if page == "vite" and not _is_built():
        yield "(cd page && npm ci && npm run build)"
    yield f"{'' if active else f'{python} -m '}uvicorn app:app --reload"
