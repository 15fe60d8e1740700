from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidpipe.server.wallwords import (
    MOST_BYTES,
    Ack,
    BadMessageError,
    HistoryQuestion,
    LayoutQuestion,
    ReplayQuestion,
    TileWish,
    Watch,
    history_text,
    packed_shot,
    shared_size,
    word_from_text,
)
from vidpipe.shots import Second, Shot, ShotSize

NOW = datetime(2026, 11, 30, 5, 0, 0, 123456, UTC)


def word(**fields: Any) -> object:
    return word_from_text(json.dumps(fields))


def reason_of(text: str) -> str:
    """Return why a message is refused; empty if it isn't."""
    try:
        word_from_text(text)
    except BadMessageError as refusal:
        return str(refusal)
    return ""


def test_the_words_of_a_page() -> None:
    tiles = {
        "gate": {"width": 640, "height": 352.5, "fps": 10},
        "yard-2": {"width": 8, "height": 8, "fps": 0},
    }
    assert word(type="watch", tiles=tiles) == Watch(
        {
            "gate": TileWish(ShotSize(640, 384), 10.0),
            "yard-2": TileWish(ShotSize(32, 32), 0.1),
        }
    )
    assert word(type="watch", tiles={}) == Watch({})
    assert word(type="ack", stream="gate", seq=17, more="ignored") == Ack("gate", 17)
    assert word(type="history", stream="gate") == HistoryQuestion("gate")
    assert word(type="replay", stream="gate") == ReplayQuestion("gate")
    layout = word(
        type="layout", request=3, width=1920, height=1080.5, aspects=[["gate", 1.777], ["b", 1]],
        spotlight=None, page=1,
    )  # fmt: skip
    assert layout == LayoutQuestion(3, 1920, 1080, (("gate", 1.777), ("b", 1.0)), None, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("[]", "no JSON object"),
        ("nul", "no JSON"),
        ("[" * 50_000, "no JSON"),
        ('{"type": "ack", "stream": "gate", "seq": NaN}', "no JSON"),
        ('{"type": "sing"}', "type"),
        ("{}", "type"),
        ('{"type": "ack", "stream": "gate", "seq": -1}', "seq"),
        ('{"type": "ack", "stream": "gate", "seq": 1.5}', "seq"),
        ('{"type": "ack", "stream": "gate", "seq": true}', "seq"),
        ('{"type": "ack", "stream": "gate", "seq": 1e999}', "seq"),
        ('{"type": "ack", "stream": "GATE", "seq": 1}', "stream"),
        ('{"type": "ack", "stream": "../x", "seq": 1}', "stream"),
        ('{"type": "ack", "stream": ["gate"], "seq": 1}', "stream"),
        ('{"type": "watch"}', "tiles"),
        ('{"type": "watch", "tiles": [1]}', "tiles"),
        ('{"type": "watch", "tiles": {"gate": 5}}', "tiles"),
        ('{"type": "watch", "tiles": {"": {"width": 9, "height": 9, "fps": 1}}}', "tiles"),
        ('{"type": "watch", "tiles": {"a": {"width": 99999, "height": 9, "fps": 1}}}', "width"),
        ('{"type": "watch", "tiles": {"a": {"width": 9, "height": "9", "fps": 1}}}', "height"),
        ('{"type": "watch", "tiles": {"a": {"width": 9, "height": 9}}}', "fps"),
        ('{"type": "watch", "tiles": {"a": {"width": 9, "height": 9, "fps": -1}}}', "fps"),
        ('{"type": "layout", "request": 1, "width": 1, "height": 1}', "aspects"),
        ('{"type": "layout", "request": 1, "width": 1, "height": 1, "aspects": [["a"]]}', "each"),
        ('{"type": "layout", "request": 1, "width": 1, "height": 1, "aspects": [["a", 0]]}', "0.0"),
        (
            '{"type": "layout", "request": 1, "width": 1, "height": 1,'
            ' "aspects": [["a", 1], ["a", 1]]}',
            "twice",
        ),
        ('{"type": "layout", "request": 1, "width": 0, "height": 1, "aspects": []}', "width"),
        ('{"type": "history"}', "stream"),
        (" " * (MOST_BYTES + 1), "too long"),
    ],
)  # fmt: skip
def test_what_no_page_says_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadMessageError, match=reason):
        word_from_text(text)


def test_more_tiles_than_a_wall_has_are_refused() -> None:
    wish = {"width": 9, "height": 9, "fps": 1}
    with pytest.raises(BadMessageError):
        word(type="watch", tiles={f"s{n}": wish for n in range(1025)})


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_nothing_else_ever_comes_of_a_message(text: str) -> None:
    assert len(reason_of(text)) < 120, "it goes into a close frame"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "tiles", "stream", "seq", "gate", "width", "height", "fps"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(["watch", "ack", "layout", "history", "replay"]),
    st.dictionaries(
        st.sampled_from(
            ["tiles", "stream", "seq", "request", "width", "height", "aspects", "spotlight", "page"]
        ),
        json_values,
    ),
)
def test_nothing_else_ever_comes_of_a_message_that_is_nearly_right(
    kind: str, fields: dict[str, Any]
) -> None:
    assert len(reason_of(json.dumps({"type": kind, **fields}))) < 120


@given(st.integers(8, 16_384), st.integers(8, 16_384))
def test_near_sizes_are_shared_and_none_is_smaller(width: int, height: int) -> None:
    size = shared_size(width, height)
    assert width <= size.width < width + 32 or size.width == 16_384
    assert height <= size.height < height + 32 or size.height == 16_384
    assert shared_size(size.width, size.height) == size


def test_a_picture_is_its_header_and_its_bytes() -> None:
    shot = Shot("gate", 42, NOW, 5.0, 640, 360, {"person": 2, "собака": 1}, b"\xff\xd8jpeg")
    message = packed_shot(shot, age_s=0.1234)
    [length] = struct.unpack(">I", message[:4])
    assert json.loads(message[4 : 4 + length]) == {
        "stream": "gate",
        "seq": 42,
        "time": "2026-11-30T05:00:00.123Z",
        "age_ms": 123,
        "sent_ms": 5123,
        "width": 640,
        "height": 360,
        "counts": {"person": 2, "собака": 1},
        "replay": False,
    }
    assert message[4 + length :] == b"\xff\xd8jpeg"


def test_a_history_is_told_second_by_second() -> None:
    text = history_text("gate", [Second(NOW, {"person": 2})])
    assert json.loads(text) == {
        "type": "history",
        "stream": "gate",
        "seconds": [{"time": "2026-11-30T05:00:00.123Z", "counts": {"person": 2}}],
    }
