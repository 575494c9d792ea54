"""RELIEF's suite of coarse-grained applications, simulated under RELIEF and AccelFlow: Fig. 15.

AccelFlow's paper prints "maximum throughput" and 1.8x on average, but not how the maximum was
found. So results have the throughput by every definition of "maximum throughput" that fits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, one_of, whole_number
from accelflow.findings import targets

__all__ = ["DEFINITIONS", "LEAST_COUNTED", "PAPER_MEAN_RATIO", "READINGS", "relief_suite"]

#: The schema of the results of :func:`relief_suite`.
SCHEMA: Final = "accelflow.relief-suite/1"

#: AccelFlow's throughput over RELIEF's: the average that the paper prints for Fig. 15.
PAPER_MEAN_RATIO: Final = targets()["accelflow.relief_suite_throughput.vs_RELIEF"].value

#: Definitions of "maximum throughput" by name: the key of AccelFlow's throughput in results, and
#: that of RELIEF's.
DEFINITIONS: Final[Mapping[str, tuple[str, str]]] = {
    "one_at_a_time": ("closed_loop_per_s", "one_at_a_time_per_s"),
    "closed_loop": ("closed_loop_per_s", "closed_loop_per_s"),
    "periodic": ("periodic_per_s", "periodic_per_s"),
    "poisson": ("poisson_per_s", "poisson_per_s"),
}

#: The least number of counted graphs, those after the warm-up, at which the rates of ``periodic``
#: and ``poisson`` follow their definition: of fewer, one late graph is more than 1 %.
LEAST_COUNTED: Final = 100

_RELEASE: Final[Mapping[str, Any]] = {
    "manager": {"per_interrupt_us": 2.0},
    "payload": "in_queue",
    "order": "fifo",
}

#: Possible interpretations of the paper's text, by name, as changes of parameters: the manager's
#: time, where results are kept, and the order of AccelFlow's queues.
READINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "release": _RELEASE,
    "text": {**_RELEASE, "manager": {"per_task_us": 1.5}},
    "by_pointer": {**_RELEASE, "payload": "by_pointer"},
    "deadline": {**_RELEASE, "order": "deadline"},
}


def relief_suite(
    *,
    reading: str = "release",
    applications: Sequence[str] = (),
    graphs: int = 330,
    warmup: int = 30,
    seed: int = 1,
) -> dict[str, Any]:
    """Simulate the applications of the RELIEF paper under RELIEF and AccelFlow, and compare them.

    Returns a dict with throughputs, the ratios of AccelFlow's to RELIEF's, and the means of these
    ratios.

    `reading`, a key of :data:`READINGS`, is an interpretation of the paper: ``release``, RELIEF's
    published code, whose manager takes 2.0 us per interrupt; ``text``, with 1.5 us per task as in
    AccelFlow's text; ``by_pointer``, with results passed by memory pointers under AccelFlow; or
    ``deadline``, with earliest-deadline-first queues under AccelFlow. `applications` are names, by
    default all five. Each run has `graphs` task graphs. Percentiles, and the shares of graphs that
    meet the deadline, exclude the first `warmup` that end. `seed` is that of random arrivals.

    In the result, ``applications[i].ratio`` and ``means`` have a ratio for each key of
    :data:`DEFINITIONS`, and for ``bound``: the throughput if the bottleneck unit computes all the
    time, divided by RELIEF's throughput with one graph at a time. A ratio for ``periodic`` or
    ``poisson`` compares the highest rates at which 99 % of the graphs meet the deadline. The ratio
    is None if RELIEF has no such rate, and 0 if only AccelFlow has none; means leave out ratios
    that are None or 0. With fewer than :data:`LEAST_COUNTED` graphs after the warm-up, a single
    late graph is more than 1 %, and queues hardly fill in so short a run.

    Raises InputError for an unknown reading or application and for lengths that are not allowed.
    """
    one_of("reading", reading, READINGS)
    for name, value, least in (("graphs", graphs, 1), ("warmup", warmup, 0), ("seed", seed, 0)):
        whole_number(name, value, least, 2**32 - 1)
    request = {
        "applications": list(applications),
        "graphs": graphs,
        "warmup": warmup,
        "seed": seed,
        **READINGS[reading],
    }
    try:
        outcome = json.loads(_native.relief_suite(json.dumps(request)))
    except AccelflowError as error:
        raise InputError.of(error) from error
    for application in outcome["applications"]:
        application["ratio"] = _ratios(application)
    return {
        "schema": SCHEMA,
        "reading": reading,
        "graphs": graphs,
        "warmup": warmup,
        "seed": seed,
        **outcome,
        "means": {
            key: _means([a["ratio"][key] for a in outcome["applications"]])
            for key in (*DEFINITIONS, "bound")
        },
        "paper_mean_ratio": PAPER_MEAN_RATIO,
    }


def _ratios(application: Mapping[str, Any]) -> dict[str, float | None]:
    systems = application["systems"]
    ratios: dict[str, float | None] = {}
    for key, (ours, theirs) in DEFINITIONS.items():
        relief = systems["relief"][theirs]
        ratios[key] = systems["accelflow"][ours] / relief if relief else None
    alone = systems["relief"]["one_at_a_time_per_s"]
    return {**ratios, "bound": application["bound_per_s"] / alone}


def _means(ratios: Sequence[float | None]) -> dict[str, float | None]:
    known = [ratio for ratio in ratios if ratio]
    if not known:
        return {"arithmetic": None, "geometric": None}
    return {
        "arithmetic": math.fsum(known) / len(known),
        "geometric": math.exp(math.fsum(math.log(ratio) for ratio in known) / len(known)),
    }
