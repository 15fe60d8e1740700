"""A package index on the loopback, and small wheels to serve from it."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vidpipe.inference.catalogue import WheelFile


def make_wheel(
    folder: Path, member_bytes: bytes, *, member: str = "tiny_model/model.bin"
) -> tuple[Path, WheelFile]:
    """Write a wheel that holds one file, and return it with what the catalogue would say of it."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "tiny_model-1.0-py3-none-any.whl"
    about = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, member_bytes)
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return wheel, WheelFile(
        package="tiny-model",
        version="1.0",
        file=wheel.name,
        size=wheel.stat().st_size,
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member=member,
        member_sha256=hashlib.sha256(member_bytes).hexdigest(),
    )


class PackageIndex:
    """What is served, and how badly.

    Attributes:
        url: The address for PIP_INDEX_URL.
        requests: The paths that were asked for.
        cut_after: Bytes after which the connection is closed, or None.
        hangs: An event that a wheel's request waits for, or None.
    """

    def __init__(self, wheels: Path, port: int) -> None:
        self.wheels = wheels
        self.url = f"http://127.0.0.1:{port}/simple"
        self.requests: list[str] = []
        self.cut_after: int | None = None
        self.hangs: threading.Event | None = None

    def page(self) -> bytes:
        """Return the list of all wheels."""
        links = [f'<a href="/wheels/{p.name}">{p.name}</a>' for p in self.wheels.glob("*.whl")]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()


@contextmanager
def serving(wheels: Path) -> Iterator[PackageIndex]:
    """Serve a folder of wheels as an index until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.requests.append(self.path)
            is_wheel = self.path.startswith("/wheels/")
            body = (wheels / Path(self.path).name).read_bytes() if is_wheel else index.page()
            if is_wheel and index.hangs is not None:
                index.hangs.wait(60)
            self.send_response(200)
            self.send_header("Content-Type", "application/zip" if is_wheel else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: index.cut_after] if is_wheel else body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index = PackageIndex(wheels, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield index
    finally:
        if index.hangs is not None:
            index.hangs.set()
        server.shutdown()
        server.server_close()
        thread.join()
