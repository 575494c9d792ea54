"""The distance of a scenario's results from the paper's values, and its standard error."""

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

#: The experiment to whose values the parameters are fitted.
EXPERIMENT: Final = "fig11"

#: A point gets no more seeds if it is worse than the best by this many times its own noise.
_HOPELESS: Final = 3.0
#: A point gets no more seeds if its noise with `most_seeds` would be this many times too large; the
#: noise falls with the square root of the number of seeds.
_TOO_NOISY: Final = 1.5


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """The length and the number of the simulations that a search runs for each point.

    A point is a set of parameter values. `requests` is the number of requests of each service in a
    simulation. A point is first simulated with `seeds` seeds. Their number is doubled until the
    standard error of the distance between the point's results and the paper's is at most `noise`.
    The point is abandoned if it is clearly worse than the best, or if `most_seeds` seeds are not
    expected to suffice.
    """

    requests: int = 800
    seeds: int = 4
    noise: float = 0.02
    most_seeds: int = 32

    def check(self) -> None:
        """Raise InputError for the first field that is not allowed."""
        whole_number("requests", self.requests, 100, 1_000_000)
        whole_number("seeds", self.seeds, 2, self.most_seeds)
        positive_number("noise", self.noise, 10)

    def budget(self, seeds: int) -> Budget:
        """Return the budget of an experiment: `requests` of each service, and `seeds` seeds."""
        return Budget(name="fit", requests=self.requests, replications=seeds, rate_step=1.15)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A simulated point of the search: a scenario, its results, and its distance from the paper.

    `stage` names the part of the search that tried the point. `findings` compare our results with
    the values of the paper that the search fits. Each value is a reduction of latency; a reduction
    r is a latency ratio of 1 - r. `distance` is the root mean square difference between the
    logarithms of our ratios and the paper's: at 0.1, latencies differ by about a tenth. It is
    infinite if a value could not be computed. `noise` is the standard error of the distance by the
    jackknife, and `seeds` the number of seeds. `steady` is true if the distance is finite and the
    noise small enough.
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
        """Our results by the key of the paper's value; None for one that could not be computed."""
        return _means(self.findings)


@dataclass(frozen=True)
class Judge:
    """Simulates the points of a search and computes the distances of their results from the paper.

    A point is a scenario. Each is simulated with as many seeds as it needs, within `lengths`.
    `runner` runs the simulations.
    """

    runner: Runner
    lengths: Lengths

    def of(self, scenario: Scenario, stage: str, *, best: float = math.inf) -> Evaluation:
        """Simulate `scenario` with enough seeds for a steady distance; return the evaluated point.

        A distance from the paper is steady if its standard error is small enough. The number of
        seeds is doubled until the distance is steady, is clearly larger than `best`, or is not
        expected to become steady. `stage` names the part of the search.
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
        """Simulate `scenario` with `seeds` seeds; return the evaluated point.

        `stage` names the part of the search.
        """
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
