"""Notes below the tables of a comparison: doubts, overloads, fallbacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from accelflow.parameters import CUSTOM, SIZES
from accelflow.precision import MEASURES
from accelflow.report.answered import names_text, unanswered_notes
from accelflow.report.own_arrivals import arrival_notes
from accelflow.report.results import Comparison, SystemResult

__all__ = ["P999_RESPONSES", "notes_of"]

#: The least number of responses for which P99.9 is shown: with fewer, fewer than 100 are beyond it,
#: and a few bursts decide its value.
P999_RESPONSES: Final = 100_000
#: The least number of responses without a note: with fewer, fewer than 10 are beyond P99.
_P99_RESPONSES: Final = 1_000
#: With a precision: the least number of responses beyond the percentile without a note.
_BEYOND: Final = 100
#: The phrase with a cost's error in the note of a profile's parameter.
_STATED_ERROR: Final = re.compile(r"relative standard error of ([0-9.e-]+)")


def notes_of(comparison: Comparison, *, by_service: bool, starred: bool = True) -> list[str]:
    """Return the notes to print below a table of results.

    They are about missing results, uncertain costs, saturated systems, fallbacks and more.
    `by_service` adds notes for a table with a row for each service. Without `starred`, the table
    does not mark saturated systems by a star, and the notes that explain the star are left out.
    """
    notes = [*_of_missing(comparison), *_of_costs(comparison)]
    notes += _of_tails(comparison) if by_service else []
    notes += [*_of_rare(comparison), *_of_precision(comparison)]
    notes += [*_of_rates(comparison), *arrival_notes(comparison)]
    notes += [*unanswered_notes(comparison, marked=starred), *_of_slos(comparison)]
    if by_service and any(
        result.only_called for system in comparison.systems for result in system.services
    ):
        notes.append("c All requests of these services came from other services of the workload.")
    if starred:
        notes += _of_saturated(comparison, by_service=by_service)
    for system in comparison.systems:
        reasons: Counter[str] = Counter()
        for result in system.services:
            reasons.update(result.fallbacks)
        counts = [f"{count:,} {reason}" for reason, count in reasons.items() if count]
        if counts:
            notes.append(f"Fallbacks of {system.label} by reason: {', '.join(counts)}.")
    notes += _of_absent(comparison)
    return notes


def _of_missing(comparison: Comparison) -> Iterator[str]:
    """Yield a note for each system without results of services that others have."""
    for system in comparison.systems:
        missing = [name for name in comparison.service_names if system.service(name) is None]
        if missing:
            yield (
                f"{system.label} has no results of {names_text(missing)}: its means are over the"
                " other services."
            )


def _of_saturated(comparison: Comparison, *, by_service: bool) -> list[str]:
    """Return notes on systems that cannot keep up, with services and queues if `by_service`."""
    if not by_service:
        stuck = [system for system in comparison.systems if system.saturated]
        text = "* The system cannot keep up: its latency depends on the length of the run."
        parts = [_part_of_load(system) for system in stuck if system.isolates_tenants]
        return [text, *filter(None, parts)] if stuck else []
    notes = []
    for system in comparison.systems:
        grown: dict[str, list[str]] = {}
        for result in system.services:
            if result.saturated:
                grown.setdefault(result.saturated, []).append(result.service)
        notes += [
            f"* {system.label} cannot keep up with {', '.join(services)}: '{queue}' was overloaded"
            " during the run."
            for queue, services in grown.items()
        ]
    return notes


def _part_of_load(system: SystemResult) -> str:
    """Return a note on the services that a system cannot keep up with; empty if they are all."""
    stuck = [result.service for result in system.services if result.saturated]
    if len(stuck) == len(system.services):
        return ""
    return f"{system.label} keeps up with all services but {names_text(stuck)}."


def _of_costs(comparison: Comparison) -> list[str]:
    """Return notes on the uncertainty of the costs of operations."""
    if comparison.profile == "paper":
        return []
    if comparison.profile == "own":
        return [_of_stated_costs(comparison)]
    known = comparison.calibration
    if known is None or not known.spread_ratio:
        return ["The recording does not state how much its costs vary."]
    ordered = sorted(known.spread_ratio.items(), key=lambda item: item[1])
    (least, low), (most, high) = ordered[0], ordered[-1]
    return [
        f"Costs were measured on {known.date} in {known.rounds} rounds. Interquartile ranges of a"
        f" service's costs: {low:.1%} ({least}) to {high:.1%} ({most}).",
        *(f"Warning: {doubt}." for doubt in known.doubts),
    ]


def _of_stated_costs(comparison: Comparison) -> str:
    """Return a note on the standard errors that a workload's file states with its costs."""
    errors = {}
    for row in comparison.source.get("profile_parameters", ()):
        stated = _STATED_ERROR.search(row.get("note", ""))
        if stated:
            operation = row["name"].removeprefix("cost.").rpartition("_")[0]
            errors[operation.removesuffix("_per_byte").replace(".", "'s ")] = float(stated[1])
    if not errors:
        return "The workload's file does not state how much its costs vary."
    ordered = sorted(errors.items(), key=lambda item: item[1])
    (least, low), (most, high) = ordered[0], ordered[-1]
    return (
        "The workload's file states the costs. Standard errors of their means:"
        f" {low:.1%} ({least}) to {high:.1%} ({most})."
    )


def _of_absent(comparison: Comparison) -> list[str]:
    """Return notes on accelerators that a chip lacks, and on their operations."""
    common = comparison.source.get("config", {})
    chips = comparison.source.get("chips") or [{"name": None, "config": {}}]
    notes = []
    for chip in chips:
        config = {**common, **chip["config"]}
        absent = [
            key.partition(".")[2]
            for key, number in config.items()
            if key.partition(".")[0] in SIZES and number == 0
        ]
        absent = [_shown(name) for name in dict.fromkeys(absent)]
        systems = [system for system in comparison.systems if system.chip == chip["name"]]
        fallen = sum(
            result.fallbacks.get("no_accelerator", 0)
            for system in systems
            for result in system.services
        )
        if absent:
            name = "The chip" if chip["name"] is None else f"The chip {chip['name']}"
            notes.append(
                f"{name} has no {', '.join(absent)}: a trace that reaches it continues in software"
                f" on its core, as {fallen:,} did (no_accelerator)."
            )
    return notes


def _shown(name: str) -> str:
    """Return what a reader calls the accelerator with the name `name` in keys of parameters."""
    return "custom accelerator" if name == CUSTOM else name


def _of_tails(comparison: Comparison) -> list[str]:
    """Return a note on why P99.9 is missing; empty if it is not."""
    least, name = _fewest(comparison)
    if least >= P999_RESPONSES:
        return []
    return [f"P99.9 needs {P999_RESPONSES:,} responses of a service; {name} has {least:,}."]


def _fewest(comparison: Comparison) -> tuple[int, str]:
    """Return the fewest responses of a service that clients call, and its name."""
    results = [result for system in comparison.systems for result in system.services]
    own = [(result.completed, result.service) for result in results if not result.only_called]
    return min(own, default=(P999_RESPONSES, ""))


def _of_rare(comparison: Comparison) -> list[str]:
    """Return a note on services with too few responses for a P99; empty if there are none."""
    results = [result for system in comparison.systems for result in system.services]
    fewest: dict[str, int] = {}
    for result in results:
        if 0 < result.completed < _P99_RESPONSES and not result.only_called:
            least = fewest.get(result.service, result.completed)
            fewest[result.service] = min(least, result.completed)
    if not fewest:
        return []
    few = [f"{name} ({count:,} responses)" for name, count in fewest.items()]
    shown = names_text(few)
    return [f"The P99 of {shown} is not precise: fewer than 10 responses are beyond it."]


def _of_precision(comparison: Comparison) -> list[str]:
    """Return a note on services with too few responses for the precision that was asked for.

    A search for a precision stops at the first narrow interval. With few responses beyond the
    percentile, an interval may be narrow by chance.
    """
    said = comparison.source.get("precision")
    measure = said.get("measure") if isinstance(said, Mapping) else None
    thousandths = MEASURES.get(str(measure).removesuffix("_us"))
    if thousandths is None:
        return []
    fewest: dict[str, int] = {}
    for result in (result for system in comparison.systems for result in system.services):
        beyond = result.completed * (1_000 - thousandths) // 1_000
        if beyond < _BEYOND and not result.only_called:
            fewest[result.service] = min(beyond, fewest.get(result.service, beyond))
    if not fewest:
        return []
    shown = names_text([f"{name} ({count:,})" for name, count in fewest.items()])
    return [
        f"Fewer than {_BEYOND} responses are beyond the percentile of {shown}, over all seeds: the"
        " intervals may be narrow by chance."
    ]


def _of_rates(comparison: Comparison) -> list[str]:
    """Return a note that names the services with unknown rates; empty if all rates are known."""
    results = [result for system in comparison.systems for result in system.services]
    unknown = list(
        dict.fromkeys(result.service for result in results if result.offered_rps is None)
    )
    if not unknown:
        return []
    return [
        f"The rates of {names_text(unknown)} are unknown: fewer than two requests are counted, or"
        " all arrived at once."
    ]


def _of_slos(comparison: Comparison) -> list[str]:
    """Return notes on services without an SLO for want of responses, or that never meet theirs."""
    results = [result for system in comparison.systems for result in system.services]
    silent = list(dict.fromkeys(result.service for result in results if result.idle_unanswered))
    notes = [
        f"{name} has no response on the idle server, whose times set the SLO: all of its requests"
        " count as late."
        for name in silent
    ]
    for name in (name for name in comparison.service_names if name not in silent):
        found = [system.service(name) for system in comparison.systems]
        results = [result for result in found if result is not None and result.slo_requests]
        if results and all(result.slo_missed == result.slo_requests for result in results):
            slo = f"{results[0].slo_us:g} us" if results[0].slo_us is not None else "its SLO"
            notes.append(f"No response of {name} keeps its SLO of {slo}, under any system.")
    return notes
