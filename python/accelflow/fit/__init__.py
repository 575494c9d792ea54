"""Search the parameters that the paper leaves open; fit them only to the rows marked ``fit``.

The target is the paper's rows marked ``fit``: its reductions of P99 and mean latency in Fig. 11.
Rows marked ``check`` are not used. Latencies are compared as ratios, not as reductions: reductions
of .98 and .907 are a fiftieth and an eleventh of the latency, a factor of 4.6 apart. All points are
simulated with the same seeds, each as long as its noise requires. The best few are simulated longer
before one of them is chosen.
"""

from __future__ import annotations

from accelflow.fit.files import SCHEMA, to_json, to_toml, write_fit
from accelflow.fit.objective import EXPERIMENT, Evaluation, Lengths
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
    "scenario_of",
    "to_json",
    "to_toml",
    "write_fit",
]
