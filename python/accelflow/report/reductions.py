"""Latency reductions between two systems, with paired intervals.

With the same seed, the systems of a comparison serve the same requests (common random numbers), so
the interval is paired. The jackknife leaves out the same seed for both systems, and their common
variation cancels. The interval is usually much narrower than those of the two latencies suggest.
"""

from __future__ import annotations

import math

from accelflow.findings.estimate import Estimate
from accelflow.findings.statistics import half_width
from accelflow.report.results import SystemResult, mean_reduction

__all__ = ["reduction", "reduction_text"]


def reduction(ours: SystemResult, theirs: SystemResult, statistic: str) -> Estimate | None:
    """Return the latency reduction from `theirs` to `ours`: 1 - ours/theirs, mean over services.

    `statistic` is the latency to compare, ``mean_us`` or ``p99_us``. Services have equal weights.
    The interval is the jackknife's over the seeds, and None for a single seed. The result is None
    if no service has both latencies.
    """
    whole = mean_reduction(ours, theirs, statistic)
    if whole is None:
        return None
    pairs = []
    for rival in theirs.services:
        mine = ours.service(rival.service)
        if mine is not None and getattr(mine, statistic) is not None and getattr(rival, statistic):
            pairs.append([result.without_seed.get(statistic, ()) for result in (mine, rival)])
    seeds = min(min(len(mine), len(other)) for mine, other in pairs)
    if seeds < 2:
        return Estimate(whole, None)
    without = [
        math.fsum(1 - mine[seed] / other[seed] for mine, other in pairs) / len(pairs)
        for seed in range(seeds)
    ]
    return Estimate(whole, half_width(whole, without))


def reduction_text(found: Estimate) -> str:
    """Return the size of a reduction in percent, without sign: ``59 %`` or ``59.2 ± 0.4 %``.

    The number after ± is half of the interval.
    """
    percent = abs(found.mean) * 100
    if found.half_width is None:
        return f"{percent:.0f} %"
    half = found.half_width * 100
    digits = 0 if half >= 1 else 1 if half >= 0.1 else 2
    return f"{percent:.{digits}f} ± {half:.{digits}f} %"
