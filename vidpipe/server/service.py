"""The server's life: on a thread and a loop of its own, beside a run that it never disturbs.

Guarantees:
    * no signal handler is installed;
    * whatever fails here is logged, and the run goes on;
    * what takes long (a reload, a picture to look at) is done on threads of its own;
    * ``stop`` takes no longer than it is given, whoever is connected.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from loguru import logger

from vidpipe.config.loopback import is_loopback
from vidpipe.config.schema import ServerConfig
from vidpipe.runtime.executor import Executor
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.server.access import Access, Role
from vidpipe.server.admission import Failures
from vidpipe.server.assets import asset_pages
from vidpipe.server.certificate import Certificate
from vidpipe.server.commands import command_pages
from vidpipe.server.connection import BoundedConnection
from vidpipe.server.control import Control
from vidpipe.server.detect import DetectMeter, detect_pages
from vidpipe.server.detector import MOST_AT_ONCE, THREADS, Detector
from vidpipe.server.handshake import encrypted_by
from vidpipe.server.health import health_pages
from vidpipe.server.listening import listen
from vidpipe.server.listening import shown as shown_address
from vidpipe.server.login import Entrance, login_pages
from vidpipe.server.metrics import metric_pages
from vidpipe.server.modelpools import pool_pages
from vidpipe.server.pages import Page, SocketPage, application
from vidpipe.server.pictures import picture_pages
from vidpipe.server.relay import Relay
from vidpipe.server.sessions import Sessions
from vidpipe.server.shown import Show, Shown
from vidpipe.server.streams import stream_pages
from vidpipe.server.wall import wall_sockets
from vidpipe.server.wallwords import MOST_BYTES
from vidpipe.server.websocket import BoundedSocket
from vidpipe.shots import Exhibition
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.recent import Recent

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""What stands for all addresses, which no browser can go to, and one of them."""

_SAMPLE_S = 1.0
_STOP_S = 1.0
_IDLE_S = 5
_HEAD_BYTES = 16_384
_PING_S = 20.0
_MOST_COMMANDS = 4
_SHORT_TOKEN = 12
"""Characters; a token that is shorter is found out by trying."""
_LOGGERS = ("uvicorn.error", "asyncio")
_ROLES = {"viewer": Role.VIEWER, "operator": Role.OPERATOR}


class HttpServer:
    """Answers about one run; ``start`` and ``stop`` once each, ``show`` whenever there is a run."""

    def __init__(self, config: ServerConfig) -> None:
        """Take the address and the tokens; nothing is opened yet."""
        self._config = config
        self._recent = Recent()
        self._shown = Shown()
        self._threads = ThreadGroup(_log_death)
        self._commands = Executor("vp-command", threads=1, waiting=_MOST_COMMANDS)
        self._detections = Executor("vp-detect", threads=THREADS, waiting=MOST_AT_ONCE)
        self._access = Access(list(_tokens(config)))
        self._certificate: Certificate | None = None
        self._socket: socket.socket | None = None
        self._uvicorn: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_begun = threading.Event()

    @property
    def url(self) -> str:
        """Where it answers on this machine, once it has started."""
        assert self._socket is not None
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if self._config.tls is None else "https"
        return f"{scheme}://{shown_address(_EVERYWHERE.get(host, host), port)}"

    def show(
        self,
        overview: Overview,
        *,
        control: Control | None = None,
        detector: Detector | None = None,
        pictures: Exhibition | None = None,
    ) -> None:
        """Answer about this run from now on, and do with it what its parts allow."""
        self._recent.show(overview)
        shown = self._shown
        shown.overview, shown.control = overview, control
        shown.detector, shown.pictures = detector, pictures

    def start(self) -> None:
        """Listen, and answer from now on.

        Raises:
            UsageError: The address, or the certificate, can't be used; the message names the key.
        """
        config = self._config
        if config.tls is not None:
            self._certificate = Certificate(config.tls.cert, config.tls.key)
        self._socket = listen(config.host, config.port, may_leave_machine=bool(self._access.tokens))
        address = self.url
        self._uvicorn = self._made()
        # Held by no native call, but a stop must not depend on it.
        self._threads.spawn("vp-http", self._run, may_hang=True)
        host = self._socket.getsockname()[0]
        logger.info("the server listens on {}", address)
        if host in _EVERYWHERE:
            logger.info("it listens on every address of this machine ({})", socket.gethostname())
        if config.tls is None and not is_loopback(host):
            logger.warning(
                "server: tokens and pictures can be read on their way through the network: set "
                "server.tls, or leave the encryption to a proxy and the host at 127.0.0.1"
            )

    def _made(self) -> uvicorn.Server:
        assert self._socket is not None
        is_secure = self._certificate is not None
        # A host's cookies are the same for all of its ports.
        port = self._socket.getsockname()[1]
        sessions = Sessions(f"{'__Host-' if is_secure else ''}vidpipe-{port}")
        entrance = Entrance(self._access, sessions, Failures(), is_secure=is_secure)
        app = application(self._pages(entrance), self._access, sessions, entrance.failures)
        certificate = self._certificate
        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=BoundedConnection if certificate is None else encrypted_by(certificate),
                ws=BoundedSocket,
                ws_max_size=MOST_BYTES,
                ws_ping_interval=_PING_S,
                ws_ping_timeout=_PING_S,
                ws_per_message_deflate=False,  # pictures are packed already
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=_HEAD_BYTES,
                timeout_keep_alive=_IDLE_S,
            )
        )

    def _pages(self, entrance: Entrance) -> Iterator[Page | SocketPage]:
        recent, meter = self._recent, DetectMeter()
        yield from health_pages(recent, self._warnings)
        yield from metric_pages(recent, meter)
        yield from stream_pages(recent)
        relay = Relay(self._shown)
        yield from picture_pages(self._shown, relay)
        yield from wall_sockets(self._shown, recent, relay)
        yield from login_pages(entrance)
        yield from command_pages(self._shown, self._commands)
        yield from detect_pages(self._shown, self._detections, meter)
        yield from pool_pages(recent)
        yield from asset_pages()

    def _warnings(self) -> list[str]:
        warning = self._certificate.warning if self._certificate is not None else None
        return [] if warning is None else [warning]

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """End the answers under way and every connection, within so many seconds."""
        until_s = time.monotonic() + timeout_s
        self._has_begun.wait(timeout_s)
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has died before
                self._loop.call_soon_threadsafe(self._begin_stop, timeout_s / 2)
        for name in self._threads.join(timeout_s):
            logger.warning("{} didn't end in time and is left behind", name)
        for executor in (self._commands, self._detections):
            for name in executor.close(max(0.0, until_s - time.monotonic())):
                logger.warning("{} didn't end in time and is left behind", name)
        if self._socket is not None:
            self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._has_begun.set()

    async def _serve(self) -> None:
        assert self._socket is not None
        assert self._uvicorn is not None
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_log_loop_error)
        self._has_begun.set()
        with _logs_forwarded():
            sampling = asyncio.create_task(self._sample())
            try:
                await self._uvicorn.serve([self._socket])
            finally:
                sampling.cancel()
                self._cut_all()
                await asyncio.sleep(0)  # the transports' last callbacks

    async def _sample(self) -> None:
        """Move the window of the rates on, and see to the certificate."""
        has_failed = False
        while True:
            if self._certificate is not None:
                self._certificate.refresh()
            try:
                self._recent.sample()
            except Exception as exc:  # noqa: BLE001 - the boundary of a stage
                if not has_failed:
                    logger.error("the run can't be read (said once): {}", trace_of(exc))
                has_failed = True
            await asyncio.sleep(_SAMPLE_S)

    def _begin_stop(self, grace_s: float) -> None:
        assert self._loop is not None
        assert self._uvicorn is not None
        self._uvicorn.should_exit = True
        self._loop.call_later(grace_s, self._cut_all)

    def _cut_all(self) -> None:
        """Wait for nobody any more."""
        assert self._uvicorn is not None
        self._uvicorn.force_exit = True
        connections: list[Any] = list(self._uvicorn.server_state.connections)
        for connection in connections:
            connection.cut_off()


@contextmanager
def serving(config: ServerConfig, announce: Callable[[str], None] | None = None) -> Iterator[Show]:
    """Serve while the ``with`` lasts; yield what shows a run.

    Args:
        config: The address and the tokens.
        announce: Is called with the address once the server listens there.

    Raises:
        UsageError: The address, or the certificate, can't be used; the message names the key.
    """
    server = HttpServer(config)
    server.start()
    if announce is not None:
        announce(server.url)
    try:
        yield server.show
    finally:
        server.stop()


def _tokens(config: ServerConfig) -> Iterator[tuple[Role, bytes]]:
    """Yield what is presented for each role; an empty token, as of an unset variable, is none."""
    for one in config.tokens:
        token = one.token.get_secret_value().strip().encode("utf-8", "surrogatepass")
        if token:
            if len(token) < _SHORT_TOKEN:
                logger.warning(
                    "server.tokens: the token of a {} has fewer than {} characters, and can be "
                    "guessed: take a random one, such as of `openssl rand -hex 16`",
                    one.role,
                    _SHORT_TOKEN,
                )
            yield _ROLES[one.role], token


class _Forward(logging.Handler):
    """Sends what uvicorn and asyncio log our way: bounded, redacted, and never to stderr itself.

    What uvicorn says is about clients, which may go on all day; failures are logged by the guard.
    """

    def emit(self, record: logging.LogRecord) -> None:
        level = "WARNING" if record.name == "asyncio" else "DEBUG"
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += f": {record.exc_info[1]!r}"
        logger.log(level, "http: {}", redact(text))


@contextmanager
def _logs_forwarded() -> Iterator[None]:
    handler = _Forward()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(one.propagate, one.level) for one in loggers]
    for one in loggers:
        one.addHandler(handler)
        one.propagate = False
        one.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for one, (propagate, level) in zip(loggers, before, strict=True):
            one.removeHandler(handler)
            one.propagate = propagate
            one.setLevel(level)


def _log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Log what asyncio can't tell anybody, such as a connection for which no file is left."""
    error = context.get("exception")
    logger.warning("http: {}: {}", context.get("message"), redact(repr(error)))


def _log_death(name: str, exc: BaseException) -> None:
    logger.error("the server has died ({}); the run goes on without: {}", name, trace_of(exc))
