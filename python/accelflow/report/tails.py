"""Percentiles over all response times of several simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["pooled_percentile"]


def pooled_percentile(thousandths: int, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return a percentile of all response times of several simulations, by nearest rank, in us.

    `thousandths` is 990 for P99. `rows` has a service's result in each simulation: the number of
    responses ``completed``, and the longest response times in us, ``tail_us``. If responses were
    counted in bins, ``tail_bins`` has pairs of a time in us and a number of responses instead. The
    simulator uses the same method for one simulation. Raises ValueError if the percentile is not
    among the stored response times.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    count = sum(row["completed"] for row in rows)
    rank = -(-thousandths * count // 1000)  # from below, rounded up
    above = count - rank
    tails = [_tail(row) for row in rows]
    for row, (_, counts) in zip(rows, tails, strict=True):
        kept = int(counts.sum())
        if above >= kept < row["completed"]:
            raise ValueError(
                f"P{thousandths / 10:g} of {len(rows)} seeds: of {row['completed']} responses only "
                f"the {kept} longest are kept, and {above + 1} are needed"
            )
    times = np.concatenate([times for times, _ in tails])
    counts = np.concatenate([counts for _, counts in tails])
    if len(times) == counts.sum():
        place = len(times) - 1 - above
        return float(np.partition(times, place)[place])
    order = np.argsort(-times, kind="stable")
    reached = np.cumsum(counts[order])
    return float(times[order][np.searchsorted(reached, above, side="right")])


def _tail(row: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the longest response times of a simulation in us, and the number of each."""
    import numpy as np  # noqa: PLC0415 (slow to load)

    bins = row.get("tail_bins")
    if not bins:
        times = np.asarray(row["tail_us"], dtype=float)
        return times, np.ones(len(times), dtype=np.int64)
    return (
        np.array([time for time, _ in bins], dtype=float),
        np.array([count for _, count in bins], dtype=np.int64),
    )
