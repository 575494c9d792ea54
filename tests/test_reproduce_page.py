"""The page of the reproduction: reasons, exact rows and numbers."""

from dataclasses import replace

import pytest

from accelflow import reproduce as lib
from accelflow.findings import NO_REASON, Estimate, Finding, Reported, Target, number
from accelflow.reproduce.page import markdown
from accelflow.reproduce.runs import Runner

CI = lib.budget("ci")


def test_a_row_that_is_off_has_its_reason_with_the_class() -> None:
    row = "accelflow.fallback.encr_denied_2pe"
    why = lib.reasons()[row]
    off = Finding.of(lib.targets()[row], Estimate.computed(0.1), why=why)
    near = Finding.of(lib.targets()[row], Estimate.computed(0.38), why=why)
    outcome = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))[0]
    for one, expected in ((off, "definition"), (near, None)):
        changed = replace(outcome, findings=(one,))
        found = lib.to_dict(changed, lib.Scenario(), CI)["findings"][0]["why"]
        assert (found and found["class"]) == expected
        text = markdown([changed], lib.Scenario(), CI)
        assert ("- `fallback.encr_denied_2pe`: *definition*: " in text) is (expected is not None)


def test_a_missing_reason_is_loud() -> None:
    outcome = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))[0]
    assert NO_REASON not in markdown([outcome], lib.Scenario(), CI)
    wrong = Finding.of(Target("accelflow.table4.CPost", Reported.number(88), "exact"), None)
    spoilt = type(outcome)(
        definition=outcome.definition,
        requests=0,
        most_requests=0,
        warmup_requests=0,
        seeds=(),
        findings=(wrong,),
    )
    assert NO_REASON in markdown([spoilt], lib.Scenario(), CI)


def test_exact_rows_match() -> None:
    names = [name for name in lib.names() if lib.load(name).kind == "static" and name != "fig15"]
    outcomes = lib.reproduce([lib.load(name) for name in names], budget=CI, runner=Runner(1))
    exact = [one for outcome in outcomes for one in outcome.findings if one.kind == "exact"]
    assert len(exact) >= 8 + 7 + 9 + 18
    assert [one.key for one in exact if not one.agrees] == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(87.0, "87"), (0.2071, "0.207"), (123.456, "123.5"), (51234.5, "51,234"), (8.3, "8.300")],
)
def test_numbers_are_read_by_people(value: float, text: str) -> None:
    assert number(value) == text
