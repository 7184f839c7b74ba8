"""Writes the logs of a worker's runs: the first event of a run at once, then one batch of all runs per interval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.protocol.json.model_json import clean_json
from yai_nexus_agentkit.protocol.replay import Compacted
from yai_nexus_agentkit.runs.background import meanwhile
from yai_nexus_agentkit.runs.log import Batch, RunLog
from yai_nexus_agentkit.runs.outage import Outage

__all__ = ["Recorder", "Recording"]

_logger = logging.getLogger(__name__)
_AGAIN = 0.5
"""Seconds between two attempts while the store is away."""
_MANY = 256
"""Events of a run that wait before they are made fewer."""
_COMPACT = 1024 * 1024
"""Bytes of a run after which the beginning of its log is replaced by a short form."""


@dataclass(eq=False)
class Recording:
    """The log of one run of this worker."""

    run: str
    fence: int
    lost: Callable[[], None]
    """Called when another worker owns the run."""
    shortened: Callable[[], list[BaseEvent] | None]
    """All events so far, in a short form; None if there are too many."""
    wake: Callable[[], None]
    seq: int = 0
    """Entries in the log."""
    waiting: list[BaseEvent] = field(default_factory=list)
    unsure: list[BaseEvent] | None = None
    """A batch that the store may have taken or not: the connection broke."""
    last: bool = False
    """The terminal event is among those that wait."""
    written: asyncio.Event = field(default_factory=asyncio.Event)
    """The terminal event is in the log, or never will be."""
    many: int = _MANY
    """Events that wait before they are made fewer."""
    grown: int = 0
    """Bytes since the log was last shortened."""

    def put(self, event: BaseEvent) -> None:
        """Take an event; it is written soon."""
        if not self.waiting:
            self.wake()
        self.waiting.append(event)
        if len(self.waiting) > self.many:  # the store is away, or slow
            self.waiting = _compacted(self.waiting)
            self.many = max(_MANY, 2 * len(self.waiting))

    async def end(self, terminal: BaseEvent) -> None:
        """Take the terminal event. Returns when it is in the log, or another worker owns the run."""
        self.put(terminal)
        self.last = True
        await self.written.wait()


class Recorder:
    """The logs of one worker's runs. One task writes them all, as long as the block of `working` lasts."""

    def __init__(self, log: RunLog, *, flush: float) -> None:
        """`flush`: seconds between two writes."""
        self._log, self._flush = log, flush
        self._recordings: dict[str, Recording] = {}
        self._due = asyncio.Event()
        self._turn = asyncio.Lock()
        """One write at a time: another would take a batch that is on its way for one that was lost, and repeat it."""

    def open(
        self,
        run: str,
        fence: int,
        *,
        seq: int = 0,
        lost: Callable[[], None],
        shortened: Callable[[], list[BaseEvent] | None],
    ) -> Recording:
        """Begin or go on with the log of a run, which has `seq` entries. `lost`, `shortened`: see `Recording`."""
        recording = self._recordings[run] = Recording(run, fence, lost, shortened, self._due.set, seq)
        return recording

    def close(self, recording: Recording) -> None:
        """Nothing more is written of this run."""
        recording.written.set()
        if self._recordings.get(recording.run) is recording:
            del self._recordings[recording.run]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Write, for as long as the block lasts."""
        async with meanwhile(self._work(), name="agui-recorder"):
            yield

    async def flush(self) -> None:
        """Write what waits. Raises what the store's client raises; what was not written waits on."""
        async with self._turn:
            await self._write()

    async def _write(self) -> None:
        for recording in list(self._recordings.values()):
            if recording.unsure is not None:
                await self._settle(recording, recording.unsure)
        taken: list[Recording] = []
        batches: list[Batch] = []
        shortened: dict[str, list[BaseEvent] | None] = {}
        for recording in self._recordings.values():
            if recording.waiting:
                recording.unsure, recording.waiting = recording.waiting, []
                data = _lines(_compacted(recording.unsure))
                recording.grown += len(data)
                if recording.grown > _COMPACT and not recording.last:
                    shortened[recording.run] = recording.shortened()
                taken.append(recording)
                batches.append(Batch(recording.run, recording.fence, data, recording.last))
        if not batches:
            return
        refused = await self._log.append(batches)
        for recording, batch in zip(taken, batches, strict=True):
            recording.unsure = None
            recording.seq += 1
            if batch.last or batch.run in refused:
                self.close(recording)
            if batch.run in refused:
                recording.lost()
            elif (short := shortened.get(batch.run)) is not None:
                recording.grown = 0
                await self._log.compact(batch.run, batch.fence, recording.seq, _lines(short))

    async def _settle(self, recording: Recording, unsure: list[BaseEvent]) -> None:
        """Look whether the log has the batch; nobody else can have written there. If not, it waits again."""
        written = await self._log.read(recording.run, recording.seq)
        if written:
            recording.seq = written[-1].seq
            if written[-1].last:
                self.close(recording)
        else:
            recording.waiting = unsure + recording.waiting
        recording.unsure = None

    async def _work(self) -> None:
        away, outage = False, Outage(_logger, "the log of runs cannot be written")
        while not being_cancelled():  # the store's client may have made an error of its own of it
            await self._due.wait()
            self._due.clear()
            try:
                await self.flush()
                away = False
                outage.over()
            except Exception as error:
                outage.failed(error)
                away = True
                self._due.set()
            await asyncio.sleep(_AGAIN if away else self._flush)


def _compacted(events: list[BaseEvent]) -> list[BaseEvent]:
    """The same in fewer events, where several say what one can."""
    if len(events) == 1:
        return events
    short = Compacted()
    for event in events:
        short.put(event)
    return short.events()


def _lines(events: list[BaseEvent]) -> bytes:
    lines = []
    for event in events:
        try:
            lines.append(clean_json(event))
        except Exception:
            _logger.exception("an event cannot be written to the log of its run and is left out")
    return b"\n".join(lines)
