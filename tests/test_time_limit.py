"""Time limits: work stops cleanly, says how far it came, and goes on to the same results."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import accelflow
from accelflow import AccelflowError, InputError, comparing, studies, time_limit
from accelflow.cli.compare import compare as compare_command
from accelflow.cli.find import find as find_command
from accelflow.cli.sweep import sweep as sweep_command
from accelflow.time_limit import TimeLimit, TimeUpError, parse_time_limit, seconds_text
from conftest import ROOT

STUDY = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = 200
slo_factor = 10
orchestrators = ["accelflow"]
[design]
seeds = 4
[axes]
rate_rps = [1000, 2000, 4000, 8000]
"""

FIND = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = 300
rate_rps = 600000
slo_factor = 5
[find]
least = "config.pes.TCP"
range = { from = 1, to = 8, whole = true }
most_seeds = 4
[find.limits]
p99_us = 40
"""

#: A load at which the mean is within 0.5 % after the first length, and not within 0.3 %.
LOADED = {"services": ["UniqId"], "profile": "paper", "rate_rps": 1_500_000}
FIELDS = {**LOADED, "orchestrators": ["accelflow"], "seeds": 5}


class Clock:
    """A clock that stands still until it is told to go past every limit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=lambda: self.now))

    def after(self, count: int):
        """Progress that passes every limit at its call with this number."""
        calls = itertools.count(1)

        def progress(_done: int, _total: int) -> None:
            if next(calls) == count:
                self.now = 1e9

        return progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def written(text: str, folder: Path) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def rows(place: Path) -> list[dict[str, object]]:
    return pq.read_table(place / "results.parquet").to_pylist()


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1.5h", 5_400.0), ("2 d", 172_800.0)]
)
def test_times_are_read_and_written(text: str, seconds: float):
    assert parse_time_limit(text) == seconds
    assert parse_time_limit(seconds_text(seconds)) == seconds


def test_a_limit_says_what_it_is():
    assert [str(TimeLimit(seconds)) for seconds in (0.1, 91, 600.0)] == ["0.1s", "91s", "10m"]
    assert str(TimeLimit(None)) == str(TimeLimit()) == "no limit"


@pytest.mark.parametrize("text", ["10", "ten minutes", "10w", "-1s", "0s", "367d", "nans", ""])
def test_other_times_are_refused(text: str, tmp_path: Path):
    arguments = [str(written(STUDY, tmp_path)), "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(sweep_command, [*arguments, "--time-limit", text])
    assert isinstance(found.exception, InputError)
    assert f"--time-limit = '{text}': must be " in str(found.exception)
    assert not (tmp_path / "out").exists()
    with pytest.raises(
        InputError, match=r"time_limit_s = -1: must be a number of seconds from 0\.1"
    ):
        studies.sweep(studies.read_study(tmp_path / "study.toml"), tmp_path, time_limit_s=-1)


def test_a_study_stops_and_goes_on(tmp_path: Path, clock: Clock):
    study, place = studies.read_study(written(STUDY, tmp_path)), tmp_path / "out"
    first = studies.sweep(study, place, workers=1, time_limit_s=60, progress=clock.after(3))
    assert 3 <= first.simulated < 16
    assert first.left == 16 - first.simulated
    assert len(rows(place)) == first.simulated
    second = studies.sweep(study, place)
    assert (second.known, second.simulated, second.left) == (first.simulated, first.left, 0)
    studies.sweep(study, tmp_path / "undisturbed")
    assert rows(place) == rows(tmp_path / "undisturbed")


def test_the_command_says_how_far_a_study_came(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    file, place = written(STUDY, tmp_path), tmp_path / "out"

    def sweep(*given: object, **options: object) -> studies.SweepResults:
        return studies_sweep(*given, **{**options, "progress": clock.after(3)})

    studies_sweep = studies.sweep
    monkeypatch.setattr(studies, "sweep", sweep)
    found = CliRunner().invoke(
        sweep_command, [str(file), "--out", str(place), "--time-limit", "9s"]
    )
    left = 16 - len(rows(place))
    message = f"--time-limit 9s: {left} simulations are left; the same command resumes them"
    assert str(found.exception) == message


def test_a_long_simulation_is_given_up(tmp_path: Path):
    text = STUDY.replace("requests = 200", "requests = 1000000000")
    file, place = written(text, tmp_path), tmp_path / "out"
    arguments = [str(file), "--out", str(place), "--time-limit", "0.2s", "--json"]
    found = CliRunner().invoke(sweep_command, arguments)
    assert isinstance(found.exception, AccelflowError)
    # The same command would come no further.
    message = "--time-limit 0.2s: 16 simulations are left; none was completed in this time, so give"
    assert str(found.exception) == f"{message} more"
    assert json.loads(found.stdout)["left"] == 16


def test_a_search_says_how_far_it_came_and_goes_on(tmp_path: Path, clock: Clock):
    question = studies.read_question(written(FIND, tmp_path))
    whole = studies.find(question, tmp_path / "undisturbed")
    assert whole.ended
    assert len(whole.tried) > 3
    place = tmp_path / "out"
    first = studies.find(question, place, time_limit_s=60, progress=clock.after(2))
    assert not first.ended
    assert len(first.tried) == 2
    assert (first.best.value, first.beyond.value) == (8.0, 1.0)
    assert {row["axis.config.pes.TCP"] for row in rows(place)} == {1.0, 8.0}
    assert studies.find(question, place) == whole
    assert rows(place) == rows(tmp_path / "undisturbed")


def test_the_command_says_how_far_a_search_came(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    file, place = written(FIND, tmp_path), tmp_path / "out"

    def find(*given: object, **options: object) -> studies.Answer:
        return studies_find(*given, **{**options, "progress": clock.after(2)})

    studies_find = studies.find
    monkeypatch.setattr(studies, "find", find)
    found = CliRunner().invoke(find_command, [str(file), "--out", str(place), "--time-limit", "9s"])
    said = "Least config.pes.TCP under accelflow: 8 keeps the limits, 1 does not."
    assert said in found.stdout
    message = "--time-limit 9s: the search did not end in this time; the same command resumes it"
    assert str(found.exception) == message


def test_a_search_without_time_for_anything_says_so(tmp_path: Path, clock: Clock):
    question = studies.read_question(written(FIND, tmp_path))
    clock.now = 0.0

    def never(*_: object):
        clock.now = 1e9
        return iter(())

    with pytest.raises(AccelflowError, match="the time limit of 1m has passed"):
        studies.find(question, tmp_path / "out", time_limit_s=60, runner=never)


def test_the_command_prints_json_without_time_for_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def find(*_: object, **_options: object) -> studies.Answer:
        raise TimeUpError("the time limit of 9s has passed")

    monkeypatch.setattr(studies, "find", find)
    monkeypatch.setattr(studies, "optimize", find)
    arguments = ["--out", str(tmp_path / "out"), "--time-limit", "9s", "--json"]
    for name in ("fewest-tcp-elements.toml", "cheapest-elements.toml"):
        file = ROOT / "examples" / "studies" / name
        found = CliRunner().invoke(find_command, [str(file), *arguments])
        assert str(found.exception) == "the time limit of 9s has passed"
        printed = json.loads(found.stdout)
        assert (printed["best"], printed["ended"], printed["tried"]) == (None, False, [])


def test_designs_that_were_tried_are_kept(tmp_path: Path, clock: Clock):
    pytest.importorskip("optuna")
    text = FIND.replace('least = "config.pes.TCP"', 'minimize = "elements"\ntrials = 4')
    text = text.replace("range = ", '[find.axes]\n"config.pes.TCP" = ')
    text = text.replace("most_seeds = 4\n", "").replace("trials = 4", "trials = 4\nmost_seeds = 4")
    goal = studies.read_find(written(text, tmp_path))
    whole = studies.optimize(goal, tmp_path / "undisturbed")
    first = studies.optimize(goal, tmp_path / "out", time_limit_s=60, progress=clock.after(2))
    assert (first.ended, len(first.tried)) == (False, 2)
    assert first.tried == whole.tried[:2]
    assert studies.optimize(goal, tmp_path / "out") == whole


def test_a_precision_stops_at_the_last_length_and_goes_on(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    asked = {**FIELDS, "precision": "mean:0.3%"}
    whole = accelflow.compare(**asked)
    runs = []

    def run(scenario, **options):
        runs.append((scenario.requests, scenario.seed))
        return run_sampled(scenario, **options)

    run_sampled = comparing.run_sampled
    monkeypatch.setattr(comparing, "run_sampled", run)
    kept = tmp_path / "kept"

    def stop(_requests: int, _found: object) -> None:
        clock.now = 1e9

    first = accelflow.compare(**asked, time_limit_s=60, keep_in=kept, on_round=stop)
    said = first.source["precision"]
    assert said["reached_ratio"] > said["asked_ratio"]
    assert first.requests == 2_000
    ended = [row for row in runs if row[0] == 2_000]
    assert len(ended) == len(list(kept.iterdir())) == 5
    runs.clear()
    assert accelflow.compare(**asked, keep_in=kept).source == whole.source
    assert runs
    assert not set(runs) & set(ended)
    assert not kept.exists()


def test_a_damaged_run_is_named(tmp_path: Path, clock: Clock):
    def stop(_requests: int, _found: object) -> None:
        clock.now = 1e9

    asked = {**FIELDS, "precision": "mean:0.3%", "keep_in": tmp_path / "kept"}
    accelflow.compare(**asked, time_limit_s=60, on_round=stop)
    file = next((tmp_path / "kept").iterdir())
    file.write_bytes(file.read_bytes()[:50])
    refused = f"{file.name}: is damaged or cannot be read; delete it"
    with pytest.raises(AccelflowError, match=refused):
        accelflow.compare(**asked)


def test_a_first_length_that_does_not_end_is_said(tmp_path: Path):
    options = ["socialnetwork", "--profile", "paper", "--precision", "p999:0.1%"]
    options += ["--out", str(tmp_path / "out"), "--time-limit", "0.1s"]
    found = CliRunner().invoke(compare_command, options)
    assert "the time limit of 0.1s has passed; the first run length, 100,000 requests" in str(
        found.exception
    )


def test_options_that_a_time_limit_requires(tmp_path: Path):
    options = ["socialnetwork", "--profile", "paper", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(compare_command, [*options, "--time-limit", "10m"])
    assert "--time-limit = '10m': must be given together with --precision" in str(found.exception)
    with pytest.raises(
        InputError, match=r"time_limit_s = 5: must be given together with precision"
    ):
        accelflow.compare(**FIELDS, time_limit_s=5)
    with pytest.raises(
        InputError, match=r"keep_in = .*: must be given together with precision, and with"
    ):
        accelflow.compare(**FIELDS, keep_in=tmp_path, precision="p99:5%", samples=True)


def test_a_command_that_does_not_reach_its_precision_says_what_it_reached(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    def compare(*given: object, **options: object) -> object:
        def stop(_requests: int, _found: object) -> None:
            clock.now = 1e9

        return comparing_compare(*given, **{**options, "on_round": stop})

    comparing_compare = comparing.compare
    monkeypatch.setattr(comparing, "compare", compare)
    options = ["socialnetwork", "--service", "UniqId", "--profile", "paper", "--seeds", "5"]
    options += ["--rate", "1500000"]
    options += ["--orchestrator", "accelflow", "--precision", "mean:0.3%", "--time-limit", "9s"]
    found = CliRunner().invoke(compare_command, [*options, "--out", str(tmp_path / "out")])
    assert "--precision mean:0.3%: not reached in 9s, but runs of " in str(found.exception)
    assert "the same command resumes" in str(found.exception)
    assert "mean within" in found.stdout
    assert len(list((tmp_path / "out/unfinished").iterdir())) == 5

    monkeypatch.setattr(comparing, "compare", comparing_compare)
    without_limit = [option for option in options if option not in ("--time-limit", "9s")]
    found = CliRunner().invoke(compare_command, [*without_limit, "--out", str(tmp_path / "out")])
    assert found.exit_code == 0, found.exception
    assert not (tmp_path / "out/unfinished").exists()


#: Their numbers of requests differ, and grow with the runs.
TWO_SERVICES = """
schema = "accelflow.workload/1"
name = "two"
[[services]]
name = "A"
rate_rps = 20_000.0
app_us = 30
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu = true }, { trace = "T2" }]
[[services]]
name = "B"
rate_rps = 50_000.0
app_us = 15
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu = true }, { trace = "T2" }]
"""


def test_finished_results_replace_unfinished_ones(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    def stopping(*given: object, **options: object) -> object:
        """Compare, but let the time limit pass after the first length of the runs."""

        def stop(_requests: int, _found: object) -> None:
            clock.now = 1e9

        clock.now = 0.0
        return comparing_compare(*given, **{**options, "on_round": stop})

    def ran(*changes: str) -> tuple[str, bool]:
        """The name of the results that the command writes, and whether they are precise enough."""
        found = CliRunner().invoke(compare_command, [*options, *changes])
        (wrote,) = [line for line in found.stderr.splitlines() if line.startswith("wrote ")]
        file = Path(wrote.removeprefix("wrote ").split(", ")[0])
        said = json.loads(file.read_text())["precision"]
        reached = said["reached_ratio"] <= said["asked_ratio"]
        assert reached == (found.exit_code == 0)
        return file.stem, reached

    comparing_compare = comparing.compare
    file = tmp_path / "two.toml"
    file.write_text(TWO_SERVICES)
    options = [str(file), "--seeds", "5", "--orchestrator", "accelflow"]
    options += ["--precision", "mean:0.5%", "--out", str(tmp_path / "out")]
    limit = ("--time-limit", "1h")
    monkeypatch.setattr(comparing, "compare", stopping)
    assert ran(*limit) == ("compare-two", False)
    # Other settings are another experiment.
    assert ran(*limit, "--warmup", "0") == ("compare-two-2", False)
    file.write_text(TWO_SERVICES.replace("20_000", "21_000"))
    assert ran(*limit) == ("compare-two-3", False)
    file.write_text(TWO_SERVICES)
    monkeypatch.setattr(comparing, "compare", comparing_compare)
    assert ran() == ("compare-two", True)
    finished = (tmp_path / "out/compare-two.json").read_bytes()
    monkeypatch.setattr(comparing, "compare", stopping)
    assert ran(*limit) == ("compare-two-4", False)
    assert (tmp_path / "out/compare-two.json").read_bytes() == finished


def test_load_curves_end_with_the_time_limit(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    def passed(scenario: object, loads: object, **options: object) -> object:
        return at_loads(scenario, loads, **{**options, "progress": clock.after(1)})

    at_loads = comparing.at_loads
    monkeypatch.setattr(comparing, "at_loads", passed)
    options = ["socialnetwork", "--service", "UniqId", "--profile", "paper", "--seeds", "5"]
    options += ["--rate", "10000", "--orchestrator", "accelflow", "--precision", "mean:5%"]
    options += ["--time-limit", "9s", "--report", str(tmp_path / "page.html")]
    options += ["--loads", "0.5,1", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(compare_command, options)
    assert found.exit_code == 0, found.exception
    assert "--time-limit 9s: the load curves have only 1 of 2 loads" in found.stderr
    assert (tmp_path / "page.html").is_file()
