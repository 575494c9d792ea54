"""Fields of recordings: what each adds to a simulated response time, by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import simulation, watching
from test_plan_fields import write_recording

Tree = dict[str, Any]


@pytest.fixture
def recording(tmp_path: Path) -> Tree:
    """UniqId: 9 steps of 1 us, 5 us of application logic, and times outside of both."""
    write_recording(tmp_path / "recording.json", app_ns=5_000.0)
    tree: Tree = json.loads((tmp_path / "recording.json").read_text())
    service = tree["services"][0]
    service["phases"][1]["cpu"]["app_quantiles_ns"] = [[0, 2_000.0], [1, 2_000.0]]
    for phase in service["phases"]:
        for step in phase["chains"][0]["steps"] if "chains" in phase else ():
            step["cost_quantiles_ns"] = [[0, 1_500.0], [1, 1_500.0]]
    service["outside"] = {
        "core_quantiles_ns": [[0, 7_000.0], [1, 7_000.0]],
        "client_quantiles_ns": [[0, 11_000.0], [1, 11_000.0]],
        "samples": 10,
    }
    return tree


def mean_us(tree: Tree, times: str, system: str = "non_acc") -> float:
    """The mean response time on an idle server whose threads wake and switch at once."""
    scenario = simulation.Scenario(
        services=["UniqId"],
        recording=json.dumps(tree),
        recorded_times=times,
        orchestrators=[system],
        requests=100,
        rate_rps=10.0,
        slo_factor=None,
        config={"core.context_switch_ns": 0, "core.wake_ns": 0},
    )
    found = simulation.run(scenario, threads=1)
    return float(found["systems"][0]["services"][0]["mean_us"])


def step(tree: Tree, phase: int, number: int) -> Tree:
    found: Tree = tree["services"][0]["phases"][phase]["chains"][0]["steps"][number]
    return found


def quantiles(ns: float) -> list[list[float]]:
    return [[0, ns], [1, ns]]


def cpu(tree: Tree) -> Tree:
    found: Tree = tree["services"][0]["phases"][1]["cpu"]
    return found


def outside(tree: Tree) -> Tree:
    found: Tree = tree["services"][0]["outside"]
    return found


#: Medians: 9 steps and the application. Distributions: 9 longer steps, a shorter application, and
#: the times of the server and of the client outside of them.
SUMS = {"median": 9 * 1.0 + 5.0, "distribution": 9 * 1.5 + 2.0 + 7.0 + 11.0}
#: A change, and the microseconds that it adds to medians and to distributions.
CHANGES: dict[str, tuple[Callable[[Tree], object], float, float]] = {
    "cost_ns": (lambda tree: step(tree, 0, 2).update(cost_ns=4_000.0), 3.0, 0.0),
    "cost_quantiles_ns": (
        lambda tree: step(tree, 2, 1).update(cost_quantiles_ns=quantiles(6_000.0)),
        0.0,
        4.5,
    ),
    "cost_quantiles_ns-absent": (
        lambda tree: step(tree, 2, 1).pop("cost_quantiles_ns"),
        0.0,
        1.0 - 1.5,
    ),
    "app_ns": (lambda tree: cpu(tree).update(app_ns=9_000.0), 4.0, 0.0),
    "app_quantiles_ns": (
        lambda tree: cpu(tree).update(app_quantiles_ns=quantiles(12_000.0)),
        0.0,
        10.0,
    ),
    "app_quantiles_ns-absent": (lambda tree: cpu(tree).pop("app_quantiles_ns"), 0.0, 5.0 - 2.0),
    "core_quantiles_ns": (
        lambda tree: outside(tree).update(core_quantiles_ns=quantiles(8_000.0)),
        0.0,
        1.0,
    ),
    "client_quantiles_ns-absent": (
        lambda tree: outside(tree).pop("client_quantiles_ns"),
        0.0,
        -11.0,
    ),
    "outside-absent": (lambda tree: tree["services"][0].pop("outside"), 0.0, -18.0),
}


@pytest.mark.parametrize("times", SUMS)
@pytest.mark.parametrize("name", CHANGES)
def test_a_field_of_a_recording_adds_its_time(recording: Tree, name: str, times: str) -> None:
    change, of_median, of_distribution = CHANGES[name]
    change(recording)
    added = {"median": of_median, "distribution": of_distribution}[times]
    assert mean_us(recording, times) == pytest.approx(SUMS[times] + added, abs=0.001)


def test_accelerators_do_not_save_the_time_of_the_client(recording: Tree) -> None:
    without = json.loads(json.dumps(recording))
    outside(without).pop("client_quantiles_ns")
    of_server = json.loads(json.dumps(recording))
    outside(of_server).pop("core_quantiles_ns")
    found = [mean_us(tree, "distribution", "ideal") for tree in (recording, without, of_server)]
    assert found[0] - found[1] == pytest.approx(11.0, abs=0.001)
    assert found[0] == found[2]


@pytest.mark.parametrize("system", ["non_acc", "accelflow"])
def test_the_time_of_the_client_is_a_piece_of_a_request(recording: Tree, system: str) -> None:
    scenario = simulation.Scenario(
        services=["UniqId"],
        recording=json.dumps(recording),
        recorded_times="distribution",
        orchestrators=[system],
        requests=200,
    )
    watched = watching.watch(scenario, "UniqId", request=20)
    first, *others = (piece for piece in watched["segments"] if piece["critical"])
    assert (first["from_ns"], first["until_ns"]) == (0.0, 11_000.0)
    assert (first["part"], first["at"]) == ("remote", "remote")
    for before, piece in zip([first, *others], others, strict=False):
        assert piece["from_ns"] == before["until_ns"]
    found = watching.why(scenario, "UniqId", percentile=80.0)
    for band in ("median", "slow"):
        total = sum(row[f"{band}_us"] for row in found["times"])
        assert total == pytest.approx(found["bands"][band]["response_us"], abs=1e-4)


def test_sizes_of_steps_are_the_payloads_of_accelerators(recording: Tree) -> None:
    before = mean_us(recording, "median", "ideal")
    for phase, last in ((0, 5), (2, 4)):
        for number in range(last):
            step(recording, phase, number).update(input_bytes=2_000, output_bytes=2_000)
    assert mean_us(recording, "median", "ideal") > before + 0.1
    assert mean_us(recording, "median") == pytest.approx(SUMS["median"], abs=0.001)
