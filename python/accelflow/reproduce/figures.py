"""An experiment's figures and their intervals, computed from the results of several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from accelflow.findings.estimate import Estimate
from accelflow.findings.statistics import Figure, jackknife
from accelflow.reproduce.definitions import Row
from accelflow.reproduce.measures import ServiceRow, figure
from accelflow.reproduce.pooling import exists, pooled, shortage
from accelflow.reproduce.runs import Services

__all__ = [
    "Cells",
    "by_service",
    "difference_of_measures",
    "difference_of_points",
    "difference_of_systems",
    "lead",
    "of_row",
    "of_service",
    "of_system",
    "places_of",
    "requests_of",
    "saturated",
    "too_little",
]

#: The results of all services for each seed, by (point, system).
Cells = dict[tuple[str, str], list[Services]]
#: A key of :data:`Cells`: (point, system).
Place = tuple[str, str]


def places_of(row: Row, point: str = "", other: str = "") -> list[Place]:
    """Return the keys (point, system) of the results from which the figure of `row` is computed.

    The first key is that of the measured result. If the row compares this result with another one,
    the other's key comes second. In a statement about a trend, the row names no points: `point` is
    then the point of the first result, and `other` that of the second (empty: also `point`).
    """
    found = [(row.of.point or point, row.of.system)]
    if row.to is not None:
        found.append((row.to.point or other or point, row.to.system))
    return found


def saturated(row: Row, cells: Cells) -> list[str]:
    """Return the systems in `row` that were saturated in at least one of their simulations."""
    found = [
        system
        for point, system in places_of(row)
        if any(service.get("saturated") for run in cells[point, system] for service in run.values())
    ]
    return list(dict.fromkeys(found))


def of_service(measure: str, runs: Sequence[Services], service: str) -> Estimate | None:
    """Return `measure` of one service under one system, with its confidence interval.

    `runs` has the results of each seed. The interval is a jackknife interval over the seeds. None
    if a seed lacks the measure.
    """
    rows = _rows(runs, service)
    return jackknife(lambda kept: _value(measure, rows, kept), len(rows))


def of_system(measure: str, runs: Sequence[Services]) -> Estimate | None:
    """Return the mean of `measure` over one system's services, with its confidence interval.

    `runs` has the results of each seed. The interval is a jackknife interval over the seeds. None
    if a service lacks the measure.
    """
    return jackknife(lambda kept: _of_system(measure, runs, kept), len(runs))


def of_row(row: Row, cells: Cells, point: str = "", other: str = "") -> Estimate | None:
    """Compute the figure that `row` defines from the results `cells`, with its confidence interval.

    None if a result lacks a value. If the row belongs to a statement about a trend, the figure is
    that at `point`, compared with `other` (see :func:`places_of`).
    """
    places = places_of(row, point, other)
    return jackknife(lambda kept: _of_row(row, cells, places, kept), len(cells[places[0]]))


def by_service(row: Row, cells: Cells) -> dict[str, Estimate | None]:
    """Return the figure that `row` defines for each service alone, by the service's name."""
    runs = cells[places_of(row)[0]]
    return {name: _of_services(row, cells, [name], []) for name in runs[0]}


def lead(row: Row, cells: Cells, service: str, others: Sequence[str]) -> Estimate | None:
    """Return the figure of `row` for `service` alone, minus the figure for the services `others`.

    The figure for several services combines them as `row` does, such as by their mean. None if a
    service lacks a value.
    """
    return _of_services(row, cells, [service], others)


def difference_of_systems(
    measure: str, cells: Cells, first: Place, second: Place
) -> Estimate | None:
    """Return a measure under the system `second` minus that under `first`, with its interval.

    `first` and `second` are pairs (point, system). The measure is a mean over the services. For the
    confidence interval, the jackknife leaves out the same seed for both, so that variation which
    both have in common cancels. None if a service lacks the measure.
    """
    return _difference(
        lambda kept: _of_system(measure, cells[first], kept),
        lambda kept: _of_system(measure, cells[second], kept),
        len(cells[first]),
    )


def difference_of_measures(first: str, second: str, runs: Sequence[Services]) -> Estimate | None:
    """Return the measure `second` minus the measure `first`, both of one system, with the interval.

    `runs` has the system's results of each seed. Both measures are means over the services. None if
    a service lacks one of them.
    """
    return _difference(
        lambda kept: _of_system(first, runs, kept),
        lambda kept: _of_system(second, runs, kept),
        len(runs),
    )


def difference_of_points(
    row: Row, cells: Cells, first: tuple[str, str], second: tuple[str, str]
) -> Estimate | None:
    """Return how the figure of `row` changes from one point of a trend to another.

    The result is the figure at `second` minus that at `first`; None if one of them is missing. Each
    of the two is a pair: a point, and the point with which it is compared.
    """
    places = [places_of(row, *first), places_of(row, *second)]
    return _difference(
        lambda kept: _of_row(row, cells, places[0], kept),
        lambda kept: _of_row(row, cells, places[1], kept),
        len(cells[places[0][0]]),
    )


def _difference(first: Figure, second: Figure, replications: int) -> Estimate | None:
    def found(kept: Sequence[int]) -> float | None:
        one, other = first(kept), second(kept)
        return None if one is None or other is None else other - one

    return jackknife(found, replications)


def too_little(row: Row, cells: Cells) -> str:
    """Return why the figure of `row` cannot be judged, such as too few samples; else an empty text.

    `row` must have figures, so it must not be a statement about a trend.
    """
    measured = zip(_measures(row), places_of(row), strict=False)
    found = [_too_little(measure, cells[place]) for measure, place in measured]
    return next((text for text in found if text), "")


def requests_of(places: Iterable[Place], cells: Cells) -> tuple[int, int]:
    """Return the smallest and the largest number of requests of the simulations at `places`.

    A simulation's number is that of each service or, if rates differ, of a service with the mean
    rate. `places` has pairs (point, system). Both numbers are 0 without simulations.
    """
    found = [
        service["run"]["requests"]
        for place in places
        for run in cells[place]
        for service in run.values()
        if "run" in service
    ]
    return (min(found, default=0), max(found, default=0))


def _too_little(measure: str, runs: Sequence[Services]) -> str:
    return shortage(measure, [_rows(runs, service) for service in runs[0]])


def _rows(runs: Sequence[Services], service: str) -> list[ServiceRow]:
    return [run[service] for run in runs]


def _of_system(measure: str, runs: Sequence[Services], kept: Sequence[int]) -> float | None:
    return figure("value", "mean", _values(measure, runs, kept), None)


def _of_row(row: Row, cells: Cells, places: Sequence[Place], kept: Sequence[int]) -> float | None:
    mine, *others = (
        _values(measure, cells[place], kept)
        for measure, place in zip(_measures(row), places, strict=False)
    )
    return figure(row.form, row.summary, mine, others[0] if others else None)


def _measures(row: Row) -> tuple[str, str]:
    """Return the measure of `row`'s figure, and that of its comparison."""
    return row.measure, row.to_measure or row.measure


def _of_services(
    row: Row, cells: Cells, services: Sequence[str], less: Sequence[str]
) -> Estimate | None:
    """Return the figure of `row` for `services` alone, minus that for the services `less`."""
    places = places_of(row)

    def of(names: Sequence[str], kept: Sequence[int]) -> float | None:
        chosen = [
            {
                name: value
                for name, value in _values(measure, cells[place], kept).items()
                if name in names
            }
            for measure, place in zip(_measures(row), places, strict=False)
        ]
        return figure(row.form, row.summary, chosen[0], chosen[1] if row.to else None)

    def found(kept: Sequence[int]) -> float | None:
        value, other = of(services, kept), of(less, kept) if less else 0.0
        return None if value is None or other is None else value - other

    return jackknife(found, len(cells[places[0]]))


def _values(
    measure: str, runs: Sequence[Services], kept: Sequence[int]
) -> Mapping[str, float | None]:
    """Return `measure` by service over the seeds with the indices `kept`."""
    return {service: _value(measure, _rows(runs, service), kept) for service in runs[0]}


def _value(measure: str, rows: Sequence[ServiceRow], kept: Sequence[int]) -> float | None:
    if not exists(measure, rows):
        return None
    return pooled(measure, [rows[seed] for seed in kept])
