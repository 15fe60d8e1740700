"""From an address to an open reader: the one place that knows every kind of source."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.packets import PacketOutlet
from vidpipe.runtime.logs import redact
from vidpipe.sources.addresses import open_file, open_network
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.plugin import open_plugin
from vidpipe.sources.skipping import DecodePlan
from vidpipe.sources.synthetic import open_synthetic
from vidpipe.sources.webcam import open_webcam
from vidpipe.types import SourceKind, SourceRequest

_FILE_URL = "file://"
_NETWORK_SCHEMES = ("http", "https", "rtsp", "rtsps", "rtmp", "rtmps", "udp", "rtp", "srt", "tcp")


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """What to open, and how.

    Attributes:
        url: A path, ``file://``, a network address with its credentials percent-encoded,
            ``device:`` or ``synthetic:``, or what a plugin for its scheme takes.
        kind: What the address points to.
        open_timeout_s: Longest time to open it.
        read_timeout_s: Longest silence.
        transport: Of RTSP: ``tcp`` or ``udp``.
        is_live: Whether its end is a loss; None: files are recorded, cameras are live, HTTP says.
        thread_count: Decoder threads; 0 lets FFmpeg choose.
        plan: Which pictures are decoded, where a codec has a choice.
        is_verified: Of TLS: the server has to prove by a certificate who it is.
        ca_file: Certificates to believe in; empty for the system's.
        packets: Gets a copy of each packet before any decoding; only of files and networks.
    """

    url: str
    kind: SourceKind
    open_timeout_s: float = 5.0
    read_timeout_s: float = 5.0
    transport: str = "tcp"
    is_live: bool | None = None
    thread_count: int = 1
    plan: DecodePlan = field(default_factory=DecodePlan)
    is_verified: bool = False
    ca_file: str = ""
    packets: PacketOutlet | None = None

    def __repr__(self) -> str:
        """Describe it without the password in its address."""
        return f"SourceSpec({redact(self.url)!r}, {self.kind.value})"


def kind_of(url: str) -> SourceKind:
    """Return what an address points to.

    What has none of the known beginnings is a file, since a file's name may hold a colon.

    Raises:
        SourceError: It begins like a network address of a kind that is not known (cause FORMAT).
    """
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower()
    if not colon:
        return SourceKind.FILE
    if scheme == "synthetic":
        return SourceKind.SYNTHETIC
    if scheme == "device":
        return SourceKind.DEVICE
    if rest.startswith("//") and scheme != "file":
        if scheme in _NETWORK_SCHEMES:
            return SourceKind.NETWORK
        if scheme.isalnum():
            raise SourceError(
                f"{redact(url)}: addresses begin with {', '.join(_NETWORK_SCHEMES)}, not {scheme}",
                SourceCause.FORMAT,
            )
    return SourceKind.FILE


def open_reader(spec: SourceSpec) -> Reader:
    """Open a source; may block in native code, but no longer than its timeouts.

    Raises:
        SourceError: It can't be opened; the cause and the message say why.
    """
    match spec.kind:
        case SourceKind.SYNTHETIC:
            return open_synthetic(spec.url)
        case SourceKind.DEVICE:
            return open_webcam(
                spec.url, open_timeout_s=spec.open_timeout_s, read_timeout_s=spec.read_timeout_s
            )
        case SourceKind.FILE:
            return open_file(
                _path_of(spec.url), is_live=bool(spec.is_live), limits=_limits_of(spec)
            )
        case SourceKind.NETWORK:
            return open_network(spec.url, is_live=spec.is_live, limits=_limits_of(spec))
        case SourceKind.PLUGIN:
            return open_plugin(SourceRequest(spec.url, spec.open_timeout_s, spec.read_timeout_s))


def _path_of(url: str) -> Path:
    if url.lower().startswith(_FILE_URL):
        return Path(unquote(url[len(_FILE_URL) :]).removeprefix("localhost"))
    return Path(url)


def _limits_of(spec: SourceSpec) -> VideoLimits:
    return VideoLimits(
        open_timeout_s=spec.open_timeout_s,
        read_timeout_s=spec.read_timeout_s,
        transport=spec.transport,
        thread_count=spec.thread_count,
        plan=spec.plan,
        is_verified=spec.is_verified,
        ca_file=spec.ca_file,
        packets=spec.packets,
    )
