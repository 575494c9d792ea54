"""What stands below the tables of a comparison: doubts, overloads, fallbacks."""

from __future__ import annotations

from collections import Counter
from typing import Final

from accelflow.report.results import Comparison

__all__ = ["P999_RESPONSES", "notes_of"]

#: With fewer responses, fewer than 100 are beyond P99.9, and a few bursts decide it.
P999_RESPONSES: Final = 100_000


def notes_of(comparison: Comparison, *, by_service: bool) -> list[str]:
    """Notes on uncertain costs, saturated systems, and operations that fell back to cores."""
    notes = [*_of_costs(comparison), *(_of_tails(comparison) if by_service else [])]
    if by_service and any(
        result.only_called for system in comparison.systems for result in system.services
    ):
        notes.append("c All requests of these services came from other services of the workload.")
    if not by_service and any(system.saturated for system in comparison.systems):
        notes.append("* The system cannot keep up: its latency depends on the length of the run.")
    for system in comparison.systems if by_service else ():
        grown: dict[str, list[str]] = {}
        for result in system.services:
            if result.saturated:
                grown.setdefault(result.saturated, []).append(result.service)
        notes += [
            f"* {system.label} cannot keep up with {', '.join(services)}: '{queue}' is overloaded"
            " during the whole run."
            for queue, services in grown.items()
        ]
    for system in comparison.systems:
        reasons: Counter[str] = Counter()
        for result in system.services:
            reasons.update(result.fallbacks)
        counts = [f"{count:,} {reason}" for reason, count in reasons.items() if count]
        if counts:
            notes.append(f"Fallbacks of {system.label} by reason: {', '.join(counts)}.")
    notes += _of_absent(comparison)
    return notes


def _of_costs(comparison: Comparison) -> list[str]:
    """Notes on how well the costs of operations are known."""
    if comparison.profile == "paper":
        return []
    known = comparison.calibration
    if known is None or not known.spread_ratio:
        return ["The recording does not say how much its costs vary."]
    ordered = sorted(known.spread_ratio.items(), key=lambda item: item[1])
    (least, low), (most, high) = ordered[0], ordered[-1]
    return [
        f"Costs were measured on {known.date} in {known.rounds} rounds. Interquartile ranges of a"
        f" service's costs: {low:.1%} ({least}) to {high:.1%} ({most}).",
        *(f"Warning: {doubt}." for doubt in known.doubts),
    ]


def _of_absent(comparison: Comparison) -> list[str]:
    """Notes on accelerators that a chip does not have, and what became of their operations."""
    common = comparison.source.get("config", {})
    chips = comparison.source.get("chips") or [{"name": None, "config": {}}]
    notes = []
    for chip in chips:
        config = {**common, **chip["config"]}
        absent = [
            key.partition(".")[2]
            for key, number in config.items()
            if key.startswith("instances.") and number == 0
        ]
        systems = [system for system in comparison.systems if system.chip == chip["name"]]
        fallen = sum(
            result.fallbacks.get("no_accelerator", 0)
            for system in systems
            for result in system.services
        )
        if absent:
            name = "The chip" if chip["name"] is None else f"The chip {chip['name']}"
            notes.append(
                f"{name} has no {', '.join(absent)}: a trace that comes there goes on in software,"
                f" on its core, as {fallen:,} did (no_accelerator)."
            )
    return notes


def _of_tails(comparison: Comparison) -> list[str]:
    """A note on why P99.9 is missing, if it is."""
    results = [result for system in comparison.systems for result in system.services]
    counts = [result.completed for result in results if not result.only_called]
    if min(counts, default=P999_RESPONSES) >= P999_RESPONSES:
        return []
    return [f"P99.9 needs {P999_RESPONSES:,} responses; a service has {min(counts):,}."]
