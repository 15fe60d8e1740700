"""The run as COCO has it: ``coco.json``, one file with videos, images, annotations and categories.

An image is a frame that the model answered (one that it didn't answer has none: nobody knows what
is in it). Frames of a video carry ``video_id``, ``frame_id`` (as in the JSON Lines, from 0) and
``pts``; their ``file_name`` names no file, but what a frame of that video would be called. Boxes
are ``[x, y, width, height]``; the annotations keep ``score``, and ``track_id`` where there is one,
so that the file is read as a ground truth and its annotations as results.

All ids count from 1 in the order of the files and of their lines, so that equal results give an
equal file. Memory: annotations are written to a file of their own first, and joined.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from vidpipe.apps.batch.formats.finishing import finished_file
from vidpipe.apps.batch.formats.lines import Found, ResultLine, read_lines
from vidpipe.apps.batch.formats.results import ResultFile, RunSummary
from vidpipe.apps.batch.kinds import is_picture
from vidpipe.version import __version__

NAME = "coco.json"
_ENCODER = json.JSONEncoder(allow_nan=False)
"""Made once: ``json.dumps`` with an option makes one a call."""


def write_coco(summary: RunSummary) -> list[Path]:
    """Write ``coco.json`` of all files that are done; return its path.

    Raises:
        SinkError: Results can't be read, or the file can't be written.
    """
    target = summary.output / NAME
    with finished_file(target) as file, TemporaryFile(dir=target.parent) as aside:
        images, categories, videos = _Items(file), _Categories(), _Items(None)
        annotation_count = 0
        info = {"description": "detections by vidpipe", "version": __version__}
        file.write(b'{"info": ' + _json(info) + b', "licenses": [],\n"images": [')
        for result in summary.results:
            categories.name_all(result.labels)
            is_still = is_picture(result.stem)
            size_wh: tuple[int | None, int | None] = (None, None)
            for line in read_lines(result.jsonl):
                if line.error is not None:
                    continue
                size_wh = line.width, line.height
                name = result.stem if is_still else f"{result.stem}/{line.frame:08d}.jpg"
                image_id = images.add(_image(name, line, None if is_still else videos.count + 1))
                for found in line.found:
                    category_id = categories.id_of(found.class_id, found.label)
                    aside.write(b",\n" if annotation_count else b"\n")
                    annotation_count += 1
                    aside.write(_annotation(annotation_count, found, image_id, category_id))
            if not is_still:
                videos.add(_video(result, size_wh))
        file.write(b'],\n"annotations": [')
        aside.seek(0)
        shutil.copyfileobj(aside, file)
        file.write(b'],\n"categories": ' + _json(categories.entries()))
        file.write(b',\n"videos": [' + videos.content + b"]}\n")
    return [target]


@dataclass(slots=True)
class _Items:
    """The items of one array, numbered from 1; into a file, or (few ones) kept."""

    file: IO[bytes] | None
    count: int = 0
    content: bytearray = field(default_factory=bytearray)

    def add(self, item: Mapping[str, object]) -> int:
        """Write an item and return its id."""
        lead = b",\n" if self.count else b"\n"
        self.count += 1
        text = lead + _json({"id": self.count, **item})
        if self.file is None:
            self.content += text
        else:
            self.file.write(text)
        return self.count


@dataclass(slots=True)
class _Categories:
    """The classes: by number where their names are one, so that ids don't depend on the order."""

    ids: dict[tuple[int, str], int] = field(default_factory=dict)

    def id_of(self, class_id: int, label: str) -> int:
        """Return a category's id: the class's number plus one, unless that one is taken."""
        key = class_id, label
        if key not in self.ids:
            taken = set(self.ids.values())
            wanted = class_id + 1
            is_free = wanted > 0 and wanted not in taken
            self.ids[key] = wanted if is_free else max(taken, default=0) + 1
        return self.ids[key]

    def name_all(self, labels: tuple[str, ...]) -> None:
        """Add the classes that were never found."""
        for class_id, label in enumerate(labels):
            self.id_of(class_id, label)

    def entries(self) -> list[dict[str, object]]:
        """Return the categories by their ids."""
        rows = sorted((own, class_id, name) for (class_id, name), own in self.ids.items())
        return [
            {"id": own, "name": name, "supercategory": "", "class_id": class_id}
            for own, class_id, name in rows
        ]


def _image(name: str, line: ResultLine, video_id: int | None) -> dict[str, object]:
    image: dict[str, object] = {"file_name": name}
    if line.width is not None and line.height is not None:
        image |= {"width": line.width, "height": line.height}
    if video_id is not None:
        image |= {"video_id": video_id, "frame_id": line.frame, "pts": line.pts_s}
    if line.time is not None:
        image["date_captured"] = line.time
    return image


def _annotation(annotation_id: int, found: Found, image_id: int, category_id: int) -> bytes:
    """Return an annotation's JSON: composed by hand, since there are millions of them."""
    x1, y1, x2, y2 = found.box_xyxy
    width, height = round(x2 - x1, 2), round(y2 - y1, 2)
    track = "" if found.track_id is None else f', "track_id": {found.track_id}'
    return (
        f'{{"id": {annotation_id}, "image_id": {image_id}, "category_id": {category_id}, '
        f'"bbox": [{x1!r}, {y1!r}, {width!r}, {height!r}], "area": {round(width * height, 4)!r}, '
        f'"iscrowd": 0, "segmentation": [], "score": {found.score!r}{track}}}'
    ).encode()


def _video(result: ResultFile, size_wh: tuple[int | None, int | None]) -> dict[str, object]:
    width, height = size_wh
    video: dict[str, object] = {"name": result.stem}
    return video if width is None else video | {"width": width, "height": height}


def _json(item: object) -> bytes:
    """Return JSON in ASCII: any name, also one of bytes that are no text, survives."""
    return _ENCODER.encode(item).encode()
