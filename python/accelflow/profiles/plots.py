"""Pictures of profiles in the form of the Accelerometer paper's: stacked shares, and IPC."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from accelflow.pictures import STYLE, plot, save
from accelflow.profiles.categories import OTHER

#: Okabe and Ito's palette, then the same once more with hatches: nine categories are the most.
_COLORS: Final = (
    "#0072B2",
    "#F0E442",
    "#D55E00",
    "#56B4E9",
    "#009E73",
    "#CC79A7",
    "#E69F00",
)
_REST: Final = "#BBBBBB"

_TITLES: Final = {"leaf": "leaf functions", "functionality": "functionalities"}


def write_plots(compared: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write pictures of `compared`, an object of :func:`accelflow.profiles.compare`.

    `leaf.png` and `functionality.png` have a stacked bar for each profile, as shares of the first
    (Figs. 2, 9 and 16 to 18); with counts of instructions `ipc-leaf.png` and
    `ipc-functionality.png` have the instructions per cycle of each category (Figs. 8 and 10).
    Returns the paths. Raises OSError when a place cannot be written.
    """
    figures: dict[str, Figure] = {}
    with mpl.rc_context(STYLE):
        for view, title in _TITLES.items():
            figures[view] = _stacked(compared["names"], compared[view], title)
            if all(each is not None for each in compared["ipc"]):
                figures[f"ipc-{view}"] = _ipc(compared["names"], compared[view])
        return [save(figure, directory / f"{name}.png") for name, figure in figures.items()]


def _look(place: int, category: str) -> dict[str, Any]:
    if category == OTHER:
        return {"facecolor": _REST}
    hatch = "//" if place >= len(_COLORS) else None
    return {"facecolor": _COLORS[place % len(_COLORS)], "hatch": hatch}


def _stacked(names: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Figure:
    used = [row for row in rows if any(each["share_of_first_ratio"] for each in row["profiles"])]
    figure, axes = plot(7.0, 1.6 + 0.45 * len(names))
    left = [0.0] * len(names)
    for place, row in enumerate(used):
        for number, each in enumerate(row["profiles"]):
            share = 100 * each["share_of_first_ratio"]
            axes.barh(
                number,
                share,
                left=left[number],
                edgecolor="black",
                linewidth=0.4,
                **_look(place, row["category"]),
            )
            if share >= 5:
                axes.text(
                    left[number] + share / 2,
                    number,
                    f"{share:.0f}",
                    ha="center",
                    va="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                )
            left[number] += share
    handles = [
        mpl.patches.Patch(edgecolor="black", lw=0.4, **_look(place, row["category"]))
        for place, row in enumerate(used)
    ]
    labels = [row["category"].replace("_", " ") for row in used]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    axes.set_yticks(range(len(names)), list(names))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    of = "" if len(names) == 1 else f" of {names[0]}"
    axes.set_xlabel(f"cycles by {title} (% of all{of})")
    return figure


def _ipc(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Figure:
    used = [row for row in rows if any(each["ipc"] is not None for each in row["profiles"])]
    figure, axes = plot(7.0, 3.0)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [place + (number - (len(names) - 1) / 2) * width for place in range(len(used))]
        heights = [row["profiles"][number]["ipc"] or 0.0 for row in used]
        look = _look(number, "")
        axes.bar(places, heights, width, label=name, edgecolor="black", linewidth=0.4, **look)
    labels = [row["category"].replace("_", " ") for row in used]
    axes.set_xticks(range(len(used)), labels, rotation=30, ha="right")
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("instructions per cycle")
    figure.legend(loc="outside upper center", ncols=min(4, len(names)), frameon=False)
    return figure
