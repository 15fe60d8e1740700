"""Each stage of a run alone, in a process of its own, by the product's own code.

    python -m vidpipe.apps.bench.stages

Decoding, resizing into a request's tensor, inference with as many requests as the pool has,
decoding the answers, drawing and encoding: CPU milliseconds a frame, and the frames a second that
each would make if it had the machine to itself. Real pictures of the configuration's own sources
are used throughout. Drawing and encoding are measured also where no output asks for them, to say
what a video would cost; they are no floor then.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, replace

import cv2

from vidpipe.apps.bench.child import answer_order
from vidpipe.apps.bench.floor import with_floor
from vidpipe.apps.bench.job import RunJob, derived_config, job_from_json
from vidpipe.apps.bench.pictures import subjects_of
from vidpipe.apps.bench.rows import StageCost
from vidpipe.apps.bench.runs import started_child
from vidpipe.apps.bench.stagemedia import decode_cost, output_costs
from vidpipe.apps.bench.stagemodel import measure_models
from vidpipe.errors import UsageError

_LONGEST_START_S = 300.0
_STAGES = 6


def measure_stages(job: RunJob, seconds: float) -> list[StageCost]:
    """Measure each stage of a job alone, in a fresh process; the slowest is marked.

    Args:
        job: The run; the outputs count as they stand in the configuration.
        seconds: For each of the six stages.

    Raises:
        UsageError: A stage can't be measured; the text says why.
    """
    order = json.dumps({"job": asdict(job), "seconds": seconds})
    with started_child("vidpipe.apps.bench.stages", order=order) as child:
        answer = child.result(_LONGEST_START_S + 2 * _STAGES * seconds)
    if "error" in answer:
        raise UsageError(answer["error"])
    return with_floor([StageCost(**fields) for fields in answer["result"]])


def stage_costs(job: RunJob, seconds: float) -> list[StageCost]:
    """Measure in this process, which should have nothing else to do.

    Raises:
        VidpipeError: A source, a model or an output fails.
    """
    cv2.setNumThreads(1)
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="vidpipe-stages-") as folder:
        subject = replace(job.subject, with_outputs=True)
        config = derived_config(replace(job, subject=subject, folder=folder))
    subjects = subjects_of(config)
    decode = decode_cost(config, subjects, seconds, cores)
    models = measure_models(config, subjects, seconds, cores)
    outputs = output_costs(config, subjects, models.results, seconds, cores)
    return [decode, *models.costs, *outputs]


def main() -> None:
    """Measure what is ordered on standard input."""
    answer_order(_work)


def _work(line: str) -> list[dict[str, object]]:
    order = json.loads(line)
    job = job_from_json(json.dumps(order["job"]))
    return [asdict(cost) for cost in stage_costs(job, order["seconds"])]


if __name__ == "__main__":
    main()
