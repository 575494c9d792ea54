"""Read ``readings.json``, and rewrite what is made from it, without simulations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelflow.errors import InputError, unreadable, with_schema
from accelflow.files import parse_json, read_text
from accelflow.findings import Finding, targets
from accelflow.findings.estimate import Estimate
from accelflow.readings.choices import Choice, Reading, choices, select
from accelflow.readings.files import SCHEMA, write_readings
from accelflow.readings.runs import REDUCTION, Figure, Readings, Tried
from accelflow.reproduce import Budget, Definition, Scenario, budget, load
from accelflow.reproduce.pooling import rates_lacking

__all__ = ["read_readings", "rewrite_readings"]

#: Rows of an experiment by key, as in the file.
_Rows = Mapping[str, Mapping[str, Any]]

#: The name of the file of the readings in its folder.
_FILE = "readings.json"

#: The schemas that can be read.
_SCHEMAS = (SCHEMA, "accelflow.readings/2")


def rewrite_readings(folder: Path) -> Readings:
    """Rewrite the page and pictures in `folder` from its ``readings.json``, without simulations.

    Figures are those of the file; sentences, bases and the rule are the current ones. Returns the
    results. Raises InputError for a folder without readings, and for readings that do not fit the
    current choices or experiments.
    """
    found = read_readings(folder / _FILE)
    try:
        write_readings(found, folder)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # All members are there, but one has a type that no readings have.
        raise InputError(
            f"{folder / _FILE}: a value cannot be used ({error}); run `accelflow readings` again"
        ) from error
    return found


def read_readings(path: Path) -> Readings:
    """Return the results in ``readings.json`` at `path`.

    Raises InputError if they do not fit the current choices or experiments.
    """
    try:
        tree = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("readings", path, error) from error
    tree = with_schema(path, tree, _SCHEMAS)
    try:
        return _readings(tree)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: does not fit the current choices ({error}); run `accelflow readings` again"
        ) from error


def _readings(tree: Mapping[str, Any]) -> Readings:
    definitions = [load(name) for name in tree["experiments"]]
    names = list(dict.fromkeys(row["choice"] for row in tree["readings"]))
    usual = [choice.name for choice in choices()]
    chosen = choices() if names == usual else select(names)
    scenario, simulated = Scenario(**tree["scenario"]), budget(tree["budget"])

    def figures(rows: _Rows, read: Scenario) -> tuple[tuple[Figure, ...], ...]:
        return tuple(_figures(rows, each, read, simulated) for each in definitions)

    return Readings(
        definitions=tuple(definitions),
        choices=chosen,
        scenario=scenario,
        budget=simulated,
        default=figures(tree["default"], scenario),
        tried=tuple(
            Tried(choice, reading, figures(row["rows"], reading.of(scenario)))
            for row in tree["readings"]
            for choice in chosen
            if choice.name == row["choice"]
            for reading in [_reading(choice, row["settings"])]
        ),
    )


def _reading(choice: Choice, settings: Mapping[str, float | str]) -> Reading:
    found = next((known for known in choice.readings if dict(known.settings) == settings), None)
    if found is None:
        raise ValueError(f"{choice.name} has no reading {dict(settings)}")
    return found


def _figures(
    rows: _Rows, definition: Definition, scenario: Scenario, simulated: Budget
) -> tuple[Figure, ...]:
    lacking = _lacking(definition, scenario, simulated)
    return tuple(
        Figure(
            _finding(row.target, rows[row.target], definition.name, lacking), row.form == REDUCTION
        )
        for row in definition.rows
    )


def _lacking(definition: Definition, scenario: Scenario, simulated: Budget) -> str:
    """Which rates of the arrivals the simulations lack; empty if they have enough."""
    found = (
        # The arrivals are those of every system.
        rates_lacking(
            scenario.experiment("accelflow", definition.setup, point, simulated.requests, 1),
            simulated.replications,
        )
        for point in definition.points
    )
    return next(filter(None, found), "")


def _finding(key: str, row: Mapping[str, Any], experiment: str, lacking: str) -> Finding:
    mean = row["mean"]
    ours = None if mean is None else Estimate(mean, row["half_width"])
    return Finding.of(
        targets()[key],
        ours,
        experiment=experiment,
        saturated=tuple(row["saturated"]),
        lacking=lacking,
    )
