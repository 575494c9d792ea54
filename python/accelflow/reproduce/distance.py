"""The distance of our figures from the paper's, by which the default scenario is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from accelflow.findings import Finding, targets

__all__ = ["distance", "fitted", "log_ratio", "standard_error"]


def fitted(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings from which :func:`distance` is computed.

    They are the findings marked ``use = "fit"`` in ``paper-targets.toml``. The default scenario as
    a whole was chosen to match their figures. A finding that also has a key ``fits`` is left out,
    since its figure served to choose single parameters.
    """
    return [
        finding for finding in findings if finding.use == "fit" and not targets()[finding.key].fits
    ]


def distance(rows: Mapping[str, float | None]) -> float:
    """Return how far our latency reductions are from the paper's, as one number; 0 is equal.

    `rows` has our reductions by the figure's key. A reduction r stands for a latency ratio of 1 -
    r. The distance is the root mean square of the differences between the logarithm of our ratio
    and that of the paper's. A distance of 0.1 means that latency ratios differ by about 10 %. It is
    infinite if a reduction is None or at least 1.
    """
    squares = [log_ratio(ours, targets()[row].value) ** 2 for row, ours in rows.items()]
    return math.sqrt(math.fsum(squares) / len(squares))


def log_ratio(ours: float | None, paper: float) -> float:
    """Return the natural logarithm of our latency ratio divided by the paper's.

    `ours` and `paper` are reductions; a reduction r stands for a latency ratio of 1 - r. Infinite
    if our reduction is None or at least 1, since the ratio then has no logarithm.
    """
    if ours is None or ours >= 1.0:
        return math.inf
    return math.log1p(-ours) - math.log1p(-paper)


def standard_error(findings: Sequence[Finding]) -> float:
    """Return the standard error of :func:`distance`, by the jackknife over the seeds.

    `findings` are our figures with the paper's. Infinite for a single seed, and if a figure is
    missing or its ratio has no logarithm.
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
