"""A waterfall as a picture."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from accelflow.pictures import PLAIN, save
from accelflow.waterfall.rows import Piece, WaterfallRow, length_us, rows_of, time_text

__all__ = ["draw", "write_picture"]

#: The colour of each part of a request's time, light enough for hatches, apart in grey print, and
#: by Okabe and Ito apart for people who are colour-blind.
_FILL: Final = {
    "cpu": "#E69F00",
    "accelerator": "#56B4E9",
    "dispatcher": "#009E73",
    "manager": "#D55E00",
    "cores": "#F0E442",
    "communication": "#CC79A7",
    "remote": "#DDDDDD",
    "queueing": "#FFFFFF",
}
_NAMES: Final = {
    "cpu": "application and software",
    "accelerator": "elements",
    "dispatcher": "dispatchers",
    "manager": "manager",
    "cores": "orchestration on cores",
    "communication": "transfers and notifications",
    "remote": "remote",
    "queueing": "queues",
}
_STYLE: Final[dict[Any, Any]] = {
    **PLAIN,
    "font.size": 8.0,
    "hatch.linewidth": 0.6,
}
#: Inches.
_WIDTH, _ROW, _FRAME = 9.0, 0.24, 1.5
_BOLD, _THIN = 1.3, 0.3
_MOST_ROWS: Final = 400


def write_picture(waterfall: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Draw where the time of one request went, and write the picture to `path`.

    `waterfall` is an object of schema ``accelflow.waterfall/1``. The picture is SVG or PNG by the
    path's extension. Equal requests give equal bytes. Raises OSError if the file cannot be written.
    """
    with mpl.rc_context(_STYLE):
        save(draw(waterfall), Path(path), dpi=150)


def draw(waterfall: Mapping[str, Any]) -> Figure:
    """Return a figure that shows where the time of one request went.

    `waterfall` is an object of schema ``accelflow.waterfall/1``. The figure has at most the first
    400 rows.
    """
    rows = rows_of(waterfall)[:_MOST_ROWS]
    figure = Figure(figsize=(_WIDTH, _FRAME + _ROW * max(len(rows), 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, row in enumerate(rows):
        _draw_row(axes, number, row)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0.0, max(length_us(waterfall), 1e-3))
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if any(piece.critical for piece in row.pieces):
            label.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("us since the arrival")
    axes.set_title(
        f"{waterfall['service']}, request {waterfall['request']}, under {waterfall['system']}: "
        f"{time_text(waterfall)}",
        loc="left",
        fontsize=10,
    )
    _legend(figure, rows)
    return figure


def _draw_row(axes: Axes, number: int, row: WaterfallRow) -> None:
    for piece in row.pieces:
        axes.add_patch(
            Rectangle(
                (piece.from_ns / 1e3, number - 0.38),
                piece.length_ns / 1e3,
                0.76,
                facecolor=_fill(piece),
                edgecolor="black",
                hatch="//////" if piece.waits else None,
                linewidth=_BOLD if piece.critical else _THIN,
                alpha=1.0 if piece.critical else 0.55,
                zorder=3 if piece.critical else 2,
            )
        )


def _fill(piece: Piece) -> str:
    return _FILL.get(piece.part, "#FFFFFF")


def _legend(figure: Figure, rows: list[WaterfallRow]) -> None:
    there = {piece.part for row in rows for piece in row.pieces if not piece.waits}
    shown = [
        Patch(facecolor=_FILL[part], edgecolor="black", linewidth=_THIN, label=_NAMES[part])
        for part in _FILL
        if part in there
    ]
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": "black"}
    shown += [
        Patch(**look, hatch="//////", linewidth=_THIN, label="hatched: waits"),
        Patch(**look, linewidth=_BOLD, label="bold: the critical path"),
    ]
    figure.legend(handles=shown, loc="outside lower center", ncols=4, frameon=False)
