"""The wall's page and what it is made of: the package's own files, read when the server starts.

Every file has an exact address of its own, so that there is no path to climb out of. A browser asks
again each time and is answered 304 by the file's hash: an update is seen at once, and costs nothing
else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from vidpipe.server.pages import Endpoint, Page
from vidpipe.server.policy import PAGE_POLICY

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Fixed: the machine's own table may say anything, and modules of another type aren't run."""

_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]+)?|\[[0-9A-Fa-f:.]+\](:[0-9]+)?")


def asset_pages(folder: Path = FOLDER) -> Iterable[Page]:
    """Return the wall's page at ``/``, for who may look, and its files at ``/static/``, for all.

    Nothing in them is secret, and the page that asks for a token needs some of them.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix in MEDIA_TYPES:
            endpoint = _endpoint(path.read_bytes(), MEDIA_TYPES[path.suffix])
            if path.name == INDEX:
                yield Page("/", endpoint)
            else:
                yield Page(f"/static/{path.name}", endpoint, is_public=True)


def _endpoint(content: bytes, media_type: str) -> Endpoint:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    async def answer(request: Request) -> Response:
        headers = {"etag": etag, "cache-control": "no-cache"}
        if media_type.startswith("text/html"):
            headers["content-security-policy"] = _policy(request.headers.get("host", ""))
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    return answer


def _policy(host: str) -> str:
    """Return the page's policy, in which 'self' is also this host's WebSockets.

    By today's standard it is anyhow; browsers of a few years ago want it in words.
    """
    if not _HOST.fullmatch(host):
        return PAGE_POLICY
    own = f"connect-src 'self' ws://{host} wss://{host}"
    return PAGE_POLICY.replace("connect-src 'self'", own)
