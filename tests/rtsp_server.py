"""A real RTSP camera for tests: run by the system's python3, which has GStreamer's bindings.

    python3 rtsp_server.py PORT [--tls PEM] [--codec h264|h265] [--size WxH] [--path PATH]
        [--loss SHARE] [USER PASSWORD]

Serves a test picture, H.264 320x240 at 25 frames a second unless told otherwise, at /cam on a port
of the loopback interface (0 takes a free one), and prints ``port N`` once it is ready. Ends when
its standard input is closed. With a certificate and its key in one file it speaks TLS. Of its
packets a share is lost, as on the radio.
"""

from __future__ import annotations

import argparse
import sys
import threading
from typing import Any

import gi  # type: ignore[import-not-found]  # the system's, unknown to this environment

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import (  # type: ignore[import-not-found]  # noqa: E402 - versions come first
    Gio,
    GLib,
    Gst,
    GstRtspServer,
)

CODECS = {
    "h264": ("x264enc", "rtph264pay"),
    "h265": ("x265enc", "rtph265pay"),
}


def launch_line(codec: str, size: str, loss: float) -> str:
    """Return GStreamer's description of a camera that loses a share of what it encodes."""
    width, height = size.split("x")
    caps = f"video/x-raw,width={width},height={height},framerate=25/1"
    encoder, packets = CODECS[codec]
    return (
        f"( videotestsrc is-live=true pattern=ball ! {caps} "
        f"! {encoder} tune=zerolatency speed-preset=ultrafast key-int-max=12 "
        f"! identity drop-probability={loss} ! {packets} name=pay0 )"
    )


def require_login(auth: Any, factory: Any, username: str, password: str) -> None:
    """Let in only who knows the password."""
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "viewer")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(username, password), token)
    permissions = GstRtspServer.RTSPPermissions()
    for right in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role("viewer", right, True)  # noqa: FBT003 - GStreamer's
    factory.set_permissions(permissions)


def serve(server: Any) -> None:
    """Say the port, and serve until standard input is closed."""
    server.attach(None)
    loop = GLib.MainLoop()

    def watch() -> None:
        sys.stdin.read()
        loop.quit()

    threading.Thread(target=watch, daemon=True).start()
    sys.stdout.write(f"port {server.get_bound_port()}\n")
    sys.stdout.flush()
    loop.run()


def main() -> None:
    """Serve until the one who started this is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port")
    parser.add_argument("login", nargs="*")
    parser.add_argument("--tls")
    parser.add_argument("--codec", default="h264")
    parser.add_argument("--size", default="320x240")
    parser.add_argument("--path", default="cam")
    parser.add_argument("--loss", type=float, default=0.0)
    wanted = parser.parse_args()
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(wanted.port)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(launch_line(wanted.codec, wanted.size, wanted.loss))
    factory.set_shared(True)
    if wanted.login or wanted.tls:
        auth = GstRtspServer.RTSPAuth()
        if wanted.tls:
            auth.set_tls_certificate(Gio.TlsCertificate.new_from_file(wanted.tls))
        if wanted.login:
            require_login(auth, factory, *wanted.login)
        server.set_auth(auth)
    server.get_mount_points().add_factory(f"/{wanted.path}", factory)
    serve(server)


if __name__ == "__main__":
    main()
