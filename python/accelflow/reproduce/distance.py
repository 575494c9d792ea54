"""The distance of our figures from the paper's, by which the default scenario is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from accelflow.findings import Finding, targets

__all__ = ["distance", "fitted", "log_ratio", "standard_error"]


def fitted(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings from which :func:`distance` is computed.

    These are the figures that ``paper-targets.toml`` marks with the ``use`` ``fit`` and without
    ``fits``. Figures with ``fits`` served to choose a single parameter. They are no check of the
    model either, but are not part of the distance.
    """
    return [
        finding for finding in findings if finding.use == "fit" and not targets()[finding.key].fits
    ]


def distance(rows: Mapping[str, float | None]) -> float:
    """Return the distance of our figures from the paper's; `rows` has our figures by key.

    The figures are reductions of latency; a reduction r is a latency ratio of 1 - r. The distance
    is the root mean square difference between the logarithms of our ratios and the paper's: 0.1 is
    about a tenth of a latency. It is infinite if a figure is None or at least 1.
    """
    squares = [log_ratio(ours, targets()[row].value) ** 2 for row, ours in rows.items()]
    return math.sqrt(math.fsum(squares) / len(squares))


def log_ratio(ours: float | None, paper: float) -> float:
    """Return the logarithm of our latency ratio divided by the paper's.

    Both ratios are given as reductions: 1 minus the ratio. Infinite if our reduction is None or at
    least 1, which has no logarithm.
    """
    if ours is None or ours >= 1.0:
        return math.inf
    return math.log1p(-ours) - math.log1p(-paper)


def standard_error(findings: Sequence[Finding]) -> float:
    """Return the standard error of :func:`distance`, by the jackknife over the seeds.

    `findings` are our figures with the paper's.
    Infinite for a single seed, and if a figure is missing or has no logarithm.
    """
    values = {finding.key: finding.ours.values if finding.ours else () for finding in findings}
    count = min(len(figures) for figures in values.values())
    if count < 2:
        return math.inf
    without = [
        distance({row: _mean_without(these, left_out) for row, these in values.items()})
        for left_out in range(count)
    ]
    if not all(math.isfinite(value) for value in without):
        return math.inf
    mean = math.fsum(without) / count
    spread = math.fsum((value - mean) ** 2 for value in without)
    return math.sqrt(spread * (count - 1) / count)


def _mean_without(values: Sequence[float], left_out: int) -> float:
    kept = [*values[:left_out], *values[left_out + 1 :]]
    return math.fsum(kept) / len(kept)
