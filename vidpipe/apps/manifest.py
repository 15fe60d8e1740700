"""The deployment record: what runs, where, with what, and what the runtime made of it.

A plain document of JSON, so that two of them can be compared key by key.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.machine import Machine, package_versions, this_machine
from vidpipe.version import __version__

FORMAT = 1
_FORMAT_KEY = "manifest"
_TIME_KEY = "written"
_ABSENT = "absent"
_ACTIVE = "active_pool"
"""Of an adaptive model: changes with the load, and is no change of the deployment."""


class ManifestError(UsageError):
    """A manifest can't be read or written."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One key whose value isn't what it was.

    Attributes:
        key: Its path, such as ``models.person.runtime.num_streams``.
        before: The value in the first document; None also where it isn't there.
        after: The value in the second one.
    """

    key: str
    before: Any
    after: Any

    def __str__(self) -> str:
        """The line that a person reads."""
        return f"{self.key}: {_shown(self.before)} -> {_shown(self.after)}"


def build_manifest(
    config: Config,
    models: Mapping[str, Mapping[str, Any]],
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a deployment.

    Args:
        config: What runs.
        models: What is known of each compiled model: see `vidpipe.apps.description`.
        earlier: The manifest of the last start. An override that was in force then keeps the
            machine that it was first in force on.
    """
    machine = this_machine()
    document = {
        _FORMAT_KEY: FORMAT,
        _TIME_KEY: datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "versions": {"vidpipe": __version__, **package_versions()},
        "machine": asdict(machine),
        "models": {
            name: {**about, "overrides": _placed(about, _within(earlier, "models", name), machine)}
            for name, about in models.items()
        },
        "streams": {stream.id: _stream(stream) for stream in config.streams},
        "workers": config.workers,
    }
    redacted: dict[str, Any] = _redacted(document)
    return redacted


def _placed(
    about: Mapping[str, Any], earlier: Mapping[str, Any], machine: Machine
) -> dict[str, dict[str, Any]]:
    """Return a model's overrides, each with the machine that it was first in force on."""
    here = {"cpu": machine.cpu, "cores": machine.cores}
    known = _within(earlier, "overrides")
    if about.get("overrides") is None:
        return dict(known)  # of a run that goes on: they are what they were
    placed = {}
    for key, record in about["overrides"].items():
        before = _within(known, key)
        is_kept = before.get("value") == record["value"] and isinstance(before.get("machine"), dict)
        placed[key] = {**record, "machine": before["machine"] if is_kept else here}
    return placed


def _stream(stream: StreamConfig) -> dict[str, Any]:
    return {
        "id": stream.id,
        "source": redact(stream.source),
        "model": stream.model,
        "detect_fps": stream.detect_fps,
        "weight": stream.weight,
        "realtime": stream.realtime,
        "loop": stream.loop,
        "lane": stream.lane.model_dump(mode="json"),
        "outputs": [output.type for output in stream.outputs],
    }


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(key)): _redacted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return value


def _within(document: Mapping[str, Any] | None, *keys: str) -> Mapping[str, Any]:
    """Return the mapping below some keys; empty where there is none."""
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def is_same_machine(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if what was measured on one machine holds on the other."""
    return (one.get("cpu"), one.get("cores")) == (other.get("cpu"), other.get("cores"))


def machine_name(machine: Mapping[str, Any]) -> str:
    """Name a machine in a sentence."""
    return f"{machine.get('cpu') or 'an unknown CPU'}, {machine.get('cores')} cores"


# ---- Files --------------------------------------------------------------------------------------


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        FileNotFoundError: There is none.
        ManifestError: It can't be read, or is something else.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise ManifestError(f"the manifest {path} can't be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise ManifestError(f"{path} is no manifest, or a damaged one: {exc}") from exc
    if not isinstance(document, dict) or document.get(_FORMAT_KEY) != FORMAT:
        raise ManifestError(f"{path} is no manifest of vidpipe's")
    return document


def opened_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest that has to be there.

    Raises:
        ManifestError: There is none, or it can't be read.
    """
    try:
        return read_manifest(path)
    except FileNotFoundError as exc:
        raise ManifestError(f"there is no manifest {path}") from exc


def write_manifest(path: Path, document: Mapping[str, Any]) -> None:
    """Write a manifest under a temporary name, and give it its own at the end.

    Raises:
        ManifestError: It can't be written.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
    except OSError as exc:
        if part is not None:
            with suppress(OSError):
                Path(part).unlink()
        raise ManifestError(
            f"the manifest {path} can't be written ({exc.strerror}): change telemetry.manifest"
        ) from exc


# ---- Comparing ----------------------------------------------------------------------------------


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return every key that two manifests don't agree in, in the order of the second one.

    What only one of them has is one difference, with everything below it. The time doesn't count,
    nor which pool an adaptive model was using.
    """
    old, new = ({k: v for k, v in one.items() if k != _TIME_KEY} for one in (before, after))
    return list(_differences(old, new, ()))


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[Difference]:
    for key in (*after, *(key for key in before if key not in after)):
        if key == _ACTIVE:
            continue
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, (*path, key))
        elif old != new:
            yield Difference(".".join((*path, key)), old, new)


def _shown(value: Any) -> str:
    if value is None:
        return _ABSENT
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def differences_document(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return differences for programs."""
    return [{"key": one.key, "before": one.before, "after": one.after} for one in found]
