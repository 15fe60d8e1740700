"""Tracks as the MOTChallenge has them: a line an object, ``<stem>.mot.txt``.

``frame, id, left, top, width, height, conf, -1, -1, -1``: frames count from 1, so that a line's is
the ``frame`` of the JSON Lines plus one; pixels count from 0. Objects without a track have no line.
"""

from __future__ import annotations

from pathlib import Path

from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.lines import read_lines
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.errors import SinkError

SUFFIX = ".mot.txt"


def write_mot(result: ResultFile) -> list[Path]:
    """Write ``<stem>.mot.txt``; where nothing at all was found it is empty.

    Raises:
        SinkError: Objects were found and none of them was tracked, the results can't be read, or
            the file can't be written.
    """
    target = result.target(SUFFIX)
    if is_current(target, result.jsonl):
        return [target]
    has_found = has_tracks = False
    with finished_file(target, made_from=result.jsonl) as file:
        for line in read_lines(result.jsonl):
            for found in line.found:
                has_found = True
                if found.track_id is None:
                    continue
                has_tracks = True
                x1, y1, x2, y2 = found.box_xyxy
                file.write(
                    f"{line.frame + 1},{found.track_id},{x1:.2f},{y1:.2f},{x2 - x1:.2f},"
                    f"{y2 - y1:.2f},{found.score:.4f},-1,-1,-1\n".encode()
                )
        if has_found and not has_tracks:
            raise SinkError(
                f"{result.stem}: mot needs tracks, and these results have none: no tracker ran "
                "(every track_id is null)"
            )
    return [target]
