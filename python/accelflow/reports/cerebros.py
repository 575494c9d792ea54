"""The HTML pages of `accelflow cerebros`: designs, a simulated server, the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow.findings import Finding, Verdict
from accelflow.page import Column, Figure, Page, Section, Table, repeated
from accelflow.page.plots import stacked
from accelflow.reports.common import beside_the_paper, configuration

__all__ = ["designs_page", "figures_page", "simulation_page"]

_PARTS: Final = {
    "software_cycles": "software",
    "offload_cycles": "offloading",
    "accelerator_cycles": "accelerator",
}
_OF_REQUEST: Final = {
    "rpc_on_core_cycles": "RPC layer on the core",
    "execute_cycles": "the function",
    "stall_cycles": "stalls on instructions",
}


def designs_page(result: Mapping[str, Any], command: str | None) -> Page:
    """Return the page of the analytic model's results for Cerebros's designs.

    `result` has the schema ``accelflow.cerebros/1``. `command` is the command that repeats the
    result, or None.
    """
    designs = result["designs"]
    best = max(designs, key=lambda row: row["speedup_ratio"])
    return Page(
        title="Cerebros's designs",
        question="How many cycles does the RPC layer cost for a request under each design?",
        answer=f"{best['design']} needs {best['speedup_ratio']:.1f} times fewer cycles than "
        f"software: {best['total_cycles']:,.0f} instead of {designs[0]['total_cycles']:,.0f}.",
        sections=[
            Section(
                title="The designs",
                parts=[
                    _designs(designs),
                    _cycles(designs, _PARTS, "Cycles of the RPC layer for one request"),
                ],
            ),
            configuration(result["parameters"], "cerebros.analytic"),
            repeated("nothing is drawn", command),
        ],
    )


def _designs(designs: Sequence[Mapping[str, Any]]) -> Table:
    keys = (*_PARTS, "total_cycles")
    return Table(
        caption="Cycles for one request",
        columns=[
            Column(name="Design"),
            *(Column(name=name, form="number", digits=0) for name in (*_PARTS.values(), "all")),
            Column(name="Times fewer", form="number"),
            Column(name="Paper", form="number"),
        ],
        rows=[
            [
                row["design"],
                *(row[key] for key in keys),
                row["speedup_ratio"],
                row["paper_speedup_ratio"],
            ]
            for row in designs
        ],
    )


def _cycles(rows: Sequence[Mapping[str, Any]], parts: Mapping[str, str], title: str) -> Figure:
    cells = [
        (row["design"], text, place, row[key])
        for row in rows
        for place, (key, text) in enumerate(parts.items())
    ]
    return Figure(
        title=title,
        text=f"{title}, by design: {', '.join(parts.values())}.",
        spec=stacked(
            names=[row["design"] for row in rows],
            parts=list(parts.values()),
            title="cycles",
            parameters={},
        ),
        data={
            "name": [cell[0] for cell in cells],
            "part": [cell[1] for cell in cells],
            "place": [cell[2] for cell in cells],
            "value": [cell[3] for cell in cells],
        },
    )


def simulation_page(result: Mapping[str, Any], command: str | None) -> Page:
    """Return the page on a simulated server that ran its requests under each of several designs.

    `result` has the schema ``accelflow.cerebros-server/1``. `command` is the command that repeats
    the simulation, or None.
    """
    runs = [{"design": run["design"], **run["all"]} for run in result["runs"]]
    stuck = [run["design"] for run in result["runs"] if run.get("saturated")]
    late = f" {', '.join(stuck)} cannot keep up." if stuck else ""
    given = ("service", "affinity", "arrivals", "requests", "warmup", "seed", "parameters")
    return Page(
        title=f"{result['service']} on a simulated server",
        question=f"What does a request of {result['service']} cost under each design?",
        answer=f"{_cheapest(result)}{late}",
        sections=[
            Section(
                title="The designs",
                parts=[
                    _runs(result["runs"]),
                    _cycles(runs, _OF_REQUEST, "Cycles of a core for one request"),
                ],
            ),
            configuration({name: result[name] for name in given}, "cerebros"),
            repeated(f"seed {result['seed']}", command),
        ],
    )


def _cheapest(result: Mapping[str, Any]) -> str:
    """Return which design costs least. A design that answered no counted request has no cost."""
    answered = [run for run in result["runs"] if run["all"]["requests"]]
    if not answered:
        return f"No counted request of {result['service']} was answered."
    best = min(answered, key=lambda run: run["all"]["total_cycles"])
    cycles = best["all"]["total_cycles"]
    return (
        f"{best['design']} is the cheapest: {cycles:,.0f} cycles for a request of"
        f" {result['service']}."
    )


def _runs(runs: Sequence[Mapping[str, Any]]) -> Table:
    keys = ("rpc_cycles", "queued_cycles", "rpc_on_core_cycles", "function_cycles", "total_cycles")
    names = ("RPC layer", "waits", "RPC on a core", "function", "all")
    return Table(
        caption="Mean cycles of a request",
        columns=[
            Column(name="Design"),
            *(Column(name=name, unit="cycles", form="number", digits=0) for name in names),
            Column(name="P99", unit="us", form="number", digits=2),
            Column(name="Refused", form="number"),
            Column(name="Left to a core", form="number"),
        ],
        rows=[
            [
                run["design"],
                *(run["all"][key] if run["all"]["requests"] else None for key in keys),
                run["all"]["latency_p99_us"],
                run["refused"],
                run["fallbacks"],
            ]
            for run in runs
        ],
    )


#: The role of a row as text, by the use of the paper's figure.
_ROLES: Final = {"input": "input", "fit": "fitted", "check": "prediction", None: "derived"}


def figures_page(
    findings: Sequence[Finding], settings: Mapping[str, Any], command: str | None
) -> Page:
    """Return the page that compares our figures with those of Cerebros's paper.

    `settings` are the inputs by name. `command` is the command that repeats the comparison, or
    None.
    """
    rows = [finding for finding in findings if finding.paper is not None]
    compared = [
        (f"{row.experiment}: {row.label}", _ROLES[row.use], row.difference or 0.0) for row in rows
    ]
    near = sum(row.agrees for row in rows)
    return Page(
        title="Cerebros's figures",
        question="Do the figures of the Cerebros paper hold here?",
        answer=f"{near} of {len(rows)} figures agree with the paper's.",
        sections=[
            Section(
                title="Beside the paper",
                parts=[
                    _figures(findings),
                    beside_the_paper(compared, list(_ROLES.values())),
                ],
            ),
            configuration(settings, "cerebros"),
            repeated(f"{settings['replications']} seeds from {settings['seed']} on", command),
        ],
    )


def _figures(rows: Sequence[Finding]) -> Table:
    return Table(
        caption="Our results and the paper's",
        columns=[
            Column(name="Fig."),
            Column(name="What"),
            Column(name="Paper", form="written"),
            Column(name="Ours", form="number", digits=3),
            Column(name="+/-", form="number", digits=3),
            Column(name="Difference", form="share", digits=0),
            Column(name="Role"),
            Column(name="Verdict"),
            Column(name="Reason"),
        ],
        rows=[_figure(row) for row in rows],
    )


def _figure(row: Finding) -> list[str | float | None]:
    paper = row.paper is not None
    off = row.verdict is Verdict.OFF and row.why is not None
    return [
        row.experiment,
        row.label,
        row.paper.text if row.paper is not None else "",
        row.ours.mean if row.ours else None,
        row.ours.half_width if row.ours else None,
        row.difference,
        _ROLES[row.use] if paper else "",
        str(row.verdict) if paper else "",
        row.why.text if off and row.why else "",
    ]
