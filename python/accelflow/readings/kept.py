"""Reads ``readings.json``, and rewrites the page and the pictures from it, without simulations."""

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

#: The rows of an experiment by key, as in ``readings.json``.
_Rows = Mapping[str, Mapping[str, Any]]

#: The file name of the results under each reading.
_FILE = "readings.json"

#: The schemas of ``readings.json`` that this version can read.
_SCHEMAS = (SCHEMA, "accelflow.readings/2")


def rewrite_readings(folder: Path) -> Readings:
    """Rewrite ``readings.md`` and its pictures in `folder` from saved results, without simulations.

    Our results come from the folder's ``readings.json``. The paper's sentences, the bases of
    readings and the rule that chooses the default come from this version of accelflow. Returns the
    results in the file. Raises InputError for a folder without ``readings.json``, for a file that
    does not fit this version's choices or experiments, and if a file cannot be written.
    """
    found = read_readings(folder / _FILE)
    try:
        write_readings(found, folder)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # All members are present, but one has a wrong type.
        raise InputError(
            f"{folder / _FILE}: a value cannot be used ({error}); run `accelflow readings` again"
        ) from error
    return found


def read_readings(path: Path) -> Readings:
    """Return the results in the file `path`, a ``readings.json``.

    Raises InputError if the file cannot be read, has another schema, or does not fit this version's
    choices or experiments.
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
            f"{path}: does not fit this version ({error}); run `accelflow readings` again"
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
    """Return a text on bursty arrivals' rates that the simulations lack; empty if none lacks."""
    found = (
        # All systems have the same arrivals.
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
