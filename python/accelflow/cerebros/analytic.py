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

#: The factors that the paper prints by which a design reduces the RPC layer's cycles for UniqueId,
#: compared with the design None. The paper prints none for the other designs.
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
    microservice UniqueId. Each design in the result has `paper_speedup_ratio`: the speedup that the
    paper prints, or None if it prints none or `parameters` are given. Raises InputError for an
    unknown parameter and for a value that is not allowed.
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
