"""The HTML page of `accelflow size`: servers, money, and how latency grows with the load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow.page import Column, Figure, Page, Section, Selector, Table, repeated
from accelflow.page.document import Cell
from accelflow.page.plots import bars, lines
from accelflow.report.looks import SYSTEM_COLORS
from accelflow.report.results import ORCHESTRATORS
from accelflow.reports.common import configuration

__all__ = ["size_page"]

_NAMES: Final = {"simulated": "simulated", "closed_form": "closed form"}
_COLORS: Final = {ORCHESTRATORS[name]: color for name, color in SYSTEM_COLORS.items()}

#: One simulated or computed load of a server: the system, the answer that it belongs to (closed
#: form or simulation), the load as a ratio to the plan's rates, and the largest P99 of a service as
#: a ratio to its SLO.
Point = tuple[str, str, float, float]


def size_page(answer: Mapping[str, Any], sweep: Sequence[Point], command: str | None) -> Page:
    """Return the page on how many servers a load needs under each system, and what they cost.

    `answer` has the schema ``accelflow.size/1``. `sweep` has the points of a plot of latency
    against load. `command` is the command that repeats the answer, or None.
    """
    total_rps = sum(answer["needed_rps"].values())
    kinds = [kind for kind in _NAMES if any(row[kind] for row in answer["systems"])]
    parts = [_servers(answer, kinds)] if kinds else []
    return Page(
        title=f"{answer['plan']['workload']}: servers",
        question=f"How many servers do {total_rps:,.0f} requests a second of "
        f"{answer['plan']['workload']} need, and at what cost?",
        answer=_answer(answer, kinds[0]) if kinds else "No answer could be found.",
        sections=[
            Section(title="The fleets", parts=[_table(answer, kinds), *parts]),
            *(
                [Section(title="Load and latency", parts=[_load(answer, sweep, total_rps)])]
                if sweep
                else []
            ),
            Section(title="Utilisation of a server", parts=[_use(answer, kinds)]),
            *_differences(answer),
            configuration(
                answer["plan"], "simulation", "power", values=answer["plan"]["chip"]["config"]
            ),
            repeated(f"{answer['plan'].get('seeds', 1)} seeds from 1 on", command),
        ],
    )


def _answer(answer: Mapping[str, Any], kind: str) -> str:
    currency = answer["plan"]["currency"]
    said = []
    for row in answer["systems"]:
        system, side = _name(row), row[kind]
        if side is None:
            said.append(f"{system} has no closed form")
            continue
        fleet = side["fleet"]
        if fleet is None:
            said.append(f"{system}: no number of servers is enough")
        else:
            money = f"{fleet['cost_per_year']:,.0f} {currency} a year".replace("  ", " ")
            said.append(f"{system} needs {fleet['servers']:,} servers and {money}")
    return f"{'; '.join(said)} ({_NAMES[kind]})."


def _table(answer: Mapping[str, Any], kinds: Sequence[str]) -> Table:
    year = f"{answer['plan']['currency']} a year".strip()
    rows: list[list[Cell]] = []
    for row in answer["systems"]:
        for kind in kinds:
            if row[kind] is not None:
                rows.append([_name(row), _NAMES[kind], *_cells(row[kind])])
    return Table(
        caption="For the load of the plan's last year, with its limits and spare servers",
        columns=[
            Column(name="System"),
            Column(name="Answer"),
            Column(name="Servers", form="number"),
            Column(name="at least", form="number"),
            Column(name="at most", form="number"),
            Column(name="Headroom", form="share"),
            Column(name="Power", unit="kW", form="number", digits=2),
            Column(name="Cost", unit=year, form="number", digits=0),
            Column(name="Chip pays up to", form="number", digits=0),
            Column(name="Bottleneck"),
        ],
        rows=rows,
        notes=[
            "At least and at most are the ends of the 95 % interval. Headroom is the additional"
            " load that the servers could take. Up to its break-even price, a chip's servers cost"
            " no more than servers without it."
        ],
    )


def _cells(side: Mapping[str, Any]) -> list[Cell]:
    fleet, limit = side["fleet"], side["binding"]["text"]
    if fleet is None:
        return [None, None, None, None, None, None, None, limit]
    return [
        fleet["servers"],
        fleet["servers_low"],
        fleet["servers_high"],
        fleet["headroom_ratio"],
        fleet["watts"] / 1e3,
        fleet["cost_per_year"],
        side.get("break_even_chip_price"),
        limit,
    ]


def _name(row: Mapping[str, Any]) -> str:
    """Return the name by which the paper calls the row's system."""
    return ORCHESTRATORS[row["system"]]


def _systems(answer: Mapping[str, Any]) -> list[str]:
    return [_name(row) for row in answer["systems"]]


def _servers(answer: Mapping[str, Any], kinds: Sequence[str]) -> Figure:
    rows = [
        {
            "name": _name(row),
            "answer": _NAMES[kind],
            "value": row[kind]["fleet"]["servers"],
            "low": row[kind]["fleet"]["servers_low"],
            "high": row[kind]["fleet"]["servers_high"],
            "end": row[kind]["fleet"]["servers_high"],
            "label": f"{row[kind]['fleet']['servers']:,}",
        }
        for row in answer["systems"]
        for kind in kinds
        if row[kind] is not None and row[kind]["fleet"] is not None
    ]
    names = ("name", "answer", "value", "low", "high", "end", "label")
    return Figure(
        title="Servers by system",
        text="The servers that each system needs, spare ones included, with the ends of the 95 % "
        "interval as whiskers.",
        spec=bars(
            names=_systems(answer),
            colors=_COLORS,
            value="value",
            title="servers",
            parameters={"answer": _NAMES[kinds[0]]},
            intervals=True,
        ),
        data={name: [row[name] for row in rows] for name in names},
        controls=[
            Selector(parameter="answer", label="Answer", options=[_NAMES[kind] for kind in kinds])
        ],
    )


def _load(answer: Mapping[str, Any], sweep: Sequence[Point], total_rps: float) -> Figure:
    kinds = [name for name in _NAMES.values() if any(point[1] == name for point in sweep)]
    names = list(dict.fromkeys(ORCHESTRATORS[point[0]] for point in sweep))
    seeds = answer["plan"].get("seeds", 1)
    averaged = _NAMES["simulated"] in kinds and seeds > 1
    return Figure(
        title="P99 against the load of one server",
        text="The largest P99 of a service, as a share of its SLO, against the requests a second"
        f" that one server has. The dashed line is the SLO: {_full(answer, kinds)}."
        + (" A simulated point is the mean of the seeds that had its load." if averaged else ""),
        spec=lines(
            names=names,
            colors=_COLORS,
            x={"title": "load of one server (krps)", "scale": {"zero": True}},
            y={"title": "P99 / SLO", "scale": {"domainMin": 0}},
            parameters={"answer": kinds[0]},
            limit="slo",
            points=True,
        ),
        data={
            "name": [ORCHESTRATORS[point[0]] for point in sweep],
            "answer": [point[1] for point in sweep],
            "x": [point[2] * total_rps / 1e3 for point in sweep],
            "y": [point[3] for point in sweep],
            "slo": [1.0] * len(sweep),
        },
        controls=[Selector(parameter="answer", label="Answer", options=kinds)],
    )


def _full(answer: Mapping[str, Any], kinds: Sequence[str]) -> str:
    """Return the part of a sentence that says where in the plot of `kinds` a server is full."""
    ratio = answer["plan"]["limits"]["utilization_ratio"]
    others: dict[str, list[str]] = {}
    by_p99 = False
    for row in answer["systems"]:
        for kind, name in _NAMES.items():
            if name not in kinds or row[kind] is None:
                continue
            binding = row[kind]["binding"]
            if binding["kind"] in ("utilization", "saturated"):
                # The text of a saturated resource has its state.
                used = f" at {100 * ratio:g} %" if binding["kind"] == "utilization" else ""
                others.setdefault(f"{_name(row)}, {binding['text']}{used}", []).append(name)
            else:
                by_p99 = True
    told = "; ".join(f"{limit} ({', '.join(names)})" for limit, names in others.items())
    if not told:
        return "where a curve crosses it, a server is full"
    if by_p99:
        return f"where a curve crosses it, a server is full, except by another limit: {told}"
    return f"no server is full by it, but by another limit: {told}"


def _use(answer: Mapping[str, Any], kinds: Sequence[str]) -> Table:
    rows: list[list[Cell]] = [
        [_name(row), _NAMES[kind], resource, share]
        for row in answer["systems"]
        for kind in kinds
        if row[kind] is not None
        for resource, share in row[kind]["utilization"].items()
    ]
    columns = [
        Column(name="System"),
        Column(name="Answer"),
        Column(name="Resource"),
        Column(name="Used", form="share"),
    ]
    return Table(caption="Where the fleet serves the load", columns=columns, rows=rows)


def _differences(answer: Mapping[str, Any]) -> Iterator[Section]:
    rows: list[list[Cell]] = [
        [
            _name(row),
            difference["what"],
            _value(difference["closed_form"]),
            _value(difference["simulated"]),
            difference["why"],
        ]
        for row in answer["systems"]
        for difference in row["disagreements"]
    ]
    if rows:
        columns = [
            Column(name="System"),
            Column(name="What"),
            Column(name="Closed form", form="written"),
            Column(name="Simulated", form="written"),
            Column(name="Why"),
        ]
        caption = "At the simulated fleet's load"
        yield Section(
            title="Where the answers disagree",
            parts=[Table(caption=caption, columns=columns, rows=rows)],
        )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    return str(value)
