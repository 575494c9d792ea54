"""The figures of Cerebros and ARCUS in the papers' forms, ours with what the papers' texts say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from accelflow.companions.outcome import Outcome
from accelflow.files import write_whole
from accelflow.report.plot import STYLE
from accelflow.reproduce.pictures import PALETTE

#: How a value of the paper is drawn.
_PAPER: Final[dict[str, Any]] = {
    "color": "black",
    "marker": "_",
    "markersize": 11,
    "linestyle": "none",
}
_PAPER_NAME: Final = "paper"

#: Each system of ARCUS's evaluation in one colour and line throughout.
_SYSTEMS: Final = {
    "Host_noTS": ("#999999", ":"),
    "Host_TS_reflex": ("#56B4E9", "--"),
    "Host_TS_firecracker": ("#E69F00", "-."),
    "Bypassed_noTS_panic": ("#0072B2", "--"),
    "Arcus": ("#D55E00", "-"),
}

_Panels = Mapping[str, Callable[[Axes], None]]


def write_pictures(outcome: Outcome, directory: Path) -> dict[str, list[Path]]:
    """Write PNG and SVG of each figure into `directory`; their paths by the figure's name.

    Equal outcomes are equal bytes. Raises OSError when a place cannot be written.
    """
    draw = {"cerebros": _cerebros, "arcus": _arcus}.get(outcome.paper)
    written: dict[str, list[Path]] = {}
    with mpl.rc_context(STYLE):
        for name, figure in draw(outcome.results).items() if draw else ():
            written[name] = [directory / f"{name}{suffix}" for suffix in (".png", ".svg")]
            for path in written[name]:
                # No date and no version: equal outcomes are equal bytes.
                metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
                write_whole(path, partial(figure.savefig, dpi=160, metadata=metadata))
    return written


def _figure(
    panels: _Panels,
    *,
    columns: int,
    width: float = 7.5,
    height: float = 2.7,
    own_legends: bool = False,
) -> Figure:
    """Panels side by side with one legend, or one each if their curves are of different things."""
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(width, 0.35 + height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    handles: dict[str, Any] = {}
    for axes, (title, draw) in zip(grid, panels.items(), strict=False):
        draw(axes)
        axes.set_title(title, fontsize=9, loc="left")
        axes.grid(axis="y", color="#CCCCCC", linewidth=0.6)
        drawn = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        if own_legends and drawn:
            axes.legend(drawn.values(), drawn.keys(), fontsize=6.5, frameon=False, handlelength=1.8)
        handles |= {label: handle for label, handle in drawn.items() if label not in handles}
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    if own_legends:
        return figure
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=min(len(handles), 5),
        frameon=False,
        fontsize=8.5,
        handlelength=1.4,
    )
    return figure


def _paper_mark(axes: Axes, at: float, paper: Any) -> None:
    """A line for a value, and two with a bar between them for a range."""
    if isinstance(paper, Sequence):
        axes.errorbar(
            at,
            sum(paper) / 2,
            yerr=(paper[1] - paper[0]) / 2,
            color="black",
            capsize=4,
            linewidth=1.2,
            label=_PAPER_NAME,
        )
    elif isinstance(paper, int | float):
        axes.plot([at], [paper], label=_PAPER_NAME, markeredgewidth=1.8, **_PAPER)


def _interval(axes: Axes, at: float, mean: float, half_width: float | None) -> None:
    """The 95 % interval of ours, if there are several seeds and they differ."""
    if half_width:
        axes.errorbar(at, mean, yerr=half_width, color="#555555", capsize=2, linewidth=0.8)


_Bars = Sequence[Mapping[str, Any]]


def _stacks(
    bars: _Bars, axes: Axes, *, label: str, share: bool = False, first_color: int = 0
) -> None:
    """Groups of stacked bars, as in all of Cerebros's figures."""
    groups = list(dict.fromkeys(bar["group"] for bar in bars))
    names = list(dict.fromkeys(bar["bar"] for bar in bars))
    parts = list(dict.fromkeys(part for bar in bars for part in bar["parts"]))
    alone = len(parts) == 1
    width = 0.8 / len(names)
    for bar in bars:
        place = groups.index(bar["group"]) + width * (
            names.index(bar["bar"]) - (len(names) - 1) / 2
        )
        bottom = 0.0
        for number, part in enumerate(parts):
            value = bar["parts"].get(part, 0.0)
            hatch = "///" if names.index(bar["bar"]) and not alone else None
            color = PALETTE[names.index(bar["bar"]) if alone else first_color + number]
            name = bar["bar"] if alone else part
            axes.bar(
                place,
                value,
                width * 0.92,
                bottom=bottom,
                color=color,
                edgecolor="black",
                linewidth=0.4,
                hatch=hatch,
                label="" if hatch else name,
            )
            bottom += value
        _interval(axes, place, bottom, bar.get("half_width"))
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)
    if share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _cycles(bars: _Bars, axes: Axes) -> None:
    """Fig. 7 of Cerebros: how much fewer cycles, of what."""
    # SG and CP take tens of times the cycles of UID: each service in relation to its own.
    before = {bar["group"]: sum(bar["parts"].values()) for bar in bars[::2]}
    scaled = [
        {
            **bar,
            "parts": {part: it / before[bar["group"]] for part, it in bar["parts"].items()},
            "half_width": (bar["half_width"] or 0.0) / before[bar["group"]],
        }
        for bar in bars
    ]
    _stacks(scaled, axes, label="share of the CPU's cycles", share=True)
    for place, (cpu, cerebros) in enumerate(zip(bars[::2], bars[1::2], strict=True)):
        most, least = (sum(bar["parts"].values()) for bar in (cpu, cerebros))
        layer = cpu["parts"]["RPC layer"] / cerebros["parts"]["RPC layer"]
        for x, y, text in (
            (place - 0.2, 1.0, f"{most:,.0f}"),
            (place + 0.2, least / most, f"{least:,.0f}"),
            (place + 0.2, least / most + 0.07, f"{most / least:.1f}x fewer"),
            (place + 0.2, least / most + 0.14, f"layer {layer:.0f}x"),
        ):
            axes.text(x, y + 0.015, text, ha="center", va="bottom", fontsize=7)
    axes.set_ylim(0, 1.12)
    axes.set_xlabel(
        "left CPU, right (hatched) Cerebros; above them cycles a request. "
        "Paper: 1.8 to 14.2x fewer, layer 37 to 64x",
        fontsize=7.5,
    )


def _cerebros(results: Mapping[str, Any]) -> dict[str, Figure]:
    figures = results["figures"]
    bars = {
        name: [bar for bar in figures["bars"] if bar["figure"] == name]
        for name in ("2a", "2b", "6", "7", "8a", "8b", "9")
    }
    rows = {row["what"]: row for row in figures["rows"]}

    def shares(axes: Axes) -> None:
        _stacks(bars["2a"], axes, label="share of cycles", share=True)
        for place, bar in enumerate(bars["2a"]):
            row = rows[f"{bar['group']}: RPC layer's share of cycles"]
            _paper_mark(axes, place, (row["low"], row["high"]))

    def modules(axes: Axes) -> None:
        _stacks(bars["2b"], axes, label="share of the RPC layer", share=True, first_color=3)

    def designs(axes: Axes) -> None:
        _stacks(bars["6"], axes, label="cycles a request, UID")
        totals = [sum(bar["parts"].values()) for bar in bars["6"]]
        for place, (bar, total) in enumerate(zip(bars["6"], totals, strict=True)):
            paper = {"OP: P-Only": "1.7", "P+H": "2.3", "Full": "50"}.get(bar["group"])
            text = f"{totals[0] / total:.3g}x" + (f"\n(paper {paper}x)" if paper else "")
            axes.annotate(
                text,
                (place, total),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
        axes.set_ylim(0, totals[0] * 1.18)

    def sets(axes: Axes) -> None:
        _stacks(bars["8a"], axes, label="instructions, KB")
        axes.axhline(64, color="black", linewidth=0.8, linestyle="--", label="cache, 64 KB")

    def functions(axes: Axes) -> None:
        _stacks(bars["9"], axes, label="share of the function's cycles", share=True)
        axes.set_xlabel("left Cerebros, right (hatched) with steering by affinity", fontsize=7.5)

    misses = partial(_stacks, bars["8b"], label="misses a request")
    return {
        "fig2": _figure(
            {"(a) on-CPU time": shares, "(b) the RPC layer, by module": modules}, columns=2
        ),
        "fig6": _figure({"RPC layer": designs}, columns=1, height=3.0),
        "fig7": _figure({"on-server cycles": partial(_cycles, bars["7"])}, columns=1),
        "fig8": _figure(
            {"(a) working set": sets, "(b) misses of the instruction cache": misses}, columns=2
        ),
        "fig9": _figure({"USR": functions}, columns=1),
    }


#: Name, points and half intervals of a curve; none of a single seed.
_Curve = tuple[str, Sequence[Sequence[float]], Sequence[float]]


def _lines(curves: Iterable[_Curve], axes: Axes, *, x: str, y: str) -> None:
    for number, (name, points, half_widths) in enumerate(curves):
        other = (PALETTE[(0, 5, 2, 4)[number % 4]], ("-", "--", "-.", ":")[number % 4])
        color, line = _SYSTEMS.get(name, other)
        at, mean = ([point[place] for point in points] for place in (0, 1))
        axes.plot(
            at,
            mean,
            color=color,
            linestyle=line,
            marker="o" if len(points) < 30 else None,
            markersize=2.5,
            label=name,
        )
        if any(half_widths):
            low, high = (
                [one + sign * half for one, half in zip(mean, half_widths, strict=True)]
                for sign in (-1, 1)
            )
            axes.fill_between(at, low, high, color=color, alpha=0.25, linewidth=0)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y)


def _groups(rows: Sequence[Mapping[str, Any]], axes: Axes, *, label: str) -> None:
    """Bars of ours with the paper's marks, grouped by what they are of."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    groups = list(dict.fromkeys(row["what"] for row in rows))
    width = 0.8 / len(systems)
    for row in rows:
        number = systems.index(row["system"])
        place = groups.index(row["what"]) + width * (number - (len(systems) - 1) / 2)
        axes.bar(
            place,
            row["ours"],
            width * 0.92,
            color=_SYSTEMS[row["system"]][0],
            edgecolor="black",
            linewidth=0.4,
            label=row["system"],
        )
        _interval(axes, place, row["ours"], row["half_width"])
        _paper_mark(axes, place, row["paper"])
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)


def _arcus(results: Mapping[str, Any]) -> dict[str, Figure]:
    reports = results["reports"]
    return {
        "fig3": _fig3(reports["fig3"]),
        "fig6": _fig6(reports["fig6"]),
        "table3": _percentiles(reports["table3"], "deviation from the SLO", share=True),
        "tail": _percentiles(reports["tail"], "latency, us"),
        "fig7": _fig7(reports["fig7"]),
        "fig8": _fig8(reports["fig8"]),
        "fig9": _fig9(reports["fig9"]),
        "fig11": _fig11(reports["fig11"]),
    }


def _of(report: Mapping[str, Any], begin: str = "", x: str | None = None) -> list[_Curve]:
    """The curves over `x` whose names begin so, named by what follows."""
    return [
        (one["name"].removeprefix(begin).strip(), one["points"], one["half_widths"])
        for one in report["series"]
        if one["name"].startswith(begin) and x in (None, one["x"])
    ]


def _fig3(report: Mapping[str, Any]) -> Figure:
    sizes = {1: (256, 64), 2: (256, 512), 3: (128, 512), 4: (1500, 512)}
    fair = {1: 0.7, 4: 0.3}
    rows = [row for row in report["rows"] if row["unit"] == "Gbit/s"]

    def pattern(number: int, axes: Axes) -> None:
        curves = _of(report, f"CaseT_pattern{number} ")
        _lines(curves, axes, x="load of VM2", y="Gbit/s")
        axes.set_ylim(bottom=0)
        if number in fair:
            axes.axvline(
                fair[number], color="black", linewidth=0.9, linestyle=":", label="paper: equal"
            )

    def paths(axes: Axes) -> None:
        axes.bar([row["what"] for row in rows], [row["ours"] for row in rows], 0.5, color="#56B4E9")
        # 85 % of the ideal 100 Gbit/s, and 55 % of that.
        for place, paper in enumerate((0.55 * 85, 85)):
            _paper_mark(axes, place, paper)
        axes.set_ylabel("Gbit/s")

    panels: dict[str, Callable[[Axes], None]] = {
        f"pattern {number}: {one} B beside {other} B": partial(pattern, number)
        for number, (one, other) in sizes.items()
    }
    return _figure({**panels, "both VMs on PCIe": paths}, columns=3, height=2.3)


def _fig6(report: Mapping[str, Any]) -> Figure:
    def cdf(user: int, axes: Axes) -> None:
        curves = [
            (
                one["name"].removesuffix(f" user {user}"),
                [(x / 1e3, y) for x, y in one["points"]],
                (),
            )
            for one in report["series"]
            if one["name"].endswith(f" user {user}")
        ]
        _lines(curves, axes, x="1,000 operations a second", y="share of samples")
        axes.axvline((300, 200)[user - 1], color="black", linewidth=0.9, linestyle=":", label="SLO")

    panels = {f"user {user}": partial(cdf, user) for user in (1, 2)}
    return _figure(panels, columns=2)


def _percentiles(report: Mapping[str, Any], label: str, *, share: bool = False) -> Figure:
    rows = [row for row in report["rows"] if row["what"].endswith(" percentile")]
    rows = [{**row, "what": row["what"].removesuffix(" percentile")} for row in rows]

    def draw(axes: Axes) -> None:
        _groups(rows, axes, label=label)
        axes.set_xlabel("percentile", fontsize=8)
        if share:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))

    title = report["title"].partition(": ")[2]
    return _figure({title[:1].upper() + title[1:]: draw}, columns=1)


def _log2(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=7.5)


def _fig7(report: Mapping[str, Any]) -> Figure:
    def curves(axes: Axes) -> None:
        _lines(_of(report, x="message bytes"), axes, x="message, bytes", y="Gbit/s")
        _log2(axes)

    def flows(axes: Axes) -> None:
        found = _of(report, x="flows")
        _lines(found, axes, x="flows of 4 KB", y="Gbit/s, all flows")
        # The paper: near-full throughput with one flow.
        _paper_mark(axes, 1, found[0][1][-1][1])
        axes.set_xticks([int(point[0]) for point in found[0][1]])
        axes.set_ylim(bottom=0)

    def shares(axes: Axes) -> None:
        found = _of(report, x="flows of VM1")
        _lines(found, axes, x="flows of 1 KB of VM1, beside 4 of 4 KB of VM2", y="VM1 over VM2")
        _log2(axes)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.axhline(1, color="black", linewidth=0.9, linestyle=":", label="half each")
        _paper_mark(axes, 16, 1.0)

    def egress(axes: Axes) -> None:
        rows = [row for row in report["rows"] if "a byte down" in row["what"]]
        names = [row["what"].partition(",")[0].replace("-", "-\n", 1) for row in rows]
        axes.bar(
            names, [row["ours"] for row in rows], 0.6, color="#56B4E9", edgecolor="black", lw=0.4
        )
        axes.set_ylabel("bytes out for a byte in")
        axes.tick_params(axis="x", labelsize=7, length=0)

    panels: _Panels = {
        "(a) accelerators": curves,
        "(b) numbers of flows": flows,
        "(c) who gets how much": shares,
        "egress over ingress": egress,
    }
    return _figure(panels, columns=2, own_legends=True)


def _fig8(report: Mapping[str, Any]) -> Figure:
    def system(name: str, axes: Axes) -> None:
        _lines(_of(report, name), axes, x="message of VM2, KiB", y="share of capacity")
        _log2(axes)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        if name == "Host_noTS":
            # VM1 loses 36 to 67 % of its half beside larger messages, VM2 60 % with 1 KB.
            axes.axhspan(0.5 * 0.33, 0.5 * 0.64, color="#DDDDDD", label="paper: VM1 beyond 4 KB")
            _paper_mark(axes, 1, 0.5 * 0.4)
        else:
            axes.axhline(0.5, color="black", linewidth=0.9, linestyle=":", label="paper: half each")

    return _figure({name: partial(system, name) for name in ("Host_noTS", "Arcus")}, columns=2)


def _fig9(report: Mapping[str, Any]) -> Figure:
    systems = ("Bypassed_noTS_panic", "Arcus")
    rows = {(row["system"], row["what"]): row["paper"] for row in report["rows"]}

    def panel(what: str, y: str, slo: float, axes: Axes) -> None:
        found = (_of(report, f"{name} {what}")[0] for name in systems)
        curves = [
            (name, points, half) for name, (_, points, half) in zip(systems, found, strict=True)
        ]
        _lines(curves, axes, x="us; VM2 sends 48 Gbit/s until 200 us, then 28", y=y)
        axes.axhline(slo, color="black", linewidth=0.9, linestyle=":", label="SLO")
        axes.axvline(200, color="#999999", linewidth=0.8)
        for place, name in zip((90, 110), systems, strict=True):
            _paper_mark(axes, place, rows[name, f"{what}, first 200 us"])
        axes.set_ylim(bottom=0)

    tail = partial(panel, "64 B 99th percentile", "99th percentile of 10 us, us", 1.0)
    rate = partial(panel, "1500 B", "Gbit/s", 32.0)
    return _figure({"64 B": tail, "1500 B": rate}, columns=2)


def _fig11(report: Mapping[str, Any]) -> Figure:
    def rows(names: Mapping[str, str]) -> list[dict[str, Any]]:
        found = [row for row in report["rows"] if row["what"] in names]
        return [{**row, "what": names[row["what"]]} for row in found]

    stores = rows({"user 1, over its SLO": "user 1", "user 2, over its SLO": "user 2"})
    raid = rows({"reads over their SLO": "reads", "writes over their SLO": "writes"})

    def network(axes: Axes) -> None:
        _groups(stores, axes, label="over the SLO")
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))

    ratio = partial(_groups, rows({"user 1 over user 2": ""}), label="user 1 over user 2")
    storage = partial(_groups, raid, label="times the SLO")
    panels: _Panels = {
        "(a) key-value stores": network,
        "(a) without an SLO": ratio,
        "(b) RAID-0": storage,
    }
    return _figure(panels, columns=3)
