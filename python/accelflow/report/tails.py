"""Percentiles of the response times of several simulations together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["pooled_percentile"]


def pooled_percentile(thousandths: int, rows: Sequence[Mapping[str, Any]]) -> float:
    """The percentile of all responses of `rows`, by nearest rank, in us.

    That is how the engine finds the percentiles of one simulation. `rows` are those of a service in
    each simulation: the number of responses, ``completed``, and the longest of them, ``tail_us``.
    Raises ValueError if the percentile is not among those that were kept.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    count = sum(row["completed"] for row in rows)
    rank = -(-thousandths * count // 1000)  # from below, rounded up
    above = count - rank
    for row in rows:
        kept = len(row["tail_us"])
        if above >= kept < row["completed"]:
            raise ValueError(
                f"P{thousandths / 10:g} of {len(rows)} seeds: of {row['completed']} responses only "
                f"the {kept} longest are kept, and {above + 1} are needed"
            )
    tail = np.concatenate([np.asarray(row["tail_us"], dtype=float) for row in rows])
    place = len(tail) - 1 - above
    return float(np.partition(tail, place)[place])
