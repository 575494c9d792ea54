"""Reductions of latency between two systems, with paired intervals.

Systems of a comparison have the same requests with a seed, common random numbers, so the interval
of a reduction is paired: the jackknife leaves the same seed out of both systems, and what a seed
does to both cancels. It is as a rule much narrower than the intervals of the two latencies suggest.
"""

from __future__ import annotations

import math

from accelflow.findings.estimate import Estimate
from accelflow.findings.statistics import half_width
from accelflow.report.results import SystemResult, mean_reduction

__all__ = ["reduction", "reduction_text"]


def reduction(ours: SystemResult, theirs: SystemResult, statistic: str) -> Estimate | None:
    """The reduction of a latency from `theirs` to `ours`: 1 - ours/theirs, mean over the services.

    `statistic` is ``mean_us`` or ``p99_us``. The figure is that of
    :func:`accelflow.report.results.mean_reduction`. Its half width is None without several seeds.
    None when no service has both latencies.
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
    """The size of a reduction in percent, with its interval: ``59 %``, ``59.2 ± 0.4 %``."""
    percent = abs(found.mean) * 100
    if found.half_width is None:
        return f"{percent:.0f} %"
    half = found.half_width * 100
    digits = 0 if half >= 1 else 1 if half >= 0.1 else 2
    return f"{percent:.{digits}f} ± {half:.{digits}f} %"
