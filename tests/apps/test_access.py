"""A run behind TLS and tokens: changed by an operator, and nothing of its secrets is seen."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.apps.test_server import address_from, document, stopped
from tests.browsers import Browser
from tests.certificates import has_openssl, make_certificates
from tests.command import started, vidpipe, write_config
from tests.threads import wait_until

pytestmark = pytest.mark.skipif(not has_openssl(), reason="the program openssl makes certificates")

TOKENS = {"LOOK": "may-look-only-73", "CHANGE": "may-change-too-91"}


def guarded(folder: Path, **keys: Any) -> dict[str, Any]:
    """Return a run of two cameras whose server wants tokens, by TLS."""
    make_certificates(folder)
    server = {
        "port": 0,
        "tokens": [
            {"role": "viewer", "token": "${LOOK}"},
            {"role": "operator", "token": "${CHANGE}"},
        ],
        "tls": {"cert": "cert.pem", "key": "key.pem"},  # beside the configuration
    }
    return document(folder, server=server, **keys)


def states(browser: Browser) -> dict[str, str]:
    """Return what every stream is doing."""
    streams = browser.get("/api/streams").document["streams"]
    return {stream["id"]: stream["state"] for stream in streams}


def test_an_operator_changes_a_run_and_no_secret_is_seen(tmp_path: Path) -> None:
    telemetry = {"log_file": "run.log", "log_level": "DEBUG", "manifest": "manifest.json"}
    config = write_config(tmp_path, guarded(tmp_path, telemetry=telemetry))
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with started("run", config, cwd=tmp_path, environ=TOKENS) as process:
        url = address_from(process)
        assert url.startswith("https://127.0.0.1:")
        operator, viewer = Browser(url, trusting), Browser(url, trusting)
        pages = [operator.log_in(TOKENS["CHANGE"]), viewer.log_in(TOKENS["LOOK"])]
        pages += [viewer.log_in("a-wrong-token-55")]
        wait_until(lambda: set(states(viewer).values()) == {"playing"}, "both play", 60.0)

        assert viewer.post("/api/streams/gate/disable").status == 403
        assert operator.post("/api/streams/none/disable").status == 404
        assert operator.post("/api/streams/gate/disable").status == 200
        wait_until(lambda: states(viewer)["gate"] == "disabled", "it is disabled")
        assert operator.post("/api/streams/gate/restart").status == 409
        assert operator.post("/api/streams/gate/enable").status == 200
        wait_until(lambda: states(viewer)["gate"] == "playing", "it plays again", 30.0)
        assert operator.post("/api/streams/dock/restart").status == 200

        good = config.read_text()
        config.write_text(good.replace("streams:", "streems:"))
        refusal = operator.post("/api/reload")
        assert refusal.status == 422
        assert any(fault["key"] == "streems" for fault in refusal.document["faults"])
        config.write_text(good)
        unchanged = operator.post("/api/reload")
        assert unchanged.status == 200
        assert set(unchanged.document["unchanged"]) == {"gate", "dock"}

        for path in ("/", "/metrics", "/api/streams", "/api/me", "/login", "/none", "/static/x"):
            pages += [browser.get(path) for browser in (operator, viewer)]
        secrets = [*TOKENS.values(), "a-wrong-token-55"]
        secrets += [*operator.cookies.values(), *viewer.cookies.values()]
        done = stopped(process)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    written = [path.read_text() for path in (tmp_path / "run.log", tmp_path / "manifest.json")]
    seen = "\n".join([done.err, done.out, *written, *(page.text for page in pages)])
    assert len(secrets) == 5
    for secret in secrets:
        assert secret not in seen
    assert "somebody presents a wrong token" in seen or "presents a wrong token" in seen
    assert json.loads(written[1])


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_bad_certificate_is_told_before_anything_is_opened(tmp_path: Path, command: str) -> None:
    config = write_config(tmp_path, guarded(tmp_path))
    (tmp_path / "key.pem").write_text("no key")
    done = vidpipe(command, config, cwd=tmp_path, environ=TOKENS)
    assert "server.tls.key: " in done.err + done.out
    assert "key.pem" in done.err + done.out
    assert done.code == (2 if command == "run" else done.code)
    assert done.code != 0
    assert not (tmp_path / "out").exists()
