"""Tornado plots, one for each row: the effect of each choice, the largest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from accelflow.errors import file_path
from accelflow.pictures import STYLE
from accelflow.readings.page import Swing, drawn_rows, short, swings
from accelflow.readings.runs import Figure, Readings
from accelflow.reproduce.pictures import save

__all__ = ["write_pictures"]

#: The largest number of choices in a row's panel.
_MOST: Final = 8
_COLUMNS: Final = 2
#: The largest log ratio that is shown: about seven times the paper's result.
_EDGE: Final = 2.0
_BAR: Final = "#56B4E9"
_DOUBTFUL: Final = "#D6ECF8"
_DOT: Final = "#0072B2"
_PAPER: Final = "#D55E00"
_DEFAULT: Final = "#444444"


def write_pictures(found: Readings, experiment: int, stem: str | PathLike[str]) -> list[Path]:
    """Draw how an experiment's results depend on readings, as `stem`.png and `stem`.svg.

    `experiment` is the experiment's index in `found`. Equal results give equal bytes. Returns the
    paths. Raises OSError if a file cannot be written.
    """
    stem = file_path("stem", stem)
    with mpl.rc_context(STYLE):
        return save(_draw(found, experiment), stem, dpi=140)


def _draw(found: Readings, experiment: int) -> Drawing:
    drawn = drawn_rows(found, experiment)
    moves = [swings(found, experiment, row)[:_MOST] for row in drawn]
    places = max(1, *map(len, moves))
    columns = min(_COLUMNS, len(drawn))
    lines = math.ceil(len(drawn) / columns)
    height = 0.4 + (0.7 + 0.15 * places) * lines
    drawing = Drawing(figsize=(4.5 * columns, height), layout="constrained")
    FigureCanvasAgg(drawing)
    panels = drawing.subplots(lines, columns, squeeze=False)
    for axes in panels.flat[len(drawn) :]:
        axes.set_axis_off()
    for axes, row, moved_by in zip(panels.flat, drawn, moves, strict=False):
        _panel(axes, found.default[experiment][row], moved_by, places)
    others: dict[str, list[str]] = {}
    for row, figure in enumerate(found.default[experiment]):
        if row not in drawn:
            others.setdefault(_why_not(figure), []).append(short(figure))
    if others:
        lines_below = [
            f"Without a ratio to the paper's figure, as {why}: {', '.join(names)}"
            for why, names in others.items()
        ]
        drawing.supxlabel("\n".join(lines_below), fontsize=7, color="#444444")
    return drawing


def _why_not(figure: Figure) -> str:
    """Return why `figure` has no :attr:`Figure.log_ratio`."""
    paper = figure.finding.paper
    if paper is None or not paper.single:
        return "the paper has no single number"
    if figure.mean is None:
        return "ours is missing"
    if figure.reduction:
        return "one of them leaves no latency"
    return "ours is 0" if figure.mean == 0 else "one of them is not above 0"


def _panel(axes: Axes, default: Figure, moves: Sequence[Swing], places: int) -> None:
    """Draw the panel of one row, with space for `places` choices, as in the other panels."""
    axes.set_title(f"{short(default)}: {default.verdict}", fontsize=8, loc="left")
    for place, swing in enumerate(moves):
        low, high = (_inside(end) for end in swing.ends)
        color = _BAR if swing.sure else _DOUBTFUL
        axes.barh(place, high - low, left=low, height=0.7, color=color)
        for values, face in ((swing.others, _DOT), (swing.saturated, "white")):
            shown = [_inside(value) for value in values]
            if not shown:  # an empty line that is not clipped has no size, and spoils the layout
                continue
            axes.plot(
                shown,
                [place] * len(shown),
                "o",
                color=_DOT,
                markerfacecolor=face,
                markersize=3.5,
                clip_on=False,  # half of a dot at the edge is outside
            )
    names = [move.choice.name for move in moves] or ["no choice moves it"]
    axes.set_yticks(range(len(names)), names, fontsize=6.5)
    axes.set_ylim(places - 0.5, -0.5)
    axes.axvline(0.0, color=_PAPER, linewidth=1.2)
    if default.log_ratio is not None:
        axes.axvline(_inside(default.log_ratio), color=_DEFAULT, linewidth=0.8, linestyle="--")
    axes.tick_params(axis="x", labelsize=6.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)
    axes.set_xlim(-_EDGE, _EDGE)
    axes.set_xlabel("log of ours over the paper's", fontsize=6.5)


def _inside(value: float) -> float:
    return min(max(value, -_EDGE), _EDGE)
