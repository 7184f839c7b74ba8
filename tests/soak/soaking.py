"""Attacks a server process for a while, records what becomes of it, and judges that."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.soak.attackers import HOSTILE, Client, honest
from tests.support.serving import JSON, run_body, served

__all__ = ["Record", "plot", "soak"]

_MEGABYTE = 1024 * 1024


@dataclass
class Record:
    """The observations. Times in seconds since the beginning, sizes in bytes."""

    times: list[float] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    """The longest time of the loop without a beat, once a second: CPU time of the whole process."""
    memory: list[int] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    """Until the first event of an honest run."""
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    """The objects that the server still held after a rest."""

    @property
    def growth(self) -> int:
        """Of memory, from the second fifth of the time to the last one: their medians."""
        fifth = max(1, len(self.memory) // 5)
        early, late = self.memory[fifth : 2 * fifth] or self.memory, self.memory[-fifth:]
        return int(statistics.median(late) - statistics.median(early))

    def faults(self, *, growth: int = 96 * _MEGABYTE, pause: float = 0.25, first: float = 2.0) -> list[str]:
        """The observations beyond the limits."""
        found = self.wrong[:20]
        if self.growth > growth:
            found.append(f"memory grew by {self.growth / _MEGABYTE:.0f} MiB")
        if at(self.pauses, 0.95) > pause:
            found.append(f"the loop stood still for {at(self.pauses, 0.95):.2f} s in one second of twenty")
        if at(self.firsts, 0.95) > first:
            found.append(f"one honest run of twenty waited {at(self.firsts, 0.95):.2f} s for its first event")
        if self.left["runs"] or self.left["locks"] or self.left["received"]:
            found.append(f"left behind: {self.left}")
        return found

    def text(self) -> str:
        """The figures as text."""
        sent = ", ".join(f"{name} {number}" for name, number in sorted(self.counts.items()))
        first, most, last = (size / _MEGABYTE for size in (self.memory[0], max(self.memory), self.memory[-1]))
        grown = self.growth / _MEGABYTE
        lines = [
            f"{len(self.times)} readings in {self.times[-1]:.0f} seconds; requests: {sent}",
            f"memory in MiB: {first:.0f} at first, {most:.0f} at most, {last:.0f} at last; growth {grown:.0f}",
            f"pauses of the loop: {_spread(self.pauses)}",
            f"first events of {len(self.firsts)} honest conversations: {_spread(self.firsts)}",
            f"left after a rest: {self.left}",
        ]
        return "\n".join(lines)


def _spread(values: list[float]) -> str:
    median, most, longest = (value * 1000 for value in (at(values, 0.5), at(values, 0.95), max(values)))
    return f"median {median:.0f} ms, 95 % {most:.0f} ms, longest {longest:.0f} ms"


def at(values: list[float], part: float) -> float:
    """The value below which this part of them lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def soak(seconds: float, *, attackers: int = 6, users: int = 2) -> Record:
    """Attack a new server for this long."""
    record, stop = Record(), threading.Event()
    with served("tests.support.attacked:soaked") as url:
        with httpx.Client(base_url=url, timeout=60) as watcher:
            watcher.post("/talk", json=run_body(thread="patched"), headers=JSON)
            working = [
                threading.Thread(target=_work, args=(Client(url, n), record, stop, n < users))
                for n in range(users + attackers)
            ]
            for one in working:
                one.start()
            began = time.monotonic()
            while (now := time.monotonic() - began) < seconds:
                beat = watcher.get("/heartbeat").json()
                record.times.append(now)
                record.pauses.append(beat["worst"])
                record.memory.append(beat["memory"])
                time.sleep(1)
            stop.set()
            for one in working:
                one.join()
            record.left = _rested(watcher)
    return record


def _work(client: Client, record: Record, stop: threading.Event, is_honest: bool) -> None:
    with client.http:
        while not stop.is_set():
            _try(client, record, is_honest)


def _try(client: Client, record: Record, is_honest: bool) -> None:
    kind = honest if is_honest else client.random.choice(HOSTILE)
    try:
        if kind is honest:
            first, wrong = honest(client)
            record.firsts.append(first)
        else:
            wrong = kind(client)  # type: ignore[assignment]
    except Exception as error:
        wrong = f"{kind.__name__}: {error!r}"
    record.counts[kind.__name__] += 1
    if wrong:
        record.wrong.append(wrong)


def _rested(watcher: httpx.Client) -> dict[str, int]:
    """The objects that the server holds when it had the time to let go."""
    left: dict[str, Any] = {}
    for _ in range(40):
        left = watcher.get("/heartbeat").json()["left"]
        if not (left["runs"] or left["locks"] or left["received"]):
            break
        time.sleep(0.5)
    return left


def plot(record: Record, path: Path) -> None:
    """Memory and pauses over time, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (upper, lower) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 5), layout="constrained")
    upper.plot(record.times, [size / _MEGABYTE for size in record.memory])
    upper.set_ylabel("memory, MiB")
    upper.set_ylim(bottom=0)
    lower.plot(record.times, [pause * 1000 for pause in record.pauses])
    lower.set_ylabel("longest pause, ms")
    lower.set_xlabel("seconds")
    figure.savefig(path)
    pyplot.close(figure)
