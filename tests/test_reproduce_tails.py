"""How sure reproduced figures are: percentiles of all seeds, intervals, and lengths of runs."""

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from accelflow import reproduce as lib
from accelflow import simulation
from accelflow.errors import InputError
from accelflow.findings import Finding, Reported, Target, Verdict
from accelflow.findings.statistics import estimate, jackknife
from accelflow.findings.text import interval_text
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.figures import of_row, of_service
from accelflow.reproduce.outcomes import of_cells
from accelflow.reproduce.plans import plan as plan_of
from accelflow.reproduce.pooling import TAIL_SHARE, pooled
from accelflow.reproduce.searches import resolution
from test_reproduce import SMALL

CI = lib.budget("ci")

Times = npt.NDArray[np.float64]


def test_rounding_is_no_interval() -> None:
    found = estimate([0.1 + 0.2, 0.3, 0.3])
    assert found is not None
    assert found.half_width == 0.0
    target = Target("accelflow.p99_reduction.RELIEF", Reported.number(1), "dynamic", "check")
    assert interval_text(Finding.of(target, found)) == ""


def percentile(values: Times) -> float:
    return float(np.sort(values.ravel())[math.ceil(0.99 * values.size) - 1])


@pytest.mark.parametrize("spread", [0.0, 0.15])
def test_intervals_of_ratios_of_percentiles_hold_the_truth(spread: float) -> None:
    """Of 95 of 100 intervals for P99 over P99 of two systems with the same requests.

    Exponential times, those of the second times a log-normal factor; with a spread, each seed has
    more or fewer bursts than others, from which the systems suffer differently.
    """
    stream = np.random.default_rng(20_260_101)

    def seeds(count: int) -> tuple[Times, Times]:
        bursts = stream.normal(0.0, spread, (count, 1))
        work = stream.exponential(1.0, (count, 600))
        other = work * stream.lognormal(0.0, 0.3, work.shape)
        return work * np.exp(bursts), other * np.exp(0.5 * bursts)

    def ratio(ours: Times, theirs: Times, kept: Sequence[int]) -> float:
        return percentile(theirs[list(kept)]) / percentile(ours[list(kept)])

    truth = ratio(*seeds(20_000), range(20_000))
    trials, covering = 400, 0
    for _ in range(trials):
        found = jackknife(partial(ratio, *seeds(6)), 6)
        assert found is not None
        assert found.half_width is not None
        covering += abs(found.mean - truth) <= found.half_width
    # The standard deviation of the share is 1.1 %.
    assert 0.92 <= covering / trials <= 0.98


def rows_of(values: list[float], kept: int, **more: Any) -> dict[str, Any]:
    ordered = sorted(values, reverse=True)
    mean = sum(values) / len(values)
    counts = {"completed": len(values), "errors": 0, "timed_out": 0}
    return {**counts, "mean_us": mean, "tail_us": ordered[:kept], **more}


def test_percentiles_are_those_of_all_seeds_together() -> None:
    calm, busy = [float(one) for one in range(1, 201)], [float(one) for one in range(1001, 1101)]
    rows = [rows_of(calm, 20), rows_of(busy, 20)]
    # 99 % of 300 is 297: the fourth longest of all, which is the fourth longest of one seed.
    assert pooled("p99_us", rows) == 1097.0
    assert pooled("mean_us", rows) == pytest.approx((100.5 * 200 + 1050.5 * 100) / 300)
    assert pooled("p99_us", rows[:1]) == 198.0
    with pytest.raises(ValueError, match="only the 3 longest are kept, and 4 are needed"):
        pooled("p99_us", [rows_of(calm, 20), rows_of(busy, 3)])
    assert pooled("p99_us", [rows_of(calm, 20), {"service": "x", "max_rps": None}]) is None


def test_all_budgets_keep_enough_of_the_tail() -> None:
    for one in lib.BUDGETS.values():
        assert one.replications * 0.01 < TAIL_SHARE or one.longest_run is not None


def test_p999_needs_a_hundred_responses_beyond_it() -> None:
    run = {"a": rows_of([5.0], 1) | {"completed": 50_000, "tail_us": [5.0] * 5_000}}
    assert of_service("p999_us", [run, run], "a") is not None
    few = {"a": run["a"] | {"completed": 49_999}}
    assert of_service("p999_us", [run, few], "a") is None
    assert of_service("p99_us", [run, few], "a") is not None


def uniq_id(requests: int) -> simulation.Scenario:
    """A simulation of one service under AccelFlow."""
    return simulation.Scenario(
        orchestrators=("accelflow",),
        services=("UniqId",),
        profile="paper",
        rates="equal",
        requests=requests,
    )


def test_the_engines_tail_is_that_of_its_percentiles() -> None:
    experiment = uniq_id(2_000)
    (row,) = simulation.run(experiment, threads=1, tail_share=0.1)["systems"][0]["services"]
    assert len(row["tail_us"]) == 180
    assert json.loads(json.dumps(row["tail_us"])) == sorted(row["tail_us"], reverse=True)
    assert pooled("p99_us", [row]) == row["p99_us"] == row["tail_us"][18]
    (row,) = simulation.run(experiment, threads=1)["systems"][0]["services"]
    assert "tail_us" not in row
    with pytest.raises(InputError, match=r"tail_share = 1.5: must be a number from 0 to 1"):
        simulation.run(experiment, tail_share=1.5)
    with pytest.raises(InputError, match=r"exact = 'no': must be True, False or None"):
        simulation.run(experiment, exact="no")  # type: ignore[arg-type]


def test_services_count_the_requests_of_the_same_time() -> None:
    """At Alibaba's rates the fastest has 4.8 times the requests of the slowest."""
    experiment = simulation.Scenario(
        orchestrators=("accelflow",),
        services=("Follow", "CUrls"),
        profile="paper",
        slo_factor=None,
        rates="alibaba",
        requests=1_000,
        by_rate=True,
    )
    follow, curls = simulation.run(experiment, threads=1)["systems"][0]["services"]
    assert follow["completed"] / curls["completed"] == pytest.approx(4.77, rel=0.02)
    # Both began and ended together: nobody had to go on for long with what does not count.
    assert follow["responded"] == pytest.approx(follow["completed"] / 0.9, rel=0.1)


# Lengths of simulations.


def test_dwell_times_are_the_engines() -> None:
    """14.4 ms for each (crates/workload, `ASSUMED_DWELL` and `Modulation::short_bursts`)."""
    found = {name: simulation.dwell_s(name) for name in simulation.ARRIVALS}
    modulated = dict.fromkeys(("alibaba", "azure", "short_bursts"), pytest.approx(0.0144))
    assert found == {"poisson": None, **modulated}


LADDER = Budget(name="x", requests=1_000, most_requests=9_000, replications=5, rate_step=1.1)


def test_lengths_are_a_ladder() -> None:
    assert LADDER.lengths == (1_000, 2_000, 4_000, 8_000)
    assert [LADDER.length(it) for it in (1, 1_000, 1_001, 8_000, 1e9)] == [
        1_000,
        1_000,
        2_000,
        8_000,
        8_000,
    ]
    assert CI.lengths == (CI.requests,)


def answered(
    plan: Any, latencies: Callable[[simulation.Scenario], list[float]]
) -> tuple[dict[tuple[str, str], Any], list[simulation.Scenario]]:
    """The cells of a plan whose simulations are made up, and all that it asked for."""
    asked: list[simulation.Scenario] = []
    wanted = next(plan)
    while True:
        asked += wanted
        results = []
        for one in wanted:
            run = {
                "placement": one.placement,
                "requests": one.requests,
                "warmup_requests": one.warmup_requests,
                "arrivals": {"kind": one.arrival_kind, "rate_rps": one.mean_rate_rps},
            }
            found = rows_of(latencies(one), 10**9, saturated=None, run=run)
            results.append({service: {"service": service, **found} for service in one.services})
        try:
            wanted = plan.send(results)
        except StopIteration as ended:
            return ended.value, asked


def noisy(one: simulation.Scenario, spread: float) -> list[float]:
    """Responses that are as long as others or not from seed to seed, the less the longer it is."""
    own = (-1.2, 0.3, 1.1, -0.6, 0.4)[one.seed - 1] * spread * math.sqrt(1_000 / one.requests)
    count = one.requests - one.warmup_requests
    factor = (1.0 + own) / count if one.orchestrators == ("relief",) else 0.5 / count
    return [factor * (number + 1) for number in range(count)]


@pytest.mark.parametrize(("spread", "length"), [(0.0, 2_500), (0.2, 5_000), (2.0, 20_000)])
def test_simulations_are_as_long_as_their_figures_need(spread: float, length: int) -> None:
    """A row on the second point alone: the systems there are prolonged, and nothing else."""
    third = SMALL.replace(
        '["relief", "accelflow"]\nserv', '["relief", "accelflow", "cohort"]\nserv'
    )
    definition = lib.parse("small", third)
    budget = dataclasses.replace(LADDER, requests=2_500, most_requests=20_000)
    plan = plan_of(definition, lib.Scenario(), budget)
    cells, asked = answered(plan, lambda one: noisy(one, spread))
    assert {one.seed for one in asked} == set(budget.seeds)
    found = {key: runs[0]["UniqId"]["run"]["requests"] for key, runs in cells.items()}
    at = {"1": 2_500, "5": length}
    assert found == {(point, one): at[point] for point in at for one in definition.systems}
    row = of_row(definition.rows[0], cells)
    assert row is not None
    assert row.half_width is not None
    assert (row.half_width <= budget.precision * 0.688) is (length < 20_000)
    outcome = of_cells(definition, cells, budget)
    assert (outcome.requests, outcome.most_requests) == (2_500, length)
    assert outcome.findings[0].requests == length


def test_percentiles_prolong_simulations_until_enough_is_beyond_them() -> None:
    plan = plan_of(lib.parse("small", SMALL), lib.Scenario(), LADDER)
    cells, _ = answered(plan, lambda one: noisy(one, 0.0))
    # 100 beyond P99 of 5 seeds need 2,223 requests each.
    assert {runs[0]["UniqId"]["completed"] for runs in cells.values()} == {3_600}


@pytest.mark.parametrize(
    ("most", "length", "lacking"),
    [(32_000, 16_000, ""), (8_000, 1_000, "21 of 300 rates of the arrivals")],
)
def test_modulated_arrivals_change_their_rate_often_enough(
    most: int, length: int, lacking: str
) -> None:
    """300 dwells of 14.4 ms at 15 kRPS are 64,800 requests of each service that count."""
    text = SMALL.replace('"poisson"', '"alibaba"').replace(
        "rate_rps = 5000.0", "rate_rps = 15000.0"
    )
    text = text.replace('"p99_us", "mean_us"', '"mean_us"').replace(
        '"p99_us"\nform', '"mean_us"\nform'
    )
    text = text[: text.index("[plot]")]
    definition = lib.parse("small", text)
    budget = dataclasses.replace(LADDER, most_requests=most)
    cells, asked = answered(
        plan_of(definition, lib.Scenario(), budget), lambda one: noisy(one, 0.0)
    )
    assert {one.requests for one in asked if one.rate_rps == 15_000.0} == {length}
    (row,) = of_cells(definition, cells, budget).findings
    assert row.lacking == lacking
    assert row.verdict is (Verdict.UNDECIDED if lacking else Verdict.OFF)


# Searches.

SEARCH = """
title = "A search"
place = "section 0"
kind = "throughput"
measures = ["max_rps"]
[setup]
systems = ["ideal", "accelflow"]
services = ["UniqId"]
arrivals = "poisson"
[slo]
factor = 5
low_rps = 100
high_rps = 10000
[[row]]
target = "throughput.below_Ideal"
measure = "max_rps"
form = "reduction"
of = { system = "accelflow" }
to = { system = "ideal" }
"""


def searched(limit_rps: Callable[[str, int], float], budget: Budget) -> Any:
    """A search among servers whose responses are late beyond a rate of their system and seed."""

    def latencies(one: simulation.Scenario) -> list[float]:
        count = one.requests - one.warmup_requests
        late = one.rate_rps > limit_rps(one.orchestrators[0], one.seed)
        # Two of a hundred are late: of one seed alone they are beyond its P99.
        return [10.0] * (count - count // 50) + [60.0 if late else 10.0] * (count // 50)

    definition = lib.parse("search", SEARCH)
    cells, asked = answered(plan_of(definition, lib.Scenario(), budget), latencies)
    return definition, cells, asked


def test_searches_take_the_percentile_of_all_seeds_together() -> None:
    """One late seed of five does not move P99 of all, and neither does that of four without it."""
    budget = dataclasses.replace(LADDER, requests=3_000, rate_step=1.02)

    def limit_rps(_system: str, seed: int) -> float:
        return 500.0 if seed == 5 else 2_000.0

    definition, cells, _ = searched(limit_rps, budget)
    found = of_service("max_rps", cells["", "accelflow"], "UniqId")
    assert found is not None
    assert found.mean == pytest.approx(2_000.0, rel=0.02)
    assert found.half_width == 0.0
    (row,) = of_cells(definition, cells, budget).findings
    assert row.lacking == ""
    short = dataclasses.replace(budget, requests=1_000)
    definition, cells, _ = searched(limit_rps, short)
    (row,) = of_cells(definition, cells, short).findings
    assert row.lacking == "45 of 100 responses beyond P99"


def test_searches_omit_seeds_that_cannot_change_the_outcome() -> None:
    """The rate found is the highest at which at most 1 % of all seeds' responses are late."""
    budget = dataclasses.replace(LADDER, requests=3_000, rate_step=1.02)
    weights = {1: 1.6, 2: 0.9, 3: 0.9, 4: 0.8, 5: 0.8}

    def late(rate_rps: float, seed: int) -> int:
        return min(2_700, int(27 * weights[seed] * (rate_rps / 2_000.0) ** 6))

    def latencies(one: simulation.Scenario) -> list[float]:
        count = late(one.rate_rps, one.seed)
        return [10.0] * (2_700 - count) + [60.0] * count

    definition = lib.parse("search", SEARCH)
    cells, asked = answered(plan_of(definition, lib.Scenario(), budget), latencies)
    found = of_service("max_rps", cells["", "accelflow"], "UniqId")
    assert found is not None
    rates = sorted({one.rate_rps for one in asked if one.rate_rps >= 100.0})
    seeds_at = {rate: {one.seed for one in asked if one.rate_rps == rate} for rate in rates}
    within = [rate for rate in rates if sum(late(rate, seed) for seed in weights) <= 135]
    highest = within[-1]
    assert found.mean == pytest.approx(highest)
    assert rates[rates.index(highest) + 1] < 1.021 * highest
    assert seeds_at[highest] == set(weights)
    # Beyond some rate the first seed alone decides: 1, and 2 in the search without 1.
    assert seeds_at[rates[-1]] == {1, 2}


def test_searches_put_off_seeds_at_rates_that_are_met_by_far() -> None:
    """All seeds decide in the end, even if the first meets the SLO where they together miss it."""
    budget = dataclasses.replace(LADDER, requests=3_000, rate_step=1.02)
    weights = {1: 0.1, 2: 1.2, 3: 1.2, 4: 1.2, 5: 1.3}

    def late(rate_rps: float, seed: int) -> int:
        return min(2_700, int(27 * weights[seed] * (rate_rps / 2_000.0) ** 2))

    def latencies(one: simulation.Scenario) -> list[float]:
        count = late(one.rate_rps, one.seed)
        return [10.0] * (2_700 - count) + [60.0] * count

    definition = lib.parse("search", SEARCH)
    cells, asked = answered(plan_of(definition, lib.Scenario(), budget), latencies)
    found = of_service("max_rps", cells["", "accelflow"], "UniqId")
    assert found is not None
    rates = sorted({one.rate_rps for one in asked if one.rate_rps >= 100.0})
    seeds_at = {rate: {one.seed for one in asked if one.rate_rps == rate} for rate in rates}
    within = [rate for rate in rates if sum(late(rate, seed) for seed in weights) <= 135]
    assert found.mean == pytest.approx(within[-1])
    assert rates[rates.index(within[-1]) + 1] < 1.021 * within[-1]
    assert seeds_at[within[-1]] == set(weights)
    # The first seed meets the SLO by far up to 4,472 requests per second.
    assert {1} in seeds_at.values()
    assert len(rates) < 40


def test_the_step_of_a_search_is_fine_enough_for_its_row_and_shown() -> None:
    """A step moves the paper's 8 % by a fifth: it is 1.6 % of 92 % of a throughput."""
    budget = dataclasses.replace(LADDER, requests=3_000, rate_step=1.4)
    definition, cells, asked = searched(lambda *_: 2_000.0, budget)
    rates = sorted({one.rate_rps for one in asked if one.rate_rps})
    step = min(after / before for before, after in itertools.pairwise(rates[1:]))
    assert 1.0 < step < 1.03
    (row,) = of_cells(definition, cells, budget).findings
    assert row.ours is not None
    assert (row.ours.mean, row.verdict) == (0.0, Verdict.OFF)
    assert row.ours.half_width == pytest.approx(0.2 * 0.08 / 0.92)
    other = replace_target(definition, "throughput.vs_RELIEF")
    assert resolution(other, other.rows[0], 2.0, dataclasses.replace(budget, rate_step=1.07)) == (
        pytest.approx(0.14)
    )


def replace_target(definition: lib.Definition, target: str) -> lib.Definition:
    row = dataclasses.replace(definition.rows[0], target=f"accelflow.{target}", form="ratio")
    return dataclasses.replace(definition, rows=(row,))
