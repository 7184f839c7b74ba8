"""Pure. Tool call ids on the wire."""

from __future__ import annotations

__all__ = ["CallIds"]


class CallIds:
    """Tool call ids on the wire, where they are unique in the thread; models number them anew in each answer."""

    def __init__(self) -> None:
        self._wire: dict[tuple[str, str], str] = {}
        self._raw: dict[str, str] = {}
        self._latest: dict[str, str] = {}

    def wire(self, message_id: str, raw_id: str) -> str:
        """The wire id of the message's call; minted at the first question, the raw id itself if it is still free."""
        known = self._wire.get((message_id, raw_id))
        if known is not None:
            return known
        wire_id = raw_id
        while wire_id in self._raw:
            wire_id = f"{wire_id}-{message_id}"
        self._wire[message_id, raw_id] = self._latest[raw_id] = wire_id
        self._raw[wire_id] = raw_id
        return wire_id

    def raw(self, wire_id: str) -> str:
        """The model's own id of a call; an unknown id is its own."""
        return self._raw.get(wire_id, wire_id)

    def latest(self, raw_id: str) -> str:
        """The wire id of the latest call with this raw id: the one that a tool message answers."""
        return self._latest.get(raw_id, raw_id)

    def known(self) -> dict[tuple[str, str], str]:
        """Wire ids by (message id, raw id)."""
        return dict(self._wire)
