"""How fast the zoo's models are here: those in the cache, and those that VIDPIPE_TEST_DATA has.

    python -m tests.bench.bench_zoo [--seconds 2] [--rounds 5] [--cache-dir DIR] [NAME ...]

The models take turns, a round each, so that all of them meet the same neighbours on the machine;
the best round counts for inferences a second, and the median for CPU milliseconds an inference. The
catalogue's `measured` comes from here, on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from statistics import median

from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.catalogue import ZooEntry, catalogue, find_model, known_file
from vidpipe.inference.measure import Speed, measure_speed
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.inference.zoo import is_fetched, model_file


def at_hand(cache_dir: Path) -> dict[str, Path]:
    """Return the files of the models that are on this machine, by name."""
    found = {
        entry.name: model_file(entry, cache_dir)
        for entry in catalogue()
        if is_fetched(entry, cache_dir)
    }
    data = os.environ.get("VIDPIPE_TEST_DATA")
    for path in sorted(Path(data).glob("models/*/*.xml")) if data else ():
        entry: ZooEntry | None = known_file(path)
        if entry is not None:
            found.setdefault(entry.name, path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these models")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache-dir", type=Path, default=default_cache_dir())
    options = parser.parse_args()
    wanted = {find_model(name).name for name in options.names}
    paths = {
        name: path
        for name, path in at_hand(options.cache_dir).items()
        if not wanted or name in wanted
    }
    models: dict[str, CompiledDetector] = {
        name: compile_detector(path, DetectorSettings(name)) for name, path in paths.items()
    }
    speeds: dict[str, list[Speed]] = {name: [] for name in models}
    for _ in range(options.rounds):
        for name, model in models.items():
            speeds[name].append(measure_speed(model, options.seconds))
    rows = []
    for name, rounds in speeds.items():
        best = max(rounds, key=lambda speed: speed.inferences_per_s)
        cpu_ms = median(speed.cpu_ms for speed in rounds)
        print(
            f"{name}: {best.inferences_per_s:.0f} inferences/s at best of {len(rounds)} rounds,"
            f" {cpu_ms:.2f} ms of CPU each, {best.device}, {best.cores} cores"
        )
        rows.append({"name": name, "fps": best.inferences_per_s, "cpu_ms_per_frame": cpu_ms})
    print(json.dumps({"load": os.getloadavg()[0], "rows": rows}))


if __name__ == "__main__":
    main()
