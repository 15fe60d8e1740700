"""Logging that waits for nothing and tells no secret.

Stages log through loguru; a log sink here only appends to a bounded channel, and a thread of its
own writes. A full pipe on standard error or a slow disk delays that thread alone: what doesn't fit
is counted, and said later.

Secrets are removed twice: what stands before the ``@`` of any address by its form, and every text
that was registered (passwords and tokens of the configuration, plain and percent-encoded) by its
value.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from vidpipe.errors import UsageError
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.supervisor import ThreadGroup

if TYPE_CHECKING:
    from loguru import Message, Record

MASK = "***"
FILE_ONLY = "file_only"
"""Bound to a line (``logger.bind(file_only=True)``) that a terminal shows in a form of its own."""
_USERINFO = re.compile(r"(://)(?:[^\s/]*|[^\s/:@\[]*:(?!\d+[/?#])[^\s@]{0,256})@")
"""Without the scheme, which would be looked for in vain at every letter of a long text. A raw slash
in a password is no end of it, unless what stands before it can be a port."""
_QUERY_SECRET = re.compile(
    r"(?i)([?&](?:password|passwd|pwd|token|secret|api_?key|auth|user(?:name)?)=)[^\s&#]*"
)
_SHORTEST_SECRET = 3
"""Shorter texts occur in every line by chance; the form of an address still hides them there."""

_LINES_HELD = 2000
_FILE_BYTES = 10_000_000
_FILES_KEPT = 5

_lock = threading.Lock()
_secrets: tuple[str, ...] = ()
"""The one piece of state in this package: whatever logs, on any thread, must know the secrets."""


def register_secret(text: str) -> None:
    """Let ``redact`` remove a text from now on; may be called from any thread."""
    global _secrets  # noqa: PLW0603 - see above
    if len(text) < _SHORTEST_SECRET:
        return
    with _lock:
        # Longest first, so that a password that contains another leaves no rest.
        _secrets = tuple(sorted({*_secrets, text}, key=lambda secret: (-len(secret), secret)))


def registered_secrets() -> tuple[str, ...]:
    """Return all texts that ``redact`` removes, for another process of vidpipe's own."""
    return _secrets


def redact(text: str) -> str:
    """Return a text without user names, passwords and registered secrets."""
    text = _QUERY_SECRET.sub(rf"\1{MASK}", _USERINFO.sub(rf"\1{MASK}@", text))
    for secret in _secrets:
        text = text.replace(secret, MASK)
    return text


def trace_of(exc: BaseException) -> str:
    """Return an exception with its traceback, redacted, to be logged as a text.

    Loguru's own way (``opt(exception=...)``) shows the values of variables, and with them
    passwords, wherever a program that uses vidpipe as a library keeps its default handler.
    """
    return redact("".join(traceback.format_exception(exc)).rstrip())


class LogWriter:
    """A bounded channel of lines and the thread that writes them.

    ``offer`` may be called from any thread and never waits. ``close`` writes what is left, for a
    second at most: a thread that is held by a full pipe is abandoned.
    """

    def __init__(
        self, name: str, write: Callable[[str], object], *, capacity: int = _LINES_HELD
    ) -> None:
        """Start the thread; ``write`` is called there with whole lines."""
        self._write = write
        self._lines: Channel[str] = Channel(capacity)
        self._lost = 0
        self._lost_lock = threading.Lock()
        self._threads = ThreadGroup()
        self._threads.spawn(f"vp-log-{name}", self._run, may_hang=True)

    def offer(self, line: str) -> None:
        """Take a line, or count it as lost where there is no room."""
        try:
            is_taken = self._lines.put(line, timeout_s=0)
        except ChannelClosedError:
            is_taken = False
        if not is_taken:
            self._lose(1)

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what is left and end the thread."""
        self._lines.close()
        self._threads.join(timeout_s)

    def _run(self) -> None:
        for line in self._lines:
            with self._lost_lock:
                lost, self._lost = self._lost, 0
            note = f"({lost} log lines were lost here: nobody read them in time)\n" if lost else ""
            try:
                self._write(note + line)
            except (OSError, ValueError):
                self._lose(lost + 1)  # a closed pipe or a full disk: watching goes on

    def _lose(self, count: int) -> None:
        with self._lost_lock:
            self._lost += count


class Logging:
    """The process's logging while the ``with`` lasts: to standard error, and to a rotating file."""

    def __init__(
        self, *, level: str, stderr: Callable[[str], object], file: Path | None = None
    ) -> None:
        """Configure loguru; ``stderr`` is called with whole lines on the log thread.

        Raises:
            UsageError: The log file can't be opened.
        """
        self._handler = stream = _open_log(file) if file is not None else None
        self._writers = [LogWriter("stderr", stderr)]
        logger.remove()
        self._add(level, self._writers[0])
        if stream is not None:
            writer = LogWriter("file", lambda line: _write_rotating(stream, line))
            self._writers.append(writer)
            self._add(level, writer, takes_all=True)

    def __enter__(self) -> Logging:
        return self

    def __exit__(self, *exc: object) -> None:
        logger.remove()
        for writer in self._writers:
            writer.close()
        if self._handler is not None:
            with suppress(OSError):  # a full disk: what it holds back was counted as lost
                self._handler.close()

    @staticmethod
    def _add(level: str, writer: LogWriter, *, takes_all: bool = False) -> None:
        def take(message: Message) -> None:
            writer.offer(redact(str(message)))

        logger.add(
            take,
            level=level,
            format=_line_format,
            filter=None if takes_all else _is_for_all,
            colorize=False,
            backtrace=False,
            diagnose=False,
        )


def warn_plainly(write: Callable[[str], object]) -> None:
    """Have loguru say warnings and worse as plain lines, each once: for a command without a log.

    Args:
        write: Called with whole lines, on the thread that has something to say.
    """
    told: set[str] = set()

    def take(message: Message) -> None:
        record = message.record
        stream = f"{record['extra']['stream']}: " if "stream" in record["extra"] else ""
        line = redact(f"vidpipe: {stream}{record['message']}\n")
        if line not in told:
            told.add(line)
            with suppress(OSError, ValueError):  # nobody reads it
                write(line)

    logger.remove()
    logger.add(take, level="WARNING", format="{message}", backtrace=False, diagnose=False)


def _is_for_all(record: Record) -> bool:
    return FILE_ONLY not in record["extra"]


def _line_format(record: Record) -> str:
    """Return loguru's format of one line: time, level, stream, text."""
    stream = " {extra[stream]}:" if "stream" in record["extra"] else ""
    return "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <7}" + stream + " {message}\n{exception}"


def _open_log(file: Path) -> RotatingFileHandler:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return RotatingFileHandler(
            file, maxBytes=_FILE_BYTES, backupCount=_FILES_KEPT, encoding="utf-8"
        )
    except OSError as exc:
        raise UsageError(
            f"the log file {file} can't be opened ({exc.strerror}): change telemetry.log_file"
        ) from exc


def _write_rotating(handler: RotatingFileHandler, line: str) -> None:
    """Append a line that loguru has formatted already, by the handler's own stream."""
    if handler.stream is None or handler.stream.tell() + len(line.encode()) > _FILE_BYTES:
        handler.doRollover()
    if handler.stream is not None:
        handler.stream.write(line)
        handler.stream.flush()
