"""The combination of results of several seeds: means and their intervals.

Simulations with different seeds are independent, so a mean over seeds has Student's t interval.
The mean of the seeds' P99s is not the P99 of all requests, but the mean of the P99 of runs that are
as long as these.

With the same seed, the systems of a comparison serve the same requests. Each service's
``without_seed`` has its mean latency and P99 without each seed in turn. So a ratio of two systems
can leave out the same seed for both, and their common variation cancels
(:mod:`accelflow.report.reductions`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow import _native
from accelflow.findings.statistics import half_width
from accelflow.report.results import Comparison, mean_of, system_id
from accelflow.report.tails import pooled_percentile

__all__ = ["pooled", "with_percentile"]

#: Members of which the largest value counts, not the sum; ``number`` is equal for all seeds.
_LARGEST: Final = ("number", "peak_running_traces")
#: Members with the response times of single requests or of bins.
_TAILS: Final = ("tail_us", "tail_bins")
#: Members with times that are sums over a run, and so are added like counts.
_SUMS: Final = ("waiting_us", "shaping_us", "accelerator_us", "charged_us")
#: Objects of counts that a result has only if one of them is above 0.
_IF_ANY: Final = ("retries", "calls")
#: The measures of a service that ``without_seed`` has without each seed in turn.
_LEFT_OUT: Final = ("mean_us", "p99_us")
#: The measures of a system, computed from those of its services.
_OF_SYSTEM: Final = ("mean_us", "p50_us", "p99_us", "p999_us", "throughput_rps")


def pooled(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the results of one scenario with several seeds into one result.

    It has the same schema as the single results. Times, rates and shares are means over the seeds,
    with their 95 % confidence intervals in ``intervals``, and counts are sums. If a seed lacks a
    value, the mean is None. ``saturated`` is that of the first seed that has one. ``seeds`` lists
    the seeds. A single result is returned unchanged.
    """
    first = dict(results[0])
    if len(results) == 1:
        return first
    comparisons = [Comparison.from_dict(result) for result in results]
    systems = []
    for rows in zip(*(result["systems"] for result in results), strict=True):
        name = system_id(rows[0])
        alone = [comparison[name] for comparison in comparisons]
        of_system = {key: [getattr(system, key) for system in alone] for key in _OF_SYSTEM}
        services = zip(*(row["services"] for row in rows), strict=True)
        systems.append(
            {
                **rows[0],
                "services": [_service(same) for same in services],
                "intervals": dict(_intervals(of_system)),
            }
        )
    return first | {"seeds": [result["seed"] for result in results], "systems": systems}


def with_percentile(
    results: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], name: str, thousandths: int
) -> dict[str, Any]:
    """Return combined results in which one percentile is that of all seeds' responses together.

    `results` is a result of :func:`pooled`, where the percentile (the key `name` of each service)
    is only the mean of the seeds' percentiles. `parts` are the results of the single seeds, in
    which each service has its longest response times, ``tail_us``. `thousandths` is the percentile
    times 10, such as 990 for P99. The new interval is a jackknife interval over the seeds
    (:mod:`accelflow.findings.statistics`), and ``without_seed`` has the percentile without each
    seed in turn. A service keeps the mean of the percentiles if it has no response with one of the
    seeds.
    """
    systems = []
    for number, system in enumerate(results["systems"]):
        services = []
        for place, service in enumerate(system["services"]):
            rows = [part["systems"][number]["services"][place] for part in parts]
            services.append(service | _pooled_percentile(service, rows, name, thousandths))
        systems.append({**system, "services": services})
    return {**results, "systems": systems}


def _pooled_percentile(
    service: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], name: str, thousandths: int
) -> dict[str, Any]:
    """Return the changed members of `service`; none if a seed has no response."""
    if any(not row["completed"] for row in rows):
        return {}

    def figure(kept: Sequence[int]) -> float:
        return pooled_percentile(thousandths, [rows[number] for number in kept])

    everyone = range(len(rows))
    whole = figure(everyone)
    without = [figure([other for other in everyone if other != left]) for left in everyone]
    half = half_width(whole, without)
    return {
        name: whole,
        "intervals": {**service["intervals"], name: [whole - half, whole + half]},
        "without_seed": {**service["without_seed"], name: without},
    }


def _service(with_tails: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    # Response times of single requests are those of a seed.
    rows = [{key: row[key] for key in row if key not in _TAILS} for row in with_tails]
    leaves = [dict(_measures(row, "")) for row in rows]
    by_name = {name: [found.get(name) for found in leaves] for name in leaves[0]}
    without = {
        name: _means_without(values)
        for name in _LEFT_OUT
        if (values := [row[name] for row in rows]) and None not in values
    }
    intervals = dict(_intervals(by_name))
    return {**_merged(rows), "intervals": intervals, "without_seed": without}


def _means_without(values: Sequence[float]) -> list[float]:
    """Return the means of `values` without each value in turn."""
    return [
        math.fsum(other for place, other in enumerate(values) if place != left) / (len(values) - 1)
        for left in range(len(values))
    ]


def _merged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: _member(key, [row.get(key) for row in rows]) for key in keys}


def _member(key: str, values: Sequence[Any]) -> Any:
    """Combine the values that all seeds have for the member `key`."""
    present = [value for value in values if value is not None]
    if present and isinstance(present[0], Mapping):
        whole = len(present) == len(values) or key in _IF_ANY
        return _merged(present) if whole else None
    if all(value == values[0] and not _is_count(value) for value in values):
        return values[0]
    if isinstance(present[0], str):  # the resource that is overloaded with some seed
        return present[0]
    if key in _LARGEST:
        return max(present)
    if _is_count(present[0]) or key in _SUMS:
        return sum(present)
    return mean_of(values)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _measures(row: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    """Yield the measures of a service by name; nested ones have dotted names."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _measures(value, f"{prefix}{key}.")
        elif value is None or (isinstance(value, float) and key not in _SUMS):
            yield f"{prefix}{key}", value


def _intervals(
    by_name: Mapping[str, Sequence[float | None]],
) -> Iterator[tuple[str, list[float]]]:
    for name, values in by_name.items():
        mean = mean_of(values)
        found = _native.confidence_interval([value for value in values if value is not None])
        if mean is not None and found is not None:
            yield name, [mean - found[1], mean + found[1]]
