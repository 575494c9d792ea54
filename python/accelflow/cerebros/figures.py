"""Figures 2 and 6 to 9 of the paper, ours beside what its text prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from accelflow.cerebros.replications import estimate, mean_bars
from accelflow.cerebros.server import SERVICES, Load, services, simulate
from accelflow.errors import InputError, whole_number

#: The name and version of the object that :func:`figures` returns.
SCHEMA: Final = "accelflow.cerebros-figures/1"

#: Seeds that each number is the mean over.
REPLICATIONS: Final = 5

#: Load for Figs. 7 to 9, as a share of what the cores can serve: the paper does not print one, and
#: notes that cores see far less than they could serve.
LOAD_RATIO: Final = 0.3

#: Above this difference a row has to have a reason.
TOLERANCE: Final = 0.25

_LARGE: Final = (
    "the paper's 60 % is all five together; a header costs the same in all, so the larger the "
    "payloads, the larger their share"
)
_WARM: Final = (
    "four of the six functions, which the paper shows stalled for half of their time, find more of "
    "their code in a cache that the layer does not pass through"
)

_F2: Final = (
    "the largest is F2's, whose code fits a cache as that of F3 to F5 does: affinity leaves all "
    "four only the misses of requests for which no warm core was free; the paper has the largest "
    "drops at F3 to F5"
)

#: Why a row is off by more than :data:`TOLERANCE`.
_REASONS: Final = {
    "URL: payloads' share of the layer": _LARGE,
    "SG: payloads' share of the layer": _LARGE,
    "CP: payloads' share of the layer": _LARGE,
    "least: function cycles, less": _WARM,
    "least: stall cycles, less": _WARM,
    "USR: most: stalled share of time, times less": _F2,
    "USR: median time, less": (
        "F3 to F5 take one of two times each, cold or warm, and the median request turns from one "
        "to the other; the paper's requests vary more than six constants do"
    ),
}

_Runs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One printed number, or range, and ours."""

    figure: str
    what: str
    low: float
    high: float
    ours: float
    #: ``input`` if ours was chosen by it, ``fitted`` if something close to it was, else ``result``.
    role: str

    def difference(self) -> float:
        """How far ours is outside the paper's range, in relation to the bound that it passes."""
        bound = min(max(self.ours, self.low), self.high)
        return abs(self.ours - bound) / bound if bound != self.ours else 0.0


def figures(
    *, requests: int = 6_000, seed: int = 1, replications: int = REPLICATIONS
) -> dict[str, Any]:
    """Run what the figures need and return their rows, with differences and reasons.

    Each number is the mean over the seeds from `seed` on, with half its 95 % interval as
    `half_width` (None for one seed). `bars` are the figures themselves, which the paper's text does
    not have: for each figure, group of bars and bar, the parts that it is stacked of. Raises
    InputError for a value that is not allowed, and for so few requests that a function is not
    called.
    """
    whole_number("replications", replications, 1, 1_000)
    runs = [_run(requests, seed + number) for number in range(replications)]
    told = []
    for same in zip(*(rows for rows, _ in runs), strict=True):
        ours, half_width = estimate([row.ours for row in same])
        row = replace(same[0], ours=ours)
        off = row.difference()
        reason = _REASONS.get(row.what, "") if off > TOLERANCE else None
        more = {"half_width": half_width, "difference_ratio": off, "reason": reason}
        told.append({**asdict(row), **more})
    return {
        "schema": SCHEMA,
        "requests": requests,
        "seed": seed,
        "replications": replications,
        "rows": told,
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
        *_figure6(alone),
        *_figure7(runs),
        *_figure8(runs),
        *_figure9(runs["USR"]["Full"], affinity),
    ]
    return rows, _bars(runs, alone, affinity)


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

    def bar(figure: str, group: str, name: str, parts: Mapping[str, float]) -> None:
        bars.append({"figure": figure, "group": group, "bar": name, "parts": dict(parts)})

    for service in services():
        name, software = service["service"], _software(service)
        none, full = (runs[name][design]["all"] for design in ("None", "Full"))
        total, nested = none["total_cycles"], software["nested"]
        own = none["rpc_cycles"] - nested
        shares = {"own call": own, "nested calls": nested, "function": none["function_cycles"]}
        bar("2a", name, "", {part: cycles / total for part, cycles in shares.items()})
        layer = software["header"] + software["dispatch"] + software["payload"]
        parts = ("header", "payload", "dispatch")
        bar("2b", name, "", {part: software[part] / layer for part in parts})
        for label, one in (("CPU", none), ("Cerebros", full)):
            cycles = {"RPC layer": one["rpc_cycles"], "function": one["function_cycles"]}
            bar("7", name, label, cycles)
            bar("8b", name, label, {"misses": one["misses"]})
        bar("8a", name, "CPU", {"working set": service["working_set_kb"]})
        bar("8a", name, "Cerebros", {"working set": service["working_set_without_rpc_kb"]})
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
    printed = {"UID": (0.4, 0.9), "USR": (0.4, 0.9), "URL": (0.4, 0.9)}
    for name in SERVICES:
        low, high = printed.get(name, (0.85, 0.95))
        total = runs[name]["None"]["all"]
        share = total["rpc_cycles"] / total["total_cycles"]
        rows.append(Row("2a", f"{name}: RPC layer's share of cycles", low, high, share, "fitted"))
    parts = {service["service"]: _software(service) for service in services()}
    share = parts["CP"]["nested"] / runs["CP"]["None"]["all"]["total_cycles"]
    rows.append(Row("2a", "CP: nested calls' share of cycles", 0.65, 0.75, share, "result"))
    for name in SERVICES:
        software = parts[name]
        layer = software["header"] + software["dispatch"] + software["payload"]
        fixed = "input" if name == "UID" else "result"
        payload = software["payload"] / layer
        rows.append(Row("2b", f"{name}: payloads' share of the layer", 0.55, 0.65, payload, fixed))
    return rows


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
    return [
        _exact("6", "UID: OP: P-Only over None", 1.7, none / cycles["OP: P-Only"], "result"),
        _exact("6", "UID: P+H over None", 2.3, none / both, "result"),
        _exact("6", "UID: Full over None", 50, none / full, "input"),
        _exact("6", "UID: Full over P+H", 21.5, both / full, "input"),
        _exact("6", "UID: offload cycles of P+H", 1600, offload, "result"),
        _exact("6", "UID: accelerator cycles of P+H", 90, accelerator, "fitted"),
    ]


def _exact(figure: str, what: str, paper: float, ours: float, role: str) -> Row:
    return Row(figure, what, paper, paper, ours, role)


def _figure7(runs: Mapping[str, _Runs]) -> list[Row]:
    total = {name: _ratio(run, "total_cycles") for name, run in runs.items()}
    layer = {name: _ratio(run, "rpc_cycles") for name, run in runs.items()}
    function = {name: 1 - 1 / _ratio(run, "function_cycles") for name, run in runs.items()}
    rows = [
        _exact("7", "UID: all cycles, times fewer", 1.8, total["UID"], "fitted"),
        _exact("7", "most: all cycles, times fewer", 14.2, max(total.values()), "result"),
        _exact("7", "least: RPC layer, times fewer", 37, min(layer.values()), "fitted"),
        _exact("7", "most: RPC layer, times fewer", 64, max(layer.values()), "fitted"),
        _exact("7", "most: function cycles, less", 0.49, max(function.values()), "result"),
    ]
    rows.append(_exact("7", "least: function cycles, less", 0.02, min(function.values()), "result"))
    return rows


def _figure8(runs: Mapping[str, _Runs]) -> list[Row]:
    rows = []
    sizes = {
        s["service"]: (s["working_set_kb"], s["working_set_without_rpc_kb"]) for s in services()
    }
    less = {name: 1 - without / with_rpc for name, (with_rpc, without) in sizes.items()}
    rows.append(_exact("8a", "UID: working set, less", 0.38, less["UID"], "input"))
    rows.append(_exact("8a", "USR: working set, less", 0.27, less["USR"], "input"))
    rows.append(_exact("8a", "most: working set, less", 0.68, max(less.values()), "input"))
    stalls = {name: _saved(run, "stall_cycles") for name, run in runs.items()}
    misses = {name: _saved(run, "misses") for name, run in runs.items()}
    rows.append(_exact("8b", "least: stall cycles, less", 0.05, min(stalls.values()), "result"))
    rows.append(_exact("8b", "most: stall cycles, less", 0.93, max(stalls.values()), "result"))
    rows.append(_exact("8b", "most: misses, less", 0.93, max(misses.values()), "result"))
    return rows


def _figure9(plain: Mapping[str, Any], affinity: Mapping[str, Any]) -> list[Row]:
    before = [f["results"] for f in plain["functions"]]
    after = [f["results"] for f in affinity["functions"]]

    def faster(n: int) -> float:
        return float(before[n]["function_cycles"] / after[n]["function_cycles"])

    def mean(results: Sequence[Mapping[str, Any]], key: str) -> float:
        count = sum(r["requests"] for r in results)
        return float(sum(r[key] * r["requests"] for r in results) / count)

    def stalled(results: Sequence[Mapping[str, Any]]) -> list[float]:
        return [r["stall_cycles"] / r["function_cycles"] for r in results]

    stalls = stalled(before)
    # A function that does not stall at all any more, in a short run, has no ratio.
    less = [b / a for b, a in zip(stalls, stalled(after), strict=True) if a]
    popular = [faster(n) for n in (3, 4, 5)]
    steered = affinity["all"]["steered_ratio"]
    dropped = 1 - affinity["all"]["function_cycles"] / plain["all"]["function_cycles"]
    median = 1 - affinity["all"]["core_median_cycles"] / plain["all"]["core_median_cycles"]
    slow = max(abs(faster(n) - 1) for n in (0, 1))
    size = before[0]["execute_cycles"] / mean(before[3:], "execute_cycles")
    return [
        Row("9", "USR: least stalled function", 0.15, 0.15, min(stalls), "fitted"),
        Row("9", "USR: most stalled function", 0.44, 0.44, max(stalls), "fitted"),
        _exact("9", "USR: F0 and F1 over F3 to F5, execution", 180, size, "input"),
        _exact("9", "USR: requests steered to an affine core", 0.98, steered, "result"),
        _exact(
            "9", "USR: F3 to F5 without a miss", 0.94, mean(after[3:], "miss_free_ratio"), "result"
        ),
        _exact("9", "USR: least: stalled share of time, times less", 1.05, min(less), "result"),
        _exact("9", "USR: most: stalled share of time, times less", 18, max(less), "result"),
        Row("9", "USR: F3 to F5 faster, least", 1.8, 2.0, min(popular), "result"),
        Row("9", "USR: F3 to F5 faster, most", 1.8, 2.0, max(popular), "result"),
        Row("9", "USR: F0 and F1 change by at most", 0, 0.03, slow, "result"),
        _exact("9", "USR: mean time, less", 0.087, dropped, "result"),
        _exact("9", "USR: median time, less", 0.33, median, "result"),
    ]
