"""Outcomes as objects for JSON (schema ``accelflow.reproduce/2``)."""

from __future__ import annotations

import json
from typing import Any, Final

from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition
from accelflow.reproduce.outcomes import Compared, Outcome
from accelflow.reproduce.scenario import Scenario
from accelflow.reproduce.statistics import Estimate

__all__ = ["SCHEMA", "to_dict", "to_text"]

SCHEMA: Final = "accelflow.reproduce/2"


def to_text(outcome: Outcome, scenario: Scenario, budget: Budget) -> str:
    """One outcome as the text of a file: equal outcomes are equal bytes."""
    content = to_dict(outcome, scenario, budget)
    return json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n"


def to_dict(outcome: Outcome, scenario: Scenario, budget: Budget) -> dict[str, Any]:
    """One outcome with all that it rests on."""
    definition = outcome.definition
    return {
        "schema": SCHEMA,
        "experiment": definition.name,
        "title": definition.title,
        "place": definition.place,
        "note": definition.note,
        "kind": definition.kind,
        "budget": budget.name,
        "requests": outcome.requests,
        "most_requests": outcome.most_requests,
        "warmup_requests": outcome.warmup_requests,
        "seeds": list(outcome.seeds),
        "scenario": scenario.to_dict(),
        "setup": _setup(definition),
        "rows": [_compared(one) for one in outcome.compared],
        "checks": [
            {
                "says": one.says,
                "holds": one.holds,
                "found": one.found,
                "why_not": one.why_not.to_dict() if one.holds is False and one.why_not else None,
            }
            for one in outcome.told
        ],
        "cells": [
            {
                "point": one.point,
                "system": one.system,
                "service": one.service,
                "measure": one.measure,
                "saturated": one.saturated,
                **_estimate(one.value),
            }
            for one in outcome.shown
        ],
        "table": _table(outcome),
    }


def _setup(definition: Definition) -> dict[str, Any]:
    return {
        "systems": [system for system in definition.systems if system],
        "settings": dict(definition.setup),
        "points": [
            {
                "label": point.label,
                "settings": dict(point.settings),
                "speedup_factor": point.speedup_factor,
            }
            for point in definition.points
        ],
        "slo": None
        if definition.slo is None
        else {"point": definition.slo.point, "factor": definition.slo.factor},
    }


def _compared(one: Compared) -> dict[str, Any]:
    return {
        "row": one.target.row,
        "kind": one.target.kind,
        "use": one.target.use,
        "paper": one.target.value,
        "difference": one.difference,
        "verdict": one.verdict.value,
        "doubts": one.doubts,
        "lacking": one.lacking,
        "requests": one.requests,
        "saturated": list(one.saturated),
        "reason": None if one.matches or one.reason is None else one.reason.to_dict(),
        "also": [{"says": says, **_estimate(found)} for says, found in one.also],
        **_estimate(one.ours),
    }


def _estimate(found: Estimate | None) -> dict[str, Any]:
    if found is None:
        return {"mean": None, "half_width": None, "values": []}
    return {
        "mean": found.mean,
        "half_width": found.half_width,
        "values": list(found.values),
    }


def _table(outcome: Outcome) -> dict[str, Any] | None:
    if outcome.table is None:
        return None
    return {
        "columns": list(outcome.table.columns),
        "rows": [list(row) for row in outcome.table.rows],
        "series": {key: dict(value) for key, value in outcome.table.series.items()},
    }
