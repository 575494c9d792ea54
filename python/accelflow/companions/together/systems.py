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
    """The parts of a compared system.

    With `accelerated`, the system has AccelFlow's ensemble. With `rpc`, Cerebros replaces the RPC
    accelerator. With `held`, ARCUS limits the tenant that floods.
    """

    accelerated: bool = True
    rpc: bool = False
    held: bool = False

    @property
    def orchestrator(self) -> str:
        """The simulator's name of the system's orchestrator."""
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
    """Return the mean of `values`, half its 95 % interval, and the values, as an object for JSON.

    None if a value is None.
    """
    found = estimate(list(values))
    return None if found is None else Estimate.to_json(found)


def ratios(before: Sequence[_Run], after: Sequence[_Run], key: str) -> list[float | None]:
    """Return, for each pair of runs, the result `key` in `before` divided by that in `after`.

    Runs at the same index belong together, since they have the same seed.

    A ratio is None if one of its values is None or 0.
    """
    pairs = [(old[key], new[key]) for old, new in zip(before, after, strict=True)]
    return [old / new if old and new else None for old, new in pairs]
