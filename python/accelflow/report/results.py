"""The results of a comparison (schema ``accelflow.compare/1``), checked once on the way in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from accelflow.errors import InputError

SCHEMA = "accelflow.compare/1"

#: Orchestrators in the order of the paper's figures, with the names that the paper prints.
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

_Wanted = TypeVar("_Wanted")


@dataclass(frozen=True, kw_only=True)
class ServiceResult:
    """The results of one service under one orchestrator, over the requests after the warm-up.

    Latencies are in us, and None if no request completed. `spent_us` divides the mean latency by
    cause, along the path that ended last: cpu, accelerator, dispatcher, manager, cores,
    communication, remote, queueing. `saturated` names the resource that could not keep up, if there
    was one; the latencies then depend on the length of the run. `data` has bytes, counts and shares
    (0 to 1) of the server's networks, caches, memory and address translation. `slo_missed` counts
    requests, of `slo_requests`, whose response came after `slo_us` or never; `timed_out` counts
    requests that were terminated because a message did not arrive in time, and have no latency;
    `deadlines_missed` counts operations, of `deadlines`, that ended late. Older files lack some of
    these: `spent_us` is empty then, `data` and `slo_us` are None, and counts are 0.
    """

    service: str
    offered_rps: float
    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    throughput_rps: float
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
    timed_out: int = 0
    deadlines: int = 0
    deadlines_missed: int = 0

    @property
    def slo_missed_share(self) -> float | None:
        """The share of requests without a response within the SLO; None without an SLO."""
        return self.slo_missed / self.slo_requests if self.slo_requests else None

    @property
    def total_fallbacks(self) -> int:
        """Operations that ran on a core instead of an accelerator, for any reason."""
        return sum(self.fallbacks.values())

    @property
    def orchestration_share(self) -> float | None:
        """The share of the mean latency that is orchestration: dispatchers, manager and cores.

        The orchestration overhead of the paper's Figs. 3 and 17. None if `spent_us` is empty.
        """
        total = math.fsum(self.spent_us.values())
        parts = ("dispatcher", "manager", "cores")
        return math.fsum(self.spent_us.get(part, 0.0) for part in parts) / total if total else None

    @property
    def busiest_accelerator(self) -> tuple[str, float] | None:
        """The accelerator with the highest utilisation (0 to 1), or None if none was used."""
        used = [(name, share) for name, share in self.accelerator_utilization.items() if share > 0]
        return max(used, key=lambda item: item[1], default=None)


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """All services under one orchestrator, on one chip: its name, if there are several."""

    orchestrator: str
    services: tuple[ServiceResult, ...]
    chip: str | None = None

    @property
    def name(self) -> str:
        """The name that the paper prints."""
        return ORCHESTRATORS[self.orchestrator]

    @property
    def label(self) -> str:
        """The name, with that of the chip if there are several."""
        return self.name if self.chip is None else f"{self.name} on {self.chip}"

    def service(self, name: str) -> ServiceResult | None:
        """The result of the service called `name`, if it took part."""
        return next((result for result in self.services if result.service == name), None)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How well the costs of the operations are known, if they were measured in rounds.

    `spread_ratio` is, for each service, the interquartile range over the rounds of the summed cost
    of its operations, as a share of the median. `doubts` are reasons to measure again.
    """

    date: str
    rounds: int
    spread_ratio: Mapping[str, float]
    doubts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One workload under several orchestrators.

    `calibration` is None where costs were not measured in rounds. `source` is the checked object
    that the comparison was read from.
    """

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

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Comparison:
        """Read the results of an engine or of a results file.

        Raises InputError, which names the place of the first value that is missing or wrong. Keys
        outside of the schema are kept in `source` and otherwise ignored.
        """
        root = _Reader(source, "results")
        schema = root.get("schema", str)
        if schema != SCHEMA:
            raise InputError(f"results.schema is '{schema}'; this version reads '{SCHEMA}'")
        systems = tuple(_read_system(item) for item in root.items("systems"))
        for chip in dict.fromkeys(system.chip for system in systems):
            names = [system.orchestrator for system in systems if system.chip == chip]
            _reject_repeats(names, "results.systems", "orchestrator")
        return cls(
            workload=root.get("workload", str),
            profile=root.get("profile", str),
            seed=root.count("seed"),
            requests=root.count("requests"),
            warmup_requests=root.count("warmup_requests"),
            arrivals=root.mapping("arrivals"),
            placement=root.get("placement", str),
            systems=tuple(sorted(systems, key=lambda s: list(ORCHESTRATORS).index(s.orchestrator))),
            source=source,
            calibration=_read_calibration(root),
        )

    @property
    def service_names(self) -> list[str]:
        """Every service that some system ran, in the order of first appearance."""
        results = (result for system in self.systems for result in system.services)
        return list(dict.fromkeys(result.service for result in results))

    @property
    def chips(self) -> list[str]:
        """The names of the chips in order, if there are several."""
        return [chip for chip in dict.fromkeys(s.chip for s in self.systems) if chip is not None]

    def system(self, orchestrator: str, chip: str | None = None) -> SystemResult | None:
        """The system with this orchestrator, if it took part: on `chip`, or on the first."""
        return next(
            (
                system
                for system in self.systems
                if system.orchestrator == orchestrator and chip in (None, system.chip)
            ),
            None,
        )


def mean_reduction(ours: SystemResult, theirs: SystemResult, statistic: str) -> float | None:
    """The reduction of a latency from `theirs` to `ours`: 1 - ours/theirs, mean over the services.

    `statistic` is a latency of :class:`ServiceResult`, such as ``p99_us``. The services weigh the
    same, as in the paper's averages (section VII.A). None when no service has both latencies.
    """
    reductions = []
    for theirs_result in theirs.services:
        ours_result = ours.service(theirs_result.service)
        mine = getattr(ours_result, statistic) if ours_result else None
        other = getattr(theirs_result, statistic)
        if mine is not None and other:
            reductions.append(1 - mine / other)
    return math.fsum(reductions) / len(reductions) if reductions else None


def _read_calibration(root: _Reader) -> Calibration | None:
    if not root.holds("calibration"):
        return None
    reader = root.inner_if_any("calibration")
    return Calibration(
        date=reader.get("date", str),
        rounds=reader.count("rounds"),
        spread_ratio=reader.each("spread_ratio", _Reader.number),
        doubts=reader.texts("doubts"),
    )


def _read_system(reader: _Reader) -> SystemResult:
    orchestrator = reader.get("orchestrator", str)
    if orchestrator not in ORCHESTRATORS:
        raise InputError(
            f"{reader.place}.orchestrator is '{orchestrator}'; known are {', '.join(ORCHESTRATORS)}"
        )
    services = tuple(_read_service(item) for item in reader.items("services"))
    _reject_repeats([result.service for result in services], f"{reader.place}.services", "service")
    chip = reader.optional("chip", None, _read_text)
    return SystemResult(orchestrator=orchestrator, services=services, chip=chip)


def _read_text(reader: _Reader, key: str) -> str | None:
    return reader.get(key, str)


def _read_service(reader: _Reader) -> ServiceResult:
    slo = reader.inner_if_any("slo")
    return ServiceResult(
        service=reader.get("service", str),
        offered_rps=reader.number("offered_rps"),
        completed=reader.count("completed"),
        mean_us=reader.number_or_none("mean_us"),
        p50_us=reader.number_or_none("p50_us"),
        p99_us=reader.number_or_none("p99_us"),
        p999_us=reader.number_or_none("p999_us"),
        throughput_rps=reader.number("throughput_rps"),
        core_utilization=reader.number("core_utilization"),
        accelerator_utilization=reader.each("accelerator_utilization", _Reader.number),
        fallbacks=reader.each("fallbacks", _Reader.count),
        saturated=reader.get_or_none("saturated", str),
        dispatcher_instructions_mean=reader.number_or_none("dispatcher_instructions_mean"),
        spent_us=reader.each_if_any("spent_us", _Reader.number),
        data=reader.each("data", _Reader.number_or_none) if reader.has("data") else None,
        slo_us=slo.optional("us", None, _Reader.number_or_none),
        slo_requests=slo.optional("requests", 0, _Reader.count),
        slo_missed=slo.optional("missed", 0, _Reader.count),
        timed_out=reader.optional("timed_out", 0, _Reader.count),
        deadlines=reader.optional("deadlines", 0, _Reader.count),
        deadlines_missed=reader.optional("deadlines_missed", 0, _Reader.count),
    )


def _reject_repeats(names: Sequence[str], place: str, what: str) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{place} has the {what} '{repeated}' more than once; once is allowed")


class _Reader:
    """A mapping and its place in the file, for errors that say where."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, Mapping):
            raise InputError(f"{place} = {value!r}: must be an object")
        self._value = value
        self.place = place

    def get(self, key: str, wanted: type[_Wanted]) -> _Wanted:
        if key not in self._value:
            raise InputError(f"{self.place}.{key} is missing")
        value = self._value[key]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise InputError(f"{self.place}.{key} = {value!r}: must be of type {wanted.__name__}")
        return value

    def has(self, key: str) -> bool:
        return key in self._value

    def holds(self, key: str) -> bool:
        """Whether it has `key`, and not as null."""
        return self._value.get(key) is not None

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{self.place}.{key} = {values!r}: must be a list of texts")
        return tuple(values)

    def get_or_none(self, key: str, wanted: type[_Wanted]) -> _Wanted | None:
        return None if self._value.get(key, 0) is None else self.get(key, wanted)

    def number(self, key: str) -> float:
        whole = type(self._value.get(key)) is int  # some writers of JSON turn 1.0 into 1
        value = self.get(key, int) if whole else self.get(key, float)
        if not math.isfinite(value) or value < 0:
            raise InputError(f"{self.place}.{key} = {value}: must be finite and not negative")
        return float(value)

    def number_or_none(self, key: str) -> float | None:
        return None if self._value.get(key, 0) is None else self.number(key)

    def count(self, key: str) -> int:
        value = self.get(key, int)
        if value < 0:
            raise InputError(f"{self.place}.{key} = {value}: must not be negative")
        return value

    def inner_if_any(self, key: str) -> _Reader:
        return _Reader(self._value.get(key, {}), f"{self.place}.{key}")

    def optional(
        self, key: str, absent: _Wanted, read: Callable[[_Reader, str], _Wanted]
    ) -> _Wanted:
        return read(self, key) if key in self._value else absent

    def mapping(self, key: str) -> Mapping[str, Any]:
        return self.get(key, dict)

    def each(self, key: str, read: Callable[[_Reader, str], _Wanted]) -> Mapping[str, _Wanted]:
        inner = _Reader(self.mapping(key), f"{self.place}.{key}")
        return {name: read(inner, name) for name in inner._value}

    def each_if_any(
        self, key: str, read: Callable[[_Reader, str], _Wanted]
    ) -> Mapping[str, _Wanted]:
        return {} if self._value.get(key) is None else self.each(key, read)

    def items(self, key: str) -> list[_Reader]:
        values = self.get(key, list)
        if not values:
            raise InputError(f"{self.place}.{key} is empty; at least one entry is needed")
        return [
            _Reader(value, f"{self.place}.{key}[{index}]") for index, value in enumerate(values)
        ]
