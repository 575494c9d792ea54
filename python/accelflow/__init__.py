"""accelflow: orchestrate ensembles of fine-grained accelerators for the datacenter tax.

What service developers need is here: traces and running them. Comparisons are in
`accelflow.simulation`, recordings in `accelflow.calibration`, reports in `accelflow.report`.
"""

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, TraceError
from accelflow.trace import (
    Trace,
    TraceWarning,
    branch,
    fork,
    load,
    notify,
    run_trace,
    save,
    seq,
    tail,
    templates,
    trans,
    transform,
)

__all__ = [
    "AccelflowError",
    "InputError",
    "Trace",
    "TraceError",
    "TraceWarning",
    "__version__",
    "branch",
    "fork",
    "load",
    "notify",
    "run_trace",
    "save",
    "seq",
    "tail",
    "templates",
    "trans",
    "transform",
]

__version__: str = _native.version()
