"""Cerebros's analytic model: the cost of parts of the RPC layer that stay on the core.

Pourhabibi, Sutherland, Daglis and Falsafi, MICRO 2021, sections 5 and 6.1, Fig. 6.
"""

import json
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError
from accelflow.findings import targets
from accelflow.parameters import checked

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


def designs(**parameters: float) -> dict[str, Any]:
    """Return the RPC layer's cycles for one request under each design.

    ``accelflow explain cerebros.analytic`` lists the `parameters`; the defaults are those of the
    microservice UniqueId. Without `parameters`, each design has `paper_speedup_ratio`, None if the
    paper does not print it. Raises InputError for an unknown parameter and for a value that is not
    allowed.
    """
    changes = checked("cerebros.analytic", parameters)
    try:
        outcome = json.loads(_native.cerebros_designs(json.dumps(changes)))
    except AccelflowError as error:
        raise InputError.of(error) from error
    for design in outcome["designs"]:
        paper = None if parameters else PAPER_SPEEDUPS.get(design["design"])
        design["paper_speedup_ratio"] = paper
    return {"schema": SCHEMA, **outcome}
