from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.batch_results import make_entry, make_found, make_result_file
from vidpipe.apps.batch.formats.digest import digest_of, kept_digest
from vidpipe.apps.batch.formats.lines import Found, ResultLine
from vidpipe.apps.batch.formats.spans import MOST_SPANS, OTHERS


def make_line(
    frame: int, pts_s: float | None, *labels: str, error: str | None = None
) -> ResultLine:
    found = tuple(
        Found(label, 0, 0.5 + frame % 7 / 20, (1.0, 2.0, 3.0, 4.0), None) for label in labels
    )
    return ResultLine("a.mp4", frame, pts_s, None, 64, 48, found, error)


LINES = st.lists(
    st.tuples(
        st.none() | st.floats(-1e4, 1e7, allow_nan=False),
        st.lists(st.sampled_from(["person", "car", "é"]), max_size=4),
        st.none() | st.just("failed"),
    ),
    max_size=300,
)


@settings(deadline=None)
@given(LINES)
def test_nothing_is_lost_whatever_the_times_are(
    rows: list[tuple[float | None, list[str], str | None]],
) -> None:
    lines = [make_line(n, pts, *labels, error=why) for n, (pts, labels, why) in enumerate(rows)]
    digest = digest_of(lines)
    totals = Counter(found.label for line in lines for found in line.found)
    assert digest.frames == len(lines) == sum(span.frames for span in digest.spans)
    assert digest.failed == sum(line.error is not None for line in lines)
    assert dict(digest.detections) == totals
    sums: Counter[str] = Counter()
    for span in digest.spans:
        sums.update(span.sums)
    assert sums == totals
    assert len(digest.spans) <= MOST_SPANS
    assert digest.most == max((len(line.found) for line in lines), default=0)
    if lines:
        assert max(moment.total for moment in digest.moments) == digest.most


def test_an_hour_has_as_many_spans_as_a_minute() -> None:
    for seconds in (60, 3600, 86_400):
        digest = digest_of(make_line(n, n * seconds / 5000, "person") for n in range(5000))
        assert MOST_SPANS / 2 < len(digest.spans) <= MOST_SPANS
        assert digest.end == pytest.approx(4999 * seconds / 5000)


def test_without_times_the_clock_counts_frames() -> None:
    digest = digest_of(make_line(n * 3, None, "person") for n in range(10))
    assert not digest.has_times
    assert (digest.start, digest.end) == (0.0, 27.0)


def test_the_first_frame_of_a_class_is_kept_though_others_are_busier() -> None:
    lines = [make_line(n, n / 25, "person", "person") for n in range(5000)]
    lines[1234] = make_line(1234, 1234 / 25, "car")
    digest = digest_of(lines)
    assert digest.firsts["car"].frame == 1234
    assert digest.firsts["person"].frame == 0


def test_a_detector_of_thousands_of_classes_stays_bounded() -> None:
    digest = digest_of(make_line(n, n / 25, f"class {n}") for n in range(3000))
    assert max(len(span.sums) for span in digest.spans) <= 65
    assert digest.spans[-1].sums == {OTHERS: digest.spans[-1].frames}
    assert len(digest.detections) == 3000
    assert len(digest.firsts) == 16


def test_the_figures_of_a_file_hold_none_of_its_boxes() -> None:
    digest = digest_of([make_line(frame, frame / 10, "car", "car") for frame in range(50)])
    brief = digest.without_moments()
    assert digest.moments
    assert digest.firsts
    assert (brief.moments, brief.firsts) == ([], {})
    assert brief.detections == digest.detections == {"car": 100}
    assert [span.sums for span in brief.spans] == [span.sums for span in digest.spans]
    assert digest_of([]).without_moments() == digest_of([])


def test_what_is_kept_is_what_was_read(tmp_path: Path) -> None:
    entries = [
        make_entry(n, *[make_found("é", track_id=n), make_found("b")][: n % 3]) for n in range(40)
    ]
    result = make_result_file(tmp_path, [*entries, make_entry(40, error="x", width=None)])
    fresh = kept_digest(result)
    path = result.hidden("digest", ".json")
    inode = path.stat().st_ino
    assert kept_digest(result) == fresh
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 0}', b'{"format": 1}'])
def test_what_was_kept_by_another_version_or_is_damaged_is_made_anew(
    tmp_path: Path, content: bytes
) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    fresh = kept_digest(result)
    path = result.hidden("digest", ".json")
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=times)
    assert kept_digest(result) == fresh
