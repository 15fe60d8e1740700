"""What the server may ask of the models: what is on one picture, for somebody who waits for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from vidpipe.errors import VidpipeError

MOST_AT_ONCE = 12
"""Uploads under way, pictures that wait, and those that are looked at, together."""
THREADS = 4
"""So many are looked at at once; a picture of 50 megapixels takes 200 MB while it is decoded."""
TOO_MANY = "too many pictures wait already"


class DetectFault(Enum):
    """Why there is no answer; the value is HTTP's status for it."""

    NO_IMAGE = 400
    """The bytes are no picture, or a damaged one."""
    TOO_LARGE = 413
    """It has too many pixels."""
    KIND = 415
    """It is a file of another kind."""
    QUERY = 422
    """There is no such model here, or it can't do what is asked."""
    FULL = 429
    """Too many wait already."""
    FAILED = 500
    """The model was asked and didn't answer."""
    NOT_READY = 503
    """The model can't be asked now."""
    TIMEOUT = 504
    """It took too long."""


class DetectError(VidpipeError):
    """A picture that wasn't looked at; the text says why, for people."""

    def __init__(self, message: str, fault: DetectFault) -> None:
        """Keep the kind beside the text."""
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class DetectQuestion:
    """What is asked.

    Attributes:
        image: A JPEG, PNG, WebP or BMP file.
        model: The model's name in the configuration; None for the only one.
        confidence: The least score of what is told; None for the model's own.
        timeout_s: How long the answer may take.
    """

    image: bytes = field(repr=False)
    model: str | None = None
    confidence: float | None = None
    timeout_s: float = 10.0


class Detector(Protocol):
    """Looks at pictures through the same pools as the streams; any thread may ask."""

    def detect(self, question: DetectQuestion) -> bytes:
        """Return what was found, as a line of JSON such as the one of a stream's frame.

        Waits for the answer: the server calls from a thread of its own.

        Raises:
            DetectError: There is none; the fault says why.
        """


def chosen_model(known: Collection[str], wanted: str | None) -> str:
    """Return the name of the model that is meant: the wanted one, or the only one.

    Raises:
        DetectError: There is no such model, or the question doesn't say which.
    """
    if not known:
        raise DetectError("no model is in use", DetectFault.NOT_READY)
    if wanted is None and len(known) == 1:
        return next(iter(known))
    if wanted is not None and wanted in known:
        return wanted
    what = "say which model" if wanted is None else "there is no such model here"
    raise DetectError(f"{what}: model is one of {', '.join(known)}", DetectFault.QUERY)
