"""Sentences on AccelFlow and its companion papers: what each adds, and where two interfere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["decided", "interference", "live_sentences", "simulated_sentences"]

_Value = Mapping[str, Any]

#: The words for each addition.
_WORKS: Final = {
    "AccelFlow": "AccelFlow's ensemble",
    "Cerebros": "Cerebros",
    "ARCUS": "ARCUS's promise",
}


def decided(found: _Value | None, at: float = 1.0) -> int:
    """Return whether the value `found` is certainly above `at` (1), below it (-1), or neither (0).

    A value is certainly above or below `at` if its whole confidence interval is. A value without an
    interval gives 0.
    """
    if found is None or (found.get("half_width") is None and "low" not in found):
        return 0
    low, high = _ends(found)
    return 1 if low > at else -1 if high < at else 0


def _ends(found: _Value) -> tuple[float, float]:
    if "low" in found:
        return float(found["low"]), float(found["high"])
    return found["mean"] - found["half_width"], found["mean"] + found["half_width"]


def _middle(found: _Value) -> float:
    return float(found["median"] if "median" in found else found["mean"])


def simulated_sentences(rows: Sequence[_Value], effects: Sequence[_Value]) -> Iterator[str]:
    """Yield sentences that sum up the simulated results.

    They are about the gain of each addition, about additions that reduce each other's gain, and
    about overloaded systems and the resources that limit systems.
    """
    for effect in effects:
        if ", where " not in effect["added"]:
            yield _gain(effect["load"], effect["added"], effect["p99_ratio"])
    yield from interference(effects)
    yield from _shared(rows)


def _gain(load: str, added: str, ratio: _Value | None) -> str:
    """Return a sentence on an addition's effect on the P99 of the other services."""
    what = (
        f"{_WORKS[added]} at the {load} load" if load == "even" else f"{_WORKS[added]} under flood"
    )
    sign = decided(ratio)
    if ratio is None or sign == 0:
        return f"{what}: no effect on the P99 of the seven services that the interval decides."
    change = 1 - 1 / _middle(ratio)
    if _middle(ratio) > 2:
        return f"{what}: the P99 of the seven services is {_middle(ratio):.1f} times as short."
    word = "shorter" if sign > 0 else "longer"
    return f"{what}: the P99 of the seven services is {abs(change):.1%} {word}."


def interference(effects: Sequence[_Value]) -> Iterator[str]:
    """Yield sentences on whether Cerebros and ARCUS reduce each other's gain when combined.

    Each sentence compares the gain of Cerebros (or ARCUS) in a system that has ARCUS (or Cerebros)
    with its gain in a system without ARCUS (or Cerebros).
    """
    for effect in effects:
        alone, where, other = effect["added"].partition(", where ")
        if not where:
            continue
        beside, other = effect["beside_ratio"], other.removesuffix(" is")
        load = "at the even load" if effect["load"] == "even" else "under flood"
        sign = decided(beside)
        if beside is None or sign == 0:
            yield f"{alone} beside {other} {load}: the gain is that alone, within the interval."
        elif sign < 0:
            lost = 1 - _middle(beside)
            yield (
                f"{alone} beside {other} {load}: the two get in one another's way; the gain of "
                f"{alone} is {lost:.1%} smaller than alone, since {other} saves a part of it "
                "already."
            )
        else:
            more = _middle(beside) - 1
            yield f"{alone} beside {other} {load}: the gain is {more:.1%} larger than alone."


def _shared(rows: Sequence[_Value]) -> Iterator[str]:
    """Yield sentences on what limits the systems, and on which systems are overloaded."""
    limits = {row["busiest"] for row in rows if row["system"] != "cores alone"}
    if len(limits) == 1:
        (limit,) = limits
        yield (
            f"All systems with accelerators are limited by {limit}, which neither Cerebros nor "
            "ARCUS changes: their gains are in response times, not in requests per second."
        )
    marked = [f"{row['system']} ({row['load']})" for row in rows if row["overloaded"]]
    if marked:
        yield (
            f"Overloaded, so that times grow with the length of the run: {', '.join(marked)}. "
            "Their cells have a †."
        )


def live_sentences(live: _Value) -> Iterator[str]:
    """Yield sentences that sum up the live measurements and compare them with the simulation."""
    for effect in live["effects"]:
        if ", where " not in effect["added"]:
            yield _live_gain(effect)
    rows = {(row["load"], row["system"]): row for row in live["rows"]}
    alone, workers = rows["even", "cores alone"], rows["even", "AccelFlow"]
    here, there = _middle(alone["live_core_us"]), _middle(workers["live_core_us"])
    if there > here:
        yield (
            "Live, workers in the place of accelerators raise the core time of a request from "
            f"{here:.0f} to {there:.0f} us: passing messages between threads costs more than the "
            "work on them. Hardware accelerators do not have this cost."
        )
    simulated, form = alone["core_us"]["mean"], alone["closed_core_us"]
    yield (
        f"On cores alone a request takes {here:.0f} us of the core live, {simulated:.0f} us "
        f"simulated and {form:.0f} us in closed form, at the load that was recorded."
    )
    held = rows["flood", "with ARCUS"]
    free = rows["flood", "AccelFlow"]
    (tenant,) = live["control"]["tenants"]
    yield (
        f"Under flood the tenant gets {_middle(free['live_flooding_rps']):,.0f} requests a second "
        f"without ARCUS and {_middle(held['live_flooding_rps']):,.0f} with it, of "
        f"{tenant['requests_per_s']:,.0f} promised."
    )


def _live_gain(effect: _Value) -> str:
    load = "at the even load" if effect["load"] == "even" else "under flood"
    found, simulated = effect["live_p99_ratio"], effect["p99_ratio"]
    sign = decided(found)
    said = {1: "shorter", -1: "longer", 0: "not decided by the interval"}[sign]
    times = f"{_middle(found):.2f} ({found['low']:.2f} to {found['high']:.2f})"
    beside = "-" if simulated is None else f"{_middle(simulated):.2f}"
    return (
        f"{effect['added']} {load}: P99 live {said}, {times} times; with the papers' hardware, "
        f"simulated, {beside} times."
    )
