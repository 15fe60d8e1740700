"""Every sample runs: its own configuration on drawn scenes, a tiny model in place of its own."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from tests.broker import broker, has_mosquitto, subscriber
from tests.command import ROOT, Finished, environment, vidpipe
from tests.graphs import fixed_outputs, saved, ssd_rows
from tests.threads import wait_until

IN_PYTHON = {"custom-sink", "count-per-minute", "plugin-package", "events-mqtt"}
"""Run by tests of their own: by a program, with a package installed, with a broker."""
SAMPLES = sorted(
    path.parent.name
    for path in ROOT.glob("samples/*/config.yml")
    if path.parent.name not in IN_PYTHON
)
ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
LABELS = "labels: [nothing, person]"


def test_there_are_samples_and_each_has_a_readme() -> None:
    assert {"first-run", "rtsp-cameras"} <= set(SAMPLES)
    for name in {*SAMPLES, *IN_PYTHON}:
        assert (ROOT / "samples" / name / "README.md").read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_runs(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "samples" / name, folder)
    for example in folder.glob("*.example"):
        shutil.copy(example, example.with_suffix(""))
    document = yaml.safe_load((folder / "config.yml").read_text("utf-8"))
    model = saved(ssd_rows([ROW]), tmp_path)
    changes = [f"models.{model_name}={{path: '{model}'}}" for model_name in document["models"]]
    streams = [stream["id"] for stream in document["streams"]]
    changes += [
        f"streams.{stream}.source=synthetic:people?size=320x240&seconds=2" for stream in streams
    ]
    arguments = [word for change in changes for word in ("--set", change)]

    done = vidpipe("run", folder / "config.yml", *arguments, cwd=tmp_path)

    assert done.code == 0, done.err
    for stream in streams:
        lines = (tmp_path / "out" / f"{stream}.jsonl").read_text("utf-8").splitlines()
        assert len(lines) >= 2 * 5
        assert json.loads(lines[0])["detections"][0]["score"] == pytest.approx(0.9, abs=1e-4)
        assert list((tmp_path / "out").glob(f"{stream}*.mp4"))


@pytest.mark.mqtt
@pytest.mark.skipif(not has_mosquitto(), reason="needs mosquitto")
def test_events_reach_the_broker_of_the_sample(tmp_path: Path) -> None:
    folder = tmp_path / "events-mqtt"
    shutil.copytree(ROOT / "samples" / "events-mqtt", folder)
    model = saved(ssd_rows([ROW]), tmp_path)
    changes = [f"models.person={{path: '{model}', {LABELS}}}"]
    changes += [
        f"streams.{stream}.source=synthetic:people?size=320x240&seconds=2"
        for stream in ("gate", "yard")
    ]
    arguments = [word for change in changes for word in ("--set", change)]
    with broker(tmp_path) as place, subscriber(place) as heard:
        environ = {"MQTT_URL": place.url}
        (folder / "secrets.env").write_text("", encoding="utf-8")
        done = vidpipe("run", folder / "config.yml", *arguments, cwd=tmp_path, environ=environ)
        assert done.code == 0, done.err
        wait_until(lambda: len(heard.messages) == 4, "all arrive")
    assert {event["stream"] for event in heard.events} == {"gate", "yard"}
    status = [payload for topic, payload, _ in heard.messages if topic == "site/vidpipe"]
    assert status == [b"online", b"offline"]


def test_the_first_run_counts_people(tmp_path: Path) -> None:
    lines = [
        {"pts": 0.0, "detections": [{"label": "person"}]},
        {"pts": 0.5, "detections": [{"label": "person"}, {"label": "person"}, {"label": "dog"}]},
        {"pts": 1.0, "detections": []},
    ]
    path = tmp_path / "hall.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    script = ROOT / "samples" / "first-run" / "run.py"
    printed = subprocess.run(
        [sys.executable, script, path], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in printed.splitlines()] == ["2", "0"]


def run_program(name: str, folder: Path, *changes: str) -> Finished:
    """Run a sample's program with a tiny model that finds one person in every frame."""
    sample = ROOT / "samples" / name
    model = f"models.person={{path: '{saved(ssd_rows([ROW]), folder)}', {LABELS}}}"
    done = subprocess.run(
        [sys.executable, sample / "run.py", sample / "config.yml", model, *changes],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def test_a_sink_of_one_s_own_keeps_a_picture_a_second(tmp_path: Path) -> None:
    done = run_program(
        "custom-sink", tmp_path, "streams.hall.source=synthetic:people?size=320x240&seconds=3"
    )
    assert done.code == 0, done.err
    pictures = sorted((tmp_path / "out" / "crops").iterdir())
    assert [path.name for path in pictures] == [
        *("hall-0-person.jpg", "hall-25-person.jpg", "hall-50-person.jpg")
    ]
    crop = cv2.imread(str(pictures[0]))
    assert crop is not None
    assert crop.shape == (121, 81, 3)
    assert {Path(line).name for line in done.out.splitlines()} == {
        *(path.name for path in pictures),
        "hall.jsonl",
    }


def test_people_are_counted_by_the_minute_of_each_stream(tmp_path: Path) -> None:
    seconds = {"hall": 130, "yard": 30}
    changes = [
        f"streams.{stream}.source=synthetic:people?size=64x48&fps=5&seconds={length}"
        for stream, length in seconds.items()
    ]
    done = run_program("count-per-minute", tmp_path, *changes)
    assert done.code == 0, done.err
    assert sorted(done.out.splitlines()) == [
        f"{stream:12} minute {minute:4}:  1.00 people on average, 1 at most"
        for stream, minute in [("hall", 0), ("hall", 1), ("hall", 2), ("yard", 0)]
    ]


def test_an_interrupt_lets_the_minutes_so_far_be_printed(tmp_path: Path) -> None:
    sample = ROOT / "samples" / "count-per-minute"
    model = f"models.person={{path: '{saved(ssd_rows([ROW]), tmp_path)}', {LABELS}}}"
    endless = "streams.yard.source=synthetic:people?size=64x48&fps=50"
    short = "streams.hall.source=synthetic:people?size=64x48&fps=5&seconds=70"
    with subprocess.Popen(
        [sys.executable, "-u", sample / "run.py", sample / "config.yml", model, endless, short],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()  # a minute has passed: it is at work
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    streams = [line.split()[0] for line in (first + rest).splitlines()]
    assert {"hall", "yard"} == set(streams)


@pytest.fixture(scope="module")
def plugin_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the sample package as a user would, but offline and into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "samples" / "plugin-package", folder / "package")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", *options),
            *("--target", folder / "site", folder / "package"),
        ],
        check=True,
        timeout=100,
    )
    return folder / "site"


def run_plugins(folder: Path, site: Path, command: str, *changes: str) -> Finished:
    """Run the package's configuration with three pictures and a tiny model."""
    (folder / "pictures").mkdir(exist_ok=True)
    for number in range(3):
        cv2.imwrite(
            str(folder / "pictures" / f"{number}.png"), np.full((48, 64, 3), 60 * number, np.uint8)
        )
    model = f"models.person={{path: '{saved(ssd_rows([ROW]), folder)}', {LABELS}}}"
    arguments = [word for change in (model, *changes) for word in ("--set", change)]
    config = ROOT / "samples" / "plugin-package" / "config.yml"
    environ = {"PYTHONPATH": f"{site}:{ROOT}"}
    return vidpipe(command, config, *arguments, cwd=folder, environ=environ)


def test_an_installed_package_adds_a_source_and_an_output(
    tmp_path: Path, plugin_site: Path
) -> None:
    done = run_plugins(tmp_path, plugin_site, "run")
    assert done.code == 0, done.err
    assert (tmp_path / "out" / "album.csv").read_text().splitlines() == [
        "stream;frame;pts;label;score;x1;y1;x2;y2",
        *(f"album;{number};{2.0 * number};person;0.9;16;12;32;36" for number in range(3)),
    ]
    lines = (tmp_path / "out" / "album.jsonl").read_text().splitlines()
    assert [json.loads(line)["pts"] for line in lines] == [0.0, 2.0, 4.0]


def test_a_package_s_output_takes_the_next_free_name(tmp_path: Path, plugin_site: Path) -> None:
    for _ in range(2):
        done = run_plugins(tmp_path, plugin_site, "run")
        assert done.code == 0, done.err
        assert "frames a second" not in done.err  # its source has timestamps
    first, second = (tmp_path / "out" / f"album{end}.csv" for end in ("", "-2"))
    assert first.read_text() == second.read_text() != ""


def test_a_package_s_family_reads_a_model(tmp_path: Path, plugin_site: Path) -> None:
    rows = np.array([[[1, 0.9, 0.5, 0.5, 0.5, 0.25], [0, 0.1, 0.5, 0.5, 0.5, 0.5]]], np.float32)
    path = saved(fixed_outputs({"rows": rows}), tmp_path, "rows")
    model = f"models.person={{path: '{path}', decoder: centred-rows, {LABELS}}}"
    done = run_plugins(tmp_path, plugin_site, "run", model)
    assert done.code == 0, done.err
    lines = (tmp_path / "out" / "album.jsonl").read_text().splitlines()
    (found,) = json.loads(lines[0])["detections"]
    assert found["label"] == "person"
    assert found["box"] == pytest.approx([16, 18, 48, 30], abs=0.01)


@pytest.mark.parametrize("name", ["count-per-minute", "custom-sink"])
@pytest.mark.parametrize(("words", "told"), [((), "usage: "), (("none.yml",), "none.yml")])
def test_a_program_without_its_configuration_says_how_it_is_called(
    tmp_path: Path, name: str, words: tuple[str, ...], told: str
) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / name / "run.py", *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_check_looks_at_what_packages_add(tmp_path: Path, plugin_site: Path) -> None:
    done = run_plugins(tmp_path, plugin_site, "check")
    assert done.code == 0, done.err
    assert "pictures" in done.out
    for change, words in [
        ("streams.album.source=slideshow:nowhere", "the folder nowhere can't be read"),
        ("streams.album.outputs=[{type: csv, path: a.csv, colour: red}]", "unknown key colour"),
    ]:
        done = run_plugins(tmp_path, plugin_site, "check", change)
        assert done.code, change
        assert words in done.out + done.err


def test_wrong_keys_of_a_package_s_output_refuse_the_configuration(
    tmp_path: Path, plugin_site: Path
) -> None:
    change = "streams.album.outputs=[{type: csv, pth: x.csv}]"
    done = run_plugins(tmp_path, plugin_site, "run", change)
    assert done.code == 2
    assert "stream album: outputs: csv: unknown key pth; allowed: delimiter, path" in done.err
    assert "Traceback" not in done.err


def test_without_the_package_its_names_are_told_as_unknown(tmp_path: Path) -> None:
    done = run_plugins(tmp_path, tmp_path, "run")
    assert done.code == 2
    assert "unknown output type 'csv'" in done.err
    assert "known ones: video, jsonl" in done.err
    assert "no source is called slideshow" in done.err
    assert "is its package installed?" in done.err


def test_a_package_that_is_broken_harms_only_what_uses_it(
    tmp_path: Path, plugin_site: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(plugin_site, site)
    (site / "vidpipe_slideshow" / "table.py").write_text("import no_such_module\n")
    change = "streams=[{id: a, source: 'slideshow:pictures', outputs: [{type: csv}, " + (
        "{type: jsonl, path: 'out/{stream}.jsonl'}]}, {id: b, source: 'synthetic:people?seconds=1',"
        " outputs: [{type: jsonl, path: 'out/{stream}.jsonl'}]}]"
    )
    done = run_plugins(tmp_path, site, "run", change)
    assert done.code == 1, done.err
    assert "a csv: the plugin csv (vidpipe_slideshow.table:CsvSink, of the package" in done.err
    assert "ModuleNotFoundError: No module named 'no_such_module'" in done.err
    assert len((tmp_path / "out" / "a.jsonl").read_text().splitlines()) == 3
    assert len((tmp_path / "out" / "b.jsonl").read_text().splitlines()) == 25
