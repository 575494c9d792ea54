"""Reproduction by precision: simulations go on until P99s are known, and pages say how well."""

from accelflow import reproduce as lib
from accelflow.findings import Estimate
from accelflow.reproduce.budgets import BUDGETS
from accelflow.reproduce.definitions import load
from accelflow.reproduce.outcomes import ExperimentResult, Shown
from accelflow.reproduce.page import markdown
from accelflow.reproduce.plans import MOST_AT_ONCE, _for_precision


def runs_of(spread: float, *, saturated: bool = False) -> list[dict[str, dict[str, object]]]:
    """Four runs of a service whose P99s differ by `spread`."""
    found = []
    for number in range(4):
        p99_us = 100.0 * (1 + spread * (number - 1.5))
        row = {"service": "Login", "completed": 1_000, "mean_us": 50.0, "saturated": None}
        row |= {"tail_us": [p99_us] * 100, "saturated": "Ser" if saturated else None}
        found.append({"Login": row})
    return found


def test_runs_are_prolonged_until_p99s_are_precise():
    definition = load("fig11")
    assert "p99_us" in definition.measures
    precise, full = BUDGETS["precise"], BUDGETS["full"]
    assert precise.tail_precision == 0.02
    assert _for_precision(definition, runs_of(0.0), precise) == 1.0
    assert 1.0 < _for_precision(definition, runs_of(0.02), precise) <= MOST_AT_ONCE
    assert _for_precision(definition, runs_of(0.5), precise) == MOST_AT_ONCE
    assert _for_precision(definition, runs_of(0.5), full) == 1.0
    assert _for_precision(definition, runs_of(0.5, saturated=True), precise) == 1.0


def test_rates_of_the_precise_budget_are_two_percent_apart():
    assert BUDGETS["precise"].rate_step == 1.02


def test_the_page_says_how_precise_p99s_are():
    def cell(service: str, half_width: float | None, *, saturated: bool = False) -> Shown:
        return Shown("", "relief", service, "p99_us", Estimate(100.0, half_width), saturated)

    outcome = ExperimentResult(
        definition=load("fig11"),
        requests=1,
        most_requests=1,
        warmup_requests=0,
        seeds=(1,),
        findings=(),
        shown=(cell("Login", 1.0), cell("CPost", 9.0), cell("Text", 50.0, saturated=True)),
    )
    text = markdown([outcome], lib.Scenario(), BUDGETS["precise"])
    said = "of the 2 P99s of a service under a system that is not saturated, 1 within ± 2%, "
    assert said + "1 within ± 5%, 2 within ± 10% (95 %)" in text
    assert "The widest is ± 9%, of CPost under relief in fig11." in text
    assert "and that of each P99 within ± 2%" in text
