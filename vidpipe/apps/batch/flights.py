"""Units on their way through the engine: begun, ended, cancelled; each is a stream of its own."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue

from vidpipe.apps.batch.folder import OutputFolder
from vidpipe.apps.batch.groups import PictureSink, PictureTarget
from vidpipe.apps.batch.parts import PartSink, recover
from vidpipe.apps.batch.plan import Unit
from vidpipe.apps.batch.prepare import Prepared
from vidpipe.apps.batch.reading import Reading, picture_opener, unit_opener
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.apps.batch.work import FileWork, Flight, GroupFlight, UnitFlight
from vidpipe.apps.engine import Engine
from vidpipe.apps.units import Ending
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import VidpipeError
from vidpipe.interfaces import OpenReader
from vidpipe.outputs.fanout import SinkLane
from vidpipe.types import Overflow

_LANE = 256
_CANCEL_S = 5.0
_PLACEHOLDER = "unit.mp4"
"""What a unit reads is opened by its own reader; the section's source is never looked at."""


@dataclass(slots=True)
class Flights:
    """What is at work; for one thread, but for the notes.

    Attributes:
        engine: Running, without other streams.
        model: The name of the model in its configuration.
        folder: The output folder.
        sampling: Which frames are wanted.
        decoders: How many threads may decode at once, if there are fewer units than that.
        notes: What has ended, as the engine says it.
        at_work: By the stream's id.
    """

    engine: Engine
    model: str
    folder: OutputFolder
    sampling: Sampling
    decoders: int
    notes: SimpleQueue[Ending] = field(default_factory=SimpleQueue)
    at_work: dict[str, Flight] = field(default_factory=dict)
    began: tuple[float, float] | None = None
    """When the first one had begun, once the model was compiled, and the CPU time until then."""
    _begun: int = 0
    _frames: int = 0

    def __len__(self) -> int:
        """Count them."""
        return len(self.at_work)

    @property
    def frames(self) -> int:
        """Frames that the model has been asked about so far."""
        return self._frames + sum(flight.news for flight in self.at_work.values())

    def begin_unit(self, work: FileWork, unit: Unit, at_once: int) -> None:
        """Begin a unit of a video where its part ends, one of so many that are at work at once.

        Raises:
            OSError: The part can't be read.
        """
        if work.began_at is None:
            work.began_at = time.monotonic()
        part = self.folder.part(work.prepared.id, unit.number)
        recovered = recover(part)
        reading, sink = Reading(), PartSink(part, work.stem, recovered)
        opener = unit_opener(
            work.prepared.input.path,
            unit,
            self.sampling,
            recovered.lines,
            reading,
            max(1, self.decoders // max(1, at_once)),
        )
        self._launch(UnitFlight(work, unit, reading, sink, recovered.lines), opener)

    def begin_group(self, pictures: list[Prepared]) -> None:
        """Begin a group of pictures."""
        targets = [
            PictureTarget(one.input.stem, self.folder.result(one.input.stem)) for one in pictures
        ]
        reading, sink = Reading(), PictureSink(targets)
        flight = GroupFlight(pictures, reading, sink, time.monotonic())
        self._launch(flight, picture_opener([one.input.path for one in pictures], reading))

    def end(self, ending: Ending) -> Flight | None:
        """Take a flight out that has ended; None if it was cancelled meanwhile."""
        flight = self.at_work.pop(ending.stream, None)
        if flight is not None:
            with suppress(VidpipeError):  # the engine is stopping, and forgets it by itself
                self.engine.remove(ending.stream, _CANCEL_S)
            self._count(flight)
        return flight

    def cancel(self, work: FileWork) -> None:
        """End the units of a file that are at work."""
        for name, flight in self.of(work):
            del self.at_work[name]
            with suppress(VidpipeError):
                self.engine.remove(name, _CANCEL_S)
            self._count(flight)

    def of(self, work: FileWork) -> list[tuple[str, UnitFlight]]:
        """Return the units of a file that are at work."""
        return [
            (name, flight)
            for name, flight in self.at_work.items()
            if isinstance(flight, UnitFlight) and flight.work is work
        ]

    def land_all(self) -> list[Flight]:
        """Take out all flights, once the engine has stopped."""
        flights = list(self.at_work.values())
        self.at_work.clear()
        for flight in flights:
            self._count(flight)
        return flights

    def _launch(self, flight: Flight, opener: OpenReader) -> None:
        self._begun += 1
        name = f"unit-{self._begun}"
        self.at_work[name] = flight
        self.engine.add(
            StreamConfig(id=name, source=_PLACEHOLDER, model=self.model),
            [SinkLane("lines", flight.sink, _LANE, Overflow.BLOCK)],
            on_end=self.notes.put,
            open_reader=opener,
        )
        if self.began is None:
            self.began = time.monotonic(), time.process_time()

    def _count(self, flight: Flight) -> None:
        self._frames += flight.news
        info = flight.reading.info
        if isinstance(flight, UnitFlight) and info is not None:
            flight.work.expected = info.frame_count
            flight.work.duration_s = info.duration_s
