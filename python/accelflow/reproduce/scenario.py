"""The scenario of an evaluation: values for everything that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from accelflow import simulation
from accelflow.errors import InputError, one_of, refused, unreadable
from accelflow.files import parse_toml, read_text
from accelflow.reproduce.definitions import PRODUCTION, Definition, Point

__all__ = [
    "OWN",
    "UNLOADED_RPS",
    "Scenario",
    "Setting",
    "check_systems",
    "check_varied",
    "merged",
    "mislabelled",
    "read_scenario",
]


#: Payload sizes that apply to SocialNetwork only, and the sizes for other workloads.
_OF_ONE, _OTHERS = "socialnetwork", "fleet"

#: The `rates` in experiment files that the scenario replaces: those of section VI.
_PRODUCTION_RATES = "alibaba"

#: The values of `rates` that SocialNetwork can have.
_RATES = (_PRODUCTION_RATES, "equal")

#: The system Cohort in experiments' files, and the systems that a scenario may use for it.
_COHORT = "cohort"
_COHORTS = (_COHORT, "cohort_polling")

#: The value of `slo_system` for SLOs from each system's own response time on an idle server.
OWN = "own"

#: The default multiple of a response time on an idle server after which a request is late (section
#: VII.A.3), and the largest multiple allowed.
_DEADLINE_FACTOR = 5.0
_LATEST = 1_000

#: A mean rate in requests per second so low that each request finds the server idle.
UNLOADED_RPS = 10.0


class Setting(Protocol):
    """The settings that all experiments of an evaluation share (a protocol).

    :class:`Scenario` implements it for the paper's evaluation, and
    :class:`accelflow.reproduce.OwnScenario` for a user's workload.
    """

    @property
    def slo_system(self) -> str:
        """The system whose response times on an idle server set the SLOs of all systems.

        With ``own``, each system's SLOs are set by its own response times.
        """

    @property
    def unloaded_rps(self) -> float:
        """A mean rate in requests per second so low that each request finds the server idle."""

    @property
    def inputs(self) -> simulation.Scenario:
        """The workload and parameters for experiments that compute a table without a simulation."""

    def experiment(
        self, system: str, setup: Mapping[str, Any], point: Point, requests: int, seed: int
    ) -> simulation.Scenario:
        """Return the simulation of one system at one point of an experiment.

        `setup` has the settings that all points of the experiment share, and `point` those of one
        value of its varied parameter. `requests` is the number of requests of each service; if
        rates differ, that of a service with the mean rate.
        """

    def owed_us(self, service: str, idle_us: float, factor: float) -> float:
        """Return the SLO of `service` in us.

        `idle_us` is the service's mean response time on an idle server, and `factor` the
        experiment's multiple of this time.
        """

    def due(self, factor: float) -> float:
        """Return the multiple of the idle response time after which a request is late.

        The idle response time is the service's mean response time on an idle server. The multiple
        is the scenario's own if it has one, and otherwise the experiment's, `factor`.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as one object for JSON."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The scenario of the paper's evaluation: values for everything that the paper leaves open.

    All experiments use the same values. `placement` is ``colocated`` (all services on one server)
    or ``isolated`` (a server each). `arrivals` is the arrival process in place of the paper's
    production trace. `rates` is the rule by which SocialNetwork's services share their mean rate in
    experiments with this production load; in others, rates are equal unless the experiment sets
    them.
    `facts` determines the values that branches in traces test, unless an experiment sets `facts`.
    `tcp_cost_ns`, `sizes` and `remote` are as in :class:`accelflow.Scenario`. `cohort` is the
    system used as the paper's Cohort.

    SLOs are multiples of the response time of `slo_system` on an idle server (``own``: each
    system's own). In an experiment on deadlines, a request is late after `deadline_factor` times
    its service's response time on an idle server. `config` has parameters of the server by key.
    """

    placement: str = "colocated"
    arrivals: str = "poisson"
    rates: str = _PRODUCTION_RATES
    facts: str = "common"
    tcp_cost_ns: float = simulation.ASSUMED_TCP_COST_NS
    sizes: str = "socialnetwork"
    remote: str = "short"
    cohort: str = _COHORT
    slo_system: str = OWN
    deadline_factor: float = _DEADLINE_FACTOR
    config: Mapping[str, float] = field(default_factory=dict)

    def experiment(
        self, system: str, setup: Mapping[str, Any], point: Point, requests: int, seed: int
    ) -> simulation.Scenario:
        """Return the simulation of one system at one point of an experiment.

        `setup` has the settings that all points of the experiment share; see
        :meth:`Setting.experiment`.
        """
        settings = merged(self.config, setup, point)
        if settings.get("arrivals") == PRODUCTION:
            settings["arrivals"] = self.arrivals
            if settings["rates"] == _PRODUCTION_RATES:
                settings["rates"] = self.rates
            elif self.arrivals == _PRODUCTION_RATES:  # the minutes of the rates' own traces
                settings["arrivals"] = settings["rates"]
        fields = {
            "orchestrators": (self.cohort if system == _COHORT else system,),
            "profile": "paper",
            "rates": "equal",
            "slo_factor": None,
            "placement": self.placement,
            "facts": self.facts,
            "tcp_cost_ns": self.tcp_cost_ns,
            "sizes": self.sizes_of(settings.get("workload", _OF_ONE)),
            "remote": self.remote,
            "requests": requests,
            "by_rate": True,
            "seed": seed,
            **settings,
        }
        return simulation.Scenario(**fields)

    @property
    def unloaded_rps(self) -> float:
        """A mean rate in requests per second so low that each request finds the server idle."""
        return UNLOADED_RPS

    def owed_us(self, _service: str, idle_us: float, factor: float) -> float:
        """Return the SLO of a service in us: `factor` times `idle_us`.

        `idle_us` is the service's mean response time on an idle server.
        """
        return factor * idle_us

    def due(self, _factor: float) -> float:
        """Return the multiple of the idle response time after which a request is late.

        This is `deadline_factor`, whatever the experiment's own factor is.
        """
        return self.deadline_factor

    @property
    def inputs(self) -> simulation.Scenario:
        """The inputs of tables that need no simulation: the most common paths of SocialNetwork."""
        return simulation.Scenario(
            profile="paper",
            rates="equal",
            facts="common",
            tcp_cost_ns=self.tcp_cost_ns,
            sizes=self.sizes,
        )

    def sizes_of(self, workload: str) -> str:
        """Return the name of the data set of payload sizes for `workload`.

        This is `sizes`. But ``socialnetwork``, the sizes of SocialNetwork's own messages, does not
        fit other workloads, which have ``fleet`` instead.
        """
        return _OTHERS if self.sizes == _OF_ONE != workload else self.sizes

    def choices(self) -> dict[str, Any]:
        """Return the value of every field but `config`, by the field's name."""
        return {name: value for name, value in vars(self).items() if name != "config"}

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as one object for JSON.

        The object leaves out `deadline_factor` if that has its default.
        """
        found = self.choices()
        if self.deadline_factor == _DEADLINE_FACTOR:
            del found["deadline_factor"]
        return {**found, "config": dict(sorted(self.config.items()))}

    def check(self) -> None:
        """Raise InputError for the first field whose value is not allowed."""
        simulation.check(self.experiment("accelflow", {}, Point(""), 100, 1))
        one_of("arrivals", self.arrivals, simulation.ARRIVALS)
        one_of("rates", self.rates, _RATES)
        check_systems(self.cohort, self.slo_system)
        check_deadline(self.deadline_factor)


def check_systems(cohort: str, slo_system: str) -> None:
    """Raise InputError if `cohort` or `slo_system` is not the name of an allowed system."""
    one_of("cohort", cohort, _COHORTS)
    one_of("slo_system", slo_system, [OWN, *(system for system, _ in simulation.systems())])


def check_deadline(factor: float) -> None:
    """Raise InputError unless `factor`, a `deadline_factor`, is above 0 and at most 1,000."""
    if not 0 < factor <= _LATEST:
        raise refused("deadline_factor", factor, f"must be above 0 and at most {_LATEST}")


def merged(config: Mapping[str, float], setup: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """Merge `config`, the experiment's `setup` and `point` into the fields of one simulation.

    The settings of `point` override those of `setup`. The field ``config`` has the server's
    parameters: those of `config`, with speedups times the point's factor, overridden by those of
    setup and point.
    """
    own = {**setup.get("config", {}), **point.settings.get("config", {})}
    whole = {**config, **_sped_up(config, point.speedup_factor), **own}
    return {**setup, **point.settings, "config": dict(sorted(whole.items()))}


def check_varied(definition: Definition, config: Mapping[str, float]) -> None:
    """Raise InputError if `config` sets a server parameter that the experiment varies.

    The experiment's points would then not have the values that their labels state.
    """
    found = _varied(definition, config)
    if found is not None:
        key, varied = found
        allowed = f"must be left out with {definition.name}, which varies {varied}"
        raise refused(key, config[key], allowed)


def mislabelled(definition: Definition, config: Mapping[str, float]) -> str:
    """Return a sentence if `config` sets a server parameter that the experiment varies; else empty.

    :func:`check_varied` raises InputError for the same reason.
    """
    found = _varied(definition, config)
    return "" if found is None else f"It varies {found[1]}, and {found[0]} is set."


def _varied(definition: Definition, config: Mapping[str, float]) -> tuple[str, str] | None:
    """Return a key of `config` that hides what the experiment varies, and the varied key."""
    points = [set(point.settings.get("config", {})) for point in definition.points]
    varied = set[str]().union(*points)
    default = {parameter.key: parameter.default for parameter in simulation.parameters()}
    for given, value in config.items():
        (key,) = simulation.configured({given: value})
        # An accelerator's own size replaces the size of all.
        general = f"accelerator.{key.partition('.')[0]}"
        general = general if general in default else key
        unset = not all(general in point for point in points)
        if general in varied and value != default[key] and (general != key or unset):
            return given, general
    return None


def _sped_up(config: Mapping[str, float], factor: float) -> dict[str, float]:
    if factor == 1.0:
        return {}
    return {
        parameter.key: config.get(parameter.key, parameter.default) * factor
        for parameter in simulation.parameters()
        if parameter.key.startswith("speedup.")
    }


def read_scenario(path: Path) -> Scenario:
    """Read the scenario in the TOML file at `path`, as `accelflow fit` writes it.

    The table ``[scenario]`` sets fields of :class:`Scenario`. All other tables set parameters of
    the server, as for `accelflow compare --config`. Raises InputError for a file that cannot be
    read, for an unknown key, and for a value that is not allowed.
    """
    try:
        tree = parse_toml(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("scenario", path, error) from error
    chosen = tree.pop("scenario", {})
    if not isinstance(chosen, dict):
        raise refused(f"{path}: scenario", chosen, "must be a table")
    default = Scenario()
    for key, value in chosen.items():
        known = default.choices()
        one_of(f"{path}: scenario: key", key, sorted(known))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number != isinstance(known[key], float) or not (number or isinstance(value, str)):
            kind = "a number" if isinstance(known[key], float) else "a string"
            raise refused(f"{path}: scenario.{key}", value, f"must be {kind}")
        chosen[key] = float(value) if number else value
    scenario = replace(default, **chosen, config=simulation.settings(tree, path))
    try:
        scenario.check()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return scenario
