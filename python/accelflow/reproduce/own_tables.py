"""Tables of the paper's experiments with a user's workload, computed without a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from accelflow import simulation
from accelflow.reproduce.tables import CATEGORIES, Inputs, Table, breakdown, fig5

__all__ = ["OWN_TABLES"]

#: The category of Fig. 1 to which an accelerator belongs, where it is not the accelerator's name.
_TOGETHER: Final = {
    "Encr": "(De)Encr",
    "Decr": "(De)Encr",
    "Ser": "(De)Ser",
    "Dser": "(De)Ser",
    "Cmp": "(De)Cmp",
    "Dcmp": "(De)Cmp",
}


def _fig1(inputs: Inputs) -> Table:
    """Return a table of the services' time without accelerators, by category."""
    rows = simulation.demands(inputs.scenario)["services"]
    spent = {row["service"]: _spent_ns(row) for row in rows}
    others = {name: name for found in spent.values() for name in found if name not in CATEGORIES}
    return breakdown(spent, {**CATEGORIES, **others})


def _spent_ns(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the core time of one request in ns, by category."""
    spent = {"AppLogic": row["app_ns"]}
    for name, operation in row["operations"].items():
        category = _TOGETHER.get(name, name)
        spent[category] = math.fsum((spent.get(category, 0.0), operation["core_ns"]))
    return spent


def _table4(inputs: Inputs) -> Table:
    """Return a table of the services' paths and numbers of accelerator calls (Table IV)."""
    rows = [(walk["service"], walk["path"], str(walk["accelerators"])) for walk in _walks(inputs)]
    return Table(("service", "most common execution path", "accelerators"), tuple(rows))


def _branches(inputs: Inputs) -> Table:
    """Return a table of each service's sequences that branch, and the most branches of one."""
    rows = [
        (walk["service"], *_branching(walk["conditionals_by_sequence"])) for walk in _walks(inputs)
    ]
    every = [count for walk in _walks(inputs) for count in walk["conditionals_by_sequence"]]
    rows.append(("all", *_branching(every)))
    return Table(("service", "sequences", "that branch", "share", "most in one"), tuple(rows))


def _branching(counts: list[int]) -> tuple[str, str, str, str]:
    branching = sum(count > 0 for count in counts)
    share = f"{branching / len(counts):.1%}" if counts else "-"
    return str(len(counts)), str(branching), share, str(max(counts, default=0))


def _walks(inputs: Inputs) -> list[dict[str, Any]]:
    workload: Any = inputs.scenario.workload
    return [simulation.service(name, workload) for name in simulation.services(workload)]


#: The functions that compute tables of a user's workload, by the table's name in definitions.
OWN_TABLES: Final[Mapping[str, Callable[[Inputs], Table]]] = {
    "fig1": _fig1,
    "fig5": fig5,
    "table4": _table4,
    "branches": _branches,
}
