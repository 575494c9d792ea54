"""The pictures of Cerebros and ARCUS as files; there are none of Accelerometer."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from accelflow.companions import arcus_figures, cerebros_figures
from accelflow.companions.outcome import PaperResult
from accelflow.report.plot import STYLE
from accelflow.reproduce.pictures import save

__all__ = ["write_pictures"]


def write_pictures(
    outcome: PaperResult, directory: Path, suffix: str = ""
) -> dict[str, list[Path]]:
    """Write each figure to `directory` as PNG and SVG; return the paths by figure name.

    The file names end in `suffix`. Equal outcomes give byte-identical files. Raises OSError if a
    file cannot be written.
    """
    draw = {"cerebros": cerebros_figures.figures, "arcus": arcus_figures.figures}.get(outcome.paper)
    with mpl.rc_context(STYLE):
        drawn = draw(outcome.results) if draw else {}
        return {name: save(drawn[name], directory / f"{name}{suffix}") for name in drawn}
