"""The files that a sink has finished: each is told at once, the last ones are known at the end."""

from __future__ import annotations

from collections import deque

from loguru import logger

REMEMBERED = 1000
"""A stream that is written for months makes more files than anybody wants to have listed."""


class FinishedFiles:
    """Those of one sink; for its thread."""

    def __init__(self, kind: str, stream: str) -> None:
        """Begin with none; ``kind`` says what they are, for messages."""
        self._kind = kind
        self._log = logger.bind(stream=stream)
        self._paths: deque[str] = deque(maxlen=REMEMBERED)

    def add(self, path: object) -> None:
        """A file has been finished; a path, of whatever kind."""
        self._log.info("{} written: {}", self._kind, path)
        self._paths.append(str(path))

    def take(self) -> list[str]:
        """Return the last ones, in their order, and forget them."""
        paths = list(self._paths)
        self._paths.clear()
        return paths
