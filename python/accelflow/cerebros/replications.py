"""Several seeds of the figures: means and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelflow import _native


def estimate(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of independent `values` and the half-width of its 95 % confidence interval.

    The half-width is None for a single value.
    """
    found = _native.confidence_interval(list(values))
    return (values[0], None) if found is None else found


def mean_bars(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Combine the bars of several runs: means of their parts, and the interval of their sum."""
    bars = []
    for same in zip(*runs, strict=True):
        parts = {
            part: estimate([bar["parts"][part] for bar in same])[0] for part in same[0]["parts"]
        }
        _, half_width = estimate([sum(bar["parts"].values()) for bar in same])
        bars.append({**same[0], "parts": parts, "half_width": half_width})
    return bars
