"""Pictures of experiments' results, in the form of the paper's figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from accelflow import pictures, simulation
from accelflow.errors import file_path
from accelflow.pictures import STYLE
from accelflow.report.plot import COLORS, PALETTE
from accelflow.reproduce.beside import compared, draw_beside, height_in
from accelflow.reproduce.definitions import Plot
from accelflow.reproduce.outcomes import ExperimentResult, Shown
from accelflow.reproduce.tables import Table

__all__ = ["PALETTE", "draw", "save", "write_pictures"]

_MEAN: Final = "mean"
_GROUP_WIDTH: Final = 0.84
#: The largest number of ticks on a logarithmic axis; with more, only powers of ten have ticks.
_MOST_TICKS: Final = 8


def write_pictures(outcome: ExperimentResult, stem: str | PathLike[str]) -> list[Path]:
    """Write an experiment's picture as `stem`.png and `stem`.svg; return their paths.

    Equal results give equal bytes. Nothing is written for an experiment without a picture. Raises
    OSError if a file cannot be written.
    """
    stem = file_path("stem", stem)
    plot = outcome.definition.plot
    if plot is None:
        return []
    with mpl.rc_context(STYLE):
        return save(draw(outcome, plot), stem)


def save(figure: Figure, stem: Path, dpi: int = 160) -> list[Path]:
    """Write the picture `figure` as `stem`.png and `stem`.svg, and return their paths.

    `dpi` is the resolution of the PNG in dots per inch. Equal pictures give equal bytes, since the
    files have no date and no version. Raises OSError if a file cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    return [pictures.save(figure, path, dpi) for path in paths]


def draw(outcome: ExperimentResult, plot: Plot) -> Figure:
    """Return the picture of an experiment's results, drawn as `plot` describes.

    Below it, the same figure shows our numbers beside the paper's, if there are any to compare.
    """
    panels, beside = _panels(outcome, plot), compared(outcome.findings)
    heights = [0.7 + 2.3 * len(panels), height_in(beside)]
    figure = Figure(figsize=(plot.width_in, 0.3 + sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    heights = heights[: 1 + bool(beside)]
    main, *rest = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    grid = main.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)
    handles: list[tuple[Any, str]] = []
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        match plot.form:
            case "bars" if outcome.table is not None:
                handles = _groups(axes, outcome.table)
            case "bars":
                handles = _bars(axes, outcome, plot, panel)
            case "lines":
                handles = _lines(axes, outcome, plot)
            case "stack":
                handles = _stack(axes, outcome, plot, panel)
            case _:
                handles = _range(axes, outcome)
        _finish(axes, plot)
        axes.set_title(_title(panel), fontsize=9, loc="left")
    if plot.form == "bars" and outcome.table is None:
        _limit(grid[-1, 0], outcome, plot)
    _legend(main, handles)
    if plot.x:
        grid[-1, 0].set_xlabel(plot.x, fontsize=8)
    for part in rest:
        draw_beside(part, beside)
    figure.supxlabel(_caption(outcome, plot), fontsize=7.5, color="#444444")
    return figure


def _finish(axes: Axes, plot: Plot) -> None:
    axes.set_ylabel(plot.y)
    axes.grid(axis="y", which="major", color="#CCCCCC", linewidth=0.6)
    if plot.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=_MOST_TICKS))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif plot.form == "stack" or plot.measures[0].endswith(("_share", "_utilization")):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _limit(axes: Axes, outcome: ExperimentResult, plot: Plot) -> None:
    """Set the y axis to show all values; a very long interval may leave the picture."""
    shown = {*plot.measures, *([plot.star] if plot.star else [])}
    values = [cell.value.mean for cell in outcome.shown if cell.measure in shown and cell.value]
    values = [value for value in values if value > 0] or [1.0]
    if plot.log:
        axes.set_ylim(min(values) / 2, max(values) * 1.6)
    else:
        axes.set_ylim(0, max(values) * 1.25)


def _title(panel: str) -> str:
    return dict(simulation.systems()).get(panel, panel)


def _legend(figure: SubFigure, handles: Sequence[tuple[Any, str]]) -> None:
    if len(handles) < 2:
        return
    figure.legend(
        *zip(*handles, strict=True),
        loc="outside upper center",
        ncols=min(len(handles), 7),
        frameon=False,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.0,
        fontsize=8.5,
    )


def _caption(outcome: ExperimentResult, plot: Plot) -> str:
    text = f"{outcome.definition.place}: {outcome.definition.title}"
    if outcome.seeds:
        text += f"; {outcome.requests_text} requests a service, {len(outcome.seeds)} "
        text += "seeds" if outcome.longest_run is None else "replications"
    if any(cell.saturated for cell in outcome.shown) and plot.form == "bars":
        text += "   (\N{UPWARDS ARROW} saturated: grows with the run)"
    return "\n".join(textwrap.wrap(text, int(plot.width_in * 16)))


@dataclass(frozen=True)
class _Series:
    """The bars of one colour, which show one system at one point."""

    label: str
    color: str
    system: str
    point: str
    hatch: str | None = None


def _panels(outcome: ExperimentResult, plot: Plot) -> list[str]:
    """Return the panels: a stack's systems, or the points of bars with several systems."""
    definition = outcome.definition
    if plot.form == "stack" and len(definition.systems) > 1:
        return list(definition.systems)
    if plot.form == "bars" and len(definition.points) > 1 and len(definition.systems) > 1:
        return [point.label for point in definition.points]
    return [""]


def _series(outcome: ExperimentResult, panel: str) -> list[_Series]:
    definition = outcome.definition
    shown = dict(simulation.systems())
    points = [point.label for point in definition.points]
    if len(definition.systems) == 1 and len(points) > 1:
        system = definition.systems[0]
        return [
            _Series(label, PALETTE[place % len(PALETTE)], system, label, _hatch(place))
            for place, label in enumerate(points)
        ]
    point = panel or points[0]
    return [
        _Series(shown[system], COLORS.get(system, PALETTE[place % len(PALETTE)]), system, point)
        for place, system in enumerate(definition.systems)
    ]


def _hatch(place: int) -> str | None:
    """Return the hatching of the colour at the index `place`, None unless a colour repeats."""
    return "////" if place >= len(PALETTE) else None


def _value(outcome: ExperimentResult, series: _Series, service: str, measure: str) -> float:
    """Return a measure of a service, or its mean over all services; NaN without a value."""
    if service != _MEAN:
        found = outcome.by_cell.get((series.point, series.system, service, measure))
        return math.nan if found is None or found.value is None else found.value.mean
    values = [_value(outcome, series, name, measure) for name in _services(outcome, series)]
    return math.fsum(values) / len(values) if values else math.nan


def _services(outcome: ExperimentResult, series: _Series) -> list[str]:
    there = {(point, system, service) for point, system, service, _ in outcome.by_cell}
    return [name for name in outcome.services if (series.point, series.system, name) in there]


def _bars(axes: Axes, outcome: ExperimentResult, plot: Plot, panel: str) -> list[tuple[Any, str]]:
    """Draw a bar for each service and system or point, and stars for means (Figs. 11 to 20)."""
    series = _series(outcome, panel)
    names = _services(outcome, series[0])
    groups = [*names, _MEAN] if len(names) > 1 else names
    labels = groups
    if plot.per == "server":
        groups, labels = names[:1], ["all services"]
    width = _GROUP_WIDTH / len(series)
    handles: list[tuple[Any, str]] = []
    stars: Any = None
    for index, subject in enumerate(series):
        offset = (index - (len(series) - 1) / 2) * width
        places = [place + offset for place in range(len(groups))]
        heights = [_value(outcome, subject, group, plot.measures[0]) for group in groups]
        look: dict[str, Any] = {"color": subject.color, "edgecolor": "black", "linewidth": 0.4}
        bars = axes.bar(places, heights, width=width * 0.92, hatch=subject.hatch, **look)
        found = {
            place: outcome.by_cell.get((subject.point, subject.system, group, plot.measures[0]))
            for place, group in zip(places, groups, strict=True)
        }
        _error_bars(axes, found)
        if plot.star:
            means = [_value(outcome, subject, group, plot.star) for group in groups]
            stars = axes.scatter(places, means, marker="*", s=18, color="black", lw=0, zorder=4)
        handles.append((bars, subject.label))
    axes.set_xticks(range(len(groups)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.55, len(groups) - 0.45)
    return [*handles, (stars, "mean latency")] if plot.star else handles


def _error_bars(axes: Axes, found: Mapping[float, Shown | None]) -> None:
    """Draw the confidence intervals, and an arrow over each bar of a saturated system."""
    for place, shown in found.items():
        if shown is None or shown.value is None:
            continue
        height = shown.value.mean
        if shown.value.half_width:
            low = min(shown.value.half_width, height * 0.999)  # a logarithm has no zero
            span = [[low], [shown.value.half_width]]
            axes.errorbar(place, height, yerr=span, color="#333333", lw=0.6, capsize=1.2)
        if shown.saturated:
            arrow: dict[str, Any] = {
                "xytext": (0, 5),
                "textcoords": "offset points",
                "ha": "center",
            }
            axes.annotate("\N{UPWARDS ARROW}", (place, height), fontsize=7, **arrow)


def _groups(axes: Axes, table: Table) -> list[tuple[Any, str]]:
    """Draw the bars of a table, a group for each category (Fig. 15)."""
    labels = list(dict.fromkeys(name for found in table.series.values() for name in found))
    width = _GROUP_WIDTH / len(labels)
    handles: list[tuple[Any, str]] = []
    for index, label in enumerate(labels):
        offset = (index - (len(labels) - 1) / 2) * width
        places = [place + offset for place in range(len(table.series))]
        heights = [found.get(label, math.nan) for found in table.series.values()]
        look: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.4, "width": width * 0.92}
        drawn = axes.bar(places, heights, color=PALETTE[index % len(PALETTE)], **look)
        handles.append((drawn, label.replace("_", " ")))
    axes.set_xticks(range(len(table.series)), list(table.series))
    axes.tick_params(axis="x", length=0)
    return handles


def _lines(axes: Axes, outcome: ExperimentResult, plot: Plot) -> list[tuple[Any, str]]:
    """Draw the mean over the services from point to point, a line for each system (Fig. 3)."""
    labels = list(plot.points) or [point.label for point in outcome.definition.points]
    handles: list[tuple[Any, str]] = []
    shown = dict(simulation.systems())
    marks = "osD^v*PX"
    for index, system in enumerate(outcome.definition.systems):
        heights = [
            _value(outcome, _Series("", "", system, label), _MEAN, plot.measures[0])
            for label in labels
        ]
        color = COLORS.get(system, PALETTE[index % len(PALETTE)])
        look: dict[str, Any] = {
            "color": color,
            "marker": marks[index % len(marks)],
            "mec": "black",
            "mew": 0.4,
        }
        (line,) = axes.plot(range(len(labels)), heights, lw=1.8, **look)
        handles.append((line, shown[system]))
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(bottom=0)
    return handles


def _stack(axes: Axes, outcome: ExperimentResult, plot: Plot, panel: str) -> list[tuple[Any, str]]:
    """Draw stacked shares, a bar for each service (Figs. 1 and 17)."""
    bars = _shares(outcome, plot, panel or outcome.definition.systems[0])
    parts = list(next(iter(bars.values())))
    handles: list[tuple[Any, str]] = []
    bottoms = [0.0] * len(bars)
    for index, part in enumerate(parts):
        heights = [shares[part] for shares in bars.values()]
        look: dict[str, Any] = {
            "color": PALETTE[index % len(PALETTE)],
            "edgecolor": "black",
            "linewidth": 0.4,
        }
        drawn = axes.bar(range(len(bars)), heights, bottom=bottoms, width=0.7, **look)
        bottoms = [low + height for low, height in zip(bottoms, heights, strict=True)]
        handles.append((drawn, part))
    axes.set_xticks(range(len(bars)), list(bars))
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1)
    return handles


def _shares(outcome: ExperimentResult, plot: Plot, system: str) -> dict[str, dict[str, float]]:
    if outcome.table is not None:
        return {label: dict(shares) for label, shares in outcome.table.series.items()}
    series = _Series("", "", system, outcome.definition.points[0].label)
    return {
        service: {
            measure.removesuffix("_share"): _value(outcome, series, service, measure)
            for measure in plot.measures
        }
        for service in [*_services(outcome, series), _MEAN]
    }


def _range(axes: Axes, outcome: ExperimentResult) -> list[tuple[Any, str]]:
    """Draw ranges from the smallest to the largest value, with the median (Fig. 5)."""
    series = {} if outcome.table is None else outcome.table.series
    handles: list[tuple[Any, str]] = []
    for place, found in enumerate(series.values()):
        axes.plot([place, place], [found["minimum"], found["maximum"]], color="#777777", lw=1.2)
        ends = axes.scatter(
            [place] * 2, [found["minimum"], found["maximum"]], marker="_", s=60, color="#333333"
        )
        middle = axes.scatter([place], [found["median"]], s=28, color="#0072B2", zorder=3)
        handles = [(ends, "minimum and maximum"), (middle, "median")]
    axes.set_xticks(range(len(series)), list(series), fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    return handles
