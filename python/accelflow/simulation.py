"""Simulate a scenario under several orchestrators; list the simulator's inputs."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.calibration import calibrated, calibration_of
from accelflow.chips import read_config
from accelflow.errors import (
    AccelflowError,
    InputError,
    file_path,
    finite_number,
    positive_number,
    refusals,
    refused,
    whole_number,
    writing,
)
from accelflow.files import write_whole
from accelflow.parameters import Choice, Parameter, configured, parameters, settings
from accelflow.policies import (
    OrchestratorSource,
    QueuePolicySource,
    System,
    systems_in_python,
)
from accelflow.report.results import SCHEMA
from accelflow.report.samples import Sampled
from accelflow.scenario import (
    ARRIVALS,
    ASSUMED_TCP_COST_NS,
    FACTS,
    PAPER_RATE_RPS,
    PAPER_SLO_FACTOR,
    PLACEMENTS,
    POLICIES,
    PROFILES,
    RATES,
    RECORDED_TIMES,
    REMOTES,
    SERVERLESS_RATE_RPS,
    SIZES,
    WORKLOADS,
    Scenario,
    document,
    hashed,
    loaded,
    read_scenario,
    resolved,
    scenario_schema,
    write_scenario,
)
from accelflow.workload import native_workload

__all__ = [
    "ARRIVALS",
    "ASSUMED_TCP_COST_NS",
    "FACTS",
    "PAPER_RATE_RPS",
    "PAPER_SLO_FACTOR",
    "PLACEMENTS",
    "POLICIES",
    "PROFILES",
    "RATES",
    "RECORDED_TIMES",
    "REMOTES",
    "SERVERLESS_RATE_RPS",
    "SIZES",
    "WORKLOADS",
    "Choice",
    "Parameter",
    "Scenario",
    "Suite",
    "check",
    "check_samples",
    "configured",
    "costed",
    "demands",
    "dwell_s",
    "hashed",
    "loaded",
    "orchestrators",
    "parameters",
    "payloads",
    "profile_parameters",
    "read_config",
    "read_scenario",
    "run",
    "run_sampled",
    "scenario_schema",
    "service",
    "service_breakdown",
    "services",
    "settings",
    "simulated_operations",
    "systems",
    "timeouts",
    "workloads",
    "write_scenario",
    "write_spans",
]

#: The largest number of threads of a simulation.
MAX_THREADS: Final = 4_096


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A set of services that comes with accelflow, such as SocialNetwork.

    `name` is its identifier. A request runs sequences of accelerators, and `branching_share` is the
    share (0 to 1) of these sequences that contain a branch. `paper_branching_share` is the same
    share as the paper prints it, or None if it does not (AccelFlow, section III, Q2).
    """

    name: str
    branching_share: float
    paper_branching_share: float | None


def check(scenario: Scenario, threads: int = 1) -> None:
    """Raise InputError for the first value of `scenario` or `threads` that is not allowed."""
    resolved(scenario)
    whole_number("threads", threads, 1, MAX_THREADS)


def run(  # noqa: PLR0913 (settings, by name)
    scenario: Scenario,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    tail_share: float = 0.0,
    exact: bool | None = None,
    policies: Mapping[str, QueuePolicySource | Iterable[QueuePolicySource]] | None = None,
    orchestrators: Iterable[OrchestratorSource] = (),
) -> dict[str, Any]:
    """Simulate `scenario` and return the results: a dict with the schema ``accelflow.compare/1``.

    `threads` (default: one per core) does not change the results. `progress` is called with the
    number of completed requests and the total, over all simulations. With `tail_share` above 0 (up
    to 1), each service also has ``tail_us``: this share of its response times, longest first.
    Percentiles are exact up to 10,000,000 requests of a service. Beyond, or with `exact` False,
    response times are counted in bins: ``percentiles`` has the relative error, services have
    ``tail_bins``, and ``tail_us`` is empty. If the scenario's costs are those of this machine, the
    first comparison measures them, which takes some seconds.

    `policies` and `orchestrators` are classes in Python, simulated together with the built-in
    systems (docs/python-policies.md). `policies` maps systems to queue policies; in the results,
    such a system is called ``SYSTEM+NAME``. ``python_systems`` in the results lists all systems in
    Python, since the hash of the scenario does not cover them.

    Raises InputError for a value that is not allowed. Raises AccelflowError for a recording or
    workload that cannot be simulated, and for a policy that raises an exception, which is the
    error's cause.
    """
    number = isinstance(tail_share, int | float) and not isinstance(tail_share, bool)
    if not number or not 0.0 <= tail_share <= 1.0:
        raise refused("tail_share", tail_share, "must be a number from 0 to 1")
    others = systems_in_python(policies, orchestrators)
    results, _ = run_sampled(
        scenario,
        threads=threads,
        progress=progress,
        tail_share=tail_share,
        exact=exact,
        others=others,
    )
    for service in (row for system in results["systems"] for row in system["services"]):
        if "tail_us" in service:
            service["tail_us"] = service["tail_us"].tolist()
    return results


def run_sampled(  # noqa: PLR0913 (options, by name)
    scenario: Scenario,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    tail_share: float = 0.0,
    exact: bool | None = None,
    samples: int = 0,
    use_intervals: int = 0,
    others: Iterable[System] = (),
) -> tuple[dict[str, Any], list[Sampled]]:
    """Simulate as :func:`run`; return the results, and up to `samples` single requests per service.

    The response times ``tail_us`` of services are arrays (`array.array`) instead of lists.
    With `use_intervals` of 2 or more, the results also have ``use_over_time``: the utilisation of
    each server's resources in at most this many intervals (:func:`accelflow.report.use.read_use`).
    `others` are systems in Python (:func:`accelflow.policies.systems_in_python`).
    """
    threads = threads if threads is not None else os.cpu_count() or 1
    scenario = loaded(scenario)
    check(scenario, threads)
    if progress is not None and not callable(progress):
        raise refused("progress", progress, "must be a function or None")
    if exact is not None and not isinstance(exact, bool):
        raise refused("exact", exact, "must be True, False or None")
    scenario = costed(scenario)
    asked = resolved(scenario)
    others = list(others)
    options = (threads, tail_share, samples, exact, use_intervals)
    with refusals():
        text, tails, found = _native.scenario_run(
            document(scenario), scenario.recording, options, progress, others
        )
    results = json.loads(text)
    for system, service, times in tails:
        results["systems"][system]["services"][service]["tail_us"] = array("d", times)
    kept = {key: results[key] for key in ("use_over_time",) if key in results}
    return _results(scenario, asked, results) | _in_python(others) | kept, found


def check_samples(scenario: Scenario, samples: int, runs: int) -> None:
    """Raise InputError if `runs` simulations would return more single requests than allowed.

    `samples` is the number of requests of each service under each system in one simulation. Raises
    InputError also for a recording that does not fit the scenario.
    """
    scenario = costed(scenario)
    try:
        _native.scenario_check_samples(document(scenario), scenario.recording, samples, runs)
    except AccelflowError as error:
        raise InputError.of(error) from error


def costed(scenario: Scenario) -> Scenario:
    """Return `scenario` with costs measured on this machine, if its costs are to be ``measured``.

    The measured costs are a text in the field `recording`. The first call measures this machine,
    which takes some seconds. A scenario with other costs is returned as it is. Raises InputError
    for a value that is not allowed.
    """
    if scenario.recording is None and scenario.costs == "measured":
        return replace(scenario, recording=calibrated()[0], profile="measured")
    return scenario


def _results(
    scenario: Scenario, asked: Mapping[str, Any], found: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "workload": asked["workload"],
        **({"workload_sha256": asked["workload_sha256"]} if asked.get("workload_sha256") else {}),
        "profile": asked["costs"],
        **({"recorded_times": asked["recorded_times"]} if "recorded_times" in asked else {}),
        "profile_parameters": found["profile_parameters"],
        "calibration": _calibration(scenario.recording),
        "placement": asked["placement"],
        **_servers(scenario, asked["placement"], found["systems"]),
        "arrivals": {
            "kind": asked["arrivals"],
            "rate_rps": asked["rate_rps"],
            "rates": "given" if scenario.rates_rps else asked["rates"],
            **({"rates_rps": asked["rates_rps"]} if scenario.rates_rps else {}),
        },
        "payload_sizes": asked["sizes"],
        "facts": asked["facts"],
        "remote": asked["remote"],
        "requests": found["requests"],
        "warmup_requests": found["warmup_requests"],
        **{key: found[key] for key in ("requests_by_service", "own_arrivals") if key in found},
        "seed": asked["seed"],
        "config": asked["config"],
        **({"chips": asked["chips"]} if "chips" in asked else {}),
        "slo_factor": asked["slo_factor"],
        "tenants": dict(scenario.tenants) | asked["tenants"],
        "priorities": dict(scenario.priorities) | asked["priorities"],
        "shaping": {tenant: _shown(limits) for tenant, limits in asked["shaping"].items()},
        **({"percentiles": found["percentiles"]} if "percentiles" in found else {}),
        "cohort_links": found["cohort_links"],
        "systems": found["systems"],
    }


def _servers(
    scenario: Scenario, placement: str, systems: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the results' member ``servers``, the names of each server's services.

    Empty if the placement alone tells them: one server for all services, or one for each.
    """
    if placement == "isolated" or isinstance(scenario.workload, str):
        return {}
    stated = json.loads(document(scenario))["workload"]["services"]
    server_of = {service["name"]: service.get("server") for service in stated}
    servers: dict[str | None, list[str]] = {}
    for row in systems[0]["services"]:
        servers.setdefault(server_of[row["service"]], []).append(row["service"])
    return {"servers": list(servers.values())} if len(servers) > 1 else {}


def _in_python(systems: list[System]) -> dict[str, Any]:
    """Return the results' members on systems in Python; empty if there are none."""
    rows = [
        {
            "orchestrator": system.name,
            "like": system.like,
            "queueing": system.queueing,
            "classes": dict(system.classes),
        }
        for system in systems
    ]
    return {"python_systems": rows} if rows else {}


def write_spans(
    scenario: Scenario,
    path: str | PathLike[str],
    *,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Simulate `scenario`, and write its requests to `path` as spans of distributed tracing.

    The scenario must have one orchestrator. The file has a line of JSON in OTLP's format for each
    request, warm-up included. Requests that services send to each other have lines of their own.
    ``accelflow import otlp`` and OpenTelemetry's collectors read such files. Requests and
    `progress` are the same as in :func:`run`. The file appears when it is complete. Returns the
    number of lines.

    Raises InputError for a value that is not allowed and for a file that cannot be written, and
    AccelflowError for several orchestrators and if the simulation fails.
    """
    path = file_path("path", path)
    scenario = costed(loaded(scenario))
    check(scenario)

    def simulate(file: Path) -> int:
        return _native.scenario_spans(document(scenario), scenario.recording, file, progress)

    with writing("path", path):
        return write_whole(path, simulate)


def _calibration(recording: str | None) -> dict[str, Any] | None:
    found = calibration_of(recording) if recording is not None else None
    return found.to_dict() if found else None


def _shown(limits: list[dict[str, Any]]) -> dict[str, Any]:
    """Limits as results show them."""
    shown: dict[str, Any] = {}
    for limit in limits:
        shown |= {"also": limit} if "unit" in limit and "unit" in shown else limit
    return shown


def dwell_s(arrivals: str) -> float | None:
    """Return the mean time in seconds from one random choice of an arrival rate to the next.

    Returns None for a process with a constant rate. `arrivals` is the name of the process. Raises
    AccelflowError for an unknown name.
    """
    found = _native.arrivals_dwell_us(arrivals)
    return None if found is None else found * 1e-6


def orchestrators() -> list[tuple[str, str]]:
    """Return the orchestrators that :func:`accelflow.compare` simulates by default.

    Each is (identifier, name in the paper).
    """
    return _native.orchestrator_names()


def systems() -> list[tuple[str, str]]:
    """Return all orchestrators, including the paper's steps from RELIEF to AccelFlow (Fig. 13).

    Each is (identifier, name in the paper).
    """
    return _native.system_names()


def workloads() -> list[Suite]:
    """Return the sets of services (suites) that come with accelflow, such as SocialNetwork."""
    return [
        Suite(name=name, branching_share=share, paper_branching_share=printed)
        for name, share, printed in _native.workload_names()
    ]


def services(workload: str | PathLike[str] | Mapping[str, Any] = "socialnetwork") -> list[str]:
    """Return the names of the services of `workload` in order; SocialNetwork's as in Table IV.

    `workload` is a suite's name, the path of a workload's file, or the file's content as a dict.
    Raises InputError for an unknown workload.
    """
    try:
        return _native.service_names(native_workload(workload))
    except AccelflowError as error:
        raise InputError.of(error) from error


def timeouts(
    workload: str | PathLike[str] | Mapping[str, Any] = "socialnetwork",
    *,
    remote: str,
    timeout_us: float,
) -> dict[str, float]:
    """Return the mean number of a request's messages that time out, by service.

    A message times out if its answer takes longer than `timeout_us`. The mean is calculated, not
    simulated, for the service's most common path. `remote` names the distributions of the waits for
    other servers, as in :class:`Scenario`; these waits do not depend on the load. Raises InputError
    for a time-out that is not above 0 and at most 1e9 us and for an unknown workload, and
    AccelflowError for an unknown `remote`.
    """
    positive_number("timeout_us", timeout_us, 1e9)
    text = native_workload(workload)
    return dict(_native.timeouts_by_service(text, remote, timeout_us))


def demands(scenario: Scenario) -> dict[str, Any]:
    """Return the work of one request to each service of `scenario`, calculated without simulation.

    Payload values that are drawn, by odds or from recorded requests, count as often as they occur.
    A request that they lead to an error has no later phases. ``services`` of the result has a row
    for each service. In a row, ``app_ns`` is the mean time of application logic on a core,
    ``operations`` has the mean number and the mean core time of each accelerator's operations, and
    ``rate_share`` is the service's rate divided by the mean rate. Of several chips, the first
    counts. Raises InputError for a scenario that is not allowed. Raises AccelflowError for a
    recording that does not fit the scenario, for measured costs without a recording (:func:`costed`
    adds it), and for an operation without a cost.
    """
    check(scenario)
    found: dict[str, Any] = json.loads(
        _native.scenario_demands(document(scenario), scenario.recording)
    )
    return found


def service(
    name: str, workload: str | PathLike[str] | Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the service `name` as a dict: method, traces, and each accelerator's invocations.

    `workload` is the service's workload; by default all suites are searched. Invocations are
    counted by following the service's traces (programs of accelerator calls). A sequence of
    accelerators runs without a core in between: ``conditionals_by_sequence`` of the result has, for
    each such sequence, the largest number of branches in one execution. Raises AccelflowError for
    an unknown service, and InputError for a workload that is not allowed.
    """
    text = None if workload is None else native_workload(workload)
    walked: dict[str, Any] = json.loads(_native.service_walk(name, text))
    return walked


def simulated_operations(name: str, orchestrator: str) -> list[tuple[int, int, str, str, bool]]:
    """Return the operations of one request to a SocialNetwork service on an idle simulated server.

    `name` is the service's name. Each operation is (phase, chain, trace, accelerator, whether a
    core executed it), in the order of their ends; those of a core are listed when the core gets
    their trace. `phase` is the index of the phase in the service's path, and `chain` that of the
    chain of traces in the phase, both from 0. Raises AccelflowError for an unknown service or
    orchestrator.
    """
    return _native.simulated_operations(name, orchestrator)


def payloads(scenario: Scenario, requests: int) -> list[tuple[str, int, int]]:
    """Return the payload sizes of every operation in `requests` invocations of each service.

    Each is (accelerator, bytes before the operation, bytes after it). Requests arrive one at a
    time, so that they do not queue. Raises InputError for a scenario that is not allowed, and
    AccelflowError for a recording that does not fit the scenario.
    """
    check(scenario)
    return _native.scenario_payloads(document(scenario), scenario.recording, requests)


def service_breakdown(tcp_cost_ns: float = ASSUMED_TCP_COST_NS) -> dict[str, dict[str, float]]:
    """Return the time of requests on cores without accelerators, in ns, by service and category.

    The services are SocialNetwork's, and the categories those of the paper's Fig. 1, such as TCP
    and AppLogic. Costs are those of the profile ``paper``: the paper's shares, and `tcp_cost_ns`
    for one operation of TCP. Raises InputError if `tcp_cost_ns` is not a number from 0.001 to 1e9.
    """
    with refusals():
        rows = json.loads(_native.service_breakdown(finite_number("tcp_cost_ns", tcp_cost_ns)))
    return {row["service"]: row["spent_ns"] for row in rows}


def profile_parameters() -> list[dict[str, Any]]:
    """Return the inputs of the profile ``paper``: costs that follow from the paper's time shares.

    Each is a dict with its name, value, provenance (such as ``assumed``) and note.
    """
    found: list[dict[str, Any]] = json.loads(_native.profile_parameters(ASSUMED_TCP_COST_NS))
    return found
