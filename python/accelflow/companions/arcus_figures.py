"""The figures of ARCUS, drawn in the paper's form, with marks for values in its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

#: Rows of an experiment by key, where the key lacks the paper's name.
_Rows = Mapping[str, Mapping[str, Any]]

_DOTTED: Final[dict[str, Any]] = {"color": "black", "linewidth": 0.9, "linestyle": ":"}
_BAR: Final[dict[str, Any]] = {"edgecolor": "black", "linewidth": 0.4}
#: The colours of two tenants, where all curves and bars belong to one system.
_TENANTS: Final = ("#0072B2", "#E69F00")


def figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """Draw the figures of the ARCUS paper from `results["reports"]`; return them by name.

    `results` is :attr:`accelflow.companions.outcome.PaperResult.results` of our results for this
    paper.
    """
    reports = results["reports"]
    drawn: dict[str, Callable[[Mapping[str, Any]], Figure]] = {
        "fig3": _fig3,
        "fig6": _fig6,
        "table3": partial(_percentiles, section="table3", label="deviation from the SLO"),
        "tail": partial(_percentiles, section="tail_latency_us", label="latency, us"),
        "fig7": _fig7,
        "fig8": _fig8,
        "fig9": _fig9,
        "fig11": _fig11,
        "prediction": _prediction,
    }
    return {name: draw(reports[name]) for name, draw in drawn.items()}


def _rows(report: Mapping[str, Any]) -> _Rows:
    return {row["key"].removeprefix("arcus."): row for row in report["rows"]}


def _paper(key: str) -> float:
    return targets()[f"arcus.{key}"].value


def _curves(report: Mapping[str, Any], panel: str, **only: Any) -> list[Curve]:
    """Return a panel's curves whose fields equal `only`, named by system or else by name."""
    return [
        (series["system"] or series["name"], series["points"], series["half_widths"])
        for series in report["series"]
        if series["panel"] == panel and all(series[key] == value for key, value in only.items())
    ]


def _bar(axes: Axes, at: float, row: Mapping[str, Any], width: float, **look: Any) -> None:
    """Draw a row's value as a bar with its interval and a mark for the paper's number."""
    axes.bar(at, row["ours"], width, **{**_BAR, **look})
    interval_mark(axes, at, row["ours"], row["half_width"])
    paper_mark(axes, at, row["key"])


def _groups(groups: Mapping[str, Sequence[Mapping[str, Any]]], axes: Axes, *, label: str) -> None:
    """Draw groups of bars by name, with a bar for each system in every group."""
    systems = list(dict.fromkeys(row["system"] for rows in groups.values() for row in rows))
    width = 0.8 / len(systems)
    for at, rows in enumerate(groups.values()):
        for row in rows:
            place = at + width * (systems.index(row["system"]) - (len(systems) - 1) / 2)
            color = SYSTEMS[row["system"]][0]
            _bar(axes, place, row, width * 0.92, color=color, label=row["system"])
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(range(len(groups)), list(groups), fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)


def _slo(axes: Axes, height: float, color: str = "black") -> None:
    axes.axhline(height, label="SLO", **{**_DOTTED, "color": color})


#: The sizes of both VMs' messages in Table 1, by pattern, and their SLOs in Gbit/s.
_PATTERNS: Final = {1: (256, 64), 2: (256, 512), 3: (128, 512), 4: (1500, 512)}
_SLOS_GBIT_PER_S: Final = (10.0, 20.0)


def _fig3(report: Mapping[str, Any]) -> Figure:
    panels: dict[str, Callable[[Axes], None]] = {"(a) ideal": _ideal}
    for (number, (size, other)), letter in zip(_PATTERNS.items(), "bcde", strict=True):
        title = f"({letter}) pattern {number}: {size} B, {other} B"
        panels[title] = partial(_pattern, report, number)
    panels["(f) both VMs on PCIe"] = partial(_pcie_paths, _rows(report))
    return panels_figure(panels, columns=3, height=2.3)


def _ideal(axes: Axes) -> None:
    """Draw Fig. 3(a): each VM gets the rate of its SLO, whatever the other VM sends."""
    loads = (0.1, 0.9)
    for user, (color, slo) in enumerate(zip(_TENANTS, _SLOS_GBIT_PER_S, strict=True), start=1):
        axes.plot(loads, (slo, slo), color=color, linewidth=1.6, label=f"VM{user}")
    axes.set_xlabel("load of VM2", fontsize=8)
    axes.set_ylabel("Gbit/s")
    axes.set_ylim(0, 32)


def _pattern(report: Mapping[str, Any], number: int, axes: Axes) -> None:
    """Draw one of Fig. 3(b) to (e): the throughput of both VMs on one accelerator."""
    for user, color in enumerate(_TENANTS, start=1):
        for _, points, half_widths in _curves(report, f"pattern_{number}", user=user):
            curve = [(f"VM{user}", points, half_widths)]
            draw_lines(curve, axes, x="load of VM2", y="Gbit/s", color=color)
        _slo(axes, _SLOS_GBIT_PER_S[user - 1], color)
    axes.set_ylim(0, 32)
    fair = targets().get(f"arcus.fig3.pattern_{number}_fair_load_of_vm2")
    if fair is not None:
        axes.axvline(fair.value, label="paper: equal", color="black", linewidth=0.9)


def _pcie_paths(rows: _Rows, axes: Axes) -> None:
    """Draw Fig. 3(f): the throughput of both VMs on the same path of PCIe, and on two paths."""
    for at, name in enumerate(("same_path", "multi_path")):
        below = 0.0
        for user, color in enumerate(_TENANTS, start=1):
            height = rows[f"fig3.{name}_vm{user}"]["ours"]
            axes.bar(at, height, 0.5, bottom=below, color=color, label=f"VM{user}", **_BAR)
            below += height
        interval_mark(axes, at, below, rows[f"fig3.{name}"]["half_width"])
    axes.set_xticks((0, 1), ("same path", "multi path"))
    # The paper gives the multi path as a share of the ideal 100 Gbit/s, and the same path as a
    # share of that, of which VM1 has four fifths.
    multi = 100 * _paper("fig3.multi_path_share_of_ideal")
    same = multi * _paper("fig3.same_path_over_multi_path")
    ratio = _paper("fig3.same_path_vm1_over_vm2")
    for at, height in ((0, same), (0, same * ratio / (1 + ratio)), (1, multi)):
        paper_line(axes, at, height)
    axes.set_ylabel("Gbit/s")
    axes.set_ylim(0, 100)


def _fig6(report: Mapping[str, Any]) -> Figure:
    def cdf(user: int, slo: float, axes: Axes) -> None:
        curves: list[Curve] = [
            (name, [(x / 1e3, y) for x, y in points], ())
            for name, points, _ in _curves(report, "cdf", user=user)
        ]
        draw_lines(curves, axes, x="1,000 operations a second", y="share of samples")
        axes.axvline(slo, label="SLO", **_DOTTED)

    slos = {1: 300.0, 2: 200.0}
    panels = {f"({'ab'[user - 1]}) user {user}": partial(cdf, user, slos[user]) for user in slos}
    return panels_figure(panels, columns=2)


def _percentiles(report: Mapping[str, Any], *, section: str, label: str) -> Figure:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for key, row in _rows(report).items():
        if key.startswith(f"{section}.") and row["percentile"] is not None:
            groups.setdefault(f"{row['percentile']:g}th", []).append(row)

    def draw(axes: Axes) -> None:
        _groups(groups, axes, label=label)
        axes.set_xlabel("percentile", fontsize=8)
        if section == "table3":
            percent(axes)

    title = report["title"].partition(": ")[2]
    return panels_figure({title[:1].upper() + title[1:]: draw}, columns=1)


def _fig7(report: Mapping[str, Any]) -> Figure:
    def curves(axes: Axes) -> None:
        found = _curves(report, "curves")
        draw_lines(found, axes, x="message, bytes", y="Gbit/s")
        powers_of_two(axes)

    def flows(axes: Axes) -> None:
        found = _curves(report, "flows")
        draw_lines(found, axes, x="flows of 4 KB", y="Gbit/s, all flows")
        # The paper: near-full throughput with one flow.
        paper_mark(axes, 1, "arcus.fig7.one_flow_of_16", of=found[0][1][-1][1])
        axes.set_xticks([int(point[0]) for point in found[0][1]])
        axes.set_ylim(0, 60)

    def shares(axes: Axes) -> None:
        found = _curves(report, "shares")
        draw_lines(found, axes, x="flows of 1 KB of VM1, beside 4 of 4 KB of VM2", y="VM1 over VM2")
        powers_of_two(axes)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.axhline(1, label="half each", **_DOTTED)
        paper_mark(axes, 16, "arcus.fig7.vm1_over_vm2")
        axes.set_ylim(0.04, 1024)  # room for the legend

    def egress(axes: Axes) -> None:
        begin = "fig7.egress_over_ingress."
        heights = {
            key.removeprefix(begin).replace("-", "-\n", 1): row["ours"]
            for key, row in _rows(report).items()
            if key.startswith(begin)
        }
        axes.bar(list(heights), list(heights.values()), 0.6, color="#56B4E9", **_BAR)
        axes.axhline(1, label="R = 1", **_DOTTED)
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
        for user, color in enumerate(_TENANTS, start=1):
            for _, points, half_widths in _curves(report, "shares", system=name, user=user):
                curve = [(f"VM{user}", points, half_widths)]
                draw_lines(curve, axes, x="message of VM2, KiB", y="share of capacity", color=color)
        powers_of_two(axes)
        axes.set_ylim(0, 1)
        percent(axes)
        if name == "Host_noTS":
            # The paper's losses are relative to half of the capacity, each flow's fair share.
            least, most = (_paper(f"fig8.vm1_loss_{end}.{name}") for end in ("least", "greatest"))
            rest = (1 - most) / 2, (1 - least) / 2
            axes.fill_between((8, 512), *rest, color="#DDDDDD", label="paper: VM1 beyond 4 KB")
            paper_line(axes, 1, (1 - _paper(f"fig8.vm2_loss_with_1_kb.{name}")) / 2)
        else:
            axes.axhline(0.5, label="paper: half each", **_DOTTED)

    return panels_figure(
        {name: partial(system, name) for name in ("Host_noTS", "Arcus")}, columns=2
    )


def _fig9(report: Mapping[str, Any]) -> Figure:
    systems = ("Bypassed_noTS_panic", "Arcus")

    def panel(name: str, key: str, y: str, slo: float | None, axes: Axes) -> None:
        draw_lines(_curves(report, name), axes, x="us", y=y)
        if slo is not None:
            _slo(axes, slo)
        axes.axvline(200, color="#999999", linewidth=0.8)
        for place, system in zip((90, 110), systems, strict=True):
            paper_mark(axes, place, f"arcus.fig9.{key}.{system}")
        axes.set_ylim(bottom=0)

    tail, rate = "P99 of 10 us, us", "Gbit/s"
    panels: Panels = {
        "(a) 64 B: 99th percentile": partial(panel, "tiny_p99", "burst_p99", tail, 1.0),
        "(b) 64 B: throughput": partial(panel, "tiny_rate", "burst_64_b", rate, None),
        "(c) 1500 B: throughput": partial(panel, "large_rate", "burst_1500_b", rate, 32.0),
        "(d) 1500 B: 99th percentile": partial(panel, "large_p99", "", tail, None),
    }
    return panels_figure(panels, columns=2)


def _fig11(report: Mapping[str, Any]) -> Figure:
    rows = _rows(report)
    panels: Panels = {
        "(a) MICA": partial(_stores, rows),
        "(a) migration": partial(
            _users, rows, {"live migration": "live_migration"}, {}, label="Gbit/s"
        ),
        "(b) reads": partial(_raid, rows, "reads"),
        "(b) writes": partial(_raid, rows, "writes"),
    }
    return panels_figure(panels, columns=4, width=9.0)


def _users(
    rows: _Rows, names: Mapping[str, str], slos: Mapping[str, str], axes: Axes, *, label: str
) -> None:
    """Draw bars by user and system, with a line for each user's SLO, from rows of Fig. 11."""
    first = next(iter(names.values()))
    systems = dict.fromkeys(row["system"] for row in rows.values())
    here = [name for name in systems if f"fig11.{first}.{name}" in rows]
    width = 0.8 / len(here)
    for at, (user, key) in enumerate(names.items()):
        for number, system in enumerate(here):
            place = at + width * (number - (len(here) - 1) / 2)
            row = rows[f"fig11.{key}.{system}"]
            _bar(axes, place, row, width * 0.92, color=SYSTEMS[system][0], label=system)
        if user in slos:
            slo = rows[f"fig11.{slos[user]}.Arcus"]["ours"]
            axes.plot((at - 0.45, at + 0.45), (slo, slo), label="SLO", **_DOTTED)
    axes.set_xticks(range(len(names)), list(names), fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)


def _stores(rows: _Rows, axes: Axes) -> None:
    """Draw Fig. 11(a): the users of key-value stores."""
    names = {"user 1": "user_1_mops", "user 2": "user_2_mops"}
    _users(rows, names, dict.fromkeys(names, "slo"), axes, label="million operations a second")
    # The paper gives the users' rates as shares of an SLO that it does not print.
    slo = rows["fig11.slo.Arcus"]["ours"]
    for at, user in enumerate((1, 2)):
        for place, system in zip((-0.2, 0.2), ("Bypassed_noTS_panic", "Arcus"), strict=True):
            over = _paper(f"fig11.user_{user}_over_slo.{system}")
            paper_line(axes, at + place, slo * (1 + over))


def _raid(rows: _Rows, kind: str, axes: Axes) -> None:
    """Draw Fig. 11(b): the reads or the writes (`kind`) of a RAID-0."""
    key = f"raid_{kind}"
    _users(
        rows, {kind: f"{key}_kiops"}, {kind: f"{key}_slo"}, axes, label="1,000 operations a second"
    )
    slo = rows[f"fig11.{key}_slo.Arcus"]["ours"]
    for place, system in zip((-0.2, 0.2), ("Host_noTS", "Arcus"), strict=True):
        paper_line(axes, place, slo * _paper(f"fig11.{key}_over_slo.{system}"))


def _prediction(report: Mapping[str, Any]) -> Figure:
    """Draw missed and predicted periods against the time that the runtime predicts ahead."""

    def panel(name: str, y: str, axes: Axes) -> None:
        draw_lines(_curves(report, name), axes, x="predicted ahead, us", y=y)
        axes.set_ylim(bottom=0)

    return panels_figure(
        {
            "a neighbour that overloads": partial(panel, "missed", "periods below the SLO"),
            "honest neighbours": partial(panel, "false_alarms", "false alarms"),
        },
        columns=2,
        own_legends=True,
    )
