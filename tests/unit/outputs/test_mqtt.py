from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker import Broker, broker, free_port, has_mosquitto, subscriber
from tests.certificates import Certificates, has_openssl, make_certificates
from tests.postroom import make_event, post_room
from tests.threads import running, wait_until
from vidpipe.outputs.courier import Courier, CourierState
from vidpipe.outputs.mqtt import MqttEndpoint, MqttSettings

pytestmark = [
    pytest.mark.mqtt,
    pytest.mark.skipif(not has_mosquitto(), reason="needs mosquitto"),
]
TOPICS = {"gate/mqtt": "site/gate/events"}
USER, WORD = "wächter", "p@ss:wörd/#%"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Broker]:
    with broker(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if not has_openssl():
        pytest.skip("needs the program openssl")
    return make_certificates(tmp_path_factory.mktemp("ca"))


def courier_to(
    port: int,
    *,
    host: str = "127.0.0.1",
    username: str | None = None,
    password: str | None = None,
    tls: ssl.SSLContext | None = None,
    status_topic: str | None = None,
    timeout_s: float = 1.0,
) -> Courier:
    settings = MqttSettings(host, port, username, password, tls, status_topic, timeout_s)
    return Courier(MqttEndpoint(settings, TOPICS), ["gate/mqtt"], backoff_s=(0.05, 0.2))


def numbers(count: int) -> list[int]:
    return list(range(count))


def test_events_arrive_in_order_with_their_topic(place: Broker, tmp_path: Path) -> None:
    with subscriber(place) as heard, post_room(tmp_path / "o.db", [courier_to(place.port)]) as room:
        for number in range(100):
            room.outbox.put(make_event(number))
        room.drain()
        wait_until(lambda: len(heard.events) == 100, "all arrive")
        assert [event["frame"] for event in heard.events] == numbers(100)
        assert {topic for topic, _, _ in heard.messages} == {"site/gate/events"}
    assert room.books.delivered == {"gate/mqtt": 100}
    assert (room.outbox.left, room.books.lost) == (0, {})


def storm(
    place: Broker, tmp_path: Path, *, seconds: float, away: tuple[float, float], how: str
) -> None:
    """Make 50 events a second, take the broker away for a while, and see that all arrive."""
    count = round(50 * seconds)
    gone, back = (round(50 * moment) for moment in away)
    pace = threading.Event()
    with subscriber(place) as heard, post_room(tmp_path / "o.db", [courier_to(place.port)]) as room:
        for number in range(count):
            if number == gone:
                place.freeze() if how == "frozen" else place.stop()
            if number == back:
                place.thaw() if how == "frozen" else place.start()
            room.outbox.put(make_event(number))
            pace.wait(0.02)
        wait_until(lambda: len(heard.events) == count, f"all {count} arrive", 60.0)
        assert [event["frame"] for event in heard.events] == numbers(count)
        room.drain()
    assert room.books.delivered == {"gate/mqtt": count}
    assert (room.outbox.left, room.outbox.lost_at_end, room.books.lost) == (0, 0, {})


@pytest.mark.parametrize("how", ["frozen", "stopped"])
def test_a_broker_that_is_away_for_seconds_gets_everything_in_order(
    how: str, place: Broker, tmp_path: Path
) -> None:
    storm(place, tmp_path, seconds=5, away=(1, 4), how=how)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["frozen", "stopped"])
def test_a_broker_that_is_away_for_a_minute_gets_everything_in_order(
    how: str, place: Broker, tmp_path: Path
) -> None:
    storm(place, tmp_path, seconds=70, away=(5, 65), how=how)


def test_a_password_over_tls_is_taken(tmp_path: Path, certificates: Certificates) -> None:
    tls = ssl.create_default_context(cafile=str(certificates.ca))
    with (
        broker(tmp_path, USER, WORD, certificates) as place,
        subscriber(place) as heard,
        post_room(
            tmp_path / "o.db",
            [courier_to(place.port, host="localhost", username=USER, password=WORD, tls=tls)],
        ) as room,
    ):
        room.outbox.put(make_event())
        wait_until(lambda: len(heard.events) == 1, "it arrives")


def test_a_wrong_password_is_told_and_the_event_kept(tmp_path: Path, log_lines: list[str]) -> None:
    with broker(tmp_path, USER, WORD) as place:
        courier = courier_to(place.port, username=USER, password="wrong-word")
        with post_room(tmp_path / "o.db", [courier]) as room:
            room.outbox.put(make_event())
            wait_until(lambda: courier.state is CourierState.DOWN, "it is refused")
            room.drain()
        assert room.outbox.left == 1
        with (
            subscriber(place) as heard,
            post_room(tmp_path / "o.db", [courier_to(place.port, username=USER, password=WORD)]),
        ):
            wait_until(lambda: len(heard.events) == 1, "the next start delivers it")
    text = "\n".join(log_lines)
    assert "the broker refuses the user name or the password" in text
    assert "wrong-word" not in text
    assert USER not in text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_certificate_that_is_not_trusted_is_told(
    tmp_path: Path, certificates: Certificates, log_lines: list[str]
) -> None:
    with broker(tmp_path, certificates=certificates) as place:
        courier = courier_to(place.port, host="localhost", tls=ssl.create_default_context())
        with post_room(tmp_path / "o.db", [courier]):
            wait_until(lambda: courier.state is CourierState.DOWN, "it isn't trusted")
    assert any("its certificate isn't trusted" in line for line in log_lines)


def test_nobody_at_the_port_is_told_and_stopping_is_quick(
    tmp_path: Path, log_lines: list[str]
) -> None:
    courier = courier_to(free_port(), timeout_s=30.0)
    with post_room(tmp_path / "o.db", [courier]):
        wait_until(lambda: courier.state is CourierState.DOWN, "it is refused")
    assert any("Connection refused" in line for line in log_lines)


def test_a_silent_broker_holds_no_stop(place: Broker, tmp_path: Path) -> None:
    courier = courier_to(place.port, timeout_s=60.0)
    with post_room(tmp_path / "o.db", [courier]) as room:
        wait_until(lambda: courier.state is CourierState.UP, "it connects")
        place.freeze()
        room.outbox.put(make_event())
        wait_until(lambda: len(courier._unsettled) == 1, "it waits, up to a minute")
    assert room.outbox.left == 1


def test_the_status_topic_tells_who_is_there(place: Broker, tmp_path: Path) -> None:
    courier = courier_to(place.port, status_topic="site/status")
    with subscriber(place, "site/status") as heard:
        with running(courier.run):
            wait_until(lambda: len(heard.messages) == 1, "it says that it is there")
            courier.stop()
        wait_until(lambda: len(heard.messages) == 2, "it says that it goes")
    assert [payload for _, payload, _ in heard.messages] == [b"online", b"offline"]


def test_the_last_will_speaks_for_who_was_cut_off(place: Broker, tmp_path: Path) -> None:
    endpoint = MqttEndpoint(
        MqttSettings("127.0.0.1", place.port, status_topic="site/status"), TOPICS
    )
    with subscriber(place, "site/status") as heard:
        endpoint.tend()
        wait_until(lambda: len(heard.messages) == 1, "it says that it is there")
        endpoint._drop()
        wait_until(lambda: len(heard.messages) == 2, "the broker notices")
    assert heard.messages[-1][1] == b"offline"
