"""The bars of Figs. 2 and 5 to 9, from the runs of one seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow.cerebros.measured import MODELS, Run, Runs
from accelflow.cerebros.rows import MODULES, software

__all__ = ["bars"]

#: A bar of a figure as an object for JSON.
Bar = dict[str, Any]

#: The parts of Fig. 9's bars, and the results that they show.
_STALLED: Final = {"execution": "execute_cycles", "instruction misses": "stall_cycles"}


def bars(runs: Runs, services: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Return the bars that the Cerebros paper's figures draw, with our values.

    A bar is an object with ``figure``, ``group``, ``bar`` (its name) and ``parts``, the heights of
    the stacked parts by name. `runs` are the simulations, and `services` describes the five
    services.
    """
    layers = [software(service) for service in services]
    mean = {module: math.fsum(layer[module] for layer in layers) / 5 for module in MODULES}
    return [
        *(bar for service in services for bar in _of_service(runs, service)),
        _bar("2b", "mean", "", mean),
        *_figure6(runs.alone),
        *_figure9(runs),
    ]


def _bar(figure: str, group: str, name: str, parts: Mapping[str, float]) -> Bar:
    return {"figure": figure, "group": group, "bar": name, "parts": dict(parts)}


def _of_service(runs: Runs, service: Mapping[str, Any]) -> Iterator[Bar]:
    name, layer = service["service"], software(service)
    run = runs.loaded[name]
    none, full = (run[design]["all"] for design in ("None", "Full"))
    own, total = none["rpc_cycles"] - layer["nested"], none["total_cycles"]
    shares = {
        "own call": own,
        "nested calls": layer["nested"],
        "function": none["function_cycles"],
    }
    yield _bar("2a", name, "", {part: cycles / total for part, cycles in shares.items()})
    yield _bar("2b", name, "", {part: layer[part] for part in MODULES})
    sizes = (service["working_set_kb"], service["working_set_without_rpc_kb"])
    for label, counts, kilobytes in zip(("CPU", "Cerebros"), (none, full), sizes, strict=True):
        cycles = {"RPC layer": counts["rpc_cycles"], "function": counts["function_cycles"]}
        yield _bar("7", name, label, cycles)
        yield _bar("8a", name, label, {"working set": kilobytes})
        yield _bar("8b", name, label, {"misses": counts["mpki"]})
    for model in MODELS:
        for label, design in (("CPU", "None"), ("Cerebros", "Full")):
            served = runs.models[name][model][design]["throughput_rps"] / 1e3
            yield _bar("5", name, f"{label}, {model}", {"throughput": served})


def _figure6(alone: Mapping[str, Run]) -> Iterator[Bar]:
    for design, run in alone.items():
        parts = ("software", "offload", "accelerator")
        yield _bar("6", design, "", {part: run["all"][f"{part}_cycles"] for part in parts})


def _figure9(runs: Runs) -> Iterator[Bar]:
    """Each function's time in relation to its time without affinity."""
    for label, run in (("C", runs.plain), ("CA", runs.affinity)):
        for number, function in enumerate(run["functions"]):
            before = runs.plain["functions"][number]["results"]["function_cycles"]
            results = function["results"]
            parts = {part: results[key] / before for part, key in _STALLED.items()}
            yield _bar("9", f"F{number}", label, parts)
