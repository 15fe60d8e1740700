"""Several frames, of any streams, in one inference: gathered, started, and answered one by one.

A batch is started once it is full, or once its first frame has waited for as long as it may. One
that isn't full is run by the smallest compiled size that holds it. Everything else is the pool's
work: see `vidpipe.inference.pool`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.pool import Pool, PoolSettings
from vidpipe.inference.proof import prove_batches
from vidpipe.inference.slot import PooledDetector, Slot
from vidpipe.interfaces import Clock, RequestSlot, Submission
from vidpipe.runtime.durations import StageMeters
from vidpipe.types import Frame, PoolReport


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What is chosen about a pool of batches.

    Attributes:
        size: Frames in a batch, at most.
        gather_s: How long the first frame of a batch waits for others.
        requests: The number of batches that are on their way, or None for twice what the device
            runs at once, and one.
        timeout_s: A batch older than this is lost, and replaced.
    """

    size: int = 8
    gather_s: float = 0.02
    requests: int | None = None
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class BatchedDetector:
    """Implements ``PooledDetector``: one model, compiled for rising sizes of batch."""

    sizes: Sequence[CompiledDetector]

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self.sizes[-1].name

    @property
    def optimal_requests(self) -> int:
        """How many requests of the largest size keep the device busy."""
        return self.sizes[-1].optimal_requests


class BatchPool:
    """Implements ``RequestPool``; any thread may call anything, but one fills at a time."""

    def __init__(
        self,
        compile_model: Callable[[int], CompiledDetector],
        settings: BatchSettings,
        deliver: Callable[[Submission], None],
        clock: Clock,
        stages: StageMeters | None = None,
    ) -> None:
        """Compile the model for several sizes, prove them, and make the requests.

        Args:
            compile_model: Compiles it for a size of batch; called now, and whenever the pool has to
                be rebuilt.
            settings: Numbers and deadlines.
            deliver: Takes each settled submission, on a thread of the device; must not block.
            clock: Monotonic seconds.
            stages: Where the durations of filling, inference and decoding are counted.

        Raises:
            ModelError: The model can't be compiled, or mixes up the pictures of a batch, or its
                first inference isn't answered.
        """
        self._clock = clock
        self._gather_s = settings.gather_s
        self._filling = threading.RLock()
        """Held while the open batch is changed: rows are filled one after the other."""
        self._open: Slot | None = None
        self._gathered = 0
        """Frames in the open batch."""
        self._first_at = 0.0
        """When the first of them came."""
        self._batches = self._frames = self._places = 0
        first = [_compiled(compile_model, settings.size)]
        prove_batches(first[0].sizes)

        def compile_all() -> PooledDetector:
            # What has been proved once is not proved again when it is compiled anew.
            return first.pop() if first else _compiled(compile_model, settings.size)

        self._pool = Pool(
            compile_all,
            PoolSettings(requests=settings.requests, timeout_s=settings.timeout_s),
            deliver,
            clock,
            stages,
        )

    @property
    def size(self) -> int:
        """The number of requests."""
        return self._pool.size

    @property
    def capacity(self) -> int:
        """How many frames it takes at once."""
        return self._pool.capacity

    @property
    def detector(self) -> CompiledDetector:
        """The model in force, compiled for the largest batch."""
        return self._pool.detector

    @property
    def parked(self) -> int:
        """The number of requests that are held by the device beyond their deadline."""
        return self._pool.parked

    @property
    def is_ready(self) -> bool:
        """False while so many requests are parked that the device can't be trusted to answer."""
        return self._pool.is_ready

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request of this pool: letting it go would wait for it."""
        return self._pool.is_held

    def report(self, name: str) -> PoolReport:
        """Return how it stands, under a name."""
        return replace(
            self._pool.report(name),
            batches=self._batches,
            batched_frames=self._frames,
            batch_places=self._places,
        )

    def acquire(self) -> RequestSlot | None:
        """Wait until there is an open batch with room, and return it; None once closed.

        With several callers another one may fill it first: ``submit`` waits for the next, then.
        """
        while True:
            with self._filling:
                if self._open is not None:
                    return self._open
            slot = self._pool.acquire()
            if slot is None:
                return None
            with self._filling:
                if self._open is None:
                    self._open = slot
                    return slot
            self._pool.give_back(slot)

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Write the frame into the open batch; the last one that it holds starts it.

        A frame that comes after ``close`` is not delivered.
        """
        del slot  # there is never more than one open
        while self.acquire() is not None:
            with self._filling:
                if self._open is None:  # another caller was quicker
                    continue
                if self._pool.fill(self._open, frame, sequence):
                    self._gathered += 1
                    if self._gathered == 1:
                        self._first_at = self._clock()
                    if self._gathered == self._open.places:
                        self.flush()
                return

    def give_back(self, slot: RequestSlot) -> None:
        """Return a slot that was not used: it stays open for the next frame."""

    def flush_in_s(self) -> float | None:
        """Return in how many seconds the open batch must be started; None if it is empty."""
        with self._filling:
            if not self._gathered:
                return None
            return max(0.0, self._first_at + self._gather_s - self._clock())

    def flush(self) -> None:
        """Start the frames that have been gathered; the slot that was acquired last is void."""
        with self._filling:
            if self._open is None or not self._gathered:
                return
            slot, self._open = self._open, None
            self._batches += 1
            self._frames += self._gathered
            self._places += slot.places_for(self._gathered)
            self._gathered = 0
            self._pool.start(slot)

    def reap(self) -> None:
        """Look after requests that don't call back, until the pool is closed."""
        self._pool.reap()

    def close(self) -> None:
        """Give out no more requests, cancel what runs, and let ``reap`` return; wakes everyone.

        What runs or has been gathered is never delivered.
        """
        self._pool.close()
        with self._filling:
            slot, self._open, self._gathered = self._open, None, 0
        if slot is not None:
            self._pool.give_back(slot)

    def rest(self, timeout_s: float) -> None:
        """See ``Pool.rest``."""
        self._pool.rest(timeout_s)


def sizes_up_to(size: int) -> list[int]:
    """Return the sizes that are compiled so that batches of up to so many waste little."""
    return [*(2**power for power in range(size.bit_length()) if 2**power < size), size]


def _compiled(compile_model: Callable[[int], CompiledDetector], size: int) -> BatchedDetector:
    """Compile all sizes, the largest first, since that is the likeliest to be refused."""
    compiled = [compile_model(batch) for batch in reversed(sizes_up_to(size))]
    return BatchedDetector(tuple(reversed(compiled)))
