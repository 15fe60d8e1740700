"""A dispatcher and workers of a test: what submits to a real pool, and reads and counts answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.devices import tell_level
from tests.threads import running, wait_until
from vidpipe.errors import InferenceError
from vidpipe.inference.batching import BatchPool, BatchSettings
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.pool import Call, Pool, PoolSettings
from vidpipe.interfaces import Clock, Submission
from vidpipe.runtime.channel import Channel
from vidpipe.runtime.durations import StageMeters
from vidpipe.types import Frame


class Desk:
    """Submits, and reads and counts what is delivered."""

    def __init__(self) -> None:
        """Begin with no answers."""
        self.delivered: Channel[Submission] = Channel(100_000)
        self.answers: dict[int, int | str] = {}
        self.pool: Pool | BatchPool | None = None

    def submit(self, frame: Frame) -> None:
        """Wait for a request and submit a frame; its number is its place."""
        assert self.pool is not None
        slot = self.pool.acquire()
        assert slot is not None
        self.pool.submit(slot, frame, frame.number)

    def take(self, submission: Submission) -> int | str:
        """Read an answer as a worker does; return the grey level or the error."""
        number = submission.frame.number
        assert submission.sequence == number
        assert number not in self.answers, "delivered twice"
        try:
            self.answers[number] = tell_level(submission.detections())
        except InferenceError as exc:
            self.answers[number] = str(exc)
        finally:
            submission.release()
        return self.answers[number]

    def read_one(self) -> int | str:
        """Read the next delivery."""
        return self.take(self.delivered.get(timeout_s=20))

    def read(self, count: int) -> list[int | str]:
        """Read so many deliveries."""
        try:
            return [self.read_one() for _ in range(count)]
        except BaseException:
            assert self.pool is not None
            self.pool.close()  # so that nobody waits for what will not be read
            raise

    def deliver(self, submission: Submission) -> None:
        """Keep a submission for ``read``."""
        assert self.delivered.put(submission, timeout_s=0)

    def assert_complete(self) -> None:
        """Nothing is running or left, and every request is free."""
        pool = self.pool
        assert pool is not None
        assert len(self.delivered) == 0
        gathering = int(isinstance(pool, BatchPool) and pool._open is not None)

        def is_complete() -> bool:
            requests = pool.report("all").requests
            return requests["free"] + gathering == pool.size and not requests["running"]

        wait_until(is_complete, "all requests are free")


@contextmanager
def desk(
    compile_model: Callable[[], CompiledDetector],
    *,
    requests: int | None = None,
    timeout_s: float = 10.0,
    call: Call = Call.ASYNC,
    stages: StageMeters | None = None,
) -> Iterator[tuple[Desk, Pool]]:
    """Run a pool with its reaper; with ``sync`` the threads that submit read, too."""
    bench = Desk()
    settings = PoolSettings(requests=requests, timeout_s=timeout_s, call=call)

    def handle(submission: Submission) -> None:
        bench.take(submission)

    deliver = handle if call is Call.SYNC else bench.deliver
    pool = bench.pool = Pool(compile_model, settings, deliver, time.monotonic, stages)
    with running(pool.reap):
        try:
            yield bench, pool
        finally:
            pool.close()


@contextmanager
def batch_desk(
    compile_model: Callable[[int], CompiledDetector],
    settings: BatchSettings,
    *,
    clock: Clock = time.monotonic,
    stages: StageMeters | None = None,
) -> Iterator[tuple[Desk, BatchPool]]:
    """Run a pool of batches with its reaper."""
    bench = Desk()
    pool = bench.pool = BatchPool(compile_model, settings, bench.deliver, clock, stages)
    with running(pool.reap):
        try:
            yield bench, pool
        finally:
            pool.close()
