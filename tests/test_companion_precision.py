"""Replications of the companion papers' simulations until a precision is reached."""

import math
from collections.abc import Sequence

import pytest

from accelflow import InputError
from accelflow.companions import PaperResult
from accelflow.companions.page import markdown
from accelflow.companions.precision import (
    Precision,
    Replicated,
    Seeds,
    parse_share,
    replicate,
    scale_of,
)
from accelflow.findings import Finding, Reported
from accelflow.findings.statistics import estimate


def value(seed: int) -> float:
    """A figure from 9 to 11, as good as random."""
    return 9.0 + 2.0 * math.modf(seed * (math.sqrt(5.0) - 1.0) / 2.0)[0]


def findings(runs: Sequence[float]) -> list[Finding]:
    steady = Finding(key="a.steady", kind="dynamic", unit="", ours=estimate([1.0] * len(runs)))
    return [steady, Finding(key="a.random", kind="dynamic", unit="", ours=estimate(runs))]


def run(precision: Precision, threads: int = 1) -> Replicated[float]:
    return replicate(value, findings, seeds=(1, 3), precision=precision, threads=threads)


def test_seeds_are_added_until_every_figure_is_as_precise() -> None:
    without = run(Precision()).seeds
    assert (without.first, without.count, without.beyond) == (1, 3, {})
    found = run(Precision(share=0.02))
    assert found.seeds.count > 20
    assert found.runs == tuple(value(seed) for seed in range(1, found.seeds.count + 1))
    interval = estimate(found.runs)
    assert interval is not None
    assert interval.half_width is not None
    assert found.seeds.reached == interval.half_width / interval.mean <= 0.02
    assert found.seeds.beyond == {}


def test_a_bound_on_seeds_says_what_is_less_precise() -> None:
    assert run(Precision(share=0.001, most_seeds=2)).seeds.count == 2
    seeds = run(Precision(share=0.001, most_seeds=10)).seeds
    assert seeds.count == 10
    assert list(seeds.beyond) == ["a.random"]
    assert seeds.beyond["a.random"] == seeds.reached


def test_one_seed_does_not_pass_for_precise() -> None:
    def first_and(count: int, precision: Precision) -> Replicated[float]:
        return replicate(value, findings, seeds=(7, count), precision=precision)

    asked = Precision(share=0.02)
    assert first_and(1, Precision()).seeds == Seeds(7, 1)
    assert first_and(1, asked).seeds.beyond == {}
    assert first_and(1, asked).seeds.reached == first_and(2, asked).seeds.reached is not None


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "Seed 7; one seed gives no intervals."),
        (3, "Seeds 7 to 9; no figure depends on the seed."),
    ],
)
def test_a_page_tells_one_seed_from_figures_without_chance(count: int, said: str) -> None:
    steady = Finding(
        key="arcus.fig8.a", kind="", unit="", ours=estimate([1.0] * count), experiment="fig8"
    )
    reports = {"fig8": {"title": "Fig. 8"}}
    seeds = {"fig8": Seeds(7, count)}
    outcome = PaperResult("arcus", 7, (steady,), {"reports": reports}, sections=seeds)
    assert f"## Fig. 8\n\n{said}\n\n|" in markdown(outcome, {})


def test_threads_change_nothing() -> None:
    precision = Precision(share=0.05)
    assert run(precision, threads=4) == run(precision)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), (" 0.1 % ", 0.001), ("0.5", 0.5)])
def test_a_share_is_read(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "much", "60%", "0", "nan", "5%%"])
def test_another_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--precision = .*: must be a share from 0.1% to 50%"):
        parse_share(text)


def test_a_precision_has_limits() -> None:
    with pytest.raises(InputError, match=r"share = 0.6: must be from 0.001 to 0.5"):
        Precision(share=0.6)
    with pytest.raises(InputError, match="most_seeds = 1: must be"):
        Precision(most_seeds=1)


def test_an_interval_is_compared_with_the_larger_of_both_figures() -> None:
    (_, ours) = findings([2.0, 4.0])
    assert scale_of(ours) == 3.0
    for printed, scale in (("5", 5.0), ("1", 3.0)):
        finding = Finding(
            key="a", kind="dynamic", unit="", ours=ours.ours, paper=Reported.number(printed)
        )
        assert scale_of(finding) == scale
