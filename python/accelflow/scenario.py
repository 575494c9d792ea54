"""Scenarios of comparisons, checked by the engine's rules.

The engine describes a scenario (`docs/scenario.md`): its fields with their names, ranges and
defaults. :class:`Scenario` has the same fields, and adds no rules. :class:`Fields` has their types,
for functions that take them as keyword arguments.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypedDict

from accelflow import _native, arcus
from accelflow.chips import Chip, config_schema, named_chips
from accelflow.errors import AccelflowError, InputError, reading, refused, unreadable, unwritable
from accelflow.files import parse_json, parse_toml, read_text, write_whole
from accelflow.parameters import flattened
from accelflow.tenants import Shaping
from accelflow.workload import (
    bad_number,
    check_suite,
    inlined,
    is_file,
    load_workload,
    located,
    native_workload,
    numbers_named,
)

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
    "Fields",
    "HasDocument",
    "Limit",
    "Scenario",
    "check_plain",
    "document",
    "fields_schema",
    "hashed",
    "loaded",
    "read_scenario",
    "recording_text",
    "resolved",
    "scenario_schema",
    "write_scenario",
]

_CHOICES: Final = {name: tuple(known) for name, known in _native.scenario_choices()}

#: The suites of services that come with accelflow.
WORKLOADS: Final = _CHOICES["workload"]
#: How services may share servers: `placement` of a scenario.
PLACEMENTS: Final = _CHOICES["placement"]
#: The arrival processes that a scenario may name.
ARRIVALS: Final = _CHOICES["arrivals"]
#: How services may share the mean rate: `rates` of a scenario.
RATES: Final = _CHOICES["rates"]
#: How branch conditions may be determined: `facts` of a scenario.
FACTS: Final = _CHOICES["facts"]
#: How a recording's times may be used: `recorded_times` of a scenario.
RECORDED_TIMES: Final = _CHOICES["recorded_times"]
#: The sources of costs: `profile` of a scenario.
PROFILES: Final = _CHOICES["profile"]
#: The data sets of payload sizes: `sizes` of a scenario.
SIZES: Final = _CHOICES["sizes"]
#: The orders of input queues: `policy` of a scenario.
POLICIES: Final = _CHOICES["policy"]
#: The waits for other servers: `remote` of a scenario.
REMOTES: Final = _CHOICES["remote"]

#: Longer texts are not shown whole in refusals.
_SHOWN: Final = 60

#: The results of checks are kept for documents of at most this length, to save memory.
_LONGEST_KEPT: Final = 20_000
#: The greatest whole number that the engine reads exactly.
_MOST: Final = 2**64 - 1

#: The default core time of one TCP operation in ns, assumed. The paper says "tens of microseconds";
#: with 20 us, a server without accelerators cannot serve all eight services at the paper's rate.
ASSUMED_TCP_COST_NS: Final = 7_000.0
#: The ratio of a service's SLO to its mean time on an idle server: "We define the SLO to be 5x the
#: service execution time on an unloaded system" (AccelFlow, section VII.A.3).
PAPER_SLO_FACTOR: Final = 5.0

#: A limit on a tenant's traffic: a token bucket for traces or bytes, or a share of accelerator
#: time.
Limit: TypeAlias = arcus.RateLimiter | Shaping


class HasDocument(Protocol):
    """An object that can return the content of its file as a dict, such as a workload."""

    def to_document(self) -> Mapping[str, Any]:
        """Return the content of the file as mappings, lists, strings and numbers."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The settings of a simulated comparison; the defaults are those of `accelflow compare`.

    `workload` is a suite's name, or the path of a workload's file (docs/workloads.md) ending in
    ``.toml`` or ``.json``. It may also be the content of such a file as a dict
    (:func:`accelflow.workload.load_workload`), or an object whose method ``to_document`` returns
    such a dict. Fields that are None take the workload's values.

    `orchestrators` are the systems to compare: identifiers or names of
    :func:`accelflow.simulation.systems`; if empty, those of
    :func:`accelflow.simulation.orchestrators`. `services` are names; if empty, all services of the
    workload.

    `profile` is the source of the operations' costs on a core: ``measured`` on real bytes on this
    machine (:func:`accelflow.calibration.calibrated`; socialnetwork only), or ``paper``, the
    paper's shares with `tcp_cost_ns` ns for TCP. The workload sets the default: measured for
    socialnetwork, paper for the other suites. With `recording`, the text of a recording
    (docs/recording-format.md), costs and sizes are the recording's; with the profile ``measured``,
    the recording counts as one of this machine. `recorded_times` is ``median`` (the default:
    times are equal for all requests) or ``distribution`` (times are drawn for each request, and the
    time outside of operations is added).

    `placement` is ``colocated`` (all services on one server) or ``isolated`` (a server each).
    `arrivals` is the arrival process, by default that of the workload, else ``poisson``. `seed` is
    the seed of everything random.

    `rate_rps` is the mean rate of the services that clients call, in requests per second. The
    default is the paper's for the suites, and 800 for serverless functions. `rates` names the rule
    by which the services share this rate. The default is Alibaba's rates for the paper's production
    experiment (socialnetwork with the profile ``paper`` and no `rate_rps`; section VI), the
    services' ``own`` rates if they have any, and otherwise equal rates. `rates_rps`, the rate of
    each service by name, replaces both. `requests` is the number of requests of each service. The
    first `warmup` of them (default: a tenth) are not counted. With `by_rate` (default: if rates
    differ), both numbers are for a service with the mean rate; all services run for the same time,
    so that each has requests in proportion to its rate.

    `sizes` names the data set of payload sizes. The default is socialnetwork's own messages for
    that suite ("we run 8 SocialNetwork services", section VI), and fleet for the others. `facts`
    determines the payload facts at branches: those of the most common path (``common``), ``drawn``
    for each request, or ``recorded``, those of a random request in `recording`. Facts are drawn
    with the workload's odds, or without such odds by the server's parameters ``facts.*``. `remote`
    is the time to wait for other servers: ``short`` (5 us), or ``socialnetwork`` (as measured in
    SocialNetwork); ``short_drawn`` and ``socialnetwork_drawn`` draw each wait.

    `config` sets parameters of the server by key; a parameter that is a choice may have the name of
    the choice as its value. `chips` are compared with each other: a mapping from names to
    parameters, which override `config`, or a list of chips (:func:`accelflow.chips.read_chip`). One
    chip is equivalent to its parameters in `config`. `policy` is the order of input queues, and
    overrides `config`: fifo, priority, deadline (an entry that would be late swaps places with one
    that has slack) or edf (earliest deadline first). `slo_us` has the SLOs of services. The SLO of
    other services is set by the workload, or is `slo_factor` times the mean response time on an
    idle server with AccelFlow (None: no SLO). `tenants` and `priorities` (higher goes first) map
    services to numbers, by default 0. `shaping` maps tenants to rate limits (token buckets, as in
    ARCUS). A trace takes one token when it starts; with the unit bytes, it takes a token for each
    byte that its first operation reads. ``Shaping(accelerator_s_per_s=...)`` limits a tenant's
    accelerator time as in a server: the time that the tenant's operations take on idle elements,
    predicted when a trace starts and corrected when the trace has ended. With several limits, one
    in each unit, a trace starts when all have enough tokens.
    """

    workload: str | PathLike[str] | Mapping[str, Any] | HasDocument = "socialnetwork"
    orchestrators: Sequence[str] = ()
    services: Sequence[str] = ()
    placement: str = "colocated"
    arrivals: str | None = None
    rate_rps: float | None = None
    rates: str | None = None
    rates_rps: Mapping[str, float] = field(default_factory=dict)
    facts: str | None = None
    requests: int = 20_000
    warmup: int | None = None
    by_rate: bool | None = None
    seed: int = 1
    recording: str | None = None
    recorded_times: str | None = None
    profile: str | None = None
    tcp_cost_ns: float | None = None
    remote: str | None = None
    sizes: str | None = None
    config: Mapping[str, float | str] = field(default_factory=dict)
    chips: Mapping[str, Mapping[str, float | str]] | Sequence[Chip] = ()
    slo_us: Mapping[str, float] = field(default_factory=dict)
    policy: str | None = None
    slo_factor: float | None = PAPER_SLO_FACTOR
    tenants: Mapping[str, int] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    shaping: Mapping[int, Limit | Sequence[Limit]] = field(default_factory=dict)

    @property
    def costs(self) -> str:
        """The source of costs: ``paper``, ``measured``, ``recording``, or the workload: ``own``."""
        return str(resolved(self)["costs"])

    @property
    def mean_rate_rps(self) -> float:
        """The mean rate of a service in requests per second.

        It is the mean of `rates_rps`, or else `rate_rps`, or else the workload's default.
        """
        return float(resolved(self)["rate_rps"])

    @property
    def arrival_kind(self) -> str:
        """The arrival process: `arrivals`, or ``own`` if the workload has any, or ``poisson``."""
        return str(resolved(self)["arrivals"])

    @property
    def shares(self) -> str:
        """The rule by which services share the mean rate: `rates`, or the workload's default."""
        return str(resolved(self)["rates"])

    @property
    def counts_by_rate(self) -> bool:
        """Whether services have requests in proportion to rates: `by_rate`, or its default."""
        return bool(resolved(self)["by_rate"])

    @property
    def payload_sizes(self) -> str:
        """The name of the data set of payload sizes: `sizes`, or its default for the workload."""
        return str(resolved(self)["sizes"])

    @property
    def warmup_requests(self) -> int:
        """The number of requests of each service that are not counted: `warmup`, or a tenth.

        If :attr:`counts_by_rate`, it is the number for a service with the mean rate.
        """
        return int(resolved(self)["warmup_requests"])


class Fields(TypedDict, total=False):
    """The fields of :class:`Scenario` as keyword arguments, without workload and orchestrators."""

    services: Sequence[str]
    placement: str
    arrivals: str | None
    rate_rps: float | None
    rates: str | None
    rates_rps: Mapping[str, float]
    facts: str | None
    requests: int
    warmup: int | None
    by_rate: bool | None
    seed: int
    recording: str | None
    recorded_times: str | None
    profile: str | None
    tcp_cost_ns: float | None
    remote: str | None
    sizes: str | None
    config: Mapping[str, float | str]
    chips: Mapping[str, Mapping[str, float | str]] | Sequence[Chip]
    slo_us: Mapping[str, float]
    policy: str | None
    slo_factor: float | None
    tenants: Mapping[str, int]
    priorities: Mapping[str, int]
    shaping: Mapping[int, Limit | Sequence[Limit]]


def resolved(scenario: Scenario) -> dict[str, Any]:
    """Check `scenario`, and return its fields with every default filled in.

    Raises InputError for the first value that is not allowed.
    """
    text = document(scenario)
    with located(scenario.workload), numbers_named(scenario.workload):
        if scenario.recording is None and len(text) <= _LONGEST_KEPT:
            checked = _checked(text)
        else:
            checked = _native.scenario_check(text, scenario.recording)
    found: dict[str, Any] = json.loads(checked)
    _check_shaped(found)
    return found


def _check_shaped(asked: Mapping[str, Any]) -> None:
    """Raise InputError for limits of a tenant that no service has."""
    tenants = asked["tenants"]
    known = {*tenants.values(), *(tenants.get(service, 0) for service in asked["services"])}
    for tenant in asked["shaping"]:
        if int(tenant) not in known:
            numbers_of = ", ".join(str(number) for number in sorted(known))
            allowed = f"must be the number of a tenant that has services: {numbers_of}"
            raise refused("shaping", int(tenant), allowed)


@lru_cache(maxsize=256)
def _checked(text: str) -> str:
    # Many callers ask for several defaults of a scenario, and a check takes milliseconds.
    return _native.scenario_check(text, None)


def hashed(scenario: Scenario) -> str:
    """Return the hash of everything that the results of `scenario` depend on.

    Scenarios with the same hash have the same results in one version of accelflow. A value that is
    set to its default counts as left out. Raises InputError for a value that is not allowed.
    """
    text = document(scenario)
    try:
        return _native.scenario_hash(text, scenario.recording)
    except AccelflowError as error:
        raise InputError.of(error) from error


def loaded(scenario: Scenario) -> Scenario:
    """Return `scenario` with its workload file's contents in place of the path.

    Later changes of the file then have no effect. A scenario without a workload file is returned
    as it is. Raises InputError for a file that cannot be read or is not a workload, and for a
    scenario that is not allowed. Messages on the file's values have line and column.
    """
    file = scenario.workload if isinstance(scenario, Scenario) else None
    if isinstance(file, str | PathLike) and is_file(file):
        whole = replace(scenario, workload=json.loads(native_workload(file)))
        with located(file):
            resolved(whole)
        return whole
    tree = _tree_of(file)
    if tree is not None and (whole_tree := inlined(tree)) is not tree:
        return replace(scenario, workload=whole_tree)
    return scenario


def document(scenario: Scenario) -> str:
    """Return the fields of `scenario` as JSON, without the recording.

    Raises InputError for a value that JSON does not have.
    """
    if not isinstance(scenario, Scenario):
        raise refused("scenario", scenario, "must be a Scenario")
    values = {attribute.name: getattr(scenario, attribute.name) for attribute in fields(scenario)}
    recording = values.pop("recording")
    if not isinstance(recording, str | None):
        raise _refused("recording", recording)
    if recording is not None and not recording.lstrip().startswith("{"):
        text = recording if len(recording) <= _SHOWN else f"{recording[:_SHOWN]}..."
        allowed = (
            "must be the text of a recording, a JSON object; for the path of its file, pass"
            " Path(...).read_text()"
        )
        raise refused("recording", text, allowed)
    workload = values["workload"]
    if is_file(workload):
        values["workload"] = load_workload(workload)
    elif isinstance(workload, str):
        check_suite(workload)
    elif (tree := _tree_of(workload)) is not None:
        values["workload"] = inlined(tree)
    if isinstance(scenario.shaping, Mapping):
        values["shaping"] = {
            tenant: [limits] if isinstance(limits, Limit) else limits
            for tenant, limits in scenario.shaping.items()
        }
    try:
        chips = named_chips(scenario.chips)
    except TypeError as error:
        raise _refused("chips", scenario.chips) from error
    values["chips"] = [{"name": name, "config": config} for name, config in chips]
    written = [f"{json.dumps(name)}: {_written(name, value)}" for name, value in values.items()]
    return f"{{{', '.join(written)}}}"


def _tree_of(workload: object) -> Mapping[str, Any] | None:
    """Return the content of a workload that comes from no file; None for another value."""
    if callable(to_document := getattr(workload, "to_document", None)):
        workload = to_document()
    return workload if isinstance(workload, Mapping) else None


def _written(name: str, value: object) -> str:
    for index, member in enumerate(value if isinstance(value, list | tuple) else ()):
        _check_utf8(f"{name}[{index}]", member)
    _check_utf8(name, value)
    if isinstance(value, int) and not abs(value) <= _MOST:
        # The engine reads such numbers as inexact ones, which its message would show.
        raise _refused(name, value)
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        inside = isinstance(error, ValueError) and isinstance(value, Mapping)
        if inside and (bad := bad_number(name, value)) is not None:
            raise bad from error
        raise _refused(name, value) from error


def _check_utf8(place: str, value: object) -> None:
    """Raise InputError for a text of bytes that are not UTF-8, which no JSON has."""
    if isinstance(value, str) and value.encode(errors="replace").decode() != value:
        raise refused(place, value, "must be text in UTF-8")


def _refused(name: str, value: object) -> InputError:
    return refused(name, value, f"must be {_native.scenario_allowed(name)}")


def _plain(value: object) -> object:
    """The form in JSON of a value of a type that JSON does not have."""
    if isinstance(value, Limit):
        return _plain_limit(value)
    if isinstance(value, PathLike):
        return fspath(value)
    if callable(to_document := getattr(value, "to_document", None)):
        return to_document()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    return _plain_number(value)


def _plain_limit(limit: Limit) -> dict[str, Any]:
    if isinstance(limit, Shaping):
        return _plain_time(limit)
    if limit.clock_mhz != arcus.CLOCK_MHZ:
        raise refused(
            "shaping: clock_mhz",
            limit.clock_mhz,
            f"must be {arcus.CLOCK_MHZ:g}, the clock of the simulated server's shaper",
        )
    return {
        attribute: getattr(limit, attribute)
        for attribute in ("unit", "refill", "bucket", "interval")
    }


def _plain_time(shaping: Shaping) -> dict[str, Any]:
    given = {
        attribute.name: getattr(shaping, attribute.name)
        for attribute in fields(Shaping)
        if getattr(shaping, attribute.name) is not None
    }
    time = ("accelerator_s_per_s", "burst_accelerator_s")
    for name, value in given.items():
        if name not in time:
            raise refused(
                f"shaping: {name}",
                value,
                "must be None in a simulation; limit a tenant's traces or bytes with "
                "accelflow.arcus.RateLimiter",
            )
    return {"accelerator_s_per_s": None, **given}


def _plain_number(value: object) -> int | float:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(type(value))


def read_scenario(path: str | PathLike[str]) -> Scenario:
    """Read the scenario in the file at `path`: TOML if the name ends in ``.toml``, else JSON.

    The path of a workload's file in it is relative to the scenario's folder. Raises InputError for
    a file that cannot be read, and for a value that is not allowed.
    """
    path = Path(path)
    with reading("scenario", path):
        text = read_text(path)
        tree = parse_toml(text) if path.suffix.lower() == ".toml" else parse_json(text)
        check_plain("", tree)
        if isinstance(tree, dict):
            _flatten_configs(tree)
        if isinstance(tree, dict) and is_file(tree.get("workload")):
            tree["workload"] = load_workload(path.parent / tree["workload"])
        filled = json.loads(_native.scenario_read(json.dumps(tree, allow_nan=False)))
        found = _from_tree(filled)
        resolved(found)
    return found


def _flatten_configs(tree: dict[str, Any]) -> None:
    """Replace nested tables in `config` and in the `config` of each chip by dotted keys."""
    chips = tree.get("chips")
    for table in (tree, *(chips if isinstance(chips, list) else ())):
        if isinstance(table, dict) and isinstance(table.get("config"), dict):
            table["config"] = flattened(table["config"])


def recording_text(place: str, name: object, folder: Path) -> str:
    """Return the text of a recording's file.

    `name` is the file's path relative to `folder`, and `place` the setting that names it. Raises
    InputError for a name that is not a string, and for a file that is unreadable or no JSON object.
    """
    if not isinstance(name, str):
        raise refused(place, name, "must be the path of a recording's file")
    try:
        text = read_text(folder / name)
    except (OSError, ValueError) as error:
        raise unreadable(place, name, error) from error
    if not text.lstrip().startswith("{"):
        raise refused(place, name, "must be the file of a recording, a JSON object")
    return text


def check_plain(place: str, value: object) -> None:
    """Raise InputError if `value` has a number that is not finite, or a date: JSON has neither.

    `place` is the name of the setting; the message names the member that is refused.
    """
    if isinstance(value, dict):
        for key, member in value.items():
            check_plain(f"{place}.{key}" if place else key, member)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            check_plain(f"{place}[{index}]", member)
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused(place, value, "must be a finite number")
    elif not isinstance(value, str | int | float | None):
        raise refused(place, value, "must be a string, a number, true or false, not a date")


def _from_tree(tree: Mapping[str, Any]) -> Scenario:
    values = {attribute.name: tree[attribute.name] for attribute in fields(Scenario)}
    values["chips"] = {chip["name"]: chip["config"] for chip in tree["chips"]} or ()
    values["shaping"] = {
        int(tenant): [_limit(limit) for limit in limits]
        for tenant, limits in tree["shaping"].items()
    }
    return Scenario(**values)


def _limit(tree: Mapping[str, Any]) -> Limit:
    return arcus.RateLimiter(**tree) if "unit" in tree else Shaping(**tree)


def write_scenario(scenario: Scenario, path: str | PathLike[str]) -> None:
    """Write `scenario` to the file at `path` as a scenario in JSON, with all fields.

    Raises InputError for a value that is not allowed, for a path that ends in ``.toml``, and for a
    file that cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() == ".toml":
        raise refused(
            "scenario", str(path), "must not end in .toml, since scenarios are written as JSON"
        )
    resolved(scenario)
    text = _native.scenario_read(document(scenario), scenario.recording)
    try:
        write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("scenario", path, error) from error


def scenario_schema() -> str:
    """Return the JSON Schema of a scenario's file, as text."""
    return _native.scenario_schema()


def fields_schema(names: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of a table with the scenario's fields `names`, and its definitions.

    The table is part of another file, such as a study. There, `recording` is the name of a file
    instead of its content, and ``config`` may nest parameters.
    """
    tree = json.loads(_native.scenario_schema())
    found = {name: tree["properties"][name] for name in names}
    if "recording" in found:
        found["recording"] = {
            "type": "string",
            "description": "The file of a recording, the source of costs and payload sizes.",
        }
    if "config" in found:
        found["config"] = {"$ref": "#/$defs/Config"}
    table = {"type": "object", "properties": found, "additionalProperties": False}
    limits = {name: tree["$defs"][name] for name in ("Limit", "Limiter", "TimeLimiter")}
    return table, {"Config": config_schema("#/$defs/Config"), **limits}


#: The mean rate of a service in requests per second that the paper takes from Alibaba (AccelFlow,
#: section VI).
PAPER_RATE_RPS: Final = Scenario().mean_rate_rps
#: The default mean rate of the serverless functions in requests per second, derived: with it, their
#: application logic alone keeps half of the 36 cores busy, if rates are shared as in Azure's
#: traces.
SERVERLESS_RATE_RPS: Final = Scenario(workload="serverless").mean_rate_rps
