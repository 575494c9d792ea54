"""Precise P99s: replications grow by simulations, and pages say how precise they are."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from accelflow import reproduce as lib
from accelflow import simulation
from accelflow.findings import Estimate
from accelflow.report.tails import pooled_percentile
from accelflow.reproduce.budgets import BUDGETS
from accelflow.reproduce.definitions import load
from accelflow.reproduce.outcomes import ExperimentResult, Shown, of_cells
from accelflow.reproduce.page import markdown
from accelflow.reproduce.plans import MOST_ADDED, MOST_AT_ONCE, _for_precision
from accelflow.reproduce.plans import plan as plan_of
from accelflow.reproduce.pooling import beyond, pooled, together
from test_reproduce import SMALL
from test_reproduce_tails import answered, rows_of, uniq_id

FULL = BUDGETS["full"]


def runs_of(spread: float, *, saturated: bool = False) -> list[dict[str, dict[str, object]]]:
    """Four runs of a service whose P99s differ by `spread`."""
    found = []
    for number in range(4):
        p99_us = 100.0 * (1 + spread * (number - 1.5))
        row = {"service": "Login", "completed": 1_000, "mean_us": 50.0, "saturated": None}
        row |= {"tail_us": [p99_us] * 100, "run": {"placement": "colocated"}}
        other = {**row, "saturated": "Ser" if saturated else None, "tail_us": [100.0] * 100}
        found.append({"Login": row, "CPost": other})
    return found


def test_runs_are_prolonged_until_p99s_are_precise() -> None:
    definition = load("fig11")
    assert "p99_us" in definition.measures
    assert FULL.tail_precision == 0.02
    assert _for_precision(definition, runs_of(0.0), FULL) == 1.0
    assert 1.0 < _for_precision(definition, runs_of(0.02), FULL) <= MOST_ADDED
    assert _for_precision(definition, runs_of(0.5), FULL) == MOST_ADDED
    single = dataclasses.replace(FULL, longest_run=None)
    assert _for_precision(definition, runs_of(0.5), single) == MOST_AT_ONCE
    assert _for_precision(definition, runs_of(0.5), BUDGETS["medium"]) == 1.0


def test_no_service_of_a_saturated_server_is_prolonged() -> None:
    definition = load("fig11")
    runs = runs_of(0.5, saturated=True)
    assert _for_precision(definition, runs, FULL) == 1.0
    alone = [
        {name: row | {"run": {"placement": "isolated"}} for name, row in run.items()}
        for run in runs
    ]
    assert _for_precision(definition, alone, FULL) == MOST_ADDED


def test_longer_replications_are_more_simulations() -> None:
    one = dataclasses.replace(
        FULL, replications=3, requests=100, longest_run=200, most_requests=700
    )
    assert one.lengths == (100, 300, 500, 700)
    assert one.runs(2, 100) == [(2, 100)]
    assert one.runs(2, 300) == [(2, 100), (5, 200)]
    assert one.runs(2, 500) == [(2, 100), (5, 200), (8, 200)]
    runs = [run for seed in one.seeds for run in one.runs(seed, 500)]
    assert sorted(seed for seed, _ in runs) == list(range(1, 10))
    rare = one.for_experiment(long_run=True, tails=True)
    assert rare.lengths == (400,)
    assert rare.runs(1, 400) == [(1, 400)]
    assert one.for_experiment(long_run=False, tails=False) == BUDGETS["medium"]
    medium = BUDGETS["medium"].for_experiment(long_run=True, tails=True)
    assert one.for_experiment(long_run=True, tails=False) == medium


def test_a_replication_counts_all_responses_of_its_simulations() -> None:
    run = {"requests": 200, "warmup_requests": 20, "placement": "colocated"}
    rows = [
        {"service": "a", "saturated": None, "core_utilization": share, "run": run}
        | rows_of([float(one) for one in range(first, first + 100)], 100)
        for first, share in ((1, 0.25), (1001, 0.75))
    ]
    both = together([{"a": rows[0]}, {"a": rows[1]}])["a"]
    assert both["completed"] == 200
    assert both["run"] == run | {"requests": 400, "warmup_requests": 40}
    assert pooled("p99_us", [both]) == pooled("p99_us", rows) == 1098.0
    assert pooled("mean_us", [both]) == pooled("mean_us", rows)
    assert pooled("core_utilization", [both]) == 0.5
    assert beyond("p99_us", [both, both]) == 4.0
    assert together([{"a": rows[0]}]) == {"a": rows[0]}


def exponential(one: simulation.Scenario) -> list[float]:
    """Responses of a seed; RELIEF's have a far longer tail."""
    stream = np.random.default_rng([one.seed, len(one.orchestrators[0])])
    count = one.requests - one.warmup_requests
    spread = 0.6 if one.orchestrators == ("relief",) else 0.01
    return [float(value) for value in 10.0 * np.exp(spread * stream.normal(size=count))]


def test_only_systems_with_an_imprecise_p99_get_more_simulations() -> None:
    budget = dataclasses.replace(
        FULL, replications=5, requests=3_000, longest_run=3_000, most_requests=60_000
    )
    definition = lib.parse("small", SMALL)
    cells, asked = answered(plan_of(definition, lib.Scenario(), budget), exponential)
    found = {key: runs[0]["UniqId"]["run"]["requests"] for key, runs in cells.items()}
    assert found["1", "accelflow"] == found["5", "accelflow"] == 3_000
    assert 3_000 < found["1", "relief"] <= 60_000
    assert {one.requests for one in asked} == {3_000}
    outcome = of_cells(definition, cells, budget)
    assert (outcome.requests, outcome.most_requests) == (3_000, max(found.values()))
    assert outcome.replications_text == "5 replications, made of simulations of at most 3,000"
    alone = dataclasses.replace(outcome, longest_run=None)
    assert alone.replications_text == "seeds 1, 2, 3, 4, 5"
    assert dataclasses.replace(alone, seeds=FULL.seeds).replications_text == "seeds 1 to 16"
    for cell in outcome.shown:
        if cell.measure == "p99_us":
            assert cell.value is not None
            assert cell.value.half_width is not None
            assert cell.value.half_width <= 0.02 * cell.value.mean


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_percentiles_of_many_simulations_are_exact(spread: float) -> None:
    """Also if the longest responses of few simulations are beyond all others'."""
    stream = np.random.default_rng(7)
    times = stream.exponential(1.0, (40, 500)) * np.exp(spread * stream.normal(size=(40, 1)))
    rows: list[dict[str, Any]] = [rows_of(list(map(float, row)), 500) for row in times]
    ordered = np.sort(times.ravel())
    for thousandths in (500, 990, 999):
        exact = ordered[-(-thousandths * times.size // 1000) - 1]
        assert pooled_percentile(thousandths, rows) == exact


def test_runners_keep_whole_simulations_apart() -> None:
    """A longer tail is not taken from results that kept a shorter one."""
    experiment = uniq_id(12_000)
    runner = lib.Runner(1)
    runner.run([experiment])
    runner.run([experiment], whole=True)
    (short,), (whole,) = (runner.result(experiment, whole=kept).values() for kept in (False, True))
    assert len(short["tail_us"]) == 1_080
    assert len(whole["tail_us"]) == whole["completed"] == 10_800
    assert whole["p99_us"] == short["p99_us"]


def test_a_runner_runs_again_after_a_failure() -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, wanted: int) -> None:
        seen.append((done, wanted))
        if len(seen) == 1:
            raise OSError("the terminal is gone")

    runner = lib.Runner(1, progress)
    experiments = [uniq_id(requests) for requests in (500, 400, 300)]
    with pytest.raises(OSError, match="the terminal is gone"):
        runner.run(experiments)
    runner.run(experiments)
    assert all(runner.result(experiment) for experiment in experiments)
    assert (runner.simulated, seen[0], seen[-1]) == (3, (1, 3), (3, 3))


def test_only_experiments_with_p99s_have_more_replications() -> None:
    assert FULL.rate_step == 1.02
    tails = {name: load(name).tails for name in lib.names() if load(name).table is None}
    assert tails["fig11"]
    assert tails["relief_manager"]
    assert not tails["fig3"]
    assert not tails["fig14"]
    page = markdown([], lib.Scenario(), FULL)
    assert "Searches, and experiments without P99s, have the simulations of `medium`." in page
    assert "experiments without P99s" not in markdown([], lib.Scenario(), BUDGETS["medium"])


def test_the_page_says_how_precise_p99s_are() -> None:
    def cell(service: str, half_width: float, system: str = "relief") -> Shown:
        stuck = service == "Text"
        return Shown("", system, service, "p99_us", Estimate(100.0, half_width), stuck)

    outcome = ExperimentResult(
        definition=load("fig11"),
        requests=1,
        most_requests=1,
        warmup_requests=0,
        seeds=(1,),
        findings=(),
        shown=(
            cell("Login", 1.0),
            cell("CPost", 9.0),
            cell("Text", 50.0, "cohort"),
            cell("Login", 40.0, "cohort"),
        ),
    )
    text = markdown([outcome], lib.Scenario(), FULL)
    said = "of the 2 P99s of a service under a system that is not saturated, 1 within ± 2%, "
    assert said + "1 within ± 5%, 2 within ± 10% (95 %)" in text
    assert "The widest is ± 9%, of CPost under relief in fig11." in text
    assert "and that of each P99 within ± 2%" in text
    assert "with further simulations of 6,000 with other seeds (at most 93,000 requests" in text
    assert "There are 16 replications" in text
