"""The figures of Accelerometer, drawn in the paper's form, with marks for values in its text.

The paper prints no numbers beside its curves and bars. Values that the paper's text states are
drawn in black. The distributions of payload sizes were measured on this project's live server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from accelflow.companions import case_studies
from accelflow.companions.drawing import panels_figure, paper_line, paper_mark, percent
from accelflow.companions.live_server_figures import profile_figures
from accelflow.reproduce.pictures import PALETTE

__all__ = ["figures"]

#: The case studies with their figures in the paper, and what their kernel is called there.
_STUDIES: Final[Mapping[str, tuple[str, str]]] = {
    "aes_ni_cache1": ("Fig. 16: AES-NI for Cache1", "secure I/O"),
    "encryption_cache3": ("Fig. 17: encryption for Cache3", "secure I/O"),
    "inference_ads1": ("Fig. 18: inference for Ads1", "inference"),
}

_COLORS: Final[Mapping[str, str]] = {
    case_studies.REST: "#BBBBBB",
    "kernel on the host": "#0072B2",
    "waiting for the accelerator": "#D55E00",
    "setup (o0)": "#F0E442",
    "transfer (L)": "#56B4E9",
    "queue (Q)": "#CC79A7",
    "thread switches (o1)": "#009E73",
    case_studies.OVERHEAD: "#E69F00",
    case_studies.FREED: "white",
}

#: The paper's figures of payload sizes: the kind of size, the title, the size in bytes that the
#: paper's text mentions, and what the text says of it.
_SIZES: Final[Mapping[str, tuple[str, str, float, str]]] = {
    "fig15": (
        "encryption",
        "Fig. 15: bytes encrypted",
        512,
        "paper, Cache1: below\n512 B frequently,\nfrom about 4 B on",
    ),
    "fig19": ("compression", "Fig. 19: bytes compressed", 425, ""),
    "fig21": (
        "copies",
        "Fig. 21: bytes copied",
        512,
        "paper: most services\noften copy below 512 B",
    ),
    "fig22": (
        "allocations",
        "Fig. 22: bytes allocated",
        512,
        "paper: typically\nbelow 512 B",
    ),
}


def figures(results: Mapping[str, Any]) -> Mapping[str, Figure]:
    """Draw all figures of the Accelerometer paper; return them by name.

    `results` is :attr:`accelflow.companions.outcome.PaperResult.results` of our results for this
    paper.
    """
    studies, bars = results["studies"], results["recommendations"]
    sizes = results["live_server"]["sizes"]
    return {
        "table6": panels_figure(
            {"Table 6: gains, and the errors of the estimates": partial(_gains, studies)},
            columns=1,
            height=2.9,
        ),
        "fig16-18": panels_figure(
            {
                title: partial(_stacks, studies[case], kernel)
                for case, (title, kernel) in _STUDIES.items()
            },
            columns=3,
            width=9.0,
            height=3.4,
        ),
        "fig20": panels_figure(
            {"Fig. 20: gains by overhead and acceleration": partial(_recommended, bars)},
            columns=1,
            width=9.0,
            height=3.8,
        ),
        "fig15-22": panels_figure(
            {
                title: partial(_sizes, name, sizes[kind])
                for name, (kind, title, _, _) in _SIZES.items()
            },
            columns=2,
            height=2.6,
        ),
        **profile_figures(results["live_server"]["profiles"]),
    }


def _gains(studies: Mapping[str, Any], axes: Axes) -> None:
    """Draw our estimated gains beside the paper's measurements and estimates (Table 6)."""
    for place, case in enumerate(_STUDIES):
        estimated, measured = (
            studies[case][f"{name}_ratio"] - 1 for name in ("estimated", "measured")
        )
        for shift, gain, color, label in (
            (-0.2, estimated, PALETTE[0], "estimated here"),
            (0.2, measured, PALETTE[5], "measured in production (paper)"),
        ):
            look: dict[str, Any] = {"color": color, "edgecolor": "black", "linewidth": 0.4}
            axes.bar(place + shift, gain, 0.38, label=label, **look)
        paper_mark(axes, place - 0.2, f"accelerometer.case_studies.{case}")
        axes.annotate(
            f"{100 * (estimated - measured):+.1f} points",
            (place, max(estimated, measured)),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    titles = [title.partition(": ")[2] for title, _ in _STUDIES.values()]
    axes.set_xticks(range(len(titles)), titles)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 0.85)
    axes.set_ylabel("speedup")
    percent(axes)


def _stacks(study: Mapping[str, Any], kernel: str, axes: Axes) -> None:
    """Draw a host's time before and after offloading: by the equations, and in production."""
    columns = {
        "before": study["before"],
        "after,\nequations": study["after"],
        "after,\nproduction": study["production"],
    }
    for place, (name, parts) in enumerate(columns.items()):
        bottom = 0.0
        # What is freed is on top, so that the bars can be compared with that before.
        freed = 1 - sum(value for part, value in parts.items() if part != case_studies.FREED)
        shown = {**{p: v for p, v in parts.items() if p != case_studies.FREED}}
        shown |= {case_studies.FREED: freed} if place else {}
        for part, value in shown.items():
            is_freed = part == case_studies.FREED
            look: dict[str, Any] = {"hatch": "..." if is_freed else None, "linewidth": 0.5}
            axes.bar(
                place,
                value,
                0.72,
                bottom=bottom,
                color=_COLORS[part],
                edgecolor="#888888" if is_freed else "black",
                label=part if part != "kernel on the host" else "kernel, or its category",
                **look,
            )
            if value > 0.035:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                axes.text(
                    place,
                    bottom + value / 2,
                    f"{100 * value:.1f}",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    bbox=box,
                )
            bottom += value
        if name == "after,\nproduction":
            # The height up to which the text says that cycles are used.
            paper_line(axes, place, 1 - freed)
    axes.set_xticks(range(len(columns)), list(columns), fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(0, 1.02)
    axes.set_ylabel(f"host's cycles; kernel: {kernel}", fontsize=8)
    percent(axes)


def _recommended(bars: Sequence[Mapping[str, Any]], axes: Axes) -> None:
    """Draw the gains of Fig. 20 in throughput and latency, with the paper's numbers as marks."""
    least = -0.13
    groups: dict[str, list[int]] = {}
    for place, bar in enumerate(bars):
        groups.setdefault(bar["group"], []).append(place)
        for shift, name, color in ((-0.21, "speedup", PALETTE[0]), (0.21, "latency", PALETTE[5])):
            gain = bar[name]
            if gain is None:
                continue
            look: dict[str, Any] = {"color": color, "edgecolor": "black", "linewidth": 0.4}
            label = "throughput" if name == "speedup" else "latency reduction"
            axes.bar(place + shift, max(gain, least), 0.4, label=label, **look)
            suffix = "" if name == "speedup" else "_latency"
            if bar["key"]:
                paper_mark(
                    axes, place + shift, f"accelerometer.recommendations.{bar['key']}{suffix}"
                )
            below = gain < 0
            cut = ", cut off" if gain < least else ""
            axes.annotate(
                f"{100 * gain:.1f}{cut}",
                (place + shift, max(gain, least)),
                xytext=(12 if cut else 0, -10 if below else 4),
                textcoords="offset points",
                ha="right" if cut else "center",
                fontsize=7,
                annotation_clip=False,
            )
    names = [bar["bar"].replace(", ", ",\n").replace(" (", "\n(") for bar in bars]
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(len(bars)), names, fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    for name, places in groups.items():
        axes.text(
            sum(places) / len(places), 0.215, name, ha="center", fontsize=9, fontweight="bold"
        )
        if places[0]:
            axes.axvline(places[0] - 0.5, color="#888888", linewidth=0.6)
    axes.set_ylim(least - 0.02, 0.24)
    axes.set_ylabel("gain (%)")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))


def _sizes(name: str, sizes: Mapping[str, Sequence[float]], axes: Axes) -> None:
    """Draw the share of operations up to each size, with what the paper says of its services."""
    _, _, size, says = _SIZES[name]
    bytes_, shares = sizes["bytes"], sizes["cumulative_ratio"]
    axes.plot(bytes_, shares, color=PALETTE[0], linewidth=1.8, label="live server")
    if name == "fig19":
        _compressions(axes)
    else:
        axes.axvline(size, color="black", linewidth=1.0, linestyle="--", label="paper")
        at: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(says, (size, 0.06), xytext=(4, 0), fontsize=7.5, **at)
    axes.set_xscale("log", base=2)
    axes.set_xlim(1, 2.0**17)
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("bytes", fontsize=8)
    axes.set_ylabel("share up to this size")
    percent(axes)


def _compressions(axes: Axes) -> None:
    """Feed1's compressions that do not pay off the chip, by the printed numbers of those that do.

    The text has the size and the share for Sync. For Sync-OS and Async, Table 7 has the number of
    those that pay, and equations (4) and (7) the size.
    """
    for way, size, pays in case_studies.paying_compressions():
        printed = way == "sync"
        look: dict[str, Any] = {"color": "black", "markersize": 6}
        look |= {} if printed else {"markerfacecolor": "white"}
        label = "paper" if printed else "paper's Table 7, size by equation"
        axes.plot([size], [1 - pays], "s", label=label, **look)
        axes.annotate(
            f"Feed1, {way.replace('_', '-')}: {100 * pays:.1f} %\nabove {size:,.0f} B",
            (size, 1 - pays),
            xytext=(8, -16) if way != "async" else (-92, 2),
            textcoords="offset points",
            fontsize=7,
        )


def _short(value: float, _: int) -> str:
    for factor, suffix in ((1 << 20, "M"), (1 << 10, "K")):
        if value >= factor:
            return f"{value / factor:.0f}{suffix}"
    return f"{value:.0f}"
