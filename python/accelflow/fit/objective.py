"""The distance of a scenario from the paper, and its standard error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from accelflow.errors import positive_number, whole_number
from accelflow.findings import Finding
from accelflow.reproduce import Budget, Runner, Scenario, load, reproduce
from accelflow.reproduce.distance import distance as distance_of
from accelflow.reproduce.distance import fitted, standard_error

__all__ = ["EXPERIMENT", "Evaluation", "Judge", "Lengths"]

#: The experiment to whose figures the parameters are fitted: AccelFlow's Fig. 11.
EXPERIMENT: Final = "fig11"

#: A point is abandoned if it is worse than the best by this many times its own noise,
_HOPELESS: Final = 3.0
#: or when its noise, which falls with the root of the seeds, would end this many times too large.
_TOO_NOISY: Final = 1.5


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """How long and how often each point of the search is simulated.

    `requests` is the number for each service in a simulation. A point begins with `seeds` seeds;
    they are doubled until the standard error of its distance is at most `noise`. It is abandoned if
    `most_seeds` are not expected to suffice.
    """

    requests: int = 800
    seeds: int = 4
    noise: float = 0.02
    most_seeds: int = 32

    def check(self) -> None:
        """Raise InputError for the first value that is not allowed."""
        whole_number("requests", self.requests, 100, 1_000_000)
        whole_number("seeds", self.seeds, 2, self.most_seeds)
        positive_number("noise", self.noise, 10)

    def budget(self, seeds: int) -> Budget:
        """Return the length and number of an experiment's simulations with `seeds` seeds."""
        return Budget(name="fit", requests=self.requests, replications=seeds, rate_step=1.15)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluated point of the search: its scenario, and its distance from the paper's figures.

    `stage` is the part of the search that proposed it. `findings` compare our figures with the
    paper's figures marked `fit`, and `rows` are our figures by key. Figures are reductions; a
    reduction r means a latency ratio of 1 - r. `distance` is the root mean square difference
    between the logarithms of our ratios and the paper's: 0.1 is about a tenth of a latency. It is
    infinite if a figure could not be computed. `noise` is its standard error over the `seeds` by
    the jackknife, and `steady` is true if it is small enough.
    """

    scenario: Scenario
    stage: str
    findings: tuple[Finding, ...]
    distance: float
    noise: float
    seeds: int
    steady: bool

    @property
    def rows(self) -> Mapping[str, float | None]:
        """Our figures by key; None for a figure that could not be computed."""
        return _means(self.findings)


@dataclass(frozen=True)
class Judge:
    """Simulates points with `runner`, each as long as `lengths` asks, and computes distances."""

    runner: Runner
    lengths: Lengths

    def of(self, scenario: Scenario, stage: str, *, best: float = math.inf) -> Evaluation:
        """Simulate a scenario with as many seeds as needed, and compare it with the paper.

        Stop early if its distance is clearly larger than `best`.
        """
        found = self.with_seeds(scenario, stage, self.lengths.seeds)
        while not found.steady and self._worth_more(found, best):
            found = self.with_seeds(scenario, stage, 2 * found.seeds)
        return found

    def _worth_more(self, found: Evaluation, best: float) -> bool:
        most = self.lengths.most_seeds
        if 2 * found.seeds > most or not math.isfinite(found.noise):
            return False
        at_most_seeds = found.noise * math.sqrt(found.seeds / most)
        hopeless = found.distance - _HOPELESS * found.noise > best
        return not hopeless and at_most_seeds <= _TOO_NOISY * self.lengths.noise

    def with_seeds(self, scenario: Scenario, stage: str, seeds: int) -> Evaluation:
        """Simulate a scenario with `seeds` seeds, and compare it with the paper."""
        (outcome,) = reproduce(
            [load(EXPERIMENT)],
            budget=self.lengths.budget(seeds),
            runner=self.runner,
            scenario=scenario,
        )
        found = fitted(outcome.findings)
        distance = distance_of(_means(found))
        noise = standard_error(found)
        return Evaluation(
            scenario=scenario,
            stage=stage,
            findings=tuple(found),
            distance=distance,
            noise=noise,
            seeds=seeds,
            steady=math.isfinite(distance) and noise <= self.lengths.noise,
        )


def _means(found: Sequence[Finding]) -> dict[str, float | None]:
    return {finding.key: None if finding.ours is None else finding.ours.mean for finding in found}
