"""Choices that the paper leaves open, and the rows that depend on each of them.

Every experiment runs with the default scenario, and with each other reading of each choice, one at
a time. A page shows how far each reading moves each row, and which readings change a verdict.
"""

from __future__ import annotations

from accelflow.readings.choices import BASES, Choice, Reading, choices, parse_choices, select
from accelflow.readings.files import PAGE, SCHEMA, to_json, write_readings
from accelflow.readings.page import markdown, swings
from accelflow.readings.runs import EXPERIMENTS, Figure, Readings, Tried, read_all

__all__ = [
    "BASES",
    "EXPERIMENTS",
    "PAGE",
    "SCHEMA",
    "Choice",
    "Figure",
    "Reading",
    "Readings",
    "Tried",
    "choices",
    "markdown",
    "parse_choices",
    "read_all",
    "select",
    "swings",
    "to_json",
    "write_readings",
]
