from __future__ import annotations

import pytest

from tests.config_files import fault_of, load, one_stream
from vidpipe.config.address import masked, source_fault, source_kind, with_credentials


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("clip.mp4", "file"),
        ("folder with spaces/क्लिप 1.mp4", "file"),
        ("a/b:c.mp4", "file"),
        ("12:30.mp4", "file"),
        ("file:///srv/a.mp4", "file"),
        ("rtsp://cam/x", "network"),
        ("RTSP://cam/x", "network"),
        ("http://[::1]:8080/x?y=z", "network"),
        ("udp://@239.0.0.1:5000", "network"),
        ("udp://:5000", "network"),
        ("srt://:9000?mode=listener", "network"),
        ("device:0", "device"),
        ("device:/dev/video2", "device"),
        ("device:0?size=1280x720&fps=12.5&format=mjpg&backend=any", "device"),
        ("synthetic:people?size=64x64&fps=5", "synthetic"),
    ],
)
def test_an_address_has_a_kind_and_no_fault(text: str, kind: str) -> None:
    assert source_kind(text) == kind
    assert source_fault(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("rstp://cam/x", "did you mean 'rtsp://'"),
        ("ftp://cam/x", "known ones: rtsp://"),
        ("rtsp:/cam/x", "begins with rtsp://"),
        ("rtsp://", "names no host"),
        ("rtsp:///x", "names no host"),
        ("rtsp://cam:port/x", "port"),
        ("rtsp://cam:0/x", "port"),
        ("rtsp://cam:70000/x", "port"),
        ("rtsp://user:pa/ss@cam/x", "percent-encode"),
        ("rtsp://my cam/x", "space"),
        ("rtsp://cam/a\nb", "control"),
        ("device:", "device:0"),
        ("device:front", "device:0"),
        ("device:0?size=big", "size: expected width x height"),
        ("device:0?zoom=2", "known: size, fps, format, backend"),
        ("device:0?siz=1x1", "did you mean 'size'"),
        ("device:0?", "known: size"),
        ("device:/dev/video0?backend=dos", "v4l2 or any"),
        ("file://x.mp4", "file:///"),
    ],
)
def test_a_wrong_address_is_refused_and_says_how(text: str, words: str) -> None:
    wrong = source_fault(text)
    assert wrong is not None
    assert words in wrong
    assert "pa/ss" not in wrong


@pytest.mark.parametrize(
    ("url", "user", "word", "expected"),
    [
        ("rtsp://cam/x", "admin", "p@ss/w:o#r?d% $", "rtsp://admin:p%40ss%2Fw%3Ao%23r%3Fd%25%20%24@cam/x"),
        ("rtsp://a:b@cam:554/x", None, None, "rtsp://a:b@cam:554/x"),
        ("rtsp://a:b@cam/x", "c", None, "rtsp://c:b@cam/x"),
        ("rtsp://a:b@cam/x", None, "d", "rtsp://a:d@cam/x"),
        ("rtsp://a@cam/x", None, "é", "rtsp://a:%C3%A9@cam/x"),
        ("rtsp://a:50%off@cam/x", None, None, "rtsp://a:50%25off@cam/x"),
        ("rtsp://a:p%40s@cam/x", None, None, "rtsp://a:p%40s@cam/x"),
        ("rtsp://a:p@s@cam/x", None, None, "rtsp://a:p%40s@cam/x"),
        ("rtsp://a:p$s%@cam/x@y", None, None, "rtsp://a:p$s%25@cam/x@y"),
        ("udp://@239.0.0.1:5000", None, None, "udp://@239.0.0.1:5000"),
        ("clip.mp4", "a", "b", "clip.mp4"),
    ],
)  # fmt: skip
def test_credentials_are_merged_into_the_url(
    url: str, user: str | None, word: str | None, expected: str
) -> None:
    assert with_credentials(url, user, word) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rtsp://admin:hunter2@cam/x",
        "rtsp://admin:hunter2@cam/x@y",
        "rtsp://admin:hun/hunter2@cam/x",
        "rtsp://admin:p@hunter2@cam",
        "see rtsp://admin:hunter2@cam/x and http://a:hunter2@b",
        "http://cam/snap?user=a&pwd=hunter2",
        "rtsp://cam/user=admin_password=hunter2",
        "http://cam/x?TOKEN=hunter2#f",
    ],
)
def test_passwords_of_urls_are_masked(text: str) -> None:
    assert "hunter2" not in masked(text)
    assert "cam" in masked(text)


def test_what_is_no_password_is_left_alone() -> None:
    for text in ("rtsp://host:554/path@2x", "a:b@c", "http://cam/x?size=5", "rtsp://cam/x"):
        assert masked(text) == text


def test_a_stream_gives_its_url_and_what_may_be_shown_of_it() -> None:
    text = one_stream('connect: {username: "a b", password: "${P}"}').replace(
        "clip.mp4", '"rtsp://x:y@cam:554/s"'
    )
    stream = load(text, environ={"P": "p/w"}).streams[0]
    assert stream.url() == "rtsp://a%20b:p%2Fw@cam:554/s"
    assert stream.source_shown == "rtsp://x:***@cam:554/s"
    assert (stream.kind, stream.is_live, stream.title) == ("network", True, "gate")


def test_a_source_is_checked_at_its_place() -> None:
    fault = fault_of(one_stream().replace("clip.mp4", "rstp://cam/x"))
    assert (fault.place, fault.key) == ("c.yml:4:22", "streams[0].source")


def test_a_file_played_as_a_camera_is_live() -> None:
    assert not load(one_stream()).streams[0].is_live
    assert load(one_stream("realtime: true")).streams[0].is_live
