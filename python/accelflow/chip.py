"""Area, power and energy of a server with accelerators: AccelFlow, sections VI and VII.B.5.

Every input has a provenance, and no input was fitted to the paper's results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from accelflow import _native
from accelflow.errors import LEFT_OUT, AccelflowError, InputError, refused
from accelflow.findings import printed_figures, targets
from accelflow.parameters import (
    CUSTOM,
    SIZES,
    accelerators,
    checked,
    configured,
    engine,
)
from accelflow.report.results import Comparison, ServiceResult, SystemResult

__all__ = [
    "BYTES_PER_TRANSFER",
    "area",
    "custom_accelerators",
    "element_counts",
    "elements",
    "energy",
    "ignored",
    "paper_area",
    "paper_energy",
    "power",
    "server_w",
    "sizes",
]

#: The schema of the results of :func:`area`.
AREA_SCHEMA: Final = "accelflow.area/1"
#: The schema of the results of :func:`power`.
POWER_SCHEMA: Final = "accelflow.power/1"
#: The schema of the results of :func:`energy`.
ENERGY_SCHEMA: Final = "accelflow.energy/1"


def paper_area() -> dict[str, float]:
    """Return the areas (mm2), shares of area and bytes of queues that AccelFlow's paper states.

    The source is section VI. The keys are those of the result of :func:`area`, for comparison.
    """
    return {
        "baseline_mm2": _printed("area_mm2", "cores", "llc", "core_network"),
        "accelerators_mm2": _printed("area_mm2", "accelerators"),
        "orchestration_mm2": _printed(
            "area_mm2", "queues_and_dispatchers", "adma_engines", "accelerator_network"
        ),
        "accelerators_share_ratio": _printed("area_mm2", "accelerators_share"),
        "orchestration_share_ratio": _printed("area_mm2", "orchestration_share"),
        "queue_bytes": _printed("power_energy", "queue_memory_MB") * 1e6,
    }


def paper_energy() -> dict[str, float]:
    """Return the ratios of energy and performance per watt that AccelFlow's paper states.

    The source is section VII.B.5. The keys name the ratio and the system compared with AccelFlow.
    """
    keys = {
        "energy_reduction_vs_non_acc_ratio": "energy_reduction_vs_Non-acc",
        "perf_per_watt_vs_non_acc_ratio": "perf_per_watt_vs_Non-acc",
        "perf_per_watt_vs_relief_ratio": "perf_per_watt_vs_RELIEF",
    }
    return {name: targets()[f"accelflow.power_energy.{key}"].value for name, key in keys.items()}


def _printed(section: str, *names: str) -> float:
    """The sum of the paper's printed figures `names`, with all their digits."""
    return float(sum(printed_figures()[f"accelflow.{section}.{name}"] for name in names))


#: The bytes that an accelerator invocation is assumed to move if results lack the figure: the data
#: of one queue entry.
BYTES_PER_TRANSFER: Final = 2048.0
#: The inputs of the area model that are parameters of the simulated server, by their keys there.
_INPUTS: Final[Mapping[str, str]] = {
    "core.count": "cores",
    "network.dma_engines": "adma_engines",
    **{f"accelerator.{size}": size for size in SIZES},
}
#: The instructions that an output dispatcher is assumed to execute per operation if results lack
#: the figure: the mean of section VII.B.2.
INSTRUCTIONS_PER_DISPATCH: Final = 18.0


def area(changes: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return the areas of a processor's parts in mm2 by the area model, and the model's inputs.

    Each input has its provenance. `changes` replaces inputs by name, such as ``{"pes": 4}``. Raises
    InputError for an unknown name and a value out of range.
    """
    return {"schema": AREA_SCHEMA, **_call(_native.area_model, checked("area", changes or {}))}


def power(
    changes: Mapping[str, float] | None = None, sizes: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return the maximum power of a server's parts in W, and the energy per instruction and byte.

    Energies are in joules. `changes` replaces inputs of the power model by name, and `sizes` those
    of :func:`area`. In the result, ``server_max_w`` is the maximum power of the paper's server,
    from which the model starts, and ``total_max_w`` the maximum power of a server with these
    inputs. Raises InputError for an unknown name and a value out of range.
    """
    inputs = checked("area", sizes or {}), checked("power", changes or {})
    found = _call(_native.power_model, *inputs)
    parts = ("accelerators_max_w", "orchestration_max_w", "baseline_max_w")
    total = math.fsum(found[part] for part in parts)
    return {"schema": POWER_SCHEMA, **found, "total_max_w": total}


def energy(
    results: Mapping[str, Any],
    orchestrator: str,
    *,
    changes: Mapping[str, float] | None = None,
    sizes: Mapping[str, float] | None = None,
    chip: str | None = None,
) -> dict[str, Any]:
    """Return the energy of one system of `results`, an object of schema ``accelflow.compare/1``.

    If the results have several chips, `chip` selects one, by default the first. `changes` and
    `sizes` replace inputs of the models, as in :func:`power`.

    The result has watts by part (``power_w``), completed requests per second, and joules per
    request. ``dynamic_joules_per_request`` is the part of these joules beyond idle and leakage.
    Both are None if no request was completed. Requests per joule are the performance per watt. All
    are averages over the measured window.
    Watts are sums over all servers of the system, each with its own utilisation. They are not
    divided between the services of a server.

    Dispatchers' energy follows from the operations per request in the results; requests from other
    services count at their mean rate over the run. DMA energy follows from the moved bytes: their
    upper bound is used, the A-DMA engines' utilisation times their peak rate. If the results lack
    operations per request or A-DMA utilisation, ``estimated`` is true. Each accelerator call that a
    request makes on the most common path then counts as one dispatch and
    :data:`BYTES_PER_TRANSFER` bytes. A service whose rate is unknown adds no dispatches; joules per
    request and requests per joule are then None.

    Raises InputError for an orchestrator that the results do not have or that is not built in, for
    invalid inputs, for results with custom accelerators, and for results of several servers that do
    not list the services of each server in ``servers``. Raises InputError, too, if operations must
    be estimated and a service belongs to no built-in suite.
    """
    comparison = Comparison.from_dict(results)
    if custom := custom_accelerators(results):
        allowed = "must be none, since the model does not know the power of custom accelerators"
        raise refused("custom accelerators of results", ", ".join(custom), allowed)
    system = comparison.system(orchestrator, chip)
    if system is None:
        chips = list(dict.fromkeys(found.chip for found in comparison.systems if found.chip))
        if chip is not None and chip not in chips:
            raise refused("chip", chip, known=chips)
        known = dict.fromkeys(found.orchestrator for found in comparison.systems)
        raise refused("orchestrator", orchestrator, known=known)
    sizes = {**_inputs(_config_of(comparison, system.chip)), **checked("area", sizes or {})}
    changes = checked("power", changes or {})
    servers = _servers(comparison, system)
    calls = _calls_per_s(comparison, system)
    watts: dict[str, float] = {}
    inputs = {row["name"]: row["value"] for row in power(changes, sizes)["inputs"]}
    peak_bytes_per_s = inputs["adma_gbyte_per_s"] * 1e9
    estimated = False
    for services in servers:
        measured = _measured(comparison, system, services[0])
        estimated = estimated or measured is None
        outcome = _call(
            _native.energy_model,
            {
                "area": sizes,
                "power": changes,
                "system": orchestrator,
                **_second(services, measured, sizes, peak_bytes_per_s, calls),
            },
        )
        for place, joules in outcome.items():
            key = place.removesuffix("_j") + "_w"
            watts[key] = watts.get(key, 0.0) + joules
    throughput = system.throughput_rps
    total = watts["total_w"]
    dynamic = total - watts["idle_w"] - watts["leakage_w"]
    return {
        "schema": ENERGY_SCHEMA,
        "orchestrator": orchestrator,
        **({"chip": system.chip} if system.chip is not None else {}),
        "servers": len(servers),
        "power_w": watts,
        "throughput_rps": throughput,
        "joules_per_request": total / throughput if throughput else None,
        "dynamic_joules_per_request": dynamic / throughput if throughput else None,
        "requests_per_joule": None if throughput is None else throughput / total,
        "estimated": estimated,
    }


def server_w(system: str, *, cores: float, elements: float, sizes: Mapping[str, float]) -> float:
    """Return the power of one server under `system` in watts, without dispatchers and transfers.

    `cores` and `elements` are the utilisations of the cores and of all accelerators' processing
    elements, between 0 and 1. `sizes` replaces inputs of :func:`area`. Raises InputError for an
    unknown system and for values out of range.
    """
    inputs = checked("area", sizes)
    activity = {
        "window_s": 1.0,
        "busy_core_s": cores * _size(inputs, "cores"),
        "busy_pe_s": {name: elements * _elements(inputs, name) for name in accelerators()},
        "dispatcher_instructions": 0.0,
        "moved_bytes": 0.0,
    }
    asked = {"area": inputs, "power": {}, "system": system, **activity}
    return float(_call(_native.energy_model, asked)["total_j"])


def custom_accelerators(results: Mapping[str, Any]) -> list[str]:
    """Return the names of the custom accelerators in `results`: those that a workload has defined.

    `results` is an object of schema ``accelflow.compare/1``.
    """
    comparison = Comparison.from_dict(results)
    found = {
        name: None
        for system in comparison.systems
        for service in system.services
        for name in service.accelerator_utilization
    }
    known = accelerators()
    return [name for name in found if name not in known]


def _second(
    services: list[ServiceResult],
    measured: Mapping[str, float] | None,
    sizes: Mapping[str, float],
    peak_bytes_per_s: float,
    calls: Mapping[str, float],
) -> dict[str, Any]:
    """Inputs of the energy model for one second of one server, whose utilisations all share.

    `calls` has the requests per second of other services, by service.
    """
    shared = services[0]
    if measured:
        requests = math.fsum(
            (s.throughput_rps or 0.0) + calls.get(s.service, 0.0) for s in services
        )
        dispatches = requests * measured["operations_per_request"]
        moved = measured["dma_utilization"] * _size(sizes, "adma_engines") * peak_bytes_per_s
    else:
        dispatches = math.fsum(
            (s.throughput_rps or 0.0) * _invocations(s.service) for s in services
        )
        moved = dispatches * BYTES_PER_TRANSFER
    instructions = shared.dispatcher_instructions_mean or INSTRUCTIONS_PER_DISPATCH
    busy = shared.accelerator_utilization
    return {
        "window_s": 1.0,
        "busy_core_s": shared.core_utilization * _size(sizes, "cores"),
        "busy_pe_s": {name: share * _elements(sizes, name) for name, share in busy.items()},
        "dispatcher_instructions": dispatches * instructions,
        "moved_bytes": moved,
    }


def elements(config: Mapping[str, float], custom: int = 0) -> int:
    """Return the total number of accelerators' processing elements on the chip `config`.

    `config` has parameters of the simulated server by key. `custom` is the number of the workload's
    custom accelerators; each has ``pes.own`` times ``instances.own`` elements, where a value below
    0 stands for that of ``accelerator.pes`` or ``accelerator.instances``. An accelerator without
    entries in its input or output queues has no elements. Raises InputError for a key or value that
    is not allowed.
    """
    each = element_counts(config, [*accelerators(), CUSTOM])
    return sum(custom * count if name == CUSTOM else count for name, count in each.items())


def element_counts(config: Mapping[str, float], names: Iterable[str]) -> dict[str, int]:
    """Return the number of processing elements of each accelerator in `names` on a chip, by name.

    `config` has parameters of the simulated server by key. Names that are not among the paper's
    nine are those of custom accelerators. Raises InputError for a key or value that is not allowed.
    """
    checked_config = configured(config)
    # The area model, whose inputs these are otherwise, has no custom accelerators.
    of = _inputs(checked_config) | {
        key: checked_config[key] for key in checked_config if key.endswith(f".{CUSTOM}")
    }
    known = accelerators()
    return {name: round(_elements(of, name if name in known else CUSTOM)) for name in names}


def _elements(sizes: Mapping[str, float], accelerator: str) -> float:
    """The number of processing elements of all instances of one accelerator."""

    def own(size: str) -> float:
        # Below 0: as all accelerators.
        found = sizes.get(f"{size}.{accelerator}", -1.0)
        return _size(sizes, size) if found < 0 else found

    entries = own("input_entries"), own("output_entries")
    return own("pes") * own("instances") * all(entries)


def _size(sizes: Mapping[str, float], name: str) -> float:
    """The input `name` of the area model: that of `sizes`, or its default."""
    return sizes[name] if name in sizes else _size_defaults()[name]


@cache
def _size_defaults() -> dict[str, float]:
    known = engine("area").parameters
    return {parameter.key.removeprefix("area."): parameter.default for parameter in known}


def _servers(comparison: Comparison, system: SystemResult) -> list[list[ServiceResult]]:
    """Return the services of each server."""
    services = list(system.services)
    if comparison.placement != "colocated":
        return [[service] for service in services]
    stated = comparison.source.get("servers")
    if stated is None:
        # Older results lack the servers; only services of one server have the same utilisation.
        if len({service.core_utilization for service in services}) > 1:
            allowed = (
                "must list the services of each server, since their utilisation differs; results"
                " of this version do"
            )
            raise refused("results.servers", LEFT_OUT, allowed)
        return [services]
    lists = isinstance(stated, list) and all(isinstance(server, list) for server in stated)
    names = [str(name) for server in stated for name in server] if lists else []
    if sorted(names) != sorted(service.service for service in services):
        known = ", ".join(service.service for service in services)
        allowed = f"must be lists that together name each of these services once: {known}"
        raise refused("results.servers", stated, allowed)
    return [[system[name] for name in server] for server in stated if server]


def _calls_per_s(comparison: Comparison, system: SystemResult) -> dict[str, float]:
    """Return the requests per second that each service receives from other services."""
    rows = _rows(comparison, system)
    longest = [
        row["responded"] / row["throughput_rps"]
        for row in rows
        if row.get("responded") and row["throughput_rps"]
    ]
    if not longest:
        return {}
    called = {row["service"]: row["called"] for row in rows if row.get("called")}
    return {name: of.get("requests", 0) / max(longest) for name, of in called.items()}


def _measured(
    comparison: Comparison, system: SystemResult, service: ServiceResult
) -> dict[str, float] | None:
    """Operations and transfers of the service's server, if the results have them."""
    keys = ("operations_per_request", "dma_utilization")
    for found in _rows(comparison, system):
        if found["service"] == service.service and all(key in found for key in keys):
            return {key: float(found[key]) for key in keys}
    return None


def _rows(comparison: Comparison, system: SystemResult) -> list[dict[str, Any]]:
    """Return the services of `system` as the results file has them."""
    wanted = (system.orchestrator, system.chip)
    for entry in comparison.source["systems"]:
        if (entry["orchestrator"], entry.get("chip")) == wanted:
            return list(entry["services"])
    return []


def _invocations(service: str) -> float:
    try:
        return float(json.loads(_native.service_walk(service))["accelerators"])
    except AccelflowError as error:
        raise refused(
            "service", service, f"must be a service of a built-in suite: {error}"
        ) from error


def sizes(config: Mapping[str, float]) -> dict[str, float]:
    """Return the inputs of :func:`area`, by name, for a server with the parameters `config`.

    `config` has parameters of the simulated server by key. Parameters of one accelerator may have
    either spelling: ``accelerator.TCP.pes`` is ``pes.TCP``. Parameters that affect neither area nor
    maximum power are left out (:func:`ignored`). Raises InputError for a key or value that is not
    allowed.
    """
    return _inputs(configured(config))


def ignored(config: Mapping[str, float]) -> list[str]:
    """Return the keys of `config` that affect neither area nor maximum power in these models.

    `config` has parameters of the simulated server by key. Raises InputError for a key or value
    that is not allowed.
    """
    return [key for key, value in config.items() if not _inputs(configured({key: value}))]


def _inputs(config: Mapping[str, float]) -> dict[str, float]:
    """The inputs of the area model that a checked configuration sets."""
    names = {key: _INPUTS.get(key, key) for key in config if _is_size(key)}
    return {name: float(config[key]) for key, name in names.items()}


def _is_size(key: str) -> bool:
    # The models have no area of custom accelerators.
    what, _, of = key.partition(".")
    return key in _INPUTS or (what in SIZES and of != CUSTOM)


def _config_of(comparison: Comparison, chip: str | None) -> Mapping[str, float]:
    """The parameters of a chip of `comparison`, by key."""
    common = comparison.source.get("config", {})
    chips = {entry["name"]: entry["config"] for entry in comparison.source.get("chips") or ()}
    return {**common, **chips.get(chip, {})}


def _call(function: Any, *arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        outcome: dict[str, Any] = json.loads(function(*(json.dumps(a) for a in arguments)))
    except AccelflowError as error:
        raise InputError.of(error) from error
    return outcome
