"""The name under which the paper's listings import the API: ``from AFlow import Trace, seq ...``.

The same objects as in :mod:`accelflow.trace`; new code imports from there.

**Importing this module adds a name to Python's builtins.** Listing 1 imports `transform` and then
calls `trans`, which it does not import. So that it runs as printed, this module puts `trans` among
the builtins, unless something of that name is there. `accelflow` itself does nothing of the kind.

Source: AccelFlow, section V.4, Listings 1 and 2.
"""

import builtins

from accelflow.trace import (
    Trace,
    TraceError,
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
    "Trace",
    "TraceError",
    "TraceWarning",
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

if not hasattr(builtins, "trans"):
    builtins.trans = trans  # type: ignore[attr-defined]
