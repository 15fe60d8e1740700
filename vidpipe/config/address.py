"""What a stream's ``source`` points to, and what may be shown of it.

The rules: ``device:`` and ``synthetic:`` are prefixes; anything with ``://`` is a URL of a known
scheme (``file://`` is a file); what begins with a scheme that an installed package opens is that
plugin's, with or without ``//``; all else is a file or a glob. Inside a URL the user and password
are percent-encoded; a ``%`` that isn't the beginning of an escape is taken as itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote

from vidpipe.config.suggest import did_you_mean, listed
from vidpipe.runtime.plugins import SOURCES, plugin_names

Kind: TypeAlias = Literal["file", "network", "device", "synthetic", "plugin"]

SCHEMES = (
    "rtsp", "rtsps", "rtmp", "rtmps", "http", "https", "udp", "tcp", "srt", "rtp", "mms", "file",
)  # fmt: skip
LISTENING = frozenset({"udp", "tcp", "srt", "rtp"})
"""These may have no host: they wait for whoever sends."""

OWN_SCHEMES = frozenset(SCHEMES) | {"device", "synthetic"}
"""No plugin is asked about these."""

PORTS = 65_536

DEVICE_KEYS = {
    "size": (re.compile("[1-9][0-9]{0,4}x[1-9][0-9]{0,4}"), "width x height, such as 1280x720"),
    "fps": (re.compile(r"[1-9][0-9]{0,2}(\.[0-9]+)?"), "frames a second, such as 25"),
    "format": (re.compile("[A-Za-z0-9]{4}"), "four letters, such as mjpg or yuyv"),
    "backend": (re.compile("v4l2|any"), "v4l2 or any"),
}
"""What may stand behind the ``?`` of a webcam's address, and how."""

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
EMBEDDED_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#]*)@")
# "user:pa/ss@host": an unescaped / in the password; but "host:554/path@2x" is no password
BROKEN_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*://)(?![^\s/?#]*@)([^\s/?#:@]*):(?![0-9]{1,5}[/?#])\S*@"
)
BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
SECRET_PAIR = re.compile(
    r"(?i)((?:^|[?&;/_])(?:pass|password|passwd|pwd|pw|secret|token|access_token|auth|key|api_?key)=)"
    r"([^&;/#\s]+)"
)
# A URL's characters that may stand in user and password beside letters and digits (RFC 3986, 3.2.1)
USERINFO_SAFE = "-._~!$&'()*+,;=%"


@dataclass(frozen=True, slots=True)
class Url:
    """A URL in its parts, none of them decoded; ``user`` and ``password`` are None where absent."""

    scheme: str
    user: str | None
    password: str | None
    host: str
    rest: str


def split_url(text: str) -> Url | None:
    """Return the parts of a URL, or None where the text isn't one."""
    match = URL.fullmatch(text)
    if not match:
        return None
    scheme, authority, rest = match.groups()
    # the last @ parts the user from the host, so that an unescaped one in a password survives
    userinfo, at, host = authority.rpartition("@")
    user, colon, password = userinfo.partition(":")
    return Url(scheme, user if at else None, password if colon else None, host, rest)


def source_kind(text: str) -> Kind:
    """Return what kind of source an address names; its faults are ``source_fault``'s."""
    if text.startswith("device:"):
        return "device"
    if text.startswith("synthetic:"):
        return "synthetic"
    if is_plugins(text):
        return "plugin"
    url = split_url(text)
    return "network" if url and url.scheme.lower() != "file" else "file"


def plugin_schemes() -> list[str]:
    """Return the schemes that installed packages open, beside vidpipe's own."""
    return [name for name in plugin_names(SOURCES) if name not in OWN_SCHEMES]


def is_plugins(text: str) -> bool:
    """Return True if an installed package opens addresses of this scheme."""
    match = SCHEME.match(text)
    return match is not None and match[1].lower() in plugin_schemes()


def unknown_scheme(text: str) -> str | None:
    """Return what to say of a text that is no file, if it looks like a package's address."""
    match = SCHEME.match(text)
    if match is None or source_kind(text) != "file" or match[1].lower() in OWN_SCHEMES:
        return None
    name = match[1][:20]
    return f"no source is called {name}, and no such file is there; is its package installed?"


def source_fault(text: str) -> str | None:
    """Return what is wrong with an address, or None; never shows a part that may be secret."""
    if not text.strip():
        return "is empty: give a file, a URL, device:N or synthetic:..."
    kind = source_kind(text)
    if kind == "device":
        return _device_fault(text)
    if kind in ("synthetic", "plugin"):
        return None
    url = split_url(text)
    if url and (not text.isprintable() or " " in url.host):
        return "the URL holds a space or a control character where none may be"
    return _url_fault(url) if url else _mistyped_scheme(text)


def _device_fault(text: str) -> str | None:
    device, mark, query = text.partition("?")
    if not re.fullmatch(r"device:([0-9]{1,4}|/.+)", device):
        return "expected device:NUMBER or device:/dev/..., such as device:0"
    for pair in query.split("&") if mark else ():
        key, _, value = pair.partition("=")
        if key not in DEVICE_KEYS:
            known = list(DEVICE_KEYS)
            return f"unknown '{key[:20]}'{did_you_mean(key, known)}; known: {', '.join(known)}"
        pattern, wanted = DEVICE_KEYS[key]
        if not pattern.fullmatch(value):
            return f"{key}: expected {wanted}"
    return None


def _mistyped_scheme(text: str) -> str | None:
    scheme = text.partition(":")[0].lower()
    if ":" in text and scheme in SCHEMES:
        return f"a URL begins with {scheme}://"
    return None


def _url_fault(url: Url) -> str | None:
    scheme = url.scheme.lower()
    if scheme not in SCHEMES:
        known = [f"{known}://" for known in SCHEMES]
        prefixes = ["device:", "synthetic:", *(f"{name}:" for name in plugin_schemes())]
        return (
            f"the scheme '{url.scheme[:20]}://' is not known{did_you_mean(f'{scheme}://', known)}"
            f"{listed(known, '; known ones: ')}, {', '.join(prefixes)}"
        )
    if scheme == "file":
        return None if url.rest.startswith("/") else "expected file:///an/absolute/path"
    hint = (
        "; where a user or password holds / ? # @ or :, percent-encode it"
        " or put it under connect.username and connect.password"
    )
    host, port = split_port(url.host)
    if port and not (re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < PORTS):
        return f"the port in the URL is not a number from 1 to 65535{hint}"
    if not host and scheme not in LISTENING:
        return f"the URL names no host{hint}"
    return None


def split_port(host: str) -> tuple[str, str]:
    """Return host and port, both as text; understands ``[::1]:554``."""
    if host.startswith("["):
        name, _, port = host.partition("]")
        return name + "]", port.removeprefix(":")
    name, _, port = host.partition(":")
    return name, port


def with_credentials(text: str, username: str | None, password: str | None) -> str:
    """Return a URL with raw credentials percent-encoded into it, in place of its own.

    Credentials that the URL holds already are kept where none are given, and made well-formed: a
    lone ``%``, an ``@`` or another character that can't stand there is escaped.
    """
    url = split_url(text)
    if url is None:
        return text
    user = _escaped(url.user) if username is None else quote(username, safe="")
    word = _escaped(url.password) if password is None else quote(password, safe="")
    if user is None and word is None:
        return text
    userinfo = (user or "") + ("" if word is None else f":{word}")
    # an empty user is udp://@239.0.0.1:5000, where the @ means something
    return f"{url.scheme}://{userinfo}@{url.host}{url.rest}"


def _escaped(part: str | None) -> str | None:
    return None if part is None else quote(BARE_PERCENT.sub("%25", part), safe=USERINFO_SAFE)


def masked(text: str) -> str:
    """Return a text with the passwords of its URLs, in userinfo or query, as ``***``."""
    if "://" not in text:
        return text
    text = EMBEDDED_URL.sub(_masked_userinfo, BROKEN_URL.sub(r"\1\2:***@", text))
    return SECRET_PAIR.sub(r"\1***", text)


def _masked_userinfo(match: re.Match[str]) -> str:
    user, colon, _ = match[2].partition(":")
    return f"{match[1]}{user}:***@" if colon else f"{match[1]}{user}@"


def secrets_of_url(text: str) -> Iterator[str]:
    """Yield the passwords that a URL holds, as they stand and decoded."""
    url = split_url(text)
    if url is None:
        return
    found = [url.password or "", *(match[2] for match in SECRET_PAIR.finditer(url.rest))]
    for secret in found:
        yield secret
        yield unquote(secret)
