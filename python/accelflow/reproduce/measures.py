"""Measures of a service's results, and how figures are computed from them.

A *measure* is read from the results of one service in one simulation. A *form* takes the measures
of one system, or compares two systems, service by service. A *summary* combines the services into
one figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from accelflow import chip, simulation
from accelflow.errors import one_of
from accelflow.report.results import sum_of

__all__ = ["FORMS", "MEASURES", "OF_ENERGY", "SUMMARIES", "check_measure", "figure", "read"]

#: The results of one service in one simulation; ``run`` has the results of the whole simulation.
ServiceRow = Mapping[str, Any]

#: The forms of a figure: a value of one system, or a reduction or ratio of two systems' values.
FORMS: Final = ("value", "reduction", "ratio")
#: The ways to combine the values of services into one figure.
SUMMARIES: Final = ("mean", "max")


def _plain(key: str) -> Callable[[ServiceRow], float | None]:
    return lambda row: row[key]


def _share(*parts: str, remote: bool = False) -> Callable[[ServiceRow], float | None]:
    """Return a measure: the share of `parts` in the time that a request spends on the server.

    With `remote`, the share is that in the whole response time, including waits for other servers.
    """

    def read_share(row: ServiceRow) -> float | None:
        spent = row["spent_us"]
        if not spent:
            return None
        whole = math.fsum(spent.values()) - (0.0 if remote else spent["remote"])
        return math.fsum(spent[part] for part in parts) / whole if whole > 0 else None

    return read_share


def _spent(*parts: str) -> Callable[[ServiceRow], float | None]:
    """Return a measure: a request's time in `parts`, in us (default: all but remote waits)."""

    def read_spent(row: ServiceRow) -> float | None:
        spent: Mapping[str, float] = row["spent_us"]
        if not spent:
            return None
        chosen = parts or [part for part in spent if part != "remote"]
        return math.fsum(spent[part] for part in chosen)

    return read_spent


def _of_accelerators(key: str, *accelerators: str) -> Callable[[ServiceRow], float | None]:
    """Return a measure: the mean of the member `key` over the named accelerators.

    The measure is None for older results, which lack the member.
    """

    def read_mean(row: ServiceRow) -> float | None:
        if key not in row:
            return None
        found = [row[key][name] for name in accelerators]
        return math.fsum(found) / len(found)

    return read_mean


#: The accelerators that section VII.B.4 names, by the name that measures have.
_TOGETHER: Final[Mapping[str, tuple[str, ...]]] = {
    "TCP": ("TCP",),
    "Encr_Decr": ("Encr", "Decr"),
    "RPC": ("RPC",),
    "Ser_Dser": ("Ser", "Dser"),
    "Cmp_Dcmp": ("Cmp", "Dcmp"),
    "LdB": ("LdB",),
}

#: All accelerators, in the paper's order.
_ACCELERATORS: Final = tuple(name for names in _TOGETHER.values() for name in names)


def _of_data(part: str, whole: Callable[[ServiceRow], float]) -> Callable[[ServiceRow], Any]:
    """Return a measure: the count `part` of the data path over another; None if that is 0."""

    def read_ratio(row: ServiceRow) -> float | None:
        count = whole(row)
        return row["data"][part] / count if count else None

    return read_ratio


def _operations(row: ServiceRow) -> float:
    """Return the operations on a server's accelerators in the whole run, in millions."""
    requests: float = math.fsum(
        service["responded"]
        for system in row["run"]["systems"]
        for service in system["services"]
        if row["run"]["placement"] == "colocated" or service["service"] == row["service"]
    )
    of_each: float = row["operations_per_request"]
    return of_each * requests / 1e6


#: Instructions that a busy core executes in a cycle.
#:
#: Provenance: assumed. The simulator counts the time of cores. `tlb.faults_per_million` rests on
#: the same figure.
_INSTRUCTIONS_PER_CYCLE: Final = 1.0


def _per_instruction(part: str, each: float) -> Callable[[ServiceRow], float | None]:
    """Return a measure: the count `part` of the data path per `each` instructions of the cores."""

    def read_rate(row: ServiceRow) -> float | None:
        services = row["run"]["systems"][0]["services"]
        requests = math.fsum(service["responded"] for service in services)
        rate_rps = sum_of([service["throughput_rps"] for service in services])
        if not requests or not rate_rps:
            return None
        busy_s = row["core_utilization"] * _parameter(row, "core.count") * requests / rate_rps
        cycles = busy_s * _parameter(row, "core.clock_ghz") * 1e9
        count: float = row["data"][part]
        return each * count / (cycles * _INSTRUCTIONS_PER_CYCLE) if cycles else None

    return read_rate


def _parameter(row: ServiceRow, key: str) -> float:
    """Return the value of the simulated server's parameter `key`."""
    config: Mapping[str, float] = row["run"]["config"]
    return config[key] if key in config else _defaults()[key]


@cache
def _defaults() -> Mapping[str, float]:
    return {parameter.key: parameter.default for parameter in simulation.parameters()}


def _full_per_request(row: ServiceRow) -> float | None:
    """Return the traces handed to a core because of a full overflow area, per request."""
    responded: int = row["responded"]
    return row["fallbacks"]["overflow_full"] / responded if responded else None


def _fallen_back(reason: str) -> Callable[[ServiceRow], float | None]:
    """Return a measure: the traces handed to a core for `reason`, per accelerator operation."""

    def read_fallen_back(row: ServiceRow) -> float | None:
        operations = row["operations_per_request"] * row["responded"]
        count: float = row["fallbacks"][reason]
        return count / operations if operations else None

    return read_fallen_back


def _missed(row: ServiceRow) -> float | None:
    """Return the share of requests with an SLO that miss it."""
    with_slo: int = row["slo"]["requests"]
    return row["slo"]["missed"] / with_slo if with_slo else None


def _timed_out(row: ServiceRow) -> float | None:
    """Return the messages that timed out per million requests."""
    requests: int = row["responded"] + row["fallbacks"]["timed_out"]
    return 1e6 * row["fallbacks"]["timed_out"] / requests if requests else None


def _manager_time(row: ServiceRow) -> float | None:
    """Return the manager's busy seconds per 10,000 requests of a service alone on its server."""
    rate: float | None = row["throughput_rps"]
    return 1e4 * float(row["manager_utilization"]) / rate if rate else None


def _energy(key: str) -> Callable[[ServiceRow], float | None]:
    """Return a measure of the energy of the whole run, the same for all its services.

    The measure is None for runs with custom accelerators, whose power is not known.
    """

    def read_energy(row: ServiceRow) -> float | None:
        run = row["run"]
        if chip.custom_accelerators(run):
            return None
        found: float | None = chip.energy(run, run["systems"][0]["orchestrator"])[key]
        return found

    return read_energy


#: The measures that need the power of all accelerators.
OF_ENERGY: Final = ("joules_per_request", "dynamic_joules_per_request", "requests_per_joule")

#: The functions that read a measure from a service's results, by the measure's name. Names tell the
#: unit (``_us``, ``_s``, ``_rps``, ``joules``, ``_per_million``); other measures are ratios or
#: counts.
MEASURES: Final[Mapping[str, Callable[[ServiceRow], float | None]]] = {
    **{key: _plain(key) for key in ("mean_us", "p50_us", "p99_us", "p999_us")},
    **{key: _plain(key) for key in ("throughput_rps", "core_utilization", "manager_utilization")},
    "manager_s_per_10k": _manager_time,
    "max_rps": lambda row: row.get("max_rps"),
    "dispatcher_instructions": _plain("dispatcher_instructions_mean"),
    "cpu_share": _share("cpu"),
    "accelerator_share": _share("accelerator"),
    "orchestration_share": _share("dispatcher", "manager", "cores"),
    "communication_share": _share("communication"),
    "queueing_share": _share("queueing"),
    "orchestration_share_of_response": _share("dispatcher", "manager", "cores", remote=True),
    "orchestration_and_communication_share": _share(
        "dispatcher", "manager", "cores", "communication"
    ),
    "orchestration_us": _spent("dispatcher", "manager", "cores"),
    "server_us": _spent(),
    **{
        f"used_{name}": _of_accelerators("accelerator_utilization", *names)
        for name, names in _TOGETHER.items()
    },
    **{
        f"any_busy_{name}": _of_accelerators("accelerator_any_busy", *names)
        for name, names in _TOGETHER.items()
    },
    **{f"denied_{name}": _of_accelerators("accelerator_denied", name) for name in _ACCELERATORS},
    **{f"on_core_{name}": _of_accelerators("accelerator_on_core", name) for name in _ACCELERATORS},
    "tlb_miss_share": _of_data("tlb_misses", lambda row: row["data"]["tlb_lookups"]),
    "page_faults_per_million_operations": _of_data("page_faults", _operations),
    "page_faults_per_million_instructions": _per_instruction("page_faults", 1e6),
    "tlb_misses_per_kilo_instruction": _per_instruction("tlb_misses", 1e3),
    **{key: _energy(key) for key in OF_ENERGY},
    "slo_missed_share": _missed,
    "timed_out_per_million": _timed_out,
    "overflow_full_share": _fallen_back("overflow_full"),
    "overflow_full_per_request": _full_per_request,
}


def check_measure(name: str, place: str) -> None:
    """Raise InputError if `name` is not a key of :data:`MEASURES`.

    `place` says in the message where the name was found.
    """
    one_of(place, name, MEASURES)


def read(measure: str, row: ServiceRow) -> float | None:
    """Return the value of one measure from a service's results; None if they lack it.

    `measure` is a key of :data:`MEASURES`, and `row` has the results of the service in one
    simulation.
    """
    return MEASURES[measure](row)


def figure(
    form: str,
    summary: str,
    ours: Mapping[str, float | None],
    theirs: Mapping[str, float | None] | None,
) -> float | None:
    """Combine the values of all services into one figure.

    None without services, if a service lacks a value, and for a comparison with a value of 0.

    `ours` has a value for each service, and `theirs` has the values to compare with. First, `form`
    determines a number for each service: ``value`` is the value in `ours`, ``ratio`` is ours /
    theirs, and ``reduction`` is 1 - ours / theirs. Then `summary` combines these numbers: ``mean``
    with equal weights, as in the paper's averages (section VII.A), or ``max``.
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
