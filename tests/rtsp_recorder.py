"""A real RTSP server that takes what is pushed to it: run by the system's python3.

    python3 rtsp_recorder.py PORT FILE [USER PASSWORD]

Takes one stream at a time, H.264, at /push on a port of the loopback interface (0 takes a free
one), from whoever knows the password if there is one, writes what it gets to FILE as it comes
(Annex B), and prints ``port N`` once it is ready.
Ends when its standard input is closed.
"""

from __future__ import annotations

import sys
from typing import Any

import gi  # type: ignore[import-not-found]  # the system's, unknown to this environment

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import (  # type: ignore[import-not-found]  # noqa: E402 - versions come first
    Gst,
    GstRtspServer,
)
from rtsp_server import serve  # type: ignore[import-not-found]  # noqa: E402 - beside this script

LAUNCH = (
    "( rtph264depay name=depay0 ! h264parse config-interval=-1 "
    "! video/x-h264,stream-format=byte-stream ! filesink buffer-mode=2 append=true location={} )"
)


def allow(server: Any, factory: Any, login: list[str]) -> None:
    """Let whoever has this name and password push, or anybody: GStreamer wants to be told."""
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "pusher")
    if login:
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic(*login), token)
    else:
        auth.set_default_token(token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    for right in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role("pusher", right, True)  # noqa: FBT003 - GStreamer's
    factory.set_permissions(permissions)


def main() -> None:
    """Serve until the one who started this is gone."""
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(sys.argv[1])
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(LAUNCH.format(sys.argv[2]))
    factory.set_transport_mode(GstRtspServer.RTSPTransportMode.RECORD)
    factory.set_latency(0)
    allow(server, factory, sys.argv[3:])
    server.get_mount_points().add_factory("/push", factory)
    serve(server)


if __name__ == "__main__":
    main()
