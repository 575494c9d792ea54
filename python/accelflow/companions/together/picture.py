"""The picture of AccelFlow and its companion papers: P99 and capacity by load and system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes

from accelflow.companions.drawing import panels_figure
from accelflow.companions.together.systems import LOADS, SYSTEMS
from accelflow.errors import file_path
from accelflow.pictures import STYLE
from accelflow.reproduce.pictures import PALETTE, save

__all__ = ["write_picture"]

_Value = Mapping[str, Any]
_WIDTH: Final = 0.8


def write_picture(result: Mapping[str, Any], stem: str | PathLike[str]) -> list[Path]:
    """Write the picture of `result` as PNG and SVG; return the paths.

    `stem` is the path without its extension.
    """
    stem = file_path("stem", stem)
    rows = result["rows"]
    panels = {
        "simulated base server: P99": partial(_bars, rows, "p99_us", "us", 1.0, ""),
        "requests a second": partial(_bars, rows, "capacity_rps", "1,000 / s", 1e-3, ""),
    }
    if "live" in result:
        rows = result["live"]["rows"]
        panels |= {
            "live server: P99": partial(_bars, rows, "live_p99_us", "us", 1.0, "p99_us"),
            "core time of a request": partial(_bars, rows, "live_core_us", "us", 1.0, "core_us"),
        }
    with mpl.rc_context(STYLE):
        return save(panels_figure(panels, columns=2, height=2.9), stem)


def _bars(  # noqa: PLR0913, PLR0917 (what a panel shows)
    rows: Sequence[_Value],
    key: str,
    unit: str,
    scale: float,
    beside: str,
    axes: Axes,
) -> None:
    """Draw a group of bars for each load, a bar for each system, and marks for other models."""
    closed = f"closed_{beside or key}"
    each = _WIDTH / len(SYSTEMS)
    for row in rows:
        number = list(SYSTEMS).index(row["system"])
        place = list(LOADS).index(row["load"]) + each * (number - (len(SYSTEMS) - 1) / 2)
        low, middle, high = (value * scale for value in _ends(row[key]))
        axes.bar(
            place,
            middle,
            0.92 * each,
            color=PALETTE[number % len(PALETTE)],
            edgecolor="black",
            linewidth=0.4,
            hatch="..." if row.get("overloaded") else None,
            label=row["system"],
        )
        error = [[middle - low], [high - middle]]
        axes.errorbar(place, middle, yerr=error, color="#333333", capsize=2, linewidth=0.8)
        if row[closed] is not None:
            _mark(axes, place, row[closed] * scale, "_", "closed form")
        if beside and row[beside] is not None:
            _mark(axes, place, row[beside]["mean"] * scale, "x", "simulated")
    axes.set_xticks(range(len(LOADS)), list(LOADS))
    axes.tick_params(axis="x", length=0)
    axes.set_yscale("log")
    axes.set_ylabel(unit)


def _mark(axes: Axes, place: float, height: float, marker: str, label: str) -> None:
    axes.plot(
        [place],
        [height],
        color="black",
        marker=marker,
        markersize=9 if marker == "_" else 5,
        linestyle="none",
        label=label,
    )


def _ends(value: _Value | None) -> tuple[float, float, float]:
    """Return the lower end, the middle and the upper end of a figure's interval."""
    if value is None:
        return (0.0, 0.0, 0.0)
    if "median" in value:
        return (value["low"], value["median"], value["high"])
    half = value["half_width"] or 0.0
    return (value["mean"] - half, value["mean"], value["mean"] + half)
