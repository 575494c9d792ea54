"""Costs of the nine operations and application time, from a profile and a number of requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from accelflow.errors import LEFT_OUT, positive_number, refused
from accelflow.importing.numbers import rounded
from accelflow.importing.operation_rules import APPLICATION, PAIRS, OperationRules
from accelflow.importing.path_operations import (
    OPERATIONS,
    has_own_traces,
    operations_of,
    walked_operations,
)
from accelflow.importing.report import PLACES, Report
from accelflow.importing.sampled import Asked, Tally, read_profiles
from accelflow.importing.workloads import Imported, Tree, read_workload, service_of
from accelflow.profiles import OTHER
from accelflow.workload import load_workload

__all__ = ["Options", "import_costs"]

_MOST: Final = 1e15

#: The longest application time of a workload.
_MOST_APP_US: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of :func:`import_costs`: the service, and facts that a profile does not state.

    The costs replace those of `service` in the workload's file `into`. `requests` is the number of
    requests served during profiling, or `rate_rps` their rate over `duration_s` seconds. `cores` is
    the mean number of busy cores, None for profiles that state the time of their samples. `rules`
    is a file that assigns functions to operations, None for the built-in rules. `asked` selects the
    samples.
    """

    into: Path
    service: str
    requests: float | None = None
    rate_rps: float | None = None
    duration_s: float | None = None
    cores: float | None = None
    rules: Path | None = None
    asked: Asked = field(default_factory=Asked)


def import_costs(kind: str, paths: Sequence[Path], report: Report, options: Options) -> Imported:
    """Read profiles of a program, and set the costs of a service in a workload by them.

    The profiles set the cost of each operation and the time of application logic. `kind` is one of
    :data:`accelflow.importing.sampled.KINDS`. The total time of a kind of operation is its share of
    the profile's samples, multiplied by the total time of all samples. If the profile does not
    state the total time of all samples, it is the number of busy cores multiplied by the duration.
    The cost of one operation is the operations' time divided by the number of requests, and by the
    number of such operations in a request. Raises InputError for invalid files and options, and if
    the service's path has no operations.
    """
    tree = read_workload(options.into)
    service = service_of(tree, options.service)
    place = f"{options.into}: {options.service}"
    if has_own_traces(service, place):
        counts = walked_operations(load_workload(options.into), options.service)
    else:
        counts = operations_of(service, place)
    if not counts:
        raise refused(f"{place}.path", service["path"], "must have at least one operation")
    requests = _requests(options)
    tally = read_profiles(kind, paths, OperationRules.read(options.rules), options.asked, report)
    time_ns = _time_ns(tally, options)
    parts = _Parts(tally, counts, report)
    scale = time_ns / tally.weights.total() / requests
    service["costs"] = {"source": "operations", **parts.costs(scale)}
    _set_application(service, parts.application * scale / 1e3, report)
    report.understood("milliseconds of cores in the profile", round(time_ns / 1e6))
    report.understood("requests in the profile", round(requests))
    return Imported(tree)


def _requests(options: Options) -> float:
    given = options.requests is not None, options.rate_rps is not None
    if given == (True, False):
        return positive_number("--requests", options.requests or 0, _MOST)
    if given == (False, True) and options.duration_s is not None:
        rate = positive_number("--rate", options.rate_rps or 0, _MOST)
        return rate * positive_number("--duration", options.duration_s, _MOST)
    if given == (True, True):
        raise refused("--rate", options.rate_rps, "must be left out with --requests")
    raise refused(
        "--requests",
        LEFT_OUT,
        "must be given (requests served while profiling), unless --rate and --duration are",
    )


def _time_ns(tally: Tally, options: Options) -> float:
    """Return the time of all samples: the profile's if it states it, else from `cores`."""
    if tally.unit_ns is not None:
        if options.cores is not None:
            allowed = "must be left out, since the samples of this profile have times"
            raise refused("--cores", options.cores, allowed)
        if options.duration_s is not None and options.requests is not None:
            allowed = (
                "must be left out with --requests, since the samples of this profile have times"
            )
            raise refused("--duration", options.duration_s, allowed)
        return tally.weights.total() * tally.unit_ns
    why = (
        "this profile does not state the total time of its samples, which is computed as --cores"
        " times --duration"
    )
    if options.cores is None:
        allowed = f"must be the mean number of busy cores: {why}"
        raise refused("--cores", LEFT_OUT, allowed)
    if options.duration_s is None:
        allowed = f"must be the duration of the profile in seconds: {why}"
        raise refused("--duration", LEFT_OUT, allowed)
    cores = positive_number("--cores", options.cores, 1e6)
    return cores * positive_number("--duration", options.duration_s, _MOST) * 1e9


class _Parts:
    """The weight of each operation of a path, with its number of samples."""

    def __init__(self, tally: Tally, counts: dict[str, float], report: Report) -> None:
        self.report, self.counts, self.tally = report, counts, tally
        self.weights: dict[str, float] = dict.fromkeys(counts, 0.0)
        self.samples: dict[str, float] = dict.fromkeys(counts, 0.0)
        self.application = float(tally.weights[APPLICATION])
        report.understood("samples of functions of the application", tally.samples[APPLICATION])
        for name in OPERATIONS:
            self._take((name,), name)
        for name, pair in PAIRS.items():
            self._take(pair, name)
        self._take_others()

    def _take(self, names: tuple[str, ...], category: str) -> None:
        """Assign the samples of `category` to the operations in `names` that the path has."""
        samples, weight = self.tally.samples[category], self.tally.weights[category]
        used = [name for name in names if name in self.counts]
        either = " or ".join(names)
        if not used:
            self.report.guessed(
                f"samples of {either}, which the service's path does not have",
                "counted as application time",
                count=samples,
            )
            self.application += weight
            return
        for name in used:
            self.weights[name] += weight / len(used)
            self.samples[name] += samples / len(used)
        if len(names) == 1:
            self.report.understood(f"samples of {either}", samples)
        else:
            share = f"half to each of {either}" if len(used) > 1 else f"all to {used[0]}"
            self.report.guessed(f"samples that may be {either}", share, count=samples)

    def _take_others(self) -> None:
        """Count samples without a rule as application time, and name the heaviest functions."""
        what, done = "samples of functions without a rule", "counted as application time"
        samples, weight = self.tally.samples[OTHER], self.tally.weights[OTHER]
        self.application += weight
        heaviest = sorted(self.tally.unknown.items(), key=lambda item: (-item[1], item[0]))
        total = self.tally.weights.total()
        named = [f"{name} ({100 * each / total:.1f} %)" for name, each in heaviest[:PLACES]]
        self.report.guessed(what, done, ", ".join(named), count=samples)

    def costs(self, scale: float) -> Tree:
        """Return the workload's table of costs for each operation, by the operation's name.

        `scale` is the time of a request, in ns, for which one unit of the profile's weight stands.
        """
        tables: Tree = {}
        lightest = self.tally.weights.total() / max(self.tally.samples.total(), 1)
        for name, count in self.counts.items():
            weight, samples = self.weights[name], self.samples[name]
            if not weight:
                self.report.guessed(
                    f"operations without a sample: {name}",
                    "the cost is that of one sample, about the most that it can be",
                )
                weight, samples = lightest, 1.0
            tables[name] = {
                "ns": rounded(min(weight * scale / count, 1e12)),
                "ns_per_byte": 0.0,
                "relative_error": rounded(1 / math.sqrt(max(samples, 1.0))),
            }
        return tables


def _set_application(service: Tree, app_us: float, report: Report) -> None:
    """Set the application time of a request, less the phases that have a time of their own.

    These are scaled if nothing but them could have the application time, or if they exceed it: the
    times of spans, for instance, contain the operations, which the profile counts apart.
    """
    app_us = min(app_us, _MOST_APP_US)
    phases = [phase for phase in service["path"] if isinstance(phase, dict)]
    own = [phase for phase in phases if "cpu_us" in phase]
    for each in (phase["cpu_us"] for phase in own):
        if not isinstance(each, int | float) or not 0 <= each <= _MOST_APP_US:
            place = f"{service['name']}: cpu_us"
            raise refused(place, each, f"must be a time from 0 to {_MOST_APP_US:g} us")
    spent_us = sum(phase["cpu_us"] for phase in own)
    shared = any(phase.get("cpu") is True for phase in phases)
    if shared:
        service["app_us"] = rounded(max(app_us - spent_us, 0.0))
    what = "phases with a time of their own"
    if own and (not shared or spent_us > app_us):
        done = f"scaled from {spent_us:.6g} us together to {app_us:.6g}, the application time"
        report.guessed(what, done, count=len(own))
        for phase in own:
            share = phase["cpu_us"] / spent_us if spent_us else 1 / len(own)
            phase["cpu_us"] = rounded(app_us * share)
    elif own:
        done = "kept; the others share the rest of the application time"
        report.guessed(what, done, count=len(own))
    elif not shared:
        report.dropped(
            "application time in us, for which the path has no phase { cpu = true }",
            "left out",
            count=max(round(app_us), 1),
        )
    drawn = sum(isinstance(phase.get("cpu"), dict) for phase in phases)
    report.guessed(
        "phases whose time is drawn", "kept, although the application time has it, too", count=drawn
    )
