"""Percentiles over all response times of several simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

__all__ = ["pooled_percentile"]

#: From this number of simulations on, a percentile is computed from few of their response times.
_MANY: Final = 8


def pooled_percentile(thousandths: int, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return a percentile of all response times of several simulations together, in us.

    `thousandths` is the percentile times 10: 990 for P99. `rows` has a service's result in each
    simulation: the number of responses ``completed``, and the longest response times ``tail_us`` in
    us. If responses were counted in bins, ``tail_bins`` has pairs (time in us, number of responses)
    instead. The method is nearest rank, as in the simulator. Raises ValueError if too few of the
    longest response times are stored to find the percentile.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    count = sum(row["completed"] for row in rows)
    rank = -(-thousandths * count // 1000)  # from below, rounded up
    above = count - rank
    long = _of_the_longest(rows, above)
    if long is not None:
        return long
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


def _of_the_longest(rows: Sequence[Mapping[str, Any]], above: int) -> float | None:
    """Return the response time that `above` others exceed, from the longest of each simulation.

    These hold few of the response times of many simulations, so this is fast. None if it takes
    shorter ones, too, or if response times were counted in bins.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    if len(rows) < _MANY or any(row.get("tail_bins") for row in rows):
        return None
    each = 4 * (above // len(rows) + 1)
    tails = [np.asarray(row["tail_us"][:each], dtype=float) for row in rows]
    pairs = list(zip(tails, rows, strict=True))
    times = np.concatenate(tails)
    if len(times) <= above or not all(tail.size or not row["completed"] for tail, row in pairs):
        return None
    place = len(times) - 1 - above
    found = float(np.partition(times, place)[place])
    # Response times that were left out are at most the shortest of those that were not.
    left_out = [tail[-1] for tail, row in pairs if len(tail) < row["completed"]]
    return found if all(shortest <= found for shortest in left_out) else None


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
