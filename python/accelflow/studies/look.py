"""The decision whether a point of a study meets its limits, with as many seeds as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from accelflow import _native
from accelflow.errors import AccelflowError

__all__ = ["Limited", "Look", "look_until_clear"]

#: The number of seeds with which a point is first simulated; it is then doubled.
_FIRST_SEEDS: Final = 4

#: The share of the requests beyond each percentile.
_BEYOND: Final = {"p50_us": 0.5, "p99_us": 0.01, "p999_us": 0.001}

#: The measures that every service with responses has.
_TIMES: Final = ("mean_us", *_BEYOND)


class _Origin(NamedTuple):
    """Where requests come from: the prefix of their columns, and words before a service's name."""

    prefix: str
    words: str


_CLIENTS: Final = _Origin("", "")
_SERVICES: Final = _Origin("called_", "calls to ")


class Limited(Protocol):
    """A protocol for searches that simulate points: the limits on results, and the most seeds."""

    @property
    def limits(self) -> Mapping[str, float]:
        """The largest value of each measure that any service may have, by the measure's name."""

    @property
    def slo(self) -> bool:
        """Whether the P99 of each service must be within its SLO."""

    @property
    def most_seeds(self) -> int:
        """The largest number of seeds with which a point is simulated.

        If the confidence interval still contains the limit with all of them, the mean over the
        seeds decides.
        """


@dataclass(frozen=True, kw_only=True)
class Look:
    """The decision whether a simulated point meets its limits, from `seeds` seeds.

    Each measure of a service, such as its P99, has a ratio to its limit, as a mean over the seeds.
    `worst_ratio` is the largest of these ratios, `low_ratio` and `high_ratio` are the ends of its
    95 % interval, and `binding` names the measure and the service that have it. `holds` is true if
    the worst ratio is at most 1, and `clear` is true if the whole interval is on one side of 1. If
    a resource is saturated with more than half of the seeds, `holds` is False, `clear` is True, the
    ratios are None, and `binding` names the resource. The fields have these values, too, if with
    more than half of the seeds so many requests of a service lack a response that a limited
    percentile is unknown: for P99, more than 1 % of the requests. `binding` then names the service.
    The requests that a service receives from other services have the same limits as its clients'.
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
    # A service that only others call has no responses to clients.
    asked = [row for row in rows if row["offered_rps"] != 0.0] or rows
    called = [row for row in rows if row.get("called_requests_count")]
    for origin, of_origin in ((_CLIENTS, rows), (_SERVICES, called)):
        unanswered = [row for row in of_origin if _lacks_responses(limited, row, origin)]
        if 2 * len({row["seed"] for row in unanswered}) > seeds:
            name = f"{origin.words}{unanswered[0]['service']}"
            whose = name if origin is _SERVICES else f"requests of {name}"
            return _fails(f"{whose} without a response", seeds)
    ratios: dict[str, list[float]] = {}
    for origin, of_origin in ((_CLIENTS, asked), (_SERVICES, called)):
        for row in of_origin:
            for name, ratio in _ratios(limited, row, origin).items():
                ratios.setdefault(name, []).append(ratio)
    _check_calls(limited, called, ratios)
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


def _lacks_responses(limited: Limited, row: Mapping[str, Any], origin: _Origin) -> bool:
    """Return whether a limited percentile of a service would be that of requests without an end."""
    shares = [share for name, share in _BEYOND.items() if name in limited.limits]
    if limited.slo and row["slo_us"] is not None:
        shares.append(_BEYOND["p99_us"])
    if origin is _CLIENTS:
        unanswered = row["unanswered_ratio"]
    else:
        unanswered = row["called_timed_out_count"] / row["called_requests_count"]
    return bool(shares) and unanswered > min(shares)


def _ratios(limited: Limited, row: Mapping[str, Any], origin: _Origin) -> dict[str, float]:
    """Return the ratio of each limited measure of a service to its limit, by measure's name."""
    named, prefix = f"{origin.words}{row['service']}", origin.prefix
    found = {}
    for name, limit in limited.limits.items():
        if name == "slo_missed_ratio":
            late = row[f"{prefix}slo_missed_count"]
            all_of_them = row[f"{prefix}slo_requests_count"]
            measured = late / all_of_them if all_of_them else None
        else:
            measured = row[f"{prefix}{name}"]
        if measured is not None:
            found[f"{name} of {named}"] = measured / limit
    p99_us = row[f"{prefix}p99_us"]
    if limited.slo and row["slo_us"] is not None and p99_us is not None:
        found[f"P99 of {named}"] = p99_us / row["slo_us"]
    if not found and origin is _CLIENTS:
        raise AccelflowError(
            f"service {row['service']}: no limit can be checked, since the service has no"
            " responses, or no SLO"
        )
    return found


def _check_calls(
    limited: Limited, called: Sequence[Mapping[str, Any]], ratios: Mapping[str, object]
) -> None:
    """Raise AccelflowError if a limit applies to calls to a service, but no response has counted.

    `called` has the rows of services with requests from others. Limits on the SLO do not apply to
    a service without one.
    """
    of_time = any(name in _TIMES for name in limited.limits)
    for row in called:
        ending = f" of calls to {row['service']}"
        applies = of_time or row["slo_us"] is not None
        if applies and not any(name.endswith(ending) for name in ratios):
            raise AccelflowError(
                f"service {row['service']}: no limit can be checked, since no response to another"
                " service came after the warm-up; longer runs may have some"
            )
