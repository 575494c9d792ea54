"""The estimate of a value, with its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """The estimate of a value from several replications (runs with different seeds).

    `mean` is the value over all replications. `half_width` is half of its 95 % confidence interval:
    None for a single replication, and 0 for a value that is computed rather than simulated.
    `values` are the values of the single replications, in the order of their seeds; replications
    that have no value of their own, as in a search, are left out.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...] = ()

    @classmethod
    def computed(cls, value: float) -> Estimate:
        """Return the estimate of a value that is computed, not simulated: its interval is 0."""
        return cls(value, 0.0, (value,))

    @property
    def sign(self) -> int | None:
        """The sign of the value: 1, -1, 0 for exactly zero, and None if the sign is uncertain.

        The value is exactly zero if its mean and its interval are zero. The sign is uncertain if
        zero is within the interval, or the interval is not known.
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
        """Convert `estimate` to the JSON members ``mean``, ``half_width`` and ``values``.

        For None, the first two are null, and ``values`` is empty.
        """
        if estimate is None:
            return {"mean": None, "half_width": None, "values": []}
        return {
            "mean": estimate.mean,
            "half_width": estimate.half_width,
            "values": list(estimate.values),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Estimate | None:
        """Return the estimate in the JSON object `found`, made by :meth:`to_json`; None for null.

        Raises KeyError if a member is missing.
        """
        if found["mean"] is None:
            return None
        return cls(found["mean"], found["half_width"], tuple(found["values"]))
