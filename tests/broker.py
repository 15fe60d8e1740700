"""A real MQTT broker (mosquitto) and a subscriber, for tests marked ``mqtt``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from tests.certificates import Certificates
from tests.threads import wait_until

_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
_MOSQUITTO = shutil.which("mosquitto", path=_PATH)
_PASSWD = shutil.which("mosquitto_passwd", path=_PATH)


def has_mosquitto() -> bool:
    """Tell whether the broker is installed."""
    return _MOSQUITTO is not None and _PASSWD is not None


def free_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Broker:
    """A broker on the loopback; sessions of its clients outlive ``stop`` and ``start``."""

    folder: Path
    port: int
    username: str = ""
    password: str = ""
    certificates: Certificates | None = None
    process: subprocess.Popen[bytes] | None = None
    listeners: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address, without credentials."""
        scheme = "mqtts" if self.certificates else "mqtt"
        return f"{scheme}://{'localhost' if self.certificates else '127.0.0.1'}:{self.port}"

    def start(self) -> None:
        """Let it listen."""
        assert _MOSQUITTO is not None
        command = [_MOSQUITTO, "-c", str(self.folder / "mosquitto.conf")]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(lambda: _is_listening(self.port), "the broker listens")

    def stop(self) -> None:
        """End it in order: it keeps its sessions."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()

    def freeze(self) -> None:
        """Stop it without closing its connections."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def broker(
    folder: Path,
    username: str = "",
    password: str = "",
    certificates: Certificates | None = None,
) -> Iterator[Broker]:
    """Run a broker; with a name it asks for it, with certificates it speaks TLS alone."""
    assert _PASSWD is not None
    made = Broker(folder, free_port(), username, password, certificates)
    lines = [
        "user root",  # where root runs it, else it couldn't read this folder
        f"listener {made.port} 127.0.0.1",
        "max_queued_messages 0",
        "max_inflight_messages 0",
        f"persistence_location {folder}/",
        "persistence true",
    ]
    if username:
        words = folder / "passwords"
        words.touch(mode=0o600)
        subprocess.run([_PASSWD, "-b", words, username, password], check=True, capture_output=True)
        lines += [f"password_file {words}", "allow_anonymous false"]
    else:
        lines.append("allow_anonymous true")
    if certificates is not None:
        lines += [f"certfile {certificates.cert}", f"keyfile {certificates.key}"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    made.start()
    try:
        yield made
    finally:
        made.stop()


@dataclass
class Heard:
    """What a subscriber has got, in order, and with duplicates."""

    messages: list[tuple[str, bytes, bool]] = field(default_factory=list)
    subscribed: threading.Event = field(default_factory=threading.Event)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events, each once: where its id came first."""
        found: dict[str, dict[str, Any]] = {}
        for topic, payload, _ in list(self.messages):
            if topic.endswith("/events"):
                event = json.loads(payload)
                found.setdefault(event["id"], event)
        return list(found.values())


@contextmanager
def subscriber(of: Broker, topic: str = "#") -> Iterator[Heard]:
    """Listen to a topic with a session that the broker keeps, also while it is away itself."""
    heard = Heard()
    client = Client(CallbackAPIVersion.VERSION2, "test-listener", clean_session=False)
    if of.username:
        client.username_pw_set(of.username, of.password)
    if of.certificates is not None:
        client.tls_set(str(of.certificates.ca))
    client.reconnect_delay_set(1, 1)

    def keep(_: Client, __: object, message: MQTTMessage) -> None:
        heard.messages.append((message.topic, bytes(message.payload), message.retain))

    client.on_message = keep

    def subscribe(*_: object) -> None:
        client.subscribe(topic, qos=1)

    client.on_connect = subscribe
    client.on_subscribe = lambda *_: heard.subscribed.set()
    client.connect("localhost" if of.certificates else "127.0.0.1", of.port)
    client.loop_start()
    try:
        assert heard.subscribed.wait(10)
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()
