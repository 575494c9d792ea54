"""Studies: many scenarios from one file, each simulated once, even after interruptions.

A study varies a scenario along axes (fields or parameters). A *point* is one combination of their
values. :func:`read_study` reads a study's file, and :func:`sweep` simulates the points that the
study's folder lacks. docs/studies.md explains files, folders and clusters.
"""

from accelflow.studies.find import Answer, Tried, find
from accelflow.studies.folder import Folder
from accelflow.studies.optimize import Design, Front, optimize
from accelflow.studies.question import Goal, Question, read_find, read_question
from accelflow.studies.schema import study_schema
from accelflow.studies.study import SCHEMA, Axis, Range, Study, read_study
from accelflow.studies.sweep import SweepResults, sweep
from accelflow.studies.tasks import Skipped, code_version

__all__ = [
    "SCHEMA",
    "Answer",
    "Axis",
    "Design",
    "Folder",
    "Front",
    "Goal",
    "Question",
    "Range",
    "Skipped",
    "Study",
    "SweepResults",
    "Tried",
    "code_version",
    "find",
    "optimize",
    "read_find",
    "read_question",
    "read_study",
    "study_schema",
    "sweep",
]
