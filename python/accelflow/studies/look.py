"""The decision whether a point of a study meets its limits, with as many seeds as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from accelflow import _native
from accelflow.errors import AccelflowError

__all__ = ["Limited", "Look", "look_until_clear"]

#: The number of seeds with which a point is first simulated; it is then doubled.
_FIRST_SEEDS: Final = 4

#: The share of the requests beyond each percentile.
_BEYOND: Final = {"p50_us": 0.5, "p99_us": 0.01, "p999_us": 0.001}


class Limited(Protocol):
    """A protocol for searches that simulate points: the limits on results, and the most seeds."""

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits by the name of the measure: its largest allowed value for every service."""

    @property
    def slo(self) -> bool:
        """Whether the P99 of each service must be within its SLO."""

    @property
    def most_seeds(self) -> int:
        """The largest number of seeds of a point; with this many, the mean of them decides."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The decision whether a simulated point meets its limits, from `seeds` seeds.

    Each measure of a service, such as its P99, has a ratio to its limit, as a mean over the seeds.
    `worst_ratio` is the largest of these ratios, `low_ratio` and `high_ratio` are the ends of its
    95 % interval, and `binding` names its measure and service. `holds` is true if the ratio is at
    most 1, and `clear` is true if the whole interval is on one side of 1. If a resource is
    saturated with more than half of the seeds, `holds` is False, `clear` is True, the ratios are
    None, and `binding` names the resource. This is also so if, with more than half of the seeds,
    more requests of a service get no response than are beyond a limited percentile.
    """

    holds: bool
    clear: bool
    worst_ratio: float | None
    low_ratio: float | None
    high_ratio: float | None
    binding: str
    seeds: int

    def to_dict(self) -> dict[str, Any]:
        """Return the measures and the decision as an object for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def look_until_clear(limited: Limited, rows: Callable[[int], Sequence[Mapping[str, Any]]]) -> Look:
    """Simulate a point, and decide whether it meets its limits.

    It is simulated with four seeds, whose number is doubled until the decision is clear or the
    number is `limited.most_seeds`. `limited` has the limits. `rows` takes a number of seeds,
    simulates the point with them, and returns a row of results for each seed and service.
    """
    seeds = _FIRST_SEEDS
    while True:
        found = _look(limited, rows(seeds), seeds)
        if found.clear or seeds >= limited.most_seeds:
            return found
        seeds = min(seeds * 2, limited.most_seeds)


def _look(limited: Limited, rows: Sequence[Mapping[str, Any]], seeds: int) -> Look:
    """Return the decision on a point from `rows`, which has those of `seeds` seeds."""
    saturated = [row for row in rows if row["saturated_queue"] is not None]
    if 2 * len({row["seed"] for row in saturated}) > seeds:
        return _fails(f"{saturated[0]['saturated_queue']} saturated", seeds)
    unanswered = [row for row in rows if _lacks_responses(limited, row)]
    if 2 * len({row["seed"] for row in unanswered}) > seeds:
        return _fails(f"requests of {unanswered[0]['service']} without a response", seeds)
    ratios: dict[str, list[float]] = {}
    # A service that only others call has no responses of its own.
    asked = [row for row in rows if row["offered_rps"] != 0.0] or rows
    for row in asked:
        for name, ratio in _ratios(limited, row).items():
            ratios.setdefault(name, []).append(ratio)
    means = {name: math.fsum(found) / len(found) for name, found in ratios.items()}
    worst = max(means, key=lambda name: means[name])
    interval = _native.confidence_interval(ratios[worst])
    half = interval[1] if interval is not None else math.inf
    low, high = means[worst] - half, means[worst] + half
    return Look(
        holds=means[worst] <= 1.0,
        clear=not low <= 1.0 < high,
        worst_ratio=means[worst],
        low_ratio=low,
        high_ratio=high,
        binding=worst,
        seeds=seeds,
    )


def _fails(binding: str, seeds: int) -> Look:
    return Look(
        holds=False,
        clear=True,
        worst_ratio=None,
        low_ratio=None,
        high_ratio=None,
        binding=binding,
        seeds=seeds,
    )


def _lacks_responses(limited: Limited, row: Mapping[str, Any]) -> bool:
    """Return whether a limited percentile of a service would be that of requests without an end."""
    shares = [share for name, share in _BEYOND.items() if name in limited.limits]
    if limited.slo and row["slo_us"] is not None:
        shares.append(_BEYOND["p99_us"])
    return bool(shares) and row["unanswered_ratio"] > min(shares)


def _ratios(limited: Limited, row: Mapping[str, Any]) -> dict[str, float]:
    """Return the ratio of each limited measure of a service to its limit, by measure's name."""
    service = row["service"]
    found = {}
    for name, limit in limited.limits.items():
        if name == "slo_missed_ratio":
            late, all_of_them = row["slo_missed_count"], row["slo_requests_count"]
            measured = late / all_of_them if all_of_them else None
        else:
            measured = row[name]
        if measured is not None:
            found[f"{name} of {service}"] = measured / limit
    if limited.slo and row["slo_us"] is not None and row["p99_us"] is not None:
        found[f"P99 of {service}"] = row["p99_us"] / row["slo_us"]
    if not found:
        raise AccelflowError(
            f"service {service}: no limit can be checked, since the service has no responses, or no"
            " SLO"
        )
    return found
