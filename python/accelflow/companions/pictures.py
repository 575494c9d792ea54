"""Picture files of the companion papers' figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from accelflow.companions import accelerometer_figures, arcus_figures, cerebros_figures
from accelflow.companions.outcome import PaperResult
from accelflow.errors import file_path
from accelflow.pictures import STYLE
from accelflow.reproduce.pictures import save

__all__ = ["write_pictures"]


#: The functions that draw the figures of a paper.
_DRAWN: Final[Mapping[str, Callable[[PaperResult], Mapping[str, Figure]]]] = {
    "accelerometer": lambda outcome: accelerometer_figures.figures(outcome.results),
    "cerebros": lambda outcome: cerebros_figures.figures(outcome.results),
    "arcus": lambda outcome: arcus_figures.figures(outcome.results),
}


def write_pictures(
    outcome: PaperResult, directory: str | PathLike[str], suffix: str = ""
) -> dict[str, list[Path]]:
    """Write a picture of each of the paper's figures to `directory`, as PNG and SVG.

    Returns the paths by figure. `suffix` is added to each file's name before the extension. Equal
    outcomes give byte-identical files. Raises OSError if a file cannot be written.
    """
    directory = file_path("directory", directory)
    with mpl.rc_context(STYLE):
        drawn = _DRAWN[outcome.paper](outcome)
        return {name: save(drawn[name], directory / f"{name}{suffix}") for name in drawn}
