"""An experiment's results as an object for JSON (schema ``accelflow.reproduce/3``)."""

from __future__ import annotations

from typing import Any, Final

from accelflow.findings.estimate import Estimate
from accelflow.findings.results import json_text
from accelflow.findings.results import to_dict as finding_to_dict
from accelflow.reproduce.budgets import Budget
from accelflow.reproduce.definitions import Definition
from accelflow.reproduce.outcomes import ExperimentResult
from accelflow.reproduce.scenario import Setting
from accelflow.reproduce.words import Statement

__all__ = ["SCHEMA", "setup_of", "to_dict", "to_text"]

#: The schema of an experiment's results.
SCHEMA: Final = "accelflow.reproduce/3"


def to_text(outcome: ExperimentResult, scenario: Setting, budget: Budget) -> str:
    """Return an experiment's results as the text of a JSON file; equal results give equal text."""
    return json_text(to_dict(outcome, scenario, budget))


def to_dict(outcome: ExperimentResult, scenario: Setting, budget: Budget) -> dict[str, Any]:
    """Return an experiment's results as an object for JSON.

    The object also has `scenario` (all of it) and the name of `budget`: those with which the
    experiment ran.
    """
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
        **({} if outcome.longest_run is None else {"longest_run": outcome.longest_run}),
        "scenario": scenario.to_dict(),
        "setup": setup_of(definition),
        "findings": [finding_to_dict(finding) for finding in outcome.findings],
        "checks": [_statement(statement) for statement in outcome.statements],
        "cells": [
            {
                "point": cell.point,
                "system": cell.system,
                "service": cell.service,
                "measure": cell.measure,
                "saturated": cell.saturated,
                **Estimate.to_json(cell.value),
            }
            for cell in outcome.shown
        ],
        "table": _table(outcome),
    }


def _statement(statement: Statement) -> dict[str, Any]:
    why_not = statement.why_not if statement.holds is False else None
    also = [_statement(other) for other in statement.also]
    return {
        "says": statement.says,
        "holds": statement.holds,
        "found": statement.found,
        "why_not": None if why_not is None else why_not.to_dict(),
        **({"also": also} if also else {}),
    }


def setup_of(definition: Definition) -> dict[str, Any]:
    """Return the systems, settings and points of an experiment as one object for JSON."""
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


def _table(outcome: ExperimentResult) -> dict[str, Any] | None:
    if outcome.table is None:
        return None
    return {
        "columns": list(outcome.table.columns),
        "rows": [list(row) for row in outcome.table.rows],
        "series": {key: dict(value) for key, value in outcome.table.series.items()},
    }
