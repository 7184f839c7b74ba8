"""Pure. Text for a terminal of a given width: wrapped, coloured, with a label and bars at the start of each line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Mapping
from itertools import cycle

__all__ = ["LABEL_WIDTH", "Page", "printable", "shortened", "width_of"]

LABEL_WIDTH = 19
"""Columns of the longest label, and a space."""

# Colours of middle brightness: their contrast with black and with white is at least 3.8.
_STYLES: Mapping[str, str] = {
    "dim": "2",
    "bold": "1",
    "italic dim": "2;3",
    "red": "38;5;160",
    "green": "38;5;64",
    "yellow": "38;5;130",
    "blue": "38;5;27",
    "magenta": "38;5;162",
    "cyan": "38;5;30",
}
_BAR_STYLES = ("blue", "magenta", "cyan", "yellow", "green")
_PIECE = re.compile(r"\n|[^\S\n]+|\S+")
_NARROWEST = 40
_TEXT_WIDTH = 12
"""Columns that bars leave to the text, at least: the innermost are not drawn when there is no room."""
_LONGEST_HELD = 24
"""A streamed word is held back until its end if this many columns more would not fit in its line."""

_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
_CONTROLS |= {0x7F: "␡", ord("\t"): "    ", ord("\r"): ""} | dict.fromkeys(range(0x80, 0xA0), "�")
_CONTROLS |= dict.fromkeys((0x2028, 0x2029), "�")  # separators of lines and paragraphs
_CONTROLS |= dict.fromkeys(range(0x202A, 0x202F), "�")  # they show text in another order than it is read by programs


def printable(text: str) -> str:
    """Text that cannot control the terminal: an agent may have read it anywhere."""
    return text.translate(_CONTROLS)


def shortened(text: str, limit: int | None) -> str:
    """The text, or its beginning and its length."""
    return text if limit is None or len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def width_of(text: str) -> int:
    """Columns that the text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(text: str, room: int, start: int = 0) -> str:
    """The part from `start` on that fits, at least one character."""
    if text.isascii():
        return text[start : start + max(room, 1)]
    used = 0
    for position in range(start, len(text)):
        used += _columns(text[position])
        if used > room and position > start:
            return text[start:position]
    return text[start:]


class Page:
    """Lines of the form ``LABEL  │ │ text``. Every method returns the text to write.

    One text can be streamed at a time, piece by piece. A line in between interrupts it; its next piece continues on a
    new line.
    """

    def __init__(self, width: int, *, colour: bool, label_width: int = LABEL_WIDTH) -> None:
        """`width`: columns of the terminal. `label_width`: columns of the longest label, and a space."""
        self._width, self._label_width = max(width, _NARROWEST), label_width
        self._colour = colour
        self._bars: dict[Hashable, str] = {}
        """Style of each open bar by its key, in the order of opening."""
        self._bar_styles = cycle(_BAR_STYLES)
        self._streaming: Hashable = None
        """Key of the text whose line is unfinished. Set by `stream`, cleared by whatever ends the line."""
        self._held = ""
        """The beginning of a word near the right edge. Written with the next piece, or when the line ends."""
        self._style = ""
        """Of the streamed text."""
        self._column = 0

    def line(self, label: str, text: str, *, label_style: str = "dim", style: str = "") -> str:
        """One entry, wrapped if it is too long."""
        out = self.break_line() + self.stream("", label, text, label_style=label_style, style=style)
        return out + self.break_line()

    def stream(self, key: Hashable, label: str, text: str, *, label_style: str = "dim", style: str = "") -> str:
        """The next piece of the text `key`."""
        out = ""
        if self._streaming != key:
            out = self.break_line() + self._label(label, label_style) + self._drawn()
            self._streaming, self._style, self._column = key, style, self._indent
        return out + self._flow(self._hold_back(self._held + printable(text)))

    def break_line(self) -> str:
        """End the line of a streamed text, if one is unfinished."""
        if self._streaming is None:
            return ""
        held, self._held = self._held, ""
        out = self._flow(held)
        self._streaming = None
        return out + "\n"

    def open_bar(self, key: Hashable, label: str, title: str) -> str:
        """Begin a bar at the start of all lines until `close_bar`."""
        style = next(self._bar_styles)
        opened = self._paint(f"┌ {self._title(title)}", style)
        out = self.break_line() + self._label(label, "dim") + self._drawn() + opened
        self._bars[key] = style
        return out + "\n"

    def close_bar(self, key: Hashable, label: str, title: str = "", *, style: str = "dim") -> str:
        """End a bar. Nothing if it is not open."""
        if key not in self._bars:
            return ""
        marks = [self._paint("└" if bar == key else "│", style) for bar, style in self._bars.items()]
        hidden = list(self._bars).index(key) >= self._room_for_bars
        marks = [*marks[: self._room_for_bars], *([self._paint("└", self._bars[key])] if hidden else [])]
        del self._bars[key]
        end = f" {self._paint(self._title(title), style)}" if title else ""
        return f"{self.break_line()}{self._label(label, 'dim')}{' '.join(marks)}{end}\n"

    def _title(self, text: str) -> str:
        """A text that takes the rest of a line, cut if it is longer."""
        text, room = printable(text), self._width - self._indent - 2
        return text if width_of(text) <= room else f"{_fitting(text, room - 1)}…"

    @property
    def _room_for_bars(self) -> int:
        return (self._width - self._label_width - _TEXT_WIDTH) // 2

    @property
    def _indent(self) -> int:
        return self._label_width + 2 * min(len(self._bars), self._room_for_bars)

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self._colour and text else text

    def _label(self, label: str, style: str) -> str:
        return self._paint(label, style) + " " * max(1, self._label_width - len(label))

    def _drawn(self) -> str:
        """The open bars."""
        return "".join(f"{self._paint('│', style)} " for style in list(self._bars.values())[: self._room_for_bars])

    def _hold_back(self, text: str) -> str:
        """The text without a last word that may still grow over the edge; that one is held."""
        word = re.split(r"\s", text)[-1]
        fits = self._column + width_of(text) + _LONGEST_HELD < self._width
        self._held = "" if fits or len(word) > _LONGEST_HELD else word
        return text[: len(text) - len(self._held)]

    def _flow(self, text: str) -> str:
        """The text from the current column on, in lines that fit."""
        lines: list[str] = [""]

        def wrap() -> None:
            lines[-1] = lines[-1].rstrip(" ")
            lines.append("")
            self._column = self._indent

        for piece in _PIECE.findall(text):
            if piece == "\n":
                wrap()
                continue
            if piece.isspace():
                piece = piece[: self._width - self._column]  # The next word wraps, and needs no space before it.
            elif width_of(piece) > self._width - self._column and self._column > self._indent:
                wrap()
            start = 0
            while True:
                part = _fitting(piece, self._width - self._column, start)
                lines[-1] += part
                self._column += width_of(part)
                start += len(part)
                if start == len(piece):
                    break
                wrap()
        return f"\n{' ' * self._label_width}{self._drawn()}".join(self._paint(line, self._style) for line in lines)
