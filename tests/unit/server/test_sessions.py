from __future__ import annotations

import asyncio

import pytest

from vidpipe.server import sessions as module
from vidpipe.server.access import Role
from vidpipe.server.sessions import IDLE_S, Sessions


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        """Begin at some moment."""
        self.now = 100.0

    def __call__(self) -> float:
        """Return it."""
        return self.now


def test_a_number_is_found_among_other_cookies_and_only_whole() -> None:
    table = Sessions("vidpipe-80")
    number = table.begin(Role.VIEWER)
    for header in (
        f"vidpipe-80={number}",
        f"a=b; vidpipe-80={number}; c=d",
        f"vidpipe-80=old; vidpipe-80={number}",
    ):
        session = table.find(header.encode())
        assert session is not None
        assert session.role is Role.VIEWER
    for header in (
        f"xvidpipe-80={number}",
        f"vidpipe-800={number}",
        f"vidpipe-80={number}x",
        f"vidpipe-80={number[:-1]}",
        f"vidpipe-80={number.swapcase()}",
        number,
        "",
    ):
        assert table.find(header.encode()) is None
    assert table.find(None) is None


def test_the_table_does_not_hold_the_numbers() -> None:
    table = Sessions("x")
    assert table.begin(Role.VIEWER).encode() not in repr(vars(table)).encode()


def test_one_that_nobody_uses_is_over() -> None:
    clock = Clock()
    table = Sessions("x", clock)
    cookie = f"x={table.begin(Role.OPERATOR)}".encode()
    for _ in range(3):
        clock.now += IDLE_S - 1
        assert table.find(cookie) is not None
    clock.now += IDLE_S + 1
    assert table.find(cookie) is None


def test_an_open_connection_uses_it() -> None:
    clock = Clock()
    table = Sessions("x", clock)
    cookie = f"x={table.begin(Role.VIEWER)}".encode()

    async def watch() -> None:
        session = table.find(cookie)
        assert session is not None
        with table.using(session):
            clock.now += 100 * IDLE_S
            assert table.find(cookie) is session

    asyncio.run(watch())
    clock.now += IDLE_S - 1
    assert table.find(cookie) is not None


def test_its_end_ends_what_is_under_way() -> None:
    table = Sessions("x")
    cookie = f"x={table.begin(Role.VIEWER)}".encode()

    async def watch(has_begun: asyncio.Event) -> None:
        session = table.find(cookie)
        assert session is not None
        with table.using(session):
            has_begun.set()
            await asyncio.Event().wait()

    async def run() -> None:
        has_begun = asyncio.Event()
        task = asyncio.create_task(watch(has_begun))
        await has_begun.wait()
        table.end(cookie)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert table.find(cookie) is None


def test_the_request_that_ends_it_is_answered() -> None:
    table = Sessions("x")
    cookie = f"x={table.begin(Role.VIEWER)}".encode()

    async def log_out() -> str:
        session = table.find(cookie)
        assert session is not None
        with table.using(session):
            table.end(cookie)
            await asyncio.sleep(0)
            return "answered"

    assert asyncio.run(log_out()) == "answered"


def test_of_too_many_the_least_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 5)
    table = Sessions("x")
    cookies = [f"x={table.begin(Role.VIEWER)}".encode() for _ in range(5)]
    assert table.find(cookies[0]) is not None
    newest = f"x={table.begin(Role.VIEWER)}".encode()
    assert table.find(cookies[1]) is None
    assert all(table.find(cookie) for cookie in (cookies[0], *cookies[2:], newest))
