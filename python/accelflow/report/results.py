"""The results of a comparison (schema ``accelflow.compare/1``), checked when they are read.

A :class:`Comparison` gives access to its systems by identifier, and a :class:`SystemResult` to its
services by name. By Arrow's PyCapsule interface, other libraries read both as tables:
``polars.DataFrame(comparison)``, ``pyarrow.table(comparison)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from accelflow.errors import one_of, refused
from accelflow.report.adjusted import isolates_tenants, own_overloads
from accelflow.report.called import Called, read_called
from accelflow.report.named import Named
from accelflow.report.own_arrivals import check_loads
from accelflow.report.possible import check_possible
from accelflow.report.reader import Interval, Reader, reject_repeats
from accelflow.report.use import ServerUse
from accelflow.report.views import Viewed, installed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ORCHESTRATORS",
    "SCHEMA",
    "Calibration",
    "Comparison",
    "Interval",
    "ServerUse",
    "ServiceResult",
    "SystemResult",
    "mean_of",
    "mean_reduction",
    "sum_of",
    "system_id",
]

#: The schema of the results of a comparison.
SCHEMA = "accelflow.compare/1"

#: The names of orchestrators in the paper, by identifier, in the order of the paper's figures.
ORCHESTRATORS: Mapping[str, str] = {
    "non_acc": "Non-acc",
    "cpu_centric": "CPU-Centric",
    "relief": "RELIEF",
    "cohort": "Cohort",
    "cohort_polling": "Cohort (polling)",
    "per_acc_type_q": "PerAccTypeQ",
    "direct_list": "Direct (Fig. 3)",
    "direct": "Direct",
    "cntr_flow": "CntrFlow",
    "accelflow": "AccelFlow",
    "accelflow_deadline": "AccelFlow+Deadlines",
    "accelflow_edf": "AccelFlow+EDF",
    "ideal": "Ideal",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class ServiceResult:
    """The results of one service under one orchestrator, over the requests after the warm-up.

    `service` is the service's name. Requests arrived at `offered_rps`; `completed` of them have a
    response, at the rate `throughput_rps`. The rates are None if unknown, as with a single request,
    and 0 for a service that only other services call. `called` has the results of requests from
    other services. Latencies (`mean_us`, and percentiles such as `p99_us`) are in us, and None if
    no request completed. `spent_us` has the parts of the mean latency: cpu, accelerator,
    dispatcher, manager, cores (orchestration on cores), communication, remote and queueing. Of
    parallel chains, only the one that ended last is included.

    `saturated` names the resource that could not keep up, or None; if it names one, the latencies
    depend on the length of the run. On a server that isolates tenants, it is set only if the
    service's own results show the overload. Utilisations (0 to 1) are those of cores, of each kind
    of accelerator, of the manager and of the A-DMA engines. `data` has bytes, counts and shares (0
    to 1) measured in the server's networks, caches, memory and address translation.

    `slo_requests` requests had an SLO, a response time of `slo_us`; `slo_missed` of them were
    answered later or never. `idle_unanswered` is true if even an idle server does not answer, so
    that no SLO follows from its response time: `slo_us` is then None, and all requests missed.

    The following are those of the whole run, warm-up included. `responded` counts responses, of
    which `errors` report an error. `retries` counts attempts of chains that repeated a failed one,
    and `gave_up` chains whose last attempt failed, also for other services' requests. `timed_out`
    counts requests without a response, since a message did not arrive in time or was refused for
    lack of memory. Of the `deadlines` operations with a deadline, `deadlines_missed` ended late.
    `fallbacks` counts, by reason, how often a trace left the accelerators before its end: a core
    then executed the rest, except after ``timed_out`` and ``nack`` (no memory for a message).
    `accelerator_denied` has the share of operations that a full queue turned away, by kind of
    accelerator. `operations_per_request` is the mean number of operations on accelerators, over all
    requests of the server. `dispatcher_instructions_mean` is the mean number of instructions over
    the operations that output dispatchers handled, and None if they handled none. Files of older
    versions lack some fields; `spent_us` is then empty, `data` and `slo_us` are None, and numbers
    are 0.

    With several seeds, times, rates and shares are means over the seeds, counts are sums, and
    `saturated` is that of the first seed that has one.
    `intervals` then has the confidence interval of each mean by its name, such as ``p99_us`` or
    ``spent_us.queueing``. `without_seed` has the mean latency and the P99, each computed again
    without one of the seeds in turn.
    """

    service: str
    offered_rps: float | None
    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    throughput_rps: float | None
    core_utilization: float
    accelerator_utilization: Mapping[str, float]
    fallbacks: Mapping[str, int]
    saturated: str | None
    dispatcher_instructions_mean: float | None
    spent_us: Mapping[str, float] = field(default_factory=dict)
    data: Mapping[str, float | None] | None = None
    slo_us: float | None = None
    slo_requests: int = 0
    slo_missed: int = 0
    errors: int = 0
    retries: int = 0
    gave_up: int = 0
    timed_out: int = 0
    deadlines: int = 0
    deadlines_missed: int = 0
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    without_seed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    called: Called | None = None
    manager_utilization: float = 0.0
    dma_utilization: float = 0.0
    accelerator_denied: Mapping[str, float] = field(default_factory=dict)
    responded: int = 0
    operations_per_request: float = 0.0
    idle_unanswered: bool = False

    def __repr__(self) -> str:
        return installed().service(self)

    @property
    def only_called(self) -> bool:
        """Whether other services sent requests, but no request of a client was completed.

        Requests of the warm-up do not count as completed. `called` then has the latencies.
        """
        return self.completed == 0 and self.called is not None

    @property
    def latencies(self) -> ServiceResult | Called:
        """The results whose latencies to show: `called` if :attr:`only_called`, else `self`."""
        return self.called if self.called is not None and self.only_called else self

    @property
    def ended(self) -> int:
        """The number of requests that ended in the whole run, also those from other services."""
        called = 0 if self.called is None else self.called.requests
        return self.responded + self.timed_out + called

    @property
    def unanswered_share(self) -> float:
        """The share of clients' requests (0 to 1) without a response, over the whole run."""
        answered = max(self.responded, self.completed)
        return self.timed_out / (answered + self.timed_out) if self.timed_out else 0.0

    @property
    def slo_missed_share(self) -> float | None:
        """The share of clients' requests (0 to 1) not answered within the SLO; None without SLO."""
        return self.slo_missed / self.slo_requests if self.slo_requests else None

    @property
    def in_time_rps(self) -> float | None:
        """The clients' requests that were answered within the SLO, per second.

        Without an SLO, all answered requests count. None if the rates are unknown.
        """
        rate = self.throughput_rps
        if rate is None or not self.slo_requests:
            return rate
        # The throughput has answers alone, while requests that miss the SLO may have none.
        in_time, answered = 1 - (self.slo_missed_share or 0.0), 1 - self.unanswered_share
        return rate * min(1.0, in_time / answered) if answered else 0.0

    @property
    def total_fallbacks(self) -> int:
        """How often a trace left the accelerators before its end, for any reason."""
        return sum(self.fallbacks.values())

    @property
    def orchestration_share(self) -> float | None:
        """The share (0 to 1) of orchestration in the mean latency: dispatchers, manager and cores.

        This is the orchestration overhead of the paper's Figs. 3 and 17. None if `spent_us` is
        empty.
        """
        total = math.fsum(self.spent_us.values())
        parts = ("dispatcher", "manager", "cores")
        return math.fsum(self.spent_us.get(part, 0.0) for part in parts) / total if total else None

    @property
    def busiest_accelerator(self) -> tuple[str, float] | None:
        """The name and utilisation (0 to 1) of the busiest accelerator; None if none was used."""
        used = [(name, share) for name, share in self.accelerator_utilization.items() if share > 0]
        return max(used, key=lambda item: item[1], default=None)


@dataclass(frozen=True, kw_only=True, repr=False)
class SystemResult(Viewed, Named[ServiceResult]):
    """The results of one system (an orchestrator on a chip), with those of its services by name.

    `orchestrator` is the orchestrator's identifier. `services` has the results of each service.
    `chip` is the chip's name, or None if only one chip was compared. The latencies (`mean_us`,
    `p50_us`, `p99_us`, `p999_us`) are unweighted means over the services that clients call, as in
    the paper (section VII.A); a mean is None if a service has no value. With several seeds,
    `intervals` has the confidence interval of each mean by name. `source` is the checked JSON
    object of the comparison with only this system. `samples` is a pyarrow table of single requests;
    None unless :func:`accelflow.compare`, which describes the table, was asked for samples.
    """

    #: The word for a part of these results in error messages.
    part: ClassVar[str] = "service"

    orchestrator: str
    services: tuple[ServiceResult, ...]
    chip: str | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    samples: pa.Table | None = None

    def parts(self) -> dict[str, ServiceResult]:
        """Return the services by name."""
        return {result.service: result for result in self.services}

    def __repr__(self) -> str:
        return installed().system(self.whole()).to_text()

    def _repr_html_(self) -> str:
        return installed().system(self.whole()).to_html()

    def whole(self) -> Comparison:
        """Return these results as a comparison that has only this system."""
        return replace(Comparison.from_dict(self.source), samples=self.samples, systems=(self,))

    @property
    def id(self) -> str:
        """The orchestrator's identifier; with several chips, also the chip's name."""
        return _id(self.orchestrator, self.chip)

    @property
    def name(self) -> str:
        """The orchestrator's name in the paper, or its identifier if it is written in Python."""
        return ORCHESTRATORS.get(self.orchestrator, self.orchestrator)

    @property
    def has_central_queue(self) -> bool:
        """Whether all accelerators share one queue at the manager, as in RELIEF.

        If the results do not state the queues of an orchestrator written in Python, they are those
        of the built-in system on which it is based (its member ``like``).
        """
        rows = {row["orchestrator"]: row for row in self.source.get("python_systems", ())}
        row = rows.get(self.orchestrator, {"like": self.orchestrator})
        stated = row.get("queueing")
        return bool(stated == "central" if stated else row.get("like") == "relief")

    @property
    def label(self) -> str:
        """The system's name to show, with the chip's name if there are several chips."""
        return self.name if self.chip is None else f"{self.name} on {self.chip}"

    @property
    def mean_us(self) -> float | None:
        """Mean over services with clients of the mean latency, in us; None if one has none."""
        return self._mean("mean_us")

    @property
    def p50_us(self) -> float | None:
        """Mean over services with clients of the median latency, in us; None if one has none."""
        return self._mean("p50_us")

    @property
    def p99_us(self) -> float | None:
        """Mean over services with clients of the P99 latency, in us; None if one has none."""
        return self._mean("p99_us")

    @property
    def p999_us(self) -> float | None:
        """Mean over services with clients of the P99.9 latency, in us; None if one has none."""
        return self._mean("p999_us")

    @property
    def throughput_rps(self) -> float | None:
        """The sum of all services' completed requests per second; None if one rate is unknown."""
        return sum_of([result.throughput_rps for result in self.services])

    @property
    def slo_missed_share(self) -> float | None:
        """The share of clients' requests (0 to 1) not answered within the SLO; None without SLO."""
        requests = sum(result.slo_requests for result in self.services)
        missed = sum(result.slo_missed for result in self.services)
        return missed / requests if requests else None

    @property
    def unanswered_share(self) -> float:
        """The share of clients' requests (0 to 1) without a response, over the whole run."""
        lost = sum(result.timed_out for result in self.services)
        answered = sum(max(result.responded, result.completed) for result in self.services)
        return lost / (answered + lost) if lost else 0.0

    @property
    def unanswered_services(self) -> list[str]:
        """The services that clients call but that answered none of the counted requests."""
        outside = [result for result in self.services if not result.only_called]
        return [result.service for result in outside if not result.completed]

    @property
    def isolates_tenants(self) -> bool:
        """Whether the server protects each tenant from the load of the others.

        If so, `saturated` is set only for services whose own results show an overload.
        """
        services = [result.service for result in self.services]
        return isolates_tenants(self.source, self.chip, services)

    @property
    def saturated(self) -> str | None:
        """The resource that could not keep up, from the first service that names one; else None."""
        return next((result.saturated for result in self.services if result.saturated), None)

    def service(self, name: str) -> ServiceResult | None:
        """Return the results of the service called `name`; None if it was not simulated."""
        return next((result for result in self.services if result.service == name), None)

    def only(self, services: Sequence[str]) -> SystemResult:
        """Return these results reduced to the services named in `services`."""
        kept = tuple(result for result in self.services if result.service in services)
        return replace(self, services=kept)

    def _mean(self, statistic: str) -> float | None:
        outside = [result for result in self.services if not result.only_called]
        return mean_of([getattr(result, statistic) for result in outside])


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The uncertainty of the costs of operations, which were measured in several rounds.

    `date` is the date of the measurement, and `rounds` the number of rounds. `spread_ratio` has the
    relative spread of each service over the rounds: the interquartile range of the summed cost of
    its operations, divided by the median. `doubts` are reasons to measure again.
    """

    date: str
    rounds: int
    spread_ratio: Mapping[str, float]
    doubts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Viewed, Named[SystemResult]):
    """The results of one workload under several orchestrators.

    `systems` has the results of each system. `workload`, `profile` (the source of costs),
    `arrivals` and `placement` are those of the scenario. Each service has `requests` requests, of
    which the first `warmup_requests` are not counted. If services have different numbers,
    ``source["requests_by_service"]`` has them. `seeds` are those of the simulations, and `seed` is
    the first of them. `calibration` is None if costs were not measured in rounds. `source` is the
    checked JSON object that the comparison was read from.

    Three fields are filled only on request: `samples`, a pyarrow table of single requests (else
    None); `use`, the servers' utilisation over time; and `loads`, pairs of a multiple of this
    comparison's load and the comparison at that load.
    """

    #: The word for a part of these results in error messages.
    part: ClassVar[str] = "system"

    workload: str
    profile: str
    seed: int
    requests: int
    warmup_requests: int
    arrivals: Mapping[str, Any]
    placement: str
    systems: tuple[SystemResult, ...]
    source: Mapping[str, Any]
    calibration: Calibration | None = None
    seeds: tuple[int, ...]
    samples: pa.Table | None = None
    use: tuple[ServerUse, ...] = ()
    loads: tuple[tuple[float, Comparison], ...] = ()

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `source` holds: the parsed JSON of a results file.

        Raises InputError for a missing, wrong or impossible value; the message names its place.
        Keys outside of the schema are ignored, but stay in the attribute `source`.
        """
        root = Reader(source, "results")
        schema = root.get("schema", str)
        if schema != SCHEMA:
            raise refused("results.schema", schema, f"must be '{SCHEMA}', which this version reads")
        known = [*ORCHESTRATORS, *_in_python(root)]
        none: tuple[int, ...] = ()
        seeds = root.optional("seeds", none, Reader.counts) or (root.count("seed"),)
        check_loads(root)
        systems = tuple(_read_system(item, known, source) for item in root.items("systems"))
        for chip in dict.fromkeys(system.chip for system in systems):
            names = [system.orchestrator for system in systems if system.chip == chip]
            reject_repeats(names, "results.systems", "orchestrator")
        return cls(
            workload=root.get("workload", str),
            profile=root.get("profile", str),
            seed=root.count("seed"),
            seeds=seeds,
            requests=root.count("requests"),
            warmup_requests=root.count("warmup_requests"),
            arrivals=root.mapping("arrivals"),
            placement=root.get("placement", str),
            systems=tuple(sorted(systems, key=lambda s: known.index(s.orchestrator))),
            source=source,
            calibration=_read_calibration(root),
        )

    def parts(self) -> dict[str, SystemResult]:
        """Return the systems by identifier.

        With several chips, the identifiers are such as ``relief on small``.
        """
        return {system.id: system for system in self.systems}

    def __repr__(self) -> str:
        return installed().comparison(self).to_text()

    def _repr_html_(self) -> str:
        return installed().comparison(self).to_html()

    def whole(self) -> Comparison:
        """Return this comparison itself (as :meth:`SystemResult.whole` returns one of a system)."""
        return self

    @property
    def seeds_text(self) -> str:
        """The seeds in words, such as ``seed 1`` or ``seeds 1 to 5``."""
        first, last = self.seeds[0], self.seeds[-1]
        return f"seed {first}" if first == last else f"seeds {first} to {last}"

    @property
    def service_names(self) -> list[str]:
        """The names of the services that any system ran, in order of first appearance."""
        results = (result for system in self.systems for result in system.services)
        return list(dict.fromkeys(result.service for result in results))

    @property
    def chips(self) -> list[str]:
        """The names of the chips in order; empty if there is only one chip."""
        return [chip for chip in dict.fromkeys(s.chip for s in self.systems) if chip is not None]

    def system(self, orchestrator: str, chip: str | None = None) -> SystemResult | None:
        """Return the results of `orchestrator` on `chip`, or on the first chip if None.

        The result is None if the orchestrator was not simulated there.
        """
        return next(
            (
                system
                for system in self.systems
                if system.orchestrator == orchestrator and chip in (None, system.chip)
            ),
            None,
        )


def system_id(system: Mapping[str, Any]) -> str:
    """Return the identifier of `system`, a system's object in the JSON results.

    The identifier has the chip's name if there are several chips.
    """
    return _id(str(system["orchestrator"]), system.get("chip"))


def _id(orchestrator: str, chip: str | None) -> str:
    return orchestrator if chip is None else f"{orchestrator} on {chip}"


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of `values`; None for an empty list, and if a value is None."""
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if present and len(present) == len(values) else None


def sum_of(values: Sequence[float | None]) -> float | None:
    """Return the sum of `values`, or None if one of them is unknown (None)."""
    present = [value for value in values if value is not None]
    return math.fsum(present) if len(present) == len(values) else None


def mean_reduction(ours: SystemResult, theirs: SystemResult, statistic: str) -> float | None:
    """Return the relative reduction of latency from `theirs` to `ours`: 1 - ours / theirs.

    The result is the mean over the services, with equal weights as in the paper's averages (section
    VII.A). `statistic` is a latency of :class:`ServiceResult`, such as ``p99_us``. None if no
    service has both latencies.
    """
    reductions = []
    for theirs_result in theirs.services:
        ours_result = ours.service(theirs_result.service)
        mine = getattr(ours_result, statistic) if ours_result else None
        other = getattr(theirs_result, statistic)
        if mine is not None and other:
            reductions.append(1 - mine / other)
    return math.fsum(reductions) / len(reductions) if reductions else None


def _read_calibration(root: Reader) -> Calibration | None:
    if not root.holds("calibration"):
        return None
    reader = root.inner_if_any("calibration")
    return Calibration(
        date=reader.get("date", str),
        rounds=reader.count("rounds"),
        spread_ratio=reader.each("spread_ratio", Reader.number),
        doubts=reader.texts("doubts"),
    )


def _in_python(root: Reader) -> list[str]:
    """Return the identifiers of orchestrators in Python, in the order of the results."""
    if not root.has("python_systems"):
        return []
    return [row.get("orchestrator", str) for row in root.items("python_systems")]


def _read_system(reader: Reader, known: Sequence[str], source: Mapping[str, Any]) -> SystemResult:
    orchestrator = one_of(f"{reader.place}.orchestrator", reader.get("orchestrator", str), known)
    services = tuple(_read_service(item) for item in reader.items("services"))
    reject_repeats([result.service for result in services], f"{reader.place}.services", "service")
    chip = reader.optional("chip", None, Reader.text)
    if isolates_tenants(source, chip, [result.service for result in services]):
        services = own_overloads(services)
    return SystemResult(
        orchestrator=orchestrator,
        services=services,
        chip=chip,
        source={**source, "systems": [reader.value]},
        intervals=reader.each_if_any("intervals", Reader.interval),
    )


def _read_moved(data: Reader, key: str) -> float | None:
    """Read a figure on moved data: a hit ratio, a utilisation, or another number."""
    is_share = key.endswith(("_ratio", "_utilization")) and data.holds(key)
    return data.share(key) if is_share else data.number_or_none(key)


def _read_service(reader: Reader) -> ServiceResult:
    slo, retries = reader.inner_if_any("slo"), reader.inner_if_any("retries")
    found = ServiceResult(
        service=reader.get("service", str),
        offered_rps=reader.number_or_none("offered_rps"),
        completed=reader.count("completed"),
        mean_us=reader.number_or_none("mean_us"),
        p50_us=reader.number_or_none("p50_us"),
        p99_us=reader.number_or_none("p99_us"),
        p999_us=reader.number_or_none("p999_us"),
        throughput_rps=reader.number_or_none("throughput_rps"),
        core_utilization=reader.share("core_utilization"),
        accelerator_utilization=reader.each("accelerator_utilization", Reader.share),
        fallbacks=reader.each("fallbacks", Reader.count),
        saturated=reader.get_or_none("saturated", str),
        dispatcher_instructions_mean=reader.number_or_none("dispatcher_instructions_mean"),
        spent_us=reader.each_if_any("spent_us", Reader.number),
        data=reader.each("data", _read_moved) if reader.has("data") else None,
        slo_us=slo.optional("us", None, Reader.number_or_none),
        slo_requests=slo.optional("requests", 0, Reader.count),
        slo_missed=slo.optional("missed", 0, Reader.count),
        errors=reader.optional("errors", 0, Reader.count),
        retries=retries.optional("attempts", 0, Reader.count),
        gave_up=retries.optional("gave_up", 0, Reader.count),
        timed_out=reader.optional("timed_out", 0, Reader.count),
        deadlines=reader.optional("deadlines", 0, Reader.count),
        deadlines_missed=reader.optional("deadlines_missed", 0, Reader.count),
        intervals=reader.each_if_any("intervals", Reader.interval),
        without_seed=reader.each_if_any("without_seed", Reader.numbers),
        called=read_called(Reader(reader.mapping("called"), f"{reader.place}.called"))
        if reader.value.get("called") is not None
        else None,
        manager_utilization=reader.optional("manager_utilization", 0.0, Reader.share),
        dma_utilization=reader.optional("dma_utilization", 0.0, Reader.share),
        accelerator_denied=reader.each_if_any("accelerator_denied", Reader.share),
        responded=reader.optional("responded", 0, Reader.count),
        operations_per_request=reader.optional("operations_per_request", 0.0, Reader.number),
        idle_unanswered=slo.optional("idle_unanswered", False, Reader.flag),
    )
    check_possible(reader)
    return found
