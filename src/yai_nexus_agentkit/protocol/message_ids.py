"""Pure. The ids of a thread's messages: which are taken, by what kind of message, and whose they are.

All kinds of message share one space of ids (AG-UI 1.0, identifiers): text streamed under the id of a tool message
would be appended to that. The ids of reasoning spans are kept apart from it as well, because a client files the
owners of spans and reasoning messages together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from ag_ui.core import Message

__all__ = ["MessageIds", "usable"]

CONFLICT = "conflict"
"""Kind of an id that a snapshot gives to another kind of message than the stream did.

Nothing may be added to such a message.
"""


_id, _role, _owner = attrgetter("id"), attrgetter("role"), attrgetter("subagent_run_id")


def usable(text: object) -> str | None:
    """`text` if it may go on the wire as an id or a delta, a non-empty string; else None."""
    return text if isinstance(text, str) and text else None


@dataclass(slots=True, eq=False)
class MessageIds:
    """One run's view of the thread's message ids. An id is never given back."""

    _kinds: dict[str, str]
    """Id to role of every message that the client or the thread holds."""
    _owners: dict[str, str | None] = field(default_factory=dict)
    """Owner by id, of the messages that were made or restated in this run; of the others it is not known."""
    _numbers: dict[str, int] = field(default_factory=dict)
    """By the id that was wished for: how often another one had to be made of it."""

    def kind(self, message_id: str) -> str | None:
        """Role of the message with this id (``span`` for a reasoning span), None if there is none."""
        return self._kinds.get(message_id)

    def owner(self, message_id: str) -> str | None:
        """The subagent invocation whose message this is; None is the parent agent, or unknown."""
        return self._owners.get(message_id)

    def admits(self, message_id: str, kind: str, owner: str | None) -> bool:
        """Whether `owner` may add to the message with this id: it is of that kind and not somebody else's."""
        return self._kinds.get(message_id) == kind and self._owners.get(message_id, owner) == owner

    def own(self, message_id: str, kind: str, owner: str | None) -> None:
        """Record a message under an id that is free, or that `admits` it."""
        self._kinds[message_id], self._owners[message_id] = kind, owner

    def claim(self, wish: object, kind: str, owner: str | None, *, spare: str) -> str:
        """A new id, recorded: `wish` if it is usable and free, else one made from it, or from `spare`."""
        base = usable(wish) or spare
        unique, n = base, self._numbers.get(base, 1)
        while unique in self._kinds:
            n += 1
            unique = f"{base}-{n}"
            self._numbers[base] = n
        self.own(unique, kind, owner)
        return unique

    def restate(self, messages: Iterable[Message]) -> None:
        """Take over what a snapshot says: it replaces messages, owners included (AG-UI 1.0, subagents)."""
        messages = list(messages)
        ids, roles = list(map(_id, messages)), list(map(_role, messages))
        self._owners.update(zip(ids, map(_owner, messages), strict=True))
        before = list(map(self._kinds.setdefault, ids, roles))
        if before != roles:
            own = zip(ids, before, roles, strict=True)
            self._kinds.update((message_id, CONFLICT) for message_id, was, role in own if was != role)
