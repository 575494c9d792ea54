"""The plan of a fleet: services with their rates, limits, and the costs of servers and chips."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, time
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.chips import find_chip
from accelflow.errors import GIVEN, LEFT_OUT, InputError, one_of, reading, refused
from accelflow.files import parse_toml, read_text
from accelflow.parameters import CUSTOM, accelerators, canonical, flattened
from accelflow.scenario import Scenario, document, recording_text, resolved
from accelflow.simulation import services
from accelflow.simulation import systems as known_systems
from accelflow.sizing.tables import (
    RANGES,
    TABLES,
    Chip,
    Electricity,
    Growth,
    Limits,
    Server,
    check_power,
    checked_number,
    read_table,
    span,
)
from accelflow.workload import is_file, load_workload, mean_rps_of

#: The name and version of plan files.
SCHEMA: Final = "accelflow.plan/1"

#: The systems that a plan compares by default: without accelerators, RELIEF (the paper's strongest
#: rival), and AccelFlow.
DEFAULT_SYSTEMS: Final = ("non_acc", "relief", "accelflow")

#: The fields of a scenario that the plan itself sets.
_OF_PLAN: Final = frozenset(
    {"schema", "workload", "orchestrators", "services", "rate_rps", "rates", "rates_rps", "by_rate"}
    | {"chips", "placement", "requests", "seed", "slo_us", "slo_factor"}
)

#: The fields of a scenario that a plan's table ``scenario`` may set.
SCENARIO: Final = tuple(each.name for each in fields(Scenario) if each.name not in _OF_PLAN)

#: The smallest and the largest rate of a service.
LEAST_RPS: Final = 1e-3
MOST_RPS: Final = 1e12
#: The smallest and the largest limit of a P99, and relative error.
P99_US: Final = (1e-3, 1e9)
RELATIVE_ERROR: Final = (0.0, 1.0)
#: The most characters of a currency's name.
LONGEST_CURRENCY: Final = 64
#: The largest ratio of two services' rates, so that a server may have a small share of both.
_MOST_RATIO: Final = 1e11


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a fleet: its services with rates and limits, the prices, and the systems.

    `workload` is a suite's name, the path of a workload's file, its parsed content, or an
    :class:`accelflow.Workload`. `rates_rps` has today's rate of every service over the whole fleet,
    in requests per second; by default the rates that the workload states. `p99_us` has limits of
    services' P99. The limit of the other services is the SLO that the workload's file states, or
    `slo_factor` times the mean response time on an idle server with AccelFlow. `relative_error` has
    relative standard errors of mean costs on a core, by the name of an accelerator, ``own`` (all
    custom accelerators) or ``app`` (application logic). `scenario` sets other fields of a scenario.
    In each simulation, a service with the mean rate has `requests` requests, and the others have
    requests in proportion to their rates. `seeds` is the number of seeds with which each capacity
    is searched.

    Raises InputError for a value that is not allowed, and for a workload's file that cannot be
    read. If it is a file, `workload` becomes its content, and `relative_error`, if it is empty, has
    the errors that the file states.
    """

    workload: Any = "socialnetwork"
    systems: Sequence[str] = DEFAULT_SYSTEMS
    rates_rps: Mapping[str, float] = field(default_factory=dict)
    p99_us: Mapping[str, float] = field(default_factory=dict)
    slo_factor: float = 5.0
    growth: Growth = field(default_factory=Growth)
    limits: Limits = field(default_factory=Limits)
    server: Server = field(default_factory=Server)
    chip: Chip = field(default_factory=Chip)
    electricity: Electricity = field(default_factory=Electricity)
    currency: str = ""
    relative_error: Mapping[str, float] = field(default_factory=dict)
    scenario: Mapping[str, Any] = field(default_factory=dict)
    requests: int = 4_000
    seeds: int = 3

    def __post_init__(self) -> None:
        """Read the workload if it is a file, and check all values."""
        workload = self.workload
        if is_file(workload):
            workload = load_workload(workload)
            errors = self.relative_error or _errors_of(workload)
            object.__setattr__(self, "relative_error", errors)
        elif callable(to_document := getattr(workload, "to_document", None)):
            workload = to_document()
        object.__setattr__(self, "workload", workload)
        if isinstance(workload, Mapping):
            services(workload)  # refuses content that no workload's file may have
            if self.rates_rps == {}:
                object.__setattr__(self, "rates_rps", _rates_of(workload))
        _check(self)

    @property
    def needed_rps(self) -> dict[str, float]:
        """Each service's rate after growth, in requests per second over the whole fleet."""
        return {name: rate * self.growth.factor for name, rate in self.rates_rps.items()}

    @property
    def served(self) -> tuple[str, ...]:
        """The services that get requests: those with rates, and those that they call."""
        found = dict.fromkeys(self.rates_rps)
        added = list(found)
        while added:
            callees = [callee for name in added for callee in self._callees_of(name)]
            added = [name for name in dict.fromkeys(callees) if name not in found]
            found |= dict.fromkeys(added)
        return tuple(found)

    @property
    def server_config(self) -> dict[str, float]:
        """The parameters of the servers, by key: the chip's, overridden by those of `scenario`."""
        return {**self.chip.config, **canonical(self.scenario.get("config", {}))}

    @property
    def varies(self) -> bool:
        """Whether a path of the workload has odds, so that requests take different ways."""
        if isinstance(self.workload, str):
            return False
        phases = [phase for service in self.workload["services"] for phase in service["path"]]
        chains = [chain for phase in phases for chain in phase.get("parallel", [phase])]
        return any(chain.get("odds") for chain in chains)

    def _callees_of(self, name: str) -> list[str]:
        if isinstance(self.workload, str):
            return []
        services = {service["name"]: service for service in self.workload["services"]}
        path = services.get(name, {}).get("path", ())
        return [callee for phase in path for callee in _callees(phase)]

    def scenario_of(self, load: float, *, system: str, seed: int) -> Scenario:
        """Return the scenario of one server of the fleet under `system`.

        `load` is the ratio of the server's rates to those of the whole fleet.
        """
        return Scenario(
            **{
                **self.scenario,
                "config": self.server_config,
                "workload": self.workload,
                "orchestrators": (system,),
                "services": self.served,
                "rates_rps": {name: rate * load for name, rate in self.needed_rps.items()},
                "placement": "colocated",
                "requests": self.requests,
                "seed": seed,
                "slo_us": dict(self.p99_us),
                "slo_factor": self.slo_factor,
            }
        )


def _callees(phase: Mapping[str, Any]) -> list[str]:
    """Return the services that the chains of a phase in a file call."""
    return [chain["calls"] for chain in phase.get("parallel", [phase]) if "calls" in chain]


_WORKLOAD: Final = "must be text: a suite's name, or the path of a workload's file"
_RATES: Final = (
    "must be a table with each service's rate in requests a second; it may be left out only if the"
    " workload's file has rates"
)


def read_plan(path: str | PathLike[str]) -> Plan:
    """Read the plan in the TOML file at `path` (`docs/sizing.md`).

    Raises InputError for a file that cannot be read, and for the first value that is not allowed.
    """
    path = Path(path)
    with reading("plan", path):
        tree = parse_toml(read_text(path))
        _read_files(tree, path.parent)
        plan = _plan(tree)
        _check_systems(plan)
    return plan


def _read_files(tree: dict[str, Any], folder: Path) -> None:
    """Replace the names of files in a plan, relative to `folder`, by the files' content.

    A workload's file may state rates and errors of costs that the plan leaves out.
    """
    if not isinstance(tree.get("workload", ""), str):
        raise refused("workload", tree["workload"], _WORKLOAD)
    if is_file(tree.get("workload")):
        workload = load_workload(folder / tree["workload"])
        tree["workload"] = workload
        tree.setdefault("relative_error", _errors_of(workload))
    chip = tree.get("chip")
    if isinstance(chip, dict):
        tree["chip"] = _with_config(chip, folder)
    scenario = tree.get("scenario")
    if isinstance(scenario, dict) and "recording" in scenario:
        text = recording_text("scenario.recording", scenario["recording"], folder)
        tree["scenario"] = {**scenario, "recording": text}


def _with_config(chip: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the table `chip` of a plan's file, with the content of its ``file`` as ``config``."""
    if "config" in chip:
        allowed = "must be left out; set the chip's parameters in chip.file or scenario.config"
        raise refused("chip.config", GIVEN, allowed)
    if "file" not in chip:
        return dict(chip)
    values = dict(chip)
    place = values.pop("file")
    if not isinstance(place, str):
        allowed = (
            "must be text: the path of a chip's file, or a name listed by `accelflow chip list`"
        )
        raise refused("chip.file", place, allowed)
    try:
        found = find_chip(str(folder / place) if Path(place).suffix else place)
    except InputError as error:
        raise (error.at("chip.file") if error.place == "chip" else error) from error
    return {**values, "config": found.config}


def _rates_of(workload: Mapping[str, Any]) -> dict[str, float]:
    """Return the stated rate of each service of a workload: its own, or that of the defaults.

    Services without a rate are left out. Raises InputError for such a service if none calls it.
    """
    common = _stated_rps(workload.get("defaults", {}))
    services = workload["services"]
    called = {callee for each in services for phase in each["path"] for callee in _callees(phase)}
    rates = {}
    for service in services:
        name, own = service["name"], _stated_rps(service)
        rate = common if own is None else own
        if rate is not None:
            rates[name] = rate
        elif name not in called:
            allowed = "must be given in rates_rps or the workload's file, since no service calls it"
            raise refused(f"rate of {name}", LEFT_OUT, allowed)
    return rates


def _stated_rps(place: Mapping[str, Any]) -> float | None:
    """Return the stated rate of a service or of the defaults, or the mean of their arrivals."""
    arrivals = place.get("arrivals", {})
    if "rate_rps" in place:
        return float(place["rate_rps"])
    if times := arrivals.get("times_us"):
        span_us = times[-1] - times[0]
        return (len(times) - 1) / (span_us * 1e-6) if span_us > 0 else None
    if rates := arrivals.get("rates"):
        return mean_rps_of(rates)
    return None


def _errors_of(workload: Mapping[str, Any]) -> dict[str, float]:
    """Return the largest relative error that a workload states for each operation's cost."""
    found: dict[str, float] = {}
    places = (workload.get("defaults", {}), *workload["services"])
    for costs in (*(place.get("costs", {}) for place in places), workload.get("kinds", {})):
        for name, cost in costs.items():
            error = cost.get("relative_error") if isinstance(cost, Mapping) else None
            if error is not None:
                found[name] = max(error, found.get(name, 0.0))
    return found


def _plan(tree: Mapping[str, Any]) -> Plan:
    if tree.get("schema") != SCHEMA:
        raise refused("schema", tree.get("schema", LEFT_OUT), f"must be {SCHEMA}")
    known = {"schema", *(attribute.name for attribute in fields(Plan))}
    for key in tree:
        if key not in known:
            raise refused("key", key, known=sorted(known))
    return Plan(**{key: _read(key, value) for key, value in tree.items() if key != "schema"})


def _check(plan: Plan) -> None:
    """Raise InputError for the first value of `plan` that is not allowed."""
    for name, of in TABLES.items():
        if not isinstance(table := getattr(plan, name), of):
            raise refused(name, table, f"must be an object of sizing.{of.__name__}")
    for name in RANGES:
        if "." not in name:
            checked_number(name, getattr(plan, name))
    _check_texts(plan)
    _check_services(plan)
    _check_mapping("relative_error", plan.relative_error, *RELATIVE_ERROR)
    operations = (*accelerators(), *_kinds_of(plan), CUSTOM, "app")
    for name in plan.relative_error:
        if name not in operations:
            raise refused("operation of relative_error", name, known=operations)
    _check_scenario(plan.scenario)
    check_power(plan.server, plan.chip)


def _kinds_of(plan: Plan) -> list[str]:
    """Return the names of the custom accelerators to which the plan's workload gives costs."""
    return [] if isinstance(plan.workload, str) else list(plan.workload.get("kinds", {}))


def _read(key: str, value: object) -> Any:
    if key == "scenario" and isinstance(value, Mapping) and "config" in value:
        if not isinstance(value["config"], Mapping):
            raise refused("scenario.config", value["config"], "must be a table")
        return {**value, "config": _config(value["config"])}
    if (
        key == "rates_rps" and value == {}
    ):  # otherwise those of the workload, as if it were left out
        raise refused(key, value, _RATES)
    return read_table(key, value) if key in TABLES else value


def _config(tree: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = flattened(tree)
    except InputError as error:
        raise error.at(f"scenario.config.{error.place}") from error
    for key, value in found.items():
        if isinstance(value, date | time):
            raise refused(f"scenario.config.{key}", value, "must be a number or a name")
    return found


def _check_texts(plan: Plan) -> None:
    if not isinstance(plan.workload, str | Mapping):
        raise refused("workload", plan.workload, _WORKLOAD)
    if isinstance(plan.workload, Mapping):
        _check_workload(plan.workload, plan.scenario)
    named = isinstance(plan.currency, str) and len(plan.currency) <= LONGEST_CURRENCY
    if not named or any(
        ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in plan.currency
    ):
        allowed = f"must be text of at most {LONGEST_CURRENCY} characters, no control characters"
        raise refused("currency", plan.currency, allowed)
    systems = plan.systems
    texts = isinstance(systems, list | tuple) and all(isinstance(system, str) for system in systems)
    if not texts or not systems:
        raise refused("systems", systems, "must be a list with at least one system's name")
    if len(set(systems)) < len(systems):
        raise refused("systems", list(systems), "must name each system once")


def _check_workload(workload: Mapping[str, Any], scenario: object) -> None:
    """Raise InputError for settings of a workload's file that a plan cannot use."""
    replaced = isinstance(scenario, Mapping) and scenario.get("arrivals") is not None
    common = workload.get("defaults", {}).get("arrivals", {})
    for service in workload["services"]:
        if "server" in service:
            place = f"server of {service['name']}"
            allowed = "must be left out, since a plan puts all services on each server"
            raise refused(place, service["server"], allowed)
        if service.get("arrivals", common).get("process") == "times" and not replaced:
            allowed = (
                "must be a process other than times, since a plan varies the rate; or set"
                " scenario.arrivals, which replaces this process"
            )
            raise refused(f"arrivals of {service['name']}", "times", allowed)
        rates = service.get("arrivals", common).get("rates", ())
        if len({rate for _, rate in rates}) > 1 and not replaced:
            peak_rps = max(rate for _, rate in rates)
            allowed = (
                "must be a process other than rates, since a plan is for one load; or set"
                " scenario.arrivals, which replaces this process, and rates_rps:"
                f" {peak_rps:,.6g} is the highest rate, {mean_rps_of(rates):,.6g} the mean"
            )
            raise refused(f"arrivals of {service['name']}", "rates", allowed)


def _check_services(plan: Plan) -> None:
    if not isinstance(plan.rates_rps, Mapping) or not plan.rates_rps:
        raise refused("rates_rps", plan.rates_rps, _RATES)
    _check_mapping("rates_rps", plan.rates_rps, LEAST_RPS, MOST_RPS)
    for name in plan.rates_rps:
        if name not in _services_of(plan):
            raise refused("rates_rps: service", name, known=_services_of(plan))
    _check_ratios(plan)
    _check_mapping("p99_us", plan.p99_us, *P99_US)
    for name in plan.p99_us:
        if name not in plan.served:
            raise refused("p99_us: service", name, known=plan.served)


def _check_ratios(plan: Plan) -> None:
    """Raise InputError for rates that are too large after the growth, or too far apart."""
    least, most = (of(plan.rates_rps, key=lambda name: plan.rates_rps[name]) for of in (min, max))
    if plan.needed_rps[most] > MOST_RPS:
        allowed = f"must be at most {MOST_RPS:,.15g} after the growth, which is a factor of"
        place = f"rates_rps.{most}"
        raise refused(place, plan.rates_rps[most], f"{allowed} {plan.growth.factor:g}")
    if plan.rates_rps[most] > _MOST_RATIO * plan.rates_rps[least]:
        allowed = f"must be at most {_MOST_RATIO:,.15g} times the rate of {least}"
        raise refused(f"rates_rps.{most}", plan.rates_rps[most], allowed)


def _check_mapping(name: str, values: object, least: float, most: float) -> None:
    if not isinstance(values, Mapping):
        raise refused(name, values, "must be a table")
    for key, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (math.isfinite(value) and least <= value <= most):
            raise refused(f"{name}.{key}", value, f"must be a number {span(least, most)}")


def _check_scenario(scenario: object) -> None:
    if not isinstance(scenario, Mapping):
        raise refused("scenario", scenario, "must be a table with fields of a scenario")
    for key in scenario:
        if key in _OF_PLAN:
            allowed = "must be left out, since the plan sets it"
            raise refused(f"scenario.{key}", scenario[key], allowed)
        if key not in SCENARIO:
            raise refused("scenario key", key, known=SCENARIO)


def _check_systems(plan: Plan) -> None:
    """Raise InputError for unknown systems, and for values that a scenario does not allow."""
    for place, system in enumerate(plan.systems):
        one_of(f"systems[{place}]", system, [name for name, _ in known_systems()])
    for system in plan.systems:
        try:
            resolved(plan.scenario_of(small_share(plan), system=system, seed=1))
        except InputError as error:
            field = re.match(r"\w+", error.place or "")
            ours = field is not None and field[0] in SCENARIO
            raise (error.at(f"scenario.{error.place}") if ours else error) from error


def _services_of(plan: Plan) -> Iterable[str]:
    """Return the services of the plan's workload; those of the plan if it is unknown."""
    try:
        return services(plan.workload)
    except InputError:  # the scenario refuses it more plainly
        return plan.rates_rps


def left_out(plan: Plan) -> list[str]:
    """Return the workload's services that get no requests, from clients or from other services."""
    return [name for name in _services_of(plan) if name not in plan.served]


def small_share(plan: Plan) -> float:
    """Return a load so small that any server sustains it.

    The load is the ratio of a server's rates to those of the whole fleet.
    """
    rates_rps = plan.needed_rps.values()
    return max(1.0 / max(rates_rps), 2.0 * LEAST_RPS / min(rates_rps))


def demands(plan: Plan, recording: str | None) -> dict[str, Any]:
    """Return the time of each service's requests on cores and accelerators, without waits.

    ``services`` has the demands of each service. ``cores`` is the server's number of cores, and
    ``elements`` its number of elements of each accelerator. Costs are those of `recording`, the
    text of a recording; if it is None, those of the plan's own recording or profile. Raises
    AccelflowError for a recording that does not fit.
    """
    asked = plan.scenario_of(small_share(plan), system="accelflow", seed=1)
    recorded = asked.recording if recording is None else recording
    text = _native.scenario_demands(document(asked), recorded)
    found: dict[str, Any] = json.loads(text)
    return found
