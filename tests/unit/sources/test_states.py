from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import make_source
from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.states import LEGAL_MOVES, IllegalMoveError, SourceStates
from vidpipe.types import StreamState

LOST = SourceError("rtsp://bob:pw@cam/x was lost", SourceCause.LOST)
REFUSED = SourceError("wrong password", SourceCause.AUTHENTICATION)
DAY = datetime(2026, 3, 1, tzinfo=UTC)

MOVES: dict[StreamState, Callable[[SourceStates], None]] = {
    StreamState.CONNECTING: lambda states: states.connect(),
    StreamState.LIVE: lambda states: states.come_up(make_source(is_live=True), 1.0),
    StreamState.BACKING_OFF: lambda states: states.rest(LOST),
    StreamState.FAILED: lambda states: states.fail(REFUSED),
    StreamState.ENDED: lambda states: states.end("stopped"),
    StreamState.DISABLED: lambda states: states.disable(),
}
WAYS: dict[StreamState, tuple[StreamState, ...]] = {
    StreamState.CONNECTING: (),
    StreamState.LIVE: (StreamState.LIVE,),
    StreamState.STALLED: (StreamState.LIVE,),
    StreamState.BACKING_OFF: (StreamState.BACKING_OFF,),
    StreamState.FAILED: (StreamState.FAILED,),
    StreamState.ENDED: (StreamState.ENDED,),
    StreamState.DISABLED: (StreamState.DISABLED,),
}


def ticking() -> Callable[[], datetime]:
    moments = iter(DAY + timedelta(seconds=number) for number in range(100))
    return lambda: next(moments)


def in_state(state: StreamState) -> SourceStates:
    states = SourceStates(ticking())
    for step in WAYS[state]:
        MOVES[step](states)
    if state is StreamState.STALLED:
        states.stall("nothing comes")
    assert states.state is state
    return states


@pytest.mark.parametrize("after", MOVES)
@pytest.mark.parametrize("before", StreamState)
def test_only_legal_moves_are_made(before: StreamState, after: StreamState) -> None:
    states = in_state(before)
    if after is before or after in LEGAL_MOVES[before]:
        MOVES[after](states)
        assert states.state is after
    else:
        with pytest.raises(IllegalMoveError, match=str(after)):
            MOVES[after](states)
        assert states.state is before


def test_every_state_can_be_reached_and_left() -> None:
    assert set(LEGAL_MOVES) == set(StreamState)
    assert set().union(*LEGAL_MOVES.values()) == set(StreamState)


def test_a_move_has_its_time_and_its_cause_without_secrets() -> None:
    states = in_state(StreamState.LIVE)
    states.rest(LOST)
    *_, live, down = states.moves()
    assert (live.state, live.at) == (StreamState.LIVE, DAY + timedelta(seconds=1))
    assert (down.state, down.cause) == (StreamState.BACKING_OFF, SourceCause.LOST)
    report = states.report()
    assert report.since == down.at == DAY + timedelta(seconds=2)
    assert report.cause is SourceCause.LOST
    assert report.error == report.detail == down.detail == "rtsp://***@cam/x was lost"
    assert report.has_been_up


def test_why_it_is_down_stays_known_until_a_frame_comes() -> None:
    states = in_state(StreamState.BACKING_OFF)
    states.connect()
    assert (states.report().error is not None, states.report().cause) == (True, SourceCause.LOST)
    states.come_up(make_source(is_live=True), 7.0)
    report = states.report()
    assert (report.error, report.cause, report.last_frame_at) == (None, None, 7.0)


def test_to_stay_is_no_move() -> None:
    states = in_state(StreamState.LIVE)
    since = states.report().since
    states.come_up(make_source(is_live=True), 2.0)
    assert states.report().since == since
    assert len(states.moves()) == 2


@pytest.mark.parametrize("state", [s for s in StreamState if s is not StreamState.LIVE])
def test_only_what_is_live_can_stall(state: StreamState) -> None:
    states = in_state(state)
    states.stall("nothing comes")
    assert states.state is state


def test_the_moves_of_months_are_not_kept() -> None:
    states = SourceStates()
    for _ in range(1000):
        states.rest(LOST)
        states.connect()
    assert len(states.moves()) < 100


def test_frozen_is_said_beside_the_state_and_ends_with_the_connection() -> None:
    states = in_state(StreamState.LIVE)
    states.freeze("the same picture")
    assert (states.report().is_frozen, states.state) == (True, StreamState.LIVE)
    states.thaw()
    assert not states.report().is_frozen
    states.freeze("the same picture")
    states.rest(LOST)
    assert not states.report().is_frozen
