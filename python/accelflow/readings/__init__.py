"""Choices that the paper leaves open, and how the results depend on each of them.

A *choice* is a sentence of the paper that allows several *readings*, each a set of parameters.
Every experiment runs with the default scenario, and then with each other reading of each choice,
one at a time. A page shows how far each reading moves each row (one of our results beside the
paper's), and which readings change a row's verdict.
"""

from __future__ import annotations

from accelflow.readings.choices import (
    BASES,
    Choice,
    Reading,
    choices,
    parse_choices,
    select,
)
from accelflow.readings.files import PAGE, SCHEMA, to_json, write_held, write_readings
from accelflow.readings.kept import read_readings, rewrite_readings
from accelflow.readings.page import markdown, swings
from accelflow.readings.rule import NOISE, Decision, Judged, decide, decisions
from accelflow.readings.runs import EXPERIMENTS, Figure, Readings, Tried, read_all

__all__ = [
    "BASES",
    "EXPERIMENTS",
    "NOISE",
    "PAGE",
    "SCHEMA",
    "Choice",
    "Decision",
    "Figure",
    "Judged",
    "Reading",
    "Readings",
    "Tried",
    "choices",
    "decide",
    "decisions",
    "markdown",
    "parse_choices",
    "read_all",
    "read_readings",
    "rewrite_readings",
    "select",
    "swings",
    "to_json",
    "write_held",
    "write_readings",
]
