"""Simulate a workload under one system or several systems, in one call.

docs/python.md has examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Unpack

from accelflow.chips import named_chips
from accelflow.effects import check_effects
from accelflow.errors import AccelflowError, file_path, finite_number, refused, whole_number
from accelflow.kept_runs import KeptRuns
from accelflow.policies import OrchestratorSource, QueuePolicySource, System, systems_in_python
from accelflow.precision import (
    Precision,
    Reached,
    check_replications,
    first_requests,
    parse_precision,
    until_precise,
)
from accelflow.report.replications import pooled, with_percentile
from accelflow.report.results import Comparison, SystemResult, system_id
from accelflow.report.samples import Sampled, samples_table
from accelflow.report.use import read_use
from accelflow.scenario import Fields, HasDocument, Scenario, loaded, resolved
from accelflow.simulation import check, check_samples, costed, run_sampled
from accelflow.time_limit import TimeLimit, TimeUpError
from accelflow.warmup import PILOTS, settled

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["REPORT_LOADS", "at_loads", "check_loads", "compare", "simulate"]

#: Queue orders written in Python, by the identifier of the native system whose queues they order.
Policies = Mapping[str, QueuePolicySource | Iterable[QueuePolicySource]]
#: What to simulate: a workload (name, path, tree or object) or a whole scenario.
Asked = Scenario | str | PathLike[str] | Mapping[str, Any] | HasDocument

#: The largest number of seeds of a comparison.
MAX_SEEDS: Final = 1_000
#: The multiples of the scenario's load in the load curves of an HTML report.
REPORT_LOADS: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
#: The largest number of multiples of the load in one comparison.
MAX_LOADS: Final = 100
#: The largest multiple of the load.
MAX_LOAD: Final = 1_000.0
#: The largest number of intervals for which results have the servers' utilisation.
_USE_INTERVALS: Final = 120
#: The `samples` argument that keeps all requests.
_ALL: Final = 2**64 - 1
_WORKLOAD: Final = Scenario().workload


class ComparedFields(Fields, total=False):
    """The fields of :class:`accelflow.Scenario` except the workload, as keyword arguments."""

    #: Identifiers, or orchestrators in Python; see :class:`accelflow.Scenario`.
    orchestrators: Sequence[str | OrchestratorSource]


class SimulateOptions(Fields, total=False):
    """The keyword arguments of :func:`simulate`: those of :func:`compare` except `orchestrators`.

    `policies` must be empty, and `chips` may have at most one chip.
    """

    seeds: int
    samples: bool | int
    samples_to: Callable[[pa.Table], object] | None
    use_over_time: bool
    loads: Sequence[float]
    precision: str | None
    time_limit_s: float | None
    keep_in: str | PathLike[str] | None
    mser5: bool
    exact: bool | None
    policies: Policies | None
    threads: int | None
    progress: Callable[[int, int], object] | None
    on_round: Callable[[int, Reached], object] | None


def compare(  # noqa: PLR0913 (options, by name)
    workload: Asked = _WORKLOAD,
    *,
    seeds: int = 1,
    precision: str | None = None,
    time_limit_s: float | None = None,
    keep_in: str | PathLike[str] | None = None,
    mser5: bool = False,
    exact: bool | None = None,
    samples: bool | int = False,
    samples_to: Callable[[pa.Table], object] | None = None,
    use_over_time: bool = False,
    loads: Sequence[float] = (),
    policies: Policies | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    on_round: Callable[[int, Reached], object] | None = None,
    **fields: Unpack[ComparedFields],
) -> Comparison:
    """Simulate a workload under several orchestrators, and return the results of each.

    ::

        results = accelflow.compare("socialnetwork", profile="paper", requests=2000)
        print(results["accelflow"].p99_us, results["relief"]["UniqId"].p99_us)

    `workload` is the name of a workload, the path of its file, an object with the method
    ``to_document``, or a :class:`accelflow.Scenario`. `fields` are fields of the scenario by name,
    such as `requests`, and override those of a given scenario. By default, `orchestrators` are the
    paper's five (rules for who starts the next operation) and Ideal, which pays nothing for this.
    The default costs of socialnetwork's operations are measured on this machine by the first
    comparison, which takes some seconds; ``profile="paper"`` takes the paper's instead.

    With `seeds` above 1, results are means over the scenario's seed and the following ones.
    ``intervals`` has their 95 % confidence intervals, by Student's t. Counts are sums.

    With a `precision` such as ``p99:2%``, ten seeds (or `seeds`) are simulated with more and more
    requests, until half the 95 % interval of this measure is at most this share of the measure, for
    every service and system (docs/precision.md). `on_round` is called after each run length with
    the requests and the precision reached. After `time_limit_s` seconds, the results of the last
    completed run length are returned, and ``source["precision"]`` has the precision reached.
    `keep_in` is a folder for completed runs, so that the same call can resume. The saved runs are
    deleted when the precision is reached.

    The first `warmup` requests, by default a tenth, are not counted. With `mser5`, pilot runs with
    five seeds determine the number `warmup` (:mod:`accelflow.warmup`).

    With `exact` True, percentiles are exact, which takes 8 bytes of memory per response. With
    False, responses are counted in bins of constant memory, and ``source["percentiles"]`` has the
    relative error of percentiles. With None, percentiles are exact up to 10,000,000 requests of a
    service.

    With `samples`, results have a table of single requests (``samples``, of pyarrow): system,
    service, seed and index of the request, `arrival_us` since the start, `response_us`, and the
    parts of the response time: `cpu_us` (application logic), `accelerator_us`, `dispatcher_us`,
    `manager_us`, `cores_us` (orchestration on cores), `communication_us`, `remote_us` and
    `queueing_us`. Warm-up requests and requests without a response are omitted. If `samples` is a
    number, at most that many requests are kept for each service, system and seed, evenly spaced. At
    most 2,000,000 are kept in total. Rows of different systems with the same seed, service and
    index are the same request. With `samples_to`, requests are not kept: the function is called
    with the table of each seed, so that only one seed must fit into memory.

    With `use_over_time`, results have ``use``: the utilisation of each server's resources over
    time, for the first seed. With `loads`, multiples of the load, results have ``loads``: the
    results of :func:`at_loads` with a tenth of the requests, of the loads that are complete within
    the time limit. Reports draw both.

    `policies` maps systems to queue policies in Python, and `orchestrators` may contain classes
    (docs/python-policies.md). In the results, a system with a queue policy is called
    ``SYSTEM+NAME``, and an orchestrator in Python ``NAME``.

    `threads` (default: one per core) does not change the results. `progress` is called with the
    number of completed requests and the total.

    Raises InputError for a value that is not allowed, for a `policy` that has no effect under any
    of the orchestrators, and if more samples would be kept than the limit allows. Raises
    AccelflowError for a scenario that cannot be simulated, and if the time limit expires before the
    first run length is complete.
    """
    whole_number("seeds", seeds, 1, MAX_SEEDS)
    if time_limit_s is not None and precision is None:
        raise refused("time_limit_s", time_limit_s, "must be given together with precision")
    limit = TimeLimit(time_limit_s)
    most = _samples(samples or samples_to is not None)
    if samples_to is not None and precision is not None:
        raise refused(
            "samples_to", samples_to, "must be left out with a precision, which repeats simulations"
        )
    classes = _take_classes(fields)
    others = systems_in_python(policies, classes)
    scenario = _scenario(workload, fields)
    asked = None if precision is None else parse_precision(precision)
    if asked is not None:
        seeds = check_replications(seeds)
    check(scenario)
    check_effects(scenario, more_systems=bool(others))
    last = 2**64 - seeds
    if scenario.seed > last:
        raise refused("seed", scenario.seed, f"must be at most {last} with {seeds} seeds")
    check_loads(scenario, loads)
    scenario = costed(scenario)
    runs = _Replications(
        seeds=seeds,
        asked=asked,
        samples=most,
        samples_to=samples_to,
        use_over_time=use_over_time,
        exact=exact,
        threads=threads,
        progress=progress if time_limit_s is None else limit.checked(progress),
        others=others,
    )
    runs = replace(runs, kept=_kept_runs(keep_in, runs))
    if mser5:
        first = scenario if asked is None else replace(scenario, requests=first_requests(asked))
        scenario = replace(scenario, warmup=runs.warmup(first))
    comparison = runs.of(scenario) if asked is None else _precise(scenario, asked, runs, on_round)
    curves = at_loads(scenario, loads, threads=threads, others=others, limit=limit)
    return replace(comparison, loads=curves) if loads else comparison


@dataclass(frozen=True, kw_only=True)
class _Replications:
    """Simulations of a scenario with several seeds, and how they are run."""

    seeds: int
    asked: Precision | None
    samples: int
    samples_to: Callable[[pa.Table], object] | None
    use_over_time: bool
    exact: bool | None
    threads: int | None
    progress: Callable[[int, int], object] | None
    others: list[System]
    kept: KeptRuns | None = None

    def of(self, scenario: Scenario) -> Comparison:
        """Simulate `scenario` with all seeds."""
        if self.samples:
            check_samples(scenario, self.samples, 1 if self.samples_to else self.seeds)
        results: list[dict[str, Any]] = []
        by_seed: dict[int, list[Sampled]] = {}
        use: list[dict[str, Any]] = []
        for number, seed in enumerate(range(scenario.seed, scenario.seed + self.seeds)):
            found, sampled = self._one(replace(scenario, seed=seed), number)
            use += found.pop("use_over_time", ())
            if self.asked is not None:
                _check_unsaturated(found, self.asked)
            results.append(found)
            if self.samples_to is None:
                by_seed[seed] = sampled
            else:
                self.samples_to(_table_of(found, {seed: sampled}))
        comparison = Comparison.from_dict(_together(results, self.asked))
        names = [system_id(row) for row in comparison.source["systems"]]
        return _with_samples(replace(comparison, use=read_use(use, names)), by_seed)

    def _one(self, scenario: Scenario, number: int) -> tuple[dict[str, Any], list[Sampled]]:
        """Simulate `scenario`, whose seed has this number, unless its results are kept."""
        kept = self.kept.find(scenario, *self._settings) if self.kept is not None else None
        if kept is not None:
            return kept, []
        found, sampled = run_sampled(
            scenario,
            threads=self.threads,
            progress=self._progress(number, self.seeds),
            tail_share=self.tail_share,
            exact=self.exact,
            samples=self.samples,
            use_intervals=_USE_INTERVALS if self.use_over_time and number == 0 else 0,
            others=self.others,
        )
        if self.kept is not None:
            self.kept.add(scenario, found, *self._settings)
        return found, sampled

    @property
    def _settings(self) -> tuple[object, ...]:
        """What determines the results of a run that is kept, besides its scenario."""
        return self.tail_share, self.exact

    @property
    def tail_share(self) -> float:
        """Return the share of the longest response times that each run must return."""
        return 0.0 if self.asked is None else self.asked.tail_share(self.seeds)

    def warmup(self, scenario: Scenario) -> int:
        """Return the number of warm-up requests of `scenario` that MSER-5 finds.

        The number is that of a service with the mean rate.
        """
        asked = self.asked
        return settled(
            scenario,
            range(scenario.seed, scenario.seed + PILOTS),
            threads=self.threads,
            progress=self._progress(0, 1),
            others=self.others,
            check=None if asked is None else lambda results: _check_unsaturated(results, asked),
        )

    def _progress(self, number: int, runs: int) -> Callable[[int, int], object] | None:
        """The progress of the run with this number, of `runs` runs."""
        return _of_all(self.progress, number, runs)


def at_loads(  # noqa: PLR0913 (options, by name)
    scenario: Scenario,
    loads: Sequence[float],
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    others: Iterable[System] = (),
    limit: TimeLimit | None = None,
) -> tuple[tuple[float, Comparison], ...]:
    """Simulate `scenario` at multiples of its load (`loads`), each with a tenth of its requests.

    A multiple of 2 doubles all request rates; SLOs (limits of response times) stay the same. A run
    has at least 1,000 requests per service, or all if the scenario has fewer. `others` are
    additional systems in Python (:func:`accelflow.policies.systems_in_python`). `threads` and
    `progress` are as in :func:`compare`. Returns pairs (multiple, results), in ascending order of
    the multiple; after the time `limit`, those that are complete.

    Raises InputError for a multiple that is not above 0 and at most 1,000, for more than 100
    multiples, and for a scenario without `arrivals` whose workload states its arrivals.
    """
    scenario = loaded(scenario)
    check_loads(scenario, loads)
    scenario = costed(scenario)
    requests = max(scenario.requests // 10, min(scenario.requests, 1_000))
    found = []
    for number, factor in enumerate(sorted(set(loads))):
        shown = _of_all(progress, number, len(set(loads)))
        try:
            results, _ = run_sampled(
                replace(_scaled(scenario, factor), requests=requests),
                threads=threads,
                progress=shown if limit is None else limit.checked(shown),
                others=others,
            )
        except TimeUpError:
            break
        found.append((factor, Comparison.from_dict(results)))
    return tuple(found)


def check_loads(scenario: Scenario, loads: Sequence[float]) -> None:
    """Raise InputError if :func:`at_loads` cannot simulate `scenario` at the multiples `loads`."""
    listed = isinstance(loads, Sequence) and not isinstance(loads, str | bytes)
    if not listed or len(loads) > MAX_LOADS:
        raise refused("loads", loads, f"must be a list of at most {MAX_LOADS} numbers")
    for factor in loads:
        if not 0.0 < finite_number("loads", factor) <= MAX_LOAD:
            raise refused("loads", factor, f"must be more than 0 and at most {MAX_LOAD:,g}")
    if loads and resolved(scenario)["arrivals"] == "own":
        allowed = "must be left out, since the workload has arrivals of its own; or "
        raise refused("loads", list(loads), allowed + "set arrivals = 'poisson'")
    for factor in loads:
        check(_scaled(scenario, factor))


def _scaled(scenario: Scenario, factor: float) -> Scenario:
    """`scenario` with all rates multiplied."""
    asked = resolved(scenario)
    if scenario.rates_rps:
        rates = {name: rate * factor for name, rate in scenario.rates_rps.items()}
        return replace(scenario, rates_rps=rates)
    shared = {"rates": asked["rates"], "by_rate": asked["by_rate"]}
    return replace(scenario, rate_rps=asked["rate_rps"] * factor, **shared)


def _of_all(
    progress: Callable[[int, int], object] | None, number: int, runs: int
) -> Callable[[int, int], object] | None:
    """The progress of the run with this number, of `runs` runs."""
    if progress is None or not callable(progress):
        return progress
    return lambda done, every: progress(number * every + done, runs * every)


def simulate(
    workload: Asked = _WORKLOAD,
    orchestrator: str | None = None,
    **options: Unpack[SimulateOptions],
) -> SystemResult:
    """Simulate a workload under one orchestrator and return its results by service.

    ::

        result = accelflow.simulate("hotelreservation", "relief", requests=2000)
        print(result.p99_us, result["Recom"].mean_us)

    `orchestrator` is the identifier of one of :func:`accelflow.simulation.systems`, or its name in
    the paper. The default is ``accelflow``, or for a given :class:`accelflow.Scenario` its only
    orchestrator. `options` are the arguments of :func:`compare`, without `policies` and with at
    most one chip in `chips`.
    """
    if orchestrator is None:
        orchestrator = _only_one(workload)
    if not isinstance(orchestrator, str):
        raise refused("orchestrator", orchestrator, "must be a string")
    one_only = "must be left out: simulate() runs one system; compare() runs several"
    if options.get("policies"):
        raise refused("policies", options["policies"], one_only)
    if len(named_chips(options.get("chips") or ())) > 1:
        one_chip = "must have at most one chip: simulate() runs one system; compare() runs several"
        raise refused("chips", options["chips"], one_chip)
    if "orchestrators" in options:
        raise refused(
            "orchestrators",
            options.get("orchestrators"),
            "must be left out: simulate takes one orchestrator, as `orchestrator`",
        )
    (system,) = compare(workload, orchestrators=[orchestrator], **options).systems
    return system


def _together(results: list[dict[str, Any]], asked: Precision | None) -> dict[str, Any]:
    """Combine the results of all seeds."""
    found = pooled(results)
    if asked is None or asked.thousandths is None:
        return found
    return with_percentile(found, results, asked.field, asked.thousandths)


def _precise(
    scenario: Scenario,
    asked: Precision,
    runs: _Replications,
    on_round: Callable[[int, Reached], object] | None,
) -> Comparison:
    """Simulate `scenario` longer and longer until `asked` is reached."""
    found: list[Comparison] = []

    def replicate(requests: int) -> dict[str, tuple[float, float]]:
        found[:] = [runs.of(replace(scenario, requests=requests))]
        return _intervals(found[0], asked.field)

    try:
        for requests, reached in until_precise(asked, replicate):
            if on_round is not None:
                on_round(requests, reached)
    except TimeUpError as error:
        if not found:
            raise AccelflowError(
                f"precision {asked.measure}:{asked.ratio:.3g}: {error}; the first run length, "
                f"{first_requests(asked):,} requests a service on average, was not completed"
            ) from error
    else:
        if runs.kept is not None:
            runs.kept.clear()
    (comparison,) = found
    said = {"measure": asked.field, "asked_ratio": asked.ratio, "reached_ratio": reached.ratio}
    return replace(comparison, source={**comparison.source, "precision": said})


def _kept_runs(place: str | PathLike[str] | None, runs: _Replications) -> KeptRuns | None:
    """Open the folder `place` for runs. Raises InputError for runs that cannot be kept."""
    if place is None:
        return None
    if runs.asked is None or runs.samples or runs.use_over_time or runs.others:
        allowed = (
            "must be given together with precision, and without samples, use_over_time and"
            " orchestrators or policies written in Python"
        )
        raise refused("keep_in", str(place), allowed)
    return KeptRuns(file_path("keep_in", place))


def _intervals(comparison: Comparison, name: str) -> dict[str, tuple[float, float]]:
    """Mean and half width of a measure of each service under each system."""
    found = {}
    for system in comparison.systems:
        for service in system.services:
            mean, interval = getattr(service, name), service.intervals.get(name)
            if mean is not None and interval is not None:
                found[f"{service.service} under {system.label}"] = mean, interval.half_width
    return found


def _check_unsaturated(results: Mapping[str, Any], asked: Precision) -> None:
    """Raise AccelflowError for latencies that grow with the length of the run."""
    for system in Comparison.from_dict(results).systems:
        if system.saturated is not None:
            raise AccelflowError(
                f"precision {asked.measure}:{asked.ratio:.3g}: cannot be reached, as"
                f" {system.label} is saturated ({system.saturated}), so latencies grow with the"
                " run length; lower the rate, or leave the system out"
            )


def _take_classes(fields: ComparedFields) -> list[OrchestratorSource]:
    """Separate classes from names among the orchestrators in `fields`."""
    given = fields.get("orchestrators", ())
    if isinstance(given, str) or not isinstance(given, Sequence):
        return []
    classes = [orchestrator for orchestrator in given if not isinstance(orchestrator, str)]
    if classes:
        fields["orchestrators"] = [
            orchestrator for orchestrator in given if isinstance(orchestrator, str)
        ]
    return classes


def _only_one(workload: Asked) -> str:
    """The orchestrator that is meant without a name."""
    named = list(workload.orchestrators) if isinstance(workload, Scenario) else []
    if len(named) > 1:
        raise refused(
            "orchestrators", named, "must name one system for simulate(); compare() takes several"
        )
    return named[0] if named else "accelflow"


def _scenario(workload: Asked, fields: ComparedFields) -> Scenario:
    known = {field.name for field in fields_of(Scenario)}
    unknown = next((name for name in fields if name not in known), None)
    if unknown is not None:
        raise refused("keyword argument", unknown, known=sorted(known))
    if isinstance(workload, Scenario):
        return replace(workload, **fields)  # type: ignore[arg-type]
    # What is not a name has been taken out of the orchestrators.
    return Scenario(workload=workload, **fields)  # type: ignore[arg-type]


def _samples(samples: bool | int) -> int:
    if isinstance(samples, bool):
        return _ALL if samples else 0
    return whole_number("samples", samples, 0, _ALL)


def _table_of(results: Mapping[str, Any], by_seed: dict[int, list[Sampled]]) -> pa.Table:
    """Combine the requests of all systems in a table."""
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    names = [system_id(row) for row in results["systems"]]
    return pa.concat_tables([samples_table(by_seed, names, name) for name in names])


def _with_samples(comparison: Comparison, by_seed: dict[int, list[Sampled]]) -> Comparison:
    if not any(by_seed.values()):
        return comparison
    import pyarrow as pa  # noqa: PLC0415 (slow to load)

    names = [system_id(row) for row in comparison.source["systems"]]
    systems = tuple(
        replace(system, samples=samples_table(by_seed, names, system.id))
        for system in comparison.systems
    )
    tables = [system.samples for system in systems]
    return replace(comparison, systems=systems, samples=pa.concat_tables(tables))
