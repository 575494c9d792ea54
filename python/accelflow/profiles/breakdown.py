"""The share of each category in a profile, and the gain of accelerating it."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from accelflow.accelerometer import sweep
from accelflow.errors import refused
from accelflow.profiles.categories import (
    CORE,
    OPPORTUNITIES,
    OTHER,
    PARTS,
    Functionality,
    Leaf,
)
from accelflow.profiles.frames import function_name
from accelflow.profiles.rules import Functional, Rules
from accelflow.profiles.stacks import Profile

#: The frames of a call stack, from the root to the leaf.
Stack = tuple[str, ...]

#: The name and version of the object that :func:`breakdown` returns.
SCHEMA: Final = "accelflow.profile/1"

#: The number of functions listed in the row of stacks without a category.
LISTED: Final = 10


def breakdown(
    profile: Profile, rules: Rules | None = None, *, acceleration_ratio: float = 10.0
) -> dict[str, Any]:
    """Divide a profile into the categories of Accelerometer's Tables 2 and 3.

    `rules` assign functions to categories; None stands for the built-in rules.

    Returns an object of schema ``accelflow.profile/1``. Each category has its share of the profile
    and two speedups of the service in percent: with the category removed (Amdahl; None for a
    category that is the whole profile), and with an accelerator for it, `acceleration_ratio` times
    as fast as the host, for which the host waits. Both ignore the cost of an offload, so they are
    upper bounds; :func:`accelflow.accelerometer.evaluate` includes that cost.

    Stacks without a category are in the last row, `other`, whose `functions` are the heaviest ones.
    In `leaf`, these are leaf functions. In `functionality`, they are the functions that the
    innermost dispatcher (such as a server's loop) called, or leaf functions without a dispatcher.
    If perf counted cycles and instructions, rows also have `instructions`, `instructions_ratio`
    (the share of all instructions) and `ipc` (None for a category whose instructions were not
    counted). `details` is the result of :func:`leaves_by_part`, and `orchestration` that of
    :func:`orchestration`. Raises InputError unless `acceleration_ratio` is finite and above 0.
    """
    if not 0 < acceleration_ratio < math.inf:
        raise refused("acceleration_ratio", acceleration_ratio, "must be a finite number above 0")
    rules = rules or Rules.default()

    def leaf(frames: Stack) -> Functional:
        return Functional(rules.leaf_of(frames), function_name(frames[-1]))

    views: dict[str, tuple[type[StrEnum], Callable[[Stack], Functional]]] = {
        "leaf": (Leaf, leaf),
        "functionality": (Functionality, rules.functionality_of),
    }
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "weight": profile.weight,
        "sample_type": profile.sample_type,
        "sample_types": list(profile.sample_types),
    }
    if profile.instructions is not None:
        result["ipc"] = sum(profile.instructions.values()) / profile.weight
    for name, (categories, category_of) in views.items():
        shares = _Shares(profile, category_of)
        rows = [shares.row(str(category), acceleration_ratio) for category in categories]
        for row, category in zip(rows, categories, strict=True):
            row["opportunity"] = OPPORTUNITIES.get(category)
        rows.sort(key=lambda row: -row["weight"])
        rows.append(shares.row(OTHER, acceleration_ratio))
        heaviest = sorted(shares.unclaimed.items(), key=lambda item: (-item[1], item[0]))[:LISTED]
        rows[-1]["functions"] = [
            {"function": f, "share_ratio": w / profile.weight} for f, w in heaviest
        ]
        result[name] = rows
    result["details"] = leaves_by_part(profile, rules)
    result["orchestration"] = orchestration(result)
    return result


def leaves_by_part(profile: Profile, rules: Rules) -> dict[str, Any]:
    """Divide each category of leaf functions into parts, and into functionalities.

    ``parts`` of the result has the parts of Accelerometer's Figs. 3 and 5 to 7.
    ``by_functionality`` also has ``copies``, the memory copies (Fig. 4). Shares are of the
    category, from 0 to 1. Only categories, parts and functionalities with weight are included,
    heaviest first.
    """
    parts: dict[str, Counter[str]] = {}
    purposes: dict[str, Counter[str]] = {}
    for stack, weight in profile.stacks.items():
        frames = stack[1:] if profile.has_commands else stack
        leaf, purpose = rules.leaf_of(frames), rules.functionality_of(frames).category
        keys = [leaf]
        if leaf in PARTS:
            part = rules.part_of(leaf, frames)
            parts.setdefault(leaf, Counter())[part] += weight
            if leaf == Leaf.MEMORY and part == "copy":
                keys.append("copies")
        for key in keys:
            purposes.setdefault(key, Counter())[purpose] += weight
    return {
        "parts": {leaf: _ratios(counts) for leaf, counts in parts.items() if counts.total()},
        "by_functionality": {
            leaf: _ratios(counts) for leaf, counts in purposes.items() if counts.total()
        },
    }


def _ratios(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    return {name: weight / total for name, weight in counts.most_common() if weight}


def orchestration(result: Mapping[str, Any]) -> dict[str, float | None]:
    """Divide the functionalities of a breakdown into a service's core work and orchestration.

    `result` is the breakdown. The result has shares of the cycles: `core_ratio` for application
    logic and the predictions of ML services, `orchestration_ratio` for the other categories, and
    `unknown_ratio` for functions without a category. `core_removed_percent` is the speedup if core
    work took no time; None if there is no other work.

    Source: Accelerometer, Fig. 1.
    """
    shares = {row["category"]: row["share_ratio"] for row in result["functionality"]}
    core, unknown = sum(shares[name] for name in CORE), shares[OTHER]
    return {
        "core_ratio": core,
        "orchestration_ratio": max(1.0 - core - unknown, 0.0),
        "unknown_ratio": unknown,
        "core_removed_percent": None if core >= 1 else 100 * (1 / (1 - core) - 1),
    }


class _Shares:
    """The weight of each category, and of the functions without a category."""

    def __init__(self, profile: Profile, category_of: Callable[[Stack], Functional]) -> None:
        self.total = profile.weight
        self.weights: Counter[str] = Counter()
        self.unclaimed: Counter[str] = Counter()
        self.instructions: Counter[str] | None = None

        def found(stack: Stack) -> Functional:
            # A command is not a function: a server called tcp-logger need not log anything.
            return category_of(stack[1:] if profile.has_commands else stack)

        for stack, weight in profile.stacks.items():
            purpose = found(stack)
            self.weights[purpose.category] += weight
            if purpose.category == OTHER:
                self.unclaimed[purpose.function] += weight
        if profile.instructions is not None:
            self.instructions = Counter()
            self.executed = sum(profile.instructions.values())
            for stack, count in profile.instructions.items():
                self.instructions[found(stack).category] += count

    def row(self, category: str, acceleration: float) -> dict[str, Any]:
        weight = self.weights[category]
        row = _row(category, weight, self.total, acceleration)
        if self.instructions is not None:
            row["instructions"] = self.instructions[category]
            row["instructions_ratio"] = self.instructions[category] / (self.executed or 1)
            counted = self.instructions[category]
            # Counters of user space alone see nothing of the kernel's.
            row["ipc"] = counted / weight if weight and counted else None
        return row


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
