"""Several seeds of the figures: means and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow import _native

#: The relative error of sums and means of equal figures.
_ROUNDED: Final = 1e-12


def estimate(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of independent `values` and the half-width of its 95 % confidence interval.

    The half-width is None for a single value, and 0 for values that differ by rounding alone.
    """
    found = _native.confidence_interval(list(values))
    if found is None:
        return values[0], None
    mean, half_width = found
    return mean, 0.0 if half_width <= _ROUNDED * abs(mean) else half_width


def mean_bars(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Combine the bars of several runs: for each bar, the means of its parts over the runs.

    ``half_width`` is half of the 95 % interval of the bar's height, the sum of the parts.
    """
    bars = []
    for same in zip(*runs, strict=True):
        parts = {
            part: estimate([bar["parts"][part] for bar in same])[0] for part in same[0]["parts"]
        }
        _, half_width = estimate([sum(bar["parts"].values()) for bar in same])
        bars.append({**same[0], "parts": parts, "half_width": half_width})
    return bars
