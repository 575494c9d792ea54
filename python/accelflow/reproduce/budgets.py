"""Budgets: how long and how often simulations run, and how many samples a figure needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from accelflow.errors import one_of

__all__ = ["BUDGETS", "MIN_BEYOND", "MIN_DWELLS", "Budget", "budget"]

#: The least number of responses, over all seeds, beyond a percentile that we report. Of n
#: responses, (1 - q) n lie beyond the percentile q, plus or minus the square root of this number:
#: 10 % for 100.
MIN_BEYOND: Final = 100

#: The least number of changes of the arrival rate, over all seeds, for arrivals with a changing
#: rate. The rarest state of `alibaba`, which makes most of its tail, has a share of 1 % and so
#: occurs three times.
MIN_DWELLS: Final = 300


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The lengths and seeds of an experiment's simulations, and the precision of its figures.

    `name` identifies the budget. A simulation's length is its number of requests of each service.
    (If rates differ, it is that of a service with the mean rate, and the others have requests in
    proportion.) The first tenth is warm-up and not counted. Each simulation is repeated with the
    seeds 1 to `replications`.

    `requests` is the first length. The length is doubled, up to `most_requests`, until our figures
    are precise: half of each compared figure's 95 % interval is at most `precision` (a share) of
    the paper's figure. With `tail_precision`, half of the interval of each service's P99 must also
    be at most this share of the P99.

    With `longest_run`, the length is not doubled. Instead, a replication that needs more requests
    than its first simulation of `requests` gets further simulations of `longest_run` requests each,
    up to `most_requests` in all. The seeds of the further simulations begin after `replications`,
    so no simulation is repeated.

    `rate_step` is for experiments that search for a maximum rate: two neighbours among the rates
    that a search tries differ by this factor, or by a smaller one if a compared figure needs it.
    Searches never prolong their simulations.

    Searches, and experiments without P99s, use the budget `without_tails` instead, if it is not
    None.
    """

    name: str
    requests: int
    replications: int
    rate_step: float
    most_requests: int = 0
    precision: float = 0.1
    tail_precision: float | None = None
    longest_run: int | None = None
    without_tails: Budget | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the replications, 1 to `replications`.

        A replication that consists of several simulations has the seed of its first.
        """
        return tuple(range(1, self.replications + 1))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of requests that a replication may have, in ascending order.

        The first is `requests`, and each of the others is twice the one before, up to
        `most_requests`. Such coarse steps let experiments share simulations. With `longest_run`,
        each is larger than the one before by `longest_run` instead.
        """
        if self.longest_run is not None:
            most = max(self.requests, self.most_requests)
            return tuple(range(self.requests, most + 1, self.longest_run))
        found = [self.requests]
        while found[-1] * 2 <= self.most_requests:
            found.append(found[-1] * 2)
        return tuple(found)

    def runs(self, seed: int, requests: int) -> list[tuple[int, int]]:
        """Return the simulations that make up one replication, as pairs (seed, requests).

        `seed` identifies the replication and is one of :attr:`seeds`. `requests` is the number of
        requests of the whole replication.
        """
        if self.longest_run is None:
            return [(seed, requests)]
        further = (requests - self.requests) // self.longest_run
        seeds = (seed + self.replications * run for run in range(1, further + 1))
        return [(seed, self.requests), *((other, self.longest_run) for other in seeds)]

    def length(self, needed: float) -> int:
        """Return the smallest of :attr:`lengths` that is at least `needed`, or else the largest."""
        return next((length for length in self.lengths if length >= needed), self.lengths[-1])

    def for_experiment(self, *, long_run: bool, tails: bool) -> Budget:
        """Return the budget of an experiment with the given properties.

        `long_run` marks an experiment about rare events: its shortest simulations have four times
        as many requests. `tails` is true for an experiment that shows P99s; others use the budget
        `without_tails`, if this budget has one.
        """
        if not tails and self.without_tails is not None:
            return self.without_tails.for_experiment(long_run=long_run, tails=tails)
        if not long_run:
            return self
        requests = 4 * self.requests
        longest = None if self.longest_run is None else max(self.longest_run, requests)
        most = max(self.most_requests, requests)
        return replace(self, requests=requests, most_requests=most, longest_run=longest)


_MEDIUM: Final = Budget(
    name="medium", requests=3_000, replications=6, rate_step=1.02, most_requests=24_000
)

#: The budgets by name: `full` for results to keep, which aims at P99s within 2 %, `medium`, which
#: aims at figures within 10 % of the paper's, `quick` for a first look, `ci` for tests.
BUDGETS: Mapping[str, Budget] = {
    known.name: known
    for known in (
        Budget(
            name="full",
            requests=3_000,
            replications=16,
            rate_step=1.02,
            most_requests=96_000,
            tail_precision=0.02,
            longest_run=6_000,
            without_tails=_MEDIUM,
        ),
        _MEDIUM,
        Budget(name="quick", requests=3_000, replications=4, rate_step=1.15),
        Budget(name="ci", requests=300, replications=2, rate_step=1.40),
    )
}


def budget(name: str) -> Budget:
    """Return the budget called `name`. Raises InputError for an unknown name."""
    return BUDGETS[one_of("budget", name, BUDGETS)]
