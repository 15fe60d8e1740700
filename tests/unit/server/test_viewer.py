from __future__ import annotations

import json
import struct
from datetime import UTC, datetime

from tests.fakes import FakeClock
from vidpipe.server.relay import Parcel
from vidpipe.server.viewer import Outbasket
from vidpipe.shots import Shot


def shot(seq: int, stream: str = "gate", at_s: float | None = None) -> Shot:
    at_s = float(seq) if at_s is None else at_s
    return Shot(stream, seq, datetime(2026, 11, 30, tzinfo=UTC), at_s, 2, 2, {}, b"jpeg")


def payload(frame: bytes | None) -> bytes:
    """Return the message in a frame that isn't long."""
    assert frame is not None
    return frame[2:] if frame[1] < 126 else frame[4:]


def header(frame: bytes | None) -> dict[str, object]:
    message = payload(frame)
    [length] = struct.unpack(">I", message[:4])
    found: dict[str, object] = json.loads(message[4 : 4 + length])
    return found


def test_texts_go_first_and_of_each_kind_only_the_newest(clock: FakeClock) -> None:
    basket = Outbasket(clock)
    basket.credit.watch({"gate": 60.0})
    basket.put_parcel(Parcel(shot(1)))
    written = []

    def write(text: str) -> str:
        written.append(text)
        return text

    for n in range(3):
        basket.put_text("streams", lambda n=n: write(f"streams {n}"))  # type: ignore[misc] # bound
    basket.put_text("layout", lambda: write("layout"))
    assert payload(basket.take()) == b"streams 2"
    assert payload(basket.take()) == b"layout"
    assert written == ["streams 2", "layout"], "what gave way was never written"
    assert header(basket.take())["seq"] == 1
    assert basket.take() is None


def test_a_replay_takes_turns_with_live_pictures_and_needs_no_acknowledgement(
    clock: FakeClock,
) -> None:
    clock.advance(100.0)
    basket = Outbasket(clock)
    basket.credit.watch({"gate": 60.0})
    basket.put_replay("gate", [shot(n, at_s=90.0 + n) for n in range(4)])
    opening = payload(basket.take())
    assert json.loads(opening) == {"type": "replay", "stream": "gate", "count": 4}
    order = []
    for n in range(2):
        basket.put_parcel(Parcel(shot(10 + n, at_s=100.0 + n)))
        order += [header(basket.take()), header(basket.take())]
    assert [one["replay"] for one in order] == [False, True, False, True]
    assert order[1]["age_ms"] == 10_000
    rest = [header(basket.take()) for _ in range(2)]
    assert [one["seq"] for one in rest] == [2, 3]
    assert basket.take() is None


def test_another_replay_takes_the_place_of_one_that_is_under_way(clock: FakeClock) -> None:
    basket = Outbasket(clock)
    basket.put_replay("gate", [shot(1), shot(2), shot(3)])
    basket.take()
    basket.take()
    basket.put_replay("yard", [shot(7, "yard")])
    assert b'"count":1' in payload(basket.take())
    assert header(basket.take())["stream"] == "yard"
    assert basket.take() is None


def test_a_picture_is_packed_once_for_all_pages(clock: FakeClock) -> None:
    parcel = Parcel(shot(1))
    messages = []
    for _ in range(3):
        basket = Outbasket(clock)
        basket.credit.watch({"gate": 60.0})
        basket.put_parcel(parcel)
        messages.append(basket.take())
    assert messages[0] is messages[1] is messages[2]
