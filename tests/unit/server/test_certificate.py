"""The certificate's files, good and bad; made by openssl."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certificates import has_openssl, make_certificates
from vidpipe.errors import UsageError
from vidpipe.server import certificate as module
from vidpipe.server.certificate import Certificate
from vidpipe.server.validity import validity_of

pytestmark = pytest.mark.skipif(not has_openssl(), reason="the program openssl makes them")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with cert.pem and key.pem, and with other-cert.pem and other-key.pem."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("cert", "other-cert"):
        new = tmp_path_factory.mktemp(name)
        files = make_certificates(new)
        shutil.copy(files.cert, folder / f"{name}.pem")
        shutil.copy(files.key, folder / f"{name.replace('cert', 'key')}.pem")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a folder of the test's own with the same files."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def fault_of(cert: Path, key: Path) -> str:
    with pytest.raises(UsageError) as caught:
        Certificate(cert, key)
    return str(caught.value)


def test_a_good_one_is_shown_by_a_context_of_tls_1_2_and_more(folder: Path) -> None:
    context = Certificate(folder / "cert.pem", folder / "key.pem").context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_both_may_be_in_one_file(folder: Path) -> None:
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    assert isinstance(Certificate(both, both).context, ssl.SSLContext)


def test_each_fault_names_its_key_and_its_file(folder: Path) -> None:
    cert, key = folder / "cert.pem", folder / "key.pem"
    missing = folder / "missing.pem"
    (folder / "empty.pem").touch()
    (folder / "der.pem").write_bytes(b"\x30\x82\x01\x00" * 10)
    (folder / "cut.pem").write_bytes(cert.read_bytes()[:200])
    damaged = cert.read_text().replace("MI", "AA", 1)
    (folder / "damaged.pem").write_text(damaged)
    for wrong_cert, wrong_key, parts in (
        (missing, key, ("server.tls.cert: ", "missing.pem", "no such file")),
        (cert, missing, ("server.tls.key: ", "missing.pem", "no such file")),
        (folder, key, ("server.tls.cert: ", str(folder), "folder")),
        (folder / "empty.pem", key, ("server.tls.cert: ", "no certificate", "empty.pem")),
        (folder / "der.pem", key, ("server.tls.cert: ", "no PEM")),
        (folder / "cut.pem", key, ("server.tls.cert: ", "cut.pem", "damaged")),
        (folder / "damaged.pem", key, ("server.tls", "damaged.pem")),
        (cert, cert, ("server.tls.key: ", "no private key")),
        (key, cert, ("server.tls.cert: ", "exchange cert and key")),
        (cert, folder / "other-key.pem", ("server.tls.key: ", "doesn't belong to", "cert.pem")),
    ):
        fault = fault_of(wrong_cert, wrong_key)
        for part in parts:
            assert part in fault, (part, fault)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_key_is_told(folder: Path) -> None:
    (folder / "key.pem").chmod(0)
    fault = fault_of(folder / "cert.pem", folder / "key.pem")
    assert fault.startswith("server.tls.key: ")
    assert "may not be read" in fault


def test_an_encrypted_key_is_refused_and_nobody_is_asked(folder: Path) -> None:
    key = folder / "key.pem"
    locked = folder / "locked.pem"
    openssl("pkey", "-in", key, "-aes256", "-passout", "pass:hunter2", "-out", locked)
    fault = fault_of(folder / "cert.pem", locked)
    assert fault.startswith("server.tls.key: ")
    assert "encrypted" in fault


def test_an_expired_one_starts_and_is_said_loudly_every_day(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    until = validity_of((folder / "cert.pem").read_text()).until
    now_s = 0.0

    class Later(datetime):
        """The clock a day behind its end."""

        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override] # as it is called
            del tz
            return until + timedelta(days=1)

    monkeypatch.setattr(module, "datetime", Later)
    certificate = Certificate(folder / "cert.pem", folder / "key.pem", lambda: now_s)
    assert isinstance(certificate.context, ssl.SSLContext)
    assert certificate.warning is not None
    assert f"cert.pem has expired on {until:%F}: renew it" in certificate.warning
    for hour in range(30):
        now_s = hour * 3600.0
        certificate.refresh()
    said = [line for line in log_lines if "has expired" in line]
    assert len(said) == 2
    assert all("ERROR" in line for line in said)


def test_one_that_has_expired_takes_the_place_of_none_that_is_good_for_longer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    old, new = folder / "old.pem", folder / "new.pem"
    cert, key, request = folder / "cert.pem", folder / "key.pem", folder / "request.pem"
    openssl("req", "-new", "-key", key, "-subj", "/CN=a", "-out", request)
    for name, days in ((old, "10"), (new, "11")):
        openssl("x509", "-req", "-in", request, "-days", days, "-signkey", key, "-out", name)
    now = datetime.now(UTC) + timedelta(days=12)

    class Later(datetime):
        """The clock in twelve days, of thirty for which the certificate is good."""

        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override] # as it is called
            del tz
            return now

    monkeypatch.setattr(module, "datetime", Later)
    good = cert.read_bytes()
    cert.write_bytes(old.read_bytes())
    certificate = Certificate(cert, key)
    for content, is_taken in (
        (new.read_bytes(), True),
        (old.read_bytes(), False),
        (good, True),
        (new.read_bytes(), False),
    ):
        before = certificate.context
        cert.write_bytes(content + b"\n" * (1 + len(log_lines)))
        certificate.refresh()
        assert (certificate.context is not before) is is_taken, log_lines[-1]
    assert certificate.warning is None


def test_the_validity_is_what_openssl_says(folder: Path) -> None:
    for words in (
        ("-newkey", "rsa:2048", "-days", "10"),
        ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "20000"),
    ):
        new = folder / "new.pem"
        to = ("-keyout", folder / "k", "-out", new)
        openssl("req", "-x509", *words, "-nodes", "-subj", "/CN=a", *to)
        told = subprocess.run(
            ["openssl", "x509", "-in", new, "-noout", "-dates"], check=True, capture_output=True
        ).stdout.decode()
        since, until = (
            datetime.strptime(line.partition("=")[2], "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
            for line in told.splitlines()
        )
        found = validity_of(new.read_text())
        assert (found.since, found.until) == (since, until)


@pytest.mark.parametrize("count", [0, 1, 2, 10, 50, 200])
def test_a_cut_certificate_is_no_crash(folder: Path, count: int) -> None:
    der = ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())
    with pytest.raises(ValueError, match=r"certificate|invalid|data"):
        validity_of(ssl.DER_cert_to_PEM_cert(der[:count]))


# ---- Renewal -----------------------------------------------------------------------------------


def test_a_renewed_one_is_taken_up_and_a_broken_one_is_not(
    folder: Path, log_lines: list[str]
) -> None:
    cert, key = folder / "cert.pem", folder / "key.pem"
    certificate = Certificate(cert, key)
    first = certificate.context
    certificate.refresh()
    assert certificate.context is first
    (folder / "other-cert.pem").replace(cert)  # the key comes a moment later
    for _ in range(3):
        certificate.refresh()
    assert certificate.context is first
    said = [line for line in log_lines if "stays in force" in line]
    assert len(said) == 1
    assert "server.tls.key" in said[0]
    (folder / "other-key.pem").replace(key)
    certificate.refresh()
    second = certificate.context
    assert second is not first
    assert any("a new certificate is in force" in line for line in log_lines)
    cert.unlink()
    certificate.refresh()
    assert certificate.context is second


def test_a_link_that_points_elsewhere_is_a_renewal(folder: Path) -> None:
    live = folder / "live"
    live.mkdir()
    for name in ("cert", "key"):
        (live / f"{name}.pem").symlink_to(folder / f"{name}.pem")
    certificate = Certificate(live / "cert.pem", live / "key.pem")
    first = certificate.context
    for name in ("cert", "key"):
        link = live / f"{name}.pem"
        link.unlink()
        link.symlink_to(folder / f"other-{name}.pem")
    certificate.refresh()
    assert certificate.context is not first


def test_its_coming_end_is_said_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    certificate = Certificate(folder / "cert.pem", folder / "key.pem")
    until = validity_of((folder / "cert.pem").read_text()).until
    now = until - timedelta(days=3)

    class Later(datetime):
        """A clock that the test moves."""

        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override] # as it is called
            del tz
            return now

    monkeypatch.setattr(module, "datetime", Later)
    for _ in range(3):
        certificate.refresh()
    assert sum("expires on" in line for line in log_lines) == 1
    now = until + timedelta(seconds=1)
    for _ in range(3):
        certificate.refresh()
    assert sum("has expired" in line for line in log_lines) == 1
