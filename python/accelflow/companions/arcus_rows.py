"""ARCUS's experiments with several seeds, combined to findings and to one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelflow.findings import Estimate, Finding, notes, reasons, targets
from accelflow.findings.statistics import estimate

__all__ = ["arcus_findings", "merged_report"]

_Report = Mapping[str, Any]


def arcus_findings(runs: Sequence[_Report]) -> list[Finding]:
    """Return our numbers of an ARCUS experiment beside the paper's: means with 95 % intervals.

    `runs` has the experiment's report for each seed. A number that one of the reports lacks is left
    out, since its mean would be that of the other seeds only.
    """
    values = [{row["key"]: row["ours"] for row in run["rows"]} for run in runs]
    found = []
    for row in runs[0]["rows"]:
        each = [run.get(row["key"]) for run in values]
        ours = None if None in each else estimate(each)
        if ours is not None:
            found.append(_finding(runs[0]["name"], row, ours))
    return found


def _finding(experiment: str, row: Mapping[str, Any], ours: Estimate) -> Finding:
    key = row["key"]
    note = notes().get(key, "")
    about: dict[str, Any] = {"experiment": experiment, "label": row["what"], "note": note}
    if key in targets():
        return Finding.of(targets()[key], ours, why=reasons().get(key), **about)
    return Finding(key=key, kind="dynamic", unit=row["unit"], ours=ours, **about)


def merged_report(runs: Sequence[_Report]) -> dict[str, Any]:
    """Combine one experiment's reports of several seeds into one report.

    The combined report has means of the numbers and curves over the seeds, with 95 % intervals.
    Rows and points that one of the reports lacks are left out.
    """
    findings = {finding.key: finding for finding in arcus_findings(runs)}
    rows = []
    for row in runs[0]["rows"]:
        if row["key"] in findings:
            ours = findings[row["key"]].ours
            rows.append({**row, "ours": ours.mean, "half_width": ours.half_width})  # type: ignore[union-attr]
    curves = zip(*(run["series"] for run in runs), strict=True)
    return {
        **runs[0],
        "replications": len(runs),
        "rows": rows,
        "series": [_curve(same) for same in curves],
    }


def _curve(same: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    points, half_widths = [], []
    for each in zip(*(curve["points"] for curve in same), strict=False):
        at, height = (estimate([point[place] for point in each]) for place in (0, 1))
        if at is not None and height is not None:
            points.append([at.mean, height.mean])
            half_widths += [] if height.half_width is None else [height.half_width]
    return {**same[0], "points": points, "half_widths": half_widths}
