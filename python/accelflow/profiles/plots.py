"""Pictures of profiles in the form of the Accelerometer paper's: stacked shares, and IPC."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from accelflow.errors import file_path
from accelflow.pictures import STYLE, plot, save
from accelflow.profiles.categories import OTHER, PARTS, Leaf
from accelflow.profiles.comparison import compare
from accelflow.profiles.references import Reference, peak_ipc, references

#: Okabe and Ito's palette, then the same once more with hatches: nine categories are the most.
_COLORS: Final = (
    "#0072B2",
    "#F0E442",
    "#D55E00",
    "#56B4E9",
    "#009E73",
    "#CC79A7",
    "#E69F00",
)
_REST: Final = "#BBBBBB"

_TITLES: Final = {"leaf": "leaf functions", "functionality": "functionalities"}

#: The width of a picture in inches.
_WIDTH_IN: Final = 7.0

#: The shares that are written into their bar, in per cent.
_WRITTEN: Final = 5.0


@dataclass(frozen=True)
class _Bar:
    """A bar of a picture: its name, its shares in per cent, and a remark at its end."""

    name: str
    shares: Mapping[str, float]
    remark: str = ""


@dataclass(frozen=True)
class Drawing:
    """A picture that stands alone or is a part of another, with its height in inches.

    `draw` draws into axes, and puts the legend into the figure or subfigure that contains them.
    """

    height_in: float
    draw: Callable[[FigureBase, Axes], None]

    def alone(self) -> Figure:
        """Return the picture as a figure of its own, not as a part of another."""
        figure, axes = plot(_WIDTH_IN, self.height_in)
        self.draw(figure, axes)
        return figure


def write_plots(
    compared: Mapping[str, Any],
    breakdowns: Mapping[str, Mapping[str, Any]],
    directory: str | PathLike[str],
) -> list[Path]:
    """Write the :func:`figures` of `compared` and `breakdowns` to `directory` as PNG.

    Returns the paths. Raises OSError if a file cannot be written.
    """
    directory = file_path("directory", directory)
    with mpl.rc_context(STYLE):
        drawn = figures(compared, breakdowns)
        return [save(figure, directory / f"{name}.png") for name, figure in drawn.items()]


def figures(
    compared: Mapping[str, Any], breakdowns: Mapping[str, Mapping[str, Any]]
) -> dict[str, Figure]:
    """Draw `compared`, the comparison of `breakdowns`; return the figures by name.

    The figures are like those of the Accelerometer paper. Each has a stacked bar for each profile:
    `leaf` and `functionality` as shares of the first profile (Figs. 2, 9 and 16 to 18),
    `orchestration` (Fig. 1), `copies` by functionality (Fig. 4), and one for each leaf category
    that is divided into parts and has weight (Figs. 3 and 5 to 7). Bars of the paper are added
    where its text has the numbers. If instructions were counted, `ipc-leaf` and
    `ipc-functionality` have the instructions per cycle of each category (Figs. 8 and 10).
    """
    found: dict[str, Drawing] = {}
    for view, title in _TITLES.items():
        found[view] = _shares_of_first(compared["names"], compared[view], title)
        if all(each is not None for each in compared["ipc"]):
            found[f"ipc-{view}"] = _ipc(compared["names"], compared[view])
    found |= _details(breakdowns)
    return {name: drawing.alone() for name, drawing in found.items()}


def characterised(
    breakdowns: Mapping[str, Mapping[str, Any]], *, least_ipc: float = 0.0
) -> dict[str, Drawing]:
    """Draw `breakdowns` in the form of Accelerometer's Figs. 1 to 10; return pictures by name.

    Unlike in :func:`figures`, all shares of a profile are shares of its own cycles, since the
    profiles may be of different services. The IPC pictures leave out categories whose IPC is below
    `least_ipc` in every profile, or whose instructions were not counted.
    """
    found: dict[str, Drawing] = {}
    for view, title in _TITLES.items():
        bars = [
            _Bar(name, {row["category"]: 100 * row["share_ratio"] for row in result[view]})
            for name, result in breakdowns.items()
        ]
        found[view] = _stacked(bars, f"cycles by {title} (% of all)")
        rows = compare(breakdowns)[view]
        counted = [
            row
            for row in rows
            if any((each["ipc"] or 0.0) >= least_ipc for each in row["profiles"])
        ]
        found[f"ipc-{view}"] = _ipc(list(breakdowns), counted)
    return found | _details(breakdowns)


def _details(breakdowns: Mapping[str, Mapping[str, Any]]) -> dict[str, Drawing]:
    """Core work and orchestration, the parts of leaf categories, and who copies."""
    found = {"orchestration": _orchestration(breakdowns)}
    for leaf in PARTS:
        bars = _parts(breakdowns, leaf)
        if bars:
            label = f"cycles in {leaf.replace('_', ' ')} functions (% of these)"
            found[str(leaf)] = _stacked([*bars, *_known_parts(leaf)], label)
    bars = _purposes(breakdowns)
    if bars:
        found["copies"] = _stacked(bars, "cycles of memory copies by functionality (%)")
    return found


def _look(place: int, category: str) -> dict[str, Any]:
    if category in (OTHER, "unclassified"):
        return {"facecolor": _REST}
    hatch = "//" if place >= len(_COLORS) else None
    return {"facecolor": _COLORS[place % len(_COLORS)], "hatch": hatch}


def _shares_of_first(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str
) -> Drawing:
    bars = [
        _Bar(
            name,
            {
                row["category"]: 100 * row["profiles"][number]["share_of_first_ratio"]
                for row in rows
            },
        )
        for number, name in enumerate(names)
    ]
    of = "" if len(names) == 1 else f" of {names[0]}"
    return _stacked(bars, f"cycles by {title} (% of all{of})")


def _stacked(bars: Sequence[_Bar], label: str) -> Drawing:
    return Drawing(1.7 + 0.45 * len(bars), partial(_draw_stacked, bars, label))


def _draw_stacked(bars: Sequence[_Bar], label: str, figure: FigureBase, axes: Axes) -> None:
    """Draw `bars` below each other, with one legend for the shares that occur."""
    names = dict.fromkeys(name for bar in bars for name in bar.shares)
    used = [name for name in names if any(bar.shares.get(name) for bar in bars)]
    used.sort(key=lambda name: name in (OTHER, "unclassified"))
    for place, bar in enumerate(bars):
        left = 0.0
        for number, name in enumerate(used):
            share = bar.shares.get(name, 0.0)
            if not share:
                continue
            look = _look(number, name)
            axes.barh(place, share, left=left, edgecolor="black", linewidth=0.4, **look)
            if share >= _WRITTEN:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
                at = (left + share / 2, place)
                axes.text(*at, f"{share:.0f}", ha="center", va="center", bbox=box)
            left += share
        if bar.remark:
            spot: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(bar.remark, (left, place), fontsize=8, annotation_clip=False, **spot)
    handles = [
        mpl.patches.Patch(edgecolor="black", lw=0.4, **_look(number, name))
        for number, name in enumerate(used)
    ]
    labels = [name.replace("_", " ") for name in used]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel(label)


def _orchestration(breakdowns: Mapping[str, Mapping[str, Any]]) -> Drawing:
    """Draw core work beside orchestration, and the services of which the paper states both."""
    bars = []
    for name, result in breakdowns.items():
        around = result["orchestration"]
        shares = {
            "core work": 100 * around["core_ratio"],
            "orchestration": 100 * around["orchestration_ratio"],
            "unclassified": 100 * around["unknown_ratio"],
        }
        bars.append(_Bar(name, shares))
    (web,) = references("functionality", "application_logic")
    (services,) = references("orchestration", "orchestration")
    least, most = services.ratio
    for name, rest in (
        ("Web (paper)", 1 - web.ratio[0]),
        ("ML services, least (paper)", least),
        ("ML services, most (paper)", most),
    ):
        bars.append(_Bar(name, {"core work": 100 * (1 - rest), "orchestration": 100 * rest}))
    return _stacked(bars, "cycles in core work and in orchestration (% of all)")


def _parts(breakdowns: Mapping[str, Mapping[str, Any]], leaf: Leaf) -> list[_Bar]:
    """The parts of a leaf category in each profile that has some."""
    bars = []
    for name, result in breakdowns.items():
        parts = result["details"]["parts"].get(leaf)
        if parts:
            bars.append(_Bar(name, _in_order(parts, PARTS[leaf]), _of_all(result, leaf)))
    return bars


def _in_order(parts: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Shares in per cent, in the order of `names`, so that colours are those of other profiles."""
    return {name: 100 * parts.get(name, 0.0) for name in (*names, OTHER)}


def _of_all(result: Mapping[str, Any], leaf: Leaf) -> str:
    (share,) = (row["share_ratio"] for row in result["leaf"] if row["category"] == leaf)
    return f"{100 * share:.1f} % of all"


def _known_parts(leaf: Leaf) -> list[_Bar]:
    """Google's copies and allocations, of which the paper has the shares (Fig. 3)."""
    if leaf is not Leaf.MEMORY:
        return []
    known: dict[tuple[str, ...], Reference] = {
        each.parts: each
        for each in references("leaf", Leaf.MEMORY)
        if each.subject == "Google's fleet"
    }
    both, copies = known["copy", "allocation"].ratio[0], known["copy",].ratio[0]
    shares = {"copy": 100 * copies / both, "allocation": 100 * (1 - copies / both)}
    remark = f"{100 * both:.0f} % of all, in these two"
    return [_Bar("Google's fleet (paper)", shares, remark)]


def _purposes(breakdowns: Mapping[str, Mapping[str, Any]]) -> list[_Bar]:
    """The functionalities that copy memory, in each profile that copies."""
    found = {
        name: result["details"]["by_functionality"].get("copies")
        for name, result in breakdowns.items()
    }
    return [
        _Bar(name, {purpose: 100 * share for purpose, share in shares.items()})
        for name, shares in found.items()
        if shares
    ]


def _ipc(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Drawing:
    return Drawing(3.0, partial(_draw_ipc, names, rows))


def _draw_ipc(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], figure: FigureBase, axes: Axes
) -> None:
    """Draw the IPC of each category, with half of the peak of the paper's processors."""
    used = [row for row in rows if any(each["ipc"] is not None for each in row["profiles"])]
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [place + (number - (len(names) - 1) / 2) * width for place in range(len(used))]
        heights = [row["profiles"][number]["ipc"] or 0.0 for row in used]
        look = _look(number, "")
        axes.bar(places, heights, width, label=name, edgecolor="black", linewidth=0.4, **look)
    half = peak_ipc() / 2
    label = f"half of the peak of {peak_ipc():.1f} (paper)"
    axes.axhline(half, color="black", linestyle="--", linewidth=0.9, label=label)
    labels = [row["category"].replace("_", " ") for row in used]
    axes.set_xticks(range(len(used)), labels, rotation=30, ha="right")
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("instructions per cycle")
    figure.legend(loc="outside upper center", ncols=min(4, len(names) + 1), frameon=False)
