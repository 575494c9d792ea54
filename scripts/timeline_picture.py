"""Draws one request from a timeline, a file of Perfetto, under each system in it.

Perfetto's own page needs a network, so the picture is drawn from the same file. The picture has the
request's slices and arrows, and in a pale colour the other work of the hardware meanwhile.
"""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from perfetto_file import Read, Slice, read_timeline

ACCELERATORS: Final = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")
#: The colours of slices, by the kind of row, and in the request's own row by the part of its time.
COLOURS: Final = {
    "core": "#0b5cad",
    "cpu": "#0b5cad",
    "cores": "#0b5cad",
    "manager": "#c4570a",
    "dispatcher": "#c4570a",
    "accelerator": "#2e7d32",
    "A-DMA": "#7a7a12",
    "communication": "#7a7a12",
    "queueing": "#9aa3ad",
    "remote": "#8250a8",
}
PALE: Final = "#d7dbe0"


def row_of(path: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the name and the kind of the picture's row for a row of the timeline, or None."""
    _, group, *inner = path
    if group == "requests":
        return "the request", "request"
    if group == "cores":
        return inner[0], "core"
    if group == "manager":
        return "manager", "manager"
    if group == "A-DMA":
        return "A-DMA", "A-DMA"
    if group in ACCELERATORS:
        return group, "dispatcher" if inner[0] == "dispatcher" else "accelerator"
    return None  # links and queues are left out


def draw(file: Path, systems: dict[str, str], request: int) -> Figure:
    """Return the picture: a panel for each of `systems`, which has names by identifier."""
    read = read_timeline(file)
    found = {system: slices_of(read, system, request) for system in systems}
    heights = [len(rows_of(found[system])) + 1.5 for system in systems]
    figure = Figure(figsize=(10.6, 0.21 * sum(heights) + 0.5), layout="constrained", dpi=100)
    panels = figure.subplots(len(systems), 1, sharex=True, height_ratios=heights, squeeze=False)
    for axes, (system, name) in zip(panels[:, 0], systems.items(), strict=True):
        panel(axes, found[system], name)
    panels[-1, 0].set_xlabel("us since the request arrived", fontsize=9)
    return figure


def slices_of(read: Read, system: str, request: int) -> list[tuple[Slice, str, str, bool]]:
    """Return the slices of a system, each with row, kind, and whether it is the request's."""
    found = []
    for each in read.on(system):
        place = row_of(read.path(each.track))
        if place is not None:
            own = each.arguments.get("request") == request and bool(each.flows or each.ends)
            found.append((each, *place, own or place[1] == "request"))
    return found


def rows_of(found: list[tuple[Slice, str, str, bool]]) -> list[str]:
    """Return the rows of the request: its own, then the cores and units that it passes."""
    used = {row for _, row, _, own in found if own}
    cores = sorted(row for row in used if row.startswith("core "))
    order = ["the request", *cores, "manager", *ACCELERATORS, "A-DMA"]
    return [row for row in order if row in used]


def panel(axes: Axes, found: list[tuple[Slice, str, str, bool]], name: str) -> None:
    """Draw the panel of one system; `found` are its slices, and `name` is the system's name."""
    rows = rows_of(found)
    whole = max((entry for entry, row, _, _ in found if row == rows[0]), key=length)
    arrival = whole.from_ns
    for entry, row, kind, own in sorted(found, key=lambda each: each[3]):
        if row not in rows or entry is whole or entry.instant:
            continue
        left, width = (entry.from_ns - arrival) / 1e3, max(length(entry) / 1e3, 0.06)
        thick = 0.34 if kind == "dispatcher" else 0.72
        colour = COLOURS[str(entry.arguments.get("part", kind))] if own else PALE
        axes.barh(rows.index(row), width, thick, left, color=colour, edgecolor="white", lw=0.3)
    way = [(entry, rows.index(row)) for entry, row, kind, own in found if own and kind != "request"]
    arrows(axes, way, arrival)
    axes.set_yticks(range(len(rows)), labels=rows, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.7)
    axes.set_xlim(-0.5, None)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(f"{name}: {length(whole) / 1e3:.1f} us", loc="left", fontsize=10, weight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#eceff2", zorder=0)
    axes.set_axisbelow(True)


def arrows(axes: Axes, own: list[tuple[Slice, int]], arrival: int) -> None:
    """Draw the path of the request from slice to slice, in the order of time."""
    own = sorted(own, key=lambda each: each[0].from_ns)
    for (entry, start), (other, end) in pairwise(own):
        if start != end:
            at = [(entry.until_ns - arrival) / 1e3, (other.from_ns - arrival) / 1e3]
            axes.plot(at, [start, end], color="#22272e", lw=0.7, zorder=3)


def length(segment: Any) -> int:
    """Return how long a slice is, in ns."""
    return int(segment.until_ns - segment.from_ns)
