"""Sources that other packages open, by the scheme of the address: their errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
from loguru import logger

from vidpipe.errors import PluginError, SourceCause, SourceError
from vidpipe.interfaces import Reader, SourcePlugin
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.plugins import SOURCES, lacking, load_plugin
from vidpipe.types import Decoded, SourceInfo, SourceRequest

_PLANE_AXES = 2


def is_plugin_live(url: str) -> bool:
    """Return whether a plugin's sources are cameras; False if it can't be loaded: it fails once."""
    try:
        return bool(_plugin(_scheme_of(url)).is_live)
    except PluginError:
        return False


def open_plugin(request: SourceRequest) -> Reader:
    """Open an address by the plugin for its scheme.

    Raises:
        SourceError: It can't be opened; or (cause FORMAT) the plugin can't be loaded, fails in an
            unforeseen way, or returns something that can't be read from.
    """
    scheme = _scheme_of(request.url)
    try:
        plugin = _plugin(scheme)
    except PluginError as exc:
        raise SourceError(str(exc), SourceCause.FORMAT) from exc
    with _translated(request.url, scheme):
        reader = plugin.open(request)
        missing = lacking(reader, Reader)
        if missing:
            raise TypeError(f"{type(reader).__name__} has no {', no '.join(missing)}")
        if not isinstance(reader.info, SourceInfo):
            raise TypeError(f"info is a {type(reader.info).__name__}, no SourceInfo")
    return ForeignReader(reader, request.url)


class ForeignReader:
    """Implements ``Reader`` by a plugin's, letting through only what the pipeline can use."""

    def __init__(self, reader: Reader, url: str) -> None:
        """Take over an open reader."""
        self._reader = reader
        self._url = url
        self._scheme = _scheme_of(url)

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself."""
        return self._reader.info

    def read(self) -> Decoded | None:
        """Return the next picture, its planes read-only.

        Raises:
            SourceError: The source failed; or (cause FORMAT) the plugin did, or returned something
                that is no picture.
        """
        with _translated(self._url, self._scheme):
            decoded = self._reader.read()
            if decoded is not None:
                _check(decoded)
            return decoded

    def close(self) -> None:
        """Release what the plugin holds."""
        try:
            self._reader.close()
        except Exception as exc:  # noqa: BLE001 - the border to another package
            logger.warning("the plugin {} failed as it was closed: {!r}", self._scheme, exc)


@contextmanager
def _translated(url: str, scheme: str) -> Iterator[None]:
    """Let nothing through but ``SourceError``, redacted."""
    try:
        yield
    except SourceError as exc:
        raise SourceError(redact(str(exc)), exc.cause) from None
    except Exception as exc:  # noqa: BLE001 - the border to another package
        logger.debug("the plugin {} failed: {}", scheme, trace_of(exc))
        raise SourceError(
            redact(f"{url}: the plugin {scheme} failed: {type(exc).__name__}: {exc}"),
            SourceCause.FORMAT,
        ) from None


def _check(decoded: Decoded) -> None:
    """Make the planes read-only.

    Raises:
        TypeError: It is no picture.
        ValueError: The planes don't fit one another.
    """
    if not isinstance(decoded, Decoded):
        raise TypeError(f"read returned a {type(decoded).__name__}, no Decoded")
    planes = decoded.picture.y, decoded.picture.u, decoded.picture.v
    if any(plane.dtype != np.uint8 or plane.ndim != _PLANE_AXES for plane in planes):
        raise ValueError("a plane is no array (H, W) of uint8")
    height, width = planes[0].shape
    half = ((height + 1) // 2, (width + 1) // 2)
    if not height or not width or any(plane.shape != half for plane in planes[1:]):
        shapes = ", ".join(str(plane.shape) for plane in planes)
        raise ValueError(f"these are no planes of 4:2:0: {shapes}")
    for plane in planes:
        plane.flags.writeable = False


def _scheme_of(url: str) -> str:
    return url.partition(":")[0].lower()


def _plugin(scheme: str) -> SourcePlugin:
    return cast("SourcePlugin", load_plugin(SOURCES, scheme, SourcePlugin))
