from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch_results import make_entry, make_found, make_result_file
from vidpipe.apps.batch.formats.mot import write_mot
from vidpipe.errors import SinkError


def test_a_line_is_as_the_motchallenge_has_it(tmp_path: Path) -> None:
    entries = [
        make_entry(0, make_found(box=(10, 20, 40, 70), track_id=3, score=0.875)),
        make_entry(4, make_found(track_id=3), make_found("car")),
    ]
    (path,) = write_mot(make_result_file(tmp_path, entries))
    assert path == tmp_path / "gate/a.mp4.mot.txt"
    assert path.read_text("utf-8").splitlines() == [
        "1,3,10.00,20.00,30.00,50.00,0.8750,-1,-1,-1",
        "5,3,10.00,8.00,20.00,32.00,0.9000,-1,-1,-1",
    ]


def test_results_without_a_tracker_are_refused_by_name(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, make_found())])
    with pytest.raises(SinkError, match=r"gate/a\.mp4: mot needs tracks.*no tracker ran"):
        write_mot(result)
    assert not result.target(".mot.txt").exists()


def test_an_empty_scene_has_an_empty_file(tmp_path: Path) -> None:
    (path,) = write_mot(make_result_file(tmp_path, [make_entry(0), make_entry(1)]))
    assert path.read_bytes() == b""
