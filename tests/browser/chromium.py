"""Driver. One headless Chromium, driven by playwright-core through `driver.mjs`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import served

__all__ = ["ARTIFACTS", "ROOT", "Browser", "chromium", "example", "installed"]

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / ".artifacts" / "browser"
"""Where the pictures are: look at them."""

_HERE = Path(__file__).resolve().parent
_NAMES = ("chromium", "chromium-browser", "google-chrome")

# What the last element with a selector said, at every change of the page.
_WATCH = """
    window.said = [];
    new MutationObserver(() => {
        const text = [...document.querySelectorAll(%s)].at(-1)?.innerText.trim();
        if (text && text !== window.said.at(-1)) window.said.push(text);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


def chromium() -> str:
    """The program's path. Raises RuntimeError: there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise RuntimeError("these tests need Chromium: run `make system`, or install it with the package manager")
    return found


def installed(folder: Path, package: str) -> Path:
    """The folder, with its npm packages. Raises RuntimeError: they are not installed."""
    if not (folder / "node_modules" / package).is_dir():
        raise RuntimeError(f"{package} is not installed in {folder.relative_to(ROOT)}: run `make browser`")
    return folder


@contextmanager
def example(name: str, built: Path, pause: str) -> Iterator[str]:
    """The address of an example's own server, with its page as it was built. `pause`: seconds between two tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXAMPLE_PAUSE", pause)
        patch.setenv("PAGE", str(built / "dist"))
        with served(f"examples.{name}.server:app") as url:
            yield url


class Browser:
    """Each method fails with what went wrong and what the page showed. A selector is one of Playwright's.

    Methods wait up to 15 seconds for their element.
    """

    def __init__(self) -> None:
        driver = installed(_HERE, "playwright-core") / "driver.mjs"
        self._process = subprocess.Popen(
            ["node", str(driver), chromium()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version = self._answer()
        """Chromium's."""

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        answer = json.loads(line)
        assert "error" not in answer, f"{answer['error']}\n\nThe page shows:\n{answer['shown']}"
        return answer["value"]

    def _do(self, command: str, /, **given: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **given}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()

    def open(self, url: str) -> None:
        """A new page; those before it are closed."""
        self._do("open", url=url)

    def leave(self) -> None:
        """Close all pages: one that goes on moving, or looking for its server, takes time from other tests."""
        self._do("leave")

    def another(self, url: str) -> None:
        """A further page, in front of those that are open."""
        self._do("another", url=url)

    def front(self, tab: int) -> None:
        """Go to a page, counted from 0 in the order of opening."""
        self._do("front", tab=tab)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size: that of a phone, for example."""
        self._do("size", width=width, height=height)

    def click(self, selector: str) -> None:
        self._do("click", on=selector)

    def hover(self, selector: str) -> None:
        self._do("hover", on=selector)

    def fill(self, selector: str, text: str) -> None:
        self._do("fill", on=selector, text=text)

    def press(self, selector: str, key: str) -> None:
        self._do("press", on=selector, key=key)

    def key(self, key: str) -> None:
        """Press a key where the focus is."""
        self._do("key", key=key)

    def type(self, text: str) -> None:
        """Type where the focus is."""
        self._do("type", text=text)

    def choose(self, selector: str, option: str) -> None:
        """Choose an option of a list."""
        self._do("choose", on=selector, option=option)

    def upload(self, selector: str, file: Path) -> None:
        """Choose a file."""
        self._do("upload", on=selector, file=str(file))

    def scheme(self, *, dark: bool) -> None:
        """The colours that the system prefers."""
        self._do("scheme", dark=dark)

    def see(self, selector: str) -> None:
        """Wait until it is visible."""
        self._do("wait", on=selector)

    def miss(self, selector: str) -> None:
        """Wait until it is gone."""
        self._do("wait", on=selector, gone=True)

    def text(self, selector: str) -> str:
        """The text of the first such element."""
        return str(self._do("text", on=selector)).strip()

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that exist now."""
        return [text.strip() for text in self._do("texts", on=selector)]

    def value(self, selector: str) -> str:
        """What is written in a box."""
        return str(self._do("value", on=selector))

    def attribute(self, selector: str, name: str) -> str | None:
        value: str | None = self._do("attribute", on=selector, name=name)
        return value

    def evaluate(self, script: str) -> Any:
        return self._do("evaluate", script=script)

    def violations(self) -> list[str]:
        """The rules of accessibility that the page breaks, as axe finds them."""
        found: list[str] = self._do("violations")
        return found

    def watch(self, selector: str) -> None:
        """Keep from now on what the last such element says, for `said`."""
        self.evaluate(_WATCH % json.dumps(selector))

    def said(self) -> list[str]:
        """The texts since `watch`, in order."""
        texts: list[str] = self.evaluate("window.said")
        return texts

    def picture(self, name: str) -> Path:
        """Take one. Returns its file."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        self._do("shot", file=str(ARTIFACTS / f"{name}.png"))
        return ARTIFACTS / f"{name}.png"

    def printed(self) -> int:
        """How many pages it takes on paper."""
        return int(self._do("printed"))

    def complaints(self) -> list[str]:
        """The page's errors, and its requests to other hosts, which are not let through."""
        found: list[str] = self._do("complaints")
        return found
