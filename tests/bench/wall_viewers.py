"""Pages of the wall as a load: healthy ones, which draw at once, and stalled ones, which never do.

    python -m tests.bench.wall_viewers URL --healthy 25 --stalled 25 --seconds 60 --tiles 16

A stalled viewer asks for its tiles and reads nothing any more; every few seconds it comes again, as
the server closes it. Prints one line of JSON: pictures a second and tile of each healthy viewer
(least, median, most), ages at arrival, bytes a second, and how often stalled ones came.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.wall_pages import bare_page, masked

_WARM_S = 2.0


def watch_word(streams: Sequence[str], size_wh: tuple[int, int], fps: float) -> str:
    """Return what asks for tiles."""
    wish = {"width": size_wh[0], "height": size_wh[1], "fps": fps}
    return json.dumps({"type": "watch", "tiles": dict.fromkeys(streams, wish)})


async def healthy(url: str, word: str, seconds: float) -> dict[str, Any]:
    """Watch, acknowledge each picture at once, and count those after a while of warming up."""
    counts: dict[str, int] = {}
    ages_ms: list[float] = []
    size = 0
    async with connect(url.replace("http", "ws", 1) + "/ws/wall", max_size=None) as socket:
        await socket.send(word)
        begins_s = time.monotonic() + _WARM_S
        until_s = begins_s + seconds
        while time.monotonic() < until_s:
            message = await socket.recv()
            if isinstance(message, str):
                continue
            length = int.from_bytes(message[:4], "big")
            header = json.loads(message[4 : 4 + length])
            await socket.send(
                f'{{"type":"ack","stream":"{header["stream"]}","seq":{header["seq"]}}}'
            )
            if time.monotonic() >= begins_s:
                counts[header["stream"]] = counts.get(header["stream"], 0) + 1
                ages_ms.append(header["age_ms"])
                size += len(message)
    return {"counts": counts, "ages_ms": ages_ms, "bytes": size}


async def stalled(url: str, word: str, seconds: float) -> int:
    """Ask and read nothing, again and again; return how often the server was come to."""
    visits, until_s = 0, time.monotonic() + _WARM_S + seconds
    while time.monotonic() < until_s:
        with suppress(OSError, AssertionError):
            client = await asyncio.to_thread(bare_page, url)
            visits += 1
            with client:
                client.sendall(masked(word))
                # Cut off by the server meanwhile, or not: it can't know that without reading.
                await asyncio.sleep(min(12.0, max(0.1, until_s - time.monotonic())))
    return visits


async def look(options: argparse.Namespace) -> dict[str, Any]:
    """Run all viewers, and return what they have seen."""
    streams = [f"s{n}" for n in range(options.tiles)]
    width, height = (int(part) for part in options.size.split("x"))
    word = watch_word(streams, (width, height), options.fps)
    tasks = [healthy(options.url, word, options.seconds) for _ in range(options.healthy)]
    others = [stalled(options.url, word, options.seconds) for _ in range(options.stalled)]
    found = await asyncio.gather(*tasks, *others, return_exceptions=True)
    seen = [one for one in found[: len(tasks)] if isinstance(one, dict)]
    broken = [repr(one) for one in found if isinstance(one, BaseException | ConnectionClosed)]
    rates = sorted(
        one["counts"].get(stream, 0) / options.seconds for one in seen for stream in streams
    )
    ages_ms = sorted(age for one in seen for age in one["ages_ms"])
    return {
        "healthy": len(seen),
        "fps_least": rates[0] if rates else None,
        "fps_median": statistics.median(rates) if rates else None,
        "fps_most": rates[-1] if rates else None,
        "age_p50_ms": ages_ms[len(ages_ms) // 2] if ages_ms else None,
        "age_p95_ms": ages_ms[int(len(ages_ms) * 0.95)] if ages_ms else None,
        "mb_a_second": sum(one["bytes"] for one in seen) / options.seconds / 1e6,
        "stalled_visits": sum(one for one in found[len(tasks) :] if isinstance(one, int)),
        "broken": broken,
    }


def main() -> None:
    """Look on and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--healthy", type=int, default=1)
    parser.add_argument("--stalled", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tiles", type=int, default=16)
    parser.add_argument("--size", default="480x270", help="of a tile, in pixels")
    parser.add_argument("--fps", type=float, default=10.0)
    print(json.dumps(asyncio.run(look(parser.parse_args()))))


if __name__ == "__main__":
    main()
