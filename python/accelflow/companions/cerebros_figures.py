"""The figures of Cerebros in the paper's forms, with marks for values in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from accelflow.cerebros import PAPER_SPEEDUPS
from accelflow.companions.drawing import interval_mark, panels_figure, paper_mark, percent
from accelflow.findings import targets
from accelflow.reproduce.pictures import PALETTE

__all__ = ["figures"]

_Bars = Sequence[Mapping[str, Any]]


def _stacks(
    bars: _Bars, axes: Axes, *, label: str, share: bool = False, first_color: int = 0
) -> None:
    """Groups of stacked bars, as in all of Cerebros's figures."""
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
    """Fig. 6 of Cerebros: the cycles of the RPC layer by design."""
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


def _cycles(bars: _Bars, axes: Axes) -> None:
    """Fig. 7 of Cerebros: how much fewer cycles, of what."""
    # SG and CP take tens of times the cycles of UID: each service in relation to its own.
    before = {bar["group"]: sum(bar["parts"].values()) for bar in bars[::2]}
    scaled = [
        {
            **bar,
            "parts": {part: cycles / before[bar["group"]] for part, cycles in bar["parts"].items()},
            "half_width": (bar["half_width"] or 0.0) / before[bar["group"]],
        }
        for bar in bars
    ]
    _stacks(scaled, axes, label="share of the CPU's cycles", share=True)
    for place, (cpu, cerebros) in enumerate(zip(bars[::2], bars[1::2], strict=True)):
        most, least = (sum(bar["parts"].values()) for bar in (cpu, cerebros))
        over_cpu, over = ((bar["half_width"] or 0.0) / most for bar in (cpu, cerebros))
        layer = cpu["parts"]["RPC layer"] / cerebros["parts"]["RPC layer"]
        axes.text(
            place - 0.2, 1.015 + over_cpu, f"{most:,.0f}", ha="center", va="bottom", fontsize=7
        )
        # From the bar's left edge to the right, where there is room, and not over the CPU's bar.
        said = f"layer {layer:.0f}x\n{most / least:.1f}x fewer\n{least:,.0f}"
        axes.text(place + 0.03, least / most + over + 0.02, said, va="bottom", fontsize=7)
    axes.set_ylim(0, 1.15)
    least_all, most_all, least_layer, most_layer = (
        targets()[f"cerebros.cycles_reduction.{name}"].figure.text
        for name in ("per_request_min", "per_request_max", "rpc_layer_min", "rpc_layer_max")
    )
    axes.set_xlabel(
        "left CPU, right (hatched) Cerebros; above them cycles a request. "
        f"Paper: {least_all} to {most_all}x fewer, layer {least_layer} to {most_layer}x",
        fontsize=7.5,
    )


def figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures by name, from what :func:`accelflow.cerebros.figures` returns."""
    figures = results["figures"]
    bars = {
        name: [bar for bar in figures["bars"] if bar["figure"] == name]
        for name in ("2a", "2b", "6", "7", "8a", "8b", "9")
    }

    def shares(axes: Axes) -> None:
        _stacks(bars["2a"], axes, label="share of cycles", share=True)
        for place, bar in enumerate(bars["2a"]):
            paper_mark(axes, place, f"cerebros.rpc_layer_share.{bar['group']}")

    def modules(axes: Axes) -> None:
        # Payloads are at the bottom, since the paper's text has their share.
        ordered = [
            {
                **bar,
                "parts": {part: bar["parts"][part] for part in ("payload", "header", "dispatch")},
            }
            for bar in bars["2b"]
        ]
        _stacks(ordered, axes, label="share of the RPC layer", share=True, first_color=3)
        # What the text prints is of all services together.
        paper_mark(axes, len(ordered) - 1, "cerebros.payload_share_of_layer.five_services")

    def sets(axes: Axes) -> None:
        _stacks(bars["8a"], axes, label="instructions, KB")
        axes.axhline(64, color="black", linewidth=0.8, linestyle="--", label="cache, 64 KB")

    def functions(axes: Axes) -> None:
        _stacks(bars["9"], axes, label="share of the function's cycles", share=True)
        axes.set_xlabel("left Cerebros, right (hatched) with steering by affinity", fontsize=7.5)

    misses = partial(_stacks, bars["8b"], label="misses / 1,000 instructions")
    return {
        "fig2": panels_figure(
            {"(a) on-CPU time": shares, "(b) the RPC layer, by module": modules}, columns=2
        ),
        "fig6": panels_figure({"RPC layer": partial(_designs, bars["6"])}, columns=1, height=3.0),
        "fig7": panels_figure({"on-server cycles": partial(_cycles, bars["7"])}, columns=1),
        "fig8": panels_figure(
            {"(a) working set": sets, "(b) misses of the instruction cache": misses}, columns=2
        ),
        "fig9": panels_figure({"USR": functions}, columns=1),
    }
