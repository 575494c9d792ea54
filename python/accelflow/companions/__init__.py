"""The companion papers Accelerometer, Cerebros and ARCUS: their reported numbers beside ours.

:func:`run` computes our values of one paper's numbers. :func:`write` writes these results as a
page, pictures and a JSON file, which :func:`read` reads back.
:mod:`accelflow.companions.together` runs the ideas of all three on one server with AccelFlow.
"""

from accelflow.companions.files import SCHEMA, read, to_json, write
from accelflow.companions.outcome import PAPERS, PaperResult, run
from accelflow.companions.precision import Precision

__all__ = ["PAPERS", "SCHEMA", "PaperResult", "Precision", "read", "run", "to_json", "write"]
