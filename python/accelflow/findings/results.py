"""Findings as objects for JSON, the same for all papers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from accelflow.findings.estimate import Estimate
from accelflow.findings.finding import Finding
from accelflow.findings.reasons import Reason
from accelflow.findings.targets import Target

__all__ = ["from_dict", "json_text", "to_dict"]


def to_dict(finding: Finding) -> dict[str, Any]:
    """Convert `finding` to an object for JSON; docs/reproduce.md describes its members."""
    why = None if finding.agrees or finding.why is None else finding.why.to_dict()
    return {
        "key": finding.key,
        "label": finding.label,
        "experiment": finding.experiment,
        "unit": finding.unit,
        "kind": finding.kind,
        "use": finding.use,
        "paper": None if finding.paper is None else finding.paper.to_json(),
        **Estimate.to_json(finding.ours),
        "difference": finding.difference,
        "verdict": None if finding.verdict is None else str(finding.verdict),
        "doubts": finding.doubts,
        "lacking": finding.lacking,
        "requests": finding.requests,
        "saturated": list(finding.saturated),
        "why": why,
        "note": finding.note,
        "also": [{"says": says, **Estimate.to_json(found)} for says, found in finding.also],
    }


def from_dict(
    found: Mapping[str, Any], target: Target, why: Reason | None, experiment: str
) -> Finding:
    """Make a finding from `found`, a JSON object that :func:`to_dict` made.

    Our value comes from `found`. The paper's value and its data come from `target`, the reason for
    a difference is `why`, and the name of the experiment is `experiment`. Raises KeyError or
    TypeError for an object that is not a finding.
    """
    return Finding.of(
        target,
        Estimate.from_json(found),
        why=why,
        experiment=experiment,
        label=found.get("label", ""),
        requests=found["requests"],
        saturated=tuple(found["saturated"]),
        lacking=found["lacking"],
        note=found.get("note", ""),
        also=tuple((other["says"], Estimate.from_json(other)) for other in found["also"]),
    )


def json_text(content: Mapping[str, Any]) -> str:
    """Return `content` as the text of a JSON file; equal content gives equal bytes.

    Raises ValueError for a number that is not finite.
    """
    return json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n"
