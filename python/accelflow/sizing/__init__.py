"""The sizing of fleets: the servers, watts and money that services need under each system.

:func:`read_plan` reads a plan from a file: the services with their rates, limits and prices.
:func:`size` computes each system's fleet twice: in closed form and by simulation. `docs/sizing.md`
explains plan, method and limits.
"""

from accelflow.sizing.answer import SCHEMA, size
from accelflow.sizing.plan import Plan, read_plan
from accelflow.sizing.schema import sizing_schema
from accelflow.sizing.simulated import Searched
from accelflow.sizing.sweep import sweep
from accelflow.sizing.tables import Chip, Electricity, Growth, Limits, Server

__all__ = [
    "SCHEMA",
    "Chip",
    "Electricity",
    "Growth",
    "Limits",
    "Plan",
    "Searched",
    "Server",
    "read_plan",
    "size",
    "sizing_schema",
    "sweep",
]
