"""Studies made in Python are checked as their files are; long values and byte-order marks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from accelflow import InputError, accelerometer, studies
from accelflow.accelerometer.recorded import read_recording
from accelflow.errors import refused
from test_plan_fields import write_recording

NAN, INFINITE = float("nan"), float("inf")


def axis(*values: Any, name: str = "rate_rps", **ends: Any) -> studies.Axis:
    """An axis of values, or of the range with `ends`."""
    return studies.Axis(name=name, values=studies.Range(**ends) if ends else values)


def study(**fields: Any) -> studies.Study:
    return studies.Study(**{"axes": [axis(1.0, 2.0)], **fields})


def listed(*points: dict[str, Any]) -> studies.Study:
    return studies.Study(kind="list", points=points)


def asked(**fields: Any) -> studies.Question:
    of = {"study": studies.Study(), "system": "relief", "name": "rate_rps", "most": True}
    values = studies.Range(low=1.0, high=2.0)
    return studies.Question(**{**of, "values": values, "limits": {"p99_us": 9.0}, **fields})


def question(**limits: Any) -> studies.Question:
    return asked(limits=limits)


def wanted(**fields: Any) -> studies.Goal:
    of = {"study": studies.Study(), "system": "relief", "minimize": "elements"}
    axes = (axis(low=1.0, high=2.0),)
    return studies.Goal(**{**of, "axes": axes, "limits": {"p99_us": 9.0}, **fields})


def goal(**limits: Any) -> studies.Goal:
    return wanted(limits=limits)


def of_systems(*names: str) -> studies.Study:
    return studies.Study(scenario={"orchestrators": names})


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: axis(low=NAN, high=2.0), "low = nan: must be a finite number"),
    (lambda: axis(low=1.0, high=INFINITE), "high = inf: must be a finite number"),
    (lambda: axis(low=True, high=2.0), "low = True: must be a finite number"),
    (
        lambda: axis(name="requests", low=100.0, high=200.0),
        "requests.whole = False: must be true, since requests takes only whole numbers",
    ),
    (lambda: axis(low=3.0, high=1.0), "high = 1: must be more than 3, where the range begins"),
    (lambda: axis(low=1.0, high=2.0, points=1), "points = 1: must be a whole number from 2"),
    (lambda: axis(low=1.0, high=2.0, scale="lin"), "scale = 'lin': must be linear or log"),
    (lambda: axis(low=0.0, high=2.0, scale="log"), "low = 0: must be more than 0 on a"),
    (lambda: axis(low=1.5, high=2.0, whole=True), "low = 1.5: must be a whole number, since"),
    (lambda: axis(low=1.0, high=2.0, whole=1), "whole = 1: must be true or false"),
    (lambda: axis(1.0, NAN), "rate_rps[1] = nan: must be a finite number"),
    (axis, "rate_rps = (): must be a Range, or a list with values"),
    (lambda: axis(1.0, name="rate_rsp"), "axis = 'rate_rsp': must be chip, a scenario's field"),
    (lambda: study(kind="lst"), "kind = 'lst': must be grid, latin_hypercube or list"),
    (lambda: study(scenario={"rate_rps": NAN}), "scenario.rate_rps = nan: must be a finite"),
    (
        lambda: study(scenario={"config": {"core.count": INFINITE}}),
        "scenario.config.core.count = inf: must be a finite number",
    ),
    (lambda: study(scenario={"seed": 3}), "scenario key = 'seed': must be workload"),
    (lambda: listed({"rate_rps": NAN}), "points[0].rate_rps = nan: must be a finite"),
    (lambda: listed({"rate": 1.0}), "points[0] key = 'rate': must be chip, a scenario's field"),
    (
        lambda: study(points=[{"rate_rps": 9.0}]),
        "points = [{'rate_rps': 9.0}]: must be left out, since the kind of design is ",
    ),
    (lambda: study(kind="list"), "axes = ['rate_rps']: must be left out, since the kind of"),
    (listed, "points = []: must have a point, since the kind of design is list"),
    (lambda: study(count=3), "count = 3: must be left out unless the kind of design is latin"),
    (lambda: axis(1.0, 2.0, 1), "rate_rps = (1.0, 2.0, 1): must have each value only once"),
    (lambda: study(seeds=(4, 5, 4)), "seeds = [4, 5, 4]: must have each seed only once"),
    (lambda: study(seeds=0), "seeds = 0: must be a whole number from 1 to 1000"),
    (lambda: study(seeds=True), "seeds = True: must be the number of seeds, or a list of seeds"),
    (
        lambda: study(seeds=range(10**7)),
        "points times seeds = 20000000: must be at most 10,000,000",
    ),
    (lambda: asked(study=study()), "study.axes = [Axis(name='rate_rps', values=(1.0, 2.0))]: must"),
    (lambda: asked(study="study.toml"), "study = 'study.toml': must be a Study"),
    (lambda: asked(system="idel"), "system = 'idel': must be "),
    (lambda: asked(system=studies.Study), "system = <class 'accelflow.studies.study.Study'>: must"),
    (
        lambda: asked(study=of_systems("accelflow")),
        "scenario.orchestrators = ('accelflow',): must be left out, since the search's own system",
    ),
    (lambda: wanted(study=of_systems("relief", "ideal")), "scenario.orchestrators = ('relief', "),
    (lambda: asked(name="chip"), "name = 'chip': must be an axis whose values are numbers"),
    (lambda: asked(most=1), "most = 1: must be True to search the greatest value, False the least"),
    (lambda: asked(values=(1, 2)), "values = (1, 2): must be a Range"),
    (
        lambda: asked(name="config.pes.TCP"),
        "values.whole = False: must be true, since config.pes.TCP takes only whole numbers",
    ),
    (lambda: asked(most_seeds=1), "most_seeds = 1: must be a whole number from 4 to 1000"),
    (lambda: wanted(minimize="power"), "minimize = 'power': must be elements or area_mm2"),
    (lambda: wanted(axes=()), "axes = (): must be a list of at least one Axis"),
    (lambda: wanted(axes=[axis(1.0, 2.0)]), "axes.rate_rps = (1.0, 2.0): must be a Range"),
    (lambda: wanted(axes=[axis(low=1, high=2)] * 2), "axes key = 'rate_rps': must be given only"),
    (lambda: wanted(trials=0), "trials = 0: must be a whole number from 1 to 100000"),
    (lambda: wanted(seed=-1), "seed = -1: must be a whole number from 0"),
    (
        lambda: studies.find(wanted(), "out"),  # type: ignore[arg-type]
        "question = 'Goal': must be a Question; studies.optimize takes a Goal",
    ),
    (
        lambda: studies.optimize(asked(), "out"),  # type: ignore[arg-type]
        "goal = 'Question': must be a Goal; studies.find takes a Question",
    ),
    (lambda: studies.sweep(asked(), "out"), "study = Question(study=Study("),  # type: ignore[arg-type]
    (lambda: studies.sweep(study(), 3), "place = 3: must be a path"),  # type: ignore[arg-type]
    (lambda: study(kind="latin_hypercube"), "count is left out: must be the number of points"),
    (lambda: study(draw=-1), "draw = -1: must be a whole number from 0"),
    (lambda: study(seeds=()), "seeds = []: must have at least one seed"),
    (lambda: study(seeds=(1, NAN)), "seeds[1] = nan: must be a whole number"),
    (lambda: question(p99_us=NAN), "limits.p99_us = nan: must be a number above 0"),
    (lambda: question(p99_us=INFINITE), "limits.p99_us = inf: must be a number above 0"),
    (lambda: question(p98_us=5.0), "limits key = 'p98_us': must be mean_us"),
    (question, "limits = {'slo': False}: must set a limit"),
    (lambda: goal(slo_missed_ratio=1.0), "limits.slo_missed_ratio = 1: must be a number above"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_studies_made_in_python_are_checked(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_a_search_made_in_python_simulates_its_system_alone(tmp_path: Path) -> None:
    scenario = {"services": ["UniqId"], "profile": "paper", "requests": 200}
    for orchestrators in ({}, {"orchestrators": ["RELIEF"]}):
        found = asked(
            study=studies.Study(scenario=scenario | orchestrators),
            values=studies.Range(low=1e3, high=1e5),
            limits={"p99_us": 1e4},
            most_seeds=4,
        )
        studies.find(found, str(tmp_path / "out"))
        rows = parquet.read_table(tmp_path / "out/results.parquet")
        assert set(rows["system"].to_pylist()) == {"relief"}


def test_a_goal_made_in_python_is_of_its_system_alone(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    scenario = {"services": ["UniqId"], "profile": "paper", "requests": 200, "rate_rps": 1e4}
    pes = axis(name="config.pes.TCP", low=1, high=2, whole=True)
    found = wanted(
        study=studies.Study(scenario=scenario), axes=[pes], most_seeds=4, limits={"p99_us": 1e4}
    )
    studies.optimize(replace(found, trials=1), str(tmp_path / "out"))
    rows = parquet.read_table(tmp_path / "out/results.parquet")
    assert set(rows["system"].to_pylist()) == {"relief"}
    other = replace(found, system="ideal")
    assert other.simulated.scenario["orchestrators"] == ("ideal",)


def test_a_number_of_seeds_and_a_folder_as_text_are_as_in_a_file(tmp_path: Path) -> None:
    scenario = {"services": ["UniqId"], "profile": "paper", "requests": 100}
    of = studies.Study(scenario=scenario, axes=[axis(1e3)], seeds=3)
    outcome = studies.sweep(of, str(tmp_path / "out"))
    assert outcome.simulated == 3
    assert outcome.results == tmp_path / "out/results.parquet"
    rows = parquet.read_table(outcome.results)
    assert set(rows["seed"].to_pylist()) == {1, 2, 3}


def test_a_range_of_whole_numbers_may_be_given_as_integers() -> None:
    found = studies.Range(low=1, high=4, whole=True)
    assert (found.low, found.high, found.at(0.5)) == (1.0, 4.0, 2.0)


@pytest.mark.parametrize(
    "value", ["x" * 5_000, ["x" * 5_000], list(range(5_000)), {"x": "y" * 999}]
)
def test_long_values_and_places_are_cut_in_refusals(value: Any) -> None:
    text = str(refused("p" * 5_000, value, "must be short"))
    assert len(text) < 900
    assert text.startswith("ppp")
    assert text.endswith(": must be short")


def test_values_of_a_usual_length_are_whole() -> None:
    assert (
        str(refused("name", "x" * 200, "must be short")) == f"name = '{'x' * 200}': must be short"
    )


def test_services_and_recordings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    write_recording(tmp_path / "plain.json", app_ns=1_000.0)
    marked = tmp_path / "marked.json"
    marked.write_text((tmp_path / "plain.json").read_text(), encoding="utf-8-sig")
    assert read_recording(marked) == read_recording(tmp_path / "plain.json")
    text = "host_ghz = 2.3\n[[kernels]]\nthreading = 'sync'\nkernel_share_ratio = 0.15\n"
    text += "offloads_per_s = 15008\nacceleration_ratio = 27\n"
    for name, encoding in (("plain.toml", "utf-8"), ("marked.toml", "utf-8-sig")):
        (tmp_path / name).write_text(text, encoding=encoding)
    plain, other = (accelerometer.read(tmp_path / f"{name}.toml") for name in ("plain", "marked"))
    assert plain == other
