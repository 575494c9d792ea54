"""Pictures: equal drawings are equal bytes, in any process and on any machine."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from accelflow.pictures import STYLE, plot, save

ROOT = Path(__file__).resolve().parent.parent


def drawn(path: Path, nudge: float = 0.0) -> bytes:
    """A plot whose axes stand `nudge` of its width further to the right."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3, 2))
        FigureCanvasAgg(figure)
        for place in (0.1037, 0.6037):
            axes = figure.add_axes((place + nudge, 0.2, 0.3, 0.7))
            axes.plot([0, 1, 2], [0, 2, 1], "o-")
            axes.bar([0, 1], [1, 2], hatch="//")
        return save(figure, path).read_bytes()


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_last_digits_of_places_do_not_show(tmp_path: Path, suffix: str) -> None:
    assert drawn(tmp_path / f"a{suffix}") == drawn(tmp_path / f"b{suffix}", nudge=1e-14)


def test_every_part_that_is_referred_to_is_there_once(tmp_path: Path) -> None:
    text = drawn(tmp_path / "a.svg").decode()
    ids = [each.get("id") for each in ElementTree.fromstring(text).iter() if each.get("id")]  # noqa: S314
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'#([a-z][0-9a-f]{8}-[0-9]+)[")]', text))
    assert {name[0] for name in used} == {"p", "m", "h"}
    assert used <= set(ids)


def test_other_drawings_have_other_names(tmp_path: Path) -> None:
    first, second = drawn(tmp_path / "a.svg"), drawn(tmp_path / "b.svg", nudge=0.01)
    assert first != second
    assert first.split(b'clipPath id="')[1][:9] != second.split(b'clipPath id="')[1][:9]


def test_pictures_have_neither_date_nor_version(tmp_path: Path) -> None:
    figure, axes = plot(2.0, 1.0)
    axes.plot([1, 2])
    for suffix in (".svg", ".png"):
        data = save(figure, tmp_path / f"a{suffix}").read_bytes()
        assert b"<dc:date>" not in data
        assert b"Software" not in data


def test_two_processes_draw_the_same(tmp_path: Path) -> None:
    for seed in "12":
        command = [sys.executable, "-m", "accelflow", "trace", "show", "T4", "--out"]
        subprocess.run(
            [*command, tmp_path / f"{seed}.svg"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=300,
        )
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
