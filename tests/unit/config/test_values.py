from __future__ import annotations

import pytest

from tests.config_files import fault_of, load, one_model, one_stream
from vidpipe.config.stream import StreamConfig
from vidpipe.config.values import Written, any_scalar


@pytest.mark.parametrize("text", ["5", "5.0", "+5", "0.5e1", "5."])
def test_numbers_are_read_as_people_write_them(text: str) -> None:
    assert load(one_stream(f"detect_fps: {text}")).streams[0].detect_fps == 5.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fast", "expected a number, not 'fast'"),
        ("'5'", "not '5' in quotes: take them away"),
        ("true", "expected a number, not 'true'"),
        ("010", "octal"),
        ("1:30", "expected a number"),
        ("1_000", "expected a number"),
        ("0x10", "expected a number"),
        (".nan", "finite"),
        ("-.inf", "finite"),
        ("1e999", "finite"),
        ("9" * 5000, "finite"),
        ("0", "must be greater than 0"),
        ("-1", "must be greater than 0"),
        ("1001", "must be at most 1000"),
        ("[5]", "not a list"),
        ("{a: 5}", "not a mapping"),
        ("2026-11-30", "expected a number"),
    ],
)
def test_what_is_no_sensible_number_is_refused_in_plain_words(text: str, words: str) -> None:
    fault = fault_of(one_stream(f"detect_fps: {text}"))
    assert fault.key == "streams[0].detect_fps"
    assert words in fault.message


@pytest.mark.parametrize("text", ["1.5", "1e3", "two", "true", "'2'", "9" * 30])
def test_whole_numbers_are_whole(text: str) -> None:
    assert fault_of(one_stream(f"lane: {{size: {text}}}")).key == "streams[0].lane.size"


@pytest.mark.parametrize("text", ["maybe", "1", "'true'", "[]"])
def test_a_boolean_is_true_or_false(text: str) -> None:
    assert "expected true or false" in fault_of(one_stream(f"loop: {text}")).message


def test_text_is_not_blank_and_holds_no_nul() -> None:
    assert "is empty" in fault_of(one_stream('name: " "')).message
    assert "NUL" in fault_of(one_stream('name: "a\\0b"')).message
    assert "NUL" in fault_of(one_stream('outputs: [{type: jsonl, path: "a\\0b"}]')).message


def test_a_word_outside_of_its_list_is_answered_with_the_nearest() -> None:
    fault = fault_of(one_stream("lane: {overflow: drop_oldest}"))
    assert fault.message == (
        "expected one of drop-oldest, block, not 'drop_oldest'; did you mean 'drop-oldest'?"
    )


def test_long_and_odd_texts_are_shown_short_and_on_one_line() -> None:
    fault = fault_of(one_stream('detect_fps: "a\\nb\\e' + "x" * 500 + '"'))
    assert "\n" not in fault.message
    assert "\x1b" not in fault.message
    assert len(fault.message) < 120


def test_properties_keep_the_type_that_they_look_like() -> None:
    properties = (
        load(one_model("properties: {A: 2, B: 0.5, C: true, D: NO, E: '2', F: 010}"))
        .models["person"]
        .properties
    )
    assert properties == {"A": 2, "B": 0.5, "C": True, "D": "NO", "E": "2", "F": "010"}
    assert [type(value) for value in properties.values()] == [int, float, bool, str, str, str]
    assert any_scalar(Written("7", shown="7", is_plain=True)) == 7


def test_values_of_python_are_taken_as_they_are() -> None:
    stream = StreamConfig(id="a", source="b.mp4", detect_fps=5, loop=True)
    assert (stream.detect_fps, stream.loop) == (5.0, True)
    with pytest.raises(ValueError, match="expected a number"):
        StreamConfig.model_validate({"id": "a", "source": "b.mp4", "detect_fps": "5"})
