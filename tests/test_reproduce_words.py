"""Whether what the paper says in words is so, and rows by other definitions."""

from typing import Any

import pytest

from accelflow import reproduce as lib
from accelflow.errors import InputError
from accelflow.findings import NO_REASON
from accelflow.reproduce.outcomes import of_cells
from accelflow.reproduce.page import markdown

CI = lib.budget("ci")


def stand_in(values: dict[tuple[str, str], dict[str, dict[str, float]]]) -> Any:
    """Cells in which each service has the measures that are given, with two seeds.

    All of its responses took as long as the longest hundredth did: those that a percentile is of.
    """

    def row(service: str, found: dict[str, float]) -> dict[str, Any]:
        count = 10_000
        tail_us = [found["p99_us"]] * (count // 10)
        return {"service": service, "completed": count, "tail_us": tail_us, **found}

    return {
        cell: [{name: row(name, found) for name, found in services.items()} for _ in CI.seeds]
        for cell, services in values.items()
    }


WORDS = """
title = "What is said"
place = "section 0"
kind = "simulation"
measures = ["p50_us", "p99_us", "mean_us"]

[setup]
systems = ["relief", "accelflow"]
services = ["UniqId", "StoreP", "Login"]
arrivals = "poisson"

[[point]]
label = "slow"
rate_rps = 1000.0

[[point]]
label = "fast"
rate_rps = 2000.0

[[point]]
label = "faster"
rate_rps = 3000.0

[[row]]
target = "p99_reduction.RELIEF"
measure = "p99_us"
form = "reduction"
of = { system = "accelflow", point = "slow" }
to = { system = "relief", point = "slow" }

[[row.also]]
says = "of the mean"
measure = "mean_us"

[[row.also]]
says = "as a ratio"
form = "ratio"

[[trend]]
says = "it falls from fast to slow"
measure = "mean_us"
of = { system = "relief" }
points = ["faster", "slow"]
direction = "falls"

[[trend]]
says = "what the next load adds rises"
measure = "mean_us"
form = "ratio"
of = { system = "relief" }
to = { system = "relief" }
points = ["fast", "faster"]
to_points = ["slow", "fast"]
direction = "rises"

[[ranking]]
says = "the median is below the others"
measures = ["p50_us", ["p99_us", "mean_us"]]
of = { system = "relief", point = "slow" }

[[most]]
says = "UniqId gains most"
measure = "p99_us"
form = "reduction"
of = { system = "accelflow", point = "slow" }
to = { system = "relief", point = "slow" }
services = ["UniqId"]
why_not = { class = "open", text = "Nobody knows." }
"""


def measured(factor: float, uniqid: float = 1.0) -> dict[str, dict[str, float]]:
    of_each = {"UniqId": uniqid, "StoreP": 1.0, "Login": 1.0}
    return {
        service: {
            "p50_us": 5.0 * factor,
            "mean_us": 10.0 * factor,
            "p99_us": 20.0 * factor * times,
        }
        for service, times in of_each.items()
    }


def test_words_and_other_definitions_are_worked_out() -> None:
    cells = {
        ("slow", "relief"): measured(1.0),
        ("fast", "relief"): measured(2.0),
        ("faster", "relief"): measured(6.0),
        ("slow", "accelflow"): measured(0.5, uniqid=0.5),
        ("fast", "accelflow"): measured(1.0),
        ("faster", "accelflow"): measured(2.0),
    }
    outcome = of_cells(lib.parse("words", WORDS), stand_in(cells), CI)
    found = {one.says: one for one in outcome.statements}
    assert {says: one.holds for says, one in found.items()} == {
        "it falls from fast to slow": True,
        "what the next load adds rises": True,
        "the median is below the others": True,
        "UniqId gains most": True,
    }
    assert found["it falls from fast to slow"].found == "faster: 60, slow: 10"
    assert found["what the next load adds rises"].found == "fast: 2, faster: 3"
    assert found["UniqId gains most"].found == (
        "UniqId 0.75, StoreP 0.5, Login 0.5; the others 0.5"
    )
    row = outcome.findings[0]
    assert row.ours is not None
    assert row.ours.mean == pytest.approx((0.75 + 0.5 + 0.5) / 3)
    also = {says: one.mean for says, one in row.also if one is not None}
    assert also["of the mean"] == pytest.approx(0.5)
    assert also["as a ratio"] == pytest.approx((0.25 + 0.5 + 0.5) / 3)
    page = markdown([outcome], lib.Scenario(), CI)
    assert "| `p99_reduction.RELIEF` | as above | 0.583 | 0.688 |" in page
    assert "| `p99_reduction.RELIEF` | of the mean | 0.500 | 0.688 |" in page


def test_a_reason_of_words_is_on_the_page_and_in_the_results() -> None:
    cells = {
        (point, system): measured(factor) if system == "relief" else measured(0.5, uniqid=1.5)
        for point, factor in (("slow", 2.0), ("fast", 1.0), ("faster", 1.0))
        for system in ("relief", "accelflow")
    }
    outcome = of_cells(lib.parse("words", WORDS), stand_in(cells), CI)
    page = markdown([outcome], lib.Scenario(), CI)
    assert "- words, UniqId gains most: *open*: Nobody knows." in page
    assert f"- words, it falls from fast to slow: {NO_REASON}" in page
    checks = {one["says"]: one for one in lib.to_dict(outcome, lib.Scenario(), CI)["checks"]}
    assert checks["UniqId gains most"]["why_not"]["class"] == "open"
    assert checks["the median is below the others"]["why_not"] is None


def test_an_unknown_service_of_words_is_refused() -> None:
    text = WORDS.replace('services = ["UniqId"]', 'services = ["CPost"]')
    cells = {
        (point, system): measured(1.0)
        for point in ("slow", "fast", "faster")
        for system in ("relief", "accelflow")
    }
    with pytest.raises(InputError, match="'UniqId gains most': service = 'CPost': must be"):
        of_cells(lib.parse("words", text), stand_in(cells), CI)
