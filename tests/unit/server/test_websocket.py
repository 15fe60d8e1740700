from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from vidpipe.server.websocket import frame_from_message


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_a_message_is_the_frame_that_the_library_would_send(length: int) -> None:
    data = bytes(range(256)) * (length // 256) + bytes(length % 256)
    expected = Frame(Opcode.BINARY, data).serialize(mask=False)
    assert frame_from_message(data) == expected
    text = "x" * length
    expected = Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
    assert frame_from_message(text) == expected
