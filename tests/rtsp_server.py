"""A real RTSP camera for tests: run by the system's python3, which has GStreamer's bindings.

    python3 rtsp_server.py PORT [USER PASSWORD]

Serves a test picture, H.264 320x240 at 25 frames a second, at /cam on a port of the loopback
interface (0 takes a free one), and prints ``port N`` once it is ready. Ends when its standard input
is closed.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import gi  # type: ignore[import-not-found]  # the system's, unknown to this environment

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import (  # type: ignore[import-not-found]  # noqa: E402 - versions come first
    GLib,
    Gst,
    GstRtspServer,
)

LAUNCH = (
    "( videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1 "
    "! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=12 ! rtph264pay name=pay0 )"
)


def require_login(server: Any, factory: Any, username: str, password: str) -> None:
    """Let in only who knows the password."""
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "viewer")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(username, password), token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    for right in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role("viewer", right, True)  # noqa: FBT003 - GStreamer's
    factory.set_permissions(permissions)


def main() -> None:
    """Serve until the one who started this is gone."""
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(sys.argv[1])
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(LAUNCH)
    factory.set_shared(True)
    if len(sys.argv) == 4:
        require_login(server, factory, sys.argv[2], sys.argv[3])
    server.get_mount_points().add_factory("/cam", factory)
    server.attach(None)
    loop = GLib.MainLoop()

    def watch() -> None:
        sys.stdin.read()
        loop.quit()

    threading.Thread(target=watch, daemon=True).start()
    sys.stdout.write(f"port {server.get_bound_port()}\n")
    sys.stdout.flush()
    loop.run()


if __name__ == "__main__":
    main()
