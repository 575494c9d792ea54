"""The pictures of the three papers as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from accelflow.companions import arcus_figures, cerebros_figures
from accelflow.companions.outcome import PaperResult
from accelflow.pictures import STYLE
from accelflow.reproduce.beside import compared, draw_beside, height_in
from accelflow.reproduce.pictures import save

__all__ = ["write_pictures"]


def _accelerometer(outcome: PaperResult) -> Mapping[str, Figure]:
    """The estimates beside what the paper estimates and measures, as in its figures of gains."""
    groups = compared(outcome.findings)
    figure = Figure(figsize=(7.5, height_in(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    (part,) = figure.subfigures(1, 1, squeeze=False)[:, 0]
    draw_beside(part, groups)
    return {"model": figure}


#: The functions that draw the figures of a paper.
_DRAWN: Final[Mapping[str, Callable[[PaperResult], Mapping[str, Figure]]]] = {
    "accelerometer": _accelerometer,
    "cerebros": lambda outcome: cerebros_figures.figures(outcome.results),
    "arcus": lambda outcome: arcus_figures.figures(outcome.results),
}


def write_pictures(
    outcome: PaperResult, directory: Path, suffix: str = ""
) -> dict[str, list[Path]]:
    """Write each figure to `directory` as PNG and SVG; return the paths by figure name.

    The file names end in `suffix`. Equal outcomes give byte-identical files. Raises OSError if a
    file cannot be written.
    """
    with mpl.rc_context(STYLE):
        drawn = _DRAWN[outcome.paper](outcome)
        return {name: save(drawn[name], directory / f"{name}{suffix}") for name in drawn}
