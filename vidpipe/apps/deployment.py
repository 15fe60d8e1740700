"""What a start has to say of the deployment: rules, overrides, and what is new since the last one.

``begin`` comes once the models are compiled and before anything runs; ``update`` whenever what is
known of them may have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from vidpipe.apps.manifest import (
    ManifestError,
    build_manifest,
    differences,
    is_same_machine,
    machine_name,
    read_manifest,
    write_manifest,
)
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError
from vidpipe.inference.choices import override_lines
from vidpipe.inference.rules import device_rules
from vidpipe.inference.settings import Hint

_DAMAGED = ".damaged"
_MOST_LINES = 100
"""More differences than that are another deployment altogether."""


class Deployment:
    """One run's manifest, from its start on; for one thread."""

    def __init__(self, config: Config, *, is_strict: bool = False) -> None:
        """Begin without a record.

        Args:
            config: What runs.
            is_strict: True: a difference from the last start is an error.

        Raises:
            UsageError: It is to be strict, and there is no manifest to compare with.
        """
        self._config = config
        self._path: Path | None = config.telemetry.manifest
        self._is_strict = is_strict
        self._document: dict[str, Any] | None = None
        if is_strict and self._path is None:
            raise UsageError("--strict-manifest compares with telemetry.manifest: set that key")

    def begin(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell rules, overrides and differences, and write the manifest.

        Args:
            models: What is known of each compiled model: see `vidpipe.apps.description`.

        Raises:
            UsageError: It is to be strict, and something is different; nothing is written then.
            ManifestError: The manifest can't be written.
        """
        for name in models:
            model = self._config.models[name]
            for rule in device_rules(name, model.device, Hint(model.hint)):
                logger.warning("{}", rule)
        earlier = self._earlier()
        self._document = document = build_manifest(self._config, models, earlier)
        self._tell_overrides(document)
        if earlier is not None:
            self._tell_differences(earlier, document)
        if self._path is not None:
            write_manifest(self._path, document)

    def update(self, models: Mapping[str, Mapping[str, Any]], config: Config | None = None) -> None:
        """Write the manifest anew if models or streams are not what it says; never raises.

        ``config`` is what runs now, if it may be another. Before ``begin`` this does nothing.
        """
        if self._path is None or self._document is None:
            return
        self._config = config or self._config
        document = build_manifest(self._config, models, self._document)
        if all(document[key] == self._document[key] for key in ("models", "streams")):
            return
        for difference in differences(self._document, document):
            logger.info("the deployment has changed: {}", difference)
        self._document = document
        try:
            write_manifest(self._path, document)
        except ManifestError as exc:
            logger.error("{}", exc)

    def _earlier(self) -> dict[str, Any] | None:
        """Return the manifest of the last start, if there is one."""
        if self._path is None:
            return None
        try:
            return read_manifest(self._path)
        except FileNotFoundError:
            logger.info("no earlier manifest in {}: there is nothing to compare with", self._path)
        except ManifestError as exc:
            if self._is_strict:
                raise
            logger.warning("{}; there is nothing to compare with", exc)
            self._keep_damaged(self._path)
        return None

    def _keep_damaged(self, path: Path) -> None:
        """Move what is no manifest out of the way: it may be something else of the user's.

        Raises:
            ManifestError: It can't be moved, or is a folder, which holds more than a manifest.
        """
        if path.is_dir():
            raise ManifestError(f"{path} is a folder: let telemetry.manifest name a file")
        kept = path.with_name(path.name + _DAMAGED)
        try:
            path.rename(kept)
        except OSError as exc:
            raise ManifestError(
                f"{path} can't be moved out of the way ({exc.strerror}): change telemetry.manifest"
            ) from exc
        logger.warning("it is kept as {}", kept)

    def _tell_overrides(self, document: Mapping[str, Any]) -> None:
        here = document["machine"]
        for name, about in document["models"].items():
            records = about["overrides"]
            lines = override_lines(name, records)
            for line, record in zip(lines, records.values(), strict=True):
                there = record["machine"]
                if is_same_machine(there, here):
                    logger.warning("{} (in force on this machine: {})", line, machine_name(here))
                else:
                    logger.error(
                        "{}; it was measured on another machine ({}; this is {}): measure again"
                        " with vidpipe bench",
                        line,
                        machine_name(there),
                        machine_name(here),
                    )

    def _tell_differences(self, earlier: Mapping[str, Any], document: Mapping[str, Any]) -> None:
        found = differences(earlier, document)
        for difference in found[:_MOST_LINES]:
            logger.warning("since the last start: {}", difference)
        if len(found) > _MOST_LINES:
            logger.warning("since the last start: {} more differences", len(found) - _MOST_LINES)
        if found and self._is_strict:
            raise UsageError(
                f"{len(found)} differences from the manifest {self._path}, the first:"
                f" {found[0]}; run without --strict-manifest to accept them"
            )
