"""Sections of the `accelflow accelerometer` page: alternatives, SLOs, goals and fleets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, Final

from accelflow.page import Column, Figure, Page, Section, Table, repeated
from accelflow.page.document import Cell
from accelflow.reports.common import settings_table, whisker_bars

__all__ = [
    "decided",
    "decision_section",
    "fleet_digits",
    "fleet_page",
    "in_whole_servers",
    "shown_limit",
]

#: The column names of a fleet's needs, by the key of the need in the result.
_NEEDS: Final = {"servers": "Servers", "kilowatts": "Kilowatts", "money_per_year": "Money a year"}

#: A sought value and the limit that it stands for agree to this share of it, or better.
_EXACT: Final = 1e-8


def shown_limit(value: float, digits: int, *, at_least: bool) -> str:
    """Return a sought `value` as text in `digits` significant digits, so that it reaches the goal.

    It is rounded up if `at_least` is true, and otherwise down. A value that differs from its
    rounding only as much as the search is exact is rounded to the nearest.
    """
    nearest = float(f"{value:.{digits}g}")
    if abs(nearest - value) > _EXACT * value:
        rounding = ROUND_CEILING if at_least else ROUND_FLOOR
        nearest = float(Context(prec=digits, rounding=rounding).create_decimal_from_float(value))
    return f"{nearest:,.{digits}g}"


def decided(decision: Mapping[str, Any]) -> str:
    """Return a sentence that names the best way to offload, or says that none is worthwhile.

    `decision` is the member ``decision`` of the results of `accelflow accelerometer`.
    """
    within = (
        " within the latency SLO" if any(row["slo"] for row in decision["alternatives"]) else ""
    )
    if decision["best"] is None:
        return f"No alternative pays{within}."
    return f"The most throughput{within}: {decision['best']}."


def decision_section(decision: Mapping[str, Any] | None, sought: str | None) -> list[Section]:
    """Return a list with the section on alternative ways to offload, SLOs, and a goal.

    `decision` is the member ``decision`` of the results of `accelflow accelerometer`, or None.
    `sought` is a sentence that states the value of an input with which a goal is reached, or None.
    The list is empty if both are None.
    """
    parts: list[Figure | Table] = []
    if decision is not None:
        rows = decision["alternatives"]
        parts = [_alternatives(rows, decision["best"]), _gains(rows)]
    text = [] if sought is None else [f"{_capital(sought)}."]
    return [Section(title="Decision", text=text, parts=parts)] if parts or text else []


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _alternatives(rows: Sequence[Mapping[str, Any]], best: str | None) -> Table:
    drawn = any(row["intervals"] for row in rows)
    slo = any(row["slo"] for row in rows)
    columns = [
        Column(name="Alternative"),
        Column(name="Speedup", form="share", digits=2),
        *([Column(name="5 %", form="share", digits=2)] if drawn else []),
        *([Column(name="95 %", form="share", digits=2)] if drawn else []),
        Column(name="Latency reduction", form="share", digits=2),
        *([Column(name="Latency", unit="us", form="number", digits=1)] if slo else []),
        *([Column(name="Limit", unit="us", form="number", digits=1)] if slo else []),
        *([Column(name="SLO"), Column(name="Kept from an acceleration of")] if slo else []),
        Column(name="Limited by"),
    ]
    return Table(
        caption="The ways to offload, side by side",
        columns=columns,
        rows=[_alternative(row, drawn=drawn, slo=slo) for row in rows],
        marked=frozenset(number for number, row in enumerate(rows) if row["name"] == best),
        notes=["The highlighted row has the highest throughput among those that meet the SLO."]
        if best is not None
        else [],
    )


def _alternative(row: Mapping[str, Any], *, drawn: bool, slo: bool) -> list[Cell]:
    speedup = (row["intervals"] or {}).get("speedup_ratio", {})
    interval = [_gain(speedup.get(end)) for end in ("p5", "p95")] if drawn else []
    limits = ", ".join(
        (f"{kernel}: " if len(row["limits"]) > 1 else "") + limit.replace("_", " ")
        for kernel, limit in row["limits"].items()
    )
    return [
        row["name"],
        _gain(row["speedup_ratio"]),
        *interval,
        _gain(row["latency_reduction_ratio"]),
        *(_verdict(row["slo"]) if slo else []),
        limits,
    ]


def _verdict(slo: Mapping[str, Any]) -> list[Cell]:
    met = slo["met"]
    least = [
        f"{kernel}: {'none' if ratio is None else shown_limit(ratio, 3, at_least=True)}"
        for kernel, ratio in slo["met_from_acceleration_ratio"].items()
    ]
    said = "unknown" if met is None else "kept" if met else "missed"
    return [slo["latency_us"], slo["limit_us"], said, ", ".join(least) or None]


def _gain(ratio: float | None) -> float | None:
    return None if ratio is None else ratio - 1


def _gains(rows: Sequence[Mapping[str, Any]]) -> Figure:
    drawn = any((row["intervals"] or {}).get("speedup_ratio") is not None for row in rows)
    return whisker_bars(
        [_gain_bar(row) for row in rows],
        title="Speedup of each alternative",
        text="The gain in throughput of the same host"
        + ("; whiskers are the 5 % and 95 % quantiles of the draws." if drawn else "."),
        unit="speedup (%)",
        whiskers=drawn,
    )


def _gain_bar(row: Mapping[str, Any]) -> tuple[str, float, float, float, str]:
    ratio = row["speedup_ratio"]
    ends = (row["intervals"] or {}).get("speedup_ratio") or {"p5": ratio, "p95": ratio}
    value, low, high = (100 * (each - 1) for each in (ratio, ends["p5"], ends["p95"]))
    return row["name"], value, low, high, f"{value:.2f}"


def in_whole_servers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a fleet with its servers as whole numbers, as they are bought.

    `result` has the schema ``accelflow.accelerometer-fleet/1``.
    """

    def whole(row: Mapping[str, Any]) -> dict[str, Any]:
        return {**row, "servers": row["servers"]["whole"]}

    services = [whole(row) for row in result["services"]]
    return {**result, "services": services, "fleet": whole(result["fleet"])}


def fleet_page(result: Mapping[str, Any], settings: Mapping[str, Any], command: str | None) -> Page:
    """Return the page of a fleet's servers, power and money before and after offloading.

    `result` has the schema ``accelflow.accelerometer-fleet/1``, and `settings` the inputs by name.
    Servers are shown as whole numbers, rounded up. `command` is the command that repeats the
    result, or None.
    """
    result = in_whole_servers(result)
    rows = [*result["services"], {"name": "fleet", **result["fleet"]}]
    whole = result["fleet"]
    shown = [name for name in _NEEDS if whole[name]["before"] > 0]
    servers = whole["servers"]
    return Page(
        title="A fleet with accelerators",
        question="What would a fleet save if its services offloaded?",
        answer=f"Offloading saves {servers['saved']:,.0f} of {servers['before']:,.0f} servers"
        f"{_between(servers)}.",
        sections=[
            Section(
                title="Before and after",
                parts=[*(_needed(rows, name) for name in shown), _saved_servers(rows)],
            ),
            Section(title="Configuration", parts=[settings_table(settings)], folded=True),
            repeated("there are no draws unless a service's file asks for them", command),
        ],
    )


def _between(of: Mapping[str, Any]) -> str:
    if of["saved_p5"] is None:
        return ""
    return f" ({of['saved_p5']:z,.0f} to {of['saved_p95']:z,.0f}, 5 % to 95 %)"


def fleet_digits(fleet: Mapping[str, Any], name: str) -> int:
    """Return the decimals of a fleet's `servers`, `kilowatts` or `money_per_year`."""
    return 0 if name == "servers" or fleet[name]["before"] >= 1_000 else 2


def _needed(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    return Table(
        caption=f"{_NEEDS[name]}, by service",
        columns=[
            Column(name="Service"),
            Column(name="Speedup", form="share", digits=2),
            *(
                Column(name=title, form="number", digits=fleet_digits(rows[-1], name))
                for title in ("Before", "After", "Saved", "5 %", "95 %")
            ),
        ],
        rows=[
            [
                row["name"],
                _gain(row["speedup_ratio"]),
                *(row[name][at] for at in ("before", "after", "saved", "saved_p5", "saved_p95")),
            ]
            for row in rows
        ],
        marked=frozenset({len(rows) - 1}),
    )


def _saved_servers(rows: Sequence[Mapping[str, Any]]) -> Figure:
    return whisker_bars(
        [_saved_bar(row["name"], row["servers"]) for row in rows],
        title="Servers saved",
        text="For each service and all together; whiskers are the 5 % and 95 % quantiles of the"
        " draws.",
        unit="servers",
        whiskers=any(row["servers"]["saved_p5"] is not None for row in rows),
    )


def _saved_bar(name: str, servers: Mapping[str, Any]) -> tuple[str, float, float, float, str]:
    value = servers["saved"]
    low, high = (value if servers[at] is None else servers[at] for at in ("saved_p5", "saved_p95"))
    return name, value, low, high, f"{value:,.0f}"
