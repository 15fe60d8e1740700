"""A gallery that a test feeds: the real one, without a run below it."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.builders import make_detections, make_frame, make_picture, make_result
from vidpipe.outputs.gallery import Easel, LocalGallery
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.shots import Shot, ShotSize
from vidpipe.types import Detections, FrameResult, Picture, Verdict

TYPESETTER = Typesetter()
PERSON = make_detections((16, 8, 48, 40))
PATIENCE_S = 10.0


def seen(
    number: int,
    *,
    stream: str = "gate",
    captured_at: float | None = None,
    picture: Picture | None = None,
    detections: Detections = PERSON,
    verdict: Verdict = Verdict.DETECTED,
) -> FrameResult:
    """Return a result whose frame was captured now, or at a moment of the monotonic clock."""
    at_s = time.monotonic() if captured_at is None else captured_at
    frame = make_frame(
        number,
        stream=stream,
        captured_at=at_s,
        picture=picture or make_picture(320, 180, luma=40 + number * 7 % 180),
    )
    return make_result(detections=detections, frame=frame, verdict=verdict)


@dataclass
class Catcher:
    """Takes the pictures of one visit."""

    shots: list[tuple[Shot, tuple[ShotSize, ...]]] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def take(self, shot: Shot, sizes: Collection[ShotSize]) -> None:
        """Keep a picture; on a thread of the gallery's."""
        with self._news:
            self.shots.append((shot, tuple(sizes)))
            self._news.notify_all()

    def wait(self, count: int) -> list[Shot]:
        """Return the pictures once there are so many."""
        with self._news:
            arrived = self._news.wait_for(lambda: len(self.shots) >= count, PATIENCE_S)
            assert arrived, f"only {len(self.shots)} pictures came"
            return [shot for shot, _ in self.shots]


@contextmanager
def opened_gallery(*streams: str, quality: int = 75) -> Iterator[tuple[LocalGallery, list[Easel]]]:
    """Yield a gallery with places for these streams; it is closed at the end."""
    gallery = LocalGallery(TYPESETTER, quality=quality)
    try:
        yield gallery, [gallery.add(stream, stream.title()) for stream in streams]
    finally:
        gallery.close()


@contextmanager
def moving(easels: list[Easel], *, rate_fps: float = 25.0) -> Iterator[None]:
    """Feed easels with pictures that change, at a rate, while the ``with`` lasts."""
    stop = threading.Event()

    def feed() -> None:
        number = 0
        while not stop.wait(1 / rate_fps):
            for easel in easels:
                easel.take(seen(number, stream=easel.stream))
            number += 1

    thread = threading.Thread(target=feed, name="feed")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
