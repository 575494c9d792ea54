"""The Markdown page of a companion paper: every reported number beside ours, with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow.companions.live_server import live_server_lines
from accelflow.companions.outcome import PaperResult, sections
from accelflow.companions.precision import Precision, Seeds
from accelflow.findings import Finding, targets
from accelflow.findings.page import (
    definitions,
    largest,
    markdown_table,
    page,
    table,
    whys,
)
from accelflow.findings.text import predictions_text
from accelflow.simulation import PAPER_RATE_RPS

__all__ = ["markdown"]

_NAMES: Final = {"accelerometer": "Accelerometer", "cerebros": "Cerebros", "arcus": "ARCUS"}

#: The heading of each experiment's section, and the name of its picture (empty without one).
_HEADINGS: Final[Mapping[str, tuple[str, str]]] = {
    "model": ("Closed forms", "model"),
    "Table 6": ("Table 6: estimates beside production", "table6"),
    "Figs. 16 to 18": ("Figs. 16 to 18: the host's cycles before and after", "fig16-18"),
    "section 2.4": ("Without inference (section 2.4)", ""),
    "Fig. 20": ("Table 7 and Fig. 20: alternatives", "fig20"),
    "table2": ("Table 2: registers and the rates they give", ""),
    "offloads": ("Offloads of single tasks", ""),
    "places": ("One for all cores, in the NIC, or one for each", ""),
    "services": ("The services (sections 2.1, 4.1, 5, 6.2 and 6.3)", ""),
    "Fig. 5": ("Speed, schemata and processing models (sections 4.3 and 5)", "fig5"),
    "Fig. 2a": ("Fig. 2a: the RPC layer's share of cycles", "fig2"),
    "Fig. 2b": ("Fig. 2b: the layer by module", ""),
    "Fig. 6": ("Fig. 6: designs, simulated", "fig6"),
    "Fig. 7": ("Fig. 7: cycles of a request", "fig7"),
    "Fig. 8a": ("Fig. 8a: the working set of instructions", "fig8"),
    "Fig. 8b": ("Fig. 8b: misses of instructions", ""),
    "Fig. 9": ("Fig. 9: steering by affinity", "fig9"),
}


def markdown(outcome: PaperResult, pictures: Mapping[str, str]) -> str:
    """Return the Markdown page with our results for one companion paper (such as ARCUS).

    `pictures` maps the names of the paper's figures to the file names of their pictures.
    """
    about = [
        f"Written by `accelflow companions {outcome.paper}`; not edited by hand. "
        f"docs/{outcome.paper}.md introduces the model, and says which parameters were chosen by "
        "which result.",
    ]
    if pictures:
        about.append(
            "Black marks in pictures are what the paper's text says; its bars and curves are not "
            "in the text."
        )
    about.append(predictions_text(outcome.findings))
    if outcome.precision.share is not None:
        about.append(
            f"Asked precision: half of each 95 % interval at most {outcome.precision.share:.3g} of"
            f" the larger of our figure and the paper's (of 1 where the paper prints 0), with at"
            f" most {outcome.precision.most_seeds} seeds."
        )
    body = [*largest(outcome.findings), *_sections(outcome, pictures), *_chosen(outcome)]
    if "ensemble" in outcome.results:
        body += _ensemble(outcome.results["ensemble"])
    if "live_server" in outcome.results:
        body += live_server_lines(outcome.results["live_server"], pictures)
    body += [*definitions(outcome.findings), *whys(outcome.findings)]
    title = f"{_NAMES[outcome.paper]}'s results, ours beside the paper's"
    return page(title, outcome.findings, about, body)


def _sections(outcome: PaperResult, pictures: Mapping[str, str]) -> list[str]:
    lines = []
    for experiment, findings in sections(outcome.findings).items():
        lines += _section(outcome, experiment, findings, pictures)
    return lines


def _section(
    outcome: PaperResult, experiment: str, findings: Sequence[Finding], pictures: Mapping[str, str]
) -> list[str]:
    """Return a section's lines: heading, seeds and picture if there are any, and table."""
    heading, name = _HEADINGS.get(experiment, ("", experiment))
    if not heading:
        heading = outcome.results["reports"][experiment]["title"]
    lines = [f"## {heading}", ""]
    if experiment in outcome.sections:
        lines += [_precision_text(outcome.sections[experiment], outcome.precision), ""]
    if name in pictures:
        lines += [f"![{heading.partition(':')[0]}]({pictures[name]})", ""]
    return [*lines, *table(findings)]


def _chosen(outcome: PaperResult) -> list[str]:
    """Return a table of the parameters that were chosen by reported figures, with their rows."""
    rows: dict[str, list[str]] = {}
    for finding in outcome.findings:
        target = targets().get(finding.key)
        for key in target.fits if target else ():
            rows.setdefault(key, []).append(f"`{finding.short_key}`")
    if not rows:
        return []
    return [
        "## Parameters that were chosen with rows in view",
        "",
        *markdown_table(
            ("parameter", "rows"), [(f"`{key}`", ", ".join(named)) for key, named in rows.items()]
        ),
    ]


def _precision_text(seeds: Seeds, asked: Precision) -> str:
    """Return a sentence on a section's seeds and the precision of its figures."""
    if seeds.count == 1:
        return f"Seed {seeds.first}; one seed gives no intervals."
    text = f"Seeds {seeds.first} to {seeds.first + seeds.count - 1}"
    if seeds.reached is None:
        return f"{text}; no figure depends on the seed."
    if asked.share is None:
        return f"{text}. The widest interval is ± {seeds.reached:.2g} of its figure."
    if not seeds.beyond:
        return f"{text}; every figure is within ± {seeds.reached:.1%}."
    beyond = ", ".join(
        f"`{key.partition('.')[2]}` (± {share:.1%})" for key, share in seeds.beyond.items()
    )
    return f"{text}, the most allowed; wider than ± {asked.share:.2g} of its figure: {beyond}."


def _seeds(result: Mapping[str, Any]) -> str:
    return f"Seeds {result['seed']} to {result['seed'] + result['replications'] - 1}."


def _interval(value: Mapping[str, float] | None, scale: float, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value['mean'] * scale:,.{digits}f} ± {value['half_width'] * scale:,.{digits}f}"


def _ensemble(result: Mapping[str, Any]) -> list[str]:
    """Return the section on Cerebros in AccelFlow's ensemble, which no paper reports."""
    rows = [
        (
            f"{row['tcp_cost_us']:g}",
            row["rpc"],
            _interval(row["mean_us"], 1, 2),
            _interval(row["p99_us"], 1, 1),
            _interval(row["throughput_rps"], 1e-3, 1),
            f"{_interval(row['rpc_utilization'], 100, 2)} %",
        )
        for row in result["rows"]
    ]
    columns = (
        "TCP, us",
        "RPC accelerator",
        "mean, us",
        "P99, us",
        "1,000 responses/s",
        "RPC in use",
    )
    return [
        "## In the place of AccelFlow's RPC accelerator",
        "",
        "AccelFlow on the base server with all eight SocialNetwork services, "
        f"{PAPER_RATE_RPS:,.0f} Poisson requests a second each, {result['requests']:,} requests of "
        "each service. "
        f"{_seeds(result)} Means with 95 % intervals. TCP's cost on a core is that of either "
        "reading (docs/results/readings.md).",
        "",
        *markdown_table(columns, rows),
    ]
