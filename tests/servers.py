"""A real server on a free port of the loopback, with what a test gives it to show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.overviews import FakeOverview
from vidpipe.config.schema import ServerConfig
from vidpipe.server.control import Control
from vidpipe.server.detector import Detector
from vidpipe.server.service import HttpServer
from vidpipe.telemetry.overview import Overview

TOKENS = [
    {"role": "viewer", "token": "look-at-it"},
    {"role": "operator", "token": "change-it"},
]


@contextmanager
def served(
    overview: Overview | None = None,
    *,
    control: Control | None = None,
    detector: Detector | None = None,
    **keys: Any,
) -> Iterator[str]:
    """Serve a run, and yield the server's address; ``keys`` are those of its section."""
    server = HttpServer(ServerConfig.model_validate({"port": 0, **keys}))
    server.start()
    try:
        server.show(overview or FakeOverview(), control=control, detector=detector)
        yield server.url
    finally:
        server.stop()
