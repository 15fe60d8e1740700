from __future__ import annotations

from vidpipe.config.document import (
    Entry,
    FaultLog,
    ListNode,
    MapNode,
    Node,
    Place,
    TextNode,
    key_text,
    map_texts,
    merged,
    plain_data,
    show,
)

HERE = Place(0, 1, 1, "c.yml")


def text(value: str) -> TextNode:
    return TextNode(value, value, is_plain=True, place=HERE)


def mapping(**nodes: Node) -> MapNode:
    return MapNode({key: Entry(HERE, node) for key, node in nodes.items()}, HERE)


def test_merging_goes_down_into_mappings_and_replaces_all_else() -> None:
    base = mapping(a=mapping(x=text("1"), y=text("2")), b=ListNode((text("1"),), HERE))
    own = mapping(a=mapping(y=text("3")), b=ListNode((), HERE), c=text("~"))
    assert plain_data(merged(base, own)) == {"a": {"x": "1", "y": "3"}, "b": [], "c": None}
    assert plain_data(base) == {"a": {"x": "1", "y": "2"}, "b": ["1"]}
    assert merged(base, text("5")) == text("5")


def test_a_shared_node_is_changed_once() -> None:
    shared = text("a")
    seen: list[TextNode] = []

    def change(node: TextNode, _: object) -> TextNode:
        seen.append(node)
        return text("b")

    changed = map_texts(ListNode((shared, shared), HERE), change)
    assert plain_data(changed) == ["b", "b"]
    assert len(seen) == 1


def test_keys_are_written_as_paths() -> None:
    assert key_text(("streams", 0, "lane", "size")) == "streams[0].lane.size"
    assert key_text(()) == ""


def test_shown_text_is_short_printable_and_without_passwords() -> None:
    assert show("a\nb\x1b") == "a?b?"
    assert len(show("x" * 1000)) == 60
    assert show("rtsp://u:word@h/x") == "rtsp://u:***@h/x"


def test_faults_are_kept_once_and_sorted_by_place() -> None:
    log = FaultLog()
    late, early, option = Place(0, 9, 1, "c"), Place(0, 2, 5, "c"), Place(2, 0, 1, "--set x")
    assert log.error() is None
    log.add(option, ("x",), "third")
    log.add(late, ("b",), "second")
    log.block(early, ("a",), "first")
    log.add(late, ("elsewhere",), "second")
    log.add(early, ("a",), "not heard any more")
    error = log.error()
    assert error is not None
    assert str(error) == "c:2:5: a: first\nc:9:1: b: second\n--set x: third"
    assert log.has_place(late)
    assert not log.has_place(HERE)
