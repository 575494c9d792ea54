"""The search for assumed parameters."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.cli.failure import run
from accelflow.cli.fit import fit_command
from accelflow.errors import AccelflowError, InputError
from accelflow.findings import targets
from accelflow.fit import (
    Bound,
    Fit,
    Lengths,
    bounds,
    fit,
    scenario_of,
    to_json,
    to_toml,
    write_fit,
)
from accelflow.fit.objective import Evaluation, Judge
from accelflow.fit.space import Optimiser, free_bounds, values_of
from accelflow.reproduce import Runner, Scenario, read_scenario
from accelflow.reproduce.distance import log_ratio

#: As short as simulations can be: what is found is of no use.
TINY = Lengths(requests=100, seeds=2, noise=10.0, most_seeds=8)
#: One server for each service is the quickest to simulate.
FIXED = {"placement": "isolated", "sizes": "socialnetwork"}


@pytest.fixture(scope="module")
def found() -> Fit:
    """A search of two points, which many tests look at."""
    return fit(runner=Runner(2), lengths=TINY, evaluations=2, fixed=FIXED)


@pytest.fixture(scope="module")
def other() -> Fit:
    """The same with another seed."""
    return fit(runner=Runner(2), lengths=TINY, evaluations=2, seed=2, fixed=FIXED)


def test_bounds_are_within_what_the_simulator_takes_and_have_sources() -> None:
    known = {one.key: one for one in simulation.parameters()}
    for bound in bounds():
        assert len(bound.source) > 40
        if bound.name in known:
            row = known[bound.name]
            assert row.provenance != "paper" or row.choices, "what the paper states is not fitted"
        if bound.choices:
            assert len(set(bound.choices)) == len(bound.choices) > 1
            continue
        assert 0 < bound.low < bound.high
        if bound.name in known:
            assert row.min <= bound.low < bound.high <= row.max


def test_every_open_choice_can_be_simulated() -> None:
    for bound in bounds():
        for value in bound.choices or (bound.at(0.0), bound.at(1.0)):
            scenario_of({bound.name: value}).check()
    with pytest.raises(InputError, match="rates = 'even': must be alibaba or equal"):
        scenario_of({"rates": "even"})
    with pytest.raises(InputError, match="cohort = 'relief': must be cohort or cohort_pol"):
        scenario_of({"cohort": "relief"})
    with pytest.raises(InputError, match="facts"):
        scenario_of({"facts": "wrong"})


def test_places_are_on_a_logarithmic_scale() -> None:
    bound = Bound("x", 10.0, 1000.0, (), "")
    assert [bound.at(place) for place in (-1.0, 0.0, 0.5, 1.0)] == [10.0, 10.0, 100.0, 1000.0]
    assert Bound("x", 10.0, 1000.0, (), "", whole=True).at(0.6) == 158.0
    assert [bound.place(value) for value in (5.0, 10.0, 100.0, 2000.0)] == [0.0, 0.0, 0.5, 1.0]


def test_a_search_begins_around_the_default_and_is_never_worse(found: Fit) -> None:
    free = list(bounds())
    start = {one.name: one.choices[0] if one.choices else one.at(0.5) for one in free}
    first = [place.values for place in Optimiser(free, start, 1).ask()]
    numbers, choices = ([one for one in free if bool(one.choices) is it] for it in (False, True))
    near = [abs(one.place(float(it[one.name])) - 0.5) for one in numbers for it in first]
    assert sum(near) / len(near) < 0.3
    defaults = [it[one.name] == start[one.name] for one in choices for it in first]
    assert 0.35 < sum(defaults) / len(defaults) < 0.65
    points = (found.default, *found.evaluations)
    best = min(points, key=lambda one: one.distance)
    finalists = [one.scenario for one in found.finalists]
    assert best.scenario in finalists
    assert found.default.scenario in finalists
    assert found.best.distance == min(one.distance for one in found.finalists)


def test_reductions_are_compared_as_latency_ratios() -> None:
    # A fiftieth of the latency beside an eleventh: a factor of 4.65, though only .073 apart.
    assert log_ratio(0.98, 0.907) == pytest.approx(-math.log(4.65), abs=1e-6)
    assert log_ratio(0.5, 0.5) == 0.0
    assert log_ratio(None, 0.5) == math.inf
    assert log_ratio(1.0, 0.5) == math.inf


def test_a_search_is_repeatable_and_looks_at_the_rows_for_it_alone(
    found: Fit, other: Fit, tmp_path: Path
) -> None:
    again = fit(runner=Runner(1), lengths=TINY, evaluations=2, fixed=FIXED)
    assert to_json(found) == to_json(again)
    assert to_json(found) != to_json(other)
    assert len(found.evaluations) == 2
    assert found.best.distance == min(one.distance for one in found.finalists)
    fitted = {
        key
        for key, target in targets().items()
        if target.use == "fit" and not target.fits and key.startswith("accelflow.")
    }
    for one in (*found.evaluations, *found.finalists, found.default):
        assert set(one.rows) == fitted
        for bound in bounds():
            if not bound.choices and bound.name in one.scenario.config:
                assert bound.low <= one.scenario.config[bound.name] <= bound.high
    path = tmp_path / "scenario.toml"
    path.write_text(to_toml(found))
    assert read_scenario(path) == found.best.scenario


def test_the_distance_is_the_root_of_the_mean_square_of_log_ratios(found: Fit) -> None:
    best = found.best
    squares = [log_ratio(value, targets()[row].value) ** 2 for row, value in best.rows.items()]
    assert best.distance == pytest.approx(math.sqrt(sum(squares) / len(squares)))
    assert 0 < best.noise < 1


def test_points_are_simulated_until_their_noise_is_small_or_cannot_be(found: Fit) -> None:
    def search(noise: float) -> Fit:
        lengths = replace(TINY, noise=noise, most_seeds=4)
        return fit(runner=Runner(2), lengths=lengths, evaluations=2, fixed=FIXED)

    assert {one.seeds for one in found.evaluations} == {2}
    assert found.best.steady
    asked = found.default.noise * 0.9
    harder = search(asked)
    assert harder.default.seeds > 2
    assert harder.default.steady == (harder.default.noise <= asked)
    seeds = {repr(one.scenario): one.seeds for one in (harder.default, *harder.evaluations)}
    for one in harder.finalists:
        assert one.seeds == 4 * seeds[repr(one.scenario)], "the best have a longer last look"
    hopeless = search(1e-9)
    assert {one.seeds for one in hopeless.evaluations} == {2}, "no number of seeds would do"
    assert not hopeless.best.steady


def test_a_search_may_begin_at_the_end_of_a_range() -> None:
    free = free_bounds({})
    start = values_of(Scenario(), free)
    ends = {one.name: one.low for one in free if not one.choices}
    optimiser = Optimiser(free, {**start, **ends}, seed=1)
    for _ in range(20):
        places = optimiser.ask()
        for place in places:
            assert all(one.has(place.values[one.name]) for one in free)
        optimiser.tell([(place, float(index)) for index, place in enumerate(places)])


def test_a_search_of_few_choices_ends_when_all_are_known() -> None:
    start = values_of(Scenario(), free_bounds({}))
    placement = {name: value for name, value in start.items() if name != "placement"}
    found = fit(runner=Runner(2), lengths=TINY, evaluations=50, fixed=placement)
    # The default is one of the two placements.
    assert {one.scenario.placement for one in found.evaluations} == {"isolated"}


def test_what_is_fixed_is_not_searched() -> None:
    fixed = {**FIXED, "core.submit_ns": 500.0, "core.balancing": "random"}
    found = fit(runner=Runner(2), lengths=TINY, evaluations=2, fixed=fixed)
    for one in (*found.evaluations, found.default):
        assert one.scenario.placement == "isolated"
        assert one.scenario.config["core.submit_ns"] == 500.0
        assert one.scenario.config["core.balancing"] == 1.0
    for wrong, message in (
        ({"placement": "apart"}, "placement = 'apart': must be colocated"),
        ({"core.submit_ns": "much"}, "core.submit_ns = 'much': must be a number"),
        ({"core.clock_ghz": 3.0}, "fixed = 'core.clock_ghz': must be core.interrupt_ns"),
    ):
        with pytest.raises(InputError, match=message):
            fit(runner=Runner(1), lengths=TINY, fixed=wrong)
    with pytest.raises(InputError, match="evaluations = 1: must be a whole number from 2"):
        fit(runner=Runner(1), lengths=TINY, evaluations=1)
    with pytest.raises(InputError, match="seeds = 1: must be a whole number from 2 to 32"):
        fit(runner=Runner(1), lengths=Lengths(seeds=1))


def test_no_search_overwrites_another(found: Fit, other: Fit, tmp_path: Path) -> None:
    names = [[path.name for path in write_fit(one, tmp_path)] for one in (found, other, found)]
    assert names == [
        ["scenario.toml", "fit.json"],
        ["scenario-2.toml", "fit-2.json"],
        ["scenario.toml", "fit.json"],
    ]
    assert (tmp_path / "fit.json").read_text() == to_json(found)
    assert (tmp_path / "fit-2.json").read_text() == to_json(other)
    (tmp_path / "fit-3.json").write_text("something else")
    third = replace(found, seed=3)
    assert [path.name for path in write_fit(third, tmp_path)] == ["scenario-4.toml", "fit-4.json"]


def test_a_missing_optimiser_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(AccelflowError, match="needs the Python package cmaes"):
        fit(runner=Runner(1), lengths=TINY)
    assert run(fit_command, ["--out", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "`pip install cmaes` installs it" in error


def test_the_command_writes_the_scenario_and_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "accelflow", "fit", "--evaluations", "2", "--noise", "10"]
    command += ["--requests", "100", "--seeds", "2", "--fix", "placement=isolated"]
    done = subprocess.run(
        [*command, "--fix", "sizes=socialnetwork", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "distance" in done.stdout
    assert "mean_latency_reduction.Cohort  " in done.stdout
    assert "of 2 points had more noise than 10" in done.stdout
    assert read_scenario(tmp_path / "scenario.toml").placement == "isolated"
    log = json.loads((tmp_path / "fit.json").read_text())
    assert log["schema"] == "accelflow.fit/3"
    assert len(log["evaluations"]) == 2
    assert len(log["asked"]["rows"]) == 8
    assert all(one["noise"] is not None for one in log["evaluations"])


def test_a_refinement_changes_one_parameter_at_a_time_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a made-up distance that is lowest at one number and one choice."""
    seen: list[Scenario] = []
    submit_ns = next(one for one in bounds() if one.name == "core.submit_ns")

    def made_up(_judge: Judge, scenario: Scenario, stage: str, **_more: float) -> Evaluation:
        seen.append(scenario)
        place = submit_ns.place(scenario.config.get("core.submit_ns", 800.0))
        distance = abs(place - 0.4) + (scenario.facts != "drawn") + 0.1
        return Evaluation(
            scenario=scenario,
            stage=stage,
            findings=(),
            distance=distance,
            noise=0.0,
            seeds=2,
            steady=True,
        )

    monkeypatch.setattr(Judge, "of", made_up)
    monkeypatch.setattr(Judge, "with_seeds", lambda it, one, stage, _: made_up(it, one, stage))
    open_ones = {"core.submit_ns", "facts"}
    fixed = {
        name: value
        for name, value in values_of(Scenario(), free_bounds({})).items()
        if name not in open_ones
    }
    found = fit(runner=Runner(1), lengths=TINY, evaluations=200, seed=1, fixed=fixed)
    assert found.best.scenario.facts == "drawn"
    assert found.best.distance < 0.1 + 0.02
    refined = [one for one in found.evaluations if one.stage.startswith("refinement")]
    assert 0 < len(refined) < 100, "it ends when no step is nearer"
    assert len({repr(one) for one in seen[: len(found.evaluations) + 1]}) > 1
    assert any(one.scenario == found.default.scenario for one in found.finalists)
