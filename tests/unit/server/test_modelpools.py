from __future__ import annotations

from tests.overviews import FakeOverview, make_pool
from tests.servers import TOKENS, served
from tests.web import ask


def test_pools_are_shown_with_their_requests_and_their_batches() -> None:
    overview = FakeOverview(
        pool_reports=[make_pool(), make_pool("car/latency", "car", is_ready=False)],
        switch_counts={"car": 3},
    )
    with served(overview) as url:
        document = ask(f"{url}/api/pools").document
    assert [pool["name"] for pool in document["pools"]] == ["person", "car/latency"]
    first, second = document["pools"]
    assert first == {
        "name": "person",
        "model": "person",
        "ready": True,
        "requests": {"free": 2, "running": 3, "parked": 0},
        "batch_fill": None,
        "switches": None,
    }
    assert (second["model"], second["ready"], second["switches"]) == ("car", False, 3)
    assert document["cpus"] >= 1
    assert document["cpu_cores"] is None or document["cpu_cores"] >= 0


def test_pools_are_for_who_may_look() -> None:
    with served(tokens=TOKENS) as url:
        assert ask(f"{url}/api/pools").status == 401
