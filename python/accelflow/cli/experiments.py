"""Which files of results belong to the same experiment of `accelflow compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["may_replace"]

#: Members of the JSON results that are outcomes, not settings of the scenario.
_FOUND: Final = frozenset({"calibration", "cohort_links", "profile_parameters", "systems"})
#: Members that follow from the length of the runs, which is an outcome with a precision.
_BY_LENGTH: Final = frozenset(
    {"own_arrivals", "percentiles", "requests", "requests_by_service", "warmup_requests"}
)
_REACHED: Final = "reached_ratio"
#: The longest runs whose percentiles are exact by default.
_MOST_EXACT: Final = 10_000_000


def may_replace(mine: Any, there: Any) -> bool:
    """Return whether the results `mine` may replace `there`: both are of the same experiment.

    Both are parsed JSON; `there` may be anything. Measuring costs again does not make another
    experiment. With a precision, neither does the length of the runs. But results that do not reach
    the precision, for want of time, do not replace results that do.
    """
    try:
        if _settings(mine) != _settings(there):
            return False
        if "precision" not in mine:
            return True
        return _are_alike(mine, there) and (_has_reached(mine) or not _has_reached(there))
    except (AttributeError, KeyError, TypeError):  # not results
        return False


def _settings(results: Any) -> tuple[dict[str, Any], object]:
    """Return the members of `results` that are settings, and the names of systems and services."""
    systems = [
        (system["orchestrator"], [service["service"] for service in system["services"]])
        for system in results["systems"]
    ]
    precision = results.get("precision")
    left_out = _FOUND if precision is None else {*_FOUND, *_BY_LENGTH, "precision"}
    settings = {key: value for key, value in results.items() if key not in left_out}
    if precision is not None:
        asked = {key: value for key, value in precision.items() if key != _REACHED}
        settings["precision"] = asked
    return settings, systems


def _has_reached(results: Any) -> bool:
    precision = results["precision"]
    return bool(precision[_REACHED] <= precision["asked_ratio"])


def _are_alike(mine: Any, there: Any) -> bool:
    """Return whether the results have the same settings, but for the lengths of their runs."""
    lengths = mine["requests"], there["requests"]
    # The default number of warm-up requests grows with the runs, a given one does not.
    warmups = mine["warmup_requests"], there["warmup_requests"]
    by_default = tuple(length // 10 for length in lengths)
    if warmups[0] != warmups[1] and warmups != by_default:
        return False
    longer = [length > _MOST_EXACT for length in lengths]
    if mine.get("percentiles") != there.get("percentiles") and longer[0] == longer[1]:
        return False
    return _same_shares(mine, there)


def _same_shares(mine: Any, there: Any) -> bool:
    """Return whether the services have the same shares of the requests, but for rounding."""
    counts: list[Mapping[str, int]] = [
        each.get("requests_by_service") or {} for each in (mine, there)
    ]
    if counts[0].keys() != counts[1].keys():
        return False
    ours, theirs = mine["requests"], there["requests"]
    return all(
        abs(counts[0][name] * theirs - counts[1][name] * ours) <= ours + theirs
        for name in counts[0]
    )
