"""Estimates with confidence intervals, from replications with different seeds.

A figure such as a ratio of two percentiles is not the mean of the ratios of single replications,
since a ratio of noisy figures is biased. So it is computed from all replications together, and the
jackknife finds how much it varies: the figure is made again without each replication in turn.
Replications are independent, and each is a long sample, which is what the jackknife of a quantile
needs (Shao and Wu, "A general theory for jackknife variance estimation", 1989: one that leaves out
single responses would be wrong). Systems that are compared have the same requests with a seed, and
leave the same one out: what they have in common cancels, as it should. For a plain mean the
interval is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from accelflow import _native
from accelflow.findings.estimate import Estimate

__all__ = ["Figure", "estimate", "half_width", "jackknife"]

#: A figure of some replications, given by their numbers from 0 on; None if it does not exist.
Figure = Callable[[Sequence[int]], float | None]

#: A half width of this share of the figure is what rounding leaves of none.
_ROUNDING: Final = 1e-9


def jackknife(figure: Figure, replications: int) -> Estimate | None:
    """The figure of all `replications`, and its interval by leaving out each of them.

    None if it does not exist for all of them together, or without one of them: an estimate from the
    rest would be biased.
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
    """Half the 95 % interval of the figure `whole`, by the jackknife.

    `without` has the figure without each replication in turn; there are two of them at least.
    """
    # Tukey's pseudo-values: their Student interval has the half width of the jackknife.
    count = len(without)
    interval = _native.confidence_interval(
        [count * whole - (count - 1) * value for value in without]
    )
    found = math.inf if interval is None else interval[1]
    return 0.0 if found <= _ROUNDING * max(map(abs, (whole, *without))) else found


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """The mean of independent `values`; None if one of them does not exist.

    A mean over only the seeds in which a figure exists would be biased.
    """

    def mean(kept: Sequence[int]) -> float | None:
        present = [value for value in (values[number] for number in kept) if value is not None]
        return math.fsum(present) / len(present) if present and len(present) == len(kept) else None

    return jackknife(mean, len(values))
