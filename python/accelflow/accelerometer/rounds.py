"""Medians over repeated rounds of a measurement, with intervals for any distribution.

Interruptions make a measurement longer, often by more than the measured time. A mean over rounds
would mostly show the interruptions, so values are medians. Two times that are compared are measured
in the same rounds, and the result is the median of their ratios, round by round.
"""

import math
import os
import statistics
from collections.abc import Sequence
from typing import Final

__all__ = ["Over", "over_rounds", "run_queue"]

#: The probability that an interval of 95 % lies beside the true median, on one side.
_BESIDE: Final = 0.025

#: Half of an interval of 95 % over the standard error of a normal law.
_HALVES: Final = 1.96

#: A median over rounds: `median`, `low` and `high` (the ends of its interval), `standard_error`.
Over = dict[str, float | None]


def over_rounds(values: Sequence[float]) -> Over:
    """Return the median of `values`, measured in several rounds, with its 95 % interval.

    The interval is that of the sign test: its ends ``low`` and ``high`` are two of the values, and
    it is valid for any distribution. ``standard_error`` is that of a normal distribution with an
    interval of the same width. All three are None for fewer than six values.
    """
    ordered = sorted(values)
    count, beside, rank = len(ordered), 0.0, 0
    # How many of the smallest values, and of the largest, are outside.
    while (beside := beside + math.comb(count, rank) * 0.5**count) <= _BESIDE:
        rank += 1
    low, high = (ordered[rank - 1], ordered[-rank]) if rank else (None, None)
    error = None if low is None or high is None else (high - low) / (2 * _HALVES)
    return {
        "median": statistics.median(ordered),
        "low": low,
        "high": high,
        "standard_error": error,
    }


def run_queue() -> float:
    """Return the load average of the last minute, as `uptime` shows it.

    It is about the mean number of threads that ran or were ready to run. Linux also counts threads
    in waits that cannot be interrupted, such as for a disk.
    """
    return os.getloadavg()[0]
