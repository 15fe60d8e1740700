"""Anchors of TensorFlow's SSD detectors, by their closed form.

Source: `create_ssd_anchors` of TensorFlow's Object Detection API (multiple_grid_anchor_generator):
with L maps, scale ``s_l = s_min + (s_max - s_min) l / (L - 1)`` and ``s_L = 1``; the first map has
three boxes (the lowest layer's reduced set), every other one box for each ratio and one of ratio 1
at the scale ``sqrt(s_l s_(l+1))``; ``h = s / sqrt(ratio)``, ``w = s sqrt(ratio)``; centres
``(x + 1/2) / n``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AnchorGrid:
    """The numbers from which all anchors of a detector follow.

    Attributes:
        maps: Cells on a side of each (square) feature map, finest first.
        min_scale: The scale of the first map.
        max_scale: The scale of the last.
        ratios: Width over height.
    """

    maps: tuple[int, ...] = (19, 10, 5, 3, 2, 1)
    min_scale: float = 0.2
    max_scale: float = 0.95
    ratios: tuple[float, ...] = (1.0, 2.0, 0.5, 3.0, 0.3333)

    def to_text(self) -> str:
        """Return it as the text that a model file carries."""
        return json.dumps(asdict(self))

    def anchors(self) -> NDArray[np.float64]:
        """Return the (N, 4) anchors: centre y and x, height and width, in 0..1 of the input."""
        steps = max(1, len(self.maps) - 1)
        span = self.max_scale - self.min_scale
        scales = [self.min_scale + span * level / steps for level in range(len(self.maps))] + [1.0]
        parts = []
        for level, side in enumerate(self.maps):
            shapes = self._shapes(level, scales)
            centre = (np.arange(side) + 0.5) / side
            grid = np.empty((side, side, len(shapes), 4))
            grid[..., 0] = centre[:, None, None]
            grid[..., 1] = centre[None, :, None]
            grid[..., 2:] = shapes
            parts.append(grid.reshape(-1, 4))
        return np.concatenate(parts)

    def _shapes(self, level: int, scales: list[float]) -> list[tuple[float, float]]:
        scale = scales[level]
        if level == 0:
            pairs = [(0.1, 1.0), (scale, 2.0), (scale, 0.5)]
        else:
            pairs = [(scale, ratio) for ratio in self.ratios]
            pairs.append((sqrt(scale * scales[level + 1]), 1.0))
        return [(size / sqrt(ratio), size * sqrt(ratio)) for size, ratio in pairs]


def grid_from_text(text: str) -> AnchorGrid:
    """Return the grid that a model file carries.

    Raises:
        ValueError: The text is none.
    """
    try:
        fields = json.loads(text)
        return AnchorGrid(
            maps=tuple(int(side) for side in fields["maps"]),
            min_scale=float(fields["min_scale"]),
            max_scale=float(fields["max_scale"]),
            ratios=tuple(float(ratio) for ratio in fields["ratios"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the description of an anchor grid: {error}") from error
