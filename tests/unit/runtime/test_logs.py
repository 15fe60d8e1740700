from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from tests.threads import wait_until
from vidpipe.errors import UsageError
from vidpipe.runtime import logs
from vidpipe.runtime.logs import (
    FILE_ONLY,
    MASK,
    Logging,
    LogWriter,
    redact,
    register_secret,
    warn_plainly,
)


@pytest.fixture(autouse=True)
def no_secret_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_secrets", ())


@pytest.fixture
def logger_is_restored() -> Iterator[None]:
    """Give loguru a handler again after a test of ``Logging``, as it has from the start."""
    yield
    logger.remove()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rtsp://bob:pw@cam/1", f"rtsp://{MASK}@cam/1"),
        ("rtsp://bob@cam/1", f"rtsp://{MASK}@cam/1"),
        ("RTSPS://b:p%40w@cam:322/1?x=1", f"RTSPS://{MASK}@cam:322/1?x=1"),
        ("rtsp://bob:p@ss@cam/1", f"rtsp://{MASK}@cam/1"),
        ("rtsp://bob:p?w#x@cam/1", f"rtsp://{MASK}@cam/1"),
        ("rtsp://bob:pa/ss@cam/1", f"rtsp://{MASK}@cam/1"),
        ("rtsp://bob:/ss@cam/1", f"rtsp://{MASK}@cam/1"),
        ("rtsp://:pw@cam", f"rtsp://{MASK}@cam"),
        ("1rtsp://bob:pw@cam", f"1rtsp://{MASK}@cam"),
        ("'rtsp://a:b@c' and http://d:e@f/g", f"'rtsp://{MASK}@c' and http://{MASK}@f/g"),
        ("a rtsp://b:c@d\nhttp://e:f@g", f"a rtsp://{MASK}@d\nhttp://{MASK}@g"),
        ("http://c/v?user=bob&password=pw&n=1", f"http://c/v?user={MASK}&password={MASK}&n=1"),
        ("http://c/v?Token=abc#end", f"http://c/v?Token={MASK}#end"),
        ("rtsp://ключ:секрет@камера/1", f"rtsp://{MASK}@камера/1"),
    ],
)
def test_what_an_address_tells_in_secret_is_removed(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "rtsp://camera-1.example/stream1",
        "rtsp://camera:554/stream@2",
        "http://[::1]:8080/a@b",
        "http://[fe80::1:2]/a@b",
        "file:///srv/x:y@z.mp4",
        "mail to bob@example.com, 5:1",
        "",
        "ends in ://",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_registered_secrets_are_removed_wherever_they_are() -> None:
    register_secret("hunter2")
    register_secret("hunter2-long")
    register_secret("hunter2")
    assert redact("login hunter2-long, or hunter2!") == f"login {MASK}, or {MASK}!"


def test_texts_that_occur_by_chance_are_no_secrets() -> None:
    register_secret("")
    register_secret("on")
    assert redact("connection on") == "connection on"


@pytest.mark.parametrize("text", ["a" * 300_000, "a@" * 100_000, "://" * 60_000, "x://a:" * 30_000])
def test_a_long_text_is_redacted_in_no_time(text: str) -> None:
    started_at = time.monotonic()
    redact(text)
    assert time.monotonic() - started_at < 2.0


def test_lines_are_written_in_order_and_to_the_last() -> None:
    written: list[str] = []
    writer = LogWriter("test", written.append)
    for number in range(100):
        writer.offer(f"{number}\n")
    writer.close(5)
    assert written == [f"{number}\n" for number in range(100)]


def test_a_held_writer_holds_nobody_and_its_losses_are_told() -> None:
    gate, entered = threading.Event(), threading.Event()
    written: list[str] = []

    def write(line: str) -> None:
        entered.set()
        gate.wait()
        written.append(line)

    writer = LogWriter("test", write, capacity=2)
    writer.offer("first\n")
    assert entered.wait(5)
    for number in range(10):
        writer.offer(f"{number}\n")  # two fit
    writer.close(0.01)  # and nobody waits for a pipe that nobody reads
    gate.set()
    wait_until(lambda: len(written) == 3, "what fitted is written")
    text = "".join(written)
    assert "(8 log lines were lost here" in text
    assert text.startswith("first\n")
    assert text.endswith("1\n")


def test_the_count_of_lost_lines_is_exact_whoever_logs() -> None:
    gate, entered = threading.Event(), threading.Event()
    written: list[str] = []

    def write(line: str) -> None:
        entered.set()
        gate.wait()
        written.append(line)

    writer = LogWriter("test", write, capacity=1)
    writer.offer("x")
    assert entered.wait(5)

    def flood() -> None:
        for _ in range(5000):
            writer.offer("x")

    threads = [threading.Thread(target=flood) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gate.set()
    writer.close(5)
    assert "(19999 log lines were lost here" in "".join(written)


def test_a_write_that_fails_is_a_loss_and_no_end() -> None:
    written: list[str] = []
    failures = [OSError("disk full"), ValueError("closed file")]

    def write(line: str) -> None:
        if failures:
            raise failures.pop()
        written.append(line)

    writer = LogWriter("test", write)
    for line in ("a\n", "b\n", "c\n"):
        writer.offer(line)
    writer.close(5)
    assert written == ["(2 log lines were lost here: nobody read them in time)\nc\n"]


def test_what_is_offered_after_the_end_is_dropped() -> None:
    written: list[str] = []
    writer = LogWriter("test", written.append)
    writer.close(5)
    writer.offer("late")
    assert written == []


@pytest.mark.usefixtures("logger_is_restored")
def test_logging_writes_redacted_lines_to_both_places(tmp_path: Path) -> None:
    register_secret("hunter2")
    lines: list[str] = []
    file = tmp_path / "deep" / "vidpipe.log"
    with Logging(level="INFO", stderr=lines.append, file=file):
        logger.bind(stream="gate").warning("rtsp://bob:pw@cam says {}", "hunter2 {braces}")
        logger.debug("not at this level")
        logger.opt(exception=ValueError("opened rtsp://bob:pw@cam")).error("failed")
    text = "".join(lines)
    assert text == file.read_text(encoding="utf-8")
    assert "WARNING gate: rtsp://***@cam says *** {braces}\n" in text
    assert "ValueError: opened rtsp://***@cam" in text
    assert "pw" not in text
    assert "not at this level" not in text


@pytest.mark.usefixtures("logger_is_restored")
@pytest.mark.usefixtures("logger_is_restored")
def test_a_line_for_the_file_alone_is_not_written_to_stderr(tmp_path: Path) -> None:
    lines: list[str] = []
    file = tmp_path / "run.log"
    with Logging(level="INFO", stderr=lines.append, file=file):
        logger.bind(**{FILE_ONLY: True}).info("for the file")
        logger.info("for both")
    assert len(lines) == 1
    assert "for both" in lines[0]
    assert [line.split("INFO")[1].strip() for line in file.read_text().splitlines()] == [
        "for the file",
        "for both",
    ]


def test_a_log_file_grows_only_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_FILE_BYTES", 2000)
    file = tmp_path / "vidpipe.log"
    with Logging(level="INFO", stderr=lambda _: None, file=file):
        for number in range(300):
            logger.info("line {} é", number)
    found = sorted(tmp_path.iterdir())
    assert 2 <= len(found) <= 6
    assert all(path.stat().st_size <= 2000 for path in found)
    assert "line 299" in file.read_text(encoding="utf-8")


@pytest.mark.usefixtures("logger_is_restored")
def test_a_log_file_on_a_full_disk_harms_nothing() -> None:
    lines: list[str] = []
    with Logging(level="INFO", stderr=lines.append, file=Path("/dev/full")):
        logger.info("watching goes on")
    assert "watching goes on" in "".join(lines)


def test_a_log_file_that_cannot_be_opened_is_a_fault_and_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"telemetry\.log_file"):
        Logging(level="INFO", stderr=lambda _: None, file=tmp_path / "file" / "vidpipe.log")
    assert threading.active_count() == before


@pytest.mark.usefixtures("logger_is_restored")
def test_a_command_without_a_log_says_each_warning_once_and_plainly() -> None:
    lines: list[str] = []
    warn_plainly(lines.append)
    logger.info("read in 0.1 s")
    for _ in range(2):
        logger.warning("3 labels for {} classes: rtsp://bob:pw@cam", 80)
    logger.bind(stream="gate").error("gone")
    assert lines == [
        f"vidpipe: 3 labels for 80 classes: rtsp://{MASK}@cam\n",
        "vidpipe: gate: gone\n",
    ]
