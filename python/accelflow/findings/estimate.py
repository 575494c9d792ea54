"""An estimate of a figure with its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """A figure over all replications, with half its 95 % confidence interval.

    `half_width` is None for a single replication, and 0 for a figure that is computed rather than
    simulated. `values` are the figures of the single replications, in the order of their seeds.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...] = ()

    @classmethod
    def computed(cls, value: float) -> Estimate:
        """A figure that no seed changes."""
        return cls(value, 0.0, (value,))

    @property
    def sign(self) -> int | None:
        """Return 1 above zero, -1 below, and None if zero is within the interval."""
        if self.half_width is None or abs(self.mean) <= self.half_width:
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
        """The estimate that :meth:`to_json` has written."""
        if found["mean"] is None:
            return None
        return cls(found["mean"], found["half_width"], tuple(found["values"]))
