"""What the pictures that matplotlib draws show, read from the figures that are written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from accelflow import accelerometer
from accelflow.accelerometer import Sizes, evaluate
from accelflow.accelerometer.decisions import decide
from accelflow.accelerometer.files import read_question
from accelflow.report import Comparison, write_plots
from offloads import COMPRESSION, EXAMPLES, FEED1


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Figure]:
    """Return a function that returns the figure that was written to a file."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path, **_: object) -> None:
        path.write_text(str(len(figures)))  # the file is renamed afterwards
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    return lambda path: figures[int(path.read_text())]


# By hand: a quarter of the way from 256 B (0.2) to 1024 B (0.6), linear in bytes, is 0.3.
@pytest.mark.parametrize(("interpolation", "share"), [("step", 0.2), ("linear", 0.3)])
def test_curve_of_sizes_is_the_distribution(
    interpolation: str, share: float, drawn: Callable[[Path], Figure], tmp_path: Path
) -> None:
    sizes = Sizes(
        bytes=[256, 1_024, 4_096, 16_384],
        cumulative_ratio=[0.2, 0.6, 0.9, 1.0],
        interpolation=interpolation,
    )
    # The cost of a byte follows from the sizes.
    kernel = replace(COMPRESSION, sizes=sizes, cycles_per_byte=None)
    accelerometer.write_plots(replace(FEED1, kernels=[kernel]), tmp_path)
    (curve,) = drawn(tmp_path / "granularity-compression.png").axes[1].lines
    across, up = np.array(curve.get_data(), float)
    assert np.interp(448, across, up) == pytest.approx(share, abs=1e-3)
    # The first point's share is of exactly its size, and nothing is beyond the last.
    assert np.interp(255.9, across, up) == 0
    assert (across[-1] > 16_384, up[-1]) == (True, 1)


def test_curve_of_sizes_agrees_with_the_offloads_that_lose(
    drawn: Callable[[Path], Figure], tmp_path: Path
) -> None:
    sizes = Sizes(
        bytes=[256, 1_024, 4_096, 16_384],
        cumulative_ratio=[0.2, 0.6, 0.9, 1.0],
        interpolation="step",
    )
    service = replace(FEED1, kernels=[replace(COMPRESSION, sizes=sizes)])
    (row,) = evaluate(service)["kernels"]
    accelerometer.write_plots(service, tmp_path)
    (curve,) = drawn(tmp_path / "granularity-compression.png").axes[1].lines
    across, up = np.array(curve.get_data(), float)
    even = row["break_even_speedup"]["above_bytes"]
    assert np.interp(even, across, up) == pytest.approx(1 - row["paying_offloads_ratio"])


def labels(axis: Axis) -> list[str]:
    """The labels of the ticks that are within the limits of an axis."""
    low, high = axis.get_view_interval()
    shown = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [label.get_text() for at, label in shown if low <= at <= high]


@pytest.mark.parametrize(
    ("p99s_us", "expected"),
    [
        ((45, 390), ["50", "100", "200", "500"]),
        ((300, 310), ["200", "500"]),
        ((20, 9_000), ["10", "100", "1,000", "10,000"]),
    ],
)
def test_latencies_of_few_decades_have_labels_between_powers_of_ten(
    p99s_us: tuple[float, float],
    expected: list[str],
    made_up_results: dict[str, Any],
    drawn: Callable[[Path], Figure],
    tmp_path: Path,
) -> None:
    for number, system in enumerate(made_up_results["systems"]):
        for service in system["services"]:
            for key in ("mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us"):
                if key in service:
                    service[key] = p99s_us[min(number, 1)]
    picture, _ = write_plots(Comparison.from_dict(made_up_results), tmp_path / "compare")
    (axes,) = drawn(picture).axes
    assert labels(axes.yaxis) == expected


def test_small_ratios_of_an_offload_have_labels(
    drawn: Callable[[Path], Figure], tmp_path: Path
) -> None:
    kernel = replace(COMPRESSION, acceleration_ratio=3, transfer_cycles=0)
    accelerometer.write_plots(replace(FEED1, kernels=[kernel]), tmp_path)
    axes = drawn(tmp_path / "granularity-compression.png").axes[0]
    assert labels(axes.yaxis) == ["1", "2"]
    assert labels(axes.xaxis) == ["1", "10", "100", "1k", "10k", "100k"]


def test_intervals_of_alternatives_end_before_the_number_and_at_the_cut(
    drawn: Callable[[Path], Figure], tmp_path: Path
) -> None:
    file = tmp_path / "fig20.toml"
    text = (EXAMPLES / "fig20.toml").read_text()
    for old, new in (
        ("transfer_cycles = 2_300", "transfer_cycles = { min = 1_000, mode = 2_300, max = 4_000 }"),
        ("setup_cycles = 20_000", "setup_cycles = { min = 2e4, mode = 4e4, max = 9e4 }"),
    ):
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    question = read_question(file)
    accelerometer.write_plots(question.service, tmp_path, decision=decide(question))
    (axes,) = drawn(tmp_path / "alternatives.png").axes
    intervals = {
        round(float(segment[0][1]), 3): segment[:, 0]
        for lines in axes.collections
        for segment in lines.get_segments()
    }
    assert len(intervals) > 5
    numbers = {round(float(text.xy[1]), 3): float(text.xy[0]) for text in axes.texts}
    for row, ends in intervals.items():
        assert numbers[row] >= max(ends)
        assert min(ends) >= -30  # bars are cut off there
    assert any(ends[0] < 0 for ends in intervals.values())
