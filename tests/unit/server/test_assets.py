from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.servers import TOKENS, served
from tests.web import ask, connected
from tests.web_page import Page as ReadPage
from vidpipe.server.assets import FOLDER, MEDIA_TYPES, asset_pages

MODULES = sorted(path.name for path in FOLDER.glob("*.js"))
PAGE = (FOLDER / "index.html").read_text("utf-8")


def test_the_page_and_its_files_have_their_types_and_may_be_kept_if_asked_for_again() -> None:
    with served() as url:
        for path, media_type in [
            ("/", "text/html; charset=utf-8"),
            ("/static/main.js", "text/javascript; charset=utf-8"),
            ("/static/look.css", "text/css; charset=utf-8"),
            ("/static/icon.svg", "image/svg+xml"),
        ]:
            reply = ask(url + path)
            assert reply.status == 200
            assert reply.headers["content-type"] == media_type
            assert reply.headers["cache-control"] == "no-cache"
            again = ask(url + path, If_None_Match=reply.headers["etag"])
            assert again.status == 304
            assert again.body == b""
            assert ask(url + path, If_None_Match='"other"').status == 200


def test_the_policy_forbids_all_but_the_packages_own_files_and_this_hosts_sockets() -> None:
    with served() as url:
        policy = ask(url).headers["content-security-policy"]
    host = url.removeprefix("http://")
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert f"connect-src 'self' ws://{host} wss://{host};" in policy


def test_a_host_that_is_none_gets_into_no_policy() -> None:
    with served(tokens=TOKENS) as url, connected(url) as client:
        client.sendall(
            b"GET / HTTP/1.1\r\nHost: a;script-src *\r\nAuthorization: Bearer look-at-it\r\n"
            b"Connection: close\r\n\r\n"
        )
        answer = b""
        while part := client.recv(65_536):
            answer += part
    assert b"script-src *" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/index.html",
        "/static/../service.py",
        "/static/%2e%2e/service.py",
        "/static/..%2fservice.py",
        "/static//etc/passwd",
        "/static/main.js/",
        "/static/main.js%00.css",
        "/static/main.py",
    ],
)
def test_nothing_else_is_there(path: str) -> None:
    with served() as url, connected(url) as client:
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        assert b" 404 " in client.recv(4096).partition(b"\r\n")[0]


def test_with_tokens_the_page_is_for_who_may_look_and_its_files_are_for_all() -> None:
    with served(tokens=TOKENS) as url:
        assert ask(f"{url}/").status == 401
        assert ask(f"{url}/static/login.css").status == 200
        assert ask(url, Authorization="Bearer look-at-it").status == 200


def test_every_file_of_the_folder_is_served() -> None:
    paths = {page.path for page in asset_pages()}
    assert paths == {
        "/" if path.name == "index.html" else f"/static/{path.name}" for path in FOLDER.iterdir()
    }
    assert all(Path(path).suffix in MEDIA_TYPES for path in paths - {"/"})


def test_the_page_has_no_inline_script_or_style_and_no_address_of_another_host() -> None:
    read = ReadPage(PAGE)
    assert "style" not in read.tags
    for tag, name, value in read.attributes:
        assert name != "style"
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href"):
            assert value.startswith("/"), value
            assert not value.startswith("//")
    assert re.findall(r"<script[^>]*>", PAGE) == ['<script type="module" src="/static/main.js">']


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_a_file_names_no_other_host(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    found = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)
    assert [address for address in found if "www.w3.org" not in address] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_is_there_and_says_first_what_it_is(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert text.startswith("// ")
    for imported in re.findall(r'from "([^"]+)"', text):
        assert imported.startswith("./")
        assert imported[2:] in MODULES
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in text, f"a camera's name could become HTML: {word}"
    assert len(text.splitlines()) <= 400


def test_every_button_of_the_page_has_a_name() -> None:
    for attributes, content in re.findall(r"<button([^>]*)>([^<]*)</button>", PAGE):
        is_filled_later = 'id="confirm-yes"' in attributes
        assert "aria-label=" in attributes or content.strip() or is_filled_later


def luminance(color: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    channels = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["ground", "raised", "lifted"])
@pytest.mark.parametrize("ink", ["text", "soft", "accent", "good", "slow", "bad", "off"])
def test_text_stands_out_from_what_it_stands_on(ink: str, ground: str) -> None:
    look = (FOLDER / "look.css").read_text("utf-8")
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", look))
    assert contrast(colors[ink], colors[ground]) >= 4.5
