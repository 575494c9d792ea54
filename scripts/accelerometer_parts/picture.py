"""The picture of the page: where the closed form holds, and where it breaks."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from accelflow.companions.drawing import panels_figure
from accelflow.pictures import STYLE
from accelflow.reproduce.pictures import PALETTE, save

Rows = list[dict[str, Any]]

#: The panels of simulated sections: title, section, label of the x axis, and whether it doubles.
PANELS = {
    "Sizes that pay: (2), (4), (7)": ("sizes", "size over the break-even size", True),
    "Few threads, A 1: (3)": ("threads", "threads of a core", True),
    "One queue, one kernel: (1), (6)": ("queue", "load of the accelerator", False),
    "One queue, two kernels": ("shared", "load of the accelerator", False),
    "P99 with load": ("tail", "load of the host", False),
    "Offloads that overlap: (8)": ("overlap", "kernels a request", True),
}


def write(result: dict[str, Any], stem: Path) -> list[Path]:
    """Write the picture of the page's `result` as PNG and SVG; return the paths."""
    panels: dict[str, Callable[[Axes], None]] = {
        title: partial(_curves, result["sections"][section], x, doubled)
        for title, (section, x, doubled) in PANELS.items()
    }
    if "server" in result:
        panels["Live server: predicted and measured"] = partial(_server, result["server"]["cases"])
    if "ensemble" in result:
        panels["Ensemble: predicted and measured"] = partial(_ensemble, result["ensemble"]["rows"])
    with mpl.rc_context(STYLE):
        figure = panels_figure(panels, columns=2, width=8.0, height=2.8, own_legends=True)
        return save(figure, stem)


def _curves(rows: Rows, x: str, doubled: bool, axes: Axes) -> None:
    """Gains: lines are the equations', points the simulation's, each curve in a colour."""
    curves: dict[str, Rows] = {}
    for row in rows:
        # The sizes that pay in latency would hide those of throughput.
        if not row["line"].endswith(", latency"):
            curves.setdefault(row["line"], []).append(row)
    for number, (name, points) in enumerate(curves.items()):
        color = PALETTE[number % len(PALETTE)]
        at = [point["at"] for point in points]
        closed, simulated = (
            [100 * (point[f"{key}_ratio"] - 1) for point in points]
            for key in ("closed_form", "simulated")
        )
        halves = [100 * point["half_width"] for point in points]
        label = name.removesuffix(", speedup").replace("_", " ")
        axes.plot(at, closed, color=color, linewidth=1.3)
        look = {"color": color, "marker": "o", "markersize": 3.5, "linestyle": "none"}
        axes.errorbar(at, simulated, yerr=halves, capsize=2, linewidth=0.8, label=label, **look)
    axes.axhline(0, color="#888888", linewidth=0.6)
    if doubled:
        ticks = sorted({row["at"] for row in rows})
        kept = [tick for tick in ticks if tick >= 1 or tick in (0.25, 0.5)]
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator([t for t in kept if t not in (1.05, 1.25, 3)]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"{x}; lines: equations, points: simulated", fontsize=7.5)
    axes.set_ylabel("gain (%)")


def _server(cases: Rows, axes: Axes) -> None:
    points = [
        (row["form"], row["closed_form_ratio"], row["measured_ratio"])
        for case in cases
        for row in case["rows"]
    ]
    _scatter(points, axes)


def _ensemble(rows: Rows, axes: Axes) -> None:
    points = []
    for row in rows:
        clock = row["form"] in ("sync", "sync_os_alone")
        real = row["clock_ratio"] if clock else row["host_ratio"]
        points.append((row["form"], row["closed_form_ratio"], real))
    _scatter(points, axes)


def _scatter(points: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]], axes: Axes) -> None:
    """Measured over predicted gains, with the line on which both are equal."""
    marks = ("o", "s", "^", "v", "D", "P")
    forms = list(dict.fromkeys(form for form, _, _ in points))
    every: list[float] = []
    for form, predicted, real in points:
        number = forms.index(form)
        x, y = (100 * (of["median"] - 1) for of in (predicted, real))
        every += [x, y]
        ends = [[0.0], [0.0]]
        if real["low"] is not None:
            ends = [[y - 100 * (real["low"] - 1)], [100 * (real["high"] - 1) - y]]
        look = {"color": PALETTE[number], "marker": marks[number], "linestyle": "none"}
        label = form.replace("_", " ") if _first(form, points) == (predicted, real) else None
        axes.errorbar(x, y, yerr=ends, markersize=3.5, linewidth=0.7, label=label, **look)
    low, high = min(every), max(every)
    axes.plot([low, high], [low, high], color="#888888", linewidth=0.8)
    axes.axhline(0, color="#CCCCCC", linewidth=0.6)
    axes.axvline(0, color="#CCCCCC", linewidth=0.6)
    axes.set_xlabel("gain by the equations (%)", fontsize=7.5)
    axes.set_ylabel("measured gain (%)")


def _first(
    form: str, points: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return next((predicted, real) for name, predicted, real in points if name == form)
