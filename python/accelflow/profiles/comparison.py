"""Comparison of profiles: before and after, or one service on several machines."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow.errors import refused

#: The name and version of the object that :func:`compare` returns.
SCHEMA: Final = "accelflow.profiles/1"

_VIEWS: Final = ("leaf", "functionality")


def compare(
    breakdowns: Mapping[str, Mapping[str, Any]], requests: Sequence[float] | None = None
) -> dict[str, Any]:
    """Compare profiles with the first of them; `breakdowns` has their breakdowns by name.

    Returns an object of schema ``accelflow.profiles/1``. Each category has an entry for each
    profile. `share_of_first_ratio` is its weight per request as a share of the whole first profile,
    and `change_ratio` its change from the first (-0.73: 73 % less; None if the first has none).
    `ipc` has instructions per cycle, None if instructions were not counted. `requests` are the
    numbers of requests served during each profile; without them, all profiles are assumed to have
    served the same number. For each profile, `freed_ratio` is the share of the first profile's
    weight per request that this profile saves. `speedup_ratio` is the first profile's weight per
    request, divided by this profile's weight per request.

    Raises InputError for no profile, for a wrong count of `requests` or one that is not a finite
    number above 0, and for different weights (such as cycles and samples), which cannot be
    compared.
    """
    names = list(breakdowns)
    if not names:
        raise refused("profiles", names, "must be one or more")
    if requests is not None and len(requests) != len(names):
        raise refused(
            "requests", list(requests), f"must be one number for each of {len(names)} files"
        )
    served = list(requests) if requests is not None else [1.0] * len(names)
    for number in served:
        if not 0 < number < float("inf"):
            raise refused("requests", number, "must be a finite number above 0")
    kinds = {name: each["sample_type"] or "samples" for name, each in breakdowns.items()}
    if len({kind.partition(":")[0] for kind in kinds.values()}) > 1:
        text = ", ".join(f"{name} by {kind}" for name, kind in kinds.items())
        raise refused("weights of profiles", text, "must be the same; choose one with --event")
    scale = 1 / (breakdowns[names[0]]["weight"] / served[0])
    totals = [
        each["weight"] / number * scale
        for each, number in zip(breakdowns.values(), served, strict=True)
    ]
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "names": names,
        "requests": None if requests is None else served,
        "total_ratio": totals,
        "freed_ratio": [1 - total for total in totals],
        "speedup_ratio": [1 / total for total in totals],
        "ipc": [each.get("ipc") for each in breakdowns.values()],
    }
    for view in _VIEWS:
        result[view] = _rows(view, list(breakdowns.values()), totals)
    return result


def _rows(
    view: str, breakdowns: Sequence[Mapping[str, Any]], totals: Sequence[float]
) -> list[dict[str, Any]]:
    by_category = [{row["category"]: row for row in each[view]} for each in breakdowns]
    found = []
    for category, first in by_category[0].items():
        each = []
        for rows, total in zip(by_category, totals, strict=True):
            share = rows[category]["share_ratio"] * total
            before = first["share_ratio"]
            each.append(
                {
                    "share_of_first_ratio": share,
                    "change_ratio": share / before - 1 if before else None,
                    "ipc": rows[category].get("ipc"),
                }
            )
        found.append({"category": category, "profiles": each})
    return found
