from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import make_result
from tests.fakes import RecordingSink
from tests.packages import install
from vidpipe.errors import ConfigError, SinkError
from vidpipe.interfaces import Sink
from vidpipe.outputs.plugin import foreign_sink, plugin_sink
from vidpipe.runtime.plugins import SINKS
from vidpipe.types import FrameResult, SinkRequest

REQUEST = SinkRequest("gate", "Front gate", is_live=False, options={"path": "x.csv"})

SINK = """
made = []

class Csv:
    needs_picture = False

    def __init__(self, request):
        made.append(request)

    def write(self, result): ...

    def close(self):
        return ["a.csv"]
"""


def test_a_package_makes_the_sink_of_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path, monkeypatch, modules={"acme": SINK}, entry_points={SINKS: {"csv": "acme:Csv"}}
    )
    sink = plugin_sink("csv", REQUEST)
    assert not sink.needs_picture
    sink.write(make_result())
    assert sink.close() == ["a.csv"]
    import acme  # type: ignore[import-not-found] # noqa: PLC0415 - the package made above

    assert acme.made == [REQUEST]


@pytest.mark.parametrize("text", ["import nothing_of_this_name", "Csv = 5", "Csv = object"])
def test_a_package_that_can_not_be_used_fails_its_output_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    install(
        tmp_path, monkeypatch, modules={"acme": text}, entry_points={SINKS: {"csv": "acme:Csv"}}
    )
    sink = plugin_sink("csv", REQUEST)
    with pytest.raises(SinkError, match="csv"):
        sink.write(make_result())
    with pytest.raises(SinkError, match="csv"):
        sink.close()


def test_a_wrong_key_is_a_fault_of_the_configuration() -> None:
    def make(request: SinkRequest) -> Sink:
        raise ValueError(f"path must not be {request.options['path']}")

    with pytest.raises(ConfigError) as caught:
        foreign_sink("csv", make, REQUEST)
    assert [str(fault) for fault in caught.value.faults] == [
        "stream gate: outputs: csv: path must not be x.csv"
    ]


def test_whatever_else_making_a_sink_raises_fails_the_output() -> None:
    def make(request: SinkRequest) -> Sink:
        raise KeyError("no such", request.stream)

    with pytest.raises(SinkError, match=r"csv can't be made: KeyError: \('no such', 'gate'\)"):
        foreign_sink("csv", make, REQUEST).close()


class Odd:
    """A sink that keeps nothing of the contract but its names."""

    needs_picture = "yes"

    def write(self, result: FrameResult) -> None:
        raise ZeroDivisionError("rtsp://me:hunter22@host")

    def close(self) -> None:
        return None


def test_what_a_sink_raises_becomes_its_error_without_secrets() -> None:
    sink = foreign_sink("odd", lambda _: Odd(), REQUEST)  # type: ignore[arg-type] # that is what is odd
    assert sink.needs_picture is True
    with pytest.raises(SinkError, match=r"ZeroDivisionError: rtsp://\*\*\*@host"):
        sink.write(make_result())
    assert sink.close() == []


def test_paths_come_out_as_texts() -> None:
    class Writes(RecordingSink):
        def close(self) -> list[str]:
            super().close()
            return [Path("a/b.csv"), 5]  # type: ignore[list-item] # a mistake of its author

    sink = foreign_sink("odd", lambda _: Writes(), REQUEST)
    with pytest.raises(SinkError, match="TypeError"):
        sink.close()
