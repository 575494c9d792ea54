"""The figures of ARCUS in the paper's forms, with marks for values in its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from accelflow.companions.drawing import (
    SYSTEMS,
    Curve,
    Panels,
    draw_lines,
    interval_mark,
    panels_figure,
    paper_line,
    paper_mark,
    percent,
    powers_of_two,
)
from accelflow.findings import targets

__all__ = ["figures"]

#: Rows of an experiment by key, without the paper's name.
_Rows = Mapping[str, Mapping[str, Any]]


def figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures by name, from the reports of the experiments."""
    reports = results["reports"]
    drawn: dict[str, Callable[[Mapping[str, Any]], Figure]] = {
        "fig3": _fig3,
        "fig6": _fig6,
        "table3": partial(_percentiles, label="deviation from the SLO", share=True),
        "tail": partial(_percentiles, label="latency, us"),
        "fig7": _fig7,
        "fig8": _fig8,
        "fig9": _fig9,
        "fig11": _fig11,
    }
    return {name: draw(reports[name]) for name, draw in drawn.items()}


def _rows(report: Mapping[str, Any]) -> _Rows:
    return {row["key"].removeprefix("arcus."): row for row in report["rows"]}


def _paper(key: str) -> float:
    return targets()[f"arcus.{key}"].value


def _groups(groups: Mapping[str, _Rows], axes: Axes, *, label: str) -> None:
    """Bars of ours with the paper's marks: groups by their names, each with a bar a system."""
    systems = list(
        dict.fromkeys(row["system"] for rows in groups.values() for row in rows.values())
    )
    width = 0.8 / len(systems)
    for at, rows in enumerate(groups.values()):
        for key, row in rows.items():
            place = at + width * (systems.index(row["system"]) - (len(systems) - 1) / 2)
            axes.bar(
                place,
                row["ours"],
                width * 0.92,
                color=SYSTEMS[row["system"]][0],
                edgecolor="black",
                linewidth=0.4,
                label=row["system"],
            )
            interval_mark(axes, place, row["ours"], row["half_width"])
            paper_mark(axes, place, f"arcus.{key}")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(len(groups)), list(groups), fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)


def _of(report: Mapping[str, Any], begin: str = "", x: str | None = None) -> list[Curve]:
    """The curves over `x` whose names begin so, named by what follows."""
    return [
        (series["name"].removeprefix(begin).strip(), series["points"], series["half_widths"])
        for series in report["series"]
        if series["name"].startswith(begin) and x in (None, series["x"])
    ]


def _fig3(report: Mapping[str, Any]) -> Figure:
    sizes = {1: (256, 64), 2: (256, 512), 3: (128, 512), 4: (1500, 512)}
    rows = _rows(report)

    def pattern(number: int, axes: Axes) -> None:
        curves = _of(report, f"CaseT_pattern{number} ")
        draw_lines(curves, axes, x="load of VM2", y="Gbit/s")
        axes.set_ylim(bottom=0)
        fair = f"fig3.pattern_{number}_fair_load_of_vm2"
        if fair in rows:
            look: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": ":"}
            axes.axvline(_paper(fair), label="paper: equal", **look)

    def paths(axes: Axes) -> None:
        heights = {name: rows[f"fig3.{name}"]["ours"] for name in ("same_path", "multi_path")}
        names = [name.replace("_", " ") for name in heights]
        axes.bar(names, list(heights.values()), 0.5, color="#56B4E9")
        # The paper gives the multi path as a share of the ideal 100 Gbit/s.
        multi = 100 * _paper("fig3.multi_path_share_of_ideal")
        paper_mark(axes, 0, "arcus.fig3.same_path_over_multi_path", of=multi)
        paper_mark(axes, 1, "arcus.fig3.multi_path_share_of_ideal", of=100)
        axes.set_ylabel("Gbit/s")

    panels: dict[str, Callable[[Axes], None]] = {
        f"pattern {number}: {size} B beside {other} B": partial(pattern, number)
        for number, (size, other) in sizes.items()
    }
    return panels_figure({**panels, "both VMs on PCIe": paths}, columns=3, height=2.3)


def _fig6(report: Mapping[str, Any]) -> Figure:
    def cdf(user: int, axes: Axes) -> None:
        curves = [
            (
                series["name"].removesuffix(f" user {user}"),
                [(x / 1e3, y) for x, y in series["points"]],
                (),
            )
            for series in report["series"]
            if series["name"].endswith(f" user {user}")
        ]
        draw_lines(curves, axes, x="1,000 operations a second", y="share of samples")
        axes.axvline((300, 200)[user - 1], color="black", linewidth=0.9, linestyle=":", label="SLO")

    panels = {f"user {user}": partial(cdf, user) for user in (1, 2)}
    return panels_figure(panels, columns=2)


def _percentiles(report: Mapping[str, Any], *, label: str, share: bool = False) -> Figure:
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, row in _rows(report).items():
        name, _, rest = row["what"].partition(" percentile")
        if not rest:
            groups.setdefault(name, {})[key] = row

    def draw(axes: Axes) -> None:
        _groups(groups, axes, label=label)
        axes.set_xlabel("percentile", fontsize=8)
        if share:
            percent(axes)

    title = report["title"].partition(": ")[2]
    return panels_figure({title[:1].upper() + title[1:]: draw}, columns=1)


#: The curve of Fig. 7(c) whose two VMs share a path.
_ONE_PATH: Final = ("RX beside RX",)


def _fig7(report: Mapping[str, Any]) -> Figure:
    def curves(axes: Axes) -> None:
        draw_lines(_of(report, x="message bytes"), axes, x="message, bytes", y="Gbit/s")
        powers_of_two(axes)

    def flows(axes: Axes) -> None:
        found = _of(report, x="flows")
        draw_lines(found, axes, x="flows of 4 KB", y="Gbit/s, all flows")
        # The paper: near-full throughput with one flow.
        paper_mark(axes, 1, "arcus.fig7.one_flow_of_16", of=found[0][1][-1][1])
        axes.set_xticks([int(point[0]) for point in found[0][1]])
        axes.set_ylim(bottom=0)

    def shares(axes: Axes) -> None:
        # Flows take turns on their own path, so their number matters only if the VMs share it.
        found = [
            (f"{name}, {'one path' if name in _ONE_PATH else 'two paths'}", points, half_widths)
            for name, points, half_widths in _of(report, x="flows of VM1")
        ]
        draw_lines(found, axes, x="flows of 1 KB of VM1, beside 4 of 4 KB of VM2", y="VM1 over VM2")
        powers_of_two(axes)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.axhline(1, color="black", linewidth=0.9, linestyle=":", label="half each")
        paper_mark(axes, 16, "arcus.fig7.vm1_over_vm2")
        axes.set_ylim(0.04, 1024)  # room for the legend

    def egress(axes: Axes) -> None:
        begin = "fig7.egress_over_ingress."
        heights = {
            key.removeprefix(begin).replace("-", "-\n", 1): row["ours"]
            for key, row in _rows(report).items()
            if key.startswith(begin)
        }
        look: dict[str, Any] = {"color": "#56B4E9", "edgecolor": "black", "lw": 0.4}
        axes.bar(list(heights), list(heights.values()), 0.6, **look)
        axes.set_ylabel("bytes out for a byte in")
        axes.tick_params(axis="x", labelsize=7, length=0)

    panels: Panels = {
        "(a) accelerators": curves,
        "(b) numbers of flows": flows,
        "(c) VM1 beside VM2": shares,
        "egress over ingress": egress,
    }
    return panels_figure(panels, columns=2, own_legends=True)


def _fig8(report: Mapping[str, Any]) -> Figure:
    def system(name: str, axes: Axes) -> None:
        draw_lines(_of(report, name), axes, x="message of VM2, KiB", y="share of capacity")
        powers_of_two(axes)
        axes.set_ylim(0, 1)
        percent(axes)
        if name == "Host_noTS":
            # The paper's losses are of the half that is due.
            least, most = (_paper(f"fig8.vm1_loss_{end}.{name}") for end in ("least", "greatest"))
            rest = (1 - most) / 2, (1 - least) / 2
            axes.fill_between((8, 512), *rest, color="#DDDDDD", label="paper: VM1 beyond 4 KB")
            paper_line(axes, 1, (1 - _paper(f"fig8.vm2_loss_with_1_kb.{name}")) / 2)
        else:
            axes.axhline(0.5, color="black", linewidth=0.9, linestyle=":", label="paper: half each")

    return panels_figure(
        {name: partial(system, name) for name in ("Host_noTS", "Arcus")}, columns=2
    )


def _fig9(report: Mapping[str, Any]) -> Figure:
    systems = ("Bypassed_noTS_panic", "Arcus")

    def panel(what: str, key: str, y: str, slo: float, axes: Axes) -> None:
        found = (_of(report, f"{name} {what}")[0] for name in systems)
        curves = [
            (name, points, half) for name, (_, points, half) in zip(systems, found, strict=True)
        ]
        draw_lines(curves, axes, x="us; VM2 sends 48 Gbit/s until 200 us, then 28", y=y)
        axes.axhline(slo, color="black", linewidth=0.9, linestyle=":", label="SLO")
        axes.axvline(200, color="#999999", linewidth=0.8)
        for place, name in zip((90, 110), systems, strict=True):
            paper_mark(axes, place, f"arcus.fig9.{key}.{name}")
        axes.set_ylim(bottom=0)

    tail = partial(panel, "64 B 99th percentile", "burst_p99", "99th percentile of 10 us, us", 1.0)
    rate = partial(panel, "1500 B", "burst_1500_b", "Gbit/s", 32.0)
    return panels_figure({"64 B": tail, "1500 B": rate}, columns=2)


def _fig11(report: Mapping[str, Any]) -> Figure:
    rows = _rows(report)

    def group(name: str) -> _Rows:
        return {key: row for key, row in rows.items() if key.startswith(f"fig11.{name}.")}

    stores = {f"user {user}": group(f"user_{user}_over_slo") for user in (1, 2)}
    raid = {name: group(f"raid_{name}_over_slo") for name in ("reads", "writes")}

    def network(axes: Axes) -> None:
        _groups(stores, axes, label="over the SLO")
        percent(axes)

    ratio = partial(_groups, {"": group("user_1_over_user_2")}, label="user 1 over user 2")
    storage = partial(_groups, raid, label="times the SLO")
    panels: Panels = {
        "(a) key-value stores": network,
        "(a) without an SLO": ratio,
        "(b) RAID-0": storage,
    }
    return panels_figure(panels, columns=3)
