"""Studies: designs, folders that survive anything, and the same rows from any workers."""

import collections
import contextlib
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import accelflow
from accelflow import InputError, parameters, sizing, studies
from accelflow.cli.sweep import sweep as command
from accelflow.studies.design import number_of_points, points
from accelflow.studies.folder import Folder
from dask_cluster import wait_for_rows

STUDY = """
schema = "accelflow.study/1"
[scenario]
workload = "socialnetwork"
services = ["UniqId"]
profile = "paper"
requests = 200
slo_factor = 10
orchestrators = ["relief", "accelflow"]
[design]
seeds = 2
[axes]
"config.pes.TCP" = [2, 8]
rate_rps = { from = 1000, to = 20000, points = 3, scale = "log" }
"""


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def read(text: str, folder: Path) -> studies.Study:
    path = folder / "study.toml"
    path.write_text(text)
    return studies.read_study(path)


def rows(place: Path) -> list[dict[str, object]]:
    return pq.read_table(place / "results.parquet").to_pylist()


def test_a_grid_has_every_combination(study_file: Path):
    found = list(points(studies.read_study(study_file)))
    rates = sorted({point["rate_rps"] for point in found})
    assert rates == pytest.approx([1000, 1000 * 20**0.5, 20000])
    expected = itertools.product([2, 8], rates)
    assert [tuple(point.values()) for point in found] == list(expected)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 40), draw=st.integers(0, 2**32 - 1))
def test_a_latin_hypercube_has_one_point_in_each_strip(count: int, draw: int):
    axes = [
        studies.Axis(name="rate_rps", values=studies.Range(low=10.0, high=20.0)),
        studies.Axis(name="tcp_cost_ns", values=studies.Range(low=1.0, high=64.0, scale="log")),
    ]
    study = studies.Study(kind="latin_hypercube", axes=axes, count=count, draw=draw)
    found = list(points(study))
    assert len(found) == number_of_points(study) == count
    linear = [(point["rate_rps"] - 10.0) / 10.0 for point in found]
    logarithmic = [math.log(point["tcp_cost_ns"], 64.0) for point in found]
    for shares in (linear, logarithmic):
        assert sorted(int(share * count - 1e-9) for share in shares) == list(range(count))


@pytest.mark.parametrize(("low", "high"), [(1, 8), (0, 3), (-4, 3), (7, 8)])
def test_whole_numbers_of_a_latin_hypercube_have_equally_many_points(low: int, high: int):
    values = studies.Range(low=low, high=high, whole=True)
    axis = studies.Axis(name="config.pes.TCP", values=values)
    count = 5 * (high - low + 1)
    study = studies.Study(kind="latin_hypercube", axes=[axis], count=count)
    found = collections.Counter(point["config.pes.TCP"] for point in points(study))
    assert found == dict.fromkeys(range(low, high + 1), 5)


def test_a_logarithmic_range_of_whole_numbers_has_each_of_them_by_its_part_of_the_scale():
    values = studies.Range(low=1, high=7, whole=True, scale="log")
    axis = studies.Axis(name="config.pes.TCP", values=values)
    study = studies.Study(kind="latin_hypercube", axes=[axis], count=3_000)
    found = collections.Counter(point["config.pes.TCP"] for point in points(study))
    for number in range(1, 8):
        assert found[number] == pytest.approx(1_000 * math.log2((number + 1) / number), abs=1)


def test_rows_are_those_of_a_comparison(study_file: Path, tmp_path: Path):
    study = studies.read_study(study_file)
    outcome = studies.sweep(study, tmp_path / "out")
    assert (outcome.simulated, outcome.known, outcome.skipped) == (12, 0, ())
    found = rows(tmp_path / "out")
    assert len(found) == 24
    for row in found[::7]:
        alone = accelflow.compare(
            "socialnetwork",
            services=["UniqId"],
            profile="paper",
            requests=200,
            slo_factor=10,
            orchestrators=["relief", "accelflow"],
            seed=row["seed"],
            rate_rps=row["axis.rate_rps"],
            config={"pes.TCP": row["axis.config.pes.TCP"]},
        )
        assert row["p99_us"] == alone[row["system"]]["UniqId"].p99_us


def test_orders_of_queues_may_be_swept_beside_systems_without_one(tmp_path: Path):
    policies = STUDY.replace('"config.pes.TCP"', '"policy"').replace("[2, 8]", '["fifo", "edf"]')
    place = tmp_path / "out"
    found = studies.sweep(
        read(policies.replace('"relief", "accelflow"', '"relief"'), tmp_path), place
    )
    assert (found.simulated, found.skipped) == (12, ())
    times = {"fifo": [], "edf": []}
    for row in rows(place):
        times[str(row["axis.policy"])].append(row["p99_us"])
    assert None not in times["fifo"]
    assert times["fifo"] == times["edf"]


def test_rows_do_not_depend_on_workers_or_batches(study_file: Path, tmp_path: Path):
    study = studies.read_study(study_file)
    for name, workers, size in (("one", 1, 1), ("three", 3, 1), ("batches", 2, 5)):
        studies.sweep(study, tmp_path / name, workers=workers, batch_size=size)
    assert rows(tmp_path / "one") == rows(tmp_path / "three") == rows(tmp_path / "batches")


def test_nothing_is_simulated_twice_and_new_points_are_added(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    studies.sweep(studies.read_study(study_file), place)
    again = studies.sweep(studies.read_study(study_file), place)
    assert (again.simulated, again.known) == (0, 12)
    wider = read(STUDY.replace("[2, 8]", "[2, 4, 8]"), tmp_path)
    outcome = studies.sweep(wider, place)
    assert (outcome.simulated, outcome.known) == (6, 12)
    assert {row["axis.config.pes.TCP"] for row in rows(place)} == {2.0, 4.0, 8.0}
    narrower = read(STUDY.replace("[2, 8]", "[8]"), tmp_path)
    studies.sweep(narrower, place)
    assert {row["axis.config.pes.TCP"] for row in rows(place)} == {8.0}


def test_many_files_are_joined_and_nothing_is_lost(
    study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "out"
    study = studies.read_study(study_file)
    studies.sweep(study, place)
    before = rows(place)
    monkeypatch.setattr("accelflow.studies.folder._MOST_FILES", 4)
    outcome = studies.sweep(study, place)
    assert (outcome.simulated, outcome.known) == (0, 12)
    assert len(list((place / "rows").iterdir())) == 1
    assert rows(place) == before


def start(study_file: Path, place: Path, *more: str) -> subprocess.Popen[str]:
    arguments = ["sweep", str(study_file), "--out", str(place), "--workers", "1", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "accelflow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LONG = STUDY.replace("requests = 200", "requests = 3000")


def test_a_killed_study_goes_on_where_it_was(study_file: Path, tmp_path: Path):
    study_file.write_text(LONG)
    study = studies.read_study(study_file)
    place = tmp_path / "out"
    running = start(study_file, place)
    wait_for_rows(place, 2, running)
    with pytest.raises(accelflow.AccelflowError, match=f"process {running.pid} on .* works on"):
        studies.sweep(study, place)
    running.kill()
    running.communicate()
    whole = len(list(place.glob("rows/[!.]*.parquet")))
    outcome = studies.sweep(study, place)
    assert outcome.known == whole
    assert outcome.simulated == 12 - whole > 0
    studies.sweep(study, tmp_path / "undisturbed")
    assert rows(place) == rows(tmp_path / "undisturbed")


def test_a_full_disk_loses_nothing(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000)); "
    code = limit + "from accelflow.cli import main; main()"
    arguments = ["sweep", str(study_file), "--out", str(place)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    message = f"accelflow: error: {place}: File too large; completed simulations are kept; "
    assert message in done.stderr
    assert not list(place.glob("rows/*"))  # no half file, and none beside it
    assert resource.getrlimit(resource.RLIMIT_FSIZE) != (6_000, 6_000)
    assert studies.sweep(studies.read_study(study_file), place).known == 0
    assert len(rows(place)) == 24


def test_a_full_disk_at_the_lock_names_it(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
    code = limit + "from accelflow.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "sweep", str(study_file), "--out", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"accelflow: error: {place / 'lock'}: File too large\n"


def test_clocks_that_jump_change_nothing(
    study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    study, place = studies.read_study(study_file), tmp_path / "out"
    studies.sweep(study, tmp_path / "undisturbed")
    jumps = itertools.cycle([0.0, 4e9, -4e9, 1e6])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(jumps) * 1e9))
    first = studies.sweep(study, place, workers=1)
    for number, part in enumerate((place / "rows").iterdir()):
        os.utime(part, (0, 0) if number % 2 else (4e9, 4e9))  # 1970 and 2096
    again = studies.sweep(study, place)
    assert (first.simulated, again.simulated, again.known) == (12, 0, 12)
    assert rows(place) == rows(tmp_path / "undisturbed")


def test_impossible_points_are_skipped_with_the_reason_or_refused(tmp_path: Path):
    study = read(STUDY.replace("[2, 8]", "[2, 1e9]"), tmp_path)
    place = tmp_path / "out"
    outcome = studies.sweep(study, place)
    assert outcome.simulated == 6
    assert len(outcome.skipped) == 6
    (first, *_) = json.loads((place / "skipped.json").read_text())
    assert first["values"]["config.pes.TCP"] == 1e9
    assert "pes.TCP" in first["reason"]
    with pytest.raises(InputError, match=r"point 3 \(config.pes.TCP = 1000000000, rate_rps"):
        studies.sweep(study, tmp_path / "strict", strict=True)
    assert not (tmp_path / "strict").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("study/1", "study/2", r"schema = accelflow.study/2: must be accelflow.study/1"),
        ("[axes]", "[axis]", r"key = axis: .*did you mean axes"),
        ("rate_rps", "rate_rsp", r"axis = 'rate_rsp': .*did you mean rate_rps"),
        ("config.pes.TCP", "config.pes.TPC", r"did you mean config.pes.TCP"),
        ("rate_rps", "seed", r"design.seeds sets the seeds"),
        ("from = 1000,", "", r"axes.rate_rps.from is left out: must be a finite number"),
        ("from = 1000", "from = 0", r"must be more than 0 on a logarithmic scale"),
        ("to = 20000", "to = 10", r"axes.rate_rps.to = 10.*must be more than 1000"),
        ('"log"', '"lag"', r"axes.rate_rps.scale = 'lag'.*did you mean log"),
        ("points = 3", "points = 1", r"axes.rate_rps.points = 1: must be a whole number from 2"),
        ("[2, 8]", "[2, 2]", r"must have each value only once"),
        ("[2, 8]", "2", r"must be a list with values, or a table with from and to"),
        ("seeds = 2", "seeds = 0", r"design.seeds = 0"),
        ("seeds = 2", "seeds = [1, 1]", r"must have each seed only once"),
        ("seeds = 2", 'kind = "gird"', r"design.kind = gird.*did you mean grid"),
        (
            "seeds = 2",
            'kind = "latin_hypercube"',
            r"axes.rate_rps.points = 3.*unless design.kind is grid",
        ),
        ("seeds = 2", "points = 7", r"must be left out unless the kind of design is latin"),
        ("requests", "request", r"scenario key = .*request.*did you mean requests"),
    ],
)
def test_bad_studies_are_refused(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(InputError, match=message.replace("= ", "= '?").replace(":", "'?:")):
        read(STUDY.replace(old, new, 1), tmp_path)


def test_a_latin_hypercube_needs_its_number_of_points(tmp_path: Path):
    text = STUDY.replace(", points = 3", "").replace("seeds = 2", 'kind = "latin_hypercube"')
    with pytest.raises(
        InputError, match=r"design\.points is left out: must be a whole number from 2"
    ):
        read(text, tmp_path)
    study = read(text.replace("[axes]", "points = 4\n[axes]"), tmp_path)
    assert len(list(points(study))) == 4


def test_a_list_needs_points_and_has_no_axes(tmp_path: Path):
    text = STUDY.replace(", points = 3", "").replace("seeds = 2", 'kind = "list"')
    with pytest.raises(InputError, match=r"axes = \[.*\]: must be left out, since the kind of"):
        read(text, tmp_path)
    with pytest.raises(InputError, match=r"points is left out: must be given as \[\[points\]\]"):
        read(text[: text.index("[axes]")], tmp_path)


def test_folders_of_others_are_refused(study_file: Path, tmp_path: Path):
    study = studies.read_study(study_file)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.tex").touch()
    with pytest.raises(InputError, match="must be empty or the folder of a study"):
        studies.sweep(study, taken)
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "study.json").write_text('{"schema": "accelflow.study-folder/2"}')
    with pytest.raises(InputError, match="written by another version of accelflow"):
        studies.sweep(study, newer)
    with pytest.raises(InputError, match="must be a folder"):
        studies.sweep(study, study_file)
    with pytest.raises(InputError, match="--out = '/proc/x': must be a place that can be written"):
        studies.sweep(study, Path("/proc/x"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "rows").touch()
    with pytest.raises(InputError, match="other': must be empty or the folder of a study"):
        studies.sweep(study, other)


def test_a_file_of_another_kind_is_told_by_its_schema(tmp_path: Path):
    path = tmp_path / "other.toml"
    path.write_text('schema = "accelflow.plan/1"\nrates_rps.Login = 1\n')
    for read in (studies.read_study, studies.read_find):
        with pytest.raises(InputError, match=r"schema = 'accelflow.plan/1': must be accelflow.stu"):
            read(path)
    path.write_text('schema = "accelflow.study/1"\naxes.rate_rps = [1]\n')
    with pytest.raises(InputError, match=r"schema = 'accelflow.study/1': must be accelflow.plan/1"):
        sizing.read_plan(path)
    path.write_text('schema = "accelflow.study/1"\n[find]\nleast = "rate_rps"\n')
    with pytest.raises(InputError, match=r"axes is left out: must be .*; `accelflow find` reads"):
        studies.read_study(path)


def test_a_damaged_file_is_named(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    study = studies.read_study(study_file)
    studies.sweep(study, place)
    part = next((place / "rows").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(accelflow.AccelflowError, match=f"{part.name}: is damaged; delete it"):
        studies.sweep(study, place)
    part.unlink()
    assert studies.sweep(study, place).simulated == 1
    table = pq.read_table(part)
    texts = pa.array(["fast"] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("mean_us"), "mean_us", texts), part)
    with pytest.raises(accelflow.AccelflowError, match=r"column mean_us is .*; delete the damaged"):
        studies.sweep(study, place)


def test_no_changed_byte_of_a_file_is_another_number(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    studies.sweep(studies.read_study(study_file), place)
    part = next((place / "rows").glob("*.parquet"))
    good, rows = part.read_bytes(), Folder(place).rows([part.stem])
    assert rows is not None
    chunk = pq.read_metadata(part).row_group(0).column(rows.column_names.index("mean_us"))
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    for at in range(start, start + chunk.total_compressed_size):
        part.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with contextlib.suppress(accelflow.AccelflowError):  # which says that it is damaged
            assert rows.equals(Folder(place).rows([part.stem])), at


def test_chips_and_workloads_are_axes(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        'schema = "accelflow.chip/1"\nname = "mine"\n[accelerator.TCP]\npes = 3\n'
    )
    text = """
schema = "accelflow.study/1"
[scenario]
profile = "paper"
requests = 200
orchestrators = ["accelflow"]
[axes]
chip = ["paper", "mine.toml"]
workload = ["hotelreservation", "serverless"]
"""
    place = tmp_path / "out"
    studies.sweep(read(text, tmp_path), place)
    found = rows(place)
    assert {(row["axis.chip"], row["workload"]) for row in found} == set(
        itertools.product(["paper", "mine.toml"], ["hotelreservation", "serverless"])
    )


def test_the_command_reports_and_prints_json(study_file: Path, tmp_path: Path):
    place = tmp_path / "out"
    arguments = [str(study_file), "--out", str(place)]
    first = CliRunner().invoke(command, arguments)
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("12 simulations in ")
    second = CliRunner().invoke(command, [*arguments, "--json"])
    assert json.loads(second.stdout) == {
        "schema": "accelflow.sweep/1",
        "simulated": 0,
        "known": 12,
        "left": 0,
        "skipped": [],
        "results": str(place / "results.parquet"),
    }


@pytest.mark.parametrize(
    "spelt",
    ["config.accelerator.TCP.pes", "accelerator.TCP.pes", "pes.TCP", "config.pes.TCP"],
)
def test_axes_may_be_spelt_as_in_a_chips_file(tmp_path: Path, spelt: str) -> None:
    plain = STUDY.replace('"config.pes.TCP"', f'"{spelt}"')
    assert read(plain, tmp_path).names == ["config.pes.TCP", "rate_rps"]
    # In a table, as the file of the chip has it.
    table, _, last = spelt.rpartition(".")
    nested = STUDY.replace('"config.pes.TCP" = [2, 8]\n', "")
    nested = f"{nested}[axes.{table}]\n{last} = [2, 8]\n"
    assert read(nested, tmp_path).names == ["rate_rps", "config.pes.TCP"]
    points = "".join(f"[[points]]\n{spelt} = {count}\n" for count in (2, 8))
    listed = read(STUDY[: STUDY.index("[axes]")] + points, tmp_path)
    assert listed.points == ({"config.pes.TCP": 2}, {"config.pes.TCP": 8})
    assert listed.at(listed.points[1], 1).config == {"pes.TCP": 8}
    given = studies.Study(kind="list", points=[{spelt: 2}])
    assert given.points == ({"config.pes.TCP": 2},)
    assert studies.Axis(name=spelt, values=(2,)).name == "config.pes.TCP"
    asked = STUDY[: STUDY.index("[design]")] + (
        f'[find]\nsystem = "relief"\nleast = "{spelt}"\nlimits.p99_us = 900\n'
        "range = { from = 1, to = 4, whole = true }\n"
    )
    path = tmp_path / "find.toml"
    path.write_text(asked.replace('orchestrators = ["relief", "accelflow"]\n', ""))
    question = studies.read_find(path)
    assert isinstance(question, studies.Question)
    assert question.name == "config.pes.TCP"


def test_the_points_of_a_list_share_one_table_of_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted() -> list[parameters.Parameter]:
        calls.append(None)
        return parameters.parameters()

    monkeypatch.setattr("accelflow.studies.study.parameters", counted)
    given = [{"accelerator.TCP.pes": count, "rate_rps": 9.0} for count in range(1, 51)]
    made = studies.Study(kind="list", points=given)
    assert made.points[49] == {"config.pes.TCP": 50, "rate_rps": 9.0}
    # One for the spellings and one for the names, if no other test has read them before.
    assert len(calls) <= 2
