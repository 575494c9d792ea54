"""Figures 2 and 6 to 9 of the paper: our values and those printed in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from accelflow.cerebros.replications import estimate, mean_bars
from accelflow.cerebros.server import SERVICES, Load, services, simulate
from accelflow.errors import InputError, whole_number
from accelflow.findings import TOLERANCE, Estimate, Finding, reasons, targets

#: The name and version of the object that :func:`figures` returns.
SCHEMA: Final = "accelflow.cerebros-figures/1"

#: Seeds that each number is the mean over.
REPLICATIONS: Final = 5

#: Load for Figs. 7 to 9, as a share of the cores' capacity: the paper does not print one, and notes
#: that cores see far less than they could serve.
LOAD_RATIO: Final = 0.3

#: Requests of F0, and of F1, on cores of their own: they differ only until the caches are warm.
_DEDICATED_REQUESTS: Final = 300

#: The part of the misses a thousand instructions that "virtually eliminated" leaves at most.
_FREED: Final = 0.1

#: The instruction cache of Table 1.
_CACHE_KB: Final = 64.0

_Runs = Mapping[str, Mapping[str, Any]]


#: The role of the paper's figure for the model, by the use of the target.
_ROLES: Final = {"input": "input", "fit": "fitted", "check": "result", None: "result"}


@dataclass(frozen=True)
class Row:
    """Our figure and the paper's figure with the key `key`."""

    key: str
    figure: str
    what: str
    ours: float

    def finding(self, half_width: float | None) -> Finding:
        """The row as a finding, with half our figure's interval."""
        return Finding.of(
            targets()[self.key],
            Estimate(self.ours, half_width),
            why=reasons().get(self.key),
            experiment=f"Fig. {self.figure}",
            label=self.what,
        )

    def to_dict(self, half_width: float | None) -> dict[str, Any]:
        """The row as an object for JSON.

        ``role`` is ``input`` if the paper's figure is an input of the services, ``fitted`` if it or
        a related figure was used to choose parameters, and otherwise ``result``.
        """
        target = targets()[self.key]
        off = abs(self.finding(half_width).difference or 0.0)
        reason = reasons().get(self.key)
        return {
            "key": self.key,
            "figure": self.figure,
            "what": self.what,
            "low": float(target.figure.low),
            "high": float(target.figure.high),
            "ours": self.ours,
            "role": _ROLES[target.use],
            "half_width": half_width,
            "difference_ratio": off,
            "reason": reason.text if reason and off > TOLERANCE else None,
        }


def figures(
    *, requests: int = 6_000, seed: int = 1, replications: int = REPLICATIONS
) -> dict[str, Any]:
    """Run the simulations of the figures, and return their rows with differences and reasons.

    Each number is the mean over the seeds from `seed` on, with half its 95 % interval as
    `half_width` (None for one seed). `bars` are the figures themselves, which the paper's text does
    not have: for each figure, group of bars and bar, the parts that it is stacked of. Raises
    InputError for a value that is not allowed, and for so few requests that a function is not
    called.
    """
    whole_number("replications", replications, 1, 1_000)
    runs = [_run(requests, seed + number) for number in range(replications)]
    rows = []
    for same in zip(*(rows for rows, _ in runs), strict=True):
        ours, half_width = estimate([row.ours for row in same])
        rows.append(replace(same[0], ours=ours).to_dict(half_width))
    return {
        "schema": SCHEMA,
        "requests": requests,
        "seed": seed,
        "replications": replications,
        "rows": rows,
        "bars": mean_bars([bars for _, bars in runs]),
    }


def _run(requests: int, seed: int) -> tuple[list[Row], list[dict[str, Any]]]:
    load = Load(load_ratio=LOAD_RATIO, requests=requests, seed=seed)
    runs = {name: _by_design(simulate(name, load, designs=("None", "Full"))) for name in SERVICES}
    affinity = simulate("USR", load, designs=("Full",), affinity=True)["runs"][0]
    alone = _by_design(simulate("UID", Load(requests=10)))
    for run in (runs["USR"]["Full"], affinity):
        _check_every_function(run, requests)
    rows = [
        *_figure2(runs),
        *_speed(runs, alone),
        *_figure6(alone),
        *_figure7(runs),
        *_figure8(runs),
        *_figure9(runs["USR"]["Full"], affinity, _on_dedicated_cores(affinity, load)),
    ]
    return rows, _bars(runs, alone, affinity)


def _on_dedicated_cores(affinity: Mapping[str, Any], load: Load) -> list[float]:
    """Cycles of F0 and F1 on cores that run no other function (section 6.3)."""
    alone = replace(load, requests=_DEDICATED_REQUESTS)
    cycles = []
    for function in affinity["functions"][:2]:
        run = simulate("USR", alone, designs=("Full",), functions=[function["function"]])["runs"][0]
        cycles.append(float(run["all"]["function_cycles"]))
    return cycles


def _check_every_function(run: Mapping[str, Any], requests: int) -> None:
    for function in run["functions"]:
        if not function["results"]["requests"]:
            raise InputError(
                f"requests = {requests}: must be more, since USR's {function['function']} was never"
                " called"
            )


def _bars(
    runs: Mapping[str, _Runs], alone: _Runs, affinity: Mapping[str, Any]
) -> list[dict[str, Any]]:
    bars: list[dict[str, Any]] = []
    modules: dict[str, float] = dict.fromkeys(_MODULES, 0.0)

    def bar(figure: str, group: str, name: str, parts: Mapping[str, float]) -> None:
        bars.append({"figure": figure, "group": group, "bar": name, "parts": dict(parts)})

    for service in services():
        name, software = service["service"], _software(service)
        none, full = (runs[name][design]["all"] for design in ("None", "Full"))
        total, nested = none["total_cycles"], software["nested"]
        own = none["rpc_cycles"] - nested
        shares = {"own call": own, "nested calls": nested, "function": none["function_cycles"]}
        bar("2a", name, "", {part: cycles / total for part, cycles in shares.items()})
        layer = sum(software[part] for part in _MODULES)
        bar("2b", name, "", {part: software[part] / layer for part in _MODULES})
        modules = {part: cycles + software[part] for part, cycles in modules.items()}
        for label, counts in (("CPU", none), ("Cerebros", full)):
            cycles = {"RPC layer": counts["rpc_cycles"], "function": counts["function_cycles"]}
            bar("7", name, label, cycles)
            bar("8b", name, label, {"misses": counts["mpki"]})
        bar("8a", name, "CPU", {"working set": service["working_set_kb"]})
        bar("8a", name, "Cerebros", {"working set": service["working_set_without_rpc_kb"]})
    layer = sum(modules.values())
    bar("2b", "all five", "", {part: cycles / layer for part, cycles in modules.items()})
    for design, run in alone.items():
        parts = ("software", "offload", "accelerator")
        bar("6", design, "", {part: run["all"][f"{part}_cycles"] for part in parts})
    for label, run in (("C", runs["USR"]["Full"]), ("CA", affinity)):
        for number, function in enumerate(run["functions"]):
            before = runs["USR"]["Full"]["functions"][number]["results"]["function_cycles"]
            results = function["results"]
            stalled = {"execution": "execute_cycles", "instruction misses": "stall_cycles"}
            parts_of = {part: results[key] / before for part, key in stalled.items()}
            bar("9", f"F{number}", label, parts_of)
    return bars


#: The modules of the layer, as Fig. 2b has them.
_MODULES: Final = ("header", "payload", "dispatch")


def _by_design(result: Mapping[str, Any]) -> dict[str, Any]:
    return {run["design"]: run for run in result["runs"]}


def _ratio(before: _Runs, key: str) -> float:
    none, full = before["None"]["all"][key], before["Full"]["all"][key]
    return float(none) / float(full)


def _saved(before: _Runs, key: str) -> float:
    none, full = before["None"]["all"][key], before["Full"]["all"][key]
    return 1 - float(full) / float(none)


def _figure2(runs: Mapping[str, _Runs]) -> list[Row]:
    rows = []
    for name in SERVICES:
        total = runs[name]["None"]["all"]
        share = total["rpc_cycles"] / total["total_cycles"]
        key = f"cerebros.rpc_layer_share.{name}"
        rows.append(Row(key, "2a", f"{name}: RPC layer's share of cycles", share))
    parts = {service["service"]: _software(service) for service in services()}
    share = parts["CP"]["nested"] / runs["CP"]["None"]["all"]["total_cycles"]
    key = "cerebros.rpc_layer_share.nested_calls_of_CP"
    rows.append(Row(key, "2a", "CP: nested calls' share of cycles", share))
    layer = sum(part[module] for part in parts.values() for module in _MODULES)
    payload = sum(part["payload"] for part in parts.values())
    key = "cerebros.payload_share_of_layer.five_services"
    rows.append(Row(key, "2b", "all five: payloads' share of the layer", payload / layer))
    return rows


def _speed(runs: Mapping[str, _Runs], alone: _Runs) -> list[Row]:
    """How busy accelerators are (sections 5 and 6.1), and what split schemata store (4.3)."""
    headroom = [run["Full"]["accelerator_headroom_ratio"] for run in runs.values()]
    private = alone["P+H_PV"]["all"]
    used = private["rpc_on_core_cycles"] + private["function_cycles"]
    schemata = [
        function["schemata_of_16_messages_bytes"]
        for service in services()
        for function in service["functions"]
    ]
    split, whole = (sum(stored[kind] for stored in schemata) for kind in ("split", "whole"))
    return [
        *_rows(
            "accelerator_speed",
            "5",
            ("over_largest_load_least", "least: pipelines over largest load", min(headroom)),
            ("over_largest_load_most", "most: pipelines over largest load", max(headroom)),
        ),
        *_rows(
            "private_accelerators",
            "6",
            (
                "utilization_UID",
                "UID: private accelerator's use of its time",
                private["accelerator_cycles"] / used,
            ),
        ),
        *_rows("split_schema", "5", ("storage", "split over whole schemata, bytes", split / whole)),
    ]


def _software(service: Mapping[str, Any]) -> dict[str, float]:
    def mean(part: str) -> float:
        each = (f["popularity_ratio"] * f["software_cycles"][part] for f in service["functions"])
        return float(sum(each))

    return {part: mean(part) for part in ("header", "dispatch", "payload", "nested")}


def _figure6(alone: _Runs) -> list[Row]:
    cycles = {name: run["all"]["rpc_cycles"] for name, run in alone.items()}
    none, both, full = cycles["None"], cycles["P+H"], cycles["Full"]
    offload = alone["P+H"]["all"]["offload_cycles"]
    accelerator = alone["P+H"]["all"]["accelerator_cycles"]
    return _rows(
        "rpc_layer_speedup",
        "6",
        ("payload_only", "UID: OP: P-Only over None", none / cycles["OP: P-Only"]),
        ("payload_and_header", "UID: P+H over None", none / both),
        ("full_over_cpu", "UID: Full over None", none / full),
        ("full_over_payload_and_header", "UID: Full over P+H", both / full),
        ("offload_overhead_cycles_per_request", "UID: offload cycles of P+H", offload),
        ("accelerator_cycles_per_request", "UID: accelerator cycles of P+H", accelerator),
    )


def _rows(section: str, figure: str, *rows: tuple[str, str, float]) -> list[Row]:
    """Make the rows of a section of targets: name, role and our figure."""
    return [Row(f"cerebros.{section}.{name}", figure, what, ours) for name, what, ours in rows]


def _figure7(runs: Mapping[str, _Runs]) -> list[Row]:
    total = {name: _ratio(run, "total_cycles") for name, run in runs.items()}
    layer = {name: _ratio(run, "rpc_cycles") for name, run in runs.items()}
    function = {name: 1 - 1 / _ratio(run, "function_cycles") for name, run in runs.items()}
    return [
        *_rows(
            "cycles_reduction",
            "7",
            ("per_request_min", "UID: all cycles, times fewer", total["UID"]),
            ("per_request_max", "most: all cycles, times fewer", max(total.values())),
            ("rpc_layer_min", "least: RPC layer, times fewer", min(layer.values())),
            ("rpc_layer_max", "most: RPC layer, times fewer", max(layer.values())),
        ),
        *_rows(
            "function_cycles_reduction",
            "7",
            ("most", "most: function cycles, less", max(function.values())),
            ("least", "least: function cycles, less", min(function.values())),
        ),
    ]


def _figure8(runs: Mapping[str, _Runs]) -> list[Row]:
    sizes = {
        s["service"]: (s["working_set_kb"], s["working_set_without_rpc_kb"]) for s in services()
    }
    less = {name: 1 - without / with_rpc for name, (with_rpc, without) in sizes.items()}
    stalls = {name: _saved(run, "stall_cycles") for name, run in runs.items()}
    mpki = {name: _saved(run, "mpki") for name, run in runs.items()}
    freed = sum(1 - saved <= _FREED for saved in mpki.values())
    largest = max(with_rpc for with_rpc, _ in sizes.values())
    return [
        *_rows(
            "working_set_reduction",
            "8a",
            ("UID", "UID: working set, less", less["UID"]),
            ("USR", "USR: working set, less", less["USR"]),
            ("SG", "SG: working set, less", less["SG"]),
            ("CP", "CP: working set, less", less["CP"]),
            ("most", "most: working set, less", max(less.values())),
        ),
        *_rows(
            "working_set",
            "8a",
            ("most_over_cache", "most: working set over the cache", largest / _CACHE_KB),
            ("UID_function_kb", "UID: the function, KB", sizes["UID"][1]),
            ("USR_functions_kb", "USR: the functions, KB", sizes["USR"][1]),
        ),
        *_rows(
            "instruction_misses",
            "8b",
            ("stall_reduction_least", "least: stall cycles, less", min(stalls.values())),
            ("stall_reduction_most", "most: stall cycles, less", max(stalls.values())),
            ("mpki_reduction_most", "most: MPKI, less", max(mpki.values())),
            ("services_freed", "services with nine tenths of MPKI less", float(freed)),
        ),
    ]


def _figure9(
    plain: Mapping[str, Any], affinity: Mapping[str, Any], dedicated: Sequence[float]
) -> list[Row]:
    before = [f["results"] for f in plain["functions"]]
    after = [f["results"] for f in affinity["functions"]]

    def faster(n: int) -> float:
        return float(before[n]["function_cycles"] / after[n]["function_cycles"])

    stalls = _stalled(before)
    # A function that does not stall at all any more, in a short run, has no ratio.
    less = [b / a for b, a in zip(stalls, _stalled(after), strict=True) if a]
    popular = [faster(n) for n in (3, 4, 5)]
    dropped = 1 - affinity["all"]["function_cycles"] / plain["all"]["function_cycles"]
    median = 1 - affinity["all"]["core_median_cycles"] / plain["all"]["core_median_cycles"]
    slow = max(abs(after[n]["function_cycles"] / dedicated[n] - 1) for n in (0, 1))
    size = before[0]["execute_cycles"] / _mean(before[3:], "execute_cycles")
    steered, free = affinity["all"]["steered_ratio"], _mean(after[3:], "miss_free_ratio")
    return [
        *_rows(
            "functions_of_USR",
            "9",
            ("stalled_share_least", "USR: least stalled function", min(stalls)),
            ("stalled_share_most", "USR: most stalled function", max(stalls)),
            ("execution_f0_f1_over_f3_f5", "USR: F0 and F1 over F3 to F5, execution", size),
        ),
        *_rows(
            "affinity_steering",
            "9",
            (
                "requests_steered_to_affine_core",
                "USR: requests steered to an affine core",
                steered,
            ),
            ("miss_reduction_f3_f5", "USR: F3 to F5 without a miss", free),
        ),
        *_rows(
            "functions_of_USR",
            "9",
            (
                "stall_reduction_least",
                "USR: least: stalled share of time, times less",
                min(less),
            ),
            ("stall_reduction_most", "USR: most: stalled share of time, times less", max(less)),
            ("f3_f5_speedup_least", "USR: F3 to F5 faster, least", min(popular)),
            ("f3_f5_speedup_most", "USR: F3 to F5 faster, most", max(popular)),
            (
                "f0_f1_on_dedicated_cores_at_most",
                "USR: F0 and F1 off their times on dedicated cores",
                slow,
            ),
        ),
        *_rows(
            "affinity_steering",
            "9",
            ("mean_cpu_time_drop", "USR: mean time, less", dropped),
            ("median_cpu_time_drop", "USR: median time, less", median),
        ),
    ]


def _stalled(results: Sequence[Mapping[str, Any]]) -> list[float]:
    """Each function's share of cycles in stalls on instructions."""
    return [r["stall_cycles"] / r["function_cycles"] for r in results]


def _mean(results: Sequence[Mapping[str, Any]], key: str) -> float:
    """The mean of `key` over the requests of some functions."""
    count = sum(r["requests"] for r in results)
    return float(sum(r[key] * r["requests"] for r in results) / count)
