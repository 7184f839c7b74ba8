"""The settings of runs as a server has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from yai_nexus_agentkit.checks import check_options

__all__ = ["Busy", "ServiceSettings"]

Busy: TypeAlias = Literal["reject", "wait", "interrupt"]
"""How a request meets the run that its thread has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How runs meet each other. Times in seconds."""

    busy: Busy = "reject"
    """A thread that has a run: refuse the next one, let it wait for up to `busy_wait`, or stop the active one."""
    busy_wait: NonNegativeFloat = 30.0
    ending_wait: NonNegativeFloat = 2.0
    """How long a request waits for a run that is ending (cancelled, or its client gone): stop and resend is normal."""
    settle: NonNegativeFloat = 0.25
    """How long it waits in any case: the old connection's end may be noticed after the new request."""
    lease: PositiveFloat = 15.0
    """After that long without renewal a holder counts as crashed."""
    kept: PositiveInt = 16 * 1024 * 1024
    """Bytes of a run's events that are kept for viewers who come while it goes on."""
    flush: PositiveFloat = 0.02
    """Between two writes to the log of runs, where the store has one."""
    retention: NonNegativeFloat = 600.0
    """For which the log of a run is kept after its end."""

    def __post_init__(self) -> None:
        check_options(self)
