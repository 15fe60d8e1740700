"""``vidpipe models quantize``: INT8 from one's own frames, and whether it is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from vidpipe.apps.detectors import detector_settings, model_path
from vidpipe.apps.frames import FramePlan, FrameSource, gather, pick
from vidpipe.apps.models import get_model
from vidpipe.apps.sourcing import source_spec
from vidpipe.apps.steps import step_progress
from vidpipe.apps.truth import LabelledFrame, read_truth
from vidpipe.config.load import load_config
from vidpipe.config.schema import Config
from vidpipe.errors import SourceCause, SourceError, UsageError
from vidpipe.inference.cache import Progress
from vidpipe.inference.choice import quantize_best
from vidpipe.inference.model import Detector, read_detector
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.quantize import (
    AccuracyControl,
    require_float,
    require_quantizer,
)
from vidpipe.inference.samples import Sample
from vidpipe.inference.saving import require_new, saved_apart
from vidpipe.inference.settings import DetectorSettings
from vidpipe.inference.worth import LOW_CONFIDENCE, Worth, weigh
from vidpipe.runtime.logs import redact
from vidpipe.sources.opening import SourceSpec, kind_of

_CONFIG_SUFFIXES = (".yml", ".yaml")
_HELD_BACK_EVERY = 5
_LEAST_FRAMES = 10
_FEW_FRAMES = 100
"""NNCF's makers advise 300; below a hundred the ranges of values are a matter of luck."""

_FEW_OBJECTS = 200
"""Of fewer, one more or less moves a share by more than half a percent."""

_GOOD_SHARE = 0.9
"""Of the original's objects: with fewer found, the file is of little use."""


@dataclass(frozen=True, slots=True)
class QuantizeRequest:
    """What the command line asks for.

    Attributes:
        model: A name in the configuration, a model's file, or a name of the zoo.
        frames: One configuration, or files and addresses.
        output: The .xml to write, a folder for it, or None: beside the caller.
        labels: A labelled set, or None.
        max_drop: How much mean average precision (0..1) may be lost on it.
        plan: How many frames, and how long cameras are watched.
        cache_dir: Where the zoo's models are kept; None: the usual place.
    """

    model: str
    frames: tuple[str, ...]
    output: Path | None = None
    labels: Path | None = None
    max_drop: float = 0.01
    plan: FramePlan = field(default_factory=FramePlan)
    cache_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class QuantizeReport:
    """What came of it.

    Attributes:
        model: The model's name.
        family: Its decoder.
        output: The file that was written.
        counts: How many frames came from each source.
        used: How many frames the quantisation has seen.
        held_back: How many it hasn't, which were compared on.
        labelled: How many frames with labels it was held to.
        before: The original.
        after: The file that was written.
        warnings: What should be known, in sentences.
        failures: Sources that failed.
    """

    model: str
    family: str
    output: Path
    counts: dict[str, int]
    used: int
    held_back: int
    labelled: int
    before: Worth
    after: Worth
    warnings: tuple[str, ...]
    failures: tuple[str, ...]


def run_quantize(request: QuantizeRequest, console: Console) -> QuantizeReport:
    """Take frames, quantise, compare, and write the file; nothing is written unless all is done.

    Raises:
        UsageError: NNCF isn't there, there are too few frames, or the output can't be written.
        ConfigError: The configuration has faults.
        ModelError: The model can't be used, is quantised already, or can't be quantised.
        SourceError: No source gave a frame, or the labels name frames that aren't there.
        FetchError: A model of the zoo can't be fetched.
        InferenceError: The device failed.
    """
    require_quantizer()
    config = _config_of(request.frames)
    name, path, settings = _model_of(request, config, console)
    target = _target(request.output, name)
    require_new(target)
    detector = read_detector(path, settings)
    require_float(detector)
    sources = _sources(request.frames, config)
    filler = InputFiller(detector.rule.input_wh, detector.recipe)
    with step_progress(console) as progress:
        labelled = _labelled(request.labels, sources, filler, progress)
        gathered = gather(sources, filler, request.plan, progress)
        used, held_back = _divided(gathered.samples, gathered.failures)
        control = _control(labelled, request.max_drop, detector)
        details = {"quantised_from": path.name, "quantised_on": f"{len(used)} frames"}
        graph = quantize_best(detector, used, control, progress, details=details)
        with saved_apart(graph, target) as part:
            before, after = weigh(detector, part, held_back, labelled, progress)
    after = replace(after, path=target)
    return QuantizeReport(
        model=name,
        family=detector.family.name,
        output=target,
        counts=dict(gathered.counts),
        used=len(used),
        held_back=len(held_back),
        labelled=len(labelled),
        before=before,
        after=after,
        warnings=tuple(_warnings(len(gathered.samples), request.plan.count, before, after)),
        failures=gathered.failures,
    )


def _config_of(frames: Sequence[str]) -> Config | None:
    configs = [text for text in frames if Path(text).suffix.lower() in _CONFIG_SUFFIXES]
    if not configs:
        return None
    if len(frames) > 1:
        raise UsageError("--frames takes one configuration, or files; not both, nor several")
    return load_config(Path(configs[0]))


def _model_of(
    request: QuantizeRequest, config: Config | None, console: Console
) -> tuple[str, Path, DetectorSettings]:
    """Return a model's name, its file, and how it is used: as the configuration says, if any."""
    section = config.models.get(request.model) if config else None
    if config is not None and section is not None:
        settings = detector_settings(request.model, section)
        cache_dir = request.cache_dir or config.cache_dir
        return request.model, model_path(request.model, section, cache_dir), settings
    file = Path(request.model)
    if file.exists() or file.suffix or file.parent != Path():
        return file.stem, file, DetectorSettings(file.stem)
    path = get_model(request.model, request.cache_dir, console)
    return request.model, path, DetectorSettings(request.model)


def _target(output: Path | None, name: str) -> Path:
    file = f"{name}-int8.xml"
    if output is None:
        return Path(file)
    return output / file if output.is_dir() else output


def _sources(frames: Sequence[str], config: Config | None) -> list[FrameSource]:
    if config is not None:
        return [FrameSource(stream.id, source_spec(stream)) for stream in config.streams]
    if not frames:
        raise UsageError("--frames: give a configuration, or recorded files")
    return [FrameSource(redact(text), SourceSpec(text, kind_of(text))) for text in frames]


def _labelled(
    path: Path | None, sources: Sequence[FrameSource], filler: InputFiller, progress: Progress
) -> list[Sample]:
    if path is None:
        return []
    by_source: dict[str, list[LabelledFrame]] = {}
    for frame in read_truth(path):
        by_source.setdefault(frame.source, []).append(frame)
    samples: list[Sample] = []
    for number, (source, frames) in enumerate(by_source.items()):
        progress("reading the labelled frames", number, len(by_source))
        spec = _spec_of(frames[0], sources, path)
        found = pick(spec, {frame.number: frame.truth for frame in frames}, filler)
        if len(found) < len(frames):
            raise SourceError(
                f"labels {path}: {source} has no frame {frames[len(found)].number}: are these the"
                " labels of another file?",
                SourceCause.INCOMPLETE,
            )
        samples += found
    return samples


def _spec_of(frame: LabelledFrame, sources: Sequence[FrameSource], path: Path) -> SourceSpec:
    """Return where a labelled frame is found.

    A picture lies where the labels' file says, seen from its folder; a stream is that of the
    configuration, the file of that name, or the only source.
    """
    if frame.is_picture:
        text = str(path.parent / frame.source)
        return SourceSpec(text, kind_of(text))
    for source in sources:
        if frame.source in (source.name, Path(source.name).stem):
            return source.spec
    if len(sources) == 1:
        return sources[0].spec
    names = ", ".join(source.name for source in sources)
    raise UsageError(f"labels {path}: no source is called {frame.source}: there are {names}")


def _divided(
    samples: Sequence[Sample], failures: Sequence[str]
) -> tuple[list[Sample], list[Sample]]:
    """Return the frames to quantise with, and every fifth, held back to compare on."""
    if not samples and failures:
        raise SourceError("; ".join(failures), SourceCause.NOT_FOUND)
    if len(samples) < _LEAST_FRAMES:
        told = "".join(f"; {failure}" for failure in failures)
        raise UsageError(
            f"{len(samples)} frames are too few to quantise with: at least {_LEAST_FRAMES} are"
            f" needed, and 300 are good. Give more or longer files, or a greater --count{told}"
        )
    last = _HELD_BACK_EVERY - 1
    used = [sample for i, sample in enumerate(samples) if i % _HELD_BACK_EVERY != last]
    return used, list(samples[last::_HELD_BACK_EVERY])


def _control(
    labelled: Sequence[Sample], max_drop: float, detector: Detector
) -> AccuracyControl | None:
    if not labelled:
        return None
    settings = replace(detector.settings, confidence=LOW_CONFIDENCE)
    return AccuracyControl(labelled, read_detector(detector.path, settings), max_drop)


def _warnings(frames: int, asked: int, before: Worth, after: Worth) -> list[str]:
    found = []
    if frames < _FEW_FRAMES:
        words = "only {} frames could be had" if frames < asked else "{} frames are few"
        found.append(f"{words.format(frames)}: with 300 the result is surer")
    if 0 < after.agreement.expected < _FEW_OBJECTS:
        found.append(
            f"the original saw only {after.agreement.expected} objects in the frames that were held"
            f" back: from {_FEW_OBJECTS} on shares mean something; take more frames (--count), and"
            " such with more to see"
        )
    if not after.agreement.expected:
        found.append(
            "the original saw no object in the frames that were held back: the agreement says"
            " nothing; give frames with something to see"
        )
    elif (after.agreement.found_share(0) or 0.0) < _GOOD_SHARE:
        found.append(
            "many objects are lost: don't use this file as it is; more frames may help, or --labels"
        )
    is_slower = after.inferences_per_s <= before.inferences_per_s
    if is_slower and after.cpu_ms >= before.cpu_ms:  # the rate alone may be other work's fault
        found.append(
            "it is not faster here: INT8 pays where the processor has instructions for it (VNNI,"
            " AMX), and more for large layers than for small ones"
        )
    return found
