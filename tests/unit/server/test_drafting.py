from __future__ import annotations

import asyncio
import json
import time

from vidpipe.server.drafting import Drafting, layout_text
from vidpipe.server.wallwords import LayoutQuestion


def question(request: int, *, count: int = 3, width: int = 1920) -> LayoutQuestion:
    aspects = tuple((f"s{n}", 16 / 9) for n in range(count))
    return LayoutQuestion(request, width, 1080, aspects, None, 0)


def test_the_newest_question_of_each_page_is_answered_in_turn() -> None:
    answers: list[tuple[str, int]] = []

    async def ask() -> None:
        drafting = Drafting()
        for request in range(20):
            for page in ("one", "two"):
                drafting.ask(
                    page,
                    question(request),
                    lambda text, page=page: answers.append((page, json.loads(text)["request"])),  # type: ignore[misc] # bound
                )
        drafting.ask("gone", question(99), lambda _: answers.append(("gone", 99)))
        drafting.forget("gone")
        while len(answers) < 2:
            await asyncio.sleep(0)
        drafting.ask("one", question(7), lambda _: answers.append(("one", 7)))
        while len(answers) < 3:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(ask(), 10))
    assert answers == [("one", 19), ("two", 19), ("one", 7)]


def test_everything_else_goes_on_between_two_layouts() -> None:
    async def measure() -> tuple[float, float]:
        drafting, done = Drafting(), 0
        busy_s = 0.0

        def answered(_: str) -> None:
            nonlocal done
            done += 1

        for page in range(12):
            drafting.ask(page, question(page, count=64, width=1900 + page), answered)
        began_s = last_s = time.monotonic()
        while done < 12:
            await asyncio.sleep(0)
            now_s = time.monotonic()
            busy_s, last_s = max(busy_s, now_s - last_s), now_s
        return busy_s, now_s - began_s

    longest_s, whole_s = asyncio.run(measure())
    assert longest_s < whole_s / 3


def test_an_answer_names_its_question_and_fits_the_screen() -> None:
    answer = json.loads(layout_text(question(5, count=4)))
    assert (answer["type"], answer["request"], answer["page"]) == ("layout", 5, 0)
    assert [tile["id"] for tile in answer["tiles"]] == ["s0", "s1", "s2", "s3"]
    assert all(tile["x"] + tile["width"] <= 1920 for tile in answer["tiles"])
