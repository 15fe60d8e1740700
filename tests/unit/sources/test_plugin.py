from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.packages import install
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.runtime.plugins import SOURCES
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.sources.plugin import is_plugin_live
from vidpipe.types import SourceKind

PLUGIN = """
import numpy as np
from vidpipe.errors import SourceCause, SourceError
from vidpipe.types import Decoded, Picture, SourceInfo, SourceKind

is_live = True
requests = []

def plane(height, width):
    return np.full((height, width), 90, np.uint8)

class Reader:
    info = SourceInfo(SourceKind.PLUGIN, is_live, "drawn", 5, 3)
    script = [Decoded(Picture(plane(3, 5), plane(2, 3), plane(2, 3)), 0.5)]

    def __init__(self):
        self.left = list(self.script)

    def read(self):
        step = self.left.pop(0) if self.left else None
        if isinstance(step, Exception):
            raise step
        return step

    def close(self):
        pass

def open(request):
    requests.append(request)
    return Reader()
"""


def opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: str = "", url: str = "drawn:a?b"
) -> Reader:
    """Open an address by a package whose module ends in this change."""
    install(
        folder,
        monkeypatch,
        modules={"acme": PLUGIN + change},
        entry_points={SOURCES: {"drawn": "acme"}},
    )
    return open_reader(SourceSpec(url, SourceKind.PLUGIN, 1.0, 2.0))


def test_a_package_opens_the_addresses_of_its_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = opened(tmp_path, monkeypatch, url="Drawn://me:hunter22@a/b")
    import acme  # type: ignore[import-not-found] # noqa: PLC0415 - the package made above

    (request,) = acme.requests
    assert request.url == "Drawn://me:hunter22@a/b"
    assert (request.open_timeout_s, request.read_timeout_s) == (1.0, 2.0)
    assert "hunter22" not in repr(request)
    assert reader.info.codec == "drawn"
    assert is_plugin_live("drawn:x")
    decoded = reader.read()
    assert decoded is not None
    assert decoded.pts_s == 0.5
    assert decoded.picture.size_wh == (5, 3)
    assert not decoded.picture.y.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        decoded.picture.u[0, 0] = 1
    assert reader.read() is None
    reader.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "def open(request): raise OSError('no wire')",
            "the plugin drawn failed: OSError: no wire",
        ),
        ("def open(request): return 5", r"int has no info, no read\(\), no close\(\)"),
        ("Reader.info = 'x'", "info is a str, no SourceInfo"),
        ("del is_live", "is no SourcePlugin: it has no is_live"),
        ("import nothing_of_this_name", "can't be loaded: ModuleNotFoundError"),
    ],
)
def test_a_plugin_that_fails_is_a_source_that_can_not_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, words: str
) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        opened(tmp_path, monkeypatch, change, "drawn://me:hunter22@a")
    assert caught.value.cause is SourceCause.FORMAT
    assert "hunter22" not in str(caught.value)


def test_a_plugin_s_own_source_error_keeps_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = "def open(request): raise SourceError(request.url + ' is off', SourceCause.REFUSED)"
    with pytest.raises(SourceError, match=r"drawn://\*\*\*@a is off") as caught:
        opened(tmp_path, monkeypatch, change, "drawn://me:hunter22@a")
    assert caught.value.cause is SourceCause.REFUSED


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("5", "TypeError: read returned a int, no Decoded"),
        ("KeyError('x')", "KeyError: 'x'"),
        ("Decoded(Picture(plane(3, 5), plane(3, 5), plane(2, 3)), 0.0)", "no planes of 4:2:0"),
        ("Decoded(Picture(plane(0, 0), plane(0, 0), plane(0, 0)), 0.0)", "no planes of 4:2:0"),
        ("Decoded(Picture(plane(3, 5) * 1.0, plane(2, 3), plane(2, 3)), 0.0)", "of uint8"),
        ("Decoded(None, 0.0)", "AttributeError"),
    ],
)
def test_what_is_no_picture_is_the_source_s_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, words: str
) -> None:
    reader = opened(tmp_path, monkeypatch, f"Reader.script = [{step}]")
    with pytest.raises(SourceError, match=words):
        reader.read()


def test_a_plugin_that_fails_to_close_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    opened(
        tmp_path, monkeypatch, "def close(self): raise OSError('stuck')\nReader.close = close"
    ).close()
    assert "stuck" in log_lines[-1]


def test_a_plugin_that_can_not_be_loaded_is_taken_for_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError):
        opened(tmp_path, monkeypatch, "raise RuntimeError('broken')")
    assert not is_plugin_live("drawn:x")


def test_read_only_planes_are_taken_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = opened(
        tmp_path, monkeypatch, "for p in (Reader.script[0].picture.y,): p.flags.writeable = False"
    )
    decoded = reader.read()
    assert decoded is not None
    assert decoded.picture.y.dtype == np.uint8
