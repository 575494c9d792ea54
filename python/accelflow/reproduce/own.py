"""The paper's experiments with a user's workload.

Where the paper's load is a multiple of its production rate, the load is here the same multiple of
the workload's rate. The paper's figures are not shown, since they belong to the paper's services.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import Any, Final

from accelflow import simulation
from accelflow.errors import InputError, one_of, refused
from accelflow.findings.targets import targets
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import (
    PRODUCTION,
    Cell,
    Check,
    Definition,
    Point,
    Row,
    Slo,
    load,
    names,
)
from accelflow.reproduce.scenario import (
    OWN,
    UNLOADED_RPS,
    Scenario,
    check_deadline,
    check_systems,
    check_varied,
    merged,
    mislabelled,
)
from accelflow.scenario import resolved

__all__ = ["OwnEvaluation", "OwnScenario", "of_workload"]

#: The paper's mean rate in requests per second (section VI), which the workload's rate replaces.
_PAPER_RATE_RPS: Final = simulation.PAPER_RATE_RPS

#: A search for the highest load begins at the first multiple of the workload's rate. It ends at the
#: second multiple, or at a rate in requests per second that no server sustains, if that is higher.
_LOWEST, _HIGHEST, _HIGHEST_RPS = 1 / 64, 256, 1e7

#: The lowest and the highest rate of a service, in requests per second, that can be simulated.
_MIN_RATE_RPS: Final = 1e-3
_MAX_RATE_RPS: Final = 1e9

#: A number of requests so large that services with small shares of the rate have requests, too.
_MANY_REQUESTS: Final = 1_000_000

#: The fields of a scenario that a workload's file sets itself.
_OF_FILES: Final = ("facts", "tcp_cost_ns", "sizes", "remote", "rates")

#: A load in the key of a reported figure: ``rps_5000``, ``15k_rps``.
_LOAD: Final = re.compile(r"rps_(?P<rps>\d+)|(?P<k_rps>\d+)k_rps")

#: The title of the x axis of a sweep over loads.
_LOADS: Final = "load"

_NOTE: Final = (
    "The experiment of {place} with the workload {name}; the paper's figures belong to its own"
    " services and are not shown."
)


@dataclass(frozen=True, kw_only=True)
class OwnScenario:
    """A user's workload, and the settings with which it runs in the paper's experiments.

    `workload` is a suite's name or the parsed content of a workload's file. `name` is the
    workload's name, and `sha256` the hash of the file (None for a suite). `rate_rps` is the mean
    rate of a service in requests per second, and `rates` the rule by which the rates of services
    differ from it. `recording` is the text of a recording with costs and payload sizes, or None.

    In experiments that use the paper's production load, requests arrive as the workload specifies,
    or by the process `arrivals` if not None. `slo_us` (in us) and `slo_factors` (multiples of the
    response time on an idle server) are SLOs of single services; the experiment sets the others.
    `placement`, `cohort`, `slo_system` and `config` are as in
    :class:`accelflow.reproduce.Scenario`, as is `deadline_factor`, where None stands for the
    experiment's own factor.
    """

    workload: str | Mapping[str, Any]
    name: str
    sha256: str | None
    rate_rps: float
    rates: str
    slo_us: Mapping[str, float] = field(default_factory=dict)
    slo_factors: Mapping[str, float] = field(default_factory=dict)
    recording: str | None = None
    placement: str = "colocated"
    arrivals: str | None = None
    cohort: str = "cohort"
    slo_system: str = OWN
    deadline_factor: float | None = None
    config: Mapping[str, float] = field(default_factory=dict)

    def experiment(
        self, system: str, setup: Mapping[str, Any], point: Point, requests: int, seed: int
    ) -> simulation.Scenario:
        """Return the simulation of one system at one point of an experiment.

        `setup` has the settings that all points of the experiment share; see
        :meth:`accelflow.reproduce.scenario.Setting.experiment`.
        """
        settings = merged(self.config, setup, point)
        if settings.get("arrivals") == PRODUCTION:
            settings["arrivals"] = self.arrivals
            settings.pop("rate_rps", None)
        return simulation.Scenario(
            **{
                "workload": self.workload,
                "recording": self.recording,
                "orchestrators": (self.cohort if system == "cohort" else system,),
                "placement": self.placement,
                "slo_factor": None,
                "requests": requests,
                "by_rate": True,
                "seed": seed,
                **settings,
                "rates": self.rates,
            }
        )

    @property
    def inputs(self) -> simulation.Scenario:
        """The workload, rates and parameters for tables that need no simulation."""
        return simulation.Scenario(
            workload=self.workload,
            recording=self.recording,
            rates=self.rates,
            config=self.config,
        )

    @property
    def unloaded_rps(self) -> float:
        """A mean rate in requests per second so low that each request finds the server idle."""
        return _scaled(UNLOADED_RPS, self.rate_rps)

    def owed_us(self, service: str, idle_us: float, factor: float) -> float:
        """Return the SLO of `service` in us.

        If the workload states the SLO as a time, it is that time. Otherwise the SLO is a multiple
        of `idle_us`, the service's mean response time on an idle server. The multiple is the one
        that the workload states for the service or, without one, `factor`.
        """
        if service in self.slo_us:
            return self.slo_us[service]
        return self.slo_factors.get(service, factor) * idle_us

    def due(self, factor: float) -> float:
        """Return the multiple of the idle response time after which a request is late.

        This is `deadline_factor` or, if that is None, the experiment's `factor`.
        """
        return factor if self.deadline_factor is None else self.deadline_factor

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as one object for JSON.

        In place of the contents of workload and recording, it has their hashes, ``workload_sha256``
        and ``recording_sha256``.
        """
        return {
            "workload": self.name,
            "workload_sha256": self.sha256,
            "rate_rps": self.rate_rps,
            "rates": self.rates,
            "recording_sha256": None
            if self.recording is None
            else hashlib.sha256(self.recording.encode()).hexdigest(),
            "placement": self.placement,
            "arrivals": self.arrivals,
            "cohort": self.cohort,
            "slo_system": self.slo_system,
            **({} if self.deadline_factor is None else {"deadline_factor": self.deadline_factor}),
            "config": dict(sorted(self.config.items())),
        }

    def check(self) -> None:
        """Raise InputError for the first field that is not allowed."""
        check_systems(self.cohort, self.slo_system)
        if self.deadline_factor is not None:
            check_deadline(self.deadline_factor)
        simulation.check(self._production(_MANY_REQUESTS))

    def check_lengths(self, budget: Budget) -> None:
        """Raise InputError if a service has too few requests in the simulations of `budget`."""
        try:
            simulation.check(self._production(budget.requests))
        except InputError as error:
            allowed = f"must have more requests in its simulations for this workload: {error}"
            raise refused("budget", budget.name, allowed) from error

    def _production(self, requests: int) -> simulation.Scenario:
        return self.experiment("accelflow", {"arrivals": PRODUCTION}, Point(""), requests, 1)


@dataclass(frozen=True)
class OwnEvaluation:
    """The paper's experiments, adapted to a user's workload.

    `scenario` has the workload. `definitions` are the experiments, which
    :func:`accelflow.reproduce.reproduce` runs. `left_out` maps the experiments that do not apply to
    the reasons: such an experiment needs the paper's own services, or varies a parameter that
    `scenario` sets.
    """

    scenario: OwnScenario
    definitions: tuple[Definition, ...]
    left_out: Mapping[str, str]


def of_workload(
    workload: str | PathLike[str] | Mapping[str, Any],
    experiments: Sequence[str] = (),
    *,
    choices: Scenario | None = None,
    arrivals: str | None = None,
    recording: str | None = None,
) -> OwnEvaluation:
    """Return the paper's experiments, adapted to `workload`.

    `experiments` names those to adapt; if empty, all that apply. `workload` is the path of a file
    (docs/workloads.md), its parsed content, or a suite's name. `choices` may set placement,
    arrivals, systems, the factor of deadlines and the server's parameters; `workload` determines
    facts, sizes, waits, rates and the cost of TCP.
    `arrivals` replaces the workload's arrivals in experiments that use the paper's production load.
    With `recording`, the text of a recording, costs and sizes are those of the recording.

    Raises InputError for a value that is not allowed, for a field of `choices` that `workload`
    determines, and for a named experiment that applies only to the paper's services or varies a
    parameter that `choices` sets.
    """
    scenario = _scenario(workload, choices or Scenario(), arrivals, recording)
    scenario.check()
    for name in experiments:
        one_of("experiment", name, names())
    chosen = [load(name) for name in dict.fromkeys(experiments or names())]
    left_out = {
        definition.name: definition.paper_only for definition in chosen if definition.paper_only
    }
    if experiments and left_out:
        name, reason = next(iter(left_out.items()))
        raise refused("experiment", name, f"must be left out with --workload. {reason}")
    for definition in chosen:
        if experiments:
            check_varied(definition, scenario.config)
        elif reason := mislabelled(definition, scenario.config):
            left_out.setdefault(definition.name, reason)
    definitions = tuple(
        _adapted(definition, scenario) for definition in chosen if definition.name not in left_out
    )
    return OwnEvaluation(scenario, definitions, left_out)


def _scenario(
    workload: str | PathLike[str] | Mapping[str, Any],
    choices: Scenario,
    arrivals: str | None,
    recording: str | None,
) -> OwnScenario:
    default = Scenario()
    for key in _OF_FILES:
        if getattr(choices, key) != getattr(default, key):
            allowed = "must be left out with a workload of your own, which sets it"
            raise refused(f"scenario.{key}", getattr(choices, key), allowed)
    own_deadline = choices.deadline_factor != default.deadline_factor
    if choices.arrivals != default.arrivals:
        arrivals = arrivals or choices.arrivals
    name = workload if isinstance(workload, str | Mapping) else fspath(workload)
    asked = simulation.Scenario(workload=name, recording=recording, arrivals=arrivals)
    asked = simulation.costed(simulation.loaded(asked))
    found = resolved(asked)
    tree: Any = asked.workload if isinstance(asked.workload, Mapping) else {}
    return OwnScenario(
        workload=asked.workload,  # type: ignore[arg-type]  # loaded: a name or a tree
        name=found["workload"],
        sha256=found.get("workload_sha256"),
        rate_rps=found["rate_rps"],
        rates=found["rates"],
        slo_us=found["slo_us"],
        slo_factors=_slo_factors(tree, found["slo_us"]),
        recording=asked.recording,
        arrivals=arrivals,
        deadline_factor=choices.deadline_factor if own_deadline else None,
        **{
            attribute: getattr(choices, attribute)
            for attribute in ("placement", "cohort", "slo_system", "config")
        },
    )


def _slo_factors(tree: Mapping[str, Any], slo_us: Mapping[str, float]) -> dict[str, float]:
    """Return the stated SLOs as multiples of the response time on an idle server, by service."""
    default = tree.get("defaults", {}).get("slo_factor")
    stated = {
        service["name"]: service.get("slo_factor", default)
        for service in tree.get("services", ())
        if service["name"] not in slo_us
    }
    return {name: float(factor) for name, factor in stated.items() if factor is not None}


def _scaled(rps: float, rate_rps: float) -> float:
    """Return the load `rps` of the paper as a load of the workload with the rate `rate_rps`."""
    return max(rate_rps * rps / _PAPER_RATE_RPS, min(rate_rps, _MIN_RATE_RPS * 10))


def _adapted(definition: Definition, scenario: OwnScenario) -> Definition:
    """Return the experiment `definition`, adapted to the workload of `scenario`."""
    points = {point.label: _point(point, scenario) for point in definition.points}
    labels = {label: point.label for label, point in points.items()}
    slo = definition.slo
    plot = definition.plot
    if plot is not None and any(label != new for label, new in labels.items()):
        shown = tuple(labels[point] for point in plot.points)
        plot = replace(plot, x=_LOADS if plot.x else "", points=shown)
    return replace(
        definition,
        title=definition.title.replace("SocialNetwork", scenario.name),
        plot=plot,
        note=_NOTE.format(place=definition.place, name=scenario.name),
        setup=_settings(definition.setup, scenario),
        points=tuple(points.values()),
        rows=tuple(_row(row, labels) for row in _rows(definition)),
        checks=tuple(_check(check, labels) for check in definition.checks if check.kind != "most"),
        slo=slo and _slo(slo, labels, scenario),
    )


def _rows(definition: Definition) -> tuple[Row, ...]:
    """Return the experiment's rows, without those on single services or suites of the paper."""
    return () if definition.table in ("table4", "branches") else definition.rows


def _settings(settings: Mapping[str, Any], scenario: OwnScenario) -> dict[str, Any]:
    """Return `settings` with the load adapted to the workload's rate, without `rates`."""
    found = {key: value for key, value in settings.items() if key != "rates"}
    if "rate_rps" in found:
        found["rate_rps"] = _scaled(found["rate_rps"], scenario.rate_rps)
    return found


def _point(point: Point, scenario: OwnScenario) -> Point:
    """Return the adapted point, named after its load as a multiple of the rate if it has one."""
    label = point.label
    if point.settings.get("arrivals") == PRODUCTION:
        label = "as the workload says"
    elif "rate_rps" in point.settings:
        words, colon, _ = label.rpartition(": ")
        label = f"{words}{colon}{_multiple(point.settings['rate_rps'])}"
    return replace(point, label=label, settings=_settings(point.settings, scenario))


def _multiple(rps: float) -> str:
    return f"{rps / _PAPER_RATE_RPS:.2f} of the rate"


def _slo(slo: Slo, labels: Mapping[str, str], scenario: OwnScenario) -> Slo:
    found = replace(slo, point=labels[slo.point])
    if not slo.high_rps:
        return found
    rate_rps = scenario.rate_rps
    # One service may get the rate of all services, so that all together stay below the maximum.
    most_rps = _MAX_RATE_RPS / len(simulation.services(scenario.workload))
    high_rps = min(max(_HIGHEST * rate_rps, _HIGHEST_RPS), most_rps)
    return replace(found, low_rps=_LOWEST * rate_rps, high_rps=high_rps)


def _row(row: Row, labels: Mapping[str, str]) -> Row:
    """Return the row without the paper's figure; its key has loads as multiples of the rate."""
    reported = targets().get(row.target)
    return replace(
        row,
        target=_key(row.target) if row.target else "",
        unit=reported.unit if reported else "",
        of=_cell(row.of, labels),
        to=row.to and _cell(row.to, labels),
        also=tuple(replace(other, row=_row(other.row, labels)) for other in row.also),
    )


def _key(target: str) -> str:
    def multiple(found: re.Match[str]) -> str:
        rps = float(found["rps"] or 0) + 1e3 * float(found["k_rps"] or 0)
        return f"rate_x{rps / _PAPER_RATE_RPS:.2f}"

    return f"own.{_LOAD.sub(multiple, target.partition('.')[2])}"


def _cell(cell: Cell, labels: Mapping[str, str]) -> Cell:
    return replace(cell, point=labels.get(cell.point, cell.point))


def _check(check: Check, labels: Mapping[str, str]) -> Check:
    """Return the statement without the reason why it does not hold for the paper's services."""
    return replace(
        check,
        point=labels.get(check.point, check.point),
        row=check.row and _row(check.row, labels),
        points=tuple((labels[point], labels[other]) for point, other in check.points),
        why_not=None,
        also=tuple(_check(other, labels) for other in check.also),
    )
