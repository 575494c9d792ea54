"""Draw plots in one style, and write them so that equal drawings give equal bytes."""

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from accelflow.files import write_whole

__all__ = ["PLAIN", "STYLE", "label_decades", "plot", "save"]

#: Settings of matplotlib for all pictures: its own font, drawn as paths, so that files are equal on
#: every machine.
PLAIN: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "path",
    "svg.hashsalt": "accelflow",
}

#: Settings of matplotlib for plots.
STYLE: Final[dict[Any, Any]] = {
    **PLAIN,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
}

_ID: Final = re.compile(r'(?<=\bid=")[a-z][0-9a-f]{10}(?=")')
_REFERENCE: Final = re.compile(r'(?<=")[a-z][0-9a-f]{10}(?=")|(?<=#)[a-z][0-9a-f]{10}(?=[")])')


def plot(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty plot, a figure with its axes. `width` and `height` are in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def label_decades(axis: Axis, form: Callable[[float], str] = "{:,.10g}".format) -> None:
    """Label a logarithmic axis with numbers, of which `form` returns the text.

    Powers of ten are labelled. On an axis of less than two decades, where these are one or two, 2
    and 5 times a power of ten are labelled, too. The limits of the axis must be set before.
    """
    low, high = sorted(axis.get_view_interval())
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path, dpi: float = 160) -> Path:
    """Write `figure` to `path`, as PNG or SVG by its suffix, and return `path`.

    Equal drawings give equal files on all machines: files contain no date and no version, and
    coordinates are rounded, since their last digits differ between machines. Raises OSError if the
    file cannot be written.
    """
    svg = path.suffix == ".svg"
    metadata = {"Date": None} if svg else {"Software": None}
    form = path.suffix.removeprefix(".") or None
    drawn = partial(figure.savefig, dpi=dpi, metadata=metadata, format=form)

    def write(place: Path) -> None:
        with mpl.rc_context({name: PLAIN[name] for name in ("svg.fonttype", "svg.hashsalt")}):
            drawn(place)
        if svg and place.is_file():
            place.write_text(_numbered(place.read_text(encoding="utf-8")), encoding="utf-8")

    write_whole(path, write)
    return path


def _numbered(svg: str) -> str:
    """Rename the parts of `svg` by their content and order.

    Matplotlib names clipping areas by exact coordinates, of which a file has only six digits.
    """
    names = list(dict.fromkeys(_ID.findall(svg)))
    known = frozenset(names)
    shown = _REFERENCE.sub(lambda found: "" if found[0] in known else found[0], svg)
    mark = hashlib.sha256(shown.encode()).hexdigest()[:8]
    new = {name: f"{name[0]}{mark}-{place}" for place, name in enumerate(names)}
    return _REFERENCE.sub(lambda found: new.get(found[0], found[0]), svg)
