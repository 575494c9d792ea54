"""Cerebros: the costs of the RPC layer on a core, and the savings by a processor for this layer.

Pourhabibi, Sutherland, Daglis and Falsafi, MICRO 2021: the analytic model of section 5
(:func:`designs`), a simulated server with the RPC layer as software, behind accelerators, or in
Cerebros (:func:`simulate`), and the paper's figures beside ours (:func:`figures`).
"""

from accelflow.cerebros.analytic import PAPER_SPEEDUPS, SCHEMA, designs
from accelflow.cerebros.figures import (
    REPLICATIONS,
    REQUESTS,
    Figures,
    Seed,
    combined,
    figures,
    one_seed,
)
from accelflow.cerebros.measured import LOAD_RATIO
from accelflow.cerebros.server import (
    DESIGNS,
    SERVICES,
    Load,
    OwnService,
    parameters,
    services,
    simulate,
)

__all__ = [
    "DESIGNS",
    "LOAD_RATIO",
    "PAPER_SPEEDUPS",
    "REPLICATIONS",
    "REQUESTS",
    "SCHEMA",
    "SERVICES",
    "Figures",
    "Load",
    "OwnService",
    "Seed",
    "combined",
    "designs",
    "figures",
    "one_seed",
    "parameters",
    "services",
    "simulate",
]
