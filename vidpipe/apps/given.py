"""A configuration, however a program gives it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from vidpipe.apps.controls import Load
from vidpipe.config.load import load_config, load_config_mapping, load_config_text
from vidpipe.config.schema import Config

ConfigLike: TypeAlias = Config | Mapping[str, Any] | str | os.PathLike[str]
"""A file's path; or a text, a mapping or a ``Config`` of the same content."""


def config_from(given: ConfigLike) -> Config:
    """Return a configuration, however it is given.

    Raises:
        ConfigError: It has faults.
    """
    if isinstance(given, Config):
        return given
    if isinstance(given, Mapping):
        return load_config_mapping(given)
    if isinstance(given, str) and _is_text(given):
        return load_config_text(given)
    return load_config(Path(given))


def load_of(given: ConfigLike) -> Load | None:
    """Return what reads a configuration again, where it was given as a file."""
    if isinstance(given, Config | Mapping) or (isinstance(given, str) and _is_text(given)):
        return None
    return partial(load_config, Path(given))


def _is_text(given: str) -> bool:
    return "\n" in given or given.lstrip().startswith("{")
