"""Small configurations for tests, and the faults of broken ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from vidpipe.config.load import load_config_text
from vidpipe.config.schema import Config
from vidpipe.errors import ConfigError, Fault

MODELS = "version: 1\nmodels: {person: {zoo: person-ssdlite}}\n"
ONE_STREAM = MODELS + "streams:\n- {id: gate, source: clip.mp4"
"""Open: ``one_stream`` closes it."""


def one_stream(more: str = "") -> str:
    """Return a valid file of one stream with further keys, as in ``weight: 2``."""
    return f"{ONE_STREAM}{', ' if more else ''}{more}}}\n"


def one_model(keys: str) -> str:
    """Return a valid file whose model ``person`` has further keys, as in ``iou: 0.5``."""
    return one_stream().replace("zoo: person-ssdlite", f"zoo: person-ssdlite, {keys}")


def load(
    text: str,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> Config:
    """Load a text as the file ``c.yml``."""
    return load_config_text(text, overrides, environ or {}, name="c.yml", folder=folder)


def faults_of(
    text: str,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> list[Fault]:
    """Return the faults of a text that must have some."""
    with pytest.raises(ConfigError) as caught:
        load(text, overrides, environ, folder)
    return caught.value.faults


def fault_of(
    text: str,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> Fault:
    """Return the only fault of a text."""
    faults = faults_of(text, overrides, environ, folder)
    assert len(faults) == 1, [str(fault) for fault in faults]
    return faults[0]
