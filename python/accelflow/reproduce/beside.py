"""The part of an experiment's picture that shows our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from accelflow.findings import Finding
from accelflow.findings.text import number, paper_text

__all__ = ["compared", "draw_beside", "height_in"]

#: The heights in inches of a row of figures, of the axis below the rows, and of the legend.
_ROW_IN: Final = 0.21
_AXIS_IN: Final = 0.7
_LEGEND_IN: Final = 0.3

_OURS: Final[dict[str, Any]] = {
    "marker": "o",
    "s": 26,
    "color": "#0072B2",
    "zorder": 4,
    "clip_on": False,
}
#: The mark of the paper's figure, larger than that of ours, so that both show at the same place.
_PAPER: Final[dict[str, Any]] = {
    "marker": "D",
    "s": 48,
    "clip_on": False,
    "facecolors": "white",
    "edgecolors": "black",
    "linewidths": 1.3,
    "zorder": 3,
}


def compared(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings that can be drawn beside the paper's numbers, grouped by unit.

    A finding is one of our numbers, compared with the paper's. Findings without our number or the
    paper's are left out, and so are findings for which the paper prints only a bound. Groups are in
    the order in which units appear.
    """
    units: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.ours is None or finding.paper is None or finding.paper.bound_kind is not None:
            continue
        units.setdefault(finding.unit, []).append(finding)
    return list(units.values())


def height_in(groups: Sequence[Sequence[Finding]]) -> float:
    """Return the height in inches that :func:`draw_beside` needs for `groups`; 0 without groups."""
    return sum(_AXIS_IN + _ROW_IN * len(findings) for findings in groups) + _LEGEND_IN * bool(
        groups
    )


def draw_beside(figure: SubFigure, groups: Sequence[Sequence[Finding]]) -> None:
    """Draw our numbers beside the paper's, a row for each pair.

    A row has marks for our number, with its confidence interval, and for the paper's number, and
    both numbers as text.
    `groups` is a result of :func:`compared`; each group has an axis of its own.
    """
    heights = [_AXIS_IN + _ROW_IN * len(findings) for findings in groups]
    grid = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)
    marks: tuple[Any, ...] = ()
    for axes, findings in zip(grid[:, 0], groups, strict=True):
        marks = _draw(axes, findings)
    names = ("here", "paper")
    figure.legend(marks, names, loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)


def _draw(axes: Axes, findings: Sequence[Finding]) -> tuple[Any, ...]:
    """Draw findings of one unit; return a mark of our figures and one of the paper's."""
    marks: tuple[Any, ...] = ()
    for row, finding in enumerate(findings):
        if finding.ours is None or finding.paper is None:
            continue
        mean, low, high = finding.ours.mean, float(finding.paper.low), float(finding.paper.high)
        nearest = finding.paper.nearest(mean)
        axes.plot([mean, nearest], [row, row], color="#999999", linewidth=1.2, zorder=2)
        if low != high:
            axes.plot([low, high], [row, row], color="black", linewidth=2.5, zorder=3)
        if finding.ours.half_width:
            axes.errorbar(
                mean, row, xerr=finding.ours.half_width, color="#0072B2", lw=0.9, capsize=2
            )
        paper = axes.scatter([low, high], [row, row], **_PAPER)
        marks = (axes.scatter([mean], [row], **_OURS), paper)
        _beside_axes(axes, row, f"{number(mean)} | {paper_text(finding)}")
    _beside_axes(axes, -1, "here | paper")
    _axes(axes, findings)
    return marks


def _beside_axes(axes: Axes, row: int, text: str) -> None:
    axes.annotate(
        text,
        (1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
    )


def _axes(axes: Axes, findings: Sequence[Finding]) -> None:
    axes.set_yticks(range(len(findings)), [_label(finding) for finding in findings], fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_ylim(len(findings) - 0.4, -0.6)
    known = [finding.ours.mean for finding in findings if finding.ours is not None]
    known += [float(finding.paper.low) for finding in findings if finding.paper is not None]
    if min(known) >= 0:
        axes.set_xlim(left=0)
    axes.margins(x=0.04)
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.6)
    unit = findings[0].unit
    if unit:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.set_xlabel(unit, fontsize=7.5, labelpad=2)
    else:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _label(finding: Finding) -> str:
    """Return the key in words: `p99_reduction.Non-acc` is ``P99 reduction: Non-acc``."""
    words = finding.short_key.replace("_", " ").replace(".", ": ", 1)
    return words.replace("p99", "P99").replace(" rps", " RPS")
