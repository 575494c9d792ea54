"""Fields of studies and questions: what each does, and values that are refused before a run."""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from accelflow import InputError, Scenario, studies
from accelflow.studies.design import points
from accelflow.workload import new_workload

BASE = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = 200
rate_rps = 60000
"""

FIND = """
[find]
least = "config.pes.TCP"
range = { from = 1, to = 4, whole = true }
most_seeds = 4
[find.limits]
p99_us = 250
"""

GOAL = """
[find]
minimize = "elements"
[find.axes]
"config.pes.TCP" = { from = 1, to = 4, whole = true }
[find.limits]
p99_us = 250
"""

GRID = """
[axes]
"config.pes.TCP" = [2, 8]
"""


def study_of(text: str, folder: Path) -> studies.Study:
    path = folder / "study.toml"
    path.write_text(text)
    return studies.read_study(path)


def question_of(text: str, folder: Path) -> studies.Question:
    path = folder / "study.toml"
    path.write_text(text)
    return studies.read_question(path)


def find_of(text: str, folder: Path) -> studies.Question | studies.Goal:
    path = folder / "study.toml"
    path.write_text(text)
    return studies.read_find(path)


def refusal(caught: pytest.ExceptionInfo[InputError], folder: Path) -> str:
    """The message without the study's path, which it must begin with; one line."""
    place, text = f"{folder / 'study.toml'}: ", str(caught.value)
    assert text.startswith(place)
    assert "\n" not in text
    return text.removeprefix(place)


SCENARIO = "[scenario]\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SCENARIO, "[scenario]\nrecording = 3\n", "scenario.recording = 3: must be the path of"),
        (
            SCENARIO,
            "[scenario]\nrecording = 'none.json'\n",
            "scenario.recording = 'none.json': must be a file that can be read: No such file",
        ),
        (SCENARIO, "[scenario]\nconfig = 3\n", "scenario.config = 3: must be a table"),
        (SCENARIO, "[scenario]\nconfig = 'x'\n", "scenario.config = 'x': must be a table"),
        ("rate_rps = 60000", "rate_rps = nan", "scenario.rate_rps = nan: must be a finite number"),
        (
            '"config.pes.TCP" = [2, 8]',
            "rate_rps = [nan, 1000]",
            "axes.rate_rps[0] = nan: must be a finite number",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "rate_rps = [1000, 2020-01-01]",
            "axes.rate_rps[1] = 2020-01-01: must be a string, a number, true or false, not a",
        ),
        (
            '[axes]\n"config.pes.TCP" = [2, 8]',
            "[[points]]\nrate_rps = inf",
            "points[0].rate_rps = inf: must be a finite number",
        ),
        (
            '[axes]\n"config.pes.TCP" = [2, 8]',
            "[[points]]\nrate_rps = 2020-01-01",
            "points[0].rate_rps = 2020-01-01: must be a string",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "requests = { from = 100, to = 200, points = 4 }",
            "axes.requests.whole is left out: must be true, since requests takes only whole",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            'orchestrators = [["ideal"]]',
            "axis = 'orchestrators': must be an axis other than orchestrators: each point is",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "recording = ['a.json']",
            "axis = 'recording': must be an axis other than recording: all points have the",
        ),
        (
            "[2, 8]",
            "{ from = 1.4, to = 3, points = 2, whole = true }",
            "axes.config.pes.TCP.from = 1.4: must be a whole number, since whole is true",
        ),
        (
            "[2, 8]",
            "{ from = 1, to = 3.6, points = 2, whole = true }",
            "axes.config.pes.TCP.to = 3.6: must be a whole number, since whole is true",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "rate_rps = { from = 1, to = 9, points = 10_000_000 }\n"
            "tcp_cost_ns = { from = 1, to = 9, points = 10_000_000 }",
            "points times seeds = 100000000000000: must be at most 10,000,000",
        ),
        (
            '[axes]\n"config.pes.TCP" = [2, 8]',
            '[design]\nseeds = 2\nkind = "latin_hypercube"\npoints = 10_000_000\n'
            "[axes]\nrate_rps = [1, 2]",
            "points times seeds = 20000000: must be at most 10,000,000",
        ),
        (
            "[2, 8]",
            "[2, 8]\nconfig.pes.TCP = [4]",
            "axes = 'config.pes.TCP': must be given only once",
        ),
        (
            '[axes]\n"config.pes.TCP" = [2, 8]',
            '[[points]]\n"config.pes.TCP" = 2\nconfig.pes.TCP = 3',
            "points[0] = 'config.pes.TCP': must be given only once",
        ),
        (
            "[2, 8]",
            "[2, 8]\n[axes.accelerator.TCP]\npes = [4]",
            "axes = 'config.pes.TCP': must be given only once",
        ),
        (
            '[axes]\n"config.pes.TCP" = [2, 8]',
            '[[points]]\n"config.pes.TCP" = 2\naccelerator.TCP.pes = 3',
            "points[0] = 'config.pes.TCP': must be given only once",
        ),
        (
            "config.pes.TCP",
            "accelerator.tcp.pes",
            "axis = 'accelerator.tcp.pes': must be chip, a scenario's field such as rate_rps, or"
            " config.KEY, did you mean accelerator.pes, config.accelerator.TCP.pes, accelerator.T",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "rate_rps = { from = -1e308, to = 1e308 }",
            "axes.rate_rps.to = 1e308: must be less than 1.79769e+308 above -1e+308, where",
        ),
        (
            '"config.pes.TCP" = [2, 8]',
            "requests = { from = 100, to = 1e300, whole = true }",
            "axes.requests.to = 1e300: must be from -9007199254740992 to 9007199254740992, since",
        ),
    ],
)
def test_values_of_a_study_are_refused_when_it_is_read(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = BASE + GRID
    assert old in text
    with pytest.raises(InputError) as caught:
        study_of(text.replace(old, new, 1), tmp_path)
    assert refusal(caught, tmp_path).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("from = 1", "from = 1.5", "find.range.from = 1.5: must be a whole number, since whole"),
        (
            ", whole = true",
            "",
            "find.range.whole is left out: must be true, since config.pes.TCP takes",
        ),
        ("to = 4", "to = 4.5", "find.range.to = 4.5: must be a whole number, since whole is true"),
        (SCENARIO, "[design]\nseeds = 2\n[scenario]\n", "design is given: must be left out with"),
        (SCENARIO, "[axes]\nrate_rps = [1]\n[scenario]\n", "axes is given: must be left out with"),
        (SCENARIO, "[[points]]\nrate_rps = 1\n[scenario]\n", "points is given: must be left out"),
        (
            SCENARIO,
            "[scenario]\norchestrators = ['relief', 'accelflow']\n",
            "scenario.orchestrators = ['relief', 'accelflow']: must be left out, since the",
        ),
        (
            SCENARIO,
            "[scenario]\norchestrators = ['relief']\n",
            "scenario.orchestrators = ['relief']: must be left out, since the search's own sys",
        ),
        (
            "p99_us = 250",
            "slo_missed_ratio = 1",
            "find.limits.slo_missed_ratio = 1: must be a number above 0 and below 1",
        ),
        (
            "p99_us = 250",
            "slo_missed_ratio = 0",
            "find.limits.slo_missed_ratio = 0: must be a number above 0 and below 1",
        ),
        (
            "p99_us = 250",
            "slo = false",
            "find.limits = {'slo': False}: must set a limit, such as p99_us = 900",
        ),
    ],
)
def test_values_of_a_question_are_refused_when_it_is_read(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    for text in (BASE + FIND, BASE + GOAL):
        assert old in text
        with pytest.raises(InputError) as caught:
            find_of(text.replace(old, new, 1), tmp_path)
        expected = message
        if text.endswith(GOAL):
            expected = message.replace("find.range.", "find.axes.config.pes.TCP.")
        assert refusal(caught, tmp_path).startswith(expected)


@pytest.mark.parametrize("name", ["relief", "RELIEF"])
def test_a_question_may_repeat_its_system_as_the_only_orchestrator(
    tmp_path: Path, name: str
) -> None:
    text = (BASE + FIND).replace("[find]", "[find]\nsystem = 'relief'")
    found = question_of(
        text.replace(SCENARIO, f"[scenario]\norchestrators = ['{name}']\n"), tmp_path
    )
    assert found.simulated.scenario["orchestrators"] == ("relief",)


def test_an_end_of_the_axes_that_no_design_can_have_is_refused_with_the_axes(
    tmp_path: Path,
) -> None:
    pytest.importorskip("optuna")
    goal = find_of((BASE + GOAL).replace("from = 1", "from = -3"), tmp_path)
    assert isinstance(goal, studies.Goal)
    with pytest.raises(InputError, match=r"^config\.pes\.TCP = -3: must be a whole"):
        studies.optimize(goal, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scenario": 3}, "scenario = 3: must map fields of a scenario to values"),
        ({"scenario": Scenario()}, "must map fields of a scenario to values"),
        ({"axes": {"rate_rps": [1]}}, "axes = {'rate_rps': [1]}: must be a list with an Axis for"),
        ({"axes": ["rate_rps"]}, "axes = ['rate_rps']: must be a list with an Axis for each axis"),
        ({"axes": None}, "axes = None: must be a list with an Axis for each axis"),
        ({"kind": "list", "points": [1]}, "points = [1]: must be a list of mappings from axes to"),
        ({"kind": "list", "points": {"rate_rps": 1}}, "must be a list of mappings from axes to"),
        ({"folder": 3}, "folder = 3: must be a path"),
    ],
)
def test_fields_of_other_types_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        studies.Study(**fields)


@pytest.mark.parametrize("workers", [0, False])
def test_no_workers_are_not_all_workers(tmp_path: Path, workers: int) -> None:
    study = studies.Study(axes=[studies.Axis(name="rate_rps", values=(1_000,))])
    with pytest.raises(InputError, match=f"^workers = {workers}: must be a whole number from 1"):
        studies.sweep(study, tmp_path / "out", workers=workers)
    assert not (tmp_path / "out").exists()


def test_the_folder_of_a_study_may_be_a_text(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(new_workload("shop"))
    study = studies.Study(scenario={"workload": "shop.toml"}, folder=str(tmp_path))  # type: ignore[arg-type]
    assert study.at({}, 1).workload["name"] == "shop"  # type: ignore[index]


def test_the_recording_of_a_study_is_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "costs.json").write_text('{"made": "up"}')
    text = (BASE + GRID).replace(SCENARIO, "[scenario]\nrecording = 'costs.json'\n")
    assert study_of(text, tmp_path).scenario["recording"] == '{"made": "up"}'


def test_a_whole_range_has_only_numbers_of_its_interval(tmp_path: Path) -> None:
    text = (BASE + GRID).replace("[2, 8]", "{ from = 2, to = 4, points = 9, whole = true }")
    found = [point["config.pes.TCP"] for point in points(study_of(text, tmp_path))]
    assert found == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", ["chip", "profile", "by_rate", "slo_us"])
def test_a_search_needs_axes_with_numbers(tmp_path: Path, name: str) -> None:
    for text, place in ((FIND, "find.least"), (GOAL, "find.axes key")):
        with pytest.raises(InputError) as caught:
            find_of(BASE + text.replace("config.pes.TCP", name), tmp_path)
        start = f"{place} = '{name}': must be an axis whose values are numbers"
        assert refusal(caught, tmp_path).startswith(start)


def test_a_whole_range_may_be_of_a_scenarios_whole_numbers(tmp_path: Path) -> None:
    axes = "[axes]\nrequests = { from = 100, to = 102, points = 3, whole = true }\n"
    outcome = studies.sweep(study_of(BASE + axes, tmp_path), tmp_path / "out")
    assert (outcome.simulated, outcome.skipped) == (3, ())
    rows = pq.read_table(tmp_path / "out/design.parquet")
    assert rows["axis.requests"].to_pylist() == [100, 101, 102]


def test_an_axis_replaces_its_parameter_in_either_spelling(tmp_path: Path) -> None:
    for config in ('{ "accelerator.TCP.pes" = 5 }', "{ accelerator = { TCP = { pes = 5 } } }"):
        text = BASE.replace("[scenario]", f"[scenario]\nconfig = {config}") + GRID
        study = study_of(text, tmp_path)
        found = [study.at(point, 1).config for point in points(study)]
        assert found == [{"pes.TCP": 2}, {"pes.TCP": 8}]


def test_seeds_may_be_a_list_and_the_design_has_them(tmp_path: Path) -> None:
    text = BASE + "[design]\nseeds = [7]\n" + GRID
    studies.sweep(study_of(text, tmp_path), tmp_path / "out")
    design = pq.read_table(tmp_path / "out/design.parquet")
    assert design.column_names == ["key", "point", "seed", "axis.config.pes.TCP"]
    assert design["seed"].to_pylist() == [7, 7]
    results = pq.read_table(tmp_path / "out/results.parquet")
    assert results.column_names.count("seed") == 1
    assert set(results["seed"].to_pylist()) == {7}


def test_more_seeds_are_rows_of_the_design(tmp_path: Path) -> None:
    text = BASE + "[design]\nseeds = 2\n" + GRID
    studies.sweep(study_of(text, tmp_path), tmp_path / "out")
    rows = pq.read_table(tmp_path / "out/design.parquet").to_pylist()
    assert [(row["axis.config.pes.TCP"], row["seed"]) for row in rows] == [
        (2.0, 1),
        (2.0, 2),
        (8.0, 1),
        (8.0, 2),
    ]


@pytest.mark.parametrize(
    ("measure", "ratio"), [("mean_us", 4.206671), ("p50_us", 4.226466), ("p999_us", 6.419053)]
)
def test_each_latency_can_be_limited(tmp_path: Path, measure: str, ratio: float) -> None:
    text = (BASE + FIND).replace('["UniqId"]', '["UniqId", "Login"]')
    text = text.replace("requests = 200", "requests = 300\nslo_factor = 3")
    text = text.replace("[find]", "[find]\nsystem = 'relief'")
    text = text.replace("from = 1, to = 4", "from = 1, to = 2")
    text = text.replace("p99_us = 250", f"{measure} = 100")
    answer = studies.find(question_of(text, tmp_path), tmp_path / "out")
    (two,) = [tried for tried in answer.tried if tried.value == 2.0]
    assert two.worst_ratio == pytest.approx(ratio, rel=1e-6)
    assert two.binding == f"{measure} of Login"


@pytest.mark.parametrize(("scale", "middle"), [("linear", 50.0), ("log", 10.0)])
def test_a_search_halves_its_range_on_its_scale(tmp_path: Path, scale: str, middle: float) -> None:
    text = (BASE + FIND).replace("rate_rps = 60000", "rate_rps = 600000")
    text = text.replace("p99_us = 250", "p99_us = 40")
    text = text.replace("to = 4, whole = true", f"to = 100, whole = true, scale = '{scale}'")
    answer = studies.find(question_of(text, tmp_path), tmp_path / "out")
    values = [tried.value for tried in answer.tried]
    assert values[0] == 1.0
    assert values[-2:] == [middle, 100.0]
    assert answer.best is not None
    assert 1.0 < answer.best.value < 10.0
