"""Studies: many scenarios from one file, simulated once each, whatever interrupts.

:func:`read_study` reads the question, and :func:`sweep` simulates what the study's folder lacks.
docs/studies.md explains files, folders, and clusters.
"""

from accelflow.studies.folder import Folder
from accelflow.studies.study import SCHEMA, Axis, Range, Study, read_study
from accelflow.studies.sweep import Outcome, sweep
from accelflow.studies.tasks import Skipped, code_version

__all__ = [
    "SCHEMA",
    "Axis",
    "Folder",
    "Outcome",
    "Range",
    "Skipped",
    "Study",
    "code_version",
    "read_study",
    "sweep",
]
