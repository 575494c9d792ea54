"""How sure a figure is: means over replications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accelflow import _native

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """The mean of one figure over replications, with half its 95 % confidence interval.

    `half_width` is None for a single observation, and 0 for a figure that is computed rather than
    simulated. `values` are the observations, in the order of the seeds.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...]


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Student's interval over independent `values`; None if one of them does not exist.

    A mean over the seeds in which a figure exists would be a mean of the lucky ones.
    """
    present = [value for value in values if value is not None]
    if not present or len(present) < len(values):
        return None
    if len(present) == 1:
        return Estimate(present[0], None, tuple(present))
    interval = _native.confidence_interval(present)
    if interval is None:  # fewer than two, which is dealt with above
        return None
    return Estimate(interval[0], interval[1], tuple(present))
