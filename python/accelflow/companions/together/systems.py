"""The systems and loads of `accelflow companions together`, and ratios of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from accelflow.companions.ensemble import WHOLE
from accelflow.findings import Estimate
from accelflow.findings.statistics import estimate

__all__ = ["ALONE", "FLOODING", "LOADS", "PAIRS", "SYSTEMS", "System", "estimated", "ratios"]


@dataclass(frozen=True)
class System:
    """One of the systems that are compared, given by its parts.

    With `accelerated`, it has AccelFlow's ensemble of accelerators; otherwise only cores. With
    `rpc`, Cerebros replaces the RPC accelerator. With `held`, ARCUS limits the tenant that floods.
    """

    accelerated: bool = True
    rpc: bool = False
    held: bool = False

    @property
    def orchestrator(self) -> str:
        """The identifier of the orchestrator that simulates this system."""
        return "accelflow" if self.accelerated else "non_acc"

    @property
    def config(self) -> Mapping[str, float]:
        """The parameters of the simulated server that differ from the defaults, by key."""
        return WHOLE if self.rpc else {}


#: The name of the system without accelerators.
ALONE: Final = "cores alone"
#: The compared systems by name, in the order of the page.
SYSTEMS: Final[Mapping[str, System]] = {
    ALONE: System(accelerated=False),
    "AccelFlow": System(),
    "with Cerebros": System(rpc=True),
    "with ARCUS": System(held=True),
    "with both": System(rpc=True, held=True),
}
#: The loads by name; True if one tenant (:data:`FLOODING`) sends too much.
LOADS: Final[Mapping[str, bool]] = {"even": False, "flood": True}
#: The service of the tenant that sends too much under the load ``flood``.
FLOODING: Final = "UniqId"

#: The additions: the name of each, the system without it, and the system with it.
PAIRS: Final = (
    ("AccelFlow", ALONE, "AccelFlow"),
    ("Cerebros", "AccelFlow", "with Cerebros"),
    ("Cerebros, where ARCUS is", "with ARCUS", "with both"),
    ("ARCUS", "AccelFlow", "with ARCUS"),
    ("ARCUS, where Cerebros is", "with Cerebros", "with both"),
)

_Run = Mapping[str, Any]


def estimated(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Return an object for JSON with the mean of `values`, half its 95 % interval, and the values.

    None if a value is None.
    """
    found = estimate(list(values))
    return None if found is None else Estimate.to_json(found)


def ratios(before: Sequence[_Run], after: Sequence[_Run], key: str) -> list[float | None]:
    """Return the result `key` of each run in `before`, divided by that of its partner in `after`.

    Runs at the same index are partners, since they have the same seed. A ratio is None if one of
    its values is None or 0.
    """
    pairs = [(old[key], new[key]) for old, new in zip(before, after, strict=True)]
    return [old / new if old and new else None for old, new in pairs]
