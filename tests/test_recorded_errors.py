"""Accelerometer's inputs from a recording have the errors of all of a request's times."""

import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import pytest

from accelflow.accelerometer import Range
from accelflow.accelerometer.recorded import Recorded, read_recording, service_of
from test_offloading import recording

#: The relative error of the steps' total in that recording: evenly spread, 100 times each.
STEPS = math.sqrt((4 + 4 * 1) * 1e8 / 1_200) / 100e3


def spread(mean_ns: float, half_ns: float, key: str) -> dict[str, Any]:
    """100 times that are evenly spread around their mean."""
    return {key: [[0, mean_ns - half_ns], [1, mean_ns + half_ns]], "samples": 100}


def changed(
    folder: Path,
    *,
    application: list[dict[str, Any]] | None = None,
    outside: dict[str, Any] | None = None,
) -> Recorded:
    """The recording with other phases of application logic, and with a time outside."""
    path = recording(folder)
    tree = json.loads(path.read_text())
    (service,) = tree["services"]
    if application is not None:
        service["phases"] = service["phases"][:1] + [{"cpu": phase} for phase in application]
    if outside is not None:
        service["outside"] = outside
    path.write_text(json.dumps(tree))
    return read_recording(path)


def ranges(found: Recorded) -> list[tuple[Range, Range]]:
    """Alpha and n of each kernel."""
    pairs = []
    for kernel in service_of(found).kernels:
        alpha, rate = kernel.kernel_share_ratio, kernel.offloads_per_s
        assert isinstance(alpha, Range)
        assert isinstance(rate, Range)
        pairs.append((alpha, rate))
    return pairs


def logic(half_ns: float) -> dict[str, Any]:
    return {"app_ns": 40_000.0, **spread(40_000.0, half_ns, "app_quantiles_ns")}


def test_rates_have_the_error_of_application_logic(tmp_path: Path) -> None:
    narrow, wide = (
        ranges(changed(tmp_path, application=[logic(half_ns)])) for half_ns in (1_000.0, 39_000.0)
    )
    for (alpha, rate), (other_alpha, other_rate) in zip(narrow, wide, strict=True):
        assert (alpha.mean, rate.mean) == (other_alpha.mean, other_rate.mean)
        assert rate.mean == pytest.approx(10_000)
        for given, half_ns in ((rate, 1e3), (other_rate, 39e3)):
            rest = half_ns / math.sqrt(3 * 100) / 100e3
            assert given.sd == pytest.approx(10_000 * math.hypot(STEPS, rest))
        assert other_alpha.sd is not None
        assert alpha.sd is not None
        assert other_alpha.sd > alpha.sd


def test_rates_have_the_error_of_the_time_outside(tmp_path: Path) -> None:
    outside = spread(100_000.0, 90_000.0, "core_quantiles_ns")
    error = 90e3 / math.sqrt(300) / 200e3
    for _, rate in ranges(changed(tmp_path, outside=outside)):
        assert rate.mean == pytest.approx(5_000)
        assert rate.sd == pytest.approx(5_000 * math.hypot(STEPS / 2, error))
    # The client's time is not the host's.
    other = spread(100_000.0, 90_000.0, "client_quantiles_ns")
    for _, rate in ranges(changed(tmp_path, outside=other)):
        assert rate.sd == pytest.approx(10_000 * STEPS)


def test_assumed_application_logic_moves_with_the_costs(tmp_path: Path) -> None:
    # One phase is measured, but not the other: both are assumed, whatever the first one's spread.
    missing = [logic(39_000.0), {"app_ns": None, "samples": 100}]
    found = changed(tmp_path, application=missing)
    assert found.assumed_application
    for alpha, rate in ranges(found):
        assert rate.sd == pytest.approx(rate.mean * STEPS / 0.6)
        assert alpha.sd is not None


@pytest.mark.parametrize("assumed", [False, True])
def test_errors_of_shares_and_rates_are_those_of_drawn_times(assumed: bool, tmp_path: Path) -> None:
    phases = [{"app_ns": None, "samples": 100}] if assumed else [logic(35_000.0), logic(9_000.0)]
    outside = spread(20_000.0, 19_000.0, "core_quantiles_ns")
    found = changed(tmp_path, application=phases, outside=outside)
    dice = random.Random(1)  # noqa: S311 (not for secrets)
    alphas: list[list[float]] = [[] for _ in found.operations]
    rates: list[list[float]] = [[] for _ in found.operations]
    for _ in range(20_000):
        costs = [dice.gauss(each.cost_ns, each.cost_sd_ns) for each in found.operations]
        if assumed:
            total = sum(costs) / (1 - 0.207)
        else:
            total = sum(costs) + sum(
                dice.gauss(40e3, half / math.sqrt(300)) for half in (35e3, 9e3)
            )
        total += dice.gauss(20e3, 19e3 / math.sqrt(300))
        for index, cost in enumerate(costs):
            alphas[index].append(cost / total)
            rates[index].append(1e9 / total)
    for (alpha, rate), shares, counts in zip(ranges(found), alphas, rates, strict=True):
        assert alpha.sd == pytest.approx(statistics.stdev(shares), rel=0.03)
        assert rate.sd == pytest.approx(statistics.stdev(counts), rel=0.03)


def test_rounds_of_a_calibration_are_an_interval_where_costs_have_none(tmp_path: Path) -> None:
    path = recording(tmp_path)
    tree = json.loads(path.read_text())
    (service,) = tree["services"]
    for step in service["phases"][0]["chains"][0]["steps"]:
        del step["cost_quantiles_ns"]
    path.write_text(json.dumps(tree))
    assert {each.cost_sd_ns for each in read_recording(path).operations} == {0}
    service["calibration"] = {"round_costs_ns": [58e3, 60e3, 62e3, 60e3], "waited_ratio": 0.0}
    path.write_text(json.dumps(tree))
    error = math.sqrt(8e6 / 3) / 60e3 / 2
    found = read_recording(path)
    for each in found.operations:
        assert (each.cost_sd_ns, each.common_sd_ns) == (0, pytest.approx(error * each.cost_ns))
    # The rounds measured the sum, 60 of a request's 100 us. It has their error, and so has n.
    assert found.request_sd_ns == pytest.approx(error * 60e3)
    for kernel, each in zip(service_of(found).kernels, found.operations, strict=True):
        rate, share = kernel.offloads_per_s, kernel.kernel_share_ratio
        assert isinstance(rate, Range)
        assert isinstance(share, Range)
        assert rate.sd == pytest.approx(10_000 * error * 0.6)
        # The derivative of f c / (f 60 us + 40 us) at f = 1.
        assert share.sd == pytest.approx(error * each.cost_ns * 40e3 / 100e3**2)
    # Logic that is a share of the request grows with the costs, so that no share changes.
    service["phases"][1]["cpu"]["app_ns"] = None
    path.write_text(json.dumps(tree))
    for kernel in service_of(read_recording(path)).kernels:
        assert isinstance(kernel.kernel_share_ratio, float)


def test_rounds_of_a_calibration_widen_what_distributions_leave_narrow(tmp_path: Path) -> None:
    path = recording(tmp_path)
    tree = json.loads(path.read_text())
    (service,) = tree["services"]
    narrow = read_recording(path).request_sd_ns
    for rounds, expected in (
        # Less than the costs' own errors explain, and more: 60 us with a standard error of 6 us.
        ([59.99e3, 60e3, 60.01e3], narrow),
        ([54e3, 60e3, 66e3], 6e3 / math.sqrt(3)),
    ):
        service["calibration"] = {"round_costs_ns": rounds, "waited_ratio": 0.0}
        path.write_text(json.dumps(tree))
        assert read_recording(path).request_sd_ns == pytest.approx(expected)
