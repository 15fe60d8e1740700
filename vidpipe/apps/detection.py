"""Pictures that somebody brings and waits for, looked at by the pools of a run.

They go ahead of the streams' frames, a few at a time, and are counted nowhere among them: they have
no stream, no window and no sink.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from vidpipe.apps.units import DispatchLoop, WorkerLoop
from vidpipe.errors import SourceError
from vidpipe.outputs.lines import line_from_result
from vidpipe.server.detector import (
    TOO_MANY,
    DetectError,
    DetectFault,
    DetectQuestion,
    chosen_model,
)
from vidpipe.sources.images import ImageKindError, ImageSizeError, decode_image
from vidpipe.types import (
    Detections,
    Frame,
    FrameResult,
    Picture,
    PoolReport,
    SourceInfo,
    SourceKind,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One model, as far as it can be asked.

    Attributes:
        lanes: Its dispatchers; none while no stream uses it.
        confidence: The least score that it tells.
    """

    lanes: Sequence[DispatchLoop]
    confidence: float


class Detection:
    """Implements ``Detector``; any thread may ask, and waits."""

    def __init__(
        self,
        models: Callable[[], Mapping[str, Asked]],
        pools: Callable[[], Sequence[PoolReport]],
        answers: WorkerLoop,
    ) -> None:
        """Look at what there is whenever somebody asks: models come and go with their streams."""
        self._models = models
        self._pools = pools
        self._answers = answers
        self._numbers = itertools.count(1)
        self._decoding = threading.Lock()
        """One at a time: a large picture takes hundreds of megabytes while it is decoded."""

    def detect(self, question: DetectQuestion) -> bytes:
        """Return a line of JSON; see ``Detector``."""
        until_s = time.monotonic() + question.timeout_s
        name, asked = self._chosen(question)
        frame = self._frame(self._decoded(question.image, until_s))
        result = self._asked(asked, frame, until_s)
        if result.verdict is Verdict.FAILED:
            raise DetectError(f"model {name}: {result.error}", DetectFault.FAILED)
        if question.confidence is not None:
            result = replace(result, detections=_surer(result.detections, question.confidence))
        line = line_from_result(result).rstrip()
        line = line.replace(json.dumps(frame.stream).encode(), b"null", 1)
        of_model = json.dumps({"model": name}).encode()[1:]
        return line[:-1] + b", " + of_model + b"\n"

    def _chosen(self, question: DetectQuestion) -> tuple[str, Asked]:
        """Return the model that is meant.

        Raises:
            DetectError: There is none, or it can't be asked.
        """
        models = self._models()
        name = chosen_model(models, question.model)
        least = models[name].confidence
        if question.confidence is not None and question.confidence < least:
            raise DetectError(
                f"model {name} tells nothing below its own confidence of {least:g}",
                DetectFault.QUERY,
            )
        if not any(pool.is_ready for pool in self._pools() if pool.model == name):
            raise DetectError(f"model {name} is not ready", DetectFault.NOT_READY)
        return name, models[name]

    def _decoded(self, image: bytes, until_s: float) -> Picture:
        if not self._decoding.acquire(timeout=max(0.0, until_s - time.monotonic())):
            raise DetectError("other pictures took too long", DetectFault.TIMEOUT)
        try:
            return decode_image(image)
        except ImageKindError as exc:
            raise DetectError(str(exc), DetectFault.KIND) from None
        except ImageSizeError as exc:
            raise DetectError(str(exc), DetectFault.TOO_LARGE) from None
        except SourceError as exc:
            raise DetectError(str(exc), DetectFault.NO_IMAGE) from None
        finally:
            self._decoding.release()

    def _frame(self, picture: Picture) -> Frame:
        width, height = picture.size_wh
        return Frame(
            stream=f"#{next(self._numbers)}",  # no stream's id begins so
            epoch=0,
            number=0,
            pts_s=None,
            captured_at=time.monotonic(),
            time=None,
            size_wh=(width, height),
            picture=picture,
            source=SourceInfo(SourceKind.FILE, False, "image", width, height),  # noqa: FBT003
        )

    def _asked(self, asked: Asked, frame: Frame, until_s: float) -> FrameResult:
        """Have the model asked, and wait for the answer."""
        box: SimpleQueue[FrameResult | None] = SimpleQueue()
        self._answers.expect(frame.stream, box.put)
        lanes = sorted(asked.lanes, key=lambda lane: lane.waiting_ahead)
        lane = next((one for one in lanes if one.put_ahead(frame, lambda: box.put(None))), None)
        try:
            if lane is None:
                raise DetectError(TOO_MANY, DetectFault.FULL)
            result = box.get(timeout=max(0.0, until_s - time.monotonic()))
        except Empty:
            assert lane is not None
            lane.withdraw(frame)
            raise DetectError("the model didn't answer in time", DetectFault.TIMEOUT) from None
        finally:
            self._answers.forget(frame.stream)
        if result is None:
            raise DetectError("the model is being stopped", DetectFault.NOT_READY)
        return result


def _surer(found: Detections, confidence: float) -> Detections:
    kept: NDArray[np.bool_] = found.scores >= np.float32(confidence)
    return Detections(
        boxes_xyxy=found.boxes_xyxy[kept],
        scores=found.scores[kept],
        class_ids=found.class_ids[kept],
        labels=tuple(label for label, is_kept in zip(found.labels, kept, strict=True) if is_kept),
    )
