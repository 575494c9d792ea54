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
        ("[core]\nfoo = 3\n", "parameter = 'core.foo': must be the key of"),
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


@pytest.mark.parametrize("name", ["fig19", "pe_throughput", "deadline_misses"])
@pytest.mark.parametrize(
    "config", [{"accelerator.TCP.pes": 8.0}, {"pes.Cmp": 4.0}, {"accelerator.pes": 2.0}]
)
def test_an_experiment_on_elements_refuses_chips_that_set_them(
    name: str, config: dict[str, float]
) -> None:
    scenario, (key,) = lib.Scenario(config=config), config
    said = rf"{key} = \d: must be left out with {name}, which varies accelerator\.pes"
    definitions = [lib.load(name)]
    with pytest.raises(InputError, match=said):
        lib.reproduce(
            definitions, budget=lib.budget("quick"), runner=lib.Runner(1), scenario=scenario
        )
    with pytest.raises(InputError, match=said):
        lib.of_workload("socialnetwork", [name], choices=scenario)
    found = lib.of_workload("socialnetwork", choices=scenario)
    assert found.left_out[name] == f"It varies accelerator.pes, and {key} is set."
    assert name not in [definition.name for definition in found.definitions]


def test_deadlines_of_another_factor_hold_for_own_workloads_too() -> None:
    ours = lib.of_workload("hotelreservation").scenario
    assert ours.due(4.0) == 4.0
    assert "deadline_factor" not in ours.to_dict()
    chosen = lib.Scenario(deadline_factor=3.0)
    ours = lib.of_workload("hotelreservation", choices=chosen).scenario
    assert ours.due(4.0) == 3.0
    assert ours.to_dict()["deadline_factor"] == 3.0
    with pytest.raises(InputError, match="deadline_factor = 0: must be above 0"):
        lib.of_workload("hotelreservation", choices=lib.Scenario(deadline_factor=0.0))


def test_settings_that_leave_labels_right_are_allowed() -> None:
    fig18, fig19 = lib.load("fig18"), lib.load("fig19")
    assert not lib.mislabelled(fig19, {"accelerator.pes": 8.0, "pes.TCP": -1.0})
    assert not lib.mislabelled(fig19, {"instances.TCP": 2.0, "accelerator.input_entries": 16.0})
    # Each point of Fig. 18 sets the number of chiplets, whatever the chip has.
    assert not lib.mislabelled(fig18, {"network.chiplets": 4.0})
