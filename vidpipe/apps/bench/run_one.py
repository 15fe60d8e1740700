"""One run in a process of its own: a ``RunJob`` on standard input, one line of JSON as the answer.

    python -m vidpipe.apps.bench.run_one

So memory, threads, CPU time and the compiled model are this run's alone.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from vidpipe.apps.bench.child import answer_order
from vidpipe.apps.bench.job import RunJob, RunResult, derived_config, job_from_json
from vidpipe.apps.pipeline import Pipeline
from vidpipe.errors import VidpipeError
from vidpipe.runtime.durations import Durations, together
from vidpipe.runtime.meters import StreamStats
from vidpipe.runtime.supervisor import take_short_turns

_FIRST_RESULT_S = 60.0
_TICK_S = 0.02

_PARTS = {
    "vp-cap-": "decode",
    "vp-disp-": "dispatch",
    "vp-work-": "boxes",
    "vp-video-": "encode",
}
"""What threads do, by the beginning of their names."""

_FFMPEG = "av:"
"""What FFmpeg calls its decoding threads."""


@dataclass(frozen=True, slots=True)
class _Moment:
    at_s: float
    stats: Mapping[str, StreamStats]
    cpu_s: float
    cpu_of_thread: Mapping[int, float]
    machine_busy_s: float


def main() -> None:
    """Measure and answer."""
    take_short_turns()
    answer_order(lambda order: asdict(measure(job_from_json(order))))


def measure(job: RunJob) -> RunResult:
    """Run a job and count.

    Raises:
        ConfigError: A setting isn't right.
        ModelError: The model can't be run so.
        VidpipeError: Something failed, or nothing came in time; the text says what.
    """
    began_at = time.monotonic()
    pipeline = Pipeline(derived_config(job))
    pipeline.start(with_results=False)
    _await_results(pipeline)
    startup_s = time.monotonic() - began_at
    _run(pipeline, job.warmup_s)
    first = _moment(pipeline)
    _run(pipeline, job.seconds)
    return _result(pipeline, first, _moment(pipeline), startup_s)


def _await_results(pipeline: Pipeline) -> None:
    deadline = time.monotonic() + _FIRST_RESULT_S
    while not all(stats.processed for stats in pipeline.stats().values()):
        _run(pipeline, _TICK_S)
        if time.monotonic() > deadline:
            late = [name for name, stats in pipeline.stats().items() if not stats.processed]
            raise VidpipeError(f"no result of {', '.join(late)} within {_FIRST_RESULT_S:g} s")


def _run(pipeline: Pipeline, seconds: float) -> None:
    is_over = pipeline.wait(seconds)
    if failures := pipeline.failures:
        raise VidpipeError("; ".join(dict.fromkeys(map(str, failures))))
    if is_over:
        raise VidpipeError("the sources ended before the run had been measured")


def _moment(pipeline: Pipeline) -> _Moment:
    return _Moment(time.monotonic(), pipeline.stats(), _cpu_s(), _cpu_of_threads(), _busy_s())


def _result(pipeline: Pipeline, first: _Moment, last: _Moment, startup_s: float) -> RunResult:
    seconds = last.at_s - first.at_s
    pairs = {name: (first.stats[name], stats) for name, stats in last.stats.items()}
    processed = {name: new.processed - old.processed for name, (old, new) in pairs.items()}
    if not any(processed.values()):
        raise VidpipeError(f"no frame was processed in {seconds:.1f} s: measure longer (--seconds)")
    age = together(new.age.since(old.age) for old, new in pairs.values())
    cpu_of, busiest_s = _cpu_by_part(first.cpu_of_thread, last.cpu_of_thread)
    infos = {name: report.info for name, report in pipeline.reports().items()}
    rates = [info.rate_fps for info in infos.values() if info and info.rate_fps]
    return RunResult(
        seconds=seconds,
        frames=sum(processed.values()),
        captured_of={name: new.captured - old.captured for name, (old, new) in pairs.items()},
        dropped=sum(_dropped(new) - _dropped(old) for old, new in pairs.values()),
        fps_of={name: count / seconds for name, count in processed.items()},
        cpu_s=last.cpu_s - first.cpu_s,
        cpu_of=cpu_of,
        busiest_s=busiest_s,
        others_cpu_s=max(
            0.0, last.machine_busy_s - first.machine_busy_s - last.cpu_s + first.cpu_s
        ),
        p50_ms=_quantile_ms(age, 0.5),
        p95_ms=_quantile_ms(age, 0.95),
        p99_ms=_quantile_ms(age, 0.99),
        rss_mb=_rss_mb(),
        threads=len(last.cpu_of_thread),
        requests=sum(sum(pool.requests.values()) for pool in pipeline.pools()),
        startup_s=startup_s,
        source_fps=sum(rates) / len(rates) if rates else 0.0,
        devices=_devices(pipeline),
        source_of={
            name: f"{info.width}x{info.height} {info.codec}" if info else ""
            for name, info in infos.items()
        },
    )


def _devices(pipeline: Pipeline) -> dict[str, str]:
    """Return the devices in use, by name, with their full names."""
    known = pipeline.models(compares=False).values()
    return {name: full for model in known for name, full in model["device_names"].items()}


def _quantile_ms(age: Durations, share: float) -> float:
    return 1000 * (age.quantile_s(share) or 0.0)


def _dropped(stats: StreamStats) -> int:
    return sum(stats.dropped.values())


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _busy_s() -> float:
    """Return the CPU seconds that the whole machine has worked; 0 where it doesn't say."""
    try:
        fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    # proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are in the first two
    worked = [int(field) for number, field in enumerate(fields[:8]) if number not in (3, 4)]
    return sum(worked) / os.sysconf("SC_CLK_TCK")


def _rss_mb() -> float:
    """Return what is resident now; the peak would be the compiler's."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _cpu_of_threads() -> dict[int, float]:
    """Return the CPU seconds of every thread so far, native ones too, by the system's number."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            fields = (task / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        # proc(5): utime and stime are the 14th and 15th of all, the name being the second
        found[int(task.name)] = (int(fields[11]) + int(fields[12])) / ticks
    return found


def _cpu_by_part(
    first: Mapping[int, float], last: Mapping[int, float]
) -> tuple[dict[str, float], float]:
    """Return the CPU seconds of each part, and of the busiest thread that decodes."""
    ours = {thread.native_id: thread.name for thread in threading.enumerate()}
    used: dict[str, float] = defaultdict(float)
    busiest_s = 0.0
    for number, cpu_s in last.items():
        spent_s = cpu_s - first.get(number, 0.0)
        part = _part_of(ours.get(number), number)
        used[part] += spent_s
        if part == "decode":
            busiest_s = max(busiest_s, spent_s)
    return dict(used), busiest_s


def _part_of(name: str | None, number: int) -> str:
    if name is not None:
        return next((part for start, part in _PARTS.items() if name.startswith(start)), "other")
    try:
        native = Path(f"/proc/self/task/{number}/comm").read_text("utf-8", "replace")
    except OSError:
        return "other"
    # What else is native belongs to the device's plugin.
    return "decode" if native.startswith(_FFMPEG) else "inference"


if __name__ == "__main__":
    main()
