"""The search for assumed parameters."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.fit import Bound, bounds, fit, to_json, to_toml
from accelflow.reproduce import Budget, Runner, read_scenario, targets

TINY = Budget(name="tiny", requests=100, replications=1, rate_step=2.0)


def test_bounds_are_within_what_the_simulator_takes_and_have_sources() -> None:
    known = {one.key: one for one in simulation.parameters()}
    for bound in bounds():
        assert len(bound.source) > 40
        if bound.choices:
            assert len(set(bound.choices)) == len(bound.choices)
            continue
        assert 0 < bound.low < bound.high
        if bound.name in known:
            row = known[bound.name]
            assert row.min <= bound.low < bound.high <= row.max
            assert row.provenance in {"assumed", "derived"}, "what the paper states is not fitted"


def test_places_are_on_a_logarithmic_scale() -> None:
    bound = Bound("x", 10.0, 1000.0, (), "")
    assert [bound.at(place) for place in (0.0, 0.5, 1.0)] == [10.0, 100.0, 1000.0]
    choice = Bound("y", 0.0, 0.0, ("a", "b"), "")
    assert [choice.at(place) for place in (0.0, 0.49, 0.5, 1.0)] == ["a", "a", "b", "b"]


def test_a_search_is_repeatable_and_looks_at_the_rows_for_it_alone(tmp_path: Path) -> None:
    found = fit(runner=Runner(2), budget=TINY, evaluations=8, seed=3)
    again = fit(runner=Runner(1), budget=TINY, evaluations=8, seed=3)
    assert to_json(found) == to_json(again)
    assert to_json(found) != to_json(fit(runner=Runner(2), budget=TINY, evaluations=8, seed=4))
    assert 4 <= len(found.evaluations) <= 8
    assert found.best.distance == min(one.distance for one in found.evaluations)
    fitted = {row for row, one in targets().items() if one.use == "fit"}
    assert set(found.best.rows) == fitted
    for one in found.evaluations:
        for bound in bounds():
            if not bound.choices and bound.name in one.scenario.config:
                assert bound.low <= one.scenario.config[bound.name] <= bound.high
    path = tmp_path / "scenario.toml"
    path.write_text(to_toml(found))
    assert read_scenario(path) == found.best.scenario


def test_the_distance_is_the_root_of_the_mean_square() -> None:
    best = fit(runner=Runner(2), budget=TINY, evaluations=2).best
    squares = [(value - targets()[row].value) ** 2 for row, value in best.rows.items() if value]
    assert best.distance == pytest.approx(math.sqrt(sum(squares) / len(squares)))


def test_what_is_fixed_is_not_searched() -> None:
    found = fit(runner=Runner(2), budget=TINY, evaluations=4, fixed={"placement": "isolated"})
    assert {one.scenario.placement for one in found.evaluations} == {"isolated"}
    with pytest.raises(InputError, match="placement cannot be fixed at 'apart'; known are col"):
        fit(runner=Runner(1), budget=TINY, fixed={"placement": "apart"})
    with pytest.raises(InputError, match="evaluations is 1; must be from 2"):
        fit(runner=Runner(1), budget=TINY, evaluations=1)


def test_the_command_writes_the_scenario_and_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "accelflow", "fit", "--evaluations", "2", "--budget", "ci"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert read_scenario(tmp_path / "scenario.toml").config
    log = json.loads((tmp_path / "fit.json").read_text())
    assert log["schema"] == "accelflow.fit/1"
    assert len(log["evaluations"]) == 2
    assert len(log["rows"]) == 8
