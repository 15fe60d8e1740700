"""From what stands on the command line to a list of inputs, each with a name of its own.

An input's name is its path relative to what was given (a folder, the fixed part of a pattern, a
file's own folder), with its extension: results are named after it. Where two would be the same,
they are told apart by the folders above them. The output folder is never looked into, and nothing
is opened that isn't a regular file.
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
from vidpipe.runtime.logs import redact
from vidpipe.sources.files import shown

STATE_FOLDER = ".vidpipe"
"""In an output folder: what a run keeps for the next one, and conversions from file to file."""

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
    """Something among the inputs that is none, and why.

    Attributes:
        name: Its path relative to what was given.
        reason: Why it is passed over: another kind of file, for instance.
        is_fault: There may be inputs in it: nobody knows.
    """

    name: str
    reason: str
    is_fault: bool = False


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
        UsageError: An input doesn't exist or is no regular file, a pattern fits nothing, or an
            input is the output.
    """
    target = _real(output.expanduser())
    skipped: dict[str, PassedOver] = {}
    found: dict[Path, _Candidate] = {}
    for given in inputs:
        for candidate in _candidates(given, target, skipped):
            # The same file, given twice or by two links: it is analysed once.
            place = _real(candidate.path)
            known = found.setdefault(place, candidate)
            found[place] = min(known, candidate, key=lambda one: _rank(one, place))
            for other in (known, candidate):
                _note_link(other, found[place], skipped)
    if not found and (refused := [one for one in inputs if _is_of_output(one, target)]):
        raise UsageError(f"{refused[0]} lies in the output folder: choose another one with -o")
    files = [
        InputFile(candidate.path, name, candidate.kind, candidate.root)
        for candidate, name in _named(list(found.values()))
    ]
    files.sort(key=lambda file: file.stem)
    return Discovery(tuple(files), tuple(skipped[name] for name in sorted(skipped)))


def _note_link(other: _Candidate, chosen: _Candidate, skipped: dict[str, PassedOver]) -> None:
    """Say of a file that it is another's by a link, if it is."""
    if other.path != chosen.path:
        name = other.name(0) if other.base == chosen.base else str(other.path)
        _skip(skipped, name, f"the same file as {chosen.name(0)}")


def _rank(candidate: _Candidate, place: Path) -> tuple[bool, int, int, str]:
    """Return what decides by which of several ways a file is named: not the inputs' order."""
    path, base = candidate.path, candidate.base
    return path != place, len(base.parts), len(path.parts), str(path)


def _candidates(given: str, output: Path, skipped: dict[str, PassedOver]) -> Iterator[_Candidate]:
    path = Path(given).expanduser()
    try:
        if path.is_dir():
            folder = _full(path)
            if _is_within(_real(folder), output):
                _require_results(output, given)
                _skip(skipped, given, "the output folder")
            else:
                yield from _in_folder(folder, folder, output, skipped)
        elif path.exists():
            yield _named_file(_full(path), output, given)
        elif _PATTERN & set(given):
            yield from _in_pattern(path, given, output, skipped)
        else:
            raise _missing(given)
    except OSError as exc:
        raise UsageError(f"{shown(path)} can't be looked at: {exc.strerror}") from exc


def _named_file(full: Path, output: Path, given: str) -> _Candidate:
    """Return a file that was named: whoever does that means it, whatever its ending."""
    if _is_within(_real(full), output):
        raise UsageError(f"{given} lies in the output folder: choose another one with -o")
    if not full.is_file():
        raise UsageError(f"{shown(full)} is no regular file: copy what it holds into one")
    return _Candidate(full, full.parent, full.parent, kind_of(full) or Kind.VIDEO)


def _missing(given: str) -> UsageError:
    if "://" in given:
        return UsageError(
            f"{redact(given)} is an address: batch takes recorded files; use vidpipe run for it"
        )
    return UsageError(f"there is no file or folder {shown(Path(given))}: check the path")


def _in_pattern(
    pattern: Path, given: str, output: Path, skipped: dict[str, PassedOver]
) -> Iterator[_Candidate]:
    parts, fixed = pattern.parts, 0
    # A folder that is there is meant, though its name may look like a pattern.
    while fixed < len(parts) and (
        not _PATTERN & set(parts[fixed]) or os.path.lexists(Path(*parts[: fixed + 1]))
    ):
        fixed += 1
    if fixed == len(parts):
        raise _missing(given)
    base, wanted = _full(Path(*parts[:fixed])), str(Path(*parts[fixed:]))
    matches = sorted(glob.glob(wanted, root_dir=base, recursive=True))  # noqa: PTH207 - a root
    if not matches:
        raise UsageError(f"nothing fits the pattern {given}: check it, and quote it in a shell")
    for match in matches:
        path = _full(base / match)
        root = base if path.is_relative_to(base) else path.parent
        if _is_within(_real(path), output) or _is_result(path, root, skipped):
            continue
        if path.is_dir():
            if "**" not in parts:  # else its files have matched, too
                yield from _in_folder(path, root, output, skipped)
        elif (kind := _kind_or_skip(path, root, skipped)) is not None:
            yield _Candidate(path, root, root, kind)


def _is_result(path: Path, base: Path, skipped: dict[str, PassedOver]) -> bool:
    """Tell whether something that fits a pattern lies in the results of another run."""
    for folder in (path, *path.parents):
        if folder == base:
            return False
        if _has_ledger(folder):
            _skip(skipped, folder.relative_to(base).as_posix() + "/", "results of another run")
            return True
    return False


def _in_folder(
    folder: Path, base: Path, output: Path, skipped: dict[str, PassedOver]
) -> Iterator[_Candidate]:
    def note(error: OSError) -> None:
        name = os.path.relpath(str(error.filename), base)
        _skip(skipped, name, f"can't be looked into: {error.strerror}", is_fault=True)

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
    if _is_within(_real(folder), output):
        return "the output folder"
    if folder.name.startswith("."):
        return ""
    if _has_ledger(folder):
        return "results of another run"
    return "a link to a folder" if folder.is_symlink() else None


def _has_ledger(folder: Path) -> bool:
    # Not ``exists``: of a folder that can't be looked into it raises.
    return os.path.exists(folder / STATE_FOLDER / LEDGER_NAME)  # noqa: PTH110 - never raises


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
        is_other = path.exists() and not path.is_file()
    except OSError:
        is_other = False  # it is there, but can't be looked at: a failure, and none to pass over
    if is_other:
        _skip(skipped, name, "no regular file")
        return None
    return kind


def _skip(
    skipped: dict[str, PassedOver], name: str, reason: str, *, is_fault: bool = False
) -> None:
    skipped.setdefault(name, PassedOver(name, reason, is_fault))


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


def _require_results(output: Path, given: str) -> None:
    """Check that an input that is the output was not meant as an input.

    A shell's ``rec/*`` names ``rec/out``, too, once that is there.

    Raises:
        UsageError: It holds something that no run has left there.
    """
    if not _has_ledger(output) and any(output.iterdir()):
        raise UsageError(f"{given} lies in the output folder: choose another one with -o")


def _is_of_output(given: str, output: Path) -> bool:
    return _is_within(_real(Path(given).expanduser()), output)


def _full(path: Path) -> Path:
    """Return an absolute path in which nothing leads upwards: names are made of its parts."""
    if ".." not in path.parts:
        return path.absolute()
    return _real(path) if path.name == ".." else _real(path.parent) / path.name


def _real(path: Path) -> Path:
    # Not ``resolve``: of links that lead to themselves it raises.
    return Path(os.path.realpath(path))


def _is_within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
