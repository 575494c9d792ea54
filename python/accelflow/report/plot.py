"""Pictures of a comparison: bars of latencies as in the paper's Fig. 11, bars of parts, tails."""

from collections.abc import Callable, Sequence
from io import BytesIO
from math import fsum
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from accelflow.errors import file_path, refused
from accelflow.pictures import STYLE, label_decades, save
from accelflow.report.results import Comparison, Interval, SystemResult

#: The colours of orchestrators by identifier: Okabe and Ito's palette, distinct for every common
#: kind of colour vision. AccelFlow's vermilion also stands out in grey, between lighter neighbours.
COLORS: Final = {
    "non_acc": "#999999",
    "cpu_centric": "#56B4E9",
    "relief": "#F0E442",
    "cohort": "#009E73",
    "cohort_polling": "#7FCEB9",
    "per_acc_type_q": "#E6D98A",
    "direct_list": "#B3A369",
    "direct": "#E69F00",
    "cntr_flow": "#0072B2",
    "accelflow": "#D55E00",
    "accelflow_deadline": "#8C3D00",
    "accelflow_edf": "#4A2000",
    "ideal": "#CC79A7",
}

#: The total number of letters of services' names that fit side by side below a picture.
_LABELS: Final = 90

#: Okabe and Ito's palette, for bars and lines that are not systems.
PALETTE: Final = (
    "#0072B2",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#E69F00",
    "#D55E00",
    "#CC79A7",
    "#999999",
)

#: The colours of orchestrators that are written in Python.
IN_PYTHON: Final = ("#332288", "#882255", "#117733", "#44AA99")

#: The hatching of bars and the dashes of lines by chip.
_HATCHES = ("", "////", "....", "xxxx", "----", "||||")
_DASHES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 4)))

#: The share of a service's slot on the x axis that its bars fill together.
_GROUP_WIDTH = 0.84

#: The number of slowest requests that the tail does not draw.
_FEWEST_BEYOND: Final = 10


class Picture(Figure):
    """A matplotlib figure that notebooks show, even if pyplot is not used."""

    def __init__(self, **settings: Any) -> None:
        """Make an empty figure of 7.5 by 3.4 inches; `settings` go to matplotlib's Figure."""
        super().__init__(figsize=(7.5, 3.4), layout="constrained", **settings)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=150)
        return file.getvalue()


def figure(comparison: Comparison, kind: str) -> Figure:
    """Return a picture of the comparison; `kind` is ``latency``, ``parts`` or ``tail``.

    The kinds are those of :meth:`accelflow.report.views.Viewed.plot`. Raises InputError for another
    kind, and for the kind ``tail`` if the results have no samples.
    """
    if kind not in _KINDS:
        raise refused("kind", kind, known=_KINDS)
    with mpl.rc_context(STYLE):
        return _KINDS[kind](comparison)


def write_plots(comparison: Comparison, stem: str | PathLike[str]) -> list[Path]:
    """Write the latency picture of the comparison as `stem`.png and `stem`.svg; return the paths.

    Equal results give equal bytes. Raises OSError if a file cannot be written.
    """
    stem = file_path("stem", stem)
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    with mpl.rc_context(STYLE):
        figure = draw(comparison)
        return [save(figure, path, dpi=200) for path in paths]


def draw(comparison: Comparison) -> Figure:
    """Return the picture of P99 (bars) and mean (stars) of each service under each system."""
    picture = Picture()
    axes = picture.add_subplot()
    axes.set_yscale("log")
    handles = _draw_bars(axes, comparison)
    _label(axes, comparison)
    _add_legend(picture, handles, len(handles))
    return picture


def _add_legend(picture: Figure, handles: list[tuple[object, str]], columns: int) -> None:
    picture.legend(
        *zip(*handles, strict=True),
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.0,
        fontsize=8.5,
    )


def _draw_parts(comparison: Comparison) -> Figure:
    """Draw a stacked bar of the mean latency's parts for each system."""
    picture = Picture()
    axes = picture.add_subplot()
    shown = [(system, _mean_parts(system)) for system in comparison.systems]
    names = list(dict.fromkeys(part for _, parts in shown for part in parts))
    handles: list[tuple[object, str]] = []
    lefts = [0.0] * len(shown)
    for index, name in enumerate(names):
        widths = [parts.get(name, 0.0) for _, parts in shown]
        color = PALETTE[index % len(PALETTE)]
        look: dict[str, Any] = {"color": color, "edgecolor": "black", "linewidth": 0.4}
        bars = axes.barh(range(len(shown)), widths, left=lefts, height=0.7, **look)
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
        handles.append((bars, name))
    axes.set_yticks(range(len(shown)), [system.label for system, _ in shown])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("mean latency of the services by cause (\N{MICRO SIGN}s)")
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.6)
    if handles:
        _add_legend(picture, handles, 4)
    return picture


def _mean_parts(system: SystemResult) -> dict[str, float]:
    """Return the mean over the services of each part of the mean latency, in us by part."""
    known = [result.spent_us for result in system.services if result.spent_us]
    names = dict.fromkeys(part for parts in known for part in parts)
    return {name: fsum(parts.get(name, 0.0) for parts in known) / len(known) for name in names}


def _draw_tail(comparison: Comparison) -> Figure:
    """Draw the share of all services' requests that take longer than a time, by system."""
    if comparison.samples is None:
        allowed = "must be latency or parts; for tail, run with samples=True"
        raise refused("kind", "tail", allowed)
    picture = Picture()
    axes = picture.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    handles: list[tuple[object, str]] = []
    for system in comparison.systems:
        ours = None if system.samples is None else system.samples["response_us"].to_numpy()
        times = np.sort(np.empty(0) if ours is None else ours)
        beyond = 1 - np.arange(1, len(times) + 1) / max(len(times), 1)
        drawn = slice(0, max(len(times) - _FEWEST_BEYOND, 0))
        look: dict[str, Any] = {
            "color": _color(comparison, system),
            "ls": _by_chip(comparison, system, _DASHES),
            "lw": 1.4,
        }
        (line,) = axes.step(times[drawn], beyond[drawn], where="post", **look)
        handles.append((line, system.label))
    axes.set_xlabel("response time (\N{MICRO SIGN}s)")
    axes.set_ylabel("share of requests that take longer")
    label_decades(axes.xaxis)
    axes.grid(which="major", color="#CCCCCC", linewidth=0.6)
    _add_legend(picture, handles, min(len(handles), 6))
    return picture


#: The function that draws each kind of picture, by kind.
_KINDS: Final[dict[str, Callable[[Comparison], Figure]]] = {
    "latency": draw,
    "parts": _draw_parts,
    "tail": _draw_tail,
}


def _color(comparison: Comparison, system: SystemResult) -> str:
    """Return the colour of `system`, which is the same on all chips."""
    if system.orchestrator in COLORS:
        return COLORS[system.orchestrator]
    names = (other.orchestrator for other in comparison.systems)
    in_python = list(dict.fromkeys(name for name in names if name not in COLORS))
    return IN_PYTHON[in_python.index(system.orchestrator) % len(IN_PYTHON)]


def _by_chip(comparison: Comparison, system: SystemResult, looks: Sequence[Any]) -> Any:
    """Return which of `looks` tells the chip of `system` from others, in the order of results."""
    chip = 0 if system.chip is None else comparison.chips.index(system.chip)
    return looks[chip % len(looks)]


def _draw_bars(axes: Axes, comparison: Comparison) -> list[tuple[object, str]]:
    services = comparison.service_names
    width = _GROUP_WIDTH / len(comparison.systems)
    handles: list[tuple[object, str]] = []
    stars: object = None
    for index, system in enumerate(comparison.systems):
        offset = (index - (len(comparison.systems) - 1) / 2) * width
        shown = [
            (place + offset, result, result.latencies.p99_us, result.latencies.mean_us)
            for place, name in enumerate(services)
            if (result := system.service(name)) is not None
            and result.latencies.p99_us is not None
            and result.latencies.mean_us is not None
        ]
        places = [place for place, *_ in shown]
        bars = axes.bar(
            places,
            [p99_us for *_, p99_us, _ in shown],
            width=width * 0.92,
            color=_color(comparison, system),
            hatch=_by_chip(comparison, system, _HATCHES),
            edgecolor="black",
            linewidth=0.4,
        )
        means_us = [mean_us for *_, mean_us in shown]
        stars = axes.scatter(places, means_us, marker="*", s=20, color="black", lw=0, zorder=3)
        for place, result, p99_us, _ in shown:
            _draw_interval(axes, place, result.intervals.get("p99_us"))
            if result.saturated:
                _mark_saturated(axes, place, p99_us)
        handles.append((bars, system.label))
    return [*handles, (stars, "mean")]


def _draw_interval(axes: Axes, place: float, interval: Interval | None) -> None:
    """Draw the interval of a P99 if there are several seeds."""
    if interval is not None:
        ends = [max(interval.low, 0.0), interval.high]
        axes.plot([place, place], ends, color="black", lw=1.0, zorder=2.5)


def _mark_saturated(axes: Axes, place: float, p99_us: float) -> None:
    """Draw an arrow over a bar that grows with the length of the run."""
    axes.annotate(
        "\N{UPWARDS ARROW}",
        (place, p99_us),
        xytext=(0, 1),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7,
    )


def _label(axes: Axes, comparison: Comparison) -> None:
    services = comparison.service_names
    # Long names would be printed over each other.
    long = sum(map(len, services)) > _LABELS
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    axes.set_xticks(range(len(services)), services, **turned)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5 - 0.05, len(services) - 0.5 + 0.05)
    axes.set_ylabel("P99 latency (\N{MICRO SIGN}s)")
    axes.grid(axis="y", which="major", color="#CCCCCC", linewidth=0.6)
    low, high = _latency_range(comparison)
    axes.set_ylim(low / 2, high * 2)
    label_decades(axes.yaxis)
    saturated = any(r.saturated for system in comparison.systems for r in system.services)
    caption = (
        f"{comparison.workload}, {comparison.arrivals.get('kind', 'unknown')} arrivals,"
        f" {comparison.placement}, profile {comparison.profile}, {comparison.seeds_text}"
    )
    if saturated:
        caption += "   (\N{UPWARDS ARROW} cannot keep up: grows with the length of the run)"
    axes.set_xlabel(caption, fontsize=7.5, color="#444444", labelpad=6)


def _latency_range(comparison: Comparison) -> tuple[float, float]:
    """Return the lowest and highest latency to show, or an arbitrary decade if there is none."""
    results = [result for system in comparison.systems for result in system.services]
    shown = [value for r in results for value in (r.latencies.mean_us, r.latencies.p99_us) if value]
    return (min(shown), max(shown)) if shown else (1.0, 10.0)
