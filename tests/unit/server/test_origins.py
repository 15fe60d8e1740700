from __future__ import annotations

import pytest

from vidpipe.server.origins import has_own_origin, is_from_elsewhere


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (b"http://cam.example", b"cam.example"),
        (b"http://cam.example:8080", b"cam.example:8080"),
        (b"https://cam.example", b"cam.example:443"),
        (b"http://Cam.Example", b"cam.example:80"),
        (b"https://cam.example", b"cam.example"),
        (b"http://[::1]:8080", b"[::1]:8080"),
    ],
)
def test_a_page_of_its_own(origin: bytes, host: bytes) -> None:
    headers = {b"origin": origin, b"host": host}
    assert has_own_origin(headers)
    assert not is_from_elsewhere(headers)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (b"http://cam.example", b"cam.example:8080"),
        (b"http://cam.example:8081", b"cam.example:8080"),
        (b"http://cam.example.evil", b"cam.example"),
        (b"http://evil/cam.example", b"cam.example"),
        (b"http://cam.example@evil", b"cam.example"),
        (b"null", b"cam.example"),
        (b"null", b""),
        (b"file://", b""),
        (b"http://", b""),
        (b"chrome-extension://cam.example", b"cam.example"),
        (b"https://cam.example:80", b"cam.example"),
        (b"", b"cam.example"),
    ],
)
def test_a_page_of_another(origin: bytes, host: bytes) -> None:
    headers = {b"origin": origin, b"host": host}
    assert not has_own_origin(headers)
    assert is_from_elsewhere(headers)


def test_what_the_browser_says_of_itself_counts_first() -> None:
    own = {b"origin": b"http://a", b"host": b"a"}
    assert is_from_elsewhere({**own, b"sec-fetch-site": b"cross-site"})
    assert is_from_elsewhere({**own, b"sec-fetch-site": b"same-site"})
    assert not is_from_elsewhere({b"sec-fetch-site": b"same-origin", b"host": b"a"})
    assert not is_from_elsewhere({b"sec-fetch-site": b"none"})


def test_a_program_says_nothing() -> None:
    assert not is_from_elsewhere({b"host": b"a"})
