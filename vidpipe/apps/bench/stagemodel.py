"""What a model's stages cost alone: filling a request's tensor, inference, decoding its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vidpipe.apps.bench.pictures import Subject
from vidpipe.apps.bench.rows import StageCost
from vidpipe.apps.bench.stagemix import Part, cpu_ms_of, mixed, part_of
from vidpipe.apps.detectors import detector_settings, model_path
from vidpipe.config.model import ModelConfig
from vidpipe.config.schema import Config
from vidpipe.errors import InferenceError
from vidpipe.inference.measure import measure_speed
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.request import BoundRequest
from vidpipe.types import Detections, Frame, FrameResult

_LONGEST_S = 60.0
_WORKERS_MOST = 4
"""As many threads decode boxes in a run, at most."""


@dataclass(frozen=True, slots=True)
class ModelStages:
    """What was measured of all models, and what they found.

    Attributes:
        costs: ``resize``, ``inference`` and ``boxes``.
        results: The subjects' frames with what was found in them, subject by subject.
    """

    costs: Sequence[StageCost]
    results: Sequence[Sequence[FrameResult]]


@dataclass(frozen=True, slots=True)
class _Subjects:
    """One model with the frames of its streams, and a request for each."""

    detector: CompiledDetector
    model: ModelConfig
    weight: int
    frames: Sequence[Frame]
    requests: Sequence[BoundRequest]

    def fill(self, number: int) -> None:
        self.detector.fill(self.requests[number], self.frames[number].picture)

    def decode(self, number: int) -> Detections:
        geometry = self.requests[number].geometry
        assert geometry is not None
        return self.detector.decode(self.requests[number], geometry)

    def ask(self) -> Iterator[Detections]:
        """Ask once about each frame, so that every request holds an answer."""
        for number, request in enumerate(self.requests):
            request.start()
            if not request.wait(_LONGEST_S):
                raise InferenceError(
                    f"model {self.detector.name}: no answer within {_LONGEST_S:g} s"
                )
            yield self.decode(number)

    def resizing(self, seconds: float, cores: int) -> Part:
        cost_ms = cpu_ms_of(self.fill, len(self.frames), seconds)
        size = "x".join(map(str, self.detector.input_wh))
        return part_of(self.weight, cost_ms, min(self._dispatchers, cores), f"to {size}")

    def inference(self, seconds: float) -> Part:
        pictures = [frame.picture for frame in self.frames]
        speed = measure_speed(
            self.detector, seconds, pictures=pictures, requests_count=self._request_count
        )
        detail = f"{self.detector.name}, {speed.requests} requests at once"
        return Part(self.weight, speed.cpu_ms, speed.inferences_per_s, detail)

    def decoding(self, seconds: float, cores: int, objects: int) -> Part:
        cost_ms = cpu_ms_of(self.decode, len(self.frames), seconds)
        detail = f"{self.detector.name}, {objects / len(self.frames):.1f} objects a frame"
        return part_of(self.weight, cost_ms, min(_WORKERS_MOST, cores), detail)

    @property
    def _dispatchers(self) -> int:
        """How many threads fill requests in a run: one a pool, or with sync one a stream."""
        is_each = self.model.call == "sync" or self.model.mode == "independent"
        return self.weight if is_each else 1

    @property
    def _request_count(self) -> int | None:
        """How many requests are in flight in a run; None for what the device prefers."""
        if self.model.requests != "auto":
            return self.model.requests
        return self.weight if self.model.call == "sync" else None


def measure_models(
    config: Config, subjects: Sequence[Subject], seconds: float, cores: int
) -> ModelStages:
    """Measure each model with the pictures of its own streams.

    Args:
        config: What is measured.
        subjects: All sources, with pictures.
        seconds: For each of the three stages.
        cores: The cores of this process.

    Raises:
        ModelError: A model can't be compiled.
        InferenceError: A device failed.
    """
    names = list(dict.fromkeys(subject.stream.model for subject in subjects))
    parts: list[tuple[Part, Part, Part]] = []
    found: dict[str, Iterator[Detections]] = {}
    for name in names:
        asked = _subjects(config, name, [s for s in subjects if s.stream.model == name])
        each_s = seconds / len(names)
        # In this order: the pictures that are filled first are then asked about.
        resizing, inference = asked.resizing(each_s, cores), asked.inference(each_s)
        answers = list(asked.ask())
        found[name] = iter(answers)
        boxes = asked.decoding(each_s, cores, sum(map(len, answers)))
        parts.append((resizing, inference, boxes))
    stages = zip(("resize", "inference", "boxes"), zip(*parts, strict=True), strict=True)
    return ModelStages(
        costs=[mixed(stage, kinds) for stage, kinds in stages],
        results=[
            [FrameResult(frame, next(found[subject.stream.model])) for frame in subject.frames]
            for subject in subjects
        ],
    )


def _subjects(config: Config, name: str, subjects: Sequence[Subject]) -> _Subjects:
    model = config.models[name]
    path = model_path(name, model, config.cache_dir)
    detector = compile_detector(path, detector_settings(name, model))
    frames = [frame for subject in subjects for frame in subject.frames]
    return _Subjects(
        detector=detector,
        model=model,
        weight=sum(subject.weight for subject in subjects),
        frames=frames,
        requests=[detector.create_request() for _ in frames],
    )
