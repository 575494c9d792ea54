"""Estimates with confidence intervals, from replications with different seeds.

A ratio of two percentiles is computed from all replications together, because the mean of the
replications' ratios is biased. The jackknife estimates its variance: the statistic is computed
again without each replication in turn. Replications are independent, and each is a long sample, as
the jackknife of a quantile requires (Shao and Wu, "A general theory for jackknife variance
estimation", 1989). Leaving out single responses would be wrong.

With the same seed, compared systems serve the same requests. The jackknife leaves out the same seed
for both systems, so that their common variation cancels. The interval of a plain mean is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from accelflow import _native
from accelflow.findings.estimate import Estimate

__all__ = ["Figure", "estimate", "half_width", "jackknife"]

#: A function that computes a statistic from the replications with the given indices. It returns
#: None if these replications do not have the statistic.
Figure = Callable[[Sequence[int]], float | None]

#: Relative half widths below this are rounding errors and count as 0.
_ROUNDING: Final = 1e-9


def jackknife(figure: Figure, replications: int) -> Estimate | None:
    """Compute a statistic over all replications, with its 95 % interval by the jackknife.

    The jackknife computes the statistic again without each replication in turn. `figure` is a
    function of the indices of the replications to use, and `replications` is their number. None if
    this number is 0, or if a statistic that is needed is None: leaving it out would bias the
    interval.
    """
    everyone = range(replications)
    whole = figure(everyone) if replications else None
    if whole is None:
        return None
    alone = [figure([left_out]) for left_out in everyone]
    values = tuple(value for value in alone if value is not None)
    if replications == 1:
        return Estimate(whole, None, values)
    without = [figure([other for other in everyone if other != left_out]) for left_out in everyone]
    present = [value for value in without if value is not None]
    if len(present) < replications:
        return None
    return Estimate(whole, half_width(whole, present), values)


def half_width(whole: float, without: Sequence[float]) -> float:
    """Return half the 95 % confidence interval of the statistic `whole`, by the jackknife.

    `without` has the statistic computed without each replication in turn, for at least two
    replications. An interval below 1e-9 of the statistic counts as 0, a rounding error.
    """
    # Tukey's pseudo-values: their Student interval has the half width of the jackknife.
    count = len(without)
    interval = _native.confidence_interval(
        [count * whole - (count - 1) * value for value in without]
    )
    found = math.inf if interval is None else interval[1]
    return 0.0 if found <= _ROUNDING * max(map(abs, (whole, *without))) else found


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean of independent `values`, one for each seed, with its confidence interval.

    None if there are no values or one of them is None, since a mean over the others would be
    biased.
    """

    def mean(kept: Sequence[int]) -> float | None:
        present = [value for value in (values[number] for number in kept) if value is not None]
        return math.fsum(present) / len(present) if present and len(present) == len(kept) else None

    return jackknife(mean, len(values))
