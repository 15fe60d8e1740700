"""A web server on the loopback, for as long as a block lasts."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that go away are what is tested."""


@contextmanager
def listening(
    handler: type[BaseHTTPRequestHandler],
    closing: threading.Event,
    certificate: Path | None = None,
    key: Path | None = None,
) -> Iterator[str]:
    """Serve until the block ends, and yield the address without a path.

    Args:
        handler: What answers, on a thread a connection.
        closing: Set at the end, before the threads are waited for.
        certificate: Serves https with it.
        key: Its private key, if that is in another file.
    """
    listener = _Quiet(("127.0.0.1", 0), handler)
    port = listener.server_address[1]
    url = f"http://127.0.0.1:{port}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        url = f"https://localhost:{port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield url
    finally:
        closing.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
