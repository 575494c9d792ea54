"""The results of experiments: figures to compare with the paper, and values to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from accelflow.findings.estimate import Estimate
from accelflow.findings.finding import Finding
from accelflow.findings.targets import targets
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition, Row
from accelflow.reproduce.figures import (
    Cells,
    of_row,
    of_service,
    places_of,
    requests_of,
    saturated,
    too_little,
)
from accelflow.reproduce.reasons import reasons
from accelflow.reproduce.searches import resolution
from accelflow.reproduce.tables import Table
from accelflow.reproduce.words import Statement, judge

__all__ = ["ExperimentResult", "Shown", "Statement", "of_cells", "of_table"]

#: The largest number of seeds that are listed one by one in a text.
_MOST_LISTED: Final = 8


@dataclass(frozen=True)
class Shown:
    """A measured `value` to draw: one `measure` of one service under one system at one point.

    `point` is the label of one setting of the experiment's varied parameter, such as a load.
    `value` is None if the measure does not exist. `saturated` is true if the system could not keep
    up.
    """

    point: str
    system: str
    service: str
    measure: str
    value: Estimate | None
    saturated: bool


@dataclass(frozen=True, kw_only=True)
class ExperimentResult:
    """All results of one experiment.

    `definition` is the experiment. Each replication has between `requests` and `most_requests`
    requests for a service with the mean rate, as many as the figures' precision needed; other
    services have requests in proportion to their rates. In each simulation, the first tenth of the
    requests is warm-up and not counted; `warmup_requests` is this tenth of `requests`. `seeds` are
    the replications' seeds. `findings` compare our figures with the paper's. `statements` has the
    paper's statements in words, with whether they hold. `shown` has the values to draw, and
    `by_cell` the same values by (point, system, service, measure). `table` is the table of an
    experiment without simulations, and otherwise None.

    If `longest_run` is not None, a replication with more than `requests` requests consists of
    several simulations: those after the first have `longest_run` requests each
    (:meth:`accelflow.reproduce.Budget.runs`).
    """

    definition: Definition
    requests: int
    most_requests: int
    warmup_requests: int
    seeds: tuple[int, ...]
    findings: tuple[Finding, ...]
    statements: tuple[Statement, ...] = ()
    shown: tuple[Shown, ...] = ()
    table: Table | None = None
    by_cell: Mapping[tuple[str, str, str, str], Shown] = field(default_factory=dict)
    longest_run: int | None = None

    @property
    def requests_text(self) -> str:
        """The number of requests of each replication as text, such as ``3,000 to 24,000``."""
        if self.most_requests == self.requests:
            return f"{self.requests:,}"
        return f"{self.requests:,} to {self.most_requests:,}"

    @property
    def replications_text(self) -> str:
        """The seeds as text, such as ``seeds 1, 2``.

        If replications consist of several simulations, the text instead has the number of
        replications and the largest number of requests of a simulation.
        """
        if self.longest_run is not None and self.longest_run < self.most_requests:
            return (
                f"{len(self.seeds)} replications, made of simulations of at most "
                f"{self.longest_run:,}"
            )
        if len(self.seeds) > _MOST_LISTED:
            return f"seeds {self.seeds[0]} to {self.seeds[-1]}"
        return f"seeds {', '.join(map(str, self.seeds))}"

    @property
    def own(self) -> bool:
        """Whether some of our figures have no figure of the paper beside them.

        This is so for a user's workload, which the paper did not use.
        """
        return any(finding.paper is None for finding in self.findings)

    @property
    def services(self) -> list[str]:
        """The names of the services that took part, in order of first appearance."""
        return list(dict.fromkeys(shown.service for shown in self.shown))


def of_table(definition: Definition, table: Table) -> ExperimentResult:
    """Return the results of an experiment without simulations, from its computed `table`."""

    def computed(row: Row) -> Finding:
        value = table.figures.get(row.measure)
        ours = None if value is None else Estimate.computed(value)
        others = table.also.get(row.measure, ())
        also = tuple((says, Estimate.computed(other)) for says, other in others)
        return _beside_the_paper(row, ours, experiment=definition.name, also=also)

    return ExperimentResult(
        definition=definition,
        requests=0,
        most_requests=0,
        warmup_requests=0,
        seeds=(),
        findings=tuple(computed(row) for row in definition.rows),
        table=table,
    )


def of_cells(definition: Definition, cells: Cells, budget: Budget) -> ExperimentResult:
    """Return the results of an experiment from the results of its simulations, `cells`."""
    shown = tuple(_shown(definition, cells))
    budget = budget.for_experiment(long_run=definition.long_run, tails=definition.tails)
    fewest, most = requests_of(cells, cells)
    if not most:  # searches that found nothing
        fewest = most = budget.requests
    return ExperimentResult(
        definition=definition,
        requests=fewest,
        most_requests=most,
        warmup_requests=fewest // 10,
        seeds=budget.seeds,
        longest_run=budget.longest_run,
        findings=tuple(_finding(definition, row, cells, budget) for row in definition.rows),
        statements=tuple(judge(check, cells) for check in definition.checks),
        shown=shown,
        by_cell={(cell.point, cell.system, cell.service, cell.measure): cell for cell in shown},
    )


def _shown(definition: Definition, cells: Cells) -> list[Shown]:
    found = []
    for (point, system), runs in cells.items():
        for service in runs[0]:
            stuck = any(run[service].get("saturated") for run in runs)
            for measure in definition.measures:
                value = of_service(measure, runs, service)
                found.append(Shown(point, system, service, measure, value, stuck))
    return found


def _finding(definition: Definition, row: Row, cells: Cells, budget: Budget) -> Finding:
    lacking = too_little(row, cells)
    ours = of_row(row, cells)
    if ours is not None and ours.half_width is not None:
        # A rate is only known to one step of the search, even if all seeds agree.
        step = resolution(definition, row, ours.mean, budget)
        ours = replace(ours, half_width=max(ours.half_width, step))
    return _beside_the_paper(
        row,
        ours,
        experiment=definition.name,
        saturated=tuple(saturated(row, cells)),
        requests=requests_of(places_of(row), cells)[1],
        lacking=lacking,
        also=tuple((other.says, of_row(other.row, cells)) for other in row.also),
    )


def _beside_the_paper(row: Row, ours: Estimate | None, **more: Any) -> Finding:
    """Compare our figure for `row` with the paper's, unless the row is of another workload."""
    target = targets().get(row.target)
    if target is None:
        return Finding(key=row.target, kind="dynamic", unit=row.unit, ours=ours, **more)
    return Finding.of(target, ours, why=reasons().get(row.target), label=row.label, **more)
