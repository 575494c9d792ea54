"""Estimates with confidence intervals, from replications with different seeds.

A ratio of two percentiles is computed from all replications together, because the mean of the
replications' ratios is biased. The jackknife estimates its variance: the figure is computed again
without each replication in turn. Replications are independent, and each is a long sample, as the
jackknife of a quantile requires (Shao and Wu, "A general theory for jackknife variance estimation",
1989). Leaving out single responses would be wrong.

Compared systems have the same requests with the same seed. The same seed is left out for both, so
that their common variation cancels. The interval of a plain mean is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from accelflow import _native
from accelflow.findings.estimate import Estimate

__all__ = ["Figure", "estimate", "half_width", "jackknife"]

#: A function that computes a figure from the replications with the given indices; None if the
#: figure cannot be computed from them.
Figure = Callable[[Sequence[int]], float | None]

#: Relative half widths below this are rounding errors and count as 0.
_ROUNDING: Final = 1e-9


def jackknife(figure: Figure, replications: int) -> Estimate | None:
    """Return the figure over all `replications`, with its interval by the jackknife.

    None if the figure does not exist for all replications together, or without one of them: an
    estimate from the others would be biased.
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
    """Return half the 95 % interval of the figure `whole`, by the jackknife.

    `without` has the figure without each replication in turn, for at least two replications.
    """
    # Tukey's pseudo-values: their Student interval has the half width of the jackknife.
    count = len(without)
    interval = _native.confidence_interval(
        [count * whole - (count - 1) * value for value in without]
    )
    found = math.inf if interval is None else interval[1]
    return 0.0 if found <= _ROUNDING * max(map(abs, (whole, *without))) else found


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean of independent `values`, one for each seed; None if one does not exist.

    A mean over the other seeds would be biased.
    """

    def mean(kept: Sequence[int]) -> float | None:
        present = [value for value in (values[number] for number in kept) if value is not None]
        return math.fsum(present) / len(present) if present and len(present) == len(kept) else None

    return jackknife(mean, len(values))
