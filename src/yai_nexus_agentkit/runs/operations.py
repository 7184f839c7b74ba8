"""Holders of a thread that are not runs: a patch, a deletion."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

__all__ = ["Operation", "OperationCancelledError"]


class OperationCancelledError(Exception):
    """Somebody ended the operation by `RunService.cancel`."""


@dataclass(slots=True, eq=False)
class Operation:
    """An operation with a time limit, which somebody may cancel."""

    scope: asyncio.Timeout
    cancelled: bool = False

    def cancel(self) -> None:
        """End it, unless its time is over: a scope that is ending cannot be set again."""
        if not self.scope.expired():
            self.cancelled = True
            self.scope.reschedule(asyncio.get_running_loop().time())
