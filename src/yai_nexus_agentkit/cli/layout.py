"""Pure. Text for a terminal of a given width: wrapped, coloured, with a label and bars in front of each line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import cycle

__all__ = ["LABEL_WIDTH", "Page", "printable", "shortened", "width_of"]

LABEL_WIDTH = 19
"""Columns of the longest label that an event gets, and a space."""

_STYLES: Mapping[str, str] = {
    "dim": "2",
    "bold": "1",
    "italic dim": "2;3",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_BAR_STYLES = ("blue", "magenta", "cyan", "yellow", "green")
_PIECE = re.compile(r"\n|[^\S\n]+|\S+")
_HOLD_BACK = 24
"""Columns before the right edge within which the last word of a stream waits for its end, so that it is not cut."""

_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
_CONTROLS |= {0x7F: "␡", ord("\t"): "    ", ord("\r"): ""} | dict.fromkeys(range(0x80, 0xA0), "�")
_CONTROLS |= dict.fromkeys((0x2028, 0x2029), "�")  # separators of lines and paragraphs


def printable(text: str) -> str:
    """Text that cannot control the terminal: an agent may have read it anywhere."""
    return text.translate(_CONTROLS)


def shortened(text: str, limit: int | None) -> str:
    """The text, or its beginning and how long it is."""
    return text if limit is None or len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def width_of(text: str) -> int:
    """Columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Page:
    """Lines of the form ``LABEL  │ │ text``. Every method returns what has to be written.

    One text may be streamed at a time, piece by piece, by the key of its entity; a line in between interrupts it, and
    its next piece goes on in a line of its own.
    """

    def __init__(self, width: int, *, colour: bool) -> None:
        """`width`: columns of the terminal."""
        self._width = max(width, LABEL_WIDTH + 24)
        self._colour = colour
        self._bars: dict[str, str] = {}
        """Style of each open bar by its key, in the order in which they were opened."""
        self._bar_styles: Iterator[str] = cycle(_BAR_STYLES)
        self._streaming: str | None = None
        """Key of the text whose line is unfinished. Set by `stream`, cleared by whatever ends the line."""
        self._held = ""
        """The beginning of a word near the right edge. Written by the next piece, or when the line ends."""
        self._style = ""
        """Of the streamed text."""
        self._column = 0
        self._fresh = True
        """Nothing stands behind the bars of the current line."""

    def paint(self, text: str, style: str) -> str:
        """The text in a style; as it is without colours or for style ``""``."""
        code = _STYLES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code and self._colour and text else text

    def line(self, label: str, text: str, *, label_style: str = "dim", style: str = "") -> str:
        """One entry, wrapped where it is too long."""
        return (
            self.break_line() + self._begin(label, label_style) + self._flow(printable(text), style) + self._newline()
        )

    def stream(self, key: str, label: str, text: str, *, label_style: str = "dim", style: str = "") -> str:
        """The next piece of a text."""
        out = ""
        if self._streaming != key:
            out = self.break_line() + self._begin(label, label_style)
            self._streaming = key
        self._style = style
        text, self._held = self._held + printable(text), ""
        return out + self._flow(self._hold_back(text), style)

    def break_line(self) -> str:
        """End the line of a streamed text, if one is unfinished."""
        if self._streaming is None:
            return ""
        held, self._held, self._streaming = self._held, "", None
        return self._flow(held, self._style) + self._newline()

    def open_bar(self, key: str, label: str, title: str) -> str:
        """Begin a bar that stands before all lines until `close_bar`."""
        out = self.break_line()
        style = next(self._bar_styles)
        out += self._label(label, "dim") + self._bar_text() + self.paint(f"┌ {printable(title)}", style)
        self._bars[key] = style
        return out + "\n"

    def close_bar(self, key: str, label: str, title: str = "", *, style: str = "") -> str:
        """End a bar. Nothing for one that is not open."""
        if key not in self._bars:
            return ""
        out = self.break_line() + self._label(label, "dim")
        position = list(self._bars).index(key)
        bars = [self.paint("│", bar) for bar in self._bars.values()]
        bars[position] = self.paint("└", self._bars.pop(key))
        end = f" {self.paint(printable(title), style or 'dim')}" if title else ""
        return f"{out}{' '.join(bars)}{end}\n"

    def _begin(self, label: str, style: str) -> str:
        self._column = LABEL_WIDTH + 2 * len(self._bars)
        self._fresh = True
        return self._label(label, style) + self._bar_text()

    def _label(self, label: str, style: str) -> str:
        return self.paint(label, style) + " " * max(1, LABEL_WIDTH - len(label))

    def _bar_text(self) -> str:
        return "".join(f"{self.paint('│', style)} " for style in self._bars.values())

    def _newline(self) -> str:
        self._fresh, self._column = True, 0
        return "\n"

    def _hold_back(self, text: str) -> str:
        """The text without a last word that may still grow over the edge; that one is kept."""
        if not text or text[-1].isspace():
            return text
        start = max(text.rfind(" "), text.rfind("\n")) + 1
        before = self._column + width_of(text[:start]) if "\n" not in text else self._width
        if before + _HOLD_BACK < self._width or len(text) - start > _HOLD_BACK:
            return text
        self._held = text[start:]
        return text[:start]

    def _flow(self, text: str, style: str) -> str:
        """The text from the current column on, in lines that fit."""
        lines: list[str] = [""]
        for piece in _PIECE.findall(text):
            if piece == "\n":
                self._wrap(lines)
                continue
            room = self._width - self._column
            if piece.isspace():
                piece = piece[:room]  # What follows wraps, and needs no space before it.
            elif width_of(piece) > room and not self._fresh:
                self._wrap(lines)
            while width_of(piece) > (room := self._width - self._column):
                head = _fitting(piece, room)
                lines[-1] += head
                piece = piece[len(head) :]
                self._wrap(lines)
            if piece:
                lines[-1] += piece
                self._column += width_of(piece)
                self._fresh = self._fresh and piece.isspace()
        indent = "\n" + " " * LABEL_WIDTH + self._bar_text()
        return indent.join(self.paint(line, style) for line in lines)

    def _wrap(self, lines: list[str]) -> None:
        lines[-1] = lines[-1].rstrip(" ")
        lines.append("")
        self._column = LABEL_WIDTH + 2 * len(self._bars)
        self._fresh = True


def _fitting(text: str, room: int) -> str:
    """As many characters as fit, at least one."""
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > room and position:
            return text[:position]
    return text
