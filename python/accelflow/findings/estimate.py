"""An estimate of a figure with its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """Our value of a figure over all replications (seeds), with its 95 % confidence interval.

    The interval is `mean` plus and minus `half_width`, which is None for a single replication, and
    0 for a figure that is computed rather than simulated. `values` are the figures of the single
    replications, in the order of their seeds.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...] = ()

    @classmethod
    def computed(cls, value: float) -> Estimate:
        """Return the estimate of a figure that is computed without random numbers: no interval."""
        return cls(value, 0.0, (value,))

    @property
    def sign(self) -> int | None:
        """The sign of the figure: 1, -1, 0 if it is exactly zero, and None if it is not certain.

        It is exactly zero if the figure is zero for every seed, and not certain if zero is within
        an interval, or the interval is not known.
        """
        if self.half_width is None:
            return None
        if self.mean == self.half_width == 0:
            return 0
        if abs(self.mean) <= self.half_width:
            return None
        return 1 if self.mean > 0 else -1

    @staticmethod
    def to_json(estimate: Estimate | None) -> dict[str, Any]:
        """Convert `estimate` to members of a JSON object; None gives null and no values."""
        if estimate is None:
            return {"mean": None, "half_width": None, "values": []}
        return {
            "mean": estimate.mean,
            "half_width": estimate.half_width,
            "values": list(estimate.values),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Estimate | None:
        """Return the estimate that :meth:`to_json` has written."""
        if found["mean"] is None:
            return None
        return cls(found["mean"], found["half_width"], tuple(found["values"]))
