"""The picture of a comparison: P99 bars and mean stars, as Fig. 11 of the AccelFlow paper."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from accelflow.files import write_whole
from accelflow.report.results import Comparison

#: Okabe and Ito's palette, distinct for every common kind of colour vision; AccelFlow's vermilion
#: also stands out in grey, between lighter neighbours.
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

#: Settings of all pictures.
STYLE: Final[dict[Any, Any]] = {
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": 9.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "accelflow",
}

#: The hatching of bars by chip.
_HATCHES = ("", "////", "....", "xxxx", "----", "||||")

#: The share of a service's slot that its bars fill together.
_GROUP_WIDTH = 0.84


def write_plots(comparison: Comparison, stem: Path) -> list[Path]:
    """Write `stem`.png and `stem`.svg, equal bytes for equal results, and return their paths.

    Raises OSError if a file cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    with mpl.rc_context(STYLE):
        figure = draw(comparison)
        for path in paths:
            # No date and no version: equal results are equal bytes.
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            save = partial(figure.savefig, dpi=200, metadata=metadata)
            write_whole(path, save)
    return paths


def draw(comparison: Comparison) -> Figure:
    """Draw the comparison at the width of a page."""
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_yscale("log")
    handles = _draw_bars(axes, comparison)
    _label(axes, comparison)
    figure.legend(
        *zip(*handles, strict=True),
        loc="outside upper center",
        ncols=len(handles) if not comparison.chips else 4,
        frameon=False,
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.0,
        fontsize=8.5,
    )
    return figure


def _draw_bars(axes: Axes, comparison: Comparison) -> list[tuple[object, str]]:
    services = comparison.service_names
    width = _GROUP_WIDTH / len(comparison.systems)
    handles: list[tuple[object, str]] = []
    stars: object = None
    for index, system in enumerate(comparison.systems):
        offset = (index - (len(comparison.systems) - 1) / 2) * width
        shown = [
            (place + offset, result.p99_us, result.mean_us, result.saturated)
            for place, name in enumerate(services)
            if (result := system.service(name)) is not None
            and result.p99_us is not None
            and result.mean_us is not None
        ]
        places = [place for place, *_ in shown]
        bars = axes.bar(
            places,
            [p99_us for _, p99_us, _, _ in shown],
            width=width * 0.92,
            color=COLORS[system.orchestrator],
            # Chips are told apart by their hatching, in the order of the results.
            hatch=_HATCHES[comparison.chips.index(system.chip) % len(_HATCHES)]
            if system.chip is not None
            else None,
            edgecolor="black",
            linewidth=0.4,
        )
        means_us = [mean_us for _, _, mean_us, _ in shown]
        stars = axes.scatter(places, means_us, marker="*", s=20, color="black", lw=0, zorder=3)
        for place, p99_us, _, saturated in shown:
            if saturated:
                _mark_saturated(axes, place, p99_us)
        handles.append((bars, system.label))
    return [*handles, (stars, "mean")]


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
    axes.set_xticks(range(len(services)), services)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5 - 0.05, len(services) - 0.5 + 0.05)
    axes.set_ylabel("P99 latency (\N{MICRO SIGN}s)")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", which="major", color="#CCCCCC", linewidth=0.6)
    low, high = _latency_range(comparison)
    axes.set_ylim(low / 2, high * 2)
    saturated = any(r.saturated for system in comparison.systems for r in system.services)
    caption = (
        f"{comparison.workload}, {comparison.arrivals.get('kind', 'unknown')} arrivals,"
        f" {comparison.placement}, profile {comparison.profile}, seed {comparison.seed}"
    )
    if saturated:
        caption += "   (\N{UPWARDS ARROW} cannot keep up: grows with the length of the run)"
    axes.set_xlabel(caption, fontsize=7.5, color="#444444", labelpad=6)


def _latency_range(comparison: Comparison) -> tuple[float, float]:
    """Return the lowest and highest latency to show, or an arbitrary decade if there is none."""
    results = [result for system in comparison.systems for result in system.services]
    shown = [value for r in results for value in (r.mean_us, r.p99_us) if value]
    return (min(shown), max(shown)) if shown else (1.0, 10.0)
