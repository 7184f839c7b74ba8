"""Pure. The order of an answer: where its text, reasoning, calls of the provider's tools and media are.

AG-UI has one text per message, and messages of their own for the rest. So a blank line parts the text before a call or
picture from the text behind it, and what goes back to the provider has a *place*: how many characters of the text stand
before it, and its number among what is not text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import Answered, Argued, Called
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning_shapes import SEPARATOR

__all__ = ["FRONT", "Layout", "Place", "Served", "arrange"]

Place: TypeAlias = tuple[int, int]
FRONT: Place = (0, -1)
"""In front of everything."""


@dataclass(slots=True, eq=False)
class Served:
    """A call of a tool that the provider runs."""

    number: int
    """Among such calls of the message, from 0."""
    call: Called
    place: Place
    pieces: list[str] = field(default_factory=list)
    """Of its argument text, where that comes in pieces."""
    answer: Answered | None = None
    answered_at: Place = FRONT

    @property
    def args(self) -> Any:
        """The arguments: a mapping, or text."""
        return self.call.args if self.call.args is not None else "".join(self.pieces) or {}


class Layout:
    """One answer, in the order in which it was made: its chunks, or the whole message."""

    __slots__ = ("_blocks", "_parted", "said", "served")

    def __init__(self) -> None:
        self.said: list[str] = []
        """The text as the client shows it, piece by piece."""
        self.served: list[Served] = []
        self._blocks = 0
        self._parted = False
        """A call or picture came behind the text so far."""

    def joint(self, text: str) -> str:
        """The separator between the text so far and the text that follows."""
        parted, self._parted = self._parted, False
        if not parted or not self.said or self.said[-1][-1:].isspace() or text[:1].isspace():
            return ""  # a writer that goes on with its sentence has a space there
        return SEPARATOR

    def part(self) -> None:
        """Something comes between the text so far and the text that may follow."""
        self._parted = True

    def thought(self) -> Place | None:
        """The place of reasoning that begins; None in front of everything, where most of it is."""
        return self.place() if self.said or self._blocks else None

    def place(self) -> Place:
        """The place of the next block that is not text."""
        self._blocks += 1
        return sum(map(len, self.said)), self._blocks - 1

    def called(self, call: Called) -> Served:
        """A call begins."""
        self.part()
        served = Served(len(self.served), call, self.place())
        self.served.append(served)
        return served

    def argued(self, piece: Argued) -> Served | None:
        """More arguments; None if they are of no call of the provider's."""
        for served in reversed(self.served):
            if served.call.key is not None and served.call.key == piece.key:
                served.pieces.append(piece.text)
                return served
        return None

    def answered(self, answer: Answered) -> Served | None:
        """A result; None if its call is not known, or has one."""
        self.part()
        waiting = [one for one in self.served if one.answer is None]
        named = [one for one in waiting if one.call.id == answer.id] if answer.id else waiting[-1:]
        if not named:
            return None
        named[0].answer, named[0].answered_at = answer, self.place()
        return named[0]


def arrange(text: str, blocks: Iterable[tuple[Place, Sequence[Any], bool]]) -> list[Any]:
    """The content of a message: text blocks, and these blocks in their places. The flag: they part the text."""
    content: list[Any] = []
    done, parted = 0, False

    def say(end: int) -> None:
        nonlocal done, parted
        piece = text[done:end]
        if parted and content:
            piece = piece.removeprefix(SEPARATOR)
        if piece:
            content.append({"type": "text", "text": piece})
        done, parted = max(done, end), False if piece else parted

    for (offset, _), some, parts in sorted(blocks, key=lambda block: block[0]):
        if offset > done:
            say(offset)
        content += some
        parted = parted or parts
    say(len(text))
    return content
