"""Scenarios of `accelflow reproduce`: their files, and experiments under them."""

from pathlib import Path

import pytest

from accelflow import reproduce as lib
from accelflow import simulation
from accelflow.errors import InputError
from accelflow.scenario import resolved


def test_a_fitted_scenario_fits_every_experiment() -> None:
    scenario = lib.Scenario(sizes="socialnetwork", arrivals="short_bursts")
    found = set()
    for definition in map(lib.load, lib.names()):
        for point in definition.points:
            one = scenario.experiment("accelflow", definition.setup, point, 100, 1)
            simulation.check(one)
            found.add((one.workload, one.sizes))
    assert {("socialnetwork", "socialnetwork"), ("serverless", "fleet")} <= found


def test_scenarios_are_read_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[scenario]\nsizes = "socialnetwork"\n[core]\ninterrupt_ns = 1500\n')
    scenario = lib.read_scenario(path)
    assert scenario.sizes == "socialnetwork"
    assert scenario.config == {"core.interrupt_ns": 1500.0}
    for text, said in (
        ("[scenario]\nsise = 1\n", "scenario: key = 'sise': must be arrivals"),
        ("[scenario]\nsizes = 3\n", "scenario.sizes = 3: must be a string"),
        ('[scenario]\nsizes = "x"\n', "sizes = 'x': must be socialnetwork"),
        ("[core]\nfoo = 3\n", "parameter = 'core.foo': must be a key"),
        ('[scenario]\ncohort = "relief"\n', "cohort = 'relief': must be cohort"),
        ("scenario = 3\n", "scenario = 3: must be a table"),
    ):
        path.write_text(text)
        with pytest.raises(InputError) as refused:
            lib.read_scenario(path)
        assert said in str(refused.value)
        assert str(path) in str(refused.value)


def test_the_default_is_that_of_the_papers_profile() -> None:
    """`compare --profile paper` and `reproduce` assume the same of what the paper leaves open."""
    compared = resolved(simulation.Scenario(profile="paper"))
    definition = lib.load("fig11")
    one = lib.Scenario().experiment("accelflow", definition.setup, definition.points[0], 100, 1)
    reproduced = resolved(one)
    # How many requests there are, and which systems, is no assumption about the paper.
    asked = {"orchestrators", "requests", "warmup_requests", "by_rate", "seed", "slo_factor"}
    differ = {key for key in compared if compared[key] != reproduced[key]}
    assert differ <= asked, differ - asked
