"""The figures of Cerebros, drawn in the paper's form, with marks for values in its text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from accelflow.cerebros import PAPER_SPEEDUPS
from accelflow.companions.drawing import (
    interval_mark,
    panels_figure,
    paper_line,
    paper_mark,
    paper_range,
    percent,
)
from accelflow.findings import targets
from accelflow.reproduce.pictures import PALETTE

__all__ = ["figures"]

_Bars = Sequence[Mapping[str, Any]]


def _stacks(
    bars: _Bars, axes: Axes, *, label: str, share: bool = False, first_color: int = 0
) -> None:
    """Draw groups of stacked bars, the form of all of Cerebros's figures."""
    groups = list(dict.fromkeys(bar["group"] for bar in bars))
    names = list(dict.fromkeys(bar["bar"] for bar in bars))
    parts = list(dict.fromkeys(part for bar in bars for part in bar["parts"]))
    alone = len(parts) == 1
    width = 0.8 / len(names)
    for bar in bars:
        place = groups.index(bar["group"]) + width * (
            names.index(bar["bar"]) - (len(names) - 1) / 2
        )
        bottom = 0.0
        for number, part in enumerate(parts):
            value = bar["parts"].get(part, 0.0)
            hatch = "///" if names.index(bar["bar"]) and not alone else None
            color = PALETTE[names.index(bar["bar"]) if alone else first_color + number]
            name = bar["bar"] if alone else part
            axes.bar(
                place,
                value,
                width * 0.92,
                bottom=bottom,
                color=color,
                edgecolor="black",
                linewidth=0.4,
                hatch=hatch,
                label="" if hatch else name,
            )
            bottom += value
        interval_mark(axes, place, bottom, bar.get("half_width"))
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)
    if share:
        percent(axes)


def _designs(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 6 of Cerebros: the cycles of the RPC layer by design."""
    _stacks(bars, axes, label="cycles a request, UID")
    totals = [sum(bar["parts"].values()) for bar in bars]
    for place, (bar, total) in enumerate(zip(bars, totals, strict=True)):
        paper = PAPER_SPEEDUPS.get(bar["group"])
        text = f"{totals[0] / total:.3g}x" + (f"\n(paper {paper:g}x)" if paper else "")
        axes.annotate(
            text,
            (place, total),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
        )
    axes.set_ylim(0, totals[0] * 1.18)


def _total(bar: Mapping[str, Any]) -> float:
    return math.fsum(bar["parts"].values())


def _pairs(bars: _Bars) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return each service's two bars: that of the CPU, and that of Cerebros."""
    return list(zip(bars[::2], bars[1::2], strict=True))


def _printed(key: str) -> float:
    """Return the Cerebros paper's number with the key `key`."""
    return targets()[f"cerebros.{key}"].value


def _cycles(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 7 of Cerebros: cycles a request, with marks at the paper's bars for Cerebros."""
    _stacks(bars, axes, label="cycles a request")
    fewer = [_total(cpu) / _total(cerebros) for cpu, cerebros in _pairs(bars)]
    most = fewer.index(max(fewer))
    for place, (cpu, cerebros) in enumerate(_pairs(bars)):
        layer = cpu["parts"]["RPC layer"] / cerebros["parts"]["RPC layer"]
        said = f"{_total(cerebros):,.0f}\n{fewer[place]:.1f}x fewer\nlayer {layer:.0f}x"
        height = _total(cerebros) + (cerebros["half_width"] or 0.0)
        axes.annotate(
            said,
            (place + 0.02, height),
            xytext=(0, 4),
            textcoords="offset points",
            va="bottom",
            fontsize=7,
        )
    for place, name in ((0, "per_request_min"), (most, "per_request_max")):
        cpu, _ = _pairs(bars)[place]
        paper_line(axes, place + 0.2, _total(cpu) / _printed(f"cycles_reduction.{name}"))
    least_layer, most_layer = (
        targets()[f"cerebros.cycles_reduction.{name}"].figure.text
        for name in ("rpc_layer_min", "rpc_layer_max")
    )
    axes.set_xlabel(
        f"left CPU, right (hatched) Cerebros. Paper: layer {least_layer} to {most_layer}x fewer",
        fontsize=7.5,
    )


def _working_sets(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 8a: working sets, with marks at the sizes in the text and at three cache sizes."""
    _stacks(bars, axes, label="instructions, KB")
    cache_kb = 64.0
    axes.axhline(cache_kb, color="black", linewidth=0.8, linestyle="--", label="cache, 64 KB")
    paper_mark(axes, 0.2, "cerebros.working_set.UID_function_kb")
    paper_mark(axes, 1.2, "cerebros.working_set.USR_functions_kb")
    paper_mark(axes, 0.8, "cerebros.working_set.most_over_cache", cache_kb)
    for place, name in ((3, "SG"), (4, "CP")):
        cpu, _ = _pairs(bars)[place]
        saved = targets()[f"cerebros.working_set_reduction.{name}"].figure
        ends = [_total(cpu) * (1 - float(share)) for share in (saved.high, saved.low)]
        paper_range(axes, place + 0.2, *ends)


def _misses(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 8b: misses of instructions, with a mark for the largest reduction in the text.

    The mark is at the service whose reduction is largest here. The text gives the same largest
    value for two reductions: of misses per 1,000 instructions (section 1), which the figure shows,
    and of cycles wasted on misses (section 6.2), which do not fit its axis.
    """
    _stacks(bars, axes, label="misses / 1,000 instructions")
    left = [_total(cerebros) / _total(cpu) for cpu, cerebros in _pairs(bars)]
    place = left.index(min(left))
    cpu, _ = _pairs(bars)[place]
    saved = _printed("instruction_misses.mpki_reduction_most")
    paper_line(axes, place + 0.2, _total(cpu) * (1 - saved))


def _functions(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 9: marks at the least and most stalled function, and at F3 to F5 with affinity."""
    _stacks(bars, axes, label="share of the function's cycles", share=True)
    plain = [bar for bar in bars if bar["bar"] == "C"]
    stalled = [bar["parts"]["instruction misses"] for bar in plain]
    for name, choose in (("least", min), ("most", max)):
        place = stalled.index(choose(stalled))
        share = _printed(f"functions_of_USR.stalled_share_{name}")
        paper_line(axes, place - 0.2, 1 - share)
    for place in (3, 4, 5):
        faster = targets()["cerebros.functions_of_USR.f3_f5_speedup_most"].figure
        paper_range(axes, place + 0.2, 1 / float(faster.high), 1 / float(faster.low))
    axes.set_xlabel("left Cerebros, right (hatched) with steering by affinity", fontsize=7.5)


def _shares(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 2a: the RPC layer's share of cycles, with marks for the ranges of the text."""
    _stacks(bars, axes, label="share of cycles", share=True)
    for place, bar in enumerate(bars):
        paper_mark(axes, place, f"cerebros.rpc_layer_share.{bar['group']}")


def _modules(bars: _Bars, axes: Axes) -> None:
    """Draw Fig. 2b in cycles, with a mark for the payloads' share over all services."""
    ordered = [
        {**bar, "parts": {part: bar["parts"][part] for part in ("payload", "header", "dispatch")}}
        for bar in bars
    ]
    _stacks(ordered, axes, label="cycles a request", first_color=3)
    share = "cerebros.payload_share_of_layer.five_services"
    paper_mark(axes, len(ordered) - 1, share, _total(ordered[-1]))


def figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """Draw the figures of the Cerebros paper; return them by name.

    `results["figures"]` is what :meth:`accelflow.cerebros.Figures.to_dict` returns.
    """
    figures = results["figures"]
    bars = {
        name: [bar for bar in figures["bars"] if bar["figure"] == name]
        for name in ("2a", "2b", "5", "6", "7", "8a", "8b", "9")
    }
    models = partial(_stacks, bars["5"], label="1,000 requests / s")
    return {
        "fig2": panels_figure(
            {
                "(a) on-CPU time": partial(_shares, bars["2a"]),
                "(b) the RPC layer, by module": partial(_modules, bars["2b"]),
            },
            columns=2,
        ),
        "fig5": panels_figure({"capacity of the server": models}, columns=1),
        "fig6": panels_figure({"RPC layer": partial(_designs, bars["6"])}, columns=1, height=3.0),
        "fig7": panels_figure({"on-server cycles": partial(_cycles, bars["7"])}, columns=1),
        "fig8": panels_figure(
            {
                "(a) working set": partial(_working_sets, bars["8a"]),
                "(b) misses of the instruction cache": partial(_misses, bars["8b"]),
            },
            columns=2,
        ),
        "fig9": panels_figure({"USR": partial(_functions, bars["9"])}, columns=1),
    }
