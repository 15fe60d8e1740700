from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.clips import write_clip
from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.opening import SourceSpec, kind_of, open_reader
from vidpipe.types import SourceKind


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("clip.mp4", SourceKind.FILE),
        ("/a/12:30.mp4", SourceKind.FILE),
        ("12:30.mp4", SourceKind.FILE),
        ("file:///a/b.mp4", SourceKind.FILE),
        ("rtsp://cam/x", SourceKind.NETWORK),
        ("HTTPS://cam/x.mp4", SourceKind.NETWORK),
        ("srt://cam:9000", SourceKind.NETWORK),
        ("device:0", SourceKind.DEVICE),
        ("synthetic:people", SourceKind.SYNTHETIC),
    ],
)
def test_an_address_says_its_kind(url: str, kind: SourceKind) -> None:
    assert kind_of(url) is kind


def test_an_unknown_scheme_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SourceError, match="rtsp") as caught:
        kind_of("gopher://bob:secret@cam/x")
    assert caught.value.cause is SourceCause.FORMAT
    assert "secret" not in str(caught.value)


def test_every_kind_is_opened_by_its_reader(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a b%20c.mp4")
    for url, kind in (
        (str(clip), SourceKind.FILE),
        (f"file://{str(clip).replace('%', '%25').replace(' ', '%20')}", SourceKind.FILE),
        (f"file://localhost{str(clip).replace('%', '%25')}", SourceKind.FILE),
        ("synthetic:blank?size=64x48", SourceKind.SYNTHETIC),
    ):
        reader = open_reader(SourceSpec(url, kind_of(url)))
        assert reader.info.kind is kind
        decoded = reader.read()
        assert decoded is not None
        assert decoded.picture.size_wh == (64, 48)
        reader.close()


def test_failures_come_through_with_their_causes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for url, cause in (
        (str(tmp_path / "no.mp4"), SourceCause.NOT_FOUND),
        (f"rtsp://127.0.0.1:{port}/x", SourceCause.REFUSED),
        ("device:987", SourceCause.NOT_FOUND),
        ("synthetic:cats", SourceCause.FORMAT),
    ):
        with pytest.raises(SourceError) as caught:
            open_reader(SourceSpec(url, kind_of(url)))
        assert caught.value.cause is cause


def test_a_specification_shows_no_password() -> None:
    assert "secret" not in repr(SourceSpec("rtsp://bob:secret@cam/x", SourceKind.NETWORK))
