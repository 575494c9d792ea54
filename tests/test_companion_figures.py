"""The pictures of the companion papers: what is drawn, and where."""

import pytest
from matplotlib.axes import Axes

from accelflow import companions
from accelflow.companions import cerebros_figures
from accelflow.findings import targets
from conftest import ROOT

RESULTS = ROOT / "docs" / "results"


def marks(axes: Axes) -> list[tuple[float, float]]:
    """Where a panel has the paper's marks."""
    lines = [line for line in axes.get_lines() if line.get_label() == "paper"]
    return [(float(x), float(y)) for line in lines for x, y in zip(*line.get_data(), strict=True)]


def test_misses_of_cerebros_are_marked_by_the_reduction_of_misses() -> None:
    committed = companions.read(RESULTS / "cerebros" / "results.json").results
    _, misses = cerebros_figures.figures(committed)["fig8"].axes
    bars = [bar for bar in committed["figures"]["bars"] if bar["figure"] == "8b"]
    mpki = {(bar["group"], bar["bar"]): bar["parts"]["misses"] for bar in bars}
    services = list(dict.fromkeys(bar["group"] for bar in bars))
    ((at, left),) = marks(misses)
    most = min(services, key=lambda name: mpki[name, "Cerebros"] / mpki[name, "CPU"])
    assert services[round(at)] == most
    saved = targets()["cerebros.instruction_misses.mpki_reduction_most"].value
    assert left == pytest.approx(mpki[most, "CPU"] * (1 - saved))
