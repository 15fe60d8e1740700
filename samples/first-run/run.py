"""Read vidpipe's JSON Lines: how many people were there at most, in each second?

python3 samples/first-run/run.py out/hall.jsonl
"""

from __future__ import annotations

import argparse
import json
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


def main() -> None:
    """Print a bar for each second."""
    parser = argparse.ArgumentParser(description="Count people in vidpipe's JSON Lines.")
    parser.add_argument("file", type=Path, help="what a jsonl output wrote, such as out/hall.jsonl")
    file = parser.parse_args().file
    try:
        seconds = most_a_second(file)
    except (OSError, ValueError, KeyError) as exc:
        raise SystemExit(f"{file} is no file of vidpipe's JSON Lines: {exc}") from None
    for second, people in seconds.items():
        print(f"{second:6d} s  {'#' * people} {people}")


if __name__ == "__main__":
    main()
