"""The HTML page of a comparison: verdict, plots, tables, configuration, command to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow.page import Column, Page, Section, Table, repeated
from accelflow.page.document import Cell
from accelflow.parameters import parameters
from accelflow.report.figures import (
    breakdown_figure,
    fallbacks_figure,
    latency_figure,
    services_figure,
    tail_figure,
    use_figure,
)
from accelflow.report.load_figures import (
    latency_load_figure,
    throughput_figure,
    use_over_time_figure,
)
from accelflow.report.notes import notes_of
from accelflow.report.paper import EXPERIMENT, PAPER_REDUCTIONS, compared, other_experiment
from accelflow.report.reductions import left_out_notes, reduction
from accelflow.report.results import Comparison
from accelflow.report.summary import services_table, systems_table
from accelflow.report.verdict import verdict

__all__ = ["comparison_page"]

#: The words for a comparison's settings, by the setting's name in the results, in the page's order.
_SETTINGS: Final = {
    "workload": "workload",
    "placement": "placement",
    "requests": "requests of each service",
    "warmup_requests": "of these, not counted",
    "profile": "costs of operations",
    "facts": "facts of payloads",
    "payload_sizes": "sizes of payloads",
    "remote": "waits for other servers",
    "slo_factor": "SLO, in response times on an idle server",
}

_BOTTLENECK: Final = (
    "The bottleneck is the first of these that applies: a resource that could not keep up; an"
    " accelerator whose full queue turned away 1 % or more of its operations (RELIEF's share the"
    " manager's queue: if that turned away 1 % or more, it is named, or an accelerator that is"
    " used at least half of the time); orchestration, queueing or communication, if it took 10 %"
    " or more of the mean latency; otherwise the work itself. Queueing is shown with the busiest"
    " resource, if that is used at least half of the time."
)


_OVERLOADED: Final = (
    "An overloaded system cannot keep up: its latency depends on the length of the run."
)


def comparison_page(comparison: Comparison, command: str | None = None) -> Page:
    """Return the HTML page of a comparison.

    `command` is the command that repeats the comparison; None if there is none to show.
    """
    *first, last = [system.label for system in comparison.systems]
    names = f"{', '.join(first)} and {last}" if first else last
    breakdown = breakdown_figure(comparison)
    return Page(
        title=f"{comparison.workload}: {verdict(comparison)}",
        question=f"{comparison.workload} under {names}: which is fastest, and why?",
        answer=verdict(comparison),
        sections=[
            _answer(comparison),
            Section(
                title="Where the time goes",
                parts=[breakdown] if breakdown else [],
                text=[] if breakdown else ["These results have no such data."],
            ),
            _latencies(comparison),
            _loads(comparison),
            _use(comparison),
            _fallbacks(comparison),
            Section(title="Services", parts=[services_table(comparison)]),
            *_beside_the_paper(comparison),
            _configuration(comparison),
            repeated(comparison.seeds_text, command, classes=_classes(comparison)),
        ],
    )


def _classes(comparison: Comparison) -> list[str]:
    """Describe the systems that are classes in Python, on which results depend, too."""
    rows = comparison.source.get("python_systems", ())
    return [
        f"{row['orchestrator']} (like {row['like']}): {', '.join(row['classes'].values())}"
        for row in rows
    ]


def _answer(comparison: Comparison) -> Section:
    # A terminal marks latencies with a star; here the last column says the same.
    notes = notes_of(comparison, by_service=False, starred=False)
    stuck = any(system.saturated for system in comparison.systems)
    return Section(
        title="The systems",
        text=notes,
        parts=[systems_table(comparison, notes=[_BOTTLENECK, *([_OVERLOADED] * stuck)])],
    )


def _latencies(comparison: Comparison) -> Section:
    tail = tail_figure(comparison)
    why = "The distribution needs single requests, which a file of results does not hold."
    return Section(
        title="Latency",
        text=[] if tail else [why],
        parts=[
            *([tail] if tail else []),
            latency_figure(comparison),
            services_figure(comparison),
        ],
    )


def _loads(comparison: Comparison) -> Section:
    figures = [throughput_figure(comparison), latency_load_figure(comparison)]
    why = "This comparison was not simulated at other loads."
    return Section(
        title="Throughput and latency against load",
        text=[] if comparison.loads else [why],
        parts=[figure for figure in figures if figure is not None],
    )


def _use(comparison: Comparison) -> Section:
    over_time = use_over_time_figure(comparison)
    why = "How it changes over time is not in a file of results."
    return Section(
        title="Utilisation",
        text=[] if over_time else [why],
        parts=[use_figure(comparison), *([over_time] if over_time else [])],
    )


def _fallbacks(comparison: Comparison) -> Section:
    figure = fallbacks_figure(comparison)
    if figure is None:
        return Section(title="Fallbacks", text=["No operation fell back to a core."])
    return Section(title="Fallbacks", parts=[figure])


def _beside_the_paper(comparison: Comparison) -> Iterator[Section]:
    pairs = compared(comparison)
    if not pairs:
        return
    other = other_experiment(comparison)
    several = len(comparison.seeds) > 1
    columns = [Column(name="Against")]
    for name in ("P99", "Mean"):
        columns.append(Column(name=name, form="share"))
        columns += [Column(name=f"{name}, ±", form="share", digits=1)] if several else []
        columns += [] if other else [Column(name=f"{name}, paper", form="share")]
    rows: list[list[Cell]] = []
    for ours, rival in pairs:
        row: list[Cell] = [rival.label]
        for statistic, paper in zip(
            ("p99_us", "mean_us"), PAPER_REDUCTIONS[rival.orchestrator], strict=True
        ):
            here = reduction(ours, rival, statistic)
            row.append(None if here is None else here.mean)
            row += [None if here is None else here.half_width] if several else []
            row += [] if other else [paper]
        rows.append(row)
    caption = "AccelFlow's reduction of latency, mean over the services"
    why = f"The paper's figures are not shown, since {other}. They apply to {EXPERIMENT}."
    notes = [why] if other else [f"The paper's experiment: {EXPERIMENT}."]
    paired = "± is half the 95 % interval, paired by the requests that systems share."
    notes += [*([paired] if several else []), *left_out_notes(pairs)]
    table = Table(caption=caption, columns=columns, rows=rows, notes=notes)
    yield Section(title="Reductions" if other else "Beside the paper", parts=[table])


def _configuration(comparison: Comparison) -> Section:
    """Return the section with the scenario, the parameters and the costs, with their origins."""
    source = comparison.source
    arrivals = ", ".join(f"{key} {value}" for key, value in comparison.arrivals.items())
    rows: list[list[Cell]] = [
        [words, str(source[name])] for name, words in _SETTINGS.items() if name in source
    ]
    if of_services := source.get("requests_by_service"):
        listed = ", ".join(f"{name} {count}" for name, count in of_services.items())
        rows.append(["requests, warm-up included", listed])
    rows += [["arrivals", arrivals], ["seeds", ", ".join(map(str, comparison.seeds))]]
    rows += [
        [name, str(source[name])]
        for name in ("tenants", "priorities", "shaping")
        if source.get(name)
    ]
    settings = Table(
        caption="The scenario", columns=[Column(name="Setting"), Column(name="Value")], rows=rows
    )
    parts = [settings, _server(comparison), *_costs(source.get("profile_parameters", ()))]
    return Section(title="Configuration", parts=parts, folded=True)


def _server(comparison: Comparison) -> Table:
    common = comparison.source.get("config", {})
    chips = comparison.source.get("chips") or [{"name": "Value", "config": {}}]
    columns = [
        Column(name="Parameter", form="code"),
        *(Column(name=chip["name"]) for chip in chips),
        Column(name="Unit"),
        Column(name="Default"),
        Column(name="Origin of the default"),
        Column(name="Source"),
    ]
    rows: list[list[Cell]] = []
    marked = set()
    for parameter in parameters():
        values = [
            {**common, **chip["config"]}.get(parameter.key, parameter.default) for chip in chips
        ]
        if any(value != parameter.default for value in values):
            marked.add(len(rows))
        texts = [parameter.text(float(value)) for value in values]
        default = parameter.text(parameter.default)
        rows.append(
            [parameter.key, *texts, parameter.unit, default, parameter.provenance, parameter.source]
        )
    return Table(
        caption="The server; highlighted rows differ from the default",
        columns=columns,
        rows=rows,
        marked=frozenset(marked),
        notes=["`accelflow explain KEY` shows the arithmetic and the allowed values."],
    )


def _costs(found: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    if found:
        yield Table(
            caption="Origin of the costs",
            columns=[
                Column(name="Parameter", form="code"),
                Column(name="Value", form="number", digits=3),
                Column(name="Origin"),
                Column(name="Note"),
            ],
            rows=[
                [cost["name"], cost["value"], cost["provenance"], cost["note"]] for cost in found
            ],
        )
