from __future__ import annotations

import pytest

from vidpipe.server.access import Access, Role

GUARDED = Access([(Role.VIEWER, b"look"), (Role.OPERATOR, b"change"), (Role.OPERATOR, b"both"),
                  (Role.VIEWER, b"both"), (Role.VIEWER, "Schlüssel".encode())])  # fmt: skip


@pytest.mark.parametrize(
    ("authorization", "role"),
    [
        (b"Bearer look", Role.VIEWER),
        (b"bearer  look ", Role.VIEWER),
        (b"BEARER change", Role.OPERATOR),
        (b"Bearer both", Role.OPERATOR),
        ("Bearer Schlüssel".encode(), Role.VIEWER),
        (b"Bearer lookx", None),
        (b"Bearer loo", None),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"look", None),
        (b"Basic look", None),
        (b"", None),
        (None, None),
        (b"\xff\xfe", None),
    ],
)
def test_a_token_gives_its_role(authorization: bytes | None, role: Role | None) -> None:
    assert GUARDED.role_of(authorization) is role


@pytest.mark.parametrize("authorization", [None, b"Bearer anything"])
def test_without_tokens_whoever_reaches_it_may_all(authorization: bytes | None) -> None:
    assert Access().role_of(authorization) is Role.OPERATOR


@pytest.mark.parametrize(
    "host",
    [None, b"127.0.0.1", b"127.0.0.1:8080", b"localhost:8080", b"[::1]:80", b"[::1]", b"::1"],
)
def test_a_name_of_this_machine_is_taken(host: bytes | None) -> None:
    assert Access().takes_host(host)


@pytest.mark.parametrize(
    "host",
    [b"", b"evil.example", b"evil.example:8080", b"127.0.0.1.evil.example", b"10.0.0.1", b"\xff"],
)
def test_without_tokens_another_name_is_refused(host: bytes) -> None:
    assert not Access().takes_host(host)
    assert GUARDED.takes_host(host)
