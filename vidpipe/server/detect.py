"""``POST /api/detect``: a picture in, what is on it out, by the models that watch the streams.

Few may wait at once, and the next is refused at the head of its request, before its picture is
taken in.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vidpipe.runtime.durations import DurationMeter, Durations
from vidpipe.runtime.executor import Executor, ExecutorFullError
from vidpipe.runtime.logs import redact
from vidpipe.server.bodies import FormError, file_of
from vidpipe.server.detector import (
    MOST_AT_ONCE,
    TOO_MANY,
    DetectError,
    DetectFault,
    Detector,
    DetectQuestion,
)
from vidpipe.server.pages import Page
from vidpipe.server.shown import Shown

MOST_IMAGE_BYTES = 20_000_000
ANSWER_S = 10.0
"""How long an answer may take once the picture is here."""
_GRACE_S = 2.0
_RETRY_S = 1
_OK = "ok"
_WORDS = {fault: fault.name.lower() for fault in DetectFault}


@dataclass(frozen=True, slots=True)
class DetectStats:
    """What became of the pictures so far.

    Attributes:
        outcomes: How many, by what became of them; all that there are.
        busy: How many are under way.
        durations: How long answers took, from the whole picture on.
    """

    outcomes: dict[str, int]
    busy: int
    durations: Durations


class DetectMeter:
    """Counts; for the server's loop alone."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._outcomes: Counter[str] = Counter()
        self._durations = DurationMeter()
        self.busy = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count one that is under way."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1

    def count(self, outcome: str) -> None:
        """Count one that is over."""
        self._outcomes[outcome] += 1

    def record(self, seconds: float) -> None:
        """Count how long an answer took."""
        self._durations.record(seconds)

    def snapshot(self) -> DetectStats:
        """Return what was counted."""
        outcomes = {word: self._outcomes[word] for word in (_OK, *_WORDS.values())}
        return DetectStats(outcomes, self.busy, self._durations.snapshot())


def detect_pages(shown: Shown, executor: Executor, meter: DetectMeter) -> Iterable[Page]:
    """Return the page for pictures."""

    async def detect(request: Request) -> Response:
        try:
            answer = await _answer(shown.detector, request, executor, meter)
        except DetectError as exc:
            meter.count(_WORDS[exc.fault])
            return _refused(exc)
        meter.count(_OK)
        return Response(answer, media_type="application/json")

    path = "/api/detect"
    return (Page(path, detect, methods=("POST",), most_body_bytes=MOST_IMAGE_BYTES),)


async def _answer(
    detector: Detector | None, request: Request, executor: Executor, meter: DetectMeter
) -> bytes:
    if detector is None:
        raise DetectError("the models are being loaded", DetectFault.NOT_READY)
    model = request.query_params.get("model")
    confidence = _confidence(request.query_params.get("confidence"))
    if meter.busy >= MOST_AT_ONCE:
        raise DetectError(TOO_MANY, DetectFault.FULL)
    with meter.at_work():
        body = await request.body()
        try:
            image = file_of(body, request.headers.get("content-type", ""))
        except FormError as exc:
            raise DetectError(str(exc), DetectFault.NO_IMAGE) from None
        began_at = time.monotonic()
        question = DetectQuestion(image, model, confidence, ANSWER_S)
        try:
            future = executor.submit(lambda: detector.detect(question))
            answer = await asyncio.wait_for(asyncio.wrap_future(future), ANSWER_S + _GRACE_S)
        except ExecutorFullError:
            raise DetectError(TOO_MANY, DetectFault.FULL) from None
        except TimeoutError:
            raise DetectError(f"no answer within {ANSWER_S:g} s", DetectFault.TIMEOUT) from None
        meter.record(time.monotonic() - began_at)
        return answer


def _confidence(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise DetectError("confidence is a number from 0 to 1", DetectFault.QUERY)
    return value


def _refused(error: DetectError) -> Response:
    waits = error.fault in (DetectFault.FULL, DetectFault.NOT_READY)
    headers = {"retry-after": str(_RETRY_S)} if waits else {}
    if error.fault is DetectFault.FULL:
        headers["connection"] = "close"  # whose picture is on its way still
    return JSONResponse({"error": redact(str(error))}, error.fault.value, headers)
