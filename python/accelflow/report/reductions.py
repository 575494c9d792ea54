"""Latency reductions between two systems, with paired intervals.

With the same seed, the systems of a comparison serve the same requests (common random numbers), so
the interval is paired. The jackknife leaves out the same seed for both systems, and their common
variation cancels. The interval is usually much narrower than those of the two latencies suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from accelflow.findings.estimate import Estimate
from accelflow.findings.statistics import half_width
from accelflow.report.answered import names_text
from accelflow.report.results import SystemResult, mean_reduction

__all__ = ["left_out_notes", "reduction", "reduction_text"]


def reduction(ours: SystemResult, theirs: SystemResult, statistic: str) -> Estimate | None:
    """Return the relative reduction of latency from `theirs` to `ours`: 1 - ours / theirs.

    The result is the mean over the services, with equal weights; it is negative if `ours` has the
    higher latencies. `statistic` is the latency to compare, ``mean_us`` or ``p99_us``. The interval
    is a jackknife interval over the seeds, and None for a single seed. The result is None if no
    service has both latencies.
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


def left_out_notes(pairs: Sequence[tuple[SystemResult, SystemResult]]) -> list[str]:
    """Return notes that name the services which a latency reduction could not include.

    A service is left out if it has no response under one of the two systems. `pairs` are the pairs
    of systems that the reductions compare.
    """
    whose: dict[tuple[str, str], list[str]] = {}
    for ours, theirs in pairs:
        silent = {*ours.unanswered_services, *theirs.unanswered_services}
        names = [result.service for result in theirs.services if not result.only_called]
        left = names_text([name for name in names if name in silent])
        kept = names_text([name for name in names if name not in silent])
        if left:
            whose.setdefault((left, kept), []).append(theirs.label)
    return [
        f"The reductions against {names_text(rivals)} are "
        + (f"means over {kept} alone" if kept else "unknown")
        + f": one of the two systems answers no request of {left}."
        for (left, kept), rivals in whose.items()
    ]


def reduction_text(found: Estimate) -> str:
    """Return the size of a reduction in per cent, without sign: ``59 %`` or ``59.2 ± 0.4 %``.

    The number after ± is half of the confidence interval.
    """
    percent = abs(found.mean) * 100
    if found.half_width is None:
        return f"{percent:.0f} %"
    half = found.half_width * 100
    digits = 0 if half >= 1 else 1 if half >= 0.1 else 2
    return f"{percent:.{digits}f} ± {half:.{digits}f} %"
