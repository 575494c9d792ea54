"""A profile's weight in each category, and what accelerating each would buy."""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from accelflow.accelerometer import sweep
from accelflow.errors import InputError
from accelflow.profiles.categories import OPPORTUNITIES, OTHER, Functionality, Leaf
from accelflow.profiles.frames import function_name
from accelflow.profiles.rules import Functional, Rules
from accelflow.profiles.stacks import Profile

#: The name and version of the object that :func:`breakdown` returns.
SCHEMA: Final = "accelflow.profile/1"

#: How many of the functions without a category are listed.
LISTED: Final = 10


def breakdown(
    profile: Profile, rules: Rules | None = None, *, acceleration_ratio: float = 10.0
) -> dict[str, Any]:
    """Return the profile in the categories of Tables 2 and 3, as ``accelflow.profile/1``.

    For each category its share, what removing it would buy (Amdahl), and what an accelerator of
    `acceleration_ratio` would that the host waits for, without any cost of an offload: upper
    bounds, for :func:`accelflow.accelerometer.evaluate` to correct. What has no category is in
    `other`, which is always the last row, with the heaviest of its functions: leaves, or in
    `functionality` what the innermost dispatcher called. Raises InputError unless the acceleration
    is above 0.
    """
    if not acceleration_ratio > 0:
        raise InputError(f"acceleration_ratio = {acceleration_ratio}: must be above 0")
    rules = rules or Rules.default()

    def leaf(frames: tuple[str, ...]) -> Functional:
        return Functional(rules.leaf_of(frames), function_name(frames[-1]))

    views: dict[str, tuple[type[StrEnum], Callable[[tuple[str, ...]], Functional]]] = {
        "leaf": (Leaf, leaf),
        "functionality": (Functionality, rules.functionality_of),
    }
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "weight": profile.weight,
        "sample_type": profile.sample_type,
        "sample_types": list(profile.sample_types),
    }
    for name, (categories, category_of) in views.items():
        weights: Counter[str] = Counter()
        unclaimed: Counter[str] = Counter()
        for stack, weight in profile.stacks.items():
            # A command is no function: a server called tcp-logger does not log by that.
            found = category_of(stack[1:] if profile.has_commands else stack)
            weights[found.category] += weight
            if found.category == OTHER:
                unclaimed[found.function] += weight
        rows = [_row(str(c), weights[c], profile.weight, acceleration_ratio) for c in categories]
        for row, category in zip(rows, categories, strict=True):
            row["opportunity"] = OPPORTUNITIES.get(category)
        rows.sort(key=lambda row: -row["weight"])
        rows.append(_row(OTHER, weights[OTHER], profile.weight, acceleration_ratio))
        heaviest = sorted(unclaimed.items(), key=lambda item: (-item[1], item[0]))[:LISTED]
        rows[-1]["functions"] = [
            {"function": f, "share_ratio": w / profile.weight} for f, w in heaviest
        ]
        result[name] = rows
    return result


def _row(category: str, weight: int, total: int, acceleration: float) -> dict[str, Any]:
    share = weight / total
    speedup = sweep(
        threading="sync",
        placement="on_chip",
        host_cycles_per_s=1.0,
        offloads_per_s=0.0,
        kernel_share_ratio=share,
        acceleration_ratio=[acceleration, float("inf")],
    ).speedup_ratio
    return {
        "category": category,
        "weight": weight,
        "share_ratio": share,
        "speedup_percent": 100 * (float(speedup[0]) - 1),
        "ideal_speedup_percent": None if share == 1 else 100 * (float(speedup[1]) - 1),
    }
