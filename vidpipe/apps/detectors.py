"""From a model's section to what compiles it: its file, its labels and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from loguru import logger

from vidpipe.apps.aspect import common_aspect
from vidpipe.apps.pools import Compile
from vidpipe.apps.sourcing import source_spec
from vidpipe.config.model import ModelConfig
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import FetchError, ModelError
from vidpipe.inference.labels import read_labels
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import (
    Anchor,
    Color,
    DetectorSettings,
    Hint,
    InputSettings,
    Precision,
    Resize,
)
from vidpipe.inference.zoo import fetch_model
from vidpipe.sources.opening import open_reader

_COMPILED = "compiled"
"""Where the cache keeps compiled models."""


def model_path(name: str, model: ModelConfig, cache_dir: Path) -> Path:
    """Return a model's file, fetching it first where it is one of the zoo's.

    Raises:
        FetchError: It can't be fetched.
        ModelError: The zoo has no such model.
    """
    if model.zoo is None:
        assert model.path is not None
        return model.path
    logger.debug("model {}: {} of the zoo", name, model.zoo)
    try:
        return fetch_model(model.zoo, cache_dir)
    except (ModelError, FetchError) as exc:
        raise type(exc)(f"model {name}: {exc}") from exc


def detector_settings(
    name: str, model: ModelConfig, aspect: float | None = None
) -> DetectorSettings:
    """Translate a model's section of the file; ``aspect`` is its streams', if they matter.

    Raises:
        ModelError: The file of labels can't be read.
    """
    given = model.input
    return DetectorSettings(
        name=name,
        decoder=model.decoder,
        labels=_labels(name, model),
        classes=model.classes or (),
        confidence=model.confidence,
        iou=model.iou,
        is_agnostic=model.nms == "agnostic",
        input=InputSettings(
            color=Color(given.color) if given.color else None,
            resize=Resize(given.resize) if given.resize else None,
            anchor=Anchor(given.anchor) if given.anchor else None,
            pad=given.pad,
            mean=given.mean,
            scale=given.scale,
            size_wh=given.size,
            aspect=aspect,
        ),
        precision=Precision(model.precision),
        device=model.device,
        properties=model.properties,
        hint=Hint(model.hint),
        num_streams=None if model.num_streams == "auto" else model.num_streams,
        threads=model.threads,
        is_pinned=model.pinning,
    )


def compiler(
    name: str, model: ModelConfig, cache_dir: Path, streams: Sequence[StreamConfig]
) -> Compile:
    """Return what compiles a model; its file is fetched now, and once.

    Args:
        name: The model's name.
        model: Its section.
        cache_dir: Where models are kept.
        streams: Those that it is for: their shape is looked at, if it matters.

    Raises:
        FetchError: It can't be fetched.
        ModelError: The zoo has no such model, or its labels can't be read.
    """
    path = model_path(name, model, cache_dir)
    aspect = None
    if model.input.fit == "streams" and streams:
        sources = {one.id: partial(open_reader, source_spec(one)) for one in streams}
        limit_s = max(one.connect.open_timeout_s for one in streams)
        aspect = common_aspect(name, sources, limit_s)
    settings = detector_settings(name, model, aspect)
    settings = replace(settings, cache_dir=cache_dir / _COMPILED)

    def compile_model(
        *, hint: Hint | None = None, batch: int = 1, share_of: int = 1
    ) -> CompiledDetector:
        wanted = replace(settings, hint=settings.hint if hint is None else hint, share_of=share_of)
        return compile_detector(path, wanted, batch)

    return compile_model


def _labels(name: str, model: ModelConfig) -> tuple[str, ...]:
    if not isinstance(model.labels, Path):
        return model.labels or ()
    try:
        return read_labels(model.labels)
    except ModelError as exc:
        raise ModelError(f"model {name}: {exc}") from exc
