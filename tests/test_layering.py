"""The architecture's laws hold in vidpipe, and each rule catches what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import pytest

import vidpipe
from tests import architecture as law

PACKAGE = Path(vidpipe.__file__).parent

FLOOR = {"errors", "types", "events", "interfaces", "packets", "pixels", "shots"}
STAGES = {"sources", "scheduling", "inference", "analytics", "outputs"}
BELOW_STAGES = FLOOR | {"config", "runtime"}

IMPORT_LAW: Mapping[str, set[str]] = {
    "errors": set(),
    "types": {"errors"},
    "events": {"errors"},
    "packets": {"errors"},
    "shots": set(),
    "interfaces": {"errors", "types"},
    "pixels": {"errors", "types"},
    # for its redaction, and for the names that installed packages add
    "config": {"errors", "runtime.logs", "runtime.plugins"},
    "runtime": {"errors"},
    **dict.fromkeys(STAGES, BELOW_STAGES),
    # what is seen of a run, and who shows it to the network: neither knows a stage
    "telemetry": FLOOR | {"runtime"},
    # what a wall looks like, for a page and for a window: numbers and words alone
    "wall": set(),
    "server": {"version", "telemetry", "wall"} | BELOW_STAGES,
    "apps": {"version", "telemetry", "server", "wall"} | BELOW_STAGES | STAGES,
    "version": set(),
    # the public API
    law.ROOT: {"version", "apps.pipeline", "apps.outcome"} | BELOW_STAGES | STAGES,
    "__main__": {"apps"},
}

# One stage or two are an application's subject (probing sources, listing models); three are a
# pipeline, and pipelines are put together in one place.
MOST_STAGES_OF_AN_APP = 2

THREAD_NAMES = {
    "threading.Thread",
    "threading.Timer",
    "_thread.start_new_thread",
    "concurrent.futures.ThreadPoolExecutor",
    "multiprocessing.pool.ThreadPool",
}
WINDOW_NAMES = {
    *("cv2.namedWindow", "cv2.imshow", "cv2.waitKey", "cv2.destroyAllWindows"),
    *("cv2.setWindowProperty", "cv2.getWindowProperty", "cv2.getWindowImageRect"),
}
WEB_FRAMEWORKS = {
    *("fastapi", "starlette", "uvicorn", "aiohttp", "flask", "tornado", "websockets"),
    *("h11", "prometheus_client"),
}
EMPTY_NAMES = {
    *("utils", "util", "core", "base", "helpers", "helper", "common", "misc"),
    *("manager", "managers", "handler", "handlers"),
}

Rule = Callable[[law.Modules], Iterable[str]]

RULES: dict[str, Rule] = {
    "import law": partial(law.check_law, law=IMPORT_LAW),
    "composition": partial(
        law.check_composition,
        stages=STAGES,
        composer="apps/build.py",
        most=MOST_STAGES_OF_AN_APP,
    ),
    "cycles": law.check_cycles,
    "imports": partial(law.check_imports, lazy=("apps/",)),
    "re-exports": law.check_re_exports,
    "hollow inits": law.check_hollow_inits,
    "openvino": partial(law.check_fence, packages={"openvino"}, homes=("inference/",)),
    "nncf": partial(law.check_fence, packages={"nncf"}, homes=("inference/quantize.py",)),
    "matplotlib": partial(
        law.check_fence, packages={"matplotlib"}, homes=("apps/bench/curves.py",)
    ),
    "pyarrow": partial(
        law.check_fence, packages={"pyarrow"}, homes=("apps/batch/formats/parquet.py",)
    ),
    "MQTT": partial(law.check_fence, packages={"paho"}, homes=("outputs/mqtt.py",)),
    "SQLite": partial(
        law.check_fence,
        packages={"sqlite3"},
        homes=("outputs/eventstore.py", "apps/batch/ledger.py"),
    ),
    "yaml": partial(law.check_fence, packages={"yaml"}, homes=("config/load.py",)),
    "pydantic": partial(
        law.check_fence, packages={"pydantic", "pydantic_core"}, homes=("config/",)
    ),
    "PyAV": partial(
        law.check_fence,
        packages={"av"},
        # decoding, copying a sample, encoding; and all three without vidpipe, to measure against
        homes=(
            "sources/container.py",
            "sources/video.py",
            "sources/images.py",
            "sources/tap.py",
            "sources/recording.py",
            "sources/moments.py",
            "sources/keyframes.py",
            "sources/spans.py",
            "outputs/",
            "apps/bench/bare.py",
        ),
    ),
    "web framework": partial(law.check_fence, packages=WEB_FRAMEWORKS, homes=("server/",)),
    "webcam": partial(law.check_uses, names={"cv2.VideoCapture"}, homes=("sources/webcam.py",)),
    "window": partial(law.check_uses, names=WINDOW_NAMES, homes=("apps/window.py",)),
    "threads": partial(law.check_uses, names=THREAD_NAMES, homes=("runtime/",)),
    "print": partial(law.check_uses, names={"print"}, homes=("apps/cli.py", "apps/terminal.py")),
    "shape": partial(law.check_shape, names=EMPTY_NAMES, most_lines=400),
}


@pytest.fixture(scope="module")
def modules() -> law.Modules:
    return law.read(PACKAGE)


@pytest.mark.parametrize("name", RULES)
def test_vidpipe_keeps_the_law(name: str, modules: law.Modules) -> None:
    assert len(modules) > len(FLOOR)
    faults = dict.fromkeys(RULES[name](modules))
    assert not faults, "\n".join(faults)


# Each line: a rule, and sources that break it once, in the first of them.
VIOLATIONS: list[tuple[str, dict[str, str]]] = [
    ("import law", {"errors.py": "from vidpipe.types import Frame", "types.py": ""}),
    ("import law", {"types.py": "from vidpipe import interfaces", "interfaces.py": ""}),
    ("import law", {"interfaces.py": "import vidpipe.pixels", "pixels.py": ""}),
    ("import law", {"config/load.py": "import vidpipe.types", "types.py": ""}),
    ("import law", {"config/load.py": "import vidpipe.runtime.stage", "runtime/stage.py": ""}),
    ("import law", {"runtime/stage.py": "import vidpipe.config", "config/__init__.py": ""}),
    ("import law", {"sources/a.py": "from vidpipe.outputs.b import C", "outputs/b.py": ""}),
    ("import law", {"sources/a.py": "from vidpipe import outputs", "outputs/__init__.py": ""}),
    ("import law", {"outputs/b.py": "import vidpipe.apps.cli", "apps/cli.py": ""}),
    ("import law", {"pages/page.py": ""}),
    ("import law", {"server/a.py": "import vidpipe.inference.b", "inference/b.py": ""}),
    ("import law", {"server/a.py": "from vidpipe.apps.b import C", "apps/b.py": "C = 1"}),
    ("import law", {"outputs/a.py": "import vidpipe.server.b", "server/b.py": ""}),
    ("import law", {"telemetry/a.py": "import vidpipe.server.b", "server/b.py": ""}),
    (
        "import law",
        {
            "sources/a.py": "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from vidpipe.outputs.b import C",
            "outputs/b.py": "",
        },
    ),
    (
        "composition",
        {
            "apps/live.py": "import vidpipe.sources\nimport vidpipe.outputs.b\n"
            "from vidpipe import analytics",
            "sources/__init__.py": "",
            "outputs/b.py": "",
            "analytics/__init__.py": "",
        },
    ),
    ("imports", {"sources/a.py": "from . import b", "sources/b.py": ""}),
    ("imports", {"sources/a.py": "from os.path import *"}),
    ("imports", {"sources/a.py": "def f():\n    import json"}),
    ("imports", {"sources/a.py": "class A:\n    async def f(self):\n        from os import sep"}),
    ("imports", {"sources/a.py": "from importlib import import_module as i\ni('av')"}),
    ("imports", {"sources/a.py": "av = __import__('av')"}),
    (
        "re-exports",
        {"a.py": "from vidpipe.b import C", "b.py": "from vidpipe.c import C", "c.py": "C = 1"},
    ),
    ("re-exports", {"a.py": "from vidpipe.gone import C"}),
    ("hollow inits", {"sources/__init__.py": '"""Doc."""\nfrom vidpipe.sources.a import b'}),
    ("hollow inits", {"sources/__init__.py": '"""Doc."""\nX = 1'}),
    ("hollow inits", {"sources/__init__.py": ""}),
    ("hollow inits", {"__init__.py": '"""Doc."""\ndef f(): ...'}),
    ("hollow inits", {"__init__.py": '"""Doc."""\nimport sys\nif sys.argv:\n    import os'}),
    ("hollow inits", {"__init__.py": '"""Doc."""\nPipeline = 1'}),
    ("import law", {"__init__.py": "from vidpipe.apps.cli import main", "apps/cli.py": ""}),
    ("openvino", {"apps/live.py": "import openvino as ov"}),
    ("openvino", {"outputs/a.py": "def f():\n    from openvino.runtime import Core"}),
    ("nncf", {"inference/model.py": "import nncf"}),
    ("matplotlib", {"apps/bench/page.py": "from matplotlib.figure import Figure"}),
    ("pyarrow", {"outputs/a.py": "import pyarrow.parquet as pq"}),
    ("MQTT", {"apps/herald.py": "from paho.mqtt.client import Client"}),
    ("SQLite", {"outputs/outbox.py": "import sqlite3"}),
    ("yaml", {"config/schema.py": "import yaml"}),
    ("pydantic", {"outputs/a.py": "from pydantic import BaseModel"}),
    ("PyAV", {"sources/webcam.py": "import av.error"}),
    ("web framework", {"outputs/preview.py": "from starlette.applications import Starlette"}),
    ("web framework", {"telemetry/a.py": "import prometheus_client"}),
    ("webcam", {"sources/video.py": "import cv2\ncv2.VideoCapture(0)"}),
    ("webcam", {"sources/video.py": "from cv2 import VideoCapture as V\nV(0)"}),
    ("webcam", {"sources/video.py": "import cv2 as c\nopen_camera = c.VideoCapture"}),
    ("window", {"outputs/a.py": "import cv2\ncv2.imshow('x', 1)"}),
    ("import law", {"wall/a.py": "import vidpipe.types", "types.py": ""}),
    ("threads", {"outputs/a.py": "import threading\nthreading.Thread(target=print)"}),
    ("threads", {"outputs/a.py": "from threading import Thread\nclass A(Thread): ..."}),
    ("threads", {"outputs/a.py": "import concurrent.futures as c\nc.ThreadPoolExecutor(2)"}),
    ("print", {"apps/live.py": "print('hello')"}),
    ("shape", {"sources/utils.py": ""}),
    ("shape", {"core/a.py": ""}),
    ("shape", {"sources/_base.py": ""}),
    ("shape", {"sources/a.py": "x = 1\n" * 401}),
]


@pytest.mark.parametrize(("name", "sources"), VIOLATIONS)
def test_the_rule_catches_its_violation(name: str, sources: dict[str, str]) -> None:
    faults = list(RULES[name](law.parse(sources)))
    assert len(faults) == 1
    assert faults[0].startswith(f"vidpipe/{next(iter(sources))}:")


def test_the_rule_catches_a_cycle_of_modules() -> None:
    sources = {
        "sources/a.py": "import vidpipe.sources.b",
        "sources/b.py": "import vidpipe.sources.a",
    }
    (fault,) = law.check_cycles(law.parse(sources))
    assert fault == "a cycle: vidpipe.sources.a -> vidpipe.sources.b -> vidpipe.sources.a"


def test_the_rule_catches_a_cycle_of_packages_without_one_of_modules() -> None:
    sources = {
        "runtime/a.py": "import vidpipe.config.b",
        "config/b.py": "",
        "config/c.py": "import vidpipe.runtime.d",
        "runtime/d.py": "",
    }
    (fault,) = law.check_cycles(law.parse(sources))
    assert fault == "a cycle: config -> runtime -> config"


def test_what_the_laws_allow_is_no_fault() -> None:
    sources = {
        "__init__.py": '"""Doc."""\nfrom importlib import import_module\n'
        "if TYPE_CHECKING:\n    from vidpipe.types import Frame\n"
        '__all__ = ["Frame"]\nif not TYPE_CHECKING:\n'
        "    def __getattr__(name):\n        return getattr(import_module('vidpipe.types'), name)",
        "__main__.py": "from vidpipe.apps.cli import main\nmain()",
        "errors.py": "class Fault(Exception): ...",
        "types.py": "from vidpipe.errors import Fault\nFrame = int",
        "runtime/threads.py": "import threading\nthreading.Thread()",
        "runtime/logs.py": "def redact(): ...",
        "config/load.py": "import yaml\nfrom vidpipe.runtime.logs import redact",
        "sources/webcam.py": "import cv2\nfrom vidpipe.types import Frame\ncv2.VideoCapture(0)",
        "outputs/video.py": "import av\nimport threading\nlock: threading.Thread | None = None",
        "inference/pool.py": "import openvino",
        "apps/build.py": "from vidpipe.sources import webcam\nimport vidpipe.outputs.video\n"
        "import vidpipe.inference.pool",
        "apps/cli.py": "def main():\n    import vidpipe.apps.build\n    print('done')",
    }
    modules = law.parse(sources)
    assert [fault for rule in RULES.values() for fault in rule(modules)] == []
