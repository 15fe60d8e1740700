from __future__ import annotations

import pytest

from tests.config_files import load, one_stream
from tests.overviews import make_report
from vidpipe.apps.muster import Muster
from vidpipe.errors import UsageError
from vidpipe.types import StreamState

CONFIG = load(one_stream("connect: {open_timeout_s: 4}"))
DOWN = make_report(StreamState.CONNECTING)
UP = make_report(StreamState.LIVE)


def test_who_is_there_in_time_may_go_away_later() -> None:
    muster = Muster(CONFIG, 100.0)
    muster.check({"gate": DOWN}, 104.0)
    muster.check({"gate": UP}, 104.2)
    muster.check({"gate": DOWN}, 200.0)


def test_who_is_missing_when_its_time_is_over_is_named() -> None:
    muster = Muster(CONFIG, 100.0)
    with pytest.raises(UsageError, match="gate: ") as caught:
        muster.check({"gate": DOWN}, 104.5)
    assert caught.value.exit_code == 2
