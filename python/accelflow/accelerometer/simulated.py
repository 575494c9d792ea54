"""A simulation of offloads, compared with the equations.

The simulation (`accelflow_model::accelerometer::simulation`) has threads on cores, an interface and
an accelerator with its queue. It differs from the closed form only by waiting, which a sum of means
leaves out.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from accelflow import _native
from accelflow.accelerometer.service import (
    Kernel,
    Queue,
    Service,
    carried,
    central,
    evaluate,
    kernel_requests,
)
from accelflow.errors import AccelflowError, InputError, whole_number
from accelflow.parameters import check_numbers

#: The name and version of the object that :func:`simulate` returns.
SCHEMA: Final = "accelflow.accelerometer-simulation/3"


@dataclass(frozen=True, kw_only=True)
class Run:
    """The settings of a simulation of a service's offloads.

    The accelerator is shared by `hosts` hosts of one core each, unless the kernel's queue sets
    their number. A host works on `threads` requests at a time (on one if all kernels are Sync). A
    request has `kernels_per_request` kernels, each after some of the service's own work.
    `own_work`, ``constant`` or ``exponential``, is the distribution of the time of own work.
    `kernel_work` is the distribution of the time of kernels without sizes. If the kernel's queue
    has a `service_scv_ratio`, this determines the distribution of the accelerator's time: 0 is
    constant, 1 exponential. With `responses_first`, requests whose response has arrived run before
    new ones; otherwise requests run in the order in which they became ready. `load_ratio` is the
    arrival rate at each host divided by the host's capacity without offloading. `requests`
    requests, of all hosts together, are measured with each of `seeds` seeds, from 1 on.
    """

    hosts: int = 1
    threads: int = 64
    responses_first: bool = False
    kernels_per_request: int = 1
    own_work: str = "exponential"
    kernel_work: str = "exponential"
    load_ratio: float = 0.7
    requests: int = 10_000
    seeds: int = 3


def simulate(service: Service, run: Run | None = None) -> dict[str, Any]:
    """Simulate offloads of `service`, and compare the results with Accelerometer's equations.

    Returns an object of schema ``accelflow.accelerometer-simulation/3``. `kernels` has a row for
    each kernel alone, except for those that share an offload with others, and those whose queue has
    a `shared` name. `service` is the row of all kernels together, None if there is only one kernel.
    In this row, a request has kernels of all kinds, in proportion to their offloads, and kernels
    that share an offload count as one.

    A row has the closed form's and the simulated `speedup_ratio` (of a saturated host) and
    `latency_reduction_ratio` (of one request at a time). `loaded` has mean latency and P99 at
    `load_ratio`, with and without offloading, and the mean wait of an offload in the queue,
    `queue_cycles`, as simulated and by the equations (None if the accelerator would be overloaded).
    `overloaded` in `loaded` tells whether the host is overloaded at this load, without and with
    offloading: latencies then grow with the length of the run. Simulated ratios, latencies and
    waits are means over the seeds, with Student's 95 % half width (None for one seed); a ratio is
    computed for each seed. Where neither A nor the queue's `service_cycles` is known, the
    accelerator's own time is simulated as 0: the speedup is then that of an ideal accelerator. The
    latencies of requests that wait for it are None, and `why_latency_unknown`, which otherwise is
    None, names the missing inputs. Ranges are simulated at their central value. Raises InputError
    as :func:`evaluate` does, and for invalid settings.
    """
    run = run or Run()
    _check_run(run)
    closed = evaluate(service)
    offloads = carried(service)
    found = {
        "schema": SCHEMA,
        "run": asdict(run),
        "kernels": [
            _row(kernel.name, [kernel], replace(offloads, kernels=[kernel]), row, run)
            for kernel, row in zip(service.kernels, closed["kernels"], strict=True)
            if not _shares(kernel, service)
        ],
        "service": None,
    }
    if len(service.kernels) > 1:
        found["service"] = _row("service", service.kernels, offloads, closed, run)
    return found


def _check_run(run: Run) -> None:
    whole_number("seeds", run.seeds, 1, 1_000)
    names = ("hosts", "threads", "kernels_per_request", "requests", "load_ratio")
    check_numbers("accelerometer", run, names, group="simulation.")


def _shares(kernel: Kernel, service: Service) -> bool:
    """Whether `kernel` shares its offload or its accelerator with another kernel."""
    queue = kernel.queue_cycles
    shared = isinstance(queue, Queue) and queue.shared is not None
    rides = kernel.rides_on is not None
    return shared or rides or any(other.rides_on == kernel.name for other in service.kernels)


def _row(
    name: str,
    parts: Sequence[Kernel],
    service: Service,
    closed: Mapping[str, Any],
    run: Run,
) -> dict[str, Any]:
    """The kernels of `service` at once, beside the outcome `closed` of the equations.

    Of `parts`, those that share an offload are one kernel of `service`.
    """

    def ratio(figure: str, change: Run, *, saturated: bool, upside_down: bool) -> dict[str, Any]:
        without = _measure(service, change, saturated=saturated, offloading=False)
        with_it = _measure(service, change, saturated=saturated, offloading=True)
        pairs = zip(without, with_it, strict=True)
        turned = ((a, b) if upside_down else (b, a) for a, b in pairs)
        return _mean([_over(a[figure], b[figure]) for a, b in turned]) | {"with": with_it}

    faster = ratio("requests_per_cycle", run, saturated=True, upside_down=False)
    sooner = ratio("mean_latency_cycles", replace(run, threads=1), saturated=True, upside_down=True)
    without = _measure(service, run, saturated=False, offloading=False)
    with_it = _measure(service, run, saturated=False, offloading=True)
    return {
        "name": name,
        "threading": ", ".join(dict.fromkeys(kernel.threading for kernel in service.kernels)),
        "closed_form": {
            name: closed[name] for name in ("speedup_ratio", "latency_reduction_ratio")
        },
        "speedup_ratio": {name: faster[name] for name in ("mean", "half_width")},
        "latency_reduction_ratio": {name: sooner[name] for name in ("mean", "half_width")},
        "why_latency_unknown": None if sooner["mean"] is not None else _unknown(parts),
        "saturated": {
            name: _mean([m[name] for m in faster["with"]])["mean"]
            for name in ("mean_queue_cycles", "accelerator_utilization_ratio", "core_busy_ratio")
        },
        "loaded": {
            name: {
                "without_cycles": _mean([m[name] for m in without]),
                "with_cycles": _mean([m[name] for m in with_it]),
                "reduction_ratio": _mean(
                    [_over(a[name], b[name]) for a, b in zip(without, with_it, strict=True)]
                ),
            }
            for name in ("mean_latency_cycles", "p99_latency_cycles")
        }
        | {
            "overloaded": {
                "without_offloading": run.load_ratio >= 1.0,  # by the definition of the load
                "with_offloading": run.load_ratio >= faster["mean"],
            },
            "queue_cycles": {
                "closed_form": _queue_at(service, run.load_ratio),
                **_mean([m["mean_queue_cycles"] for m in with_it]),
            },
        },
    }


def _unknown(parts: Sequence[Kernel]) -> str:
    """The inputs without which the latency of the requests of `parts` is unknown."""
    carriers = {kernel.name: kernel for kernel in parts}
    named = []
    for part in parts:
        kernel = carriers.get(part.rides_on or "", part)
        queue = kernel.queue_cycles
        stated = isinstance(queue, Queue) and queue.service_cycles is not None
        apart = (kernel.threading, kernel.placement) == ("async_no_response", "remote")
        if part.acceleration_ratio is None and not stated and not apart:
            named.append(f"{part.name}.acceleration_ratio")
    return f"unknown without {' and '.join(named)}"


def _queue_at(service: Service, load: float) -> float | None:
    """The equations' mean wait of an offload, with `load` times the work; None if overloaded.

    The work is that of `load` times as many hosts: more work of each host could be more than it has
    cycles.
    """
    kernels = []
    for kernel in service.kernels:
        queue = kernel.queue_cycles
        if isinstance(queue, Queue):
            queue = replace(queue, hosts=load * queue.hosts)
        kernels.append(replace(kernel, queue_cycles=queue))
    try:
        rows = evaluate(central(replace(service, kernels=kernels)))["kernels"]
    except InputError:
        return None
    offloads = math.fsum(row["offloads_per_s"] for row in rows)
    if not offloads:
        return 0.0
    return math.fsum(row["offloads_per_s"] * row["queue_cycles"] for row in rows) / offloads


def _measure(
    service: Service, run: Run, *, saturated: bool, offloading: bool
) -> list[dict[str, Any]]:
    """Run the simulation with each seed."""
    host, kernels = kernel_requests(service)
    each = asdict(run)
    load, seeds = each.pop("load_ratio"), each.pop("seeds")
    found = []
    for seed in range(1, seeds + 1):
        request = {
            "host_cycles_per_s": host,
            "kernels": kernels,
            "run": each
            | {"load_ratio": None if saturated else load, "offloading": offloading, "seed": seed},
        }
        try:
            found.append(json.loads(_native.accelerometer_simulate(json.dumps(request))))
        except AccelflowError as error:
            raise InputError.of(error) from error
    return found


def _over(a: float | None, b: float | None) -> float | None:
    """Return `a` / `b`; None if one of them is unknown."""
    return None if a is None or b is None else a / b


def _mean(values: list[Any]) -> dict[str, float | None]:
    """Return the mean and Student's 95 % half width; None if a value is unknown."""
    if any(value is None for value in values):
        return {"mean": None, "half_width": None}
    interval = _native.confidence_interval(values)
    return {
        "mean": sum(values) / len(values),
        "half_width": None if interval is None else interval[1],
    }
