"""``vidpipe check``: is the configuration sound, and does every source and model answer?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from vidpipe.apps.detectors import detector_settings
from vidpipe.apps.sinks import output_faults
from vidpipe.apps.sourcing import source_spec
from vidpipe.config.model import ModelConfig
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ModelError, UsageError, VidpipeError
from vidpipe.inference.aspect import require_letterbox
from vidpipe.inference.catalogue import find_model
from vidpipe.inference.devices import check_values
from vidpipe.inference.layers import place
from vidpipe.inference.model import read_detector
from vidpipe.inference.rules import device_rules
from vidpipe.inference.settings import Hint
from vidpipe.inference.zoo import is_fetched, model_file
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.server.certificate import Certificate
from vidpipe.sources.opening import open_reader
from vidpipe.sources.probe import ProbeReport, probe

_MEASURE_S = 2.0
_MARGIN_S = 3.0


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What was found of one model.

    Attributes:
        name: Its name in the configuration.
        summary: Its family and input, or what will be done about it.
        error: Why it can't be used; empty if it can.
    """

    name: str
    summary: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        config: What was checked.
        models: Every model that a stream uses.
        probes: What the probe of each stream's source found; empty where none were made.
        warnings: What is allowed and yet unwise.
        faults: Outputs of installed packages that can't be made; the server's certificate.
    """

    config: Config
    models: tuple[ModelReport, ...]
    probes: dict[str, ProbeReport]
    warnings: tuple[str, ...]
    faults: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """True if everything that was tried answered."""
        failed = any(report.cause is not None for report in self.probes.values())
        return not (failed or self.faults or any(model.error for model in self.models))


def check_config(config: Config, *, should_probe: bool) -> CheckReport:
    """Check what a configuration names; the sources all at the same time.

    A source that doesn't answer takes as long as its own timeouts allow, and no longer.

    Raises:
        ModelError: The zoo has no such model, and nothing else was to be tried.
    """
    probes: dict[str, ProbeReport] = {}
    faults = (
        *(fault for stream in config.streams for fault in output_faults(stream)),
        *_certificate_faults(config),
    )
    if not should_probe:
        for name in _used_models(config):
            _check_name(name, config.models[name])
        return CheckReport(config, (), probes, tuple(_warnings(config)), faults)
    threads = ThreadGroup()
    watched = [stream for stream in config.streams if stream.enabled]
    for stream in watched:
        threads.spawn(f"vp-probe-{stream.id}", _prober(stream, probes), may_hang=True)
    models = [_model_report(config, name) for name in _used_models(config)]
    threads.join(max(map(_limit_s, watched), default=0.0) + _MARGIN_S)
    return CheckReport(config, tuple(models), probes, tuple(_warnings(config)), faults)


def document_from_report(report: CheckReport) -> dict[str, Any]:
    """Return a report for programs."""
    return {
        "ok": report.is_good,
        "warnings": list(report.warnings),
        "faults": list(report.faults),
        "models": [
            {"name": model.name, "summary": model.summary, "error": model.error or None}
            for model in report.models
        ],
        "streams": [_stream_document(report, stream) for stream in report.config.streams],
    }


def tables_from_report(report: CheckReport) -> list[Table | str]:
    """Return a report for people: tables, then one line a warning."""
    config = report.config
    if not report.probes:
        counts = _counted(len(config.streams), "stream"), _counted(len(config.models), "model")
        words = f"{', '.join(counts)}: the file is valid"
        if report.faults:
            words = f"{', '.join(counts)}; these outputs can't be made:"
        return [words, *report.faults, *(f"warning: {warning}" for warning in report.warnings)]
    streams = Table(title="streams", title_justify="left")
    for column in ("stream", "codec", "size", "fps", "measured", "first frame", "result"):
        streams.add_column(column, overflow="fold")
    failures = []
    for stream in config.streams:
        found = report.probes.get(stream.id, ProbeReport())
        streams.add_row(*_cells(stream, found))
        if found.cause is not None:
            failures.append(f"{stream.id}: {found.message}")
    models = Table(title="models", title_justify="left")
    for column in ("model", "what it is", "result"):
        models.add_column(column, overflow="fold")
    for model in report.models:
        models.add_row(model.name, model.summary, _verdict("failed" if model.error else ""))
        if model.error:
            is_named = model.error.startswith("model ")
            failures.append(model.error if is_named else f"model {model.name}: {model.error}")
    warnings = [f"warning: {warning}" for warning in report.warnings]
    return [streams, models, *failures, *report.faults, *warnings]


def _prober(stream: StreamConfig, probes: dict[str, ProbeReport]) -> Callable[[], None]:
    def run() -> None:
        probes[stream.id] = probe(
            partial(open_reader, source_spec(stream)),
            measure_s=_MEASURE_S,
            limit_s=_limit_s(stream),
        )

    return run


def _limit_s(stream: StreamConfig) -> float:
    connect = stream.connect
    return connect.open_timeout_s + connect.read_timeout_s + _MEASURE_S + 1.0


def _certificate_faults(config: Config) -> list[str]:
    """Return what is wrong with the server's certificate.

    A run is refused for it, but for one that has expired: it would only complain every day.
    """
    tls = config.server.tls if config.server is not None else None
    if tls is None:
        return []
    try:
        certificate = Certificate(tls.cert, tls.key)
    except UsageError as exc:
        return [str(exc)]
    return [certificate.warning or ""] if certificate.has_expired else []


def _used_models(config: Config) -> list[str]:
    used = {stream.model for stream in config.streams}
    return [name for name in config.models if name in used]


def _model_report(config: Config, name: str) -> ModelReport:
    model = config.models[name]
    try:
        path = model.path or _kept(name, model, config.cache_dir)
        if path is None:
            return ModelReport(name, f"{model.zoo} of the zoo, fetched at the first run")
        detector = read_detector(path, detector_settings(name, model))
        placement = place(detector)
        check_values(detector.settings)
        if model.input.fit == "streams":
            require_letterbox(detector.recipe, name)
    except VidpipeError as exc:
        return ModelReport(name, str(model.path or model.zoo), str(exc))
    width, height = detector.rule.input_wh
    split = f"; {placement}" if placement else ""
    what = model.path or f"{model.zoo} of the zoo"
    return ModelReport(name, f"{what}: {detector.family.name}, {width}x{height}{split}")


def _kept(name: str, model: ModelConfig, cache_dir: Path) -> Path | None:
    """Return the file of a model of the zoo that is in the cache; None if it isn't.

    Raises:
        ModelError: The zoo has no such model.
    """
    _check_name(name, model)
    entry = find_model(model.zoo or "")
    return model_file(entry, cache_dir) if is_fetched(entry, cache_dir) else None


def _check_name(name: str, model: ModelConfig) -> None:
    """Look a model up in the zoo's catalogue, if it is to come from there."""
    if model.zoo is not None:
        try:
            find_model(model.zoo)
        except ModelError as exc:
            raise ModelError(f"model {name}: {exc}") from exc


def _warnings(config: Config) -> list[str]:
    limit_s = config.shutdown_timeout_s
    timeouts = {
        f"models.{name}.timeout_s": config.models[name].timeout_s for name in _used_models(config)
    }
    for stream in config.streams:
        if stream.is_live:
            timeouts[f"streams.{stream.id}.connect.open_timeout_s"] = stream.connect.open_timeout_s
            timeouts[f"streams.{stream.id}.connect.read_timeout_s"] = stream.connect.read_timeout_s
    rules = [
        rule
        for name in _used_models(config)
        for rule in device_rules(name, config.models[name].device, Hint(config.models[name].hint))
    ]
    return rules + [
        f"{key} ({value:g} s) is longer than shutdown_timeout_s ({limit_s:g} s): a stop may have "
        "to leave behind what still waits for it"
        for key, value in timeouts.items()
        if value > limit_s
    ]


def _stream_document(report: CheckReport, stream: StreamConfig) -> dict[str, Any]:
    found = report.probes.get(stream.id)
    document: dict[str, Any] = {"stream": stream.id, "source": redact(stream.source)}
    if found is None:
        return document | {"ok": None}
    info = found.info
    width, height = found.size_wh or (None, None)
    return document | {
        "ok": found.cause is None,
        "codec": info.codec if info else None,
        "width": width,
        "height": height,
        "rotation": info.rotation_deg if info else None,
        "live": info.is_live if info else None,
        "fps": _rounded(info.rate_fps if info else None),
        "measured_fps": _rounded(found.measured_fps),
        "first_frame_s": _rounded(found.first_frame_s),
        "cause": found.cause.value if found.cause else None,
        "message": found.message or None,
    }


def _cells(stream: StreamConfig, found: ProbeReport) -> list[str | Text]:
    info = found.info
    size = "x".join(map(str, found.size_wh)) if found.size_wh else "-"
    if info and info.rotation_deg:
        size += f" (turned {info.rotation_deg})"
    return [
        stream.id,
        info.codec if info else "-",
        size,
        f"{info.rate_fps:.2f}" if info and info.rate_fps else "-",
        f"{found.measured_fps:.2f}" if found.measured_fps else "-",
        f"{found.first_frame_s:.2f} s" if found.first_frame_s is not None else "-",
        _verdict(found.cause.value if found.cause else "") if stream.enabled else "disabled",
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _verdict(error: str) -> Text:
    return Text(error, "red") if error else Text("ok", "green")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
