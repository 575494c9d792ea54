"""The papers of Accelerometer, Cerebros and ARCUS: their reported figures and ours.

:func:`run` computes everything for one of the three, :func:`write` makes the page, the pictures and
the JSON of it. :mod:`accelflow.companions.together` runs them on one server with AccelFlow.
"""

from accelflow.companions.files import SCHEMA, to_json, write
from accelflow.companions.outcome import PAPERS, PaperResult, run

__all__ = ["PAPERS", "SCHEMA", "PaperResult", "run", "to_json", "write"]
