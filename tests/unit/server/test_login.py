"""The login as a browser has it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browsers import Browser
from tests.servers import TOKENS, served
from tests.web import ask, sent
from vidpipe.server.login import inner_target
from vidpipe.version import __version__


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Yield a browser at a server with tokens."""
    with served(tokens=TOKENS) as url:
        yield Browser(url)


def test_a_page_leads_to_the_login_and_the_login_to_the_page(browser: Browser) -> None:
    away = browser.get("/api/streams?x=1&y=%2F")
    assert away.status == 303
    location = urlsplit(away.headers["location"])
    target = parse_qs(location.query)["next"][0]
    assert (location.path, target) == ("/login", "/api/streams?x=1&y=%2F")
    page = browser.get(away.headers["location"])
    assert page.status == 200
    assert 'value="/api/streams?x=1&amp;y=%2F"' in page.text
    back = browser.post("/login", {"token": "look-at-it", "next": target})
    assert (back.status, back.headers["location"]) == (303, target)
    assert browser.get(target).document["streams"]


def test_the_form_works_without_scripts_and_forbids_others(browser: Browser) -> None:
    page = browser.get("/login")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script" not in page.text
    assert " style=" not in page.text
    policy = page.headers["content-security-policy"]
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"


def test_the_cookie_is_no_token_and_is_kept_from_scripts(browser: Browser) -> None:
    browser.log_in(" change-it ")
    (cookie,) = browser.set_cookies
    value, *attributes = cookie.split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes  # nobody would send it back over plain HTTP
    assert "change" not in value
    assert value.startswith(f"vidpipe-{urlsplit(browser.origin).port}=")
    other = Browser(browser.origin)
    other.log_in("change-it")
    assert other.cookies != browser.cookies


def test_the_role_is_that_of_the_token(browser: Browser) -> None:
    for token, role in (("look-at-it", "viewer"), ("change-it", "operator")):
        browser.log_in(token)
        document = browser.get("/api/me").document
        assert document == {"role": role, "login": True, "version": __version__}


def test_a_second_login_of_a_browser_ends_the_first(browser: Browser) -> None:
    browser.log_in("change-it")
    first = dict(browser.cookies)
    browser.log_in("wrong")
    assert browser.get("/api/me").document["role"] == "operator"
    browser.log_in("look-at-it")
    assert browser.get("/api/me").document["role"] == "viewer"
    browser.cookies = first
    assert browser.get("/api/me").status == 303


def test_a_wrong_token_is_told_and_gives_nothing(browser: Browser) -> None:
    page = browser.log_in("chänge-it")
    assert page.status == 401
    assert 'role="alert"' in page.text
    assert "nge-it" not in page.text
    assert not browser.set_cookies
    assert browser.log_in("").status == 401


def test_a_program_gets_no_form(browser: Browser) -> None:
    for accept in ("", "*/*", "application/json"):
        reply = ask(f"{browser.origin}/api/streams", accept=accept)
        assert (reply.status, "error" in reply.document) == (401, True)
    script = browser.get("/api/streams", sec_fetch_mode="cors")
    assert script.status == 401
    assert ask(f"{browser.origin}/login", method="POST", body=b"{}").status == 401


@pytest.mark.parametrize("cookie", ["x", "", "%00", "a" * 200, "é"])
def test_a_made_up_cookie_is_none(browser: Browser, cookie: str) -> None:
    browser.cookies[f"vidpipe-{urlsplit(browser.origin).port}"] = cookie.encode().decode("latin-1")
    assert browser.get("/api/me").status == 303


def test_a_logout_ends_the_session_on_both_sides(browser: Browser) -> None:
    browser.log_in("look-at-it")
    kept = dict(browser.cookies)
    away = browser.post("/logout")
    assert (away.status, away.headers["location"]) == (303, "/login")
    assert not browser.cookies
    browser.cookies = kept
    assert browser.get("/api/me").status == 303


def test_who_is_logged_in_is_not_asked_again(browser: Browser) -> None:
    browser.log_in("look-at-it")
    reply = browser.get("/login?next=/metrics")
    assert (reply.status, reply.headers["location"]) == (303, "/metrics")


def test_without_tokens_there_is_no_login() -> None:
    with served() as url:
        browser = Browser(url)
        assert browser.get("/login").status == 303
        assert browser.log_in("anything").status == 303
        assert not browser.set_cookies
        assert browser.get("/api/me").document["login"] is False


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "///evil.example",
        "http://evil.example/",
        "https:evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\tevil",
        "/\n/evil.example",
        "\x00/",
        "evil.example",
        "",
        "/login",
        "/login?next=/login",
        "/logout",
    ],
)
def test_a_login_leads_to_no_other_server(browser: Browser, target: str) -> None:
    reply = browser.post("/login", {"token": "look-at-it", "next": target})
    assert (reply.status, reply.headers["location"]) == (303, "/")


@pytest.mark.parametrize("target", ["/", "/?group=yard", "/api/streams/a/b?x=//y#z", "/%2F%2Fx"])
def test_a_page_of_its_own_is_gone_back_to(target: str) -> None:
    assert inner_target(target) == target


def test_a_target_is_no_markup(browser: Browser) -> None:
    page = browser.get("/login?next=/%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script" not in page.text


@pytest.mark.parametrize(
    "body",
    [
        b"token=" + b"&a=b" * 50,
        b"%ff%fe=%ff&token=%ff",
        b"\xff\xfe\x00",
        b"token",
        b"",
    ],
)
def test_odd_forms_are_refused(browser: Browser, body: bytes) -> None:
    length = str(len(body)).encode()
    head = (
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: "
    )
    reply = sent(browser.origin, head + length + b"\r\n\r\n" + body)
    assert reply.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))


def test_another_kind_of_body_is_no_login(browser: Browser) -> None:
    reply = browser.post("/login", content_type="application/json")
    assert reply.status == 415


# ---- Guessing ----------------------------------------------------------------------------------


def test_guessing_is_slowed_down_by_address(browser: Browser, log_lines: list[str]) -> None:
    browser.log_in("look-at-it")
    statuses = [browser.log_in(f"guess-{n}").status for n in range(25)]
    assert statuses[:20] == [401] * 20
    assert statuses[-1] == 429
    page = browser.log_in("change-it")  # the right one, but nobody looks
    assert page.status == 429
    assert int(page.headers["retry-after"]) >= 1
    bearer = ask(f"{browser.origin}/api/me", authorization="Bearer change-it")
    assert bearer.status == 429
    assert browser.get("/api/me").status == 200  # who is in stays in
    assert ask(f"{browser.origin}/healthz").status == 200
    warned = [line for line in log_lines if "wrong token" in line]
    assert len(warned) == 1
    assert "guess" not in "".join(log_lines)


def test_wrong_headers_count_as_guesses(browser: Browser) -> None:
    me = f"{browser.origin}/api/me"
    statuses = [ask(me, authorization=f"Bearer {n}").status for n in range(25)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert browser.log_in("look-at-it").status == 429


def test_another_address_is_not_locked_out_with_it() -> None:
    with served(host="0.0.0.0", tokens=TOKENS) as url:
        port = urlsplit(url).port
        one, other = Browser(f"http://127.0.0.1:{port}"), Browser(f"http://127.0.0.2:{port}")
        one.source = "127.0.0.1"
        other.source = "127.0.0.2"
        while one.log_in("guess").status != 429:
            pass
        assert other.log_in("look-at-it").status == 303


def test_the_form_is_dressed_for_who_is_not_in_yet(browser: Browser) -> None:
    sheet = browser.get("/static/login.css", accept="text/css")
    assert (sheet.status, sheet.headers["content-type"]) == (200, "text/css; charset=utf-8")
