"""Searches for the highest rate at which a service meets its SLO, over all seeds together.

At each rate that a search tries, the P99 is that of all seeds' responses together. For the
confidence interval, the search is repeated without each seed in turn (the jackknife).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from accelflow import simulation
from accelflow.errors import LEFT_OUT, refused
from accelflow.findings.targets import targets
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition, Row, Slo
from accelflow.reproduce.figures import Cells, places_of
from accelflow.reproduce.measures import ServiceRow
from accelflow.reproduce.owed import Case, cases_of, owed_us
from accelflow.reproduce.pooling import pooled
from accelflow.reproduce.runs import Plan, Services
from accelflow.reproduce.scenario import Setting

__all__ = ["SEARCHED", "resolution", "step_at", "throughput"]

#: The measure that a search finds: the highest rate in requests per second.
SEARCHED: Final = "max_rps"

#: The systems whose input queues use deadlines.
BY_DEADLINE: Final = ("accelflow_deadline", "accelflow_edf")

#: The largest error of a figure by one step of a search, as a ratio to the reported figure: less
#: than the difference with which the figure still agrees.
_ERROR: Final = 0.2

#: The seeds whose responses form one P99.
_Seeds = frozenset[int]


@dataclass
class _Search:
    """A search for the highest rate of a grid at which a service meets its SLO.

    If a rate meets the SLO, all lower rates are assumed to meet it. So bisection needs as many
    steps as the logarithm of the grid's length. Services that share a server have the same rate.
    `bases` has a simulation for each seed; equal seeds give all systems the same requests at the
    same rate.

    The first seed of a rate is simulated alone. The others are not simulated if its results show
    that the service misses its SLO at this rate. If they show that it meets the SLO by far, the
    others are put off: they are simulated only at the highest rate that the search ends with
    (`low`). If the service misses its SLO there, the search goes back to `met`, the highest rate at
    which all seeds were simulated and met it, puts off no more seeds, and looks in growing steps
    below the rate that failed, since the one it searches is mostly near. `failed` is the number of
    these steps.
    """

    bases: Mapping[int, simulation.Scenario]
    service: str
    owed_us: float
    grid: Sequence[float]
    low: int = -1
    met: int = -1
    failed: int = 0
    high: int = field(init=False)
    best: Mapping[int, ServiceRow] | None = None
    rows: dict[int, ServiceRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.high = len(self.grid)

    @property
    def ended(self) -> bool:
        return self.high - self.low <= 1 and self.low == self.met

    @property
    def next(self) -> list[simulation.Scenario]:
        """The next simulations: that of the first seed at a rate, or those of the other seeds."""
        rate_rps = self.grid[self._place]
        return [replace(self.bases[seed], rate_rps=rate_rps) for seed in self._next_seeds]

    @property
    def _place(self) -> int:
        """The place of the next rate in the grid."""
        if self.high - self.low <= 1:
            return self.low
        middle = (self.low + self.high) // 2
        return max(middle, self.high - 2**self.failed) if self.failed else middle

    @property
    def _next_seeds(self) -> list[int]:
        left = [seed for seed in self.bases if seed not in self.rows]
        return left[:1] if not self.rows and self._place != self.low else left

    def look(self, results: Sequence[Services]) -> None:
        """Take the results of the simulations in `next`."""
        rows = [services[self.service] for services in results]
        self.rows.update(zip(self._next_seeds, rows, strict=True))
        place = self._place
        if self._is_missed():
            self.failed += self.failed > 0 or place == self.low
            self.high, self.low = place, self.met if self.failed else self.low
        elif len(self.rows) == len(self.bases):
            self.low, self.met, self.best = place, place, self.rows
        elif not self.failed and self._is_met_by_far():
            self.low = place
        else:
            return
        self.rows = {}

    def _is_missed(self) -> bool:
        """Return whether the service misses its SLO, whatever the seeds without results show."""
        rows = list(self.rows.values())
        if any(row["saturated"] for row in rows):
            return True
        if len(rows) == len(self.bases):
            p99_us = pooled("p99_us", rows)
            return p99_us is None or p99_us > self.owed_us
        return _late(rows, self.owed_us) > 0.01 * _most_responses(rows[0]) * len(self.bases)

    def _is_met_by_far(self) -> bool:
        """Return whether at most 0.5 % of the responses of the seeds simulated so far are late."""
        rows = list(self.rows.values())
        p99_us = pooled("p99_us", rows)
        late = _late(rows, self.owed_us)
        return p99_us is not None and late <= 0.005 * _most_responses(rows[0]) * len(rows)

    @property
    def found(self) -> Mapping[int, ServiceRow]:
        """The results at the highest rate that meets the SLO, by seed; empty if none meets it."""
        if self.best is None:
            return {}
        rate_rps = self.grid[self.low]
        return {seed: {**row, SEARCHED: rate_rps} for seed, row in self.best.items()}


def _late(rows: Sequence[ServiceRow], owed_us: float) -> int:
    """Return how many of the stored response times in `rows` are longer than `owed_us`."""
    return sum(int(np.count_nonzero(np.asarray(row["tail_us"]) > owed_us)) for row in rows)


def _most_responses(row: ServiceRow) -> int:
    """Return a bound of the responses that count for any seed, from the results of one seed.

    All seeds have the same number of requests that count. Each of them has a response, an error or
    a message that timed out.
    """
    most: int = row["completed"] + row["errors"] + row["timed_out"]
    return most


def throughput(definition: Definition, scenario: Setting, budget: Budget) -> Plan[Cells]:
    """Return the plan that searches for each service's highest rate within its SLO.

    A plan is a generator that asks for simulations (:data:`accelflow.reproduce.runs.Plan`). This
    one searches for every system and point of the experiment `definition`. Raises InputError if the
    experiment has no SLO.
    """
    slo = definition.slo
    if slo is None:
        allowed = "must be given, since the experiment searches for a throughput"
        raise refused(f"{definition.name}.toml: slo", LEFT_OUT, allowed)
    cases = cases_of(definition, budget)
    owed = yield from owed_us(definition, slo, scenario, budget, cases)
    by_place: dict[tuple[str, str], dict[_Seeds, list[_Search]]] = {}
    for (point, system, _), owes in zip(cases, owed, strict=True):
        place = point.label, system
        if place in by_place:
            continue
        own = {case[2]: idle for case, idle in zip(cases, owed, strict=True) if _at(case) == place}
        mean = {name: _mean([idle[name] for idle in own.values()]) for name in owes}
        bases = {
            seed: scenario.experiment(system, definition.setup, point, budget.requests, seed)
            for seed in budget.seeds
        }
        if system in BY_DEADLINE:
            bases = {seed: replace(base, slo_us=mean) for seed, base in bases.items()}
        grid = _grid(slo, step_at(definition, place, budget))
        by_place[place] = {
            seeds: [_search(bases, name, own, seeds, grid) for name in owes]
            for seeds in _subsets(budget.seeds)
        }
    groups = [group for by_seeds in by_place.values() for group in by_seeds.values()]
    yield from _bisect([search for group in groups for search in group])
    return {
        place: [_of_seed(by_seeds, seed) for seed in budget.seeds]
        for place, by_seeds in by_place.items()
    }


def _at(case: Case) -> tuple[str, str]:
    return case[0].label, case[1]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _subsets(seeds: Sequence[int]) -> list[_Seeds]:
    """Return the sets of seeds to search with: all seeds, and all but each single one."""
    everyone = frozenset(seeds)
    return [everyone, *(everyone - {seed} for seed in seeds if len(seeds) > 1)]


def _search(
    bases: Mapping[int, simulation.Scenario],
    service: str,
    owed: Mapping[int, Mapping[str, float]],
    seeds: _Seeds,
    grid: Sequence[float],
) -> _Search:
    chosen = {seed: base for seed, base in bases.items() if seed in seeds}
    owes_us = _mean([owed[seed][service] for seed in chosen])
    if all(base.placement == "isolated" for base in chosen.values()):
        chosen = {seed: _alone(base, service) for seed, base in chosen.items()}
    return _Search(chosen, service, owes_us, grid)


def _alone(base: simulation.Scenario, service: str) -> simulation.Scenario:
    """Return the simulation `base` with `service` alone on its server."""
    slo_us = {name: us for name, us in base.slo_us.items() if name == service}
    return replace(base, services=(service,), slo_us=slo_us)


def _bisect(searches: Iterable[_Search]) -> Plan[None]:
    while open_searches := [search for search in searches if not search.ended]:
        wanted = [search.next for search in open_searches]
        results = yield [experiment for these in wanted for experiment in these]
        place = 0
        for search, these in zip(open_searches, wanted, strict=True):
            search.look(results[place : place + len(these)])
            place += len(these)


def _of_seed(by_seeds: Mapping[_Seeds, Sequence[_Search]], seed: int) -> Services:
    """Return one seed's results by service, at the peak of all seeds and of the other subsets."""
    everyone = max(by_seeds, key=len)
    rows: dict[str, ServiceRow] = {}
    for index, search in enumerate(by_seeds[everyone]):
        peaks = {seeds: searches[index].found.get(seed) for seeds, searches in by_seeds.items()}
        rows[search.service] = {
            **(peaks[everyone] or {"service": search.service, SEARCHED: None}),
            "seed": seed,
            "peaks": peaks,
        }
    return rows


def step_at(definition: Definition, place: tuple[str, str], budget: Budget) -> float:
    """Return the ratio of neighbouring rates that a search tries at `place`, (point, system).

    It is the budget's `rate_step`, or less if an error of one such step could decide whether our
    figure agrees with the paper's.
    """
    steps = [
        1 + _ERROR * reported.scale / _slope(row, reported.value)
        for row in definition.rows
        if row.measure == SEARCHED and place in places_of(row)
        if (reported := targets().get(row.target)) is not None
    ]
    return min([budget.rate_step, *steps])


def _slope(row: Row, figure: float) -> float:
    """Return the change of the figure relative to the relative change of a rate."""
    return abs(1 - figure) if row.form == "reduction" else abs(figure)


def resolution(definition: Definition, row: Row, figure: float, budget: Budget) -> float:
    """Return how far `figure` is wrong if a search for a rate ends one step too high or too low.

    `figure` is the figure of `row`, and the result has its unit. 0 if the figure does not depend on
    a search.
    """
    if definition.kind != "throughput" or row.measure != SEARCHED:
        return 0.0
    step = max(step_at(definition, place, budget) for place in places_of(row))
    return (step - 1) * _slope(row, figure)


def _grid(slo: Slo, step: float) -> list[float]:
    """Return the rates to search, from the lowest to the highest, each `step` times the last."""
    steps = math.floor(math.log(slo.high_rps / slo.low_rps) / math.log(step))
    return [slo.low_rps * step**power for power in range(steps + 1)]
