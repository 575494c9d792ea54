"""Cerebros's analytic model: the cost of parts of the RPC layer that stay on the core.

Pourhabibi, Sutherland, Daglis and Falsafi, MICRO 2021, sections 5 and 6.1, Fig. 6.
"""

import json
import math
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError
from accelflow.findings import targets

#: The name and version of the object that :func:`designs` returns.
SCHEMA: Final = "accelflow.cerebros/1"

#: The factors by which designs reduce the cycles of None for UniqueId, as the paper prints them; it
#: has no figure for the others.
PAPER_SPEEDUPS: Final = {
    design: targets()[f"cerebros.rpc_layer_speedup.{name}"].value
    for design, name in (
        ("OP: P-Only", "payload_only"),
        ("P+H", "payload_and_header"),
        ("Full", "full_over_cpu"),
    )
}

_COUNTS: Final = ("header_tasks", "payload_tasks", "traversals", "coalesced_traversals")
PARAMETERS: Final = (
    "rpc_cycles",
    "payload_share_ratio",
    "dispatch_share_ratio",
    "accelerator_cycles",
    "traversal_cycles",
    "low_diameter_cycles",
    *_COUNTS,
)


def designs(**parameters: float) -> dict[str, Any]:
    """Return the RPC layer's cycles for one request under each design.

    Without `parameters` (see :data:`PARAMETERS`) they are those of the microservice UniqueId, and
    each design has `paper_speedup_ratio`, None where the paper prints none. Raises InputError for
    an unknown parameter and for a value of the wrong kind or out of range.
    """
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise InputError(f"unknown parameter '{name}'; known are {', '.join(PARAMETERS)}")
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise InputError(f"{name} = {value!r}: must be a finite number")
        if name in _COUNTS and not (value == int(value) and 0 <= value < 2**32):
            raise InputError(f"{name} = {value!r}: must be a whole number from 0 upwards")
    whole = {n: int(v) if n in _COUNTS else float(v) for n, v in parameters.items()}
    try:
        outcome = json.loads(_native.cerebros_designs(json.dumps(whole)))
    except AccelflowError as error:
        raise InputError(str(error)) from error
    for design in outcome["designs"]:
        paper = None if parameters else PAPER_SPEEDUPS.get(design["design"])
        design["paper_speedup_ratio"] = paper
    return {"schema": SCHEMA, **outcome}
