"""Figs. 1 to 10 of the Accelerometer paper, drawn for this project's live server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from accelflow.companions.live_server import LEAST_IPC
from accelflow.profiles.plots import Drawing, characterised

__all__ = ["profile_figures"]

_WIDTH_IN: Final = 7.5

#: The height of the title of a picture's part, in inches.
_TITLE_IN: Final = 0.15

#: The labels of the bars, by the names of the profiles.
_BARS: Final = {
    "before": "live server, no\nAES instructions",
    "after": "live server,\nAES instructions",
}

#: For each picture, the titles of its parts by the names of their drawings.
_PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "fig1": {"orchestration": "Fig. 1: core work and orchestration"},
    "fig2-9": {
        "leaf": "Fig. 2: leaf functions",
        "functionality": "Fig. 9: functionalities",
    },
    "fig3-7": {
        "memory": "Fig. 3: memory",
        "copies": "Fig. 4: who copies memory",
        "kernel": "Fig. 5: kernel",
        "synchronization": "Fig. 6: synchronization",
        "c_libraries": "Fig. 7: C libraries",
    },
    "fig8-10": {
        "ipc-leaf": "Fig. 8: IPC of leaf functions",
        "ipc-functionality": "Fig. 10: IPC of functionalities",
    },
}


def profile_figures(profiles: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """Draw where the cycles of this project's server go, in the form of Accelerometer's figures.

    `profiles` is the member ``profiles`` of the result of
    :func:`accelflow.companions.live_server.live_server`. Returns the pictures by name. They show
    the paper's bars only where the paper's text has their shares. A panel of a picture is left out
    if no profile has cycles for it.
    """
    bars = {bar: profiles[name] for name, bar in _BARS.items()}
    drawings = characterised(bars, least_ipc=LEAST_IPC)
    return {
        picture: _below_each_other(
            {title: drawings[name] for name, title in titles.items() if name in drawings}
        )
        for picture, titles in _PARTS.items()
    }


def _below_each_other(drawings: Mapping[str, Drawing]) -> Figure:
    """Return one figure with `drawings`, by title, below each other, each with its own legend."""
    heights = [_TITLE_IN + drawing.height_in for drawing in drawings.values()]
    figure = Figure(figsize=(_WIDTH_IN, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (title, drawing) in zip(parts, drawings.items(), strict=True):
        axes = part.subplots()
        drawing.draw(part, axes)
        axes.set_title(title, fontsize=9, loc="left")
    return figure
