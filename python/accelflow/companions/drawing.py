"""Panels, lines, bars and marks that the pictures of all companion papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from accelflow.findings import targets
from accelflow.reproduce.pictures import PALETTE

#: The style in which a value of the paper is drawn.
_PAPER: Final[dict[str, Any]] = {
    "color": "black",
    "marker": "_",
    "markersize": 11,
    "linestyle": "none",
}
_PAPER_NAME: Final = "paper"

#: The colour and the line style of each system of ARCUS's evaluation, the same in all figures.
SYSTEMS: Final = {
    "Host_noTS": ("#999999", ":"),
    "Host_TS_reflex": ("#56B4E9", "--"),
    "Host_TS_firecracker": ("#E69F00", "-."),
    "Bypassed_noTS_panic": ("#0072B2", "--"),
    "Arcus": ("#D55E00", "-"),
}

#: The functions that draw each panel of a figure, by the panel's title.
Panels = Mapping[str, Callable[[Axes], None]]


def panels_figure(
    panels: Panels,
    *,
    columns: int,
    width: float = 7.5,
    height: float = 2.7,
    own_legends: bool = False,
) -> Figure:
    """Draw `panels` in a grid of `columns` columns, with one legend for all panels.

    With `own_legends`, each panel has a legend of its own. `width` is the width of the whole
    figure, and `height` the height of a row of panels, in inches.
    """
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(width, 0.35 + height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    handles: dict[str, Any] = {}
    for axes, (title, draw) in zip(grid, panels.items(), strict=False):
        draw(axes)
        axes.set_title(title, fontsize=9, loc="left")
        axes.grid(axis="y", color="#CCCCCC", linewidth=0.6)
        drawn = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        if own_legends and drawn:
            axes.legend(drawn.values(), drawn.keys(), fontsize=6.5, frameon=False, handlelength=1.8)
        handles |= {label: handle for label, handle in drawn.items() if label not in handles}
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    if own_legends:
        return figure
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=min(len(handles), 5),
        frameon=False,
        fontsize=8.5,
        handlelength=1.4,
    )
    return figure


def paper_mark(axes: Axes, at: float, key: str, of: float = 1.0) -> None:
    """Draw the paper's number, times `of`, at the x coordinate `at`.

    `key` is the number's key; nothing is drawn if there is no such number. A single number is drawn
    as a line, a range as two lines with a bar between them, and a bound as a line with an arrow to
    the allowed side.
    """
    target = targets().get(key)
    if target is None:
        return
    ends = [of * end for end in target.figure.finite_ends]
    if len(ends) == 1:
        paper_line(axes, at, ends[0])
        if target.figure.bound_kind is not None:
            allowed = "v" if target.figure.bound_kind == "at_most" else "^"
            axes.plot([at], ends, **{**_PAPER, "marker": allowed, "markersize": 4})
        return
    paper_range(axes, at, *ends)


def paper_range(axes: Axes, at: float, low: float, high: float) -> None:
    """Mark a range that the paper states, from `low` to `high`, at the x coordinate `at`."""
    axes.errorbar(
        at,
        (low + high) / 2,
        yerr=(high - low) / 2,
        color="black",
        capsize=4,
        linewidth=1.2,
        label=_PAPER_NAME,
    )


def paper_line(axes: Axes, at: float, height: float) -> None:
    """Mark a number of the paper with a short dash at the coordinates `at` (x) and `height` (y)."""
    axes.plot([at], [height], label=_PAPER_NAME, markeredgewidth=1.8, **_PAPER)


def interval_mark(axes: Axes, at: float, mean: float, half_width: float | None) -> None:
    """Draw our 95 % interval around `mean` at the x coordinate `at`.

    Nothing is drawn if `half_width`, half of the interval, is None or 0.
    """
    if half_width:
        axes.errorbar(at, mean, yerr=half_width, color="#555555", capsize=2, linewidth=0.8)


#: A curve: its name, its points (x, y), and half of each y's 95 % interval (empty for one seed).
Curve = tuple[str, Sequence[Sequence[float]], Sequence[float]]


def draw_lines(
    curves: Iterable[Curve], axes: Axes, *, x: str, y: str, color: str | None = None
) -> None:
    """Draw `curves` with bands for their intervals, each in its system's colour, or all in `color`.

    `x` and `y` are the labels of the axes.
    """
    for number, (name, points, half_widths) in enumerate(curves):
        other = (PALETTE[(0, 5, 2, 4)[number % 4]], ("-", "--", "-.", ":")[number % 4])
        own, line = SYSTEMS.get(name, other) if color is None else (color, "-")
        at, mean = ([point[place] for point in points] for place in (0, 1))
        axes.plot(
            at,
            mean,
            color=own,
            linestyle=line,
            marker="o" if len(points) < 30 else None,
            markersize=2.5,
            label=name,
        )
        if any(half_widths):
            low, high = (
                [value + sign * half for value, half in zip(mean, half_widths, strict=True)]
                for sign in (-1, 1)
            )
            axes.fill_between(at, low, high, color=own, alpha=0.25, linewidth=0)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y)


def percent(axes: Axes) -> None:
    """Format the y axis, whose values are ratios, in per cent."""
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def powers_of_two(axes: Axes) -> None:
    """Make the x axis logarithmic, with ticks at powers of two."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=7.5)
