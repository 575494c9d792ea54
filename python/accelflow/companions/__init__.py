"""The papers of Accelerometer, Cerebros and ARCUS: all that they report, ours beside it.

:func:`run` computes everything for one of the three, :func:`write` makes the page, the pictures and
the JSON of it.
"""

from accelflow.companions.outcome import PAPERS, TOLERANCE, Compared, Outcome, run
from accelflow.companions.page import write

__all__ = ["PAPERS", "TOLERANCE", "Compared", "Outcome", "run", "write"]
