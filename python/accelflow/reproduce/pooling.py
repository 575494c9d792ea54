"""Measures of a service over several seeds, and checks that the samples are large enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow import chip, simulation
from accelflow.report.tails import pooled_percentile
from accelflow.reproduce.budgets import MIN_BEYOND, MIN_DWELLS
from accelflow.reproduce.measures import OF_ENERGY, ServiceRow, read

__all__ = [
    "PERCENTILES",
    "TAIL_SHARE",
    "beyond",
    "dwell_s",
    "dwells_of",
    "exists",
    "pooled",
    "rates_lacking",
    "rates_shortage",
    "shortage",
    "tail_share",
    "together",
]

#: The percentiles among the measures, in thousandths (whole numbers, so that ranks are exact).
PERCENTILES: Final = {"p99_us": 990, "p999_us": 999}

#: The share of a simulation's longest response times that is stored for percentiles over all seeds.
#: It is enough for the P99 of ten seeds, even if all responses beyond P99 belong to one seed.
TAIL_SHARE: Final = 0.1

#: The kind of arrivals that the workload describes.
_OWN: Final = "own"

#: The words for changes of the arrival rate in a text on too small samples.
_RATES: Final = "rates of the arrivals"

#: The least number of response times that are stored, since searches pool many short simulations.
_KEPT_ALWAYS: Final = 1_000

#: The member of a replication's row with the rows of its simulations, if it has several.
_PARTS: Final = "parts"


def together(runs: Sequence[Mapping[str, ServiceRow]]) -> Mapping[str, ServiceRow]:
    """Merge the simulations `runs` of one replication into one result for each service.

    A service's merged result has the sum of ``completed`` and, under ``run``, the sums of requests.
    ``saturated`` is that of the first simulation that was saturated, or None. All other measures
    stay in the single results, from which :func:`pooled` computes them.
    """
    if len(runs) == 1:
        return runs[0]
    found: dict[str, ServiceRow] = {}
    for service, first in runs[0].items():
        rows = [run[service] for run in runs]
        counts = ("requests", "warmup_requests")
        found[service] = {
            "service": service,
            "completed": sum(row["completed"] for row in rows),
            "saturated": next((row["saturated"] for row in rows if row["saturated"]), None),
            "run": first["run"] | {key: sum(row["run"][key] for row in rows) for key in counts},
            _PARTS: rows,
        }
    return found


def pooled(measure: str, rows: Sequence[ServiceRow]) -> float | None:
    """Return one `measure` of a service over several seeds; None if a seed lacks it.

    `rows` has the service's results, one for each seed. Percentiles and the mean latency are
    computed from the responses of all seeds together. Any other measure is the mean over the seeds.
    If `rows` are those of a search, the results are those at the highest rate that meets the SLO
    with these seeds; None if no rate meets it.
    """
    rows = [part for row in _at_peak(rows) for part in row.get(_PARTS, (row,))]
    if not rows or not all("mean_us" in row for row in rows):  # no rate was within the SLO
        return None
    if measure in PERCENTILES:
        none = any(not row["completed"] for row in rows)
        return None if none else pooled_percentile(PERCENTILES[measure], rows)
    values = [value for value in (read(measure, row) for row in rows) if value is not None]
    if not values or len(values) < len(rows):
        return None
    if measure != "mean_us":
        return math.fsum(values) / len(values)
    counts: list[int] = [row["completed"] for row in rows]
    return math.fsum(a * b for a, b in zip(values, counts, strict=True)) / sum(counts)


def _at_peak(rows: Sequence[ServiceRow]) -> Sequence[ServiceRow]:
    """Return a search's results at the peak of the seeds in `rows`, or `rows` without a search.

    Empty if no rate met the SLO.
    """
    if not rows or "peaks" not in rows[0]:
        return rows
    seeds = frozenset(row["seed"] for row in rows)
    found = [row["peaks"].get(seeds) for row in rows]
    return [row for row in found if row is not None] if all(found) else []


def tail_share(experiment: simulation.Scenario) -> float:
    """Return the share (0 to 1) of response times, longest first, that a simulation must store.

    The stored ones are enough to compute P99 and P99.9 over up to ten seeds together.
    """
    counted = experiment.requests - experiment.warmup_requests
    return max(TAIL_SHARE, min(1.0, _KEPT_ALWAYS / counted))


def exists(measure: str, rows: Sequence[ServiceRow]) -> bool:
    """Return whether there are enough responses to report `measure`.

    Only for P99.9 can there be too few: at least 100 responses must be longer than it. `rows` has
    the service's results of each seed.
    """
    return measure != "p999_us" or beyond(measure, rows) >= MIN_BEYOND


def beyond(measure: str, rows: Sequence[ServiceRow]) -> float:
    """Return the number of responses beyond the percentile `measure`, over all seeds in `rows`.

    `measure` is a key of :data:`PERCENTILES`.
    """
    count: int = sum(row.get("completed", 0) for row in rows)
    return count * (1000 - PERCENTILES[measure]) / 1000


def dwells_of(experiment: simulation.Scenario) -> float:
    """Return how often the arrival rate is expected to change in one simulation, after warm-up.

    A simulation with few changes does not sample all rates of bursty arrivals. The result is
    infinite for a constant rate, where every simulation is enough.
    """
    return _dwells(
        dwell_s(experiment),
        experiment.requests - experiment.warmup_requests,
        experiment.mean_rate_rps,
    )


def dwell_s(experiment: simulation.Scenario) -> float | None:
    """Return the mean time in seconds for which the arrival rate stays the same.

    None for a constant rate. If a workload's file states arrivals for single services, the result
    is the longest time of all services.
    """
    kind = experiment.arrival_kind
    if kind != _OWN:
        return simulation.dwell_s(kind)
    tree = experiment.workload if isinstance(experiment.workload, Mapping) else {}
    stated = [tree.get("defaults", {}), *tree.get("services", ())]
    found = [_dwell_of(table["arrivals"]) for table in stated if table.get("arrivals")]
    return max((seconds for seconds in found if seconds is not None), default=None)


def _dwell_of(arrivals: Mapping[str, Any]) -> float | None:
    """Return the mean time in seconds between changes of rate, for arrivals in a file, or None."""
    if "dwell_us" in arrivals:
        return float(arrivals["dwell_us"]) * 1e-6
    return simulation.dwell_s(arrivals["preset"]) if "preset" in arrivals else None


def _dwells(dwell: float | None, requests: int, rate_rps: float) -> float:
    return math.inf if dwell is None else requests / rate_rps / dwell


def _drawn(rows: Sequence[ServiceRow]) -> float:
    """Return :func:`dwells_of` of all simulations of `rows` together."""
    runs = [row["run"] for row in rows if "run" in row]
    return math.inf if not runs else math.fsum(_dwells_of_run(run) for run in runs)


def _dwells_of_run(run: Mapping[str, Any]) -> float:
    arrivals = run["arrivals"]
    counted = run["requests"] - run["warmup_requests"]
    dwell = run["dwell_s"] if "dwell_s" in run else simulation.dwell_s(arrivals["kind"])
    return _dwells(dwell, counted, arrivals["rate_rps"])


def shortage(measure: str, services: Sequence[Sequence[ServiceRow]]) -> str:
    """Return a text that says why `measure` cannot be judged; empty if it can.

    Samples may be too small, such as ``40 of 100 responses beyond P99``. For a measure of energy,
    the power of custom accelerators is not known. `services` has, for each service, its results of
    each seed.
    """
    if measure in OF_ENERGY and (custom := _custom(services)):
        return f"the power of {' and '.join(custom)} is not known"
    lacking = []
    percentile = "p99_us" if measure == "max_rps" else measure  # the search compares P99
    if percentile in PERCENTILES:
        least = min(beyond(percentile, rows) for rows in services)
        if least < MIN_BEYOND:
            name = f"P{PERCENTILES[percentile] / 10:g}"
            lacking.append(f"{least:.0f} of {MIN_BEYOND} responses beyond {name}")
    drawn = min(_drawn(rows) for rows in services)
    if few := _few_rates(drawn):
        lacking.append(few)
    return ", ".join(lacking)


def rates_lacking(experiment: simulation.Scenario, replications: int) -> str:
    """Return a text if arrival rates change too seldom in `replications` simulations; else empty.

    A bursty load changes its rate at random times. The text can be computed before the simulations.
    Afterwards, :func:`rates_shortage` finds the same text.
    """
    return _few_rates(dwells_of(experiment) * replications)


def _few_rates(drawn: float) -> str:
    return f"{drawn:.0f} of {MIN_DWELLS} {_RATES}" if drawn < MIN_DWELLS else ""


def rates_shortage(shortage: str) -> str:
    """Return only the part about arrival rates of the text `shortage`; empty if it has none.

    `shortage` is a result of the function :func:`shortage`.
    """
    parts = shortage.split(", ")
    return ", ".join(part for part in parts if part.endswith(_RATES))


def _custom(services: Sequence[Sequence[ServiceRow]]) -> list[str]:
    """Return the names of the custom accelerators in the results of `services`."""
    runs = [row["run"] for rows in services for row in _at_peak(rows) if "run" in row]
    return list(dict.fromkeys(name for run in runs for name in chip.custom_accelerators(run)))
