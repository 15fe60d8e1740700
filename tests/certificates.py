"""A certificate authority of the test's own, made by the program openssl."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


def has_openssl() -> bool:
    """Tell whether certificates can be made."""
    return shutil.which("openssl") is not None


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: the authority's certificate, and a server's for localhost with its key."""

    ca: Path
    cert: Path
    key: Path


def make_certificates(folder: Path) -> Certificates:
    """Make an authority and a certificate for localhost and 127.0.0.1."""
    ca, ca_key, cert, key = (folder / f"{name}.pem" for name in ("ca", "ca-key", "cert", "key"))
    request, names = folder / "request.pem", folder / "names.ext"
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    new: list[str | Path] = ["-newkey", "rsa:2048", "-nodes"]
    _openssl("req", "-x509", *new, "-subj", "/CN=test", "-keyout", ca_key, "-out", ca)
    _openssl("req", *new, "-subj", "/CN=localhost", "-keyout", key, "-out", request)
    signing: list[str | Path] = ["-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-extfile", names]
    _openssl("x509", "-req", "-in", request, *signing, "-out", cert)
    return Certificates(ca, cert, key)


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)
