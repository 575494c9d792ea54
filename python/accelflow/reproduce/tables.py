"""Tables and figures of the paper that are computed without a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from accelflow import chip, relief_suite, simulation
from accelflow.trace import Pipeline, templates

__all__ = ["CATEGORIES", "TABLES", "Inputs", "Table", "breakdown", "fig5"]

#: The accelerators in the paper's order (Table I).
ACCELERATORS: Final = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")


@dataclass(frozen=True)
class Table:
    """A table that is computed without a simulation: its text, and numbers to compare and to draw.

    `rows` has the cells under the headings `columns`. `figures` has the numbers to compare with the
    paper's, by the name of the paper's figure. `also` has, by the same names, results of other ways
    to compute these numbers, as pairs (description, number). `series` has the values to draw, by
    group and then by name.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    also: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """The inputs from which a table is computed: a `scenario`, with its workload."""

    scenario: simulation.Scenario


def _table1(_inputs: Inputs) -> Table:
    """Return Table I: the accelerators before and after each one, in all traces and tails."""
    before: dict[str, set[str]] = {name: set() for name in ACCELERATORS}
    after: dict[str, set[str]] = {name: set() for name in ACCELERATORS}
    for template in templates():
        for source, target in _neighbours(template.pipeline):
            if source in after:
                after[source].add(target)
            if target in before:
                before[target].add(source)
    order = (*ACCELERATORS, "CPU")

    def listed(found: set[str]) -> str:
        return ", ".join(sorted(found, key=order.index))

    rows = [(name, listed(before[name]), listed(after[name])) for name in ACCELERATORS]
    return Table(("accelerator", "sources", "destinations"), tuple(rows))


def _neighbours(pipeline: Pipeline) -> set[tuple[str, str]]:
    """Return the pairs of operations that follow one another on some path through a trace.

    An operation that a core starts follows CPU, and CPU follows an operation that ends the trace
    without sending. A tail to a trace that waits for a message ends the sequence; any other tail
    continues it.
    """
    first = {template.name: template.pipeline[0].name for template in templates()}
    pairs: set[tuple[str, str]] = set()

    def walk(steps: Pipeline, sources: frozenset[str]) -> frozenset[str]:
        """Add the pairs of operations along `steps`; return the operations that may be the last.

        `sources` are the operations that may come before the first step.
        """
        for node in steps:
            match node.kind:
                case "accelerator":
                    pairs.update((source, str(node.name)) for source in sources)
                    sources = frozenset({str(node.name)})
                case "branch" | "join":
                    ends = [walk(tuple(arm), sources) for arm in node.arms]
                    sources = frozenset[str]().union(*ends)
                case "fork":
                    for arm in node.arms:
                        end(walk(tuple(arm), sources))
                    return frozenset()
                case "tail":
                    target = first[str(node.name)]
                    if target != "TCP":
                        pairs.update((source, str(target)) for source in sources)
                    return frozenset()
        return sources

    def end(sources: frozenset[str]) -> None:
        pairs.update((name, "CPU") for name in sources if name != "TCP")

    received = pipeline[0].name == "TCP"
    end(walk(pipeline, frozenset() if received else frozenset({"CPU"})))
    return pairs


def _table2(_inputs: Inputs) -> Table:
    """Return Table II: the library of traces, with the purpose of each."""
    rows = [
        (template.name, template.about, str(_operations(template.pipeline)))
        for template in templates()
    ]
    return Table(("trace", "explanation", "accelerators at most"), tuple(rows))


def _operations(pipeline: Pipeline) -> int:
    """Return the most accelerators on one path through a trace, with all arms of its forks."""
    total = 0
    for node in pipeline:
        arms = [_operations(tuple(arm)) for arm in node.arms]
        total += node.kind == "accelerator"
        total += max(arms, default=0) if node.kind == "branch" else sum(arms)
    return total


def _table4(_inputs: Inputs) -> Table:
    """Return Table IV: the services' paths, and the number of accelerators on each."""
    walks = [simulation.service(name) for name in simulation.services()]
    rows = [(walk["service"], walk["path"], str(walk["accelerators"])) for walk in walks]
    figures = {walk["service"]: float(walk["accelerators"]) for walk in walks}
    return Table(("service", "most common execution path", "accelerators"), tuple(rows), figures)


#: The suites of section III with the names of the reported rows.
_SUITES: Final = {
    "socialnetwork": "SocialNet",
    "hotelreservation": "HotelReservation",
    "mediaservices": "MediaServices",
    "trainticket": "TrainTicket",
}


#: TrainTicket's responses by HTTP are never compressed: its servers do not set
#: ``server.compression.enabled`` (FudanSELab/train-ticket, ``application.yml``), which is off
#: by default. So its software has no such test, which is the one conditional of T12.
_NOT_COMPRESSED: Final = ("trainticket", "T12")


def _branches(_inputs: Inputs) -> Table:
    """Return a table of the suites' sequences that branch, and the most branches of one."""
    rows, figures, most, also = [], {}, 0, {}
    for suite, row in _SUITES.items():
        walks = [simulation.service(name) for name in simulation.services(suite)]
        counts = [count for walk in walks for count in walk["conditionals_by_sequence"]]
        tested = counts if suite != _NOT_COMPRESSED[0] else _without_test(walks)
        branching = sum(count > 0 for count in tested)
        figures[row] = branching / len(counts)
        if tested != counts:
            share = sum(count > 0 for count in counts) / len(counts)
            also[row] = [("with the test for compression that T12 has in Fig. 7", share)]
        most = max(most, *counts)
        rows.append((suite, str(len(counts)), str(branching), f"{figures[row]:.1%}"))
    figures["max_conditionals_in_a_sequence"] = float(most)
    columns = ("suite", "sequences", "that branch", "share")
    return Table(columns, tuple(rows), figures, also=also)


def _without_test(walks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the number of conditionals of each sequence, one less in those with T12."""
    found = []
    for walk in walks:
        steps = walk["path"].split("-CPU-")
        counts = walk["conditionals_by_sequence"]
        found += [
            count - (_NOT_COMPRESSED[1] in step.split("-"))
            for step, count in zip(steps, counts, strict=True)
        ]
    return found


#: The categories of Fig. 1, with the names of the reported figures.
CATEGORIES: Final = {
    "TCP": "TCP",
    "(De)Encr": "Encr",
    "RPC": "RPC",
    "(De)Ser": "Ser",
    "(De)Cmp": "Cmp",
    "LdB": "LdB",
    "AppLogic": "AppLogic",
}


def _fig1(inputs: Inputs) -> Table:
    """Return Fig. 1: the services' time without accelerators, by category."""
    tcp_cost_ns = inputs.scenario.tcp_cost_ns or simulation.ASSUMED_TCP_COST_NS
    return breakdown(simulation.service_breakdown(tcp_cost_ns), CATEGORIES)


def breakdown(spent: Mapping[str, Mapping[str, float]], categories: Mapping[str, str]) -> Table:
    """Return a table of where the time of each service goes: the share of each category.

    `spent` has the times in ns, by service and category. `categories` maps the categories to show
    to the names of the paper's figures. The table's figures, under these names, are means of the
    shares over the services.
    """
    series: dict[str, dict[str, float]] = {}
    rows = []
    for service, by_category in spent.items():
        total = math.fsum(by_category.values())
        shares = {name: by_category.get(name, 0.0) / total for name in categories}
        series[f"{service}\n{total / 1e3:,.0f} \N{MICRO SIGN}s"] = shares
        rows.append(
            (service, f"{total / 1e3:,.1f}", *(f"{share:.1%}" for share in shares.values()))
        )
    means = {
        name: math.fsum(shares[name] for shares in series.values()) / len(series)
        for name in categories
    }
    rows.append(("mean", "", *(f"{share:.1%}" for share in means.values())))
    figures = {row: means[name] for name, row in categories.items()}
    return Table(("service", "us", *categories), tuple(rows), figures, series)


#: The number of invocations of each service for which payload sizes are drawn.
_DRAWN: Final = 2_000


def fig5(inputs: Inputs) -> Table:
    """Return the paper's Fig. 5: payload sizes before and after each accelerator.

    Each row has the smallest, median and largest size in bytes. The two numbers to compare with the
    paper (median of medians, and largest) are in KB.
    """
    seen: dict[str, tuple[list[int], list[int]]] = {name: ([], []) for name in ACCELERATORS}
    for name, before, after in simulation.payloads(inputs.scenario, _DRAWN):
        sides = seen.setdefault(name, ([], []))
        sides[0].append(before)
        sides[1].append(after)
    rows, series = [], {}
    medians, longest = [], []
    for name, sides in seen.items():
        if name == "LdB" or not sides[0]:  # LdB does not process data (section III, Q3)
            continue
        for side, sizes in zip(("in", "out"), sides, strict=True):
            sizes.sort()
            found = {"minimum": sizes[0], "median": sizes[len(sizes) // 2], "maximum": sizes[-1]}
            series[f"{name}\n{side}"] = {key: float(value) for key, value in found.items()}
            rows.append((name, side, *(f"{value:,}" for value in found.values())))
            medians.append(found["median"])
            longest.append(found["maximum"])
    columns = ("accelerator", "side", "minimum, B", "median, B", "maximum, B")
    figures = {
        "median_of_medians": sorted(medians)[len(medians) // 2] / 1e3,
        "largest": max(longest) / 1e3,
    }
    return Table(columns, tuple(rows), figures, series)


def _speedups(_inputs: Inputs) -> Table:
    """Return a table of the default speedup of each accelerator over a core."""
    found = {
        parameter.key.removeprefix("speedup."): parameter
        for parameter in simulation.parameters()
        if parameter.key.startswith("speedup.")
    }
    rows = [(name, f"{parameter.default:g}", parameter.source) for name, parameter in found.items()]
    figures = {name: parameter.default for name, parameter in found.items()}
    return Table(("accelerator", "speedup", "source"), tuple(rows), figures)


def _queue_memory(_inputs: Inputs) -> Table:
    """Return a table of the memory of all accelerators' queues, by the server's parameters."""
    value = {parameter.key: parameter.default for parameter in simulation.parameters()}
    entries = value["accelerator.input_entries"] + value["accelerator.output_entries"]
    entry = value["accelerator.inline_bytes"] + value["network.entry_overhead_bytes"]
    total = len(ACCELERATORS) * entries * entry
    rows = [
        (
            str(len(ACCELERATORS)),
            f"{entries:g}",
            f"{entry:,g}",
            f"{total:,.0f}",
        )
    ]
    columns = ("accelerators", "entries of each", "bytes of an entry", "bytes")
    return Table(columns, tuple(rows), {"queue_memory_MB": total / 1e6})


def _dispatcher(_inputs: Inputs) -> Table:
    """Return a table of the instructions of the output dispatcher's program by case (Fig. 8)."""
    value = {
        parameter.key: parameter
        for parameter in simulation.parameters()
        if parameter.key.startswith("dispatcher.")
    }
    count = {
        name: value[f"dispatcher.{name}"].default
        for name in ("plain", "branch", "load_atm", "end", "transform")
    }
    count["worst"] = sum(count[name] for name in ("plain", "branch", "transform", "end"))
    rows = [(name, f"{instructions:g}") for name, instructions in count.items()]
    return Table(("found", "instructions"), tuple(rows), count)


def _area(_inputs: Inputs) -> Table:
    """Return a table of the areas of the processor's parts (section VI)."""
    model = chip.area()
    parts = {part["part"]: part["area_mm2"] for part in model["parts"]}
    rows = [(name, f"{mm2:.2f}", f"{mm2 / model['total_mm2']:.1%}") for name, mm2 in parts.items()]
    both = (model["accelerators_mm2"] + model["orchestration_mm2"]) / model["total_mm2"]
    accelerators = model["accelerators_share_ratio"]
    figures = {
        **{name: parts[name] for name in ("cores", *ACCELERATORS)},
        "llc": parts["LLC"],
        "core_network": parts["core network"],
        "accelerators": model["accelerators_mm2"],
        "queues_and_dispatchers": parts["queues"] + parts["dispatchers"],
        "adma_engines": parts["A-DMA engines"],
        "accelerator_network": parts["accelerator network"],
        "accelerators_and_orchestration_share": both,
        "accelerators_share": accelerators,
        "orchestration_share": model["orchestration_share_ratio"],
    }
    difference = round(both, 3) - round(accelerators, 3)
    also = {"orchestration_share": [("the difference of the two rounded shares", difference)]}
    return Table(("part", "mm2", "share"), tuple(rows), figures, also=also)


def _power(_inputs: Inputs) -> Table:
    """Return a table of the maximum power of accelerators and orchestration (section VII.B.5)."""
    model = chip.power()
    server = model["server_max_w"]
    figures = {
        "accelerators_w": model["accelerators_max_w"],
        "accelerators_share_of_server": model["accelerators_max_w"] / server,
        "orchestration_w": model["orchestration_max_w"],
        "orchestration_share_of_server": model["orchestration_max_w"] / server,
    }
    watts = {
        "accelerators": model["accelerators_max_w"],
        "orchestration": model["orchestration_max_w"],
        "everything else": model["baseline_max_w"],
    }
    rows = [(name, f"{value:.1f}", f"{value / server:.1%}") for name, value in watts.items()]
    return Table(("part", "W", "share"), tuple(rows), figures)


def _fig15(_inputs: Inputs) -> Table:
    """Return Fig. 15: the throughput of RELIEF's suite under AccelFlow over that under RELIEF."""
    suite = relief_suite.relief_suite()
    series: dict[str, dict[str, float]] = {}
    rows = []
    for application in suite["applications"]:
        ratios = {key: application["ratio"][key] for key in relief_suite.DEFINITIONS}
        series[application["application"]] = {
            key: value for key, value in ratios.items() if value is not None
        }
        rows.append((application["application"], *(_times(value) for value in ratios.values())))
    means = {key: suite["means"][key]["arithmetic"] for key in relief_suite.DEFINITIONS}
    series["mean"] = {key: value for key, value in means.items() if value is not None}
    rows.append(("mean", *(_times(value) for value in means.values())))
    figures = {"vs_RELIEF": means["one_at_a_time"]}
    return Table(("application", *relief_suite.DEFINITIONS), tuple(rows), figures, series)


def _timeouts(_inputs: Inputs) -> Table:
    """Return a table of the messages that time out per request, with the captured waits."""
    timeout_us = next(
        parameter.default
        for parameter in simulation.parameters()
        if parameter.key == "tcp.timeout_us"
    )
    remote = "socialnetwork_drawn"
    by_service = simulation.timeouts(remote=remote, timeout_us=timeout_us)
    rows = [(name, f"{1e6 * mean:.3g}") for name, mean in by_service.items()]
    mean = math.fsum(by_service.values()) / len(by_service)
    rows.append(("mean", f"{1e6 * mean:.3g}"))
    figures = {"tcp_timeouts_per_million": 1e6 * mean}
    heading = f"time-outs per million requests at {timeout_us / 1e6:g} s"
    return Table(("service", heading), tuple(rows), figures)


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


#: The functions that compute tables, by the table's name in definitions of experiments.
TABLES: Final[Mapping[str, Callable[[Inputs], Table]]] = {
    "table1": _table1,
    "table2": _table2,
    "table4": _table4,
    "fig1": _fig1,
    "fig5": fig5,
    "speedups": _speedups,
    "queue_memory": _queue_memory,
    "area": _area,
    "power": _power,
    "fig15": _fig15,
    "dispatcher": _dispatcher,
    "branches": _branches,
    "timeouts": _timeouts,
}
