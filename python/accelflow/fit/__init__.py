"""A search for the parameters that the paper leaves open, fitted only to the rows marked ``fit``.

The paper's rows marked ``fit`` (its reductions of P99 and mean latency, Fig. 11) are the target;
rows marked ``check`` are never looked at. Latencies are compared as ratios: a reduction of .98
stands for a fiftieth of the latency and one of .907 for an eleventh, a factor of 4.6 apart. All
points are simulated with the same seeds, each for as long as its noise asks for, and the best few
are simulated for longer before one of them is chosen.
"""

from __future__ import annotations

from accelflow.fit.files import SCHEMA, to_json, to_toml, write_fit
from accelflow.fit.objective import EXPERIMENT, Evaluation, Lengths, log_ratio
from accelflow.fit.search import Fit, fit
from accelflow.fit.space import Bound, bounds, scenario_of

__all__ = [
    "EXPERIMENT",
    "SCHEMA",
    "Bound",
    "Evaluation",
    "Fit",
    "Lengths",
    "bounds",
    "fit",
    "log_ratio",
    "scenario_of",
    "to_json",
    "to_toml",
    "write_fit",
]
