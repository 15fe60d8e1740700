"""The server's certificate: read, checked, and read again when its files change.

A run lasts longer than a certificate: what is renewed on disk is taken up for every new connection
from then on. Files that don't fit (yet) change nothing but the log.

One that has expired is no reason not to start: whoever looks on from a browser may still say that
they trust it, and cameras are watched and recorded meanwhile. It is said loudly, every day again.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from loguru import logger

from vidpipe.errors import UsageError
from vidpipe.runtime.stamps import Stamp, stamp_of
from vidpipe.server.validity import Validity, validity_of

_SOON = timedelta(days=7)
_DAY_S = 86_400.0
_CERT_MARK = b"-----BEGIN CERTIFICATE-----"
_KEY_MARK = b"PRIVATE KEY-----"
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A certificate and its key, ready to be shown to clients."""

    context: ssl.SSLContext
    validity: Validity


class Certificate:
    """The files, and what is in force of them; for one thread."""

    def __init__(self, cert: Path, key: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read both.

        Raises:
            UsageError: One of them can't be used; the message names its key of the configuration.
        """
        self._cert = cert
        self._key = key
        self._clock = clock
        self._stamps = self._stamps_now()
        self._loaded = _load(cert, key)
        self._said: str | None = None
        self._say_again_at = 0.0
        self._say_age()

    @property
    def context(self) -> ssl.SSLContext:
        """What a new connection begins with."""
        return self._loaded.context

    @property
    def warning(self) -> str | None:
        """What is wrong with it, for people; None while it is good for some days."""
        until = self._loaded.validity.until
        if self.has_expired:
            return (
                f"server.tls.cert: {self._cert} has expired on {until:%F}: renew it; until then"
                " browsers warn of this server, and programs refuse it"
            )
        if until - datetime.now(UTC) > _SOON:
            return None
        return f"server.tls.cert: {self._cert} expires on {until:%F}: renew it"

    @property
    def has_expired(self) -> bool:
        """True if it isn't good any more."""
        return self._loaded.validity.until <= datetime.now(UTC)

    def refresh(self) -> None:
        """Look at the files, and take up what is new; to be called now and then; never raises."""
        stamps = self._stamps_now()
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                self._take(_load(self._cert, self._key))
            except UsageError as exc:
                logger.error("{}; the former certificate stays in force", exc)
        self._say_age()

    def _take(self, loaded: _Loaded) -> None:
        """Take up what was read anew.

        Raises:
            UsageError: It has expired, and what is in force is good for longer.
        """
        until = loaded.validity.until
        if until <= datetime.now(UTC) and until < self._loaded.validity.until:
            raise UsageError(f"server.tls.cert: {self._cert} has expired on {until:%F}: renew it")
        self._loaded = loaded
        self._said = None
        logger.info("server.tls: a new certificate is in force, good until {:%F}", until)

    def _stamps_now(self) -> tuple[Stamp | None, Stamp | None]:
        # of what links lead to: Let's Encrypt keeps its newest behind one
        return stamp_of(self._cert), stamp_of(self._key)

    def _say_age(self) -> None:
        """Say, once a day, that it will be over soon, or that it is."""
        said, now_s = self.warning, self._clock()
        if said is None or (said == self._said and now_s < self._say_again_at):
            return
        self._said, self._say_again_at = said, now_s + _DAY_S
        logger.log("ERROR" if self.has_expired else "WARNING", "{}", said)


def _load(cert: Path, key: Path) -> _Loaded:
    validity = _read_cert(cert)
    _read_key(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    asked = []

    def password() -> str:
        asked.append(key)
        return ""  # whoever types it isn't there when the machine starts

    try:
        context.load_cert_chain(cert, key, password)
    except (ssl.SSLError, OSError, ValueError) as exc:
        raise _fault_of(cert, key, exc, is_encrypted=bool(asked)) from None
    return _Loaded(context, validity)


def _read_cert(path: Path) -> Validity:
    """Return for how long the first certificate of a file is good.

    Raises:
        UsageError: There is none.
    """
    text = _read(path, "cert")
    if _CERT_MARK not in text:
        hint = "it holds a private key: exchange cert and key" if _KEY_MARK in text else "no PEM"
        raise UsageError(f"server.tls.cert: there is no certificate in {path} ({hint})")
    try:
        validity = validity_of(text.decode("latin-1"))
    except ValueError as exc:
        raise UsageError(f"server.tls.cert: {path} is damaged ({exc})") from None
    if validity.since > datetime.now(UTC):
        logger.warning("server.tls.cert: {} is good only from {:%F} on", path, validity.since)
    return validity


def _read_key(path: Path) -> None:
    if _KEY_MARK not in _read(path, "key"):
        raise UsageError(f"server.tls.key: there is no private key in {path} (no PEM)")


def _read(path: Path, key: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as exc:
        why = {
            FileNotFoundError: "there is no such file",
            PermissionError: "may not be read by this user",
            IsADirectoryError: "is a folder",
        }.get(type(exc), exc.strerror or "can't be read")
        raise UsageError(f"server.tls.{key}: {path}: {why}") from None


def _fault_of(cert: Path, key: Path, exc: Exception, *, is_encrypted: bool) -> UsageError:
    if is_encrypted:
        return UsageError(
            f"server.tls.key: {key} is encrypted, and nobody is there to type its password: write "
            "it without one (openssl pkey -in ... -out ...), readable by this user alone"
        )
    reason = getattr(exc, "reason", None) or ""
    if "MISMATCH" in reason:
        return UsageError(f"server.tls.key: {key} doesn't belong to the certificate in {cert}")
    if reason in ("EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
        return UsageError(f"server.tls.cert: {cert} is too weak for this system ({reason})")
    what = reason.replace("_", " ").lower() or type(exc).__name__
    return UsageError(f"server.tls: {cert} and {key} can't be used ({what})")
