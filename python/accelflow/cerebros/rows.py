"""Our values of the numbers that the Cerebros paper's text prints, for one seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from accelflow.cerebros.measured import MODELS, Run, Runs
from accelflow.cerebros.server import SERVICES

__all__ = ["MODULES", "Value", "software", "values"]

#: The part of the misses per 1,000 instructions that "virtually eliminated" leaves at most.
_FREED: Final = 0.1
#: The instruction cache of Table 1.
_CACHE_KB: Final = 64.0
#: The modules of the RPC layer, as in Fig. 2b of the Cerebros paper.
MODULES: Final = ("header", "payload", "dispatch")

_Services = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Value:
    """Our value of one number that the Cerebros paper prints.

    `key` identifies the number in ``paper-targets.toml``, and `label` describes it. `figure` is the
    figure of the paper to which the number belongs, such as ``2b``, or ``services`` for numbers of
    the services themselves. `value` is our value. `also` has our values by other definitions of the
    number, as pairs (definition, value).
    """

    key: str
    figure: str
    label: str
    value: float
    also: tuple[tuple[str, float], ...] = ()


def values(runs: Runs, services: _Services) -> list[Value]:
    """Return our values of the numbers that the Cerebros paper's text states.

    They are in the order of the paper's figures, Fig. 2 first. `runs` are the simulations, and
    `services` describes the five services.
    """
    makers: tuple[Callable[[Runs, _Services], Iterator[Value]], ...] = (
        _inputs,
        _figure2,
        _speed,
        _models,
        _figure6,
        _figure7,
        _figure8a,
        _figure8b,
        _figure9,
    )
    return [value for make in makers for value in make(runs, services)]


def software(service: Mapping[str, Any]) -> dict[str, float]:
    """Return a service's mean cycles per request in each module of the RPC layer in software.

    The modules are :data:`MODULES`; ``nested`` has the cycles of calls that the service makes
    itself. The mean is over the service's functions, weighted by how often each is called.
    """
    functions = service["functions"]
    return {
        part: math.fsum(f["popularity_ratio"] * f["software_cycles"][part] for f in functions)
        for part in (*MODULES, "nested")
    }


@dataclass(frozen=True)
class _Section:
    """A section of the paper's figures: a call makes one of its values."""

    section: str
    figure: str

    def __call__(self, name: str, label: str, value: float, *also: tuple[str, float]) -> Value:
        return Value(f"cerebros.{self.section}.{name}", self.figure, label, value, also)


def _inputs(_runs: Runs, services: _Services) -> Iterator[Value]:
    """What the paper prints of the services themselves (sections 2.1, 5, 6.2 and 6.3)."""
    of = {service["service"]: service["functions"] for service in services}
    value = _Section("services", "services")
    for name, functions in of.items():
        yield value(f"functions.{name}", f"{name}: functions", len(functions))
    for name in ("UID", "SG", "CP"):
        most = max(function["nested_calls"] for function in of[name])
        yield value(f"nested_calls_most.{name}", f"{name}: most nested calls", most)
    (uid,) = of["UID"]
    tasks = uid["messages"]
    yield value("tasks.UID", "UID: header tasks, and payload tasks, of a request", tasks)
    payload, message = (uid[f"largest_{what}_wire_bytes"] for what in ("payload", "message"))
    label = "UID: its largest payload, in bytes"
    yield value("message_size.UID", label, payload, ("with the header", message))
    usr = of["USR"]
    popular = math.fsum(function["popularity_ratio"] for function in usr[3:])
    yield value("popularity_f3_f5", "USR: F3 to F5, of its requests", popular)
    large = min(function["code_kb"] for function in usr[:2])
    yield value("code_f0_f1", "USR: F0 and F1, code of the smaller", large)
    for kind, choose in (("least", min), ("most", max)):
        code = choose(function["code_kb"] for function in usr[3:])
        yield value(f"code_f3_f5_{kind}", f"USR: F3 to F5, {kind} code", code)
    incoming = [function for functions in of.values() for function in functions]
    fit = sum(function["incoming_messages_that_fit"] for function in incoming)
    count = sum(function["incoming_messages"] for function in incoming)
    reservation = _Section("reservation", "services")
    yield reservation("messages_that_fit", "all five: messages that fit", fit / count)


def _figure2(runs: Runs, services: _Services) -> Iterator[Value]:
    share = _Section("rpc_layer_share", "2a")
    for name in SERVICES:
        total = runs.loaded[name]["None"]["all"]
        ratio = total["rpc_cycles"] / total["total_cycles"]
        yield share(name, f"{name}: RPC layer's share of cycles", ratio)
    parts = {service["service"]: software(service) for service in services}
    total = runs.loaded["CP"]["None"]["all"]["total_cycles"]
    nested = parts["CP"]["nested"] / total
    yield share("nested_calls_of_CP", "CP: nested calls' share of cycles", nested)
    layer = {module: math.fsum(part[module] for part in parts.values()) for module in MODULES}
    whole = math.fsum(layer.values())
    label = "all five: payloads' share of the layer"
    each = [part["payload"] / math.fsum(part[m] for m in MODULES) for part in parts.values()]
    also = (
        ("the mean of the five shares", math.fsum(each) / len(each)),
        ("UID alone, an input", parts["UID"]["payload"] / _layer(parts["UID"])),
    )
    key = "cerebros.payload_share_of_layer.five_services"
    yield Value(key, "2b", label, layer["payload"] / whole, also)
    module = _Section("module_shares", "2b")
    both = (layer["header"] + layer["payload"]) / whole
    yield module("header_and_payload", "all five: headers and payloads, of the layer", both)
    yield module("dispatch", "all five: dispatch, of the layer", layer["dispatch"] / whole)


def _layer(parts: Mapping[str, float]) -> float:
    return math.fsum(parts[module] for module in MODULES)


def _speed(runs: Runs, services: _Services) -> Iterator[Value]:
    """How busy accelerators are (sections 5 and 6.1), and what split schemata store (4.3)."""
    headroom = {
        design: [run[design]["accelerator_headroom_ratio"] for run in runs.loaded.values()]
        for design in ("P+H", "Full")
    }
    speed = _Section("accelerator_speed", "5")
    for name, choose in (("least", min), ("most", max)):
        label = f"{name}: pipelines over largest load"
        other = ("cores that offload (P+H)", choose(headroom["P+H"]))
        yield speed(f"over_largest_load_{name}", label, choose(headroom["Full"]), other)
    private = runs.alone["P+H_PV"]["all"]
    used = private["rpc_on_core_cycles"] + private["function_cycles"]
    yield _Section("private_accelerators", "6")(
        "utilization_UID",
        "UID: private accelerator's use of its time",
        private["accelerator_cycles"] / used,
    )
    ratios = [_stored(service) for service in services]
    yield _Section("split_schema", "5")(
        "storage",
        "split over whole schemata, bytes",
        math.fsum(ratios) / len(ratios),
        ("least of the five", min(ratios)),
        ("most of the five", max(ratios)),
    )


def _stored(service: Mapping[str, Any]) -> float:
    """Bytes of split over whole schemata, for 16 messages of each function of a service."""
    schemata = [f["schemata_of_16_messages_bytes"] for f in service["functions"]]
    split, whole = (sum(stored[kind] for stored in schemata) for kind in ("split", "whole"))
    return float(split / whole)


def _models(runs: Runs, _services: _Services) -> Iterator[Value]:
    """Cerebros with synchronous and asynchronous cores (section 5)."""
    value = _Section("processing_model", "5")
    for model in MODELS:
        gains = [
            run[model]["Full"]["throughput_rps"] / run[model]["None"]["throughput_rps"]
            for run in runs.models.values()
        ]
        label = f"least: requests a second with {model} cores"
        most = ("most of the five", max(gains))
        yield value(f"{model}_gain_least", label, min(gains), most)


def _figure6(runs: Runs, _services: _Services) -> Iterator[Value]:
    cycles = {name: run["all"]["rpc_cycles"] for name, run in runs.alone.items()}
    none, both, full = cycles["None"], cycles["P+H"], cycles["Full"]
    both_run = runs.alone["P+H"]["all"]
    value = _Section("rpc_layer_speedup", "6")
    yield value("payload_only", "UID: OP: P-Only over None", none / cycles["OP: P-Only"])
    yield value("payload_and_header", "UID: P+H over None", none / both)
    yield value("full_over_cpu", "UID: Full over None", none / full)
    yield value("full_over_payload_and_header", "UID: Full over P+H", both / full)
    name = "offload_overhead_cycles_per_request"
    yield value(name, "UID: offload cycles of P+H", both_run["offload_cycles"])
    name = "accelerator_cycles_per_request"
    yield value(name, "UID: accelerator cycles of P+H", both_run["accelerator_cycles"])
    over = {
        design: [_over_full(run, design) for run in runs.loaded.values()]
        for design in ("OP: P-Only", "P+H")
    }
    payload = over["OP: P-Only"]
    yield _Section("offloads", "6")(
        "full_over_payload_only",
        "mean of the five: Full over OP: P-Only",
        math.fsum(payload) / len(payload),
        ("least of the five", min(payload)),
        ("most of the five", max(payload)),
        ("most of the five, over P+H", max(over["P+H"])),
    )


def _over_full(run: Mapping[str, Run], design: str) -> float:
    return float(run[design]["all"]["rpc_cycles"] / run["Full"]["all"]["rpc_cycles"])


def _figure7(runs: Runs, _services: _Services) -> Iterator[Value]:
    total = {name: _ratio(run, "total_cycles") for name, run in runs.loaded.items()}
    layer = [_ratio(run, "rpc_cycles") for run in runs.loaded.values()]
    function = [1 - 1 / _ratio(run, "function_cycles") for run in runs.loaded.values()]
    value = _Section("cycles_reduction", "7")
    yield value("per_request_min", "UID: all cycles, times fewer", total["UID"])
    yield value("per_request_max", "most: all cycles, times fewer", max(total.values()))
    yield value("rpc_layer_min", "least: RPC layer, times fewer", min(layer))
    yield value("rpc_layer_max", "most: RPC layer, times fewer", max(layer))
    value = _Section("function_cycles_reduction", "7")
    yield value("most", "most: function cycles, less", max(function))
    yield value("least", "least: function cycles, less", min(function))


def _ratio(before: Mapping[str, Run], key: str) -> float:
    return float(before["None"]["all"][key]) / float(before["Full"]["all"][key])


def _figure8a(_runs: Runs, services: _Services) -> Iterator[Value]:
    sizes = {s["service"]: (s["working_set_kb"], s["working_set_without_rpc_kb"]) for s in services}
    less = {name: 1 - without / with_rpc for name, (with_rpc, without) in sizes.items()}
    value = _Section("working_set_reduction", "8a")
    for name in ("UID", "USR", "SG", "CP"):
        yield value(name, f"{name}: working set, less", less[name])
    yield value("most", "most: working set, less", max(less.values()))
    largest = max(with_rpc for with_rpc, _ in sizes.values())
    value = _Section("working_set", "8a")
    label = "most: working set over the cache"
    yield value("most_over_cache", label, largest / _CACHE_KB)
    yield value("UID_function_kb", "UID: the function, KB", sizes["UID"][1])
    yield value("USR_functions_kb", "USR: the functions, KB", sizes["USR"][1])


def _figure8b(runs: Runs, _services: _Services) -> Iterator[Value]:
    """Misses and stalls of whole microservices, their RPC layer included."""
    stalls = [_saved(run, _stall_cycles) for run in runs.loaded.values()]
    functions = [_saved(run, lambda all_: all_["stall_cycles"]) for run in runs.loaded.values()]
    mpki = [_saved(run, lambda all_: all_["mpki"]) for run in runs.loaded.values()]
    value = _Section("instruction_misses", "8b")
    for name, choose in (("least", min), ("most", max)):
        also = (
            ("of functions alone", choose(functions)),
            ("per 1,000 instructions", choose(mpki)),
        )
        label = f"{name}: stall cycles of the microservice, less"
        yield value(f"stall_reduction_{name}", label, choose(stalls), *also)
    yield value("mpki_reduction_most", "most: MPKI, less", max(mpki))
    freed = sum(1 - saved <= _FREED for saved in mpki)
    label = "services with nine tenths of MPKI less"
    yield value("services_freed", label, float(freed))
    before, after = (runs.loaded["USR"][design]["all"] for design in ("None", "Full"))
    label = "USR: misses of a request, with Cerebros over without"
    misses = (after["misses"]) / (before["misses"] + before["layer_misses"])
    instructions = after["instructions"] / before["instructions"]
    also = (
        ("instructions", instructions),
        ("MPKI", after["mpki"] / before["mpki"]),
    )
    yield value("misses_of_USR", label, misses, *also)


def _stall_cycles(all_: Mapping[str, Any]) -> float:
    return float(all_["stall_cycles"] + all_["layer_stall_cycles"])


def _saved(before: Mapping[str, Run], of: Callable[[Mapping[str, Any]], float]) -> float:
    return 1 - of(before["Full"]["all"]) / of(before["None"]["all"])


def _figure9(runs: Runs, _services: _Services) -> Iterator[Value]:
    plain, affinity = runs.plain["all"], runs.affinity["all"]
    before = [f["results"] for f in runs.plain["functions"]]
    after = [f["results"] for f in runs.affinity["functions"]]
    faster = [
        b["function_cycles"] / a["function_cycles"] for b, a in zip(before, after, strict=True)
    ]
    stalls = _stalled(before)
    # A function that does not stall at all any more, in a short run, has no ratio.
    less = [b / a for b, a in zip(stalls, _stalled(after), strict=True) if a]
    value = _Section("functions_of_USR", "9")
    yield value("stalled_share_least", "USR: least stalled function", min(stalls))
    yield value("stalled_share_most", "USR: most stalled function", max(stalls))
    size = before[0]["execute_cycles"] / _mean(before[3:], "execute_cycles")
    label = "USR: F0 and F1 over F3 to F5, execution"
    yield value("execution_f0_f1_over_f3_f5", label, size)
    label = "USR: least: stalled share of time, times less"
    yield value("stall_reduction_least", label, min(less))
    label = "USR: most: stalled share of time, times less"
    yield value("stall_reduction_most", label, max(less), ("most of F3 to F5", max(less[3:])))
    yield value("f3_f5_speedup_least", "USR: F3 to F5 faster, least", min(faster[3:]))
    yield value("f3_f5_speedup_most", "USR: F3 to F5 faster, most", max(faster[3:]))
    slow = max(
        abs(after[n]["function_cycles"] / cycles - 1) for n, cycles in enumerate(runs.dedicated)
    )
    label = "USR: F0 and F1 off their times on dedicated cores"
    yield value("f0_f1_on_dedicated_cores_at_most", label, slow)
    value = _Section("affinity_steering", "9")
    label = "USR: requests steered to an affine core"
    yield value("requests_steered_to_affine_core", label, affinity["steered_ratio"])
    free = _mean(after[3:], "miss_free_ratio")
    yield value("miss_reduction_f3_f5", "USR: F3 to F5 without a miss", free)
    yield value("business_logic_speedup_least", "USR: functions faster, least", min(faster))
    yield value("business_logic_speedup_most", "USR: functions faster, most", max(faster))
    dropped = 1 - affinity["function_cycles"] / plain["function_cycles"]
    yield value("mean_cpu_time_drop", "USR: mean time, less", dropped)
    median = 1 - affinity["core_median_cycles"] / plain["core_median_cycles"]
    yield value("median_cpu_time_drop", "USR: median time, less", median)


def _stalled(results: Sequence[Mapping[str, Any]]) -> list[float]:
    """Each function's share of cycles in stalls on instructions."""
    return [r["stall_cycles"] / r["function_cycles"] for r in results]


def _mean(results: Sequence[Mapping[str, Any]], key: str) -> float:
    """The mean of `key` over the requests of some functions."""
    count = sum(r["requests"] for r in results)
    return float(sum(r[key] * r["requests"] for r in results) / count)
