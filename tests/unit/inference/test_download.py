from __future__ import annotations

import base64
import dataclasses
import errno
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.file_server import FileServer, serving_files
from vidpipe.errors import FetchError
from vidpipe.inference import download as module
from vidpipe.inference.catalogue import RemoteFile
from vidpipe.inference.download import WrongFileError, download
from vidpipe.inference.transport import Patience

CONTENT = bytes(range(256)) * 2000
PATIENCE = Patience(silence_s=10, tries=3, pause_s=1, longest_pause_s=30)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving_files() as server:
        yield server


@pytest.fixture
def source(server: FileServer) -> RemoteFile:
    return server.remote("/a/model.bin", CONTENT)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "part"


def fetch(
    source: RemoteFile,
    part: Path,
    patience: Patience = PATIENCE,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[float]:
    """Download without waiting, and return the pauses that would have been made."""
    pauses: list[float] = []
    tell = progress or (lambda step, done, total: None)
    download(source, part, tell, patience=patience, pause=pauses.append)
    return pauses


def ranges(server: FileServer) -> list[str | None]:
    return [one.headers.get("Range") for one in server.asked]


def test_a_file_arrives_whole_and_its_progress_is_told(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    told: list[tuple[str, int, int]] = []
    assert fetch(source, part, progress=lambda *step: told.append(step)) == []
    assert part.read_bytes() == CONTENT
    assert [path.name for path in part.parent.iterdir()] == ["part"]
    assert told[-1] == ("downloading model.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert server.asked[0].headers["User-Agent"] == "vidpipe"


def test_a_connection_that_is_cut_is_taken_up_where_it_ended(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.cuts = [200_000, 150_000]
    assert fetch(source, part) == [1, 1]
    assert part.read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=200000-", "bytes=350000-"]
    assert server.asked[1].headers["If-Range"] == '"one"'
    assert server.sent == len(CONTENT)


def test_what_has_come_is_kept_for_the_next_time(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.cuts = [100_000]
    with pytest.raises(FetchError, match="cut after 100000 of 512000 bytes"):
        fetch(source, part, dataclasses.replace(PATIENCE, tries=1))
    assert part.stat().st_size == 100_000
    fetch(source, part)
    assert part.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


def test_an_interrupt_keeps_what_has_come(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    def interrupt(step: str, done_bytes: int, total_bytes: int) -> None:
        del step, total_bytes
        if done_bytes >= 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(source, part, progress=interrupt)
    have = part.stat().st_size
    assert 100_000 <= have < len(CONTENT)
    fetch(source, part)
    assert part.read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={have}-"]


def test_a_server_that_knows_no_ranges_gives_the_whole_again(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.knows_ranges = False
    server.cuts = [200_000]
    fetch(source, part)
    assert part.read_bytes() == CONTENT


def test_an_answer_from_another_place_of_the_file_is_not_used(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    part.write_bytes(CONTENT[:1000])
    server.headers = {"Content-Range": "bytes 999-511999/512000"}
    fetch(source, part)
    assert part.read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-", None]


def test_what_is_left_of_an_older_version_is_dropped_at_once(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    part.write_bytes(b"?" * 2000)
    part.with_name("part.version").write_text('"zero"')
    server.cuts = [1000]
    fetch(source, part)
    assert part.read_bytes() == CONTENT
    assert ranges(server) == ["bytes=2000-", "bytes=1000-"]


def test_a_file_that_has_changed_meanwhile_is_taken_from_its_beginning(
    server: FileServer, part: Path
) -> None:
    old = server.remote("/a/model.bin", bytes(len(CONTENT)))
    server.cuts = [200_000]
    with pytest.raises(FetchError):
        fetch(old, part, dataclasses.replace(PATIENCE, tries=1))
    source, server.etag = server.remote("/a/model.bin", CONTENT), '"two"'
    fetch(source, part)
    assert part.read_bytes() == CONTENT
    assert len(server.asked) == 2


@pytest.mark.parametrize("left", [1000, len(CONTENT), len(CONTENT) + 5])
def test_what_was_left_of_another_file_is_dropped(
    source: RemoteFile, part: Path, left: int
) -> None:
    part.write_bytes(b"?" * left)
    fetch(source, part)
    assert part.read_bytes() == CONTENT


def test_a_whole_file_left_by_an_earlier_try_needs_no_network(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    part.write_bytes(CONTENT)
    fetch(source, part)
    assert server.asked == []


def test_wrong_content_leaves_nothing(server: FileServer, source: RemoteFile, part: Path) -> None:
    server.files["/a/model.bin"] = CONTENT[:-1] + b"?"
    with pytest.raises(WrongFileError, match=f"expected {source.sha256}"):
        fetch(source, part)
    assert list(part.parent.iterdir()) == []
    assert len(server.asked) == 1


def test_a_page_instead_of_the_file_is_said_to_be_one(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.files["/a/model.bin"] = b"<html>please log in</html>"
    server.headers = {"Content-Type": "text/html; charset=utf-8"}
    with pytest.raises(WrongFileError, match="26 bytes, expected 512000: a page instead"):
        fetch(source, part)
    assert list(part.parent.iterdir()) == []


@pytest.mark.parametrize("says_length", [True, False])
def test_more_than_the_file_is_cut_off(
    server: FileServer,
    source: RemoteFile,
    part: Path,
    says_length: bool,  # noqa: FBT001 - a column of the table
) -> None:
    if says_length:
        server.files["/a/model.bin"] = CONTENT * 20
    server.says_length = says_length
    server.endless = True
    with pytest.raises(WrongFileError, match=r"bytes, expected 512000"):
        fetch(source, part)
    assert list(part.parent.iterdir()) == []


def test_a_resumed_answer_of_another_size_is_refused(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.cuts = [200_000]
    with pytest.raises(FetchError):
        fetch(source, part, dataclasses.replace(PATIENCE, tries=1))
    server.files["/a/model.bin"] = CONTENT + b"more"
    with pytest.raises(WrongFileError, match="512004 bytes, expected 512000"):
        fetch(source, part)


def test_a_server_whose_file_is_shorter_than_what_has_come_is_asked_anew(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    part.write_bytes(CONTENT[:1000])
    server.files["/a/model.bin"] = CONTENT[:500]
    with pytest.raises(WrongFileError, match="500 bytes"):
        fetch(source, part)
    assert ranges(server) == ["bytes=1000-", None]


def test_failures_in_a_row_are_counted_and_the_pauses_grow(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.statuses = [503, 500]
    assert fetch(source, part) == [1, 2]
    server.statuses = [503] * 5
    part.unlink()
    server.asked.clear()
    with pytest.raises(FetchError, match="answers 503"):
        fetch(source, part)
    assert len(server.asked) == PATIENCE.tries


def test_a_server_that_cuts_after_a_few_bytes_is_given_up(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.cuts = [10] * 100
    with pytest.raises(FetchError, match="cut after 30 of"):
        fetch(source, part)
    assert len(server.asked) == PATIENCE.tries


def test_the_server_says_when_to_come_again(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    server.statuses = [429, 503]
    server.headers = {"Retry-After": "7"}
    assert fetch(source, part) == [7, 7]
    server.headers = {"Retry-After": "86400"}
    server.statuses = [429]
    part.unlink()
    assert fetch(source, part) == [PATIENCE.longest_pause_s]


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "has no such file"), (403, "refuses access"), (401, "NAME:PASSWORD@"), (407, "proxy")],
)
def test_a_refusal_is_final_and_said_in_plain_words(
    server: FileServer, source: RemoteFile, part: Path, status: int, said: str
) -> None:
    server.statuses = [status]
    with pytest.raises(FetchError, match=said) as caught:
        fetch(source, part)
    assert len(server.asked) == 1
    assert isinstance(caught.value, WrongFileError) == (status == 404)


def test_a_silent_server_is_given_up(server: FileServer, source: RemoteFile, part: Path) -> None:
    server.hangs = True
    begun = time.monotonic()
    with pytest.raises(FetchError, match="doesn't answer in time"):
        fetch(source, part, Patience(silence_s=0.2, tries=2, pause_s=0))
    assert len(server.asked) == 2
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize("drips_head", [False, True])
def test_a_trickle_is_given_up(
    server: FileServer,
    source: RemoteFile,
    part: Path,
    drips_head: bool,  # noqa: FBT001 - a column of the table
) -> None:
    server.drip_s = 0.02
    server.drips_head = drips_head
    slow = Patience(silence_s=10, window_s=0.3, window_bytes=1000, tries=1)
    with pytest.raises(FetchError, match=r"too slow: \d+ bytes in 0 seconds"):
        fetch(source, part, slow)


def test_a_server_that_is_not_there_is_said(part: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://robot:hunter2@127.0.0.1:{closed.getsockname()[1]}/model.bin"
        with pytest.raises(FetchError, match="refuses the connection") as caught:
            fetch(RemoteFile(url, 1, ""), part)
    assert "hunter2" not in str(caught.value)
    assert "--from FOLDER" in str(caught.value)


def test_redirects_are_followed_so_far(server: FileServer, source: RemoteFile, part: Path) -> None:
    server.redirects = {"/moved": "/a/model.bin", "/round": "/round"}
    fetch(dataclasses.replace(source, url=f"{server.url}/moved"), part)
    assert part.read_bytes() == CONTENT
    part.unlink()
    server.asked.clear()
    with pytest.raises(FetchError, match="302"):
        fetch(dataclasses.replace(source, url=f"{server.url}/round"), part)
    assert len(server.asked) <= 6
    server.redirects = {f"/{step}": f"/{step + 1}" for step in range(9)}
    server.asked.clear()
    with pytest.raises(FetchError, match="302"):
        fetch(dataclasses.replace(source, url=f"{server.url}/0"), part)
    assert len(server.asked) == 6


def test_a_redirect_out_of_the_web_is_not_followed(
    server: FileServer, source: RemoteFile, part: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(CONTENT)
    for target in (
        (tmp_path / "secret").as_uri(),
        "odd://me:hunter2@host/a",
        "ftp://me:hunter2@h/",
    ):
        server.redirects = {"/a/model.bin": target}
        with pytest.raises(FetchError, match=r"not (allowed|safe)") as caught:
            fetch(source, part)
        assert "hunter2" not in str(caught.value)


def test_a_name_and_password_go_to_their_server_alone(
    server: FileServer, source: RemoteFile, part: Path
) -> None:
    with serving_files() as other:
        other.files["/model.bin"] = CONTENT
        server.redirects = {"/a/model.bin": f"{other.url}/model.bin"}
        url = source.url.replace("http://", "http://robot:p%40ss@")
        fetch(dataclasses.replace(source, url=url), part)
        told = server.asked[0].headers["Authorization"].removeprefix("Basic ")
        assert base64.b64decode(told) == b"robot:p@ss"
        assert "Authorization" not in other.asked[0].headers


def test_a_proxy_of_the_environment_is_obeyed(
    server: FileServer, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = server.remote("/model.bin", CONTENT)
    elsewhere = dataclasses.replace(source, url="http://models.invalid/model.bin")
    monkeypatch.setenv("http_proxy", server.url)
    fetch(elsewhere, part)
    assert server.paths() == ["http://models.invalid/model.bin"]
    part.unlink()
    monkeypatch.setenv("no_proxy", "models.invalid")
    with pytest.raises(FetchError, match=r"models\.invalid is a name that can't be resolved"):
        fetch(elsewhere, part)


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("https_proxy", f"http://me:hunter2@127.0.0.1:{port}")
        with pytest.raises(FetchError, match=f"through the proxy .*127.0.0.1:{port}") as caught:
            fetch(RemoteFile("https://models.invalid/model.bin", 1, ""), part)
    assert "hunter2" not in str(caught.value)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Make a certificate for localhost that nobody has signed, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl")
    path = tmp_path / "localhost.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(path), "-out", str(tmp_path / "certificate")]
    subprocess.run(["openssl", *words.split(), *names, *files], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + (tmp_path / "certificate").read_bytes())
    return path


def test_a_certificate_is_checked_and_may_be_added(
    certificate: Path, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_files(certificate) as server:
        source = server.remote("/model.bin", CONTENT)
        with pytest.raises(FetchError, match=r"certificate of localhost is not trusted") as caught:
            fetch(source, part)
        assert "SSL_CERT_FILE" in str(caught.value)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.parent / "certificate"))
        fetch(source, part)
        assert part.read_bytes() == CONTENT
        part.unlink()
        server.redirects = {"/model.bin": "http://localhost/model.bin"}
        with pytest.raises(FetchError, match="not safe"):
            fetch(source, part)


def test_a_full_disk_is_said_before_and_while_it_fills(
    source: RemoteFile, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FetchError, match="free some space"):
        fetch(dataclasses.replace(source, size=1 << 60), part)

    def full(file: int, data: bytes) -> None:
        os.write(file, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_write_all", full)
    with pytest.raises(FetchError, match="No space left on device; free some space"):
        fetch(source, part)
    assert not part.exists()


def test_a_place_that_cannot_be_written_is_an_error(source: RemoteFile, part: Path) -> None:
    part.mkdir()
    with pytest.raises(FetchError, match="can't be written"):
        fetch(source, part)


def test_a_file_of_this_machine_is_copied(source: RemoteFile, part: Path, tmp_path: Path) -> None:
    original = tmp_path / "größe 1.bin"
    original.write_bytes(CONTENT)
    local = dataclasses.replace(source, url=original.as_uri())
    fetch(local, part)
    assert part.read_bytes() == CONTENT
    original.write_bytes(CONTENT[:-1])
    with pytest.raises(WrongFileError, match="511999 bytes, expected 512000"):
        fetch(local, part)
    original.unlink()
    with pytest.raises(WrongFileError, match="No such file"):
        fetch(local, part)
