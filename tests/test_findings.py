"""Verdicts on our figures beside printed numbers, ranges and bounds."""

from decimal import Decimal

import pytest

from accelflow.findings import Estimate, Finding, Reported, Target, Verdict, targets
from accelflow.findings.text import number

RANGE = Reported(Decimal("0.4"), Decimal("0.8"))


def judged(paper: Reported, ours: float, half_width: float | None) -> Verdict | None:
    target = Target("a.b", paper, "dynamic", "check")
    return Finding.of(target, Estimate(ours, half_width, (ours,))).verdict


@pytest.mark.parametrize(
    ("ours", "half_width", "verdict"),
    [
        (0.5, 0.0, Verdict.AGREES),
        (0.6, 0.2, Verdict.AGREES),  # a third of our figure, but inside
        (0.41, 0.05, Verdict.AGREES),  # across an end, but within the tolerance
        (0.5, 0.6, Verdict.UNDECIDED),
        (0.99, 0.005, Verdict.AGREES),
        (1.01, 0.005, Verdict.OFF),
        (1.0, 0.2, Verdict.UNDECIDED),
        (2.0, 0.9, Verdict.OFF),  # wide, but wholly beyond 1.0
        (0.1, 0.15, Verdict.OFF),
        (0.5, None, Verdict.UNDECIDED),
    ],
)
def test_a_range_is_compared_with_the_whole_interval(
    ours: float, half_width: float | None, verdict: Verdict
) -> None:
    assert judged(RANGE, ours, half_width) is verdict


@pytest.mark.parametrize(
    ("kind", "bound", "ours", "half_width", "verdict"),
    [
        ("at_most", 0.74, 0.74, 0.0, Verdict.AGREES),
        ("at_most", 0.74, 0.76, 0.001, Verdict.OFF),
        ("at_most", 0.74, 0.76, 0.03, Verdict.UNDECIDED),
        ("at_most", 0.01, 0.0001, 0.0002, Verdict.AGREES),
        ("at_most", 0.01, -4.0, 0.0, Verdict.AGREES),
        ("at_least", 0.99, 0.99, 0.0, Verdict.AGREES),
        ("at_least", 0.99, 0.98, 0.001, Verdict.OFF),
        ("at_least", 0.99, 5.0, 3.0, Verdict.AGREES),
        ("above", 1, 1.0, 0.0, Verdict.OFF),
        ("above", 1, 1.001, 0.0, Verdict.AGREES),
        ("above", 1, 1.2, 0.3, Verdict.UNDECIDED),
        ("above", 1, 0.9, 0.1, Verdict.OFF),
    ],
)
def test_a_bound_has_no_tolerance(
    kind: str, bound: float, ours: float, half_width: float, verdict: Verdict
) -> None:
    assert judged(Reported.bound(kind, bound), ours, half_width) is verdict


def test_a_doubt_about_a_limit_says_so() -> None:
    target = Target("a.b", Reported.bound("at_most", 2), "dynamic", "check")
    assert Finding.of(target, Estimate(1.9, 0.2, ())).doubts == "interval crosses the limit"
    assert Finding.of(target, Estimate(1.9, None, ())).doubts == "one seed"
    assert Finding.of(target, Estimate(1.7, 0.2, ())).doubts == ""


def test_a_printed_zero_has_an_absolute_tolerance() -> None:
    zero = Reported.number(0)
    assert judged(zero, 0.2, 0.1) is Verdict.AGREES
    assert judged(zero, 0.3, 0.1) is Verdict.OFF
    assert judged(zero, 0.1, 0.3) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("figure", "text", "json"),
    [
        (Reported.bound("at_most", "0.74"), "at most 0.74", {"at_most": 0.74}),
        (Reported.bound("at_least", "0.99"), "at least 0.99", {"at_least": 0.99}),
        (Reported.bound("above", "1"), "above 1", {"above": 1.0}),
        (RANGE, "0.4 to 0.8", {"low": 0.4, "high": 0.8}),
        (Reported.number("0.50"), "0.50", 0.5),
    ],
)
def test_printed_figures_as_text_and_json(figure: Reported, text: str, json: object) -> None:
    assert (figure.text, figure.to_json()) == (text, json)


@pytest.mark.parametrize(
    ("value", "text"),
    [(-1e-8, "0.000"), (1e-8, "0.000"), (-0.0, "0"), (-1e-6, "-0.00000100"), (-0.5, "-0.500")],
)
def test_numbers_that_are_shown_as_zero_have_no_sign(value: float, text: str) -> None:
    assert number(value) == text


def test_bounds_of_the_file_are_read() -> None:
    assert targets()["arcus.fig9.burst_p99.Arcus"].figure == Reported.bound("at_most", "0.74")
    above = targets()["arcus.fig3.pattern_3_vm1_highest_over_lowest"].figure
    assert (above.bound_kind, above.finite_ends) == ("above", (1.0,))


@pytest.mark.parametrize(
    ("mean", "half_width", "sign"),
    [(2.0, 1.0, 1), (-2.0, 1.0, -1), (1.0, 2.0, None), (0.0, 0.0, 0), (0.0, 0.1, None)],
)
def test_a_sign_is_zero_only_for_a_tie(mean: float, half_width: float, sign: int | None) -> None:
    assert Estimate(mean, half_width).sign == sign
    assert Estimate(mean, None).sign is None
