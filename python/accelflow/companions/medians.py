"""Medians of repeated measurements, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

__all__ = ["Median", "median", "median_ratio"]

#: The number of resamples of the bootstrap.
_RESAMPLES: Final = 10_000
#: The two ends of a 95 % interval, as percentiles of the resamples.
_ENDS: Final = (2.5, 97.5)


@dataclass(frozen=True)
class Median:
    """A median over rounds of a measurement, with its 95 % interval from `low` to `high`.

    The interval is that of the percentile bootstrap.
    """

    median: float
    low: float
    high: float

    def text(self, digits: int, scale: float = 1.0) -> str:
        """Return the median and its interval as text, such as ``1.20 (1.10 to 1.31)``.

        The numbers are multiplied by `scale` and have `digits` decimals.
        """
        middle, low, high = (
            f"{value * scale:,.{digits}f}" for value in (self.median, self.low, self.high)
        )
        return f"{middle} ({low} to {high})"

    def to_dict(self) -> dict[str, float]:
        """Convert the median to an object for JSON."""
        return {"median": self.median, "low": self.low, "high": self.high}


def median(values: Sequence[float]) -> Median:
    """Return the median of `values` with its 95 % bootstrap interval.

    There must be at least one value. Equal values give equal results, since the bootstrap has a
    fixed seed.
    """
    found = np.asarray(values, dtype=np.float64)
    stream = np.random.default_rng(0)
    drawn = stream.integers(0, len(found), (_RESAMPLES, len(found)))
    low, high = np.percentile(np.median(found[drawn], axis=1), _ENDS)
    return Median(float(np.median(found)), float(low), float(high))


def median_ratio(above: Sequence[float], below: Sequence[float]) -> Median:
    """Return the median of the ratios `above` / `below`, with its 95 % bootstrap interval.

    There is a ratio for each round: values at the same index were measured in the same round.
    """
    return median([a / b for a, b in zip(above, below, strict=True)])
