"""The pictures of the companion papers: what is drawn, and where."""

import re

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from accelflow import companions
from accelflow.companions import cerebros_figures
from accelflow.companions.live_server import live_server
from accelflow.companions.live_server_figures import profile_figures
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


def panels(figures: dict[str, Figure]) -> dict[int, Axes]:
    """The panels by the number of the paper's figure."""
    all_axes = [axes for figure in figures.values() for axes in figure.axes]
    numbers = {axes: re.match(r"Fig\. (\d+): ", axes.get_title(loc="left")) for axes in all_axes}
    return {int(found[1]): axes for axes, found in numbers.items() if found}


def test_figures_1_to_10_of_accelerometer_are_drawn_of_the_live_server() -> None:
    profiles = live_server()["profiles"]
    drawn = panels(profile_figures(profiles))
    assert sorted(drawn) == list(range(1, 11))
    # Each bar's shares are of its own cycles, in per cent, without and with AES instructions.
    for number, view in ((2, "leaf"), (9, "functionality")):
        for place, profile in enumerate(("before", "after")):
            bar = [one for one in drawn[number].patches if round(one.get_center()[1]) == place]
            shares = [100 * row["share_ratio"] for row in profiles[profile][view]]
            widths = sorted(one.get_width() for one in bar)
            assert widths == pytest.approx(sorted(share for share in shares if share))
            assert sum(widths) == pytest.approx(100)
    orchestration = profiles["before"]["orchestration"]["orchestration_ratio"]
    assert drawn[1].patches[0].get_width() == pytest.approx(100 * orchestration)
    assert "Web (paper)" in [label.get_text() for label in drawn[1].get_yticklabels()]


def test_ipc_is_drawn_only_where_instructions_were_seen() -> None:
    drawn = panels(profile_figures(live_server()["profiles"]))
    leaves, purposes = (
        [label.get_text() for label in drawn[number].get_xticklabels()] for number in (8, 10)
    )
    # An emulator counts them, in user space.
    assert "kernel" not in leaves
    assert "thread pool management" not in purposes
    assert {"memory", "zstd"} < set(leaves)
    assert {"compression", "serialization"} < set(purposes)
