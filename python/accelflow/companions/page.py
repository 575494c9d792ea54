"""The page of a paper: every reported figure beside ours, then its pictures and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from accelflow.companions.outcome import TOLERANCE, Outcome
from accelflow.files import write_whole

_NAMES: Final = {"accelerometer": "Accelerometer", "cerebros": "Cerebros", "arcus": "ARCUS"}
#: Says that a reason has to be found; loud, so that nobody overlooks it.
NO_REASON: Final = "**NO REASON RECORDED**"


def write(outcome: Outcome, directory: Path) -> list[Path]:
    """Write `comparison.md`, `results.json` and the pictures of `outcome` into `directory`.

    Equal outcomes are equal bytes. Raises OSError when a place cannot be written.
    """
    from accelflow.companions.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    pictures = write_pictures(outcome, directory)
    page, results = directory / "comparison.md", directory / "results.json"
    text = markdown(outcome, {name: paths[0].name for name, paths in pictures.items()})
    write_whole(page, partial(Path.write_text, data=text, encoding="utf-8"))
    tree = json.dumps(outcome.results, indent=1) + "\n"
    write_whole(results, partial(Path.write_text, data=tree, encoding="utf-8"))
    return [page, results, *(path for paths in pictures.values() for path in paths)]


def markdown(outcome: Outcome, pictures: Mapping[str, str]) -> str:
    """The page, with these pictures by the names of figures."""
    name = _NAMES[outcome.paper]
    lines = [
        f"# {name}'s results, ours beside the paper's",
        "",
        f"Written by `accelflow companions {outcome.paper}`; not edited by hand. "
        f"docs/{outcome.paper}.md introduces the model, and says which parameters were chosen by "
        "which result.",
        "",
        "`exact` rows follow from stated inputs and come out to the printed digit, rounded or cut "
        f"off. Of the others, a row that is off by more than {TOLERANCE:.0%} has its reason below.",
        "With ± ours is a mean over several seeds, and what follows half its 95 % interval.",
        "",
        *_reported(outcome),
        *{"cerebros": _cerebros, "arcus": _arcus}.get(outcome.paper, _nothing)(
            outcome.results, pictures
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _reported(outcome: Outcome) -> list[str]:
    lines = ["| row | kind | paper | ours | difference | |", "|---|---|---|---|---|---|"]
    reasons: dict[str, None] = {}
    for one in outcome.compared:
        exact = one.kind == "exact"
        far = not one.printed if exact else abs(one.difference) > TOLERANCE
        mark = "as printed" if exact and not far else ""
        if far:
            reasons.setdefault(one.why or NO_REASON)
            mark = f"[{list(reasons).index(one.why or NO_REASON) + 1}]"
        row = one.row.partition(".")[2]
        lines.append(
            f"| `{row}` | {one.kind} | {one.paper:,.5g} | {_ours(one.ours, one.half_width, 5)} |"
            f" {one.difference:+.0%} | {mark} |"
        )
    return [*lines, "", *_numbered(reasons)]


def _ours(mean: float, half_width: float | None, digits: int) -> str:
    """Ours in a cell; a number that no seed changes has no interval."""
    sure = f" ± {half_width:.2g}" if half_width else ""
    return f"{mean:,.{digits}g}{sure}"


def _seeds(result: Mapping[str, Any]) -> str:
    return f"Seeds {result['seed']} to {result['seed'] + result['replications'] - 1}."


def _numbered(reasons: Mapping[str, None]) -> list[str]:
    lines = [f"{number}. {why}" for number, why in enumerate(reasons, start=1)]
    return [*lines, ""] if lines else []


def _nothing(_results: Mapping[str, Any], _pictures: Mapping[str, str]) -> list[str]:
    return []


def _cerebros(results: Mapping[str, Any], pictures: Mapping[str, str]) -> list[str]:
    lines = ["## Figures", ""]
    lines += [
        "Black marks are what the paper's text says; its bars themselves are not in the text. "
        + _seeds(results["figures"]),
        "",
    ]
    reasons: dict[str, None] = {}
    for figure in ("2", "6", "7", "8", "9"):
        lines += [f"### Fig. {figure}", "", f"![Fig. {figure}]({pictures[f'fig{figure}']})", ""]
        lines += ["| | paper | ours | off by | |", "|---|---|---|---|---|"]
        for row in results["figures"]["rows"]:
            if row["figure"].rstrip("ab") != figure:
                continue
            low, high = f"{row['low']:g}", f"{row['high']:g}"
            mark = {"input": "given", "fitted": "chosen by it", "result": ""}[row["role"]]
            if row["difference_ratio"] > TOLERANCE:
                reasons.setdefault(row["reason"] or NO_REASON)
                mark += f" [{list(reasons).index(row['reason'] or NO_REASON) + 1}]"
            lines.append(
                f"| {row['what']} | {low if low == high else f'{low} to {high}'} |"
                f" {_ours(row['ours'], row['half_width'], 4)} | {row['difference_ratio']:.0%} |"
                f" {mark.strip()} |"
            )
        lines.append("")
    return [*lines, *_numbered(reasons), *_ensemble(results["ensemble"])]


def _interval(value: Mapping[str, float] | None, scale: float, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value['mean'] * scale:,.{digits}f} ± {value['half_width'] * scale:,.{digits}f}"


def _ensemble(result: Mapping[str, Any]) -> list[str]:
    seeds = f"{result['seed']} to {result['seed'] + result['replications'] - 1}"
    lines = [
        "## In the place of AccelFlow's RPC accelerator",
        "",
        "AccelFlow on the base server with all eight SocialNetwork services, 13,400 Poisson "
        f"requests a second each, {result['requests']:,} requests of each service, seeds {seeds}; "
        "means with 95 % intervals. TCP's cost on a core is that of either reading "
        "(docs/results/readings.md).",
        "",
        "| TCP, us | RPC accelerator | mean, us | P99, us | 1,000 responses/s | RPC in use |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['tcp_cost_us']:g} | {row['rpc']} | {_interval(row['mean_us'], 1, 2)} |"
            f" {_interval(row['p99_us'], 1, 1)} | {_interval(row['throughput_rps'], 1e-3, 1)} |"
            f" {_interval(row['rpc_utilization'], 100, 2)} % |"
        )
    return [*lines, ""]


def _arcus(results: Mapping[str, Any], pictures: Mapping[str, str]) -> list[str]:
    lines = ["## Figures and tables", ""]
    lines += [
        "Black marks are what the paper's text says; its curves themselves are not in the text.",
        "",
    ]
    reasons: dict[str, None] = {}
    for name, report in results["reports"].items():
        lines += [f"### {report['title']}", "", _seeds(report), ""]
        if name in pictures:
            lines += [f"![{report['title'].partition(':')[0]}]({pictures[name]})", ""]
        lines += [
            "| system | | ours | paper | difference | unit | |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in report["rows"]:
            difference = "" if row["difference"] is None else f"{row['difference']:+.1%}"
            mark = ""
            if row["why"]:
                reasons.setdefault(row["why"])
                mark = f"[{list(reasons).index(row['why']) + 1}]"
            paper = paper_text(row["paper"])
            lines.append(
                f"| {row['system']} | {row['what']} |"
                f" {_ours(row['ours'], row['half_width'], 4)} | {paper} |"
                f" {difference} | {row['unit']} | {mark} |"
            )
        lines.append("")
    return [*lines, *_numbered(reasons)]


def paper_text(value: float | Sequence[float] | Mapping[str, float] | None) -> str:
    """What the paper says, in a cell."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return f"above {value['above']:g}"
    if isinstance(value, Sequence):
        return f"{value[0]:g} to {value[1]:g}"
    return f"{value:,.4g}"
