"""A simulation of offloads, compared with the equations.

The simulation (`accelflow_model::accelerometer::simulation`) has threads on cores, an interface and
an accelerator with its queue. It differs from the closed form only by waiting, which a sum of means
leaves out.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from accelflow import _native
from accelflow.accelerometer.service import Kernel, Queue, Service, evaluate, kernel_request
from accelflow.errors import AccelflowError, InputError, refused

#: The name and version of the object that :func:`simulate` returns.
SCHEMA: Final = "accelflow.accelerometer-simulation/1"


@dataclass(frozen=True, kw_only=True)
class Run:
    """Settings of a service's simulation.

    `hosts` of one core each share the accelerator, unless the kernel's queue sets their number. A
    host works on `threads` requests at a time (Sync: on one). A request has `kernels_per_request`,
    each after some of the service's own work. `own_work` is `constant` or `exponential`, and so is
    `kernel_work` for kernels without sizes. With `responses_first`, requests whose response has
    arrived run before new ones; otherwise requests run in the order in which they became ready.
    `load_ratio` is the arrival rate over the host's capacity without offloading. `requests` are
    measured with each of `seeds` seeds, from 1 on.
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
    """Simulate each kernel of `service` alone, and compare it with the equations.

    Returns an object of schema ``accelflow.accelerometer-simulation/1``. Each kernel has the closed
    form's and the simulated `speedup_ratio` (of a saturated host) and `latency_reduction_ratio` (of
    one request at a time). `loaded` has mean latency and P99 at `load_ratio`, with and without
    offloading. Ratios are of sums over the seeds, with Student's 95 % half width. Ranges are
    simulated at their central value. Raises InputError as :func:`evaluate` does, and for invalid
    settings.
    """
    run = run or Run()
    if not 1 <= run.seeds <= 1_000:
        raise refused("seeds", run.seeds, "must be from 1 to 1000")
    closed = evaluate(service)
    rows = zip(service.kernels, closed["kernels"], strict=True)
    return {
        "schema": SCHEMA,
        "run": asdict(run),
        "kernels": [_kernel(service, kernel, row, run) for kernel, row in rows],
    }


def _kernel(
    service: Service, kernel: Kernel, closed: Mapping[str, Any], run: Run
) -> dict[str, Any]:
    if kernel.rides_on is not None:
        raise refused(
            f"{kernel.name}.rides_on", kernel.rides_on, "must be left out for a simulation"
        )
    if isinstance(kernel.queue_cycles, Queue) and kernel.queue_cycles.shared is not None:
        shared = kernel.queue_cycles.shared
        raise refused(f"{kernel.name}.queue.shared", shared, "must be left out for a simulation")
    alone = replace(service, kernels=[kernel])

    def ratio(figure: str, change: Run, *, saturated: bool, upside_down: bool) -> dict[str, Any]:
        without = _measure(alone, change, saturated=saturated, offloading=False)
        with_it = _measure(alone, change, saturated=saturated, offloading=True)
        pairs = zip(without, with_it, strict=True)
        each = [a[figure] / b[figure] if upside_down else b[figure] / a[figure] for a, b in pairs]
        return _mean(each) | {"with": with_it}

    faster = ratio("requests_per_cycle", run, saturated=True, upside_down=False)
    sooner = ratio("mean_latency_cycles", replace(run, threads=1), saturated=True, upside_down=True)
    without = _measure(alone, run, saturated=False, offloading=False)
    with_it = _measure(alone, run, saturated=False, offloading=True)
    return {
        "name": kernel.name,
        "threading": kernel.threading,
        "closed_form": {
            name: closed[name] for name in ("speedup_ratio", "latency_reduction_ratio")
        },
        "speedup_ratio": {name: faster[name] for name in ("mean", "half_width")},
        "latency_reduction_ratio": {name: sooner[name] for name in ("mean", "half_width")},
        "saturated": {
            name: _mean([m[name] for m in faster["with"]])["mean"]
            for name in ("mean_queue_cycles", "accelerator_utilization_ratio", "core_busy_ratio")
        },
        "loaded": {
            name: {
                "without_cycles": _mean([m[name] for m in without]),
                "with_cycles": _mean([m[name] for m in with_it]),
                "reduction_ratio": _mean(
                    [a[name] / b[name] for a, b in zip(without, with_it, strict=True)]
                ),
            }
            for name in ("mean_latency_cycles", "p99_latency_cycles")
        },
    }


def _measure(
    service: Service, run: Run, *, saturated: bool, offloading: bool
) -> list[dict[str, Any]]:
    """Run the simulation with each seed."""
    host, kernel = kernel_request(service, 0)
    each = asdict(run)
    load, seeds = each.pop("load_ratio"), each.pop("seeds")
    found = []
    for seed in range(1, seeds + 1):
        request = {
            "host_cycles_per_s": host,
            "kernel": kernel,
            "run": each
            | {"load_ratio": None if saturated else load, "offloading": offloading, "seed": seed},
        }
        try:
            found.append(json.loads(_native.accelerometer_simulate(json.dumps(request))))
        except AccelflowError as error:
            raise InputError(str(error)) from error
    return found


def _mean(values: list[Any]) -> dict[str, float | None]:
    """Return the mean and Student's 95 % half width; None without values."""
    if any(value is None for value in values):
        return {"mean": None, "half_width": None}
    interval = _native.confidence_interval(values)
    return {
        "mean": sum(values) / len(values),
        "half_width": None if interval is None else interval[1],
    }
