"""Whether recorded runs are conformant AG-UI 1.0, the official clients included.

    assert check([events_of_run_1, events_of_run_2]) == []

`yai_nexus_agentkit.testing` does all layers but the last, ``client``: whether the official TypeScript clients accept
the stream, and without a warning. A client that cannot be asked is an error, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.verifier import ClientRun, Verifier, shared_verifier
from yai_nexus_agentkit.testing import AnyRun, conformance_problems, normalise

__all__ = ["BOTH", "Verdict", "check", "verdict"]

BOTH = ("1.0.0", "0.0.59")
"""The current client, and the generation that CopilotKit's current packages use."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a thread's runs, at the client that was named first."""

    problems: list[str]
    """The findings of all layers; empty when all is well."""

    clients: Mapping[str, list[ClientRun]]
    """Client generation to what it made of each run."""

    @property
    def runs(self) -> list[ClientRun]:
        """Each run as the first client sees it."""
        return next(iter(self.clients.values()))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages the first client ends with."""
        return self.runs[-1]["messages"]

    @property
    def state(self) -> Any:
        """The state the first client ends with."""
        return self.runs[-1]["state"]


def verdict(
    runs: Sequence[AnyRun],
    *,
    clients: Sequence[str] = BOTH,
    advice: bool = False,
    ignore: Iterable[str] = (),
    verifier: Verifier | None = None,
) -> Verdict:
    """The problems of one thread's runs, and what each client ends with.

    `ignore` takes the names in brackets: rule names, AGUI codes, ``model``, ``client``.
    """
    dropped = tuple(ignore)
    try:
        normal = [run if _is_raw(run) else normalise(run) for run in runs]
    except ValueError as error:
        return Verdict([f"unreadable run: {error}"], {client: [] for client in clients})
    problems = conformance_problems(normal, advice=advice, ignore=dropped)
    seen = {client: (verifier or shared_verifier()).replay(normal, client) for client in clients}
    if "client" not in dropped:
        problems += [problem for client, views in seen.items() for problem in _client_problems(client, views)]
    return Verdict(problems, seen)


def check(
    runs: Sequence[AnyRun],
    *,
    clients: Sequence[str] = ("1.0.0",),
    advice: bool = False,
    ignore: Iterable[str] = (),
) -> list[str]:
    """The problems of one thread's runs, as text; empty when all is well."""
    return verdict(runs, clients=clients, advice=advice, ignore=ignore).problems


def _client_problems(client: str, views: Sequence[ClientRun]) -> Iterable[str]:
    for number, view in enumerate(views):
        if not view["ok"]:
            yield f"run {number} [client] {client} rejects the stream: {view.get('error')}"
        for warning in view["warnings"]:
            yield f"run {number} [client] {client} warns: {warning}"


def _is_raw(run: AnyRun) -> bool:
    return isinstance(run, Mapping) and "sse" in run
