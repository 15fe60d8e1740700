from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.graphs import brittle, plane_means, saved
from vidpipe.errors import InferenceError
from vidpipe.inference.measure import measure_speed
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings


def test_a_model_is_kept_busy_and_its_inferences_are_counted(tmp_path: Path) -> None:
    model = compile_detector(saved(plane_means(), tmp_path), DetectorSettings("m"))
    speed = measure_speed(model, 0.1)
    assert speed.requests == 2 * model.optimal_requests + 1
    assert speed.seconds >= 0.1
    assert speed.inferences_per_s > 10
    assert speed.cpu_ms > 0
    assert speed.device
    assert speed.cores >= 1


def test_a_device_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class White:
        def integers(self, *_: object) -> int:
            return 255

    monkeypatch.setattr(np.random, "default_rng", lambda _seed: White())
    model = compile_detector(saved(brittle(), tmp_path), DetectorSettings("m"))
    with pytest.raises(InferenceError, match="the device failed"):
        measure_speed(model, 0.1)
