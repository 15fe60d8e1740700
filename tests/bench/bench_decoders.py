"""What decoding costs: every family at 20 objects, overlap and frame geometry included.

    python -m tests.bench.bench_decoders [--repeat 200] [--rivals 6]

Each object is found once, and then by several overlapping boxes, as detectors do. Prints, in
milliseconds of CPU, the median of the repetitions and what a tenth of them stay below (on a machine
with other work that is the truer figure), and one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np

from tests.heads import HEADS, BoxXyxy
from vidpipe.inference.decoders.families import choose_family
from vidpipe.inference.decoders.family import DecodeRule
from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.labels import LabelTable

OBJECTS = 20
CONFIDENCE = 0.4
BUDGETS_MS = {"yolo": 0.7, "yolo, transposed": 0.7}
BUDGET_MS = 0.3


def objects(input_wh: tuple[int, int], rivals: int) -> list[BoxXyxy]:
    """Return boxes all over an input, each with rivals that overlap it."""
    width, height = input_wh
    rng = np.random.default_rng(1)
    side = min(width, height) / 8
    boxes: list[BoxXyxy] = []
    for number in range(OBJECTS):
        x = (number % 5 + 0.5) * width / 5
        y = (number // 5 + 0.5) * height / 4
        for _ in range(rivals):
            dx, dy = rng.uniform(-side / 20, side / 20, 2)
            boxes.append(
                (x + dx - side / 2, y + dy - side / 2, x + dx + side / 2, y + dy + side / 2)
            )
    return boxes


def costs_ms(title: str, rivals: int, repeat: int) -> tuple[float, float, int]:
    """Return what one picture costs (median, lowest tenth), and how many objects were found."""
    name, head = HEADS[title]
    signature = head.signature()
    family = choose_family(name, signature, title)
    labels = LabelTable(tuple(f"class {i}" for i in range(80)))
    rule = DecodeRule(CONFIDENCE, family.iou(signature), labels, None, head.input_wh)
    decode = family.decoder(signature, rule)
    boxes = objects(head.input_wh, rivals)
    scores = np.linspace(0.95, 0.5, len(boxes)).tolist()
    ids = [(i // rivals) % 4 if head.has_classes else 0 for i in range(len(boxes))]
    outputs = head.outputs(boxes, scores, ids)
    geometry = geometry_of(
        (3 * head.input_wh[0], 3 * head.input_wh[1]), head.input_wh, family.recipe
    )
    found = decode(outputs, geometry)
    times = []
    for _ in range(repeat):
        started = time.thread_time()
        decode(outputs, geometry)
        times.append(time.thread_time() - started)
    times.sort()
    return statistics.median(times) * 1000, times[repeat // 10] * 1000, len(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument(
        "--rivals", type=int, default=6, help="boxes above the confidence an object"
    )
    options = parser.parse_args()
    rows = []
    for title, (_, head) in HEADS.items():
        budget_ms = BUDGETS_MS.get(title, BUDGET_MS)
        is_final = max(max(shape) for shape in head.shapes.values()) <= 300
        plain_ms, low_ms, count = costs_ms(title, 1, options.repeat)
        rivals_ms, rivals_low_ms = plain_ms, low_ms
        if not is_final:
            rivals_ms, rivals_low_ms, _ = costs_ms(title, options.rivals, options.repeat)
        shapes = "+".join("x".join(map(str, shape)) for shape in list(head.shapes.values())[:2])
        print(
            f"{title:16} {shapes:23} {count} objects: {plain_ms:.3f} ms ({low_ms:.3f}), of"
            f" {options.rivals} boxes each {rivals_ms:.3f} ms ({rivals_low_ms:.3f});"
            f" at most {budget_ms}"
        )
        row = {"name": title, "objects": count, "ms": plain_ms, "low_ms": low_ms}
        rows.append({**row, "rivals_ms": rivals_ms, "rivals_low_ms": rivals_low_ms})
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
