"""The HTML pages of `accelflow arcus`: an experiment beside the paper, or a plan of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelflow.page import Column, Figure, Page, Section, Selector, Table, repeated
from accelflow.page.document import Cell
from accelflow.page.plots import bars, lines
from accelflow.reports.common import beside_the_paper, configuration

__all__ = ["experiment_page", "plan_page", "used"]


def experiment_page(report: Mapping[str, Any], command: str | None) -> Page:
    """Return the page of one of ARCUS's experiments.

    `report` has the schema ``accelflow.arcus.experiment/1``. `command` is the command that repeats
    the experiment, or None.
    """
    rows = report["rows"]
    near = [row for row in rows if row["difference"] is not None and abs(row["difference"]) <= 0.25]
    compared = [row for row in rows if row["difference"] is not None]
    differences = [(row["what"], row["system"] or "all", row["difference"]) for row in compared]
    names = list(dict.fromkeys(name for _, name, _ in differences))
    seeds = range(report["seed"], report["seed"] + report["replications"])
    return Page(
        title=report["title"],
        question=f"{report['title']}: does ARCUS's result hold here?",
        answer=f"{len(near)} of {len(compared)} figures are within a quarter of the paper's.",
        sections=[
            Section(
                title="Beside the paper",
                parts=[
                    _rows(rows),
                    *([beside_the_paper(differences, names)] if differences else []),
                ],
            ),
            *(
                [Section(title="Curves", parts=_curves(report["series"]))]
                if report["series"]
                else []
            ),
            configuration({"experiment": report["name"], "seeds": list(seeds)}, "arcus"),
            repeated(f"seeds {', '.join(map(str, seeds))}", command),
        ],
    )


def _rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        caption="Our results and the paper's",
        columns=[
            Column(name="System"),
            Column(name="What"),
            Column(name="Ours", form="number", digits=3),
            Column(name="+/-", form="number", digits=3),
            Column(name="Paper", form="written"),
            Column(name="Difference", form="share"),
            Column(name="Unit"),
            Column(name="Reason"),
        ],
        rows=[
            [
                row["system"],
                row["what"],
                row["ours"],
                row["half_width"],
                _paper(row["paper"]),
                row["difference"],
                row["unit"],
                row["why"] or None,
            ]
            for row in rows
        ],
        notes=["+/- is half of the 95 % interval of the mean over the seeds."],
    )


def _paper(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        (kind, end), *_ = value.items()
        return f"{kind.replace('_', ' ')} {end:g}"
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g}"
    return f"{value:,.4g}"


def _curves(series: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return a plot for each pair of axes, with its curves by name."""
    axes = list(dict.fromkeys((curve["x"], curve["y"]) for curve in series))
    figures = []
    for x, y in axes:
        own = [curve for curve in series if (curve["x"], curve["y"]) == (x, y)]
        points = [(curve["name"], *point) for curve in own for point in curve["points"]]
        figures.append(
            Figure(
                title=f"{y} against {x}",
                text=f"{y} against {x}, with a line for each of"
                f" {', '.join(curve['name'] for curve in own)}.",
                spec=lines(
                    names=[curve["name"] for curve in own],
                    colors={},
                    x={"title": x},
                    y={"title": y},
                    points=True,
                ),
                data={
                    "name": [point[0] for point in points],
                    "x": [point[1] for point in points],
                    "y": [point[2] for point in points],
                },
            )
        )
    return figures


def plan_page(result: Mapping[str, Any], command: str | None) -> Page:
    """Return the page of a plan: each flow's promised rate, and its rates with and without ARCUS.

    `result` has the schema ``accelflow.arcus.plan/1``. `command` is the command that repeats the
    run of the plan, or None.
    """
    return Page(
        title="A plan of flows",
        question="Which flows can share these accelerators, and are their promises kept?",
        answer=_answer(result),
        sections=[
            Section(title="The flows", text=result["warnings"], parts=_flows(result)),
            *([Section(title="The platform", parts=[_use(result)])] if used(result) else []),
            configuration({}, "arcus"),
            repeated("of the plan", command),
        ],
    )


def _answer(result: Mapping[str, Any]) -> str:
    """Return the answer of a plan's page: how many promises ARCUS keeps, and which it does not."""
    names: dict[str, list[str]] = {}
    for flow in result["admitted"]:
        names.setdefault(flow["verdict"]["Arcus"], []).append(flow["name"])
    promised = sum(len(flows) for verdict, flows in names.items() if verdict != "no promise")
    parts = [f"ARCUS keeps its promise to {len(names.get('kept', []))} of {promised} flows"]
    if "below" in names:
        parts.append(f"it breaks its promise to {', '.join(names['below'])}")
    if "too short" in names:
        parts.append(f"the run is too short to tell for {', '.join(names['too short'])}")
    if "no promise" in names:
        parts.append(f"{_are(len(names['no promise']))} without a promise")
    if result["rejected"]:
        parts.append(f"{_are(len(result['rejected']))} rejected")
    return f"{'; '.join(parts)}."


def _are(number: int) -> str:
    return "1 is" if number == 1 else f"{number} are"


def _flows(result: Mapping[str, Any]) -> list[Table | Figure]:
    admitted = result["admitted"]
    columns = [
        Column(name="Flow"),
        Column(name="Accelerator"),
        Column(name="Policy"),
        Column(name="Refill", form="number"),
        Column(name="Bucket", form="number"),
        Column(name="Interval", unit="cycles", form="number"),
        Column(name="Promised", unit="Gbit/s", form="number", digits=3),
        Column(name="ARCUS", unit="Gbit/s", form="number", digits=3),
        Column(name="No shaping", unit="Gbit/s", form="number", digits=3),
        Column(name="Promise"),
    ]
    rows: list[list[Cell]] = [
        [
            flow["name"],
            flow["accelerator"],
            flow["policy"],
            flow["refill"],
            flow["bucket"],
            flow["interval_cycles"],
            flow["slo_gbit_per_s"],
            flow["gbit_per_s"]["Arcus"],
            flow["gbit_per_s"]["Host_noTS"],
            flow["verdict"]["Arcus"],
        ]
        for flow in admitted
    ]
    parts: list[Table | Figure] = [
        Table(caption="Admitted flows", columns=columns, rows=rows, notes=_light(admitted))
    ]
    if admitted:
        parts.append(_rates(admitted))
    if result["rejected"]:
        names = ("Flow", "Accelerator")
        parts.append(
            Table(
                caption="Rejected flows",
                columns=[
                    *(Column(name=name) for name in names),
                    Column(name="Asked", unit="Gbit/s", form="number", digits=3),
                    Column(name="Left", unit="Gbit/s", form="number", digits=3),
                ],
                rows=[
                    [
                        flow["name"],
                        flow["accelerator"],
                        flow["asked_gbit_per_s"],
                        flow["left_gbit_per_s"],
                    ]
                    for flow in result["rejected"]
                ],
            )
        )
    return parts


def _light(admitted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a note on flows whose promise is kept although their rate is below it."""
    names = [
        flow["name"]
        for flow in admitted
        if flow["slo_gbit_per_s"] is not None
        and flow["rate_verdict"]["Arcus"] == "kept"
        and flow["gbit_per_s"]["Arcus"] < 0.98 * flow["slo_gbit_per_s"]
    ]
    if not names:
        return []
    send = "sends" if len(names) == 1 else "send"
    return [f"{', '.join(names)} {send} less than promised, and the promise is then that rate."]


def used(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a plan's ``utilisation`` whose resource was in use in one of the runs."""
    return [use for use in result["utilisation"] if any(use["utilisation"].values())]


def _use(result: Mapping[str, Any]) -> Table:
    return Table(
        caption="How busy links, accelerators, ports and SSDs are",
        columns=[
            Column(name="Resource"),
            Column(name="ARCUS", form="share"),
            Column(name="No shaping", form="share"),
        ],
        rows=[
            [use["resource"], use["utilisation"]["Arcus"], use["utilisation"]["Host_noTS"]]
            for use in used(result)
        ],
        notes=[
            "Shares of the measured time; resources that no run used are left out. A PCIe link also"
            " idles while packets wait for credits."
        ],
    )


_RUNS = {"Arcus": "with ARCUS", "Host_noTS": "without shaping"}


def _rates(admitted: Sequence[Mapping[str, Any]]) -> Figure:
    rows = [
        (flow["name"], text, rate, flow["slo_gbit_per_s"], f"{rate:,.2f}")
        for flow in admitted
        for run, text in _RUNS.items()
        if (rate := flow["gbit_per_s"][run]) is not None
    ]
    return Figure(
        title="The rate of each flow",
        text="The rate of each flow while it was active; a tick is the promised rate.",
        spec=bars(
            names=[flow["name"] for flow in admitted],
            colors={},
            value="value",
            title="Gbit/s",
            parameters={"run": "with ARCUS"},
            mark="promised",
        ),
        data={
            "name": [row[0] for row in rows],
            "run": [row[1] for row in rows],
            "value": [row[2] for row in rows],
            "promised": [row[3] for row in rows],
            "end": [row[2] for row in rows],
            "label": [row[4] for row in rows],
        },
        controls=[Selector(parameter="run", label="Show", options=list(_RUNS.values()))],
    )
