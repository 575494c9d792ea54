"""What the pictures that matplotlib draws show, read from the figures that are written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from accelflow import accelerometer
from accelflow.accelerometer import Sizes, evaluate
from offloads import COMPRESSION, FEED1


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
