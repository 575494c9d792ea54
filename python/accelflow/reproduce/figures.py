"""Figures of several seeds with their intervals, as the rows of an experiment define them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from accelflow.reproduce.definitions import Cell, Row
from accelflow.reproduce.measures import ServiceRow, figure
from accelflow.reproduce.pooling import exists, pooled, shortage
from accelflow.reproduce.runs import Services
from accelflow.reproduce.statistics import Estimate, jackknife

__all__ = [
    "Cells",
    "difference",
    "of_row",
    "of_service",
    "of_system",
    "places_of",
    "requests_of",
    "saturated",
    "too_little",
]

#: By (point, system), the services' results of each seed.
Cells = dict[tuple[str, str], list[Services]]
#: The place of a simulated system in :data:`Cells`.
Place = tuple[str, str]


def places_of(row: Row, point: str = "") -> list[Place]:
    """Where the results are that `row` is a figure of; those of a trend are at `point`."""
    cells: list[Cell] = [row.of, *([row.to] if row.to else [])]
    return [(cell.point or point, cell.system) for cell in cells]


def saturated(row: Row, cells: Cells) -> list[str]:
    """The systems of `row` that were saturated in at least one run."""
    found = [
        system
        for point, system in places_of(row)
        if any(one.get("saturated") for run in cells[point, system] for one in run.values())
    ]
    return list(dict.fromkeys(found))


def of_service(measure: str, runs: Sequence[Services], service: str) -> Estimate | None:
    """`measure` of one service of one system."""
    rows = _rows(runs, service)
    return jackknife(lambda kept: _value(measure, rows, kept), len(rows))


def of_system(measure: str, runs: Sequence[Services]) -> Estimate | None:
    """The mean of `measure` over the services of one system."""
    return jackknife(lambda kept: _of_system(measure, runs, kept), len(runs))


def of_row(row: Row, cells: Cells, point: str = "") -> Estimate | None:
    """The figure of `row`; that of a trend at `point`."""
    return jackknife(
        lambda kept: _of_row(row, cells, point, kept), _replications(row, cells, point)
    )


def difference(measure: str | Row, cells: Cells, first: Place, second: Place) -> Estimate | None:
    """How much larger a figure is in the second place: of two systems, or of a trend's points.

    Both leave out the same seeds, so that what the places have in common cancels.
    """

    def figure_at(place: Place, kept: Sequence[int]) -> float | None:
        if isinstance(measure, Row):
            return _of_row(measure, cells, place[0], kept)
        return _of_system(measure, cells[place], kept)

    def found(kept: Sequence[int]) -> float | None:
        one, other = figure_at(first, kept), figure_at(second, kept)
        return None if one is None or other is None else other - one

    if isinstance(measure, Row):
        replications = _replications(measure, cells, first[0])
    else:
        replications = len(cells[first])
    return jackknife(found, replications)


def too_little(row: Row, cells: Cells, point: str = "") -> str:
    """What the figure of `row` rests on too little of, or nothing."""
    found = [_too_little(row.measure, cells[place]) for place in places_of(row, point)]
    return next((text for text in found if text), "")


def requests_of(places: Iterable[Place], cells: Cells) -> tuple[int, int]:
    """The fewest and the most requests that simulations at `places` had."""
    found = [
        one["run"]["requests"]
        for place in places
        for run in cells[place]
        for one in run.values()
        if "run" in one
    ]
    return (min(found, default=0), max(found, default=0))


def _too_little(measure: str, runs: Sequence[Services]) -> str:
    return shortage(measure, [_rows(runs, service) for service in runs[0]])


def _rows(runs: Sequence[Services], service: str) -> list[ServiceRow]:
    return [run[service] for run in runs]


def _replications(row: Row, cells: Cells, point: str) -> int:
    return len(cells[places_of(row, point)[0]])


def _of_system(measure: str, runs: Sequence[Services], kept: Sequence[int]) -> float | None:
    return figure("value", "mean", _values(measure, runs, kept), None)


def _of_row(row: Row, cells: Cells, point: str, kept: Sequence[int]) -> float | None:
    mine, *others = (_values(row.measure, cells[place], kept) for place in places_of(row, point))
    return figure(row.form, row.summary, mine, others[0] if others else None)


def _values(
    measure: str, runs: Sequence[Services], kept: Sequence[int]
) -> Mapping[str, float | None]:
    """`measure` by service over the seeds that are kept."""
    return {service: _value(measure, _rows(runs, service), kept) for service in runs[0]}


def _value(measure: str, rows: Sequence[ServiceRow], kept: Sequence[int]) -> float | None:
    if not exists(measure, rows):
        return None
    return pooled(measure, [rows[one] for one in kept])
