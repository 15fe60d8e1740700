"""The server by TLS, as clients of all kinds have it."""

from __future__ import annotations

import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browsers import Browser
from tests.certificates import Certificates, has_openssl, make_certificates
from tests.servers import TOKENS, served
from tests.threads import wait_until
from tests.web import connected, read_all
from vidpipe.config.schema import ServerConfig
from vidpipe.errors import UsageError
from vidpipe.server import connection, handshake
from vidpipe.server.service import HttpServer

pytestmark = pytest.mark.skipif(not has_openssl(), reason="the program openssl makes certificates")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Return a certificate for localhost."""
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def url(files: Certificates) -> Iterator[str]:
    """Yield the address of an encrypted server with tokens."""
    tls = {"cert": str(files.cert), "key": str(files.key)}
    with served(tokens=TOKENS, tls=tls) as address:
        yield address


@pytest.fixture
def trusting(files: Certificates) -> ssl.SSLContext:
    """Return a context that believes in the test's authority."""
    return ssl.create_default_context(cafile=str(files.ca))


def shaken(url: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Return an encrypted connection."""
    return context.wrap_socket(connected(url), server_hostname="localhost")


def test_a_browser_logs_in_by_tls(url: str, trusting: ssl.SSLContext) -> None:
    assert url.startswith("https://127.0.0.1:")
    browser = Browser(url, trusting)
    assert browser.get("/healthz").status == 200
    assert browser.log_in("look-at-it").status == 303
    assert browser.get("/api/me").document["role"] == "viewer"
    value, *attributes = browser.set_cookies[0].split("; ")
    assert "Secure" in attributes
    assert value.startswith(f"__Host-vidpipe-{urlsplit(url).port}=")


def test_requests_behind_one_handshake_are_answered_in_turn(
    url: str, trusting: ssl.SSLContext
) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    with shaken(url, trusting) as client:
        client.sendall(one % b"" + one % b"" + one % b"Connection: close\r\n")
        assert read_all(client).count(b"HTTP/1.1 200 ") == 3


def test_a_client_that_wants_no_encryption_is_not_left_waiting(
    url: str, log_lines: list[str]
) -> None:
    began_at = time.monotonic()
    for _ in range(3):
        with connected(url) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in read_all(client)
    assert time.monotonic() - began_at < 3
    assert not any("ERROR" in line or "WARNING" in line for line in log_lines)


def test_old_versions_are_refused(url: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(OSError, match=r"(?i)ssl|reset|protocol|eof"):
        shaken(url, context)


def test_who_does_not_trust_it_costs_nothing(url: str, trusting: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLError):
        shaken(url, ssl.create_default_context())
    assert Browser(url, trusting).get("/healthz").status == 200


@pytest.mark.parametrize("start", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01", b"\x00" * 100])
def test_a_handshake_that_never_ends_is_not_waited_for(
    url: str, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(handshake, "HANDSHAKE_S", 0.2)
    with connected(url) as client:
        client.sendall(start)
        read_all(client)
    assert Browser(url, trusting).get("/healthz").status == 200


def test_clients_that_say_nothing_are_counted(
    url: str, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 5)
    clients = [connected(url) for _ in range(15)]
    for client in clients[:9]:
        read_all(client)
    assert Browser(url, trusting).get("/healthz").status == 200
    for client in clients:
        client.close()


def test_a_request_that_never_comes_is_not_waited_for(
    url: str, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REQUEST_S", 0.2)
    with shaken(url, trusting) as client:
        assert read_all(client) == b""


def test_a_stop_waits_for_no_handshake(files: Certificates) -> None:
    tls = {"cert": str(files.cert), "key": str(files.key)}
    server = HttpServer(ServerConfig.model_validate({"port": 0, "tls": tls}))
    server.start()
    clients = [connected(server.url) for _ in range(3)]
    clients[1].sendall(b"\x16\x03\x01")
    began_at = time.monotonic()
    server.stop(2.0)
    assert time.monotonic() - began_at < 4.0
    for client in clients:
        read_all(client)
        client.close()


def test_a_renewed_certificate_is_shown_to_new_clients(
    files: Certificates, trusting: ssl.SSLContext, tmp_path: Path
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    shutil.copy(files.cert, cert)
    shutil.copy(files.key, key)
    (tmp_path / "new").mkdir()
    renewed = make_certificates(tmp_path / "new")
    with served(tls={"cert": str(cert), "key": str(key)}) as url:
        first = shaken(url, trusting)
        old = first.getpeercert(binary_form=True)
        renewed.cert.replace(cert)
        renewed.key.replace(key)
        new = ssl.create_default_context(cafile=str(renewed.ca))

        def is_renewed() -> bool:
            try:
                with shaken(url, new) as client:
                    return client.getpeercert(binary_form=True) != old
            except ssl.SSLError:
                return False

        wait_until(is_renewed, "the new certificate is shown")
        first.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")  # who is connected stays so
        assert read_all(first).startswith(b"HTTP/1.1 200 ")
        first.close()


def test_a_bad_certificate_ends_it_before_anything_is_opened(
    files: Certificates, tmp_path: Path
) -> None:
    tls = {"cert": str(files.cert), "key": str(tmp_path / "none.pem")}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]  # taken: the certificate is looked at first
        server = HttpServer(ServerConfig.model_validate({"port": port, "tls": tls}))
        with pytest.raises(UsageError, match=r"^server\.tls\.key: "):
            server.start()
