"""How a batch says what it found, what it did, and how to go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from vidpipe.apps.batch.discover import Discovery
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, RunSummary
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.run import Stop, StopCause
from vidpipe.apps.batch.standing import duration_text, size_text
from vidpipe.apps.batch.survey import Forecast, Survey
from vidpipe.sources.files import shown

_MOST_LISTED = 20
_MOST_ROWS = 200
_MOST_NAMED = 3


def opening_lines(
    found: Discovery,
    survey: Survey,
    forecast: Forecast,
    free_bytes: int,
    rate_fps: float | None,
) -> Iterator[str]:
    """Yield what was found, how long it lasts and takes, and how much disk.

    Args:
        found: The inputs.
        survey: What their headers say.
        forecast: What is left to do.
        free_bytes: The room in the output folder.
        rate_fps: Frames a second, as an earlier run with this model had them; None: not known.
    """
    videos = sum(file.kind is Kind.VIDEO for file in found.files)
    pictures = len(found.files) - videos
    parts = []
    if videos:
        lasting = f" of {duration_text(survey.seconds)}" if survey.seconds else ""
        parts.append(_count(videos, "video") + lasting)
    if pictures:
        parts.append(_count(pictures, "picture"))
    frames = sum(survey.frames.values())
    about = "" if survey.is_exact else "about "
    yield (
        f"found {' and '.join(parts)}, {about}{frames:.0f} frames, {size_text(survey.size_bytes)}"
    )
    if forecast.done:
        yield f"{forecast.done} of them are done, {forecast.frames:.0f} frames are left"
    if rate_fps and forecast.frames:
        took = duration_text(forecast.frames / rate_fps)
        yield f"at {rate_fps:.0f} frames a second it takes about {took}"
    elif forecast.frames:
        yield "how long it takes nobody can say yet: this is told once some of it is done"
    need = forecast.room_bytes
    yield f"results: about {size_text(need)}; {size_text(free_bytes)} are free"
    if need > free_bytes:
        yield "there may be too little room: the run would stop there, and can go on later"
    if found.skipped:
        yield f"passed over: {_count(len(found.skipped), 'other file')}"
        for one in found.skipped[:_MOST_LISTED]:
            yield f"  {name_text(one.name)}: {one.reason}"
        if len(found.skipped) > _MOST_LISTED:
            yield f"  and {len(found.skipped) - _MOST_LISTED} more: see summary.json"


def nothing_to_do(inputs: Sequence[str], found: Discovery) -> str:
    """Return why there is nothing to analyse."""
    reasons = [f"{name_text(one.name)}: {one.reason}" for one in found.skipped]
    more = len(reasons) - _MOST_NAMED
    if more > 0:
        reasons[_MOST_NAMED:] = [f"{more} more"]
    return f"nothing to analyse in {', '.join(inputs)}" + "".join(f"; {one}" for one in reasons)


def closing_lines(
    summary: RunSummary, stop: Stop | None, unconverted: Mapping[str, str], *, is_fresh: bool
) -> Iterator[str]:
    """Yield what was done, what failed, and how to go on; ``is_fresh``: all was done again."""
    of_state = {state: [f for f in summary.files if f.state is state] for state in FileState}
    done, failed = of_state[FileState.DONE], of_state[FileState.FAILED]
    reused = sum(file.is_reused for file in done)
    rate = summary.frames_inferred / summary.took_s if summary.took_s else 0.0
    yield (
        f"{_count(len(done), 'file')} done"
        + (f" ({reused} of them before)" if reused else "")
        + (f", {len(failed)} failed" if failed else "")
        + f"; {summary.frames_inferred} frames in {duration_text(summary.took_s)}, "
        f"{rate:.1f} a second"
    )
    remarks = [file for file in done if file.reason]
    for file in remarks[:_MOST_LISTED]:
        yield f"{name_text(file.name)}: {file.reason}"
    if len(remarks) > _MOST_LISTED:
        yield f"and {len(remarks) - _MOST_LISTED} more remarks: see summary.json"
    for file in failed[:_MOST_LISTED]:
        yield f"failed: {name_text(file.name)}: {file.reason}"
    if len(failed) > _MOST_LISTED:
        yield f"and {len(failed) - _MOST_LISTED} more failed: see {summary.output / 'failed'}"
    if failed:
        yield "what failed is not tried again, unless by --retry-failed"
    for name, error in sorted(unconverted.items()):
        yield f"failed: {name_text(name)} is analysed, but not converted: {error}"
    left = len(of_state[FileState.UNFINISHED])
    if stop is not None:
        held = {
            StopCause.DISK: "the disk is full: make room, and",
            StopCause.OUTPUT: "the results can't be written: mend that, and",
            StopCause.SHARE: "the inputs are away: bring them back, and",
        }.get(stop.cause, "to go on,")
        files = _count(left, "file")
        again = " without --fresh" if is_fresh else ""
        yield f"stopped ({stop.why}); {files} left: {held} run the same command again{again}"
    yield f"results are in {summary.output}"


def closing_table(files: Sequence[FileOutcome]) -> Table:
    """Return a row a file."""
    table = Table(title="the batch")
    for head in ("file", "state", "frames", "took", ""):
        table.add_column(head, justify="right" if head in ("frames", "took") else "left")
    for file in files[:_MOST_ROWS]:
        took = "" if file.took_s is None else f"{file.took_s:.1f} s"
        state = f"{file.state}, before" if file.is_reused else str(file.state)
        # As texts: in a name, brackets are no markup.
        table.add_row(Text(name_text(file.name)), state, str(file.frames), took, Text(file.reason))
    if len(files) > _MOST_ROWS:
        table.add_row(f"and {len(files) - _MOST_ROWS} more", "", "", "", "")
    return table


def name_text(name: str) -> str:
    """Return a file's name on one line, in characters that any terminal can write."""
    return shown(Path(name))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
