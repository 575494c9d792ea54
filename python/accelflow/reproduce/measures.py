"""What can be measured of a system, and how figures are made of it.

A *measure* is read from the results of one service in one simulation. A *form* compares two systems
service by service, and a *summary* makes one figure of the services'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from accelflow import chip
from accelflow.errors import InputError

__all__ = ["FORMS", "MEASURES", "SUMMARIES", "check_measure", "figure", "read"]

#: The results of one service in one simulation, as the engine gives them, and under ``run`` those
#: of the whole simulation.
ServiceRow = Mapping[str, Any]

FORMS: Final = ("value", "reduction", "ratio")
SUMMARIES: Final = ("mean", "max")


def _plain(key: str) -> Callable[[ServiceRow], float | None]:
    return lambda row: row[key]


def _share(*parts: str) -> Callable[[ServiceRow], float | None]:
    """The share of some parts in the time that a request spends on this server."""

    def read_share(row: ServiceRow) -> float | None:
        spent = row["spent_us"]
        if not spent:
            return None
        here = math.fsum(spent.values()) - spent["remote"]
        return math.fsum(spent[part] for part in parts) / here if here > 0 else None

    return read_share


def _used(*accelerators: str) -> Callable[[ServiceRow], float | None]:
    """The share of their elements' time, mean over accelerators that the paper names together."""

    def read_used(row: ServiceRow) -> float | None:
        used = [row["accelerator_utilization"][name] for name in accelerators]
        return math.fsum(used) / len(used)

    return read_used


def _fallen_back(reason: str) -> Callable[[ServiceRow], float | None]:
    """Traces handed to a core for `reason`, per operation on accelerators of as many requests."""

    def read_fallen_back(row: ServiceRow) -> float | None:
        operations = row["operations_per_request"] * row["responded"]
        count: float = row["fallbacks"][reason]
        return count / operations if operations else None

    return read_fallen_back


def _missed(row: ServiceRow) -> float | None:
    """Requests that miss their SLO, of those that have one."""
    with_slo: int = row["slo"]["requests"]
    return row["slo"]["missed"] / with_slo if with_slo else None


def _timed_out(row: ServiceRow) -> float | None:
    """Messages that did not come in time, per million requests."""
    requests: int = row["responded"] + row["fallbacks"]["timed_out"]
    return 1e6 * row["fallbacks"]["timed_out"] / requests if requests else None


def _energy(key: str) -> Callable[[ServiceRow], float | None]:
    """A figure of the energy of the whole run, the same for all services that took part."""

    def read_energy(row: ServiceRow) -> float | None:
        run = row["run"]
        found: float | None = chip.energy(run, run["systems"][0]["orchestrator"])[key]
        return found

    return read_energy


#: By name, what can be read of a service: latencies in us, the others as shares of 1 or counts.
MEASURES: Final[Mapping[str, Callable[[ServiceRow], float | None]]] = {
    **{key: _plain(key) for key in ("mean_us", "p50_us", "p99_us", "p999_us")},
    **{key: _plain(key) for key in ("throughput_rps", "core_utilization", "manager_utilization")},
    "max_rps": lambda row: row.get("max_rps"),
    "dispatcher_instructions": _plain("dispatcher_instructions_mean"),
    "cpu_share": _share("cpu"),
    "accelerator_share": _share("accelerator"),
    "orchestration_share": _share("dispatcher", "manager", "cores"),
    "communication_share": _share("communication"),
    "queueing_share": _share("queueing"),
    "used_TCP": _used("TCP"),
    "used_Encr_Decr": _used("Encr", "Decr"),
    "used_RPC": _used("RPC"),
    "used_Ser_Dser": _used("Ser", "Dser"),
    "used_Cmp_Dcmp": _used("Cmp", "Dcmp"),
    "used_LdB": _used("LdB"),
    "denied_Encr": lambda row: row["accelerator_denied"]["Encr"],
    "joules_per_request": _energy("joules_per_request"),
    "requests_per_joule": _energy("requests_per_joule"),
    "slo_missed_share": _missed,
    "timed_out_per_million": _timed_out,
    "overflow_full_share": _fallen_back("overflow_full"),
}


def check_measure(name: str, place: str) -> None:
    """Raise InputError, which names `place`, if there is no measure called `name`."""
    if name not in MEASURES:
        raise InputError(f"{place}: unknown measure '{name}'; known are {', '.join(MEASURES)}")


def read(measure: str, row: ServiceRow) -> float | None:
    """`measure` of one service; None if it has none, such as a latency of no requests."""
    return MEASURES[measure](row)


def figure(
    form: str,
    summary: str,
    ours: Mapping[str, float | None],
    theirs: Mapping[str, float | None] | None,
) -> float | None:
    """One figure of values by service; None if a service lacks it.

    ``value`` takes `ours` as they are, ``ratio`` is ours over theirs and ``reduction`` one less
    that, service by service, which weigh the same, as in the paper's averages (section VII.A).
    """
    found = [_one(form, value, (theirs or {}).get(service)) for service, value in ours.items()]
    if not found:
        return None
    present: Sequence[float] = [value for value in found if value is not None]
    if len(present) < len(found):
        return None
    return max(present) if summary == "max" else math.fsum(present) / len(present)


def _one(form: str, ours: float | None, theirs: float | None) -> float | None:
    if form == "value" or ours is None:
        return ours
    if not theirs:
        return None
    return ours / theirs if form == "ratio" else 1 - ours / theirs
