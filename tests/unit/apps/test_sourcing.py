from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import load, one_stream
from vidpipe.apps.sourcing import decode_plan, source_spec
from vidpipe.sources.skipping import DecodeMode, DecodePlan

A = DecodeMode


@pytest.mark.parametrize(
    ("keys", "shows_pictures", "mode"),
    [
        ("detect_fps: 1", False, A.ALL),
        ("decode: key", True, A.KEY),
        ("decode: reference", False, A.REFERENCE),
        ("decode: auto, detect_fps: 1", False, A.AUTO),
        ("decode: auto, detect_fps: 1", True, A.ALL),
        ("decode: auto", False, A.ALL),
    ],
)
def test_auto_skips_only_where_no_picture_is_missed(
    keys: str,
    shows_pictures: bool,  # noqa: FBT001 - a parameter of the test
    mode: DecodeMode,
) -> None:
    stream = load(one_stream(keys)).streams[0]
    assert decode_plan(stream, shows_pictures=shows_pictures).mode is mode


def test_auto_knows_the_rate_that_is_wanted() -> None:
    stream = load(one_stream("decode: auto, detect_fps: 2")).streams[0]
    assert decode_plan(stream, shows_pictures=False) == DecodePlan(A.AUTO, 2.0)


def test_a_certificate_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    stream = load(
        one_stream("connect: {tls: {ca: ca.pem, verify: true}}"), folder=tmp_path
    ).streams[0]
    spec = source_spec(stream)
    assert (spec.ca_file, spec.is_verified) == (str(tmp_path / "ca.pem"), True)
    plain = source_spec(load(one_stream()).streams[0])
    assert (plain.ca_file, plain.is_verified) == ("", False)
