"""One run of a configuration, measured from the start of its threads: prints a line of JSON.

python -m tests.bench.measured CONFIG.yml [SECONDS]
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from pathlib import Path

from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.status import StatusBoard
from vidpipe.config.load import load_config


def main() -> None:
    """Run the configuration to its end, or for so many seconds."""
    config = load_config(Path(sys.argv[1]))
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else None
    sys.setswitchinterval(0.001)
    pipeline = Pipeline(config)
    before = resource.getrusage(resource.RUSAGE_SELF)
    started_at = time.monotonic()
    board = StatusBoard(pipeline, started_at)
    pipeline.start(with_results=False)
    pipeline.wait(seconds)
    threads = threading.active_count()
    pipeline.close()
    wall_s = time.monotonic() - started_at
    after = resource.getrusage(resource.RUSAGE_SELF)
    rows = board.whole_run(started_at + wall_s)
    stats = [row.stats for row in rows]
    p95 = [row.age.quantile_s(0.95) or 0.0 for row in rows]
    print(
        json.dumps(
            {
                "frames": sum(one.processed for one in stats),
                "captured": sum(one.captured for one in stats),
                "dropped": sum(sum(one.dropped.values()) for one in stats),
                "in_flight": sum(one.in_flight for one in stats),
                "detections": sum(one.detections for one in stats),
                "failures": [failure.error for failure in pipeline.failures],
                "lost": pipeline.lost,
                "seconds": wall_s,
                "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                "rss_mb": after.ru_maxrss / 1024,
                "p95_ms": max(p95) * 1000,
                "threads": threads,
            }
        )
    )


if __name__ == "__main__":
    main()
