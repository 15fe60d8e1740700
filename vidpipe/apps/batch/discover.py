"""From what stands on the command line to a list of inputs, each with a name of its own.

An input's name is its path relative to what was given (a folder, the fixed part of a pattern, a
file's own folder), with its extension: results are named after it. Where two would be the same,
they are told apart by the folders above them. The output folder is never looked into.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vidpipe.apps.batch.kinds import Kind, kind_of
from vidpipe.errors import UsageError
from vidpipe.sources.files import shown

STATE_FOLDER = ".vidpipe"
"""In an output folder: what a run keeps for the next one."""

LEDGER_NAME = "ledger.sqlite"
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input.

    Attributes:
        path: Where it is, absolute.
        stem: Its name: unique, with ``/`` between its parts.
        kind: What it is taken for.
        root: What was given: while this is missing, so are all the inputs below it.
    """

    path: Path
    stem: str
    kind: Kind
    root: Path


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Something among the inputs that is none, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found; both by name."""

    files: tuple[InputFile, ...]
    skipped: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: Path
    base: Path
    root: Path
    kind: Kind

    def name(self, depth: int) -> str:
        """Return the path relative to the base, with so many of the folders above it."""
        above = self.base.parts[len(self.base.parts) - depth :] if depth else ()
        return Path(*above, self.path.relative_to(self.base)).as_posix().lstrip("/")


def discover(inputs: Sequence[str], output: Path) -> Discovery:
    """Look for inputs.

    Args:
        inputs: Files, folders and patterns (``*``, ``?``, ``[]``, ``**``).
        output: The output folder, which need not exist.

    Raises:
        UsageError: An input doesn't exist, a pattern fits nothing, or an input is the output.
    """
    target = output.resolve()
    skipped: dict[str, PassedOver] = {}
    found: dict[Path, _Candidate] = {}
    for given in inputs:
        for candidate in _candidates(given, target, skipped):
            # The same file, given twice or by two links: it is analysed once.
            place = candidate.path.resolve()
            found[place] = min(found.get(place, candidate), candidate, key=_rank)
    files = [
        InputFile(candidate.path, name, candidate.kind, candidate.root)
        for candidate, name in _named(list(found.values()))
    ]
    files.sort(key=lambda file: file.stem)
    return Discovery(tuple(files), tuple(skipped[name] for name in sorted(skipped)))


def _rank(candidate: _Candidate) -> tuple[int, str]:
    """Return what decides by which of several ways a file is named: not the inputs' order."""
    return len(candidate.base.parts), str(candidate.path)


def _candidates(given: str, output: Path, skipped: dict[str, PassedOver]) -> Iterator[_Candidate]:
    path = Path(given).expanduser()
    if path.is_dir():
        yield from _in_folder(path.absolute(), path.absolute(), output, skipped)
    elif path.exists():
        _refuse_output(path, output, given)
        # Whoever names a file means it, whatever its ending.
        full = path.absolute()
        yield _Candidate(full, full.parent, full.parent, kind_of(path) or Kind.VIDEO)
    elif _PATTERN & set(given):
        yield from _in_pattern(str(path), given, output, skipped)
    else:
        raise UsageError(f"there is no file or folder {shown(path)}: check the path")


def _in_pattern(
    pattern: str, given: str, output: Path, skipped: dict[str, PassedOver]
) -> Iterator[_Candidate]:
    parts = Path(pattern).parts
    fixed = next(index for index, part in enumerate(parts) if _PATTERN & set(part))
    base = Path(*parts[:fixed]).absolute()
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute ones, too
    if not matches:
        raise UsageError(f"nothing fits the pattern {given}: check it, and quote it in a shell")
    for match in matches:
        path = Path(match).absolute()
        if _is_within(path.resolve(), output):
            continue
        if path.is_dir():
            if "**" not in parts:  # else its files have matched, too
                yield from _in_folder(path, base, output, skipped)
        elif (kind := _kind_or_skip(path, base, skipped)) is not None:
            yield _Candidate(path, base, base, kind)


def _in_folder(
    folder: Path, base: Path, output: Path, skipped: dict[str, PassedOver]
) -> Iterator[_Candidate]:
    _refuse_output(folder, output, str(folder))

    def note(error: OSError) -> None:
        name = os.path.relpath(str(error.filename), base)
        _skip(skipped, name, f"can't be looked into: {error.strerror}")

    for here, folders, names in os.walk(folder, onerror=note):
        place = Path(here)
        for name in list(folders):
            inner = place / name
            reason = _reason_to_pass(inner, output)
            if reason is not None:
                folders.remove(name)
                if reason:
                    _skip(skipped, inner.relative_to(base).as_posix() + "/", reason)
        folders.sort()
        for name in sorted(names):
            kind = _kind_or_skip(place / name, base, skipped)
            if kind is not None:
                yield _Candidate(place / name, base, folder, kind)


def _reason_to_pass(folder: Path, output: Path) -> str | None:
    """Return why a folder isn't looked into (empty: nobody needs to know), or None."""
    if _is_within(folder.resolve(), output):
        return "the output folder"
    if folder.name.startswith("."):
        return ""
    if (folder / STATE_FOLDER / LEDGER_NAME).exists():
        return "results of another run"
    return "a link to a folder" if folder.is_symlink() else None


def _kind_or_skip(path: Path, base: Path, skipped: dict[str, PassedOver]) -> Kind | None:
    name = path.relative_to(base).as_posix()
    if path.name.startswith("."):
        _skip(skipped, name, "hidden")
        return None
    if ".partial" in path.suffixes:
        _skip(skipped, name, "unfinished results")
        return None
    kind = kind_of(path)
    if kind is None:
        _skip(skipped, name, f"another kind of file ({path.suffix or 'no ending'})")
        return None
    try:
        is_file = path.is_file()
    except OSError:
        is_file = True  # it is there, but can't be looked at: a failure, and none to pass over
    if not is_file and not path.is_symlink():
        _skip(skipped, name, "no regular file")
        return None
    return kind


def _skip(skipped: dict[str, PassedOver], name: str, reason: str) -> None:
    skipped.setdefault(name, PassedOver(name, reason))


def _named(candidates: list[_Candidate]) -> Iterator[tuple[_Candidate, str]]:
    """Yield each with its name; those that would share one get more folders in front."""
    depths = [0] * len(candidates)
    while True:
        names = [candidate.name(depth) for candidate, depth in zip(candidates, depths, strict=True)]
        counts = Counter(names)
        if len(counts) == len(names):
            return iter(list(zip(candidates, names, strict=True)))
        for index, name in enumerate(names):
            if counts[name] > 1:
                depths[index] = min(depths[index] + 1, len(candidates[index].base.parts))


def _refuse_output(path: Path, output: Path, given: str) -> None:
    if _is_within(path.resolve(), output):
        raise UsageError(f"{given} lies in the output folder: choose another one with -o")


def _is_within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
