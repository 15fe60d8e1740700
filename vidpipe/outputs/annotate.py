"""What is drawn over a picture: boxes, tags and captions, on the planes themselves.

Line widths and letters follow the picture's shorter side, so that they read alike on 320x240 and on
4K. A class has one colour everywhere; the ink on it is black or white. Tags stay inside the
picture and never cover another's text: the surest object chooses first, and in a dense crowd those
that find no place go without.

One thread uses an annotator at a time; the typesetter may be shared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.outputs.canvas import Canvas, Patch, Yuv
from vidpipe.outputs.glyphs import Typesetter, line_height_px
from vidpipe.outputs.palette import ALARM, SHADE, Bgr, color_of, ink_on
from vidpipe.types import Detections, FrameResult, Pixels, Verdict

Box: TypeAlias = tuple[int, int, int, int]

NO_ANSWER = "no result"
"""The caption of a frame that the model didn't answer."""

_WIDEST_TAG = 0.45
"""Of the picture's width: a longer label is elided, so that it hides no other object."""
_CACHED_PATCHES = 1024
_CELL_PX = 4
"""Taken places are remembered in cells of this size: tags may share margins, never their text."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The sizes that a picture's own size leads to, in pixels; all but the letters are even."""

    line: int
    font: int
    tag: int
    pad: int


def measures_of(size_wh: tuple[int, int]) -> Measures:
    """Return how large lines and letters are on a picture; tag is 0 where none would fit."""
    short = min(size_wh)
    font = max(11, round(short / 45))
    tag = line_height_px(font)
    return Measures(
        line=2 if short < 900 else 2 * round(short / 600),
        font=font,
        tag=tag if short >= 4 * tag else 0,
        pad=max(2, 2 * round(font / 7)),
    )


class _Paint(NamedTuple):
    """The two colours of a tag, as they are on a canvas."""

    paper: Yuv
    ink: Yuv


class Annotator:
    """Draws results on canvases of any size."""

    def __init__(
        self, typesetter: Typesetter, *, name: str = "", should_show_time: bool = False
    ) -> None:
        """Remember what is written on every picture.

        Args:
            typesetter: Sets the text.
            name: Shown at the top left; empty for none.
            should_show_time: Whether each frame's time stands at the bottom left, where it has one.
        """
        self._typesetter = typesetter
        self._name = name
        self._should_show_time = should_show_time
        self._patches: OrderedDict[tuple[str, int, int, int, int, _Paint], Patch] = OrderedDict()

    def draw(self, canvas: Canvas, result: FrameResult) -> None:
        """Draw a result on its picture's canvas.

        A passed frame shows the last boxes; a failed one none, and a mark at the top right.
        """
        measures = measures_of(canvas.content_wh)
        taken = _Places(canvas.content_wh)
        captions = list(self._captions(canvas, result, measures))
        for patches, left, top in captions:
            taken.take(_box_of(patches, left, top))
        if result.verdict is not Verdict.FAILED and len(result.detections):
            picture_wh = result.frame.picture.size_wh
            boxes = _scaled_boxes(result.detections, picture_wh, canvas.content_wh)
            self._draw_detections(canvas, result.detections, boxes, measures, taken)
        for patches, left, top in captions:
            _paste(canvas, patches, left, top)

    def _draw_detections(
        self,
        canvas: Canvas,
        detections: Detections,
        boxes: list[Box],
        measures: Measures,
        taken: _Places,
    ) -> None:
        """Draw all outlines, the surest object's on top, then the tags that find a place."""
        paints = {label: _paint(canvas, color_of(label)) for label in set(detections.labels)}
        for box, label in zip(reversed(boxes), reversed(detections.labels), strict=True):
            canvas.outline(box, measures.line, paints[label].paper)
        if not measures.tag:
            return
        for index, (box, label) in enumerate(zip(boxes, detections.labels, strict=True)):
            patches = self._tag(canvas, detections, index, paints[label], measures)
            place = taken.place(box, _size_of(patches), measures.line)
            if place is not None:
                _paste(canvas, patches, *place)

    def _tag(
        self, canvas: Canvas, detections: Detections, index: int, paint: _Paint, measures: Measures
    ) -> list[Patch]:
        """Return an object's tag as its pieces: the class, the track, the score."""
        score = float(detections.scores[index])
        numbers = [f"{100 * score:.0f}%" if np.isfinite(score) else "?"]
        if detections.track_ids and detections.track_ids[index] is not None:
            numbers.insert(0, f"#{detections.track_ids[index]}")
        tail = [self._patch(canvas, text, paint, measures, is_first=False) for text in numbers]
        room = round(canvas.content_wh[0] * _WIDEST_TAG) - sum(patch.size_wh[0] for patch in tail)
        label = detections.labels[index]
        return [self._patch(canvas, label, paint, measures, max_width_px=room), *tail]

    def _captions(
        self, canvas: Canvas, result: FrameResult, measures: Measures
    ) -> Iterator[tuple[list[Patch], int, int]]:
        """Yield what belongs to the picture as a whole, with its places."""
        if not measures.tag:
            return
        width, height = canvas.content_wh
        shade = _paint(canvas, SHADE)
        if self._name:
            yield [self._patch(canvas, self._name, shade, measures, max_width_px=width)], 0, 0
        if result.verdict is Verdict.FAILED:
            patch = self._patch(
                canvas, NO_ANSWER, _paint(canvas, ALARM), measures, max_width_px=width
            )
            yield [patch], width - patch.size_wh[0], measures.tag if self._name else 0
        if self._should_show_time and result.frame.time is not None:
            pieces = [
                self._patch(
                    canvas,
                    text,
                    shade,
                    measures,
                    is_first=not index,
                    has_gap=not text.endswith(":"),
                )
                for index, text in enumerate(_clock_texts(result.frame.time))
            ]
            yield pieces, 0, (height - measures.tag) // 2 * 2

    def _patch(
        self,
        canvas: Canvas,
        text: str,
        paint: _Paint,
        measures: Measures,
        *,
        max_width_px: int | None = None,
        is_first: bool = True,
        has_gap: bool = True,
    ) -> Patch:
        """Return a piece of a tag, from the cache where it is there.

        Args:
            canvas: Says how wide the picture is.
            text: What to write.
            paint: Paper and ink.
            measures: Sizes.
            max_width_px: Room for the piece; None for the picture's width.
            is_first: Whether paper stands before the text.
            has_gap: Whether paper stands behind it.
        """
        lead = measures.pad if is_first else 0
        gap = measures.pad if has_gap else 0
        room = canvas.content_wh[0] if max_width_px is None else max_width_px
        room = max(0, room - lead - gap)
        key = (text, measures.font, room, lead, gap, paint)
        patch = self._patches.get(key)
        if patch is None:
            mask = self._typesetter.mask(text, measures.font, room)
            padded = np.pad(mask, ((0, 0), (lead, gap)))
            patch = self._patches[key] = _colored(padded, paint)
            if len(self._patches) > _CACHED_PATCHES:
                self._patches.popitem(last=False)
        else:
            self._patches.move_to_end(key)
        return patch


class _Places:
    """Where tags already stand on one picture."""

    def __init__(self, size_wh: tuple[int, int]) -> None:
        """Start with an empty picture."""
        self._size_wh = size_wh
        self._cells: NDArray[np.bool_] = np.zeros(
            (size_wh[1] // _CELL_PX + 2, size_wh[0] // _CELL_PX + 2), np.bool_
        )

    def take(self, box: Box) -> None:
        """Mark a rectangle as taken."""
        self._cells[self._slices(box)] = True

    def place(self, box: Box, tag_wh: tuple[int, int], line_px: int) -> tuple[int, int] | None:
        """Return where a box's tag goes, and take that place; None where all are taken.

        Above the box, below it, inside its upper and its lower edge; at the left edge of the box
        or at its right; always inside the picture.
        """
        width, height = tag_wh
        for left, top in self._candidates(box, tag_wh, line_px):
            cells = self._slices((left, top, left + width, top + height))
            if not self._cells[cells].any():
                self._cells[cells] = True
                return left, top
        return None

    def _candidates(
        self, box: Box, tag_wh: tuple[int, int], line_px: int
    ) -> Iterator[tuple[int, int]]:
        x1, y1, x2, y2 = box
        width, height = tag_wh
        last_left = max(0, (self._size_wh[0] - width) // 2 * 2)
        last_top = max(0, (self._size_wh[1] - height) // 2 * 2)
        for left in (x1, x2 - width):
            inside = min(max(0, left), last_left) // 2 * 2
            for top in (y1 - height, y2, y1 + line_px, y2 - height - line_px):
                if 0 <= top <= last_top:
                    yield inside, top // 2 * 2
        yield min(max(0, x1), last_left) // 2 * 2, min(max(0, y1), last_top) // 2 * 2

    @staticmethod
    def _slices(box: Box) -> tuple[slice, slice]:
        """Return the cells whose middle a rectangle covers, so that neighbours may touch."""
        half = _CELL_PX // 2
        x1, y1, x2, y2 = ((edge + half) // _CELL_PX for edge in box)
        return slice(y1, max(y2, y1 + 1)), slice(x1, max(x2, x1 + 1))


def _scaled_boxes(
    detections: Detections, picture_wh: tuple[int, int], canvas_wh: tuple[int, int]
) -> list[Box]:
    """Return the boxes on the canvas's grid of even pixels, inside it and at least one cell."""
    width, height = canvas_wh
    ratio_x, ratio_y = width / picture_wh[0], height / picture_wh[1]
    boxes: list[Box] = []
    for x1, y1, x2, y2 in detections.boxes_xyxy.tolist():
        left, top = _even(x1 * ratio_x, width - 1), _even(y1 * ratio_y, height - 1)
        right = max(left + 2, _even(x2 * ratio_x, width + 1))
        boxes.append((left, top, right, max(top + 2, _even(y2 * ratio_y, height + 1))))
    return boxes


def _even(value: float, limit: int) -> int:
    """Round to an even number from 0 to a limit; what is no number becomes 0."""
    if value >= limit:
        return limit // 2 * 2
    return 2 * round(value / 2) if value > 0 else 0


def _paint(canvas: Canvas, color: Bgr) -> _Paint:
    return _Paint(canvas.yuv(color), canvas.yuv(ink_on(color)))


def _colored(mask: Pixels, paint: _Paint) -> Patch:
    """Return a mask as opaque planes; chroma takes the mean ink of each two by two pixels."""
    height, width = mask.shape
    half = mask.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3)) / 255
    full = mask / 255
    planes = [
        np.rint(paper + (color - paper) * alpha).astype(np.uint8)
        for alpha, paper, color in zip((full, half, half), paint.paper, paint.ink, strict=True)
    ]
    return Patch(*planes)


def _clock_texts(time: datetime) -> list[str]:
    """Return a time in pieces that come again, so that a running clock fills no cache."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M: %S UTC}".split(" ")


def _size_of(patches: Iterable[Patch]) -> tuple[int, int]:
    sizes = [patch.size_wh for patch in patches]
    return sum(width for width, _ in sizes), max(height for _, height in sizes)


def _box_of(patches: Iterable[Patch], left: int, top: int) -> Box:
    width, height = _size_of(patches)
    return left, top, left + width, top + height


def _paste(canvas: Canvas, patches: Iterable[Patch], left: int, top: int) -> None:
    for patch in patches:
        canvas.paste(patch, left, top)
        left += patch.size_wh[0]
