"""Read vidpipe's JSON Lines: how many people were there in each second?

python samples/first-run/run.py out/hall.jsonl
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path


def most_a_second(path: Path) -> dict[int, int]:
    """Return the largest number of people in one frame, for each second of the recording."""
    most: dict[int, int] = defaultdict(int)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            frame = json.loads(line)
            people = sum(found["label"] == "person" for found in frame["detections"])
            second = int(frame["pts"] or 0)
            most[second] = max(most[second], people)
    return dict(most)


if __name__ == "__main__":
    for second, people in most_a_second(Path(sys.argv[1])).items():
        print(f"{second:6d} s  {'#' * people} {people}")
