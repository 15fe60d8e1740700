"""For how long a certificate is good, read from its DER (X.509, RFC 5280 section 4.1).

Python's own library tells it of the other side's certificates alone.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_VERSION = 0xA0
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_CENTURY_FROM = 50
"""Two digits of a year below this are of the 21st century."""
_SHORT = 0x80


@dataclass(frozen=True, slots=True)
class Validity:
    """The two ends, aware UTC."""

    since: datetime
    until: datetime


def validity_of(pem: str) -> Validity:
    """Return how long the first certificate of a PEM text is good.

    Raises:
        ValueError: It is damaged.
    """
    start = pem.index(_BEGIN)
    end = pem.find(_END, start)
    if end < 0:
        raise ValueError("the certificate has no end")
    der = ssl.PEM_cert_to_DER_cert(pem[start : end + len(_END)])
    try:
        return _validity(der)
    except IndexError:
        raise ValueError("the certificate is cut off") from None


def _validity(der: bytes) -> Validity:
    _, certificate, _ = _value(der)
    _, signed, _ = _value(certificate)
    tag, _, after_first = _value(signed)
    rest = after_first if tag == _VERSION else signed
    for _ in ("serial number", "signature", "issuer"):
        _, _, rest = _value(rest)
    _, validity, _ = _value(rest)
    since_tag, since, rest = _value(validity)
    until_tag, until, _ = _value(rest)
    return Validity(_time(since_tag, since), _time(until_tag, until))


def _value(data: bytes) -> tuple[int, bytes, bytes]:
    """Return the first element's tag and content, and what follows it."""
    tag, length = data[0], data[1]
    start = 2
    if length >= _SHORT:
        size = length - _SHORT
        length = int.from_bytes(data[2 : 2 + size])
        start += size
    if len(data) < start + length:
        raise IndexError
    return tag, data[start : start + length], data[start + length :]


def _time(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        text = ("20" if int(text[:2]) < _CENTURY_FROM else "19") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("the certificate says no time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
