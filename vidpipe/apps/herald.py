"""Who makes events known: watches results and cameras, and keeps the outbox and its couriers going.

Its threads hold no frame, and whatever they do harms no stream. Where events go may change while
streams run: the outbox and its couriers are replaced then, and what happens meanwhile waits.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loguru import logger

from vidpipe.analytics.events import CameraWatch, DetectionWatch, EventPolicy, Scribe
from vidpipe.apps.eventplaces import EventTarget, couriers_for
from vidpipe.apps.outcome import Outcome
from vidpipe.config.schema import EventsConfig, OutboxConfig
from vidpipe.events import Announce, Event, EventKind
from vidpipe.interfaces import Clock
from vidpipe.outputs.courier import Courier
from vidpipe.outputs.outbox import Outbox
from vidpipe.outputs.vault import OutboxPolicy
from vidpipe.runtime.logs import redact
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import CaptureReport, FrameResult

_LOOK_EVERY_S = 0.2
_COURIERS_S = 0.5
_OUTBOX_S = 5.0


class Camera(Protocol):
    """A stream's capture, as far as its ups and downs go."""

    @property
    def is_live(self) -> bool:
        """True if the source has no end of its own."""

    def report(self) -> CaptureReport:
        """Return what became of it so far."""


@dataclass(slots=True)
class _Books:
    """Implements ``DeliveryRecord``: counts, and says what is lost."""

    targets: Mapping[str, EventTarget]
    outcome: Outcome
    meters: dict[str, StreamMeter] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lose(self, target: str, count: int) -> None:
        one = self.targets.get(target)  # of another process that shares the outbox, or of old
        if one is not None and one.stream in self.meters:
            self.meters[one.stream].count_sink_loss(one.part, count)
        self._add("lost", count)

    def refuse(self, target: str, event: str, why: str) -> None:
        one = self.targets[target]  # refused by a courier of ours
        logger.bind(stream=one.stream).error(
            "{} refuses event {} for good, which is thrown away: {}", one.part, event, why
        )
        if one.stream in self.meters:
            self.meters[one.stream].count_error(one.part)
            self.meters[one.stream].count_sink_loss(one.part)
        if self._add(f"refused {target}", 1) == 1:
            self.outcome.fail(one.stream, one.part, f"events were refused, the first one: {why}")
        self._add("refused", 1)

    def deliver(self, target: str) -> None:
        self._add("delivered", 1)

    def _add(self, what: str, count: int) -> int:
        with self._lock:
            self.counts[what] += count
            return self.counts[what]


@dataclass(slots=True)
class Post:
    """An outbox and its couriers, with their threads: what is replaced when the places change.

    ``start``, ``end`` and ``close`` in this order, by one thread; ``put`` is for any.
    """

    targets: Mapping[str, EventTarget]
    couriers: Sequence[Courier]
    outbox: Outbox
    has_started: bool = False
    is_held: bool = False
    """After ``close``: True if a thread was left behind in a call that doesn't return."""
    _courier_threads: ThreadGroup = field(default_factory=ThreadGroup)
    _outbox_threads: ThreadGroup = field(default_factory=ThreadGroup)

    def start(self) -> None:
        """Start the threads, if there is anybody to bring anything to."""
        if not self.targets:
            return
        self.has_started = True
        # A hung disk, a name that doesn't resolve: each may hold its thread.
        self._outbox_threads.spawn("vp-outbox", self.outbox.run, may_hang=True)
        for number, courier in enumerate(self.couriers):
            self._courier_threads.spawn(f"vp-courier-{number}", courier.run, may_hang=True)

    def end(self) -> None:
        """No event follows."""
        if self.has_started:
            self.outbox.end()
        else:
            self.outbox.drained.set()

    def close(self) -> list[str]:
        """Stop delivering, keep the rest for whoever opens the file next; return what is lost."""
        if not self.has_started:
            return []
        for courier in self.couriers:
            courier.stop()
        held = self._courier_threads.join(_COURIERS_S)
        self.outbox.close()
        held += self._outbox_threads.join(_OUTBOX_S)
        self.is_held = bool(held)
        gone = self.outbox.lost_at_end
        lost = [f"{gone} events that could be kept in memory only"] if gone else []
        return lost + ["the outbox did not end"] * ("vp-outbox" in held)


class Herald:
    """The events of one engine. ``start``, ``end`` and ``close`` in this order, by one thread.

    ``end_watch`` is for any thread; each may be called twice. In between the places may change.
    """

    def __init__(
        self,
        targets: Sequence[EventTarget],
        events: EventsConfig | None,
        outbox: OutboxConfig | None,
        outcome: Outcome,
        clock: Clock,
    ) -> None:
        """Start nothing yet.

        Raises:
            ConfigError: A certificate or key of an output can't be used.
        """
        given, box = events or EventsConfig(), outbox or OutboxConfig()
        classes = frozenset(given.classes) if given.classes is not None else None
        self._policy = EventPolicy(given.quiet_s, classes)
        self._box = OutboxPolicy(box.path, int(box.max_mb * 1_000_000))
        self._clock = clock
        self._books = _Books({}, outcome)
        self._post = self.prepare(targets)
        self._books.targets = self._post.targets
        self._cameras: list[tuple[str, Camera, CameraWatch]] = []
        self._has_started = False
        self._is_closed = False
        self._watches = False
        self._no_watch = threading.Event()
        self._watch_threads = ThreadGroup()
        self._lost: list[str] = []
        self.is_held = False
        """True if a thread was left behind in a call that doesn't return."""

    # ---- Where events come from ----------------------------------------------------------------

    def announcer(self, stream: str, title: str) -> Announce:
        """Return what makes events of a stream; where nobody wants them, it does nothing."""
        scribe = Scribe(stream, title)

        def announce(kind: EventKind, detail: str) -> None:
            self._put(scribe.note(kind, redact(detail)))

        return announce if self._is_wanted(stream) else _ignore

    def result_watch(
        self, stream: str, title: str, meter: StreamMeter
    ) -> Callable[[FrameResult], None] | None:
        """Return what looks for events in a stream's results, or None where nobody wants any."""
        if not self._is_wanted(stream):
            return None
        self._books.meters[stream] = meter
        watch = DetectionWatch(self._policy, Scribe(stream, title))

        def see(result: FrameResult) -> None:
            for event in watch.see(result):
                self._put(event)

        return see

    def watch_camera(self, stream: str, title: str, camera: Camera) -> None:
        """Look after a stream's source."""
        if self._is_wanted(stream):
            watch = CameraWatch(Scribe(stream, title))
            self._cameras = [*self._cameras, (stream, camera, watch)]

    def forget_camera(self, stream: str) -> None:
        """Look after a stream's source no more."""
        self._cameras = [one for one in self._cameras if one[0] != stream]
        self._books.meters.pop(stream, None)

    def _is_wanted(self, stream: str) -> bool:
        return any(target.stream == stream for target in self._post.targets.values())

    def _put(self, event: Event) -> None:
        self._post.outbox.put(event)

    # ---- Where they go -------------------------------------------------------------------------

    def prepare(self, targets: Sequence[EventTarget]) -> Post:
        """Return what would bring events to other places; nothing is changed or opened yet.

        Raises:
            ConfigError: A certificate or key of an output can't be used.
        """
        couriers = couriers_for(targets)
        targets_of: dict[str, list[str]] = {}
        for target in targets:
            targets_of.setdefault(target.stream, []).append(target.key)
        outbox = Outbox(self._box, couriers, targets_of, self._books, self._clock)
        return Post({target.key: target for target in targets}, couriers, outbox)

    def replace(self, post: Post) -> None:
        """Bring events to other places from now on; what the former ones don't have yet is kept.

        What happens meanwhile waits in memory for the new outbox to be opened.
        """
        former, self._post = self._post, post
        self._books.targets = {**former.targets, **post.targets}
        self._lost += former.close()
        self._books.targets = post.targets
        self.is_held = self.is_held or former.is_held
        if self._has_started and not self._is_closed:
            self._begin()

    def is_for(self, targets: Sequence[EventTarget]) -> bool:
        """True if these are the places that it brings events to."""
        return list(self._post.targets.values()) == list(targets)

    # ---- The run -------------------------------------------------------------------------------

    @property
    def drained(self) -> threading.Event:
        """Set, after ``end``, once all events are delivered that can be."""
        return self._post.outbox.drained

    def start(self) -> None:
        """Start the threads."""
        self._has_started = True
        self._begin()

    def _begin(self) -> None:
        self._post.start()
        if self._post.has_started and not self._watches:
            self._watches = True
            self._watch_threads.spawn("vp-cameras", self._look)

    def end_watch(self) -> None:
        """Look after the cameras no more: that they stop now is nobody's news."""
        self._no_watch.set()

    def end(self) -> None:
        """No event follows."""
        self.end_watch()
        self._post.end()

    def close(self) -> list[str]:
        """Stop delivering, keep the rest for the next start; return what is lost, for people."""
        self.end_watch()
        if not self._has_started or self._is_closed:
            return []
        self._is_closed = True
        held = self._watch_threads.join(1.0)
        self._lost += self._post.close()
        self.is_held = self.is_held or bool(held) or self._post.is_held
        self._say_end()
        return self._lost

    def _say_end(self) -> None:
        if not self._watches:
            return  # there was never anybody to tell
        counts, left = self._books.counts, self._post.outbox.left
        further = [f"{counts[what]} {what}" for what in ("refused", "lost") if counts[what]]
        logger.info("events: {}", ", ".join([f"{counts['delivered']} delivered", *further]))
        if left:
            path = self._box.path
            logger.warning("events: {} deliveries wait in {} for the next start", left, path)

    def _look(self) -> None:
        while not self._no_watch.wait(_LOOK_EVERY_S):
            for _, camera, watch in self._cameras:
                if camera.is_live and (event := watch.look(camera.report())) is not None:
                    self._put(event)


def _ignore(kind: EventKind, detail: str) -> None:
    """Stand for an announcer where nobody wants events."""
