"""What the process takes of its machine, its children included, read from Linux's ``/proc``."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_UTIME, _CSTIME, _STARTTIME = 11, 15, 19
"""Of the fields behind the name in ``/proc/PID/stat`` (proc_pid_stat(5), from field 3 on): the
first of the four CPU times, one past the last, and the start."""
_PAGES = 2


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What the process and its children take.

    Attributes:
        cpu_s: Seconds of CPU so far, of children that have ended too; never falls.
        resident_bytes: Memory held now; what processes share is counted for each.
        virtual_bytes: Addresses taken.
        open_files: File descriptors of the process itself.
        max_files: How many of them it may have.
        started_at: When the process began, in seconds since 1970.
    """

    cpu_s: float
    resident_bytes: int
    virtual_bytes: int
    open_files: int
    max_files: int
    started_at: float


@dataclass(frozen=True, slots=True)
class _Reading:
    cpu_ticks: int
    start_ticks: int
    virtual_pages: int
    resident_pages: int


@dataclass(slots=True)
class ProcessMeter:
    """Reads the usage; one thread at a time."""

    proc: Path = Path("/proc")
    _cpu_s: float = field(default=0.0, init=False)

    def usage(self) -> ProcessUsage | None:
        """Return what is taken now, or None where there is no ``/proc``."""
        try:
            own = self._read("self")
            open_files = len(os.listdir(self.proc / "self/fd"))  # noqa: PTH208 - no Path each
            booted_at = self._booted_at()
        except (OSError, ValueError):
            return None
        family = [own]
        for child in self._children():
            with suppress(OSError, ValueError):  # it has ended since
                family.append(self._read(child))
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        # A child that ends after its parent was read is missed this once.
        self._cpu_s = max(self._cpu_s, tick_s * sum(one.cpu_ticks for one in family))
        return ProcessUsage(
            cpu_s=self._cpu_s,
            resident_bytes=page_bytes * sum(one.resident_pages for one in family),
            virtual_bytes=page_bytes * sum(one.virtual_pages for one in family),
            open_files=open_files,
            max_files=os.sysconf("SC_OPEN_MAX"),
            started_at=booted_at + tick_s * own.start_ticks,
        )

    def _read(self, process: str) -> _Reading:
        """Return what one process takes.

        Raises:
            ValueError: Its files aren't as proc(5) says.
        """
        folder = self.proc / process
        # The name, in brackets, may hold spaces and brackets.
        fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        pages = (folder / "statm").read_text("ascii").split()
        if len(fields) <= _STARTTIME or len(pages) < _PAGES:
            raise ValueError("too few fields")
        return _Reading(
            cpu_ticks=sum(map(int, fields[_UTIME:_CSTIME])),
            start_ticks=int(fields[_STARTTIME]),
            virtual_pages=int(pages[0]),
            resident_pages=int(pages[1]),
        )

    def _booted_at(self) -> float:
        for line in (self.proc / "stat").read_text("ascii").splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
        raise ValueError("no btime")

    def _children(self) -> list[str]:
        found: list[str] = []
        for task in (self.proc / "self/task").glob("*/children"):
            try:
                found += task.read_text("ascii").split()
            except OSError:
                continue  # the thread has ended since
        return found
