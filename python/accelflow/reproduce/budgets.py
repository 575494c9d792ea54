"""How long simulations run, how often they are repeated, and when a figure rests on enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from accelflow.errors import InputError

__all__ = ["BUDGETS", "MIN_BEYOND", "MIN_DWELLS", "Budget", "budget"]

#: Responses beyond a percentile, of all seeds together, that it needs. A percentile of n responses
#: has (1 - q) n of them beyond it, give or take the root of that: 10 % for 100.
MIN_BEYOND: Final = 100

#: How often the rate of modulated arrivals has to be drawn anew, in all seeds together. A state of
#: 1 %, the rarest of `alibaba` and the one that makes most of its tail, is then drawn three times.
MIN_DWELLS: Final = 300


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may cost, and how sure its figures are to be.

    `requests` are those of a service with the mean rate in each simulation, of which the first
    tenth is warm-up and not counted. They are doubled, up to `most_requests`, until the half width
    of each compared figure is at most `precision` of the paper's figure. Each simulation is
    repeated with the seeds 1 to `replications`. A search for a maximum rate tries rates that differ
    by the factor `rate_step`, so it is right to one step; its simulations are never prolonged.
    """

    name: str
    requests: int
    replications: int
    rate_step: float
    most_requests: int = 0
    precision: float = 0.1

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the replications."""
        return tuple(range(1, self.replications + 1))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The requests that a simulation may have: the same few for all, so that they are shared.

        They do not go beyond `most_requests`, but `requests` are always among them.
        """
        found = [self.requests]
        while found[-1] * 2 <= self.most_requests:
            found.append(found[-1] * 2)
        return tuple(found)

    def length(self, needed: float) -> int:
        """The shortest length of at least `needed` requests, or the longest that there is."""
        return next((one for one in self.lengths if one >= needed), self.lengths[-1])


#: `full` is for results to keep, `quick` for a look, `ci` for finding out whether everything works.
BUDGETS: Mapping[str, Budget] = {
    one.name: one
    for one in (
        Budget(name="full", requests=3_000, replications=6, rate_step=1.07, most_requests=24_000),
        Budget(name="quick", requests=3_000, replications=4, rate_step=1.15),
        Budget(name="ci", requests=300, replications=2, rate_step=1.40),
    )
}


def budget(name: str) -> Budget:
    """The budget called `name`. Raises InputError for a name that is not known."""
    if name not in BUDGETS:
        raise InputError(f"unknown budget '{name}'; known are {', '.join(BUDGETS)}")
    return BUDGETS[name]
