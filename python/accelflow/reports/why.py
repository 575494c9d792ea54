"""The HTML page of `accelflow why`: why slow requests take longer than the median ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accelflow.page import Column, Figure, Page, Section, Table, repeated
from accelflow.page.document import Cell
from accelflow.page.plots import dots, stacked
from accelflow.reports.common import configuration

__all__ = ["row_name", "why_page"]

#: The least share of the gap between slow and median requests with which a place is plotted.
_LEAST_SHARE: Final = 0.01
_REST: Final = "all other places"
#: The words for parts of the time at the cores, where they are not the part's own name.
_ON_CORES: Final = {"cores": "orchestration"}
#: The least time in us that the table shows; it would show smaller ones as 0.0.
_LEAST_US: Final = 0.05


def why_page(
    found: Mapping[str, Any], sentence: str, settings: Mapping[str, Any], command: str | None
) -> Page:
    """Return the page that explains why slow requests to a service take longer.

    `found` has the schema ``accelflow.why/1``. `sentence` is the answer, and `settings` the
    scenario with every default filled in. `command` is the command that repeats the result, or
    None.
    """
    occupied = found["occupied_by"]
    return Page(
        title=f"Slow requests to {found['service']}",
        question=f"Why do slow requests to {found['service']} under {found['system']} take longer"
        " than the median ones?",
        answer=sentence,
        sections=[
            Section(title="Where their time went", parts=[_spent(found), _times(found)]),
            Section(
                title="Services that occupied these resources",
                text=[] if occupied else ["Nothing that they waited for was occupied."],
                parts=[_occupants(found)] if occupied else [],
            ),
            Section(title="What arrived before", parts=[_rates(found), _arrivals(found)]),
            configuration(settings, "simulation", values=settings.get("config", {})),
            repeated(f"seed {settings['seed']}", command),
        ],
    )


def _bands(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of the two compared bands of requests, by the band's name in `found`."""
    return {"median": "around the median", "slow": f"around P{found['percentile']:g}"}


def row_name(row: Mapping[str, Any]) -> str:
    """Return the name of `row`, one piece of requests' response times: ``cores (orchestration)``.

    The name has the place where the time passes and, in brackets, the part of the response time if
    the place does not imply the part. For cores, the part is always given, since it may be a wait,
    application logic or orchestration. The name of a wait begins with ``waits:``.
    """
    at, part = row["at"], row["part"]
    if at == "cores":
        named = f"{at} ({_ON_CORES.get(part, part)})"
    elif row["waits"] or at.startswith(part):
        named = at
    else:
        named = f"{at} ({part})"
    return f"waits: {named}" if row["waits"] else named


def _spent(found: Mapping[str, Any]) -> Figure:
    gap = found["verdict"]["gap_us"]
    least = _LEAST_SHARE * abs(gap)
    shown = [row for row in found["times"] if abs(row["slow_us"] - row["median_us"]) >= least]
    columns: dict[str, list[Any]] = {name: [] for name in ("name", "part", "place", "value")}
    for band, name in _bands(found).items():
        times = {row_name(row): row[f"{band}_us"] for row in shown}
        rest = found["bands"][band]["response_us"] - sum(times.values())
        for place, (part, value) in enumerate([(_REST, max(rest, 0.0)), *times.items()]):
            for column, cell in zip(columns, (name, part, place, round(value, 3)), strict=True):
                columns[column].append(cell)
    return Figure(
        title="Mean response time by place",
        text="The mean response time of both bands, by place on the critical path. Places with"
        " nearly the same time in both bands are combined.",
        spec=stacked(
            names=list(_bands(found).values()),
            parts=list(dict.fromkeys(columns["part"])),
            colors={_REST: "#808080"},
            title="us",
            parameters={},
        ),
        data=columns,
    )


def _times(found: Mapping[str, Any]) -> Table:
    gap = found["verdict"]["gap_us"]
    rows: list[list[Cell]] = []
    for row in found["times"]:
        if max(row["slow_us"], row["median_us"]) < _LEAST_US:
            continue
        more = row["slow_us"] - row["median_us"]
        rows.append(
            [
                row_name(row),
                row["median_us"],
                row["slow_us"],
                more,
                more / gap if gap > 0.0 else None,
            ]
        )
    return Table(
        caption="Means along the critical paths",
        columns=[
            Column(name="Place"),
            *(Column(name=name, unit="us", form="number") for name in _bands(found).values()),
            Column(name="more", unit="us", form="number"),
            Column(name="of the gap", form="share"),
        ],
        rows=rows,
        notes=[
            f"{found['bands'][band]['requests']:,} requests {name}, of which "
            f"{found['bands'][band]['followed']:,} were followed."
            for band, name in _bands(found).items()
        ],
    )


def _occupants(found: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = [
        [
            row["at"],
            row["service"] or "(no single request)",
            row["median_share"],
            row["slow_share"],
            row["overall_share"],
        ]
        for row in found["occupied_by"]
    ]
    return Table(
        caption="Shares of the time that it was occupied while a request of the band waited",
        columns=[
            Column(name="What"),
            Column(name="By"),
            *(Column(name=name, form="share") for name in _bands(found).values()),
            Column(name="over the run", form="share"),
        ],
        rows=rows,
    )


def _series(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "mean_rps": "over the run",
        "median_rps": f"before requests {_bands(found)['median']}",
        "slow_rps": f"before requests {_bands(found)['slow']}",
    }


def _rates(found: Mapping[str, Any]) -> Figure:
    series = _series(found)
    points = [
        (row["service"], name, row[key])
        for row in found["arrivals"]
        for key, name in series.items()
    ]
    return Figure(
        title="How often requests arrived",
        text=f"Requests a second of each service in the {found['window_us']:,.0f} us before the"
        " requests of each band, and over the whole run. A dot far to the right of the others"
        " in its row is a burst.",
        spec=dots(
            names=list(series.values()),
            colors={},
            rows=[row["service"] for row in found["arrivals"]],
            title="requests a second",
        ),
        data={
            "row": [service for service, _, _ in points],
            "name": [name for _, name, _ in points],
            "value": [round(rate, 1) for _, _, rate in points],
        },
    )


def _arrivals(found: Mapping[str, Any]) -> Table:
    series = _series(found)
    return Table(
        caption="Requests a second by service",
        columns=[
            Column(name="Service"),
            *(Column(name=name, form="number", digits=0) for name in series.values()),
        ],
        rows=[[row["service"], *(row[key] for key in series)] for row in found["arrivals"]],
        folded=True,
    )
