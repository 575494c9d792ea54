"""How long simulations run and how often they are repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accelflow.errors import InputError

__all__ = ["BUDGETS", "Budget", "budget"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may cost.

    `requests` are those of each service in each simulation, of which the first tenth is warm-up and
    not counted. Each simulation is repeated with the seeds 1 to `replications`. A search for a
    maximum rate tries rates that differ by the factor `rate_step`, so it is right to one step.
    """

    name: str
    requests: int
    replications: int
    rate_step: float

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the replications."""
        return tuple(range(1, self.replications + 1))

    @property
    def warmup_requests(self) -> int:
        """The first requests of each service, which are not counted."""
        return self.requests // 10


#: `full` is for results to keep, `quick` for a look, `ci` for finding out whether everything works.
BUDGETS: Mapping[str, Budget] = {
    one.name: one
    for one in (
        Budget(name="full", requests=3_000, replications=5, rate_step=1.07),
        Budget(name="quick", requests=1_500, replications=3, rate_step=1.15),
        Budget(name="ci", requests=300, replications=2, rate_step=1.40),
    )
}


def budget(name: str) -> Budget:
    """The budget called `name`. Raises InputError for a name that is not known."""
    if name not in BUDGETS:
        raise InputError(f"unknown budget '{name}'; known are {', '.join(BUDGETS)}")
    return BUDGETS[name]
