"""Comparisons of orchestrators on the simulated server, and what they rest on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from accelflow import _native, arcus
from accelflow.calibration import calibrated, calibration_of
from accelflow.errors import InputError, positive_number, texts, whole_number
from accelflow.parameters import (
    Choice,
    Parameter,
    configured,
    parameters,
    read_config,
    settings,
)
from accelflow.report.results import SCHEMA

__all__ = [
    "ARRIVALS",
    "FACTS",
    "PLACEMENTS",
    "POLICIES",
    "PROFILES",
    "RATES",
    "REMOTES",
    "SIZES",
    "WORKLOADS",
    "Choice",
    "Experiment",
    "Parameter",
    "Workload",
    "check",
    "compare",
    "configured",
    "dwell_s",
    "orchestrators",
    "parameters",
    "payloads",
    "profile_parameters",
    "read_config",
    "service",
    "service_breakdown",
    "services",
    "settings",
    "simulated_operations",
    "systems",
    "timeouts",
    "workloads",
]

#: The workload whose operations :mod:`accelflow.calibration` executes on real bytes.
MEASURED_WORKLOAD = "socialnetwork"
WORKLOADS = (MEASURED_WORKLOAD, "hotelreservation", "mediaservices", "trainticket", "serverless")
PLACEMENTS = ("colocated", "isolated")
ARRIVALS = ("poisson", "alibaba", "azure", "short_bursts")
RATES = ("equal", "alibaba", "azure")
FACTS = ("common", "drawn", "recorded")
PROFILES = ("measured", "paper")
SIZES = ("socialnetwork", "fleet", "fleet_whole", "hypercompressbench")
POLICIES = ("fifo", "priority", "deadline", "edf")
REMOTES = ("short", "socialnetwork", "short_drawn", "socialnetwork_drawn")

#: Mean of the invocation rates that the paper takes from Alibaba (AccelFlow, section VI).
PAPER_RATE_RPS = 13_400.0
#: Found: the mean of the six functions' rates at which, shared as Azure's, their logic alone keeps
#: half of the 36 cores busy.
SERVERLESS_RATE_RPS = 800.0
#: Found, not stated: the paper says that operations take "tens of microseconds" on a core, but at
#: 20 us for TCP a server cannot hold all eight services at the paper's rate without accelerators.
ASSUMED_TCP_COST_NS = 7_000.0

#: "We define the SLO to be 5x the service execution time on an unloaded system" (section VII.A.3).
PAPER_SLO_FACTOR = 5.0

MAX_REQUESTS = 10_000_000
MAX_THREADS = 4_096


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A suite of services.

    `branching_share` is the share of its sequences of accelerators that have a conditional, and
    `paper_branching_share` what the paper prints for it (section III, Q2).
    """

    name: str
    branching_share: float
    paper_branching_share: float | None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to compare. The defaults are those of `accelflow compare`.

    `orchestrators` and `services` are identifiers: if empty, those of :func:`orchestrators` and
    all services. Every one of :func:`systems` can be chosen, also in the paper's spelling.
    `profile` says where costs come from: ``measured``, what the services' operations take on real
    bytes on this machine (:func:`accelflow.calibration.calibrated`), which socialnetwork has; or
    ``paper``, the paper's shares and `tcp_cost_ns`, what TCP costs a core. By default it is the
    first for socialnetwork, and the second for the others. `recording` is the text of a recording
    (docs/recording-format.md) that costs and sizes are taken from instead; it goes with the profile
    ``measured`` if it is this machine's. `config` sets
    parameters of the server by key, choices also by name, `slo_us` when responses of
    services are due after their requests.

    `rate_rps` is the mean over the workload's services (by default the paper's, or 800 for
    serverless functions), which `rates` shares among them: by default as Alibaba's services in the
    paper's production experiment (socialnetwork with the profile ``paper`` and no `rate_rps`;
    section VI), and equally otherwise. `requests` are those of each service or, with `by_rate`, of
    one with the mean rate: each service then has as many as come in the same time, which is the
    default where rates differ. `sizes` are by default those of the workload's own messages for
    socialnetwork ("we run 8 SocialNetwork services", section VI), and fleet for the others, which
    have none. `facts` says what payloads say: that of
    the most common path, `drawn` for each request with the odds ``facts.*`` of the server's
    parameters, or `recorded`: that of one of the requests in `recording`, drawn for each; `remote`
    says how long remote sides take.

    `policy` is the order of input queues, if the configuration is not to say it: fifo, priority,
    deadline (who would be late changes places with who has slack) or edf (the earliest deadline
    first). Responses of services that `slo_us` does not name are due within `slo_factor` times
    the mean response time of the service on an idle server with AccelFlow, unless it is None.
    `tenants` and `priorities` (higher goes first) are numbers by service, 0 for those that are not
    named. `shaping` puts tenants behind ARCUS's traffic shaper, by number: a trace that starts
    costs a token, or with the unit bytes what its first operation reads. With two limits, one of
    each unit, it starts when both have its tokens.
    """

    workload: str = "socialnetwork"
    orchestrators: Sequence[str] = ()
    services: Sequence[str] = ()
    placement: str = "colocated"
    arrivals: str = "poisson"
    rate_rps: float | None = None
    rates: str | None = None
    facts: str = "common"
    requests: int = 20_000
    by_rate: bool | None = None
    seed: int = 1
    recording: str | None = None
    profile: str | None = None
    tcp_cost_ns: float = ASSUMED_TCP_COST_NS
    remote: str = "short"
    sizes: str | None = None
    config: Mapping[str, float | str] = field(default_factory=dict)
    slo_us: Mapping[str, float] = field(default_factory=dict)
    policy: str | None = None
    slo_factor: float | None = PAPER_SLO_FACTOR
    tenants: Mapping[str, int] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    shaping: Mapping[int, arcus.RateLimiter | Sequence[arcus.RateLimiter]] = field(
        default_factory=dict
    )

    @property
    def costs(self) -> str:
        """Where costs come from: paper, measured, or recording for a given one."""
        if self.profile is not None:
            return self.profile
        if self.recording is not None:
            return "recording"
        return "measured" if self.workload == MEASURED_WORKLOAD else "paper"

    @property
    def mean_rate_rps(self) -> float:
        """`rate_rps`, or what it is where it is not given."""
        if self.rate_rps is not None:
            return self.rate_rps
        return SERVERLESS_RATE_RPS if self.workload == "serverless" else PAPER_RATE_RPS

    @property
    def shares(self) -> str:
        """`rates`, or what they are where they are not given."""
        if self.rates is not None:
            return self.rates
        production = self.workload == "socialnetwork" and self.rate_rps is None
        return "alibaba" if production and self.costs == "paper" else "equal"

    @property
    def counts_by_rate(self) -> bool:
        """`by_rate`, or what it is where it is not given."""
        return self.shares != "equal" if self.by_rate is None else self.by_rate

    @property
    def payload_sizes(self) -> str:
        """`sizes`, or what they are where they are not given."""
        if self.sizes is not None:
            return self.sizes
        return "socialnetwork" if self.workload == "socialnetwork" else "fleet"

    @property
    def warmup_requests(self) -> int:
        """The first requests of each service, a tenth, are not counted."""
        return self.requests // 10


def compare(
    experiment: Experiment,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    tail_share: float = 0.0,
) -> dict[str, Any]:
    """Simulate `experiment` and return the results, an object of schema ``accelflow.compare/1``.

    `threads` (default: one a core) does not influence the results. `progress` is called with the
    number of requests that have ended and of all, over all simulations. With `tail_share`, from 0
    to 1, each service also has `tail_us`: that share of its response times, the longest first. The
    first comparison with measured costs measures them, which takes some seconds.

    Raises InputError for a value that is not allowed, AccelflowError for a recording or plan that
    cannot be simulated.
    """
    threads = threads if threads is not None else os.cpu_count() or 1
    check(experiment, threads)
    if not 0.0 <= tail_share <= 1.0:
        raise InputError(f"tail_share is {tail_share!r}; must be from 0 to 1")
    if experiment.costs == "measured" and experiment.recording is None:
        experiment = replace(experiment, recording=calibrated()[0], profile="measured")
    ids = [_orchestrator(name) for name in experiment.orchestrators]
    ids = ids or [name for name, _ in orchestrators()]
    request = {**_request(experiment, ids, threads), "tail_share": tail_share}
    text = _native.simulate_comparison(json.dumps(request), experiment.recording, progress)
    simulated = json.loads(text)
    if not tail_share:
        for service in (one for system in simulated["systems"] for one in system["services"]):
            del service["tail_us"]
    return {
        "schema": SCHEMA,
        "workload": experiment.workload,
        "profile": experiment.costs,
        "profile_parameters": simulated["profile_parameters"],
        "calibration": _calibration(experiment.recording),
        "placement": experiment.placement,
        "arrivals": {
            "kind": experiment.arrivals,
            "rate_rps": experiment.mean_rate_rps,
            "rates": experiment.shares,
        },
        "payload_sizes": experiment.payload_sizes,
        "facts": experiment.facts,
        "remote": experiment.remote,
        "requests": experiment.requests,
        "warmup_requests": experiment.warmup_requests,
        "seed": experiment.seed,
        "config": dict(sorted(_config(experiment).items())),
        "slo_factor": request["slo_factor"],
        "tenants": request["tenants"],
        "priorities": request["priorities"],
        "shaping": {tenant: _shown(it) for tenant, it in request["shaping"].items()},
        "cohort_links": simulated["cohort_links"],
        "systems": simulated["systems"],
    }


def _calibration(recording: str | None) -> dict[str, Any] | None:
    found = calibration_of(recording) if recording is not None else None
    return found.to_dict() if found else None


def _request(experiment: Experiment, ids: Sequence[str], threads: int) -> dict[str, Any]:
    """What the native engine is asked to simulate."""
    return {
        "workload": experiment.workload,
        "services": list(experiment.services),
        "orchestrators": list(ids),
        "placement": experiment.placement,
        "arrivals": experiment.arrivals,
        "rate_rps": experiment.mean_rate_rps,
        "rates": experiment.shares,
        "facts": experiment.facts,
        "requests": experiment.requests,
        "warmup": experiment.warmup_requests,
        "by_rate": experiment.counts_by_rate,
        "seed": experiment.seed,
        "threads": threads,
        "tcp_cost_ns": experiment.tcp_cost_ns,
        "remote": experiment.remote,
        "sizes": experiment.payload_sizes,
        "config": _config(experiment),
        "slo_us": dict(experiment.slo_us),
        "slo_factor": experiment.slo_factor,
        "tenants": dict(experiment.tenants),
        "priorities": dict(experiment.priorities),
        "shaping": _shaping(experiment),
    }


def _config(experiment: Experiment) -> dict[str, float]:
    config = configured(experiment.config, "config: ")
    if experiment.policy is not None:
        config["scheduling.policy"] = float(POLICIES.index(experiment.policy))
    return config


def _shaping(experiment: Experiment) -> dict[str, list[dict[str, Any]]]:
    """The limits of each tenant."""
    return {
        str(tenant): [
            {
                "unit": it.unit,
                "refill": it.refill,
                "bucket": it.bucket,
                "interval": it.interval,
            }
            for it in _limits(given)
        ]
        for tenant, given in sorted(experiment.shaping.items())
    }


def _limits(
    given: arcus.RateLimiter | Sequence[arcus.RateLimiter],
) -> Sequence[arcus.RateLimiter]:
    return (given,) if isinstance(given, arcus.RateLimiter) else given


def _shown(limits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Limits as results show them."""
    first, *also = limits
    return {**first, "also": also[0]} if also else first


def dwell_s(arrivals: str) -> float | None:
    """The mean time from one rate of `arrivals` to the next in seconds; None if the rate holds.

    Raises AccelflowError for unknown arrivals.
    """
    found = _native.arrivals_dwell_us(arrivals)
    return None if found is None else found * 1e-6


def orchestrators() -> list[tuple[str, str]]:
    """The orchestrators that a comparison runs by default: identifiers and the paper's names."""
    return _native.orchestrator_names()


def systems() -> list[tuple[str, str]]:
    """All systems that can be simulated, also the steps between RELIEF and AccelFlow (Fig. 13)."""
    return _native.system_names()


def workloads() -> list[Workload]:
    """The workloads, with how many of their sequences of accelerators branch."""
    return [
        Workload(name=name, branching_share=share, paper_branching_share=printed)
        for name, share, printed in _native.workload_names()
    ]


def services(workload: str = "socialnetwork") -> list[str]:
    """The services of `workload`; those of SocialNetwork are in the order of the paper's Table IV.

    Raises InputError for an unknown workload.
    """
    if workload not in WORKLOADS:
        raise InputError(f"unknown workload '{workload}'; known are {', '.join(WORKLOADS)}")
    return _native.service_names(workload)


def timeouts(
    workload: str = "socialnetwork", *, remote: str, timeout_us: float
) -> dict[str, float]:
    """By service, the mean number of messages of a request that are awaited for longer.

    In closed form, for the waits called `remote` and the most common path of each request; waits
    do not depend on the load. Raises InputError for a time-out that is not positive,
    AccelflowError for an unknown name.
    """
    positive_number("timeout_us", timeout_us, 1e9)
    return dict(_native.timeouts_by_service(workload, remote, timeout_us))


def service(name: str) -> dict[str, Any]:
    """The path of a service: method, path, traces and how often it invokes each accelerator.

    The service may be of any workload. The counts are found by walking its traces;
    `conditionals_by_sequence` has the most branches that each of its sequences can resolve. Raises
    AccelflowError for an unknown service.
    """
    walked: dict[str, Any] = json.loads(_native.service_walk(name))
    return walked


def simulated_operations(name: str, orchestrator: str) -> list[tuple[int, int, str, str, bool]]:
    """The operations of one invocation of a service on an idle simulated server.

    Each is (phase, chain, trace, accelerator, whether a core executed it), in the order of
    simulated time. Raises AccelflowError for an unknown service or orchestrator.
    """
    return _native.simulated_operations(name, orchestrator)


def payloads(sizes: str, requests: int) -> list[tuple[str, int, int]]:
    """The payloads of all operations of `requests` invocations of each service of SocialNetwork.

    Each is (accelerator, bytes before, bytes after). Raises AccelflowError for unknown sizes.
    """
    return _native.simulated_payloads(sizes, requests)


def service_breakdown(tcp_cost_ns: float = ASSUMED_TCP_COST_NS) -> dict[str, dict[str, float]]:
    """What each service spends on a core without accelerators, in ns, by category of the paper.

    Costs are those of the profile ``paper`` with `tcp_cost_ns`.
    """
    rows = json.loads(_native.service_breakdown(tcp_cost_ns))
    return {row["service"]: row["spent_ns"] for row in rows}


def profile_parameters() -> list[dict[str, Any]]:
    """The numbers that the profile `paper` rests on: name, value, provenance and note of each."""
    found: list[dict[str, Any]] = json.loads(_native.profile_parameters(ASSUMED_TCP_COST_NS))
    return found


def check(experiment: Experiment, threads: int = 1) -> None:
    """Raise InputError for the first value of `experiment` that is not allowed."""
    if not isinstance(experiment, Experiment):
        raise InputError(f"{experiment!r} is no Experiment")
    whole_number("threads", threads, 1, MAX_THREADS)
    _check_kinds(experiment)
    for name, value, allowed in (
        ("workload", experiment.workload, WORKLOADS),
        ("placement", experiment.placement, PLACEMENTS),
        ("arrivals", experiment.arrivals, ARRIVALS),
        ("rates", experiment.shares, RATES),
        ("facts", experiment.facts, FACTS),
        ("remote", experiment.remote, REMOTES),
        ("policy", experiment.policy or POLICIES[0], POLICIES),
        ("profile", experiment.profile or PROFILES[0], PROFILES),
        ("sizes", experiment.sizes or SIZES[0], SIZES),
    ):
        if value not in allowed:
            raise InputError(f"unknown {name} '{value}'; known are {', '.join(allowed)}")
    ids = [_orchestrator(name) for name in experiment.orchestrators]
    _check_names("orchestrator", ids, [name for name, _ in systems()])
    _check_names("service", experiment.services, services(experiment.workload))
    for name, due_us in experiment.slo_us.items():
        _check_names("service", [name], services(experiment.workload))
        positive_number(f"slo_us['{name}']", due_us, 1e9)
    _check_fit(experiment)
    _config(experiment)
    # A 99th percentile of fewer than 100 means nothing.
    whole_number("requests", experiment.requests, 100, MAX_REQUESTS)
    whole_number("seed", experiment.seed, 0, 2**64 - 1)
    rate_rps = positive_number("rate_rps", experiment.mean_rate_rps, 1e9)
    if rate_rps < 0.001:
        raise InputError(f"rate_rps = {rate_rps!r}: must be from 0.001 to 1e9")
    positive_number("tcp_cost_ns", experiment.tcp_cost_ns, 1e9)
    _check_services(experiment)


def _check_kinds(experiment: Experiment) -> None:
    """Refuse what is no list, no mapping or no text where one is needed."""
    texts("orchestrators", experiment.orchestrators)
    texts("services", experiment.services)
    for name in ("config", "slo_us", "tenants", "priorities", "shaping"):
        value = getattr(experiment, name)
        if not isinstance(value, Mapping):
            raise InputError(f"{name} = {value!r}: must be a mapping, such as a dict")
    if not isinstance(experiment.by_rate, bool | None):
        raise InputError(f"by_rate = {experiment.by_rate!r}: must be True or False")
    recording = experiment.recording
    if recording is not None and not isinstance(recording, str):
        raise InputError(
            f"recording = {recording!r}: must be the text of a recording, not where it is"
        )


def _check_services(experiment: Experiment) -> None:
    if experiment.slo_factor is not None:
        positive_number("slo_factor", experiment.slo_factor, 1e6)
    for what, numbers, most in (
        ("tenants", experiment.tenants, 65_535),
        ("priorities", experiment.priorities, 255),
    ):
        _check_names("service", list(numbers), services(experiment.workload))
        for name, number in numbers.items():
            whole_number(f"{what}['{name}']", number, 0, most)
    _check_shaping(experiment)


def _check_shaping(experiment: Experiment) -> None:
    known = ", ".join(arcus.UNITS)
    for tenant, given in experiment.shaping.items():
        whole_number("a tenant of shaping", tenant, 0, 65_535)
        limits = _limits(given)
        if not isinstance(limits, Sequence) or not all(
            isinstance(it, arcus.RateLimiter) for it in limits
        ):
            raise InputError(f"shaping[{tenant}] = {given!r}: must be an arcus.RateLimiter, or two")
        for limiter in limits:
            if limiter.unit not in arcus.UNITS:
                raise InputError(f"shaping[{tenant}].unit is '{limiter.unit}'; known are {known}")
            if limiter.clock_mhz != arcus.CLOCK_MHZ:
                raise InputError(
                    f"shaping[{tenant}].clock_mhz is {limiter.clock_mhz:g}; the simulated server's "
                    f"shaper runs at {arcus.CLOCK_MHZ:g}"
                )
        units = [limiter.unit for limiter in limits]
        if not units or len(set(units)) < len(units):
            raise InputError(
                f"shaping[{tenant}] has limits in {', '.join(units) or 'no unit'}; it must have "
                f"one, or one in each of {known}"
            )
        for limiter in limits:
            try:
                arcus.shape(limiter)
            except InputError as error:
                raise InputError(f"shaping[{tenant}]: {error}") from error


def _check_fit(experiment: Experiment) -> None:
    """Refuse what does not go together."""
    if experiment.facts == "recorded" and experiment.recording is None:
        raise InputError("facts 'recorded' need a recording with requests to take them from")
    workload = experiment.workload
    if experiment.recording is not None and experiment.profile == "paper":
        raise InputError("profile paper has no recording: leave out one of the two")
    if experiment.costs == "measured" and workload != MEASURED_WORKLOAD:
        raise InputError(
            f"profile measured has the costs of {MEASURED_WORKLOAD} only; allowed for {workload} "
            "are profile paper and a recording"
        )
    own = {"socialnetwork": ("equal", "alibaba"), "serverless": ("equal", "azure")}
    allowed = own.get(workload, ("equal",))
    if experiment.shares not in allowed:
        raise InputError(
            f"rates {experiment.shares} are not those of {workload}; allowed are "
            f"{', '.join(allowed)}"
        )
    if experiment.sizes == "socialnetwork" and workload != "socialnetwork":
        raise InputError(
            f"sizes socialnetwork are not those of {workload}; allowed are {', '.join(SIZES[1:])}"
        )


def _orchestrator(name: str) -> str:
    """The identifier that `name`, in the paper's spelling or any case, stands for; else itself."""
    spellings = {printed.casefold(): known for known, printed in systems()}
    plain = name.casefold()
    found = spellings.get(plain, plain.replace("-", "_"))
    return found if found in spellings.values() else name


def _check_names(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what} '{name}'; known are {', '.join(known)}")
    for name in names:
        if list(names).count(name) > 1:
            raise InputError(f"{what} '{name}' is named twice")
