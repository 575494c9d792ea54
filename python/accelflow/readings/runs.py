"""Simulations of every reading of the paper, compared with the default scenario."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from accelflow.errors import refused
from accelflow.findings import Finding
from accelflow.readings.choices import Choice, Reading
from accelflow.reproduce import Budget, Definition, ExperimentResult, Runner, Scenario, reproduce
from accelflow.reproduce.pooling import rates_shortage

__all__ = ["EXPERIMENTS", "REDUCTION", "Figure", "Readings", "Tried", "read_all"]

#: The experiments that run by default. Searches for a maximum throughput take long and are left
#: out.
EXPERIMENTS: Final = ("fig3", "fig11", "fig13", "fig17", "fig19")

#: The form of a row whose result is 1 minus a ratio of latencies.
REDUCTION: Final = "reduction"


@dataclass(frozen=True)
class Figure:
    """Our number under one reading of the paper, and the number that the paper prints.

    `finding` is the comparison of the two. `reduction` is true if they are reductions of latency: 1
    minus a ratio of latencies.
    """

    finding: Finding
    reduction: bool

    @property
    def mean(self) -> float | None:
        """Our number; None if it could not be computed."""
        return None if self.finding.ours is None else self.finding.ours.mean

    @property
    def half_width(self) -> float:
        """Half of our number's 95 % confidence interval; infinite for one seed or no number."""
        ours = self.finding.ours
        return math.inf if ours is None or ours.half_width is None else ours.half_width

    @property
    def verdict(self) -> str:
        """The verdict on our number, a value of :class:`accelflow.findings.Verdict` as text.

        Our number is undecided if its interval is too wide for a decision, or if the rate of bursty
        arrivals changed too seldom. It may have few responses beyond a percentile, since these runs
        are short; on the page of `accelflow reproduce`, it would be undecided for this reason, too.
        """
        few = rates_shortage(self.finding.lacking)
        return str(replace(self.finding, lacking=few).verdict)

    @property
    def log_ratio(self) -> float | None:
        """The natural logarithm of our number divided by the paper's: 0 if both are equal.

        For a reduction of latency r, the ratio of latencies 1 - r is used in place of r. None if
        our number is missing, if the paper reports no single number, or if one of the two numbers
        is not above 0.
        """
        reported = self.finding.paper
        if self.mean is None or reported is None or not reported.single:
            return None
        ours, paper = self.mean, self.finding.paper_value
        if self.reduction:
            ours, paper = 1.0 - ours, 1.0 - paper
        return math.log(ours / paper) if ours > 0 and paper > 0 else None

    @property
    def saturated(self) -> bool:
        """Whether a system could not keep up; our number then depends on the simulated time."""
        return bool(self.finding.saturated)

    def differs(self, other: Figure) -> bool:
        """Return whether our numbers in `self` and `other` surely differ, or only one exists.

        They surely differ if their distance exceeds the sum of the half widths of their intervals.
        """
        if self.mean is None or other.mean is None:
            return self.mean is not other.mean
        return abs(self.mean - other.mean) > self.half_width + other.half_width

    def same(self, other: Figure) -> bool:
        """Return whether our numbers in `self` and `other`, and their intervals, are the same."""
        return self.finding.ours == other.finding.ours


@dataclass(frozen=True)
class Tried:
    """The results of all experiments under one reading that is not the default.

    `reading` is one of the readings of `choice`. `figures[experiment][row]` is a result, with the
    same indices as :attr:`Readings.default`.
    """

    choice: Choice
    reading: Reading
    figures: tuple[tuple[Figure, ...], ...]


@dataclass(frozen=True)
class Readings:
    """The results of experiments under the default scenario, and under every other reading.

    A choice is something that the paper leaves open, and a reading is one possible value of it.
    `definitions` are the experiments, `choices` the choices that were varied, and `scenario` the
    default scenario. `budget` is the length and number of simulations. `default[experiment][row]`
    is a result under the default scenario, where `experiment` is an index in `definitions` and
    `row` one in that experiment's rows. `tried` has the results under each other reading.
    """

    definitions: tuple[Definition, ...]
    choices: tuple[Choice, ...]
    scenario: Scenario
    budget: Budget
    default: tuple[tuple[Figure, ...], ...]
    tried: tuple[Tried, ...]

    def of_row(self, experiment: int, row: int) -> list[tuple[Tried, Figure]]:
        """Return a pair for each reading that is not the default: its results, and one figure.

        `experiment` and `row` are the indices of the figure, as in `default`.
        """
        return [(tried, tried.figures[experiment][row]) for tried in self.tried]


def read_all(
    definitions: Sequence[Definition],
    choices: Sequence[Choice],
    *,
    budget: Budget,
    runner: Runner,
    scenario: Scenario | None = None,
) -> Readings:
    """Run experiments under a scenario, and again under every other reading of `choices`.

    `definitions` are the experiments. A reading is one possible value of a choice that the paper
    leaves open; one choice is changed at a time. `scenario` is the default one if None. A
    simulation that several readings need runs once. The results do not depend on the number of the
    runner's threads. Raises InputError for an experiment without rows, and for a scenario that
    :func:`accelflow.reproduce.reproduce` refuses.
    """
    scenario = scenario or Scenario()
    for definition in definitions:
        if not definition.rows:
            allowed = "must be an experiment that compares a number with one of the paper"
            raise refused("experiment", definition.name, allowed)

    def figures(read: Scenario) -> tuple[tuple[Figure, ...], ...]:
        outcomes = reproduce(definitions, budget=budget, runner=runner, scenario=read)
        return tuple(_figures(outcome) for outcome in outcomes)

    default = figures(scenario)
    tried = tuple(
        Tried(choice, reading, figures(reading.of(scenario)))
        for choice, reading in _alternatives(choices, scenario)
    )
    return Readings(tuple(definitions), tuple(choices), scenario, budget, default, tried)


def _alternatives(
    choices: Sequence[Choice], scenario: Scenario
) -> Iterable[tuple[Choice, Reading]]:
    return [(choice, reading) for choice in choices for reading in choice.alternatives(scenario)]


def _figures(outcome: ExperimentResult) -> tuple[Figure, ...]:
    forms = [row.form for row in outcome.definition.rows]
    return tuple(
        Figure(finding, form == REDUCTION)
        for finding, form in zip(outcome.findings, forms, strict=True)
    )
