"""The one tree of vidpipe's errors; every class knows the exit code that it leads to.

    VidpipeError                1   something failed, the rest was done
    |-- ConfigError             2   the configuration file, with every fault and its place
    |-- UsageError              2   the command line
    |-- ModelError              2   a model that can't be found, read, understood or compiled
    |-- PluginError             2   another package's addition that can't be loaded or used
    |-- SourceError             1   a camera or file, with a cause
    |-- InferenceError          1   one frame that the device didn't answer
    |-- SinkError               1   one output
    |-- FetchError              1   a download
    |-- StopForcedError         3   stopped by force or deadline: something was lost
    `-- InterruptedStartError   130 interrupted before the start

A message says what happened, to which stream or key, and what to do. Secrets are redacted before
they get here: foreign errors are translated where the library is called, with ``raise ... from
None`` where their text may hold one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VidpipeError(Exception):
    """Anything that vidpipe reports on purpose."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a configuration file.

    Attributes:
        place: ``file:line:column``, as exact as is known.
        key: The key's path, such as ``streams[0].lane.size``; empty for the file as a whole.
        message: What is wrong and what to do.
    """

    place: str
    key: str
    message: str

    def __str__(self) -> str:
        """The line that a person reads."""
        is_told = not self.key or self.place == f"--set {self.key}"
        return f"{self.place}: " + ("" if is_told else f"{self.key}: ") + self.message


class ConfigError(VidpipeError):
    """The configuration has faults; all of them are listed at once."""

    exit_code = 2

    def __init__(self, faults: list[Fault]) -> None:
        """Keep the faults in the order of the file."""
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


class UsageError(VidpipeError):
    """The command line can't be carried out as it is."""

    exit_code = 2


class ModelError(VidpipeError):
    """A model can't be found, read, understood or compiled."""

    exit_code = 2


class PluginError(VidpipeError):
    """What another package adds can't be loaded, or is not what it should be."""

    exit_code = 2


class SourceCause(StrEnum):
    """Why a source failed, as ``vidpipe check`` names it."""

    NOT_FOUND = "not found"
    NAME_RESOLUTION = "name resolution"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    AUTHENTICATION = "authentication"
    TIMEOUT = "timeout"
    FORMAT = "format"
    LOST = "lost"
    INCOMPLETE = "incomplete"


class SourceError(VidpipeError):
    """A source can't be opened or read, or ended before its time."""

    def __init__(self, message: str, cause: SourceCause) -> None:
        """Keep the cause beside the text."""
        super().__init__(message)
        self.cause = cause


class InferenceError(VidpipeError):
    """The device didn't answer one frame: it failed, or its deadline passed."""


class SinkError(VidpipeError):
    """An output can't be opened, written or finished."""


class FetchError(VidpipeError):
    """Something can't be downloaded, or is not what it should be."""


class StopForcedError(VidpipeError):
    """The run was stopped by force or by its deadline; the message names what was lost."""

    exit_code = 3


class InterruptedStartError(VidpipeError):
    """The run was interrupted before it had begun."""

    exit_code = 130
