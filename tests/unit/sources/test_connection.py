from __future__ import annotations

import socket

import pytest

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.connection import (
    ADVICE,
    Backoff,
    Endpoint,
    cause_of_errno,
    cause_of_error,
    classify_open_failure,
    endpoint_of,
    failure,
    is_timeout,
    probe_endpoint,
    require_resolvable,
)


@pytest.mark.parametrize(
    ("attempt", "jitter", "delay_s"),
    [(0, 0.0, 0.25), (0, 1.0, 0.5), (1, 1.0, 1.0), (3, 0.5, 3.0), (6, 1.0, 30.0), (9, 0.0, 15.0)],
)
def test_the_wait_doubles_up_to_its_cap_and_is_spread(
    attempt: int, jitter: float, delay_s: float
) -> None:
    assert Backoff(0.5, 30.0).delay_s(attempt, jitter) == pytest.approx(delay_s)


def test_a_camera_that_is_away_for_months_still_has_a_wait() -> None:
    assert Backoff().delay_s(10**9, 1.0) == 30.0
    assert Backoff().delay_s(-1, 1.0) == 0.5


def test_a_cap_below_the_first_wait_is_raised_to_it() -> None:
    assert Backoff(5.0, 1.0).delay_s(4, 1.0) == 5.0


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("rtsp://cam/x", Endpoint("cam", 554)),
        ("rtsp://u:p%40@cam:8554/x", Endpoint("cam", 8554)),
        ("RTSPS://cam/x", Endpoint("cam", 322)),
        ("http://[::1]:81/x", Endpoint("::1", 81)),
        ("https://cam", Endpoint("cam", 443)),
        ("udp://239.0.0.1:1234", None),
        ("srt://cam:9000", None),
        ("rtsp:///x", None),
    ],
)
def test_an_address_says_where_it_connects_to(url: str, endpoint: Endpoint | None) -> None:
    assert endpoint_of(url) == endpoint


@pytest.mark.parametrize("url", ["rtsp://u:secret@[::1/x", "rtsp://u:secret@h:99999/x"])
def test_an_impossible_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        endpoint_of(url)
    assert caught.value.cause is SourceCause.FORMAT
    assert "secret" not in str(caught.value)


def test_a_listening_port_is_reachable_and_a_closed_one_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert probe_endpoint(Endpoint("127.0.0.1", port), 1.0) is None
    assert probe_endpoint(Endpoint("127.0.0.1", port), 1.0) is SourceCause.REFUSED


@pytest.mark.parametrize("host", ["nope.invalid", "a..b", "x" * 300])
def test_a_name_that_does_not_resolve_is_named_as_the_cause(host: str) -> None:
    assert probe_endpoint(Endpoint(host, 80), 5.0) is SourceCause.NAME_RESOLUTION
    with pytest.raises(SourceError) as caught:
        require_resolvable(Endpoint(host, 80), f"rtsp://bob:secret@{host}/x", 5.0)
    assert caught.value.cause is SourceCause.NAME_RESOLUTION
    assert "secret" not in str(caught.value)


class AuthError(OSError):
    """Stands where PyAV's class of the same name would."""


AuthError.__name__ = "HTTPUnauthorizedError"


@pytest.mark.parametrize(
    ("exc", "cause"),
    [
        (TimeoutError("x"), SourceCause.TIMEOUT),
        (AuthError("x"), SourceCause.AUTHENTICATION),
        (ConnectionRefusedError(111, "x"), SourceCause.REFUSED),
        (OSError(113, "x"), SourceCause.UNREACHABLE),
        (OSError(5, "x"), None),
        (ValueError("x"), None),
    ],
)
def test_an_error_says_as_much_as_it_can(exc: Exception, cause: SourceCause | None) -> None:
    assert cause_of_error(exc) is cause


def test_an_unknown_number_says_nothing() -> None:
    assert cause_of_errno(None) is None
    assert cause_of_errno(5) is None


def test_what_fails_late_was_silence_and_what_fails_early_was_not() -> None:
    assert is_timeout(1.7, 2.0)
    assert not is_timeout(1.0, 2.0)


@pytest.mark.parametrize(
    ("hint", "elapsed_s", "cause"),
    [
        (SourceCause.AUTHENTICATION, 9.0, SourceCause.AUTHENTICATION),
        (SourceCause.FORMAT, 0.1, SourceCause.FORMAT),
        (SourceCause.FORMAT, 4.9, SourceCause.TIMEOUT),
        (None, 0.1, SourceCause.LOST),
        (None, 4.9, SourceCause.TIMEOUT),
        (SourceCause.TIMEOUT, 0.1, SourceCause.TIMEOUT),
    ],
)
def test_the_clock_decides_where_the_library_is_vague(
    hint: SourceCause | None, elapsed_s: float, cause: SourceCause
) -> None:
    found = classify_open_failure(
        hint=hint, elapsed_s=elapsed_s, timeout_s=5.0, endpoint=None, probe_s=0.1
    )
    assert found is cause


def test_the_probe_overrules_a_vague_library() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = classify_open_failure(
        hint=None,
        elapsed_s=0.0,
        timeout_s=5.0,
        endpoint=Endpoint("127.0.0.1", port),
        probe_s=1.0,
    )
    assert found is SourceCause.REFUSED


@pytest.mark.parametrize("cause", [cause for cause in SourceCause if cause in ADVICE])
def test_every_failure_gives_advice_and_hides_the_password(cause: SourceCause) -> None:
    error = failure("rtsp://bob:secret@cam/x", cause, "at rtsp://bob:secret@cam/x")
    assert error.cause is cause
    assert "secret" not in str(error)
    assert "cam/x" in str(error)


def test_an_endpoint_is_written_as_in_an_address() -> None:
    assert str(Endpoint("::1", 80)) == "[::1]:80"
    assert str(Endpoint("cam", 80)) == "cam:80"


@pytest.mark.parametrize(
    ("cause", "attempt", "rest_s"),
    [
        (SourceCause.LOST, 0, 0.5),
        (SourceCause.LOST, 50, 30.0),
        (SourceCause.AUTHENTICATION, 0, 60.0),
        (SourceCause.NOT_FOUND, 2, 2.0),
        (SourceCause.NOT_FOUND, 3, 60.0),
    ],
)
def test_what_somebody_must_put_right_is_tried_seldom(
    cause: SourceCause, attempt: int, rest_s: float
) -> None:
    assert Backoff(0.5, 30.0).rest_s(cause, attempt, 1.0) == rest_s
