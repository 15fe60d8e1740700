"""What every stream of a program's pipeline gets beside its outputs: sinks of its own, results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from vidpipe.apps.delivery import Delivery, ResultSink
from vidpipe.apps.sinks import lane_names, lane_size
from vidpipe.apps.units import StreamUnit
from vidpipe.interfaces import Sink, SinkPlugin
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.plugin import foreign_sink
from vidpipe.types import Overflow, SinkRequest


@dataclass(frozen=True, slots=True)
class OwnLanes:
    """Makes them for each stream that begins; holds nothing of the pipeline itself.

    Attributes:
        delivery: Where results go.
        sinks: Make the program's own sinks.
        delivers: True if there is somebody to take results.
        with_pictures: With their pixels.
        with_passed: Also those that the model wasn't asked about.
    """

    delivery: Delivery
    sinks: Sequence[SinkPlugin]
    delivers: bool
    with_pictures: bool
    with_passed: bool

    def __call__(self, unit: StreamUnit) -> Iterator[SinkLane]:
        """Yield a stream's lanes.

        Raises:
            ConfigError: A sink of the program's own refused.
        """
        is_live = unit.overflow is Overflow.DROP_OLDEST
        request = SinkRequest(unit.stream, unit.config.title, is_live)
        kinds = lane_names([getattr(make, "__name__", "sink") for make in self.sinks])
        made: list[tuple[str, Sink]] = [
            (kind, foreign_sink(kind, make, request))
            for kind, make in zip(kinds, self.sinks, strict=True)
        ]
        if self.delivers:
            on_loss = partial(unit.meter.count_sink_loss, "results")
            life = self.delivery.add(unit.stream, unit.overflow, on_loss)
            result_sink = ResultSink(
                self.delivery,
                unit.stream,
                needs_picture=self.with_pictures,
                with_passed=self.with_passed,
                life=life,
            )
            made.append(("results", result_sink))
        for kind, sink in made:
            yield SinkLane(kind, sink, lane_size(sink), unit.overflow)
