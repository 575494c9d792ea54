"""The search for the parameters that the paper leaves open.

The targets are the paper's values marked ``fit``: the reductions of P99 and mean latency in Fig.
11. Values marked ``check`` are not used. Latencies are compared as ratios, not as reductions:
reductions of .98 and .907 leave a fiftieth and an eleventh of the latency, a factor of 4.6 apart.
All points (sets of parameter values) are simulated with the same seeds, each with as many as its
noise requires. The best few points are simulated with more seeds before one of them is chosen.
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
