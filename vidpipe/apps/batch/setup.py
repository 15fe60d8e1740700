"""What a batch runs with: its configuration, its model, and the settings that results depend on.

The settings are kept with every file: one that was analysed with others is done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from vidpipe.apps.batch.sampling import Sampling
from vidpipe.apps.detectors import detector_settings, model_path
from vidpipe.config.load import load_config, load_config_text
from vidpipe.config.schema import Config
from vidpipe.errors import ConfigError, ModelError, UsageError
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.graph import files_of

DEFAULT_MODEL = "person-ssdlite"
_OWN_MODEL = "batch"
"""What a model is called that stands on the command line alone."""

_MODEL_SUFFIXES = (".xml", ".onnx", ".pb", ".tflite", ".pdmodel", ".paddle")
_OF_RESULTS = (
    *("decoder", "classes", "confidence", "iou", "nms", "input", "precision", "device"),
    *("num_streams", "threads", "properties", "hint", "mode"),
)
"""Keys of a model that its answers depend on, if only in their last digits."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a batch runs with.

    Attributes:
        config: Its models; no streams.
        model: The one in use.
        path: Its file.
        labels: Its classes as configured; empty where the model itself knows them.
        settings: What results depend on, by name; plain data.
    """

    config: Config
    model: str
    path: Path
    labels: tuple[str, ...]
    settings: Mapping[str, Any]


def set_up(
    config: Path | None, model: str | None, overrides: Sequence[str], sampling: Sampling
) -> Setup:
    """Find the configuration and the model, and fetch it if need be.

    Args:
        config: A configuration file, whose streams and outputs don't matter here.
        model: A name among its models, a model file, or a name of the zoo.
        overrides: ``KEY=VALUE`` texts.
        sampling: Which frames are wanted.

    Raises:
        ConfigError: The configuration has faults.
        UsageError: It is not said which of several models is to be used.
        ModelError: The model isn't there.
        FetchError: It can't be fetched.
    """
    loaded = _loaded(config, model, overrides)
    name = loaded.streams[0].model
    bare = {"streams": (), "server": None, "wall": None, "events": None, "outbox": None}
    loaded = _fitted(loaded.model_copy(update=bare), name)
    section = loaded.models[name]
    path = model_path(name, section, loaded.cache_dir)
    labels = _names(detector_settings(name, section).labels)
    document = section.model_dump(mode="json")
    settings = {f"model.{key}": document[key] for key in _OF_RESULTS}
    settings["model.labels"] = list(labels)
    settings["model.batch"] = document["batch"] if section.mode == "batched" else None
    settings["model file"] = _sums(name, path)
    settings |= {
        "--every": sampling.every,
        "--fps": sampling.fps,
        "--start": sampling.start_s,
        "--end": sampling.end_s,
    }
    return Setup(loaded, name, path, labels, settings)


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words which settings have changed, or an empty text."""
    changes = []
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if key == "model file":
            changes.append("the model is another one")
        else:
            changes.append(f"{key} is {json.dumps(new)}, no longer {json.dumps(old)}")
    return "; ".join(changes)


def _loaded(config: Path | None, model: str | None, overrides: Sequence[str]) -> Config:
    if config is None:
        models = {_OWN_MODEL: _origin(model or DEFAULT_MODEL)}
        text = json.dumps({"version": 1, "models": models})
        return load_config_text(text, [*overrides, _stream_override(_OWN_MODEL)], name="--model")
    if model is None:
        return load_config(config, [*overrides, _stream_override(None)])
    try:
        return load_config(config, [*overrides, _stream_override(model)])
    except ConfigError as exc:
        if not any(fault.key.endswith(".model") for fault in exc.faults):
            raise
    # None of the file's own: a model file, or one of the zoo's.
    origin = f"models.{_OWN_MODEL}={json.dumps(_origin(model))}"
    return load_config(config, [origin, *overrides, _stream_override(_OWN_MODEL)])


def _stream_override(model: str | None) -> str:
    """Return the streams in place of those of the file: one that stands for all to come."""
    stream = {"id": "batch", "source": "batch.mp4"}
    if model is not None:
        stream["model"] = model
    return f"streams={json.dumps([stream])}"


def _origin(model: str) -> dict[str, str]:
    path = Path(model).expanduser()
    # A folder may be called as a model of the zoo is; only a SavedModel's is a model itself.
    is_model = path.is_file() or (path / "saved_model.pb").is_file()
    if is_model or path.suffix.lower() in _MODEL_SUFFIXES:
        return {"path": str(path.absolute())}
    if "/" in model:
        raise UsageError(f"--model {model}: there is no such file")
    return {"zoo": model}


def _fitted(config: Config, name: str) -> Config:
    """Leave out what would make results depend on which files are analysed beside one another."""
    section = config.models[name]
    changes: dict[str, Any] = {}
    if section.input.fit == "streams":
        changes["input"] = section.input.model_copy(update={"fit": "model"})
    if section.hint == "adaptive":
        changes["hint"] = "throughput"
    if section.mode == "independent":
        changes["mode"] = "shared"
    if not changes:
        return config
    words = {"input": "input.fit: streams", "hint": "hint: adaptive", "mode": "mode: independent"}
    logger.warning(
        "model {}: {} left out in a batch, where a file's results don't depend on the others",
        name,
        " and ".join(words[key] for key in changes),
    )
    models = {**config.models, name: section.model_copy(update=changes)}
    return config.model_copy(update={"models": models})


def _names(labels: Sequence[str] | Mapping[int, str]) -> tuple[str, ...]:
    """Return the classes' names by their numbers; those without one are empty."""
    if not isinstance(labels, Mapping):
        return tuple(labels)
    return tuple(labels.get(number, "") for number in range(max(labels, default=-1) + 1))


def _sums(name: str, path: Path) -> dict[str, str]:
    try:
        return {file.name: sha256_of(file) for file in files_of(path)}
    except OSError as exc:
        raise ModelError(f"model {name}: {path} can't be read: {exc.strerror}") from exc
