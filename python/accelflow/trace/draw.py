"""Pictures of traces in the style of the paper's Figs. 2, 4 and 7."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

from accelflow.errors import file_path
from accelflow.pictures import PLAIN, save
from accelflow.trace.layout import HEIGHT, LANE, Arrow, Box, lay_out
from accelflow.trace.nodes import Node

#: Fill colour of each kind of box, light enough for black text and for grey print.
_FILL: Final = {
    "accelerator": "#D6E6F4",
    "trans": "#E3F1DC",
    "branch": "#FCE9C5",
    "fork": "black",
    "tail": "white",
    "core": "#E4E4E4",
}
_STYLE: Final[dict[Any, Any]] = {
    **PLAIN,
    "font.size": 8.0,
}
_MARGIN = 0.12
#: Very long traces are drawn at a lower resolution, since a PNG has at most 65535 pixels a side.
_DPI, _MAX_PIXELS = 200, 60_000
#: Inches for each column of the layout.
_SCALE = 0.92
_LINE = 0.9
#: Length of an arrow's head, in columns.
_HEAD = 0.08


def write_picture(pipeline: Sequence[Node], name: str, path: str | PathLike[str]) -> None:
    """Draw the trace `pipeline`, titled `name`, to `path`, as PNG or SVG by its suffix.

    Equal traces give equal bytes. Raises OSError if the file cannot be written.
    """
    path = file_path("path", path)
    with mpl.rc_context(_STYLE):
        figure = draw(pipeline, name)
        save(figure, path, dpi=min(_DPI, _MAX_PIXELS / max(figure.get_size_inches())))


def draw(pipeline: Sequence[Node], name: str) -> Figure:
    """Return a figure of the trace `pipeline`, titled `name`, as large as its boxes need."""
    layout = lay_out(pipeline)
    left, right = -_MARGIN, layout.width + _MARGIN
    top, bottom = -0.72, (layout.lanes - 1) * LANE + HEIGHT / 2 + _MARGIN
    figure = Figure(figsize=((right - left) * _SCALE, (bottom - top) * _SCALE))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.text(0, top + 0.1, name, weight="bold", va="top", fontsize=9)
    for arrow in layout.arrows:
        _draw_arrow(axes, arrow)
    for box in layout.boxes:
        _draw_box(axes, box)
    return figure


def _draw_box(axes: Axes, box: Box) -> None:
    look: dict[str, Any] = {"facecolor": _FILL[box.kind], "edgecolor": "black", "linewidth": _LINE}
    x, y = box.left[0], box.y - HEIGHT / 2
    rounded = "round,pad=0,rounding_size="
    match box.kind:
        case "branch":
            half = box.width / 2
            around = [
                (box.x - half, box.y),
                (box.x, y),
                (box.x + half, box.y),
                (box.x, box.y * 2 - y),
            ]
            axes.add_patch(Polygon(around, closed=True, **look))
            axes.text(box.x, y - 0.05, box.label, ha="center", va="bottom", fontsize=7.5)
            return
        case "accelerator":
            axes.add_patch(Rectangle((x, y), box.width, HEIGHT, **look))
        case "fork":
            axes.add_patch(Rectangle((x, y - 0.02), box.width, HEIGHT + 0.04, **look))
        case "tail":
            shape = FancyBboxPatch(
                (x, y), box.width, HEIGHT, boxstyle=f"{rounded}0.08", linestyle=(0, (4, 2)), **look
            )
            axes.add_patch(shape)
        case _:
            radius = HEIGHT / 2 if box.kind == "core" else 0.1
            shape = FancyBboxPatch((x, y), box.width, HEIGHT, boxstyle=f"{rounded}{radius}", **look)
            axes.add_patch(shape)
    if box.kind == "trans":
        axes.text(box.x, box.y, box.label, ha="center", va="center", fontsize=6.5, linespacing=1.0)
        return
    # Aligned at the baseline: centred text would be higher if a letter has a descender.
    size = 7.5 if box.kind == "tail" else 8
    axes.text(box.x, box.y + 0.045, box.label, ha="center", va="baseline", fontsize=size)


def _draw_arrow(axes: Axes, arrow: Arrow) -> None:
    *_, before, end = arrow.points
    dashes = (0, (4, 2)) if arrow.dashed else "solid"
    axes.add_line(
        Line2D(*zip(*arrow.points, strict=True), color="black", lw=_LINE, ls=dashes, zorder=0.5)
    )
    # Only the end of the last segment, so that the head is solid where the line is dashed.
    length = abs(end[0] - before[0]) + abs(end[1] - before[1])
    neck = (
        end[0] - (end[0] - before[0]) * _HEAD / length,
        end[1] - (end[1] - before[1]) * _HEAD / length,
    )
    head = FancyArrowPatch(
        neck, end, arrowstyle="-|>", mutation_scale=7, lw=_LINE, color="black", shrinkA=0, shrinkB=0
    )
    axes.add_patch(head)
    if arrow.label:
        (x, y), (_, below) = arrow.points[0], arrow.points[1]
        if below == y:
            axes.text(x + 0.05, y - 0.04, arrow.label, va="bottom", fontsize=6.5)
        else:
            axes.text(x + 0.05, y + 0.02, arrow.label, va="top", fontsize=6.5)
