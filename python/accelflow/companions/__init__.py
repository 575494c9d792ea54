"""The papers of Accelerometer, Cerebros and ARCUS: their reported numbers beside ours.

:func:`run` computes everything for one of the three, :func:`write` makes the page, the pictures and
the JSON of it, which :func:`read` reads back. :mod:`accelflow.companions.together` runs them on one
server with AccelFlow.
"""

from accelflow.companions.files import SCHEMA, read, to_json, write
from accelflow.companions.outcome import PAPERS, PaperResult, run
from accelflow.companions.precision import Precision

__all__ = ["PAPERS", "SCHEMA", "PaperResult", "Precision", "read", "run", "to_json", "write"]
