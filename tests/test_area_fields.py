"""Every input of the models of area, power and energy counts for what its name says."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import chip
from accelflow.cli import program
from accelflow.errors import InputError
from accelflow.parameters import accelerators, engine
from conftest import ROOT
from test_chip import comparison

ACCELERATORS = accelerators()
#: Areas that two dispatchers of nine accelerators of the paper take.
DISPATCHERS_MM2 = 18 * 0.1125
NETWORK_MM2 = 0.4


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(program, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def parts(changes: dict[str, float]) -> dict[str, float]:
    return {part["part"]: part["area_mm2"] for part in chip.area(changes)["parts"]}


BASE = parts({})


def added(changes: dict[str, float]) -> dict[str, float]:
    """What is larger or smaller by `changes`, in mm2."""
    differences = {name: mm2 - BASE[name] for name, mm2 in parts(changes).items()}
    return {name: mm2 for name, mm2 in differences.items() if abs(mm2) > 1e-12}


def of_accelerators(ratio: float) -> dict[str, float]:
    return {name: BASE[name] * ratio for name in ACCELERATORS}


#: Changes, and what is then larger, in mm2.
AREAS: list[tuple[dict[str, float], dict[str, float]]] = [
    ({"cores_mm2": 84.1}, {"cores": 1.0}),
    ({"llc_mm2": 39.2}, {"LLC": 1.0}),
    ({"core_network_mm2": 1.5}, {"core network": 0.5}),
    *(({f"{name}_mm2": BASE[name] + 1}, {name: 1.0}) for name in ACCELERATORS),
    ({"queues_and_dispatchers_mm2": 4.4}, {"queues": 1.0}),
    ({"dispatcher_mm2": 0.1225}, {"dispatchers": 0.18, "queues": -0.18}),
    ({"adma_engines_mm2": 1.4}, {"A-DMA engines": 0.1}),
    ({"accelerator_network_mm2": 0.5}, {"accelerator network": 0.1}),
    ({"cores": 45}, {"cores": 83.1 / 4, "LLC": 38.2 / 4, "core network": 0.25}),
    ({"adma_engines": 15}, {"A-DMA engines": 0.65}),
    ({"pes": 12}, of_accelerators(0.5)),
    (
        {"instances": 2},
        {
            **of_accelerators(1.0),
            "queues": 1.375,
            "dispatchers": DISPATCHERS_MM2,
            "accelerator network": NETWORK_MM2,
        },
    ),
    ({"input_entries": 96}, {"queues": 1.375 / 4}),
    ({"output_entries": 96}, {"queues": 1.375 / 4}),
    ({"entry_bytes": 3_150}, {"queues": 1.375 / 2}),
    *(({f"pes.{name}": 12.0}, {name: BASE[name] / 2}) for name in ACCELERATORS),
    *(
        (
            {f"instances.{name}": 3.0},
            {
                name: 2 * BASE[name],
                "queues": 2 * 1.375 / 9,
                "dispatchers": 2 * DISPATCHERS_MM2 / 9,
                "accelerator network": 2 * NETWORK_MM2 / 9,
            },
        )
        for name in ACCELERATORS
    ),
    *(
        ({f"{what}.{name}": 96.0}, {"queues": 1.375 / 36})
        for what in ("input_entries", "output_entries")
        for name in ACCELERATORS
    ),
]
#: Inputs of the accelerators for RPC by their place, which are no part of the chip.
PLACES = {
    "private_rpc_area_ratio",
    "private_rpc_cores",
    "private_rpc_core_share",
    "nic_rpc_saved_share",
}


@pytest.mark.parametrize(
    ("changes", "larger"), AREAS, ids=lambda given: next(iter(given)) if given else ""
)
def test_an_area_follows_its_input_and_no_other(
    changes: dict[str, float], larger: dict[str, float]
) -> None:
    assert added(changes) == pytest.approx(larger)


def test_every_input_of_the_area_has_a_row() -> None:
    known = {each.key.removeprefix("area.") for each in engine("area").parameters}
    assert {key for changes, _ in AREAS for key in changes} | PLACES == known


def test_accelerators_for_rpc_have_the_areas_of_their_places() -> None:
    # 75 % of a core for 64 of them; 16 have 5 times the area of the shared one, and in the NIC it
    # saves half of its own.
    for changes, core_share, ratio, cores, saved in (
        ({}, 0.75, 5.0, 16, 0.5),
        ({"private_rpc_core_share": 1.5}, 1.5, 5.0, 16, 0.5),
        ({"private_rpc_area_ratio": 8.0}, 0.75, 8.0, 16, 0.5),
        ({"private_rpc_cores": 32}, 0.75, 5.0, 32, 0.5),
        ({"nic_rpc_saved_share": 0.25}, 0.75, 5.0, 16, 0.25),
    ):
        private = core_share * 83.1 / 36 / 64
        shared = private * cores / ratio
        found = [row["area_mm2"] for row in chip.area(changes)["rpc_accelerators"]]
        assert found == pytest.approx([shared, shared * (1 - saved), private * 36])


def watts(system: str, **changes: float) -> dict[str, float]:
    power: dict[str, float] = chip.energy(comparison(), system, changes=changes)["power_w"]
    return power


def test_the_maximum_of_the_server_is_that_of_a_part_over_its_share() -> None:
    for changes, maximum, by_orchestration in (
        ({"accelerators_max_w": 15.0}, 15 / 0.031, 5 / 0.012),
        ({"accelerators_server_share": 0.05}, 12.5 / 0.05, 5 / 0.012),
        ({"orchestration_max_w": 6.0}, 12.5 / 0.031, 6 / 0.012),
        ({"orchestration_server_share": 0.02}, 12.5 / 0.031, 5 / 0.02),
    ):
        found = chip.power(changes)
        assert found["server_max_w"] == pytest.approx(maximum)
        assert found["server_max_by_orchestration_w"] == pytest.approx(by_orchestration)
        accelerators_w = changes.get("accelerators_max_w", 12.5)
        assert sum(found["accelerators"].values()) == pytest.approx(accelerators_w)
        orchestration_w = changes.get("orchestration_max_w", 5.0)
        assert sum(found["orchestration"].values()) == pytest.approx(orchestration_w)


def test_shares_that_round_to_zero_are_printed_without_an_upper_bound() -> None:
    changes = {"orchestration_server_share": 0.0003, "accelerators_server_share": 0.0004}
    assert chip.power(changes)["server_max_range_w"][1] is None
    options = [option for key, value in changes.items() for option in ("--set", f"{key}={value}")]
    # 12.45 W over 0.09 %, and 4.95 W over 0.08 %.
    assert "both allow          at least 13833.3 W" in shown("power", *options)


def test_power_at_rest_leaks_and_idles_by_its_shares() -> None:
    baseline = 12.5 / 0.031 - 17.5
    for share in (0.0, 0.5, 1.0):
        found = watts("accelflow", server_idle_share=share, leakage_share=share)
        assert found["idle_w"] == pytest.approx(share * baseline)
        assert found["cores_w"] == pytest.approx((1 - share) * 0.2 * baseline)
        assert found["leakage_w"] == pytest.approx(share * 17.5)
        dynamic = (1 - share) / 0.7 * watts("accelflow")["accelerators_w"]
        assert found["accelerators_w"] == pytest.approx(dynamic)


@pytest.mark.parametrize(
    ("key", "joules"),
    [
        ("dispatcher_clock_ghz", "dispatcher_instruction_j"),
        ("adma_gbyte_per_s", "transfer_byte_j"),
        ("queue_gbyte_per_s", "queue_byte_j"),
    ],
)
def test_twice_the_rate_is_half_of_the_energy(key: str, joules: str) -> None:
    rates = {each.key: each.default for each in engine("power").parameters}
    base, fast = chip.power(), chip.power({key: 2 * rates[f"power.{key}"]})
    assert fast[joules] == pytest.approx(base[joules] / 2)
    same = {"dispatcher_instruction_j", "transfer_byte_j", "queue_byte_j"} - {joules}
    assert {name: fast[name] for name in same} == {name: base[name] for name in same}


def test_the_manager_and_private_accelerators_take_what_they_are_given() -> None:
    for manager_w in (0.0, 0.2, 7.0):
        assert watts("relief", manager_w=manager_w)["manager_w"] == manager_w
        assert watts("accelflow", manager_w=manager_w)["manager_w"] == 0
    for ratio in (0.0, 6.0, 12.0):
        found = chip.power({"private_rpc_power_ratio": ratio})["rpc_accelerators"]
        # On 16 cores; a server has 36.
        assert found[2]["over_shared_ratio"] == pytest.approx(ratio * 36 / 16)


@pytest.mark.parametrize("place", [0, 1], ids=["least", "greatest"])
@pytest.mark.parametrize("model", ["area", "power"])
def test_an_extreme_input_is_calculated_or_refused(model: str, place: int) -> None:
    for each in engine(model).parameters:
        key = each.key.removeprefix(f"{model}.")
        value = (each.min, each.max)[place]
        try:
            found: dict[str, Any] = getattr(chip, model)({key: value})
        except InputError:
            continue
        json.dumps(found, allow_nan=False)


def test_custom_accelerators_have_no_area_and_no_power(tmp_path: Path) -> None:
    config = {"accelerator.own.pes": 4, "accelerator.own.instances": 2, "core.count": 18}
    assert chip.sizes(config) == {"cores": 18}
    assert chip.ignored(config) == ["accelerator.own.pes", "accelerator.own.instances"]
    assert chip.elements(config) == chip.elements({})
    own = chip.energy(comparison(**{"pes.own": 4.0, "output_entries.own": 0.0}), "accelflow")
    assert own == chip.energy(comparison(), "accelflow")
    file = tmp_path / "own.toml"
    file.write_text("[accelerator.own]\npes = 4\n", encoding="utf-8")
    for command in ("area", "power"):
        output = shown(command, "--chip", str(file))
        assert "not part of the model of area and power: pes.own" in output
    output = shown("chip", "show", str(file))
    assert "accelerator.own.pes         4 PEs" in output
    assert "area 172.3 mm2" in output


def test_a_named_value_has_no_unit_and_a_size_its_range() -> None:
    assert shown("explain", "pes.TCP").startswith("pes.TCP = as_accelerator\n")
    assert shown("explain", "accelerator.pes").startswith("accelerator.pes = 8 PEs\n")
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `instances.TCP` "))
    assert "| a whole number from 0 to 16, or as_accelerator<br>`as_accelerator`: the" in row


@pytest.mark.parametrize("command", ["area", "power"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cores=36", "core.count=72"),
        ("accelerator.pes=16", "pes=4"),
        ("pes.TCP=4", "accelerator.TCP.pes=16"),
    ],
)
def test_an_input_is_not_set_in_two_spellings(command: str, first: str, second: str) -> None:
    done = CliRunner().invoke(program, [command, "--set", first, "--set", second])
    name, _, number = second.partition("=")
    before, _, _ = first.partition("=")
    assert str(done.exception) == (
        f"--set {name} = {number}: must not be set again: {before} already sets the same value"
    )


def test_power_takes_the_inputs_of_the_area() -> None:
    for change in ("pes=4", "accelerator.pes=4"):
        assert shown("power", "--set", change) == shown("power", "--set", "pes=4")
    assert shown("power", "--set", "pes=4") != shown("power")
