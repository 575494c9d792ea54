"""The first output of a comparison on a terminal: verdict, a row for each system, bars of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from accelflow.report.answered import lacks_responses
from accelflow.report.binding import PARTS, binding_of, parts_of
from accelflow.report.own_arrivals import requests_text
from accelflow.report.results import Comparison, SystemResult
from accelflow.report.servers import servers_of
from accelflow.report.verdict import accelerator_use, core_use, verdict, within_slo

__all__ = ["krps_text", "latency_text", "print_overview", "systems_table"]

#: The glyph, the glyph of consoles without Unicode, the colour and the heading of each part.
_LOOKS: Final = {
    "application": ("█", "#", "blue", "app"),
    "accelerators": ("▓", "=", "cyan", "accel"),
    "orchestration": ("▒", "%", "red", "orch"),
    "queueing": ("░", "~", "yellow", "queue"),
    "communication": ("▚", "+", "magenta", "comm"),
    "remote": ("·", ".", "green", "remote"),
}
_LEAST_BAR: Final = 10
_MOST_BAR: Final = 60
#: The width in characters that the columns with the shares of the parts need.
_SHARES: Final = sum(len(heading) + 2 for *_, heading in _LOOKS.values())
_MOST_LABEL: Final = 28


def print_overview(comparison: Comparison, console: Console) -> None:
    """Print the comparison's verdict, a row for each system, and bars of the parts of latency."""
    _line(console, Text(verdict(comparison), style="bold"))
    console.print()
    _line(console, Text(_scenario(comparison), style="dim"))
    console.print()
    table = systems_table(comparison, console.width)
    console.print(table)
    parts = {system.id: parts_of(system) for system in comparison.systems}
    if any(parts.values()):
        console.print()
        for line in _bars(comparison, console):
            console.print(line, soft_wrap=True, no_wrap=True, overflow="ignore")


def _line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=not console.is_terminal)


def _scenario(comparison: Comparison) -> str:
    services = len(comparison.service_names)
    return (
        f"{comparison.workload}: {services} {'service' if services == 1 else 'services'}, "
        f"{requests_text(comparison)} each, profile {comparison.profile}, "
        f"{comparison.arrivals.get('kind', 'unknown')} arrivals, {comparison.placement}, "
        f"{comparison.seeds_text}{_precision(comparison)}"
    )


def _precision(comparison: Comparison) -> str:
    """Return a text on the precision reached; empty if none was requested."""
    found = comparison.source.get("precision")
    if not isinstance(found, Mapping):
        return ""
    measure = str(found["measure"]).removesuffix("_us").upper().replace("MEAN", "mean")
    return f", {measure} within {found['reached_ratio']:.1%} (95 %)"


def systems_table(comparison: Comparison, width: int) -> Table:
    """Return a table with a row for each system.

    The least important columns are left out so that the table fits `width` characters.
    """
    columns = _columns(comparison)
    for unneeded in ("Busiest", "Mean", "Cores", "Within SLO", ""):
        table = _table(comparison, columns)
        if Measurement.get(_UNBOUNDED, _UNBOUNDED.options, table).maximum <= width:
            break
        columns.pop(unneeded, None)
    return table


_UNBOUNDED: Final = Console(width=10_000)


def _columns(comparison: Comparison) -> dict[str, tuple[str, list[str]]]:
    """Return the unit and the cells of each column, by the column's heading."""
    systems = comparison.systems
    marks = ["*" * bool(system.saturated) + "a" * lacks_responses(system) for system in systems]
    means = [_marked(system.mean_us, mark) for system, mark in zip(systems, marks, strict=True)]
    p99s = [_marked(system.p99_us, mark) for system, mark in zip(systems, marks, strict=True)]
    used = [accelerator_use(system) for system in systems]
    several = any(len(servers_of(system)) > 1 for system in systems)
    cores_unit = "at most" if several else "used"
    columns = {
        "Mean": ("us", means),
        "P99": ("us", p99s),
        "Within SLO": ("krps", [_within(system) for system in systems]),
        "Cores": (cores_unit, [f"{core_use(system):.0%}" for system in systems]),
        "Busiest": (
            "unit",
            [f"{busiest[0]} {busiest[1]:.0%}" if busiest else "-" for busiest in used],
        ),
    }
    if not any(within_slo(system) for system in systems):
        del columns["Within SLO"]
    return columns


def _marked(value_us: float | None, mark: str) -> str:
    return latency_text(value_us) + (mark if value_us is not None else mark.removesuffix("a"))


def _table(comparison: Comparison, columns: dict[str, tuple[str, list[str]]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Bottleneck", min_width=8, overflow="fold")  # wraps in the narrowest
    table.add_row("", *[unit for unit, _ in columns.values()], "", style="dim")
    for index, system in enumerate(comparison.systems):
        cells = [escape(column[index]) for _, column in columns.values()]
        bound = binding_of(system)
        bottleneck = "-" if bound is None else escape(bound.short)
        style = "green" if system.orchestrator == "accelflow" else ""
        table.add_row(Text(system.label), *cells, bottleneck, style=style)
    return table


def _within(system: SystemResult) -> str:
    """Return the rate within the SLO and its share, which is 100 % only if no request was late."""
    within = within_slo(system)
    if within is None:
        return "-"
    rate, share = within
    text = "100%" if share >= 1 else f"{math.floor(share * 1000) / 10:.1f}%"
    return f"{krps_text(rate)} {text:>6}"


def krps_text(rate_rps: float | None) -> str:
    """Return a rate in thousands of requests per second as text; a dash for None.

    Rates from 1,000 requests per second have one decimal (``12.5``), lower ones up to three
    significant digits (``0.125``).
    """
    if rate_rps is None:
        return "-"
    krps = rate_rps / 1000
    return f"{krps:,.1f}" if krps >= 1 or krps == 0 else f"{krps:.3g}"


def latency_text(value_us: float | None) -> str:
    """Return a latency in us as text: one decimal below 1,000 us, else none; a dash for None."""
    if value_us is None:
        return "-"
    return f"{value_us:,.1f}" if value_us < 1000 else f"{value_us:,.0f}"


def _bars(comparison: Comparison, console: Console) -> list[Text]:
    """Return a line for each system: a bar of its mean latency, and the shares of the parts."""
    shown = [(system, parts_of(system)) for system in comparison.systems]
    name_width = min(max(cell_len(system.label) for system, _ in shown), _MOST_LABEL)
    room = console.width - name_width - 2
    with_shares = room - _SHARES >= _LEAST_BAR
    bar_width = max(min(room - _SHARES * with_shares, _MOST_BAR), 4)
    longest = max(math.fsum(parts.values()) for _, parts in shown)
    unicode = _can_show_blocks(console)
    lines = [_heading(name_width + 2, bar_width, with_shares=with_shares, unicode=unicode)]
    for system, parts in shown:
        line = Text(_fitted(system.label, name_width) + "  ")
        line.append_text(_bar(parts, longest, bar_width, unicode=unicode))
        if with_shares and parts:
            line.append(" " * (name_width + 2 + bar_width - line.cell_len))
            total = math.fsum(parts.values())
            for part, (*_, heading) in _LOOKS.items():
                line.append(f" {parts[part] / total:.0%}".rjust(len(heading) + 2))
        line.rstrip()
        lines.append(line)
    if not with_shares:
        lines.append(_legend(unicode=unicode))
    return lines


def _heading(before: int, bar_width: int, *, with_shares: bool, unicode: bool) -> Text:
    """Return the heading of the bars: title, and names of the parts with glyphs as a legend."""
    line = Text("Where the time goes", style="bold")
    if with_shares:
        line.append(" " * (before + bar_width - line.cell_len))
        for glyph, plain, color, heading in _LOOKS.values():
            line.append(f" {glyph if unicode else plain}{heading}", style=f"{color} not bold")
    return line


def _legend(*, unicode: bool) -> Text:
    line = Text()
    for part, (glyph, plain, color, _) in _LOOKS.items():
        line.append(glyph if unicode else plain, style=color)
        line.append(f" {part}  ")
    line.rstrip()
    return line


def _bar(parts: dict[str, float], longest: float, width: int, *, unicode: bool) -> Text:
    """Return a bar with a segment for each part; rounding does not change its total length."""
    bar, reached, drawn = Text(), 0.0, 0
    for part in PARTS:
        if not parts:
            break
        glyph, plain, color, _ = _LOOKS[part]
        reached += parts[part]
        # A system that is far faster than another still has a bar.
        end = max(round(reached / longest * width), min(1, width)) if reached else 0
        bar.append((glyph if unicode else plain) * (end - drawn), style=color)
        drawn = end
    return bar


def _fitted(label: str, width: int) -> str:
    text = Text(label)
    text.truncate(width, overflow="ellipsis", pad=True)
    return text.plain


def _can_show_blocks(console: Console) -> bool:
    try:
        "█▓▒░▚·".encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
