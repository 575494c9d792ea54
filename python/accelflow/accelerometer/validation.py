"""The accuracy of the closed form: equations compared with simulation, over a grid.

:func:`grid` has the sections :data:`SECTIONS`. They vary inputs, and add effects that the equations
leave out, such as queues, load, tails and threads. Each row is one service under one design: the
equations' value, the simulated value, and the error in points, which are hundredths of the ratio,
as in the paper. The waits in queues are compared apart, in cycles.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from accelflow.accelerometer.service import (
    THREADINGS,
    Kernel,
    Queue,
    Service,
    Sizes,
    evaluate,
)
from accelflow.accelerometer.simulated import Run, simulate

#: The name and version of the object that :func:`grid` returns.
SCHEMA: Final = "accelflow.accelerometer-validation/2"

#: C of the paper's Feed1, and the costs of its off-chip offloads (Table 7): L and o1.
_HOST: Final = 2.3e9
_TRANSFER: Final = 2_300.0
_SWITCH: Final = 5_750.0
#: C_b of that compression, from its printed break-even size.
_PER_BYTE: Final = 5.62


@dataclass(frozen=True)
class Size:
    """The length of a comparison of equations and simulation: requests in a run, seeds, rows.

    With `every` above 1, only each `every`-th row of a section (a list of compared cases) is
    computed.
    """

    requests: int = 20_000
    seeds: int = 5
    every: int = 1


def _kernel(threading: str, **changed: Any) -> Kernel:
    """The compression of the paper's Feed1, all of it offloaded, with changed inputs."""
    given: dict[str, Any] = {
        "threading": threading,
        "kernel_share_ratio": 0.15,
        "offloads_per_s": 15_008.0,
        "transfer_cycles": _TRANSFER,
        "thread_switch_cycles": 0.0 if threading in ("sync", "async_same_thread") else _SWITCH,
        "acceleration_ratio": 27.0,
    }
    return Kernel(**given | changed)


def _even(size: Size, **changed: Any) -> Run:
    """A run without variation, so that the error is the equations' own."""
    return Run(
        requests=size.requests,
        seeds=size.seeds,
        own_work="constant",
        kernel_work="constant",
        **changed,
    )


@dataclass(frozen=True)
class Case:
    """One comparison of equations and simulation: the service, and the ratio to compare.

    `varied` is the varied input in words, `kernel` the offloaded kernel, `others` the service's
    other kernels, `run` the simulation's settings and `figure` the compared ratio. In a picture,
    the comparison is the point of the curve `line` at the x value `at`; without a `line`, it is in
    no picture.
    """

    varied: str
    kernel: Kernel
    run: Run
    figure: str
    others: tuple[Kernel, ...] = ()
    line: str = ""
    at: float = 0.0


def _nothing_waits(size: Size) -> Iterator[Case]:
    """All threading designs; small and large kernels, slow and fast accelerators, o0 or none."""
    run = _even(size, threads=16)
    designs: list[tuple[str, bool | None]] = [(threading, None) for threading in THREADINGS]
    designs += [("sync_os", False), ("async_same_thread", False)]
    for threading, waits in designs:
        for share, offloads in ((0.15, 15_008.0), (0.52, 40_000.0)):
            for acceleration in (2.0, 27.0):
                for setup in (0.0, 1_000.0):
                    kernel = _kernel(
                        threading,
                        driver_waits=waits,
                        kernel_share_ratio=share,
                        offloads_per_s=offloads,
                        acceleration_ratio=acceleration,
                        setup_cycles=setup,
                    )
                    name = threading if waits is None else f"{threading}, driver does not wait"
                    varied = f"{name}, alpha {share:g}, A {acceleration:g}, o0 {setup:g}"
                    yield Case(varied, kernel, run, "speedup_ratio")


def _varied_inputs(size: Size) -> Iterator[Case]:
    """Each input alone, for every threading: L, o1, Q and n, and work that varies."""
    for threading in THREADINGS:
        switches = threading in ("sync_os", "async_distinct_thread")
        changes: list[tuple[str, dict[str, Any]]] = [
            ("L 0", {"transfer_cycles": 0.0}),
            ("L 10,000", {"transfer_cycles": 10_000.0}),
            ("Q 5,000", {"queue_cycles": 5_000.0}),
            ("n 60,000", {"offloads_per_s": 60_000.0}),
            ("n 1,000", {"offloads_per_s": 1_000.0}),
            *([("o1 1,000", {"thread_switch_cycles": 1_000.0})] if switches else []),
        ]
        for name, changed in changes:
            kernel = _kernel(threading, **changed)
            run = _even(size, threads=16)
            yield Case(f"{threading}, {name}", kernel, run, "speedup_ratio")
        vary = Run(requests=size.requests, seeds=size.seeds, threads=64)
        yield Case(f"{threading}, exponential work", _kernel(threading), vary, "speedup_ratio")


#: Sizes around a break-even size, in its multiples.
_AROUND: Final = (0.25, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 4.0)


def _sizes(size: Size) -> Iterator[Case]:
    """Equations (2), (4) and (7): offloads of one size, around the size that they say pays."""
    for threading in THREADINGS:
        given = _of_size(threading, 1_000.0)
        even = evaluate(Service(host_cycles_per_s=_HOST, kernels=[given]))["kernels"][0]
        for goal, figure in (
            ("speedup", "speedup_ratio"),
            ("latency", "latency_reduction_ratio"),
        ):
            above = even[f"break_even_{goal}"]["above_bytes"]
            for times in _AROUND:
                varied = f"{threading}, {goal}, {times:g} times {above:,.0f} B"
                kernel = _of_size(threading, times * above)
                run = _even(size, threads=16)
                yield Case(varied, kernel, run, figure, line=f"{threading}, {goal}", at=times)


def _of_size(threading: str, size_bytes: float) -> Kernel:
    """The compression with all offloads of one size, and its share of the host's cycles."""
    return _kernel(
        threading,
        offloads_per_s=0.15 * _HOST / (_PER_BYTE * size_bytes),
        cycles_per_byte=_PER_BYTE,
        sizes=Sizes(bytes=[size_bytes], cumulative_ratio=[1.0], interpolation="step"),
    )


def _one_request(size: Size) -> Iterator[Case]:
    """As :func:`_nothing_waits`, for latency: one request at a time on an idle host."""
    for case in _nothing_waits(size):
        yield replace(case, figure="latency_reduction_ratio")


def _threads(size: Size) -> Iterator[Case]:
    """Sync-OS with few threads and a slow accelerator: cores idle when all threads wait."""
    kernel = _kernel("sync_os", kernel_share_ratio=0.5, acceleration_ratio=1.0)
    for threads in (1, 2, 3, 4, 8, 16):
        run = Run(requests=size.requests, seeds=size.seeds, threads=threads)
        varied = f"sync_os, A 1, {threads} threads"
        yield Case(varied, kernel, run, "speedup_ratio", line="sync_os", at=threads)


def _queue(size: Size) -> Iterator[Case]:
    """Hosts that share one element: Q by Pollaczek and Khinchine, at the rate before offloading."""
    run = Run(requests=size.requests, seeds=size.seeds, threads=8)
    for threading in ("sync", "async_same_thread"):
        # One host keeps the element busy for 0.15 / 27 of the time.
        for hosts in (18, 54, 90, 126, 162):
            kernel = _kernel(threading, queue_cycles=Queue(servers=1, hosts=hosts))
            used = hosts * 0.15 / 27
            varied = f"{threading}, {100 * used:.0f} % in use"
            yield Case(varied, kernel, run, "speedup_ratio", line=threading, at=used)


def _shared(size: Size) -> Iterator[Case]:
    """Two kernels of each host in one queue: moments of both, at the rate before offloading."""
    run = Run(requests=size.requests, seeds=size.seeds, threads=8)
    for threading in ("sync", "async_same_thread"):
        for hosts in (9, 27, 45, 63, 81):
            queue = Queue(servers=1, hosts=hosts, shared="device")
            kernel = _kernel(threading, name="compression", queue_cycles=queue)
            # As much of the device's time, in four times as many offloads.
            other = replace(kernel, name="encryption", offloads_per_s=4 * 15_008.0)
            used = 2 * hosts * 0.15 / 27
            varied = f"{threading}, {100 * used:.0f} % in use by two kernels"
            yield Case(
                varied, kernel, run, "speedup_ratio", others=(other,), line=threading, at=used
            )


def _tail(size: Size) -> Iterator[Case]:
    """P99 under load, compared with the equations' latency reduction, which has no load."""
    for threading, first in (
        ("sync", False),
        ("sync_os", False),
        ("sync_os", True),
        ("async_same_thread", False),
        ("async_same_thread", True),
    ):
        for load in (0.3, 0.5, 0.7, 0.85):
            run = Run(
                requests=size.requests, seeds=size.seeds, load_ratio=load, responses_first=first
            )
            order = ", responses first" if first else ""
            varied = f"{threading}{order}, {100 * load:.0f} % load"
            line = f"{threading}{order}"
            yield Case(varied, _kernel(threading), run, "p99_latency_cycles", line=line, at=load)


def _mean_with_load(size: Size) -> Iterator[Case]:
    """As :func:`_tail`, for the mean."""
    for case in _tail(size):
        yield replace(case, figure="mean_latency_cycles")


def _overlap(size: Size) -> Iterator[Case]:
    """Requests of several kernels without responses: equation (8) adds times that overlap."""
    kernel = _kernel("async_no_response", kernel_share_ratio=0.5, acceleration_ratio=1.0)
    for kernels in (1, 2, 4, 16):
        run = _even(size, kernels_per_request=kernels)
        varied = f"async_no_response, A 1, {kernels} kernels a request"
        line = "async_no_response"
        yield Case(varied, kernel, run, "latency_reduction_ratio", line=line, at=kernels)


def _switches(size: Size) -> Iterator[Case]:
    """Sync-OS: one switch in the latency or two, by the accelerator's time over a switch's."""
    run = _even(size)
    for acceleration in (1.0, 2.0, 4.0, 8.0, 27.0):
        for switches in (1, 2):
            kernel = _kernel(
                "sync_os", acceleration_ratio=acceleration, latency_thread_switches=switches
            )
            time = 0.15 * _HOST / 15_008 / acceleration
            varied = f"sync_os, {time / _SWITCH:.2f} switches of time, {switches} counted"
            line = f"{switches} counted"
            at = time / _SWITCH
            yield Case(varied, kernel, run, "latency_reduction_ratio", line=line, at=at)


def _selection(size: Size) -> Iterator[Case]:
    """Only sizes that pay: alpha scaled by the number of offloads, as for Fig. 20, or by cycles."""
    # As in examples/accelerometer/feed1-compression.toml.
    sizes = Sizes(
        bytes=[1, 64, 256, 425, 1024, 2456, 4096, 16384, 65536],
        cumulative_ratio=[0, 0.1, 0.3, 0.3584, 0.5, 0.7344, 0.85, 0.97, 1],
    )
    run = Run(requests=size.requests, seeds=size.seeds)
    for threading in ("sync", "sync_os", "async_same_thread"):
        for scaling in ("offloads", "cycles"):
            kernel = _kernel(
                threading,
                cycles_per_byte=5.62,
                sizes=sizes,
                selection="lucrative",
                scaling=scaling,
            )
            yield Case(f"{threading}, scaled by {scaling}", kernel, run, "speedup_ratio")


#: The sections of the validation by name: each makes its rows for a :class:`Size`.
SECTIONS: Final = {
    "nothing_waits": _nothing_waits,
    "varied_inputs": _varied_inputs,
    "sizes": _sizes,
    "one_request": _one_request,
    "threads": _threads,
    "selection": _selection,
    "queue": _queue,
    "shared": _shared,
    "mean_with_load": _mean_with_load,
    "tail": _tail,
    "overlap": _overlap,
    "switches": _switches,
}


def grid(size: Size | None = None) -> dict[str, Any]:
    """Compare Accelerometer's equations with simulation, in many cases; takes about a minute.

    `size` is the length of the comparison; None stands for the default :class:`Size`.

    Returns an object of schema ``accelflow.accelerometer-validation/2``: `sections` by name (what
    the cases have in common), each a list of rows {varied, closed_form_ratio, simulated_ratio,
    half_width, error_points, line, at}. `waits` has the mean waits of offloads in queues, rows
    {varied, closed_form_cycles, simulated_cycles, half_width, error_ratio}. Equal arguments give
    equal results, bit by bit.
    """
    size = size or Size()
    return {
        "schema": SCHEMA,
        "requests": size.requests,
        "seeds": size.seeds,
        "sections": {
            name: [_row(case) for case in list(cases(size))[:: size.every]]
            for name, cases in SECTIONS.items()
        },
        "waits": [_wait(case) for case in list(_waits(size))[:: size.every]],
    }


def row(section: str, number: int, size: Size | None = None) -> dict[str, Any]:
    """Return the row at the index `number` of `section`, or of ``waits``, as in :func:`grid`.

    The index counts all rows of the section, from 0, whatever `size.every` is.
    """
    size = size or Size()
    if section == "waits":
        return _wait(list(_waits(size))[number])
    return _row(list(SECTIONS[section](size))[number])


def _waits(size: Size) -> Iterator[Case]:
    """The queues of :func:`_queue` and :func:`_shared`, at three loads of the hosts."""
    for cases in (_queue, _shared):
        for case in cases(size):
            if case.at < 0.6:
                continue
            for load in (0.3, 0.6, 0.9):
                # With little work of a host at a time, arrivals are those of many hosts.
                run = replace(case.run, load_ratio=load)
                yield replace(case, varied=f"{case.varied}, hosts at {100 * load:.0f} %", run=run)


def _wait(case: Case) -> dict[str, Any]:
    found = _simulated(case)["loaded"]["queue_cycles"]
    closed = found["closed_form"]
    return {
        "varied": case.varied,
        "closed_form_cycles": closed,
        "simulated_cycles": found["mean"],
        "half_width": found["half_width"],
        "error_ratio": None if closed is None else closed / found["mean"] - 1,
    }


def _simulated(case: Case) -> Mapping[str, Any]:
    service = Service(host_cycles_per_s=_HOST, kernels=[case.kernel, *case.others])
    found = simulate(service, case.run)
    (alone,) = [found["service"]] if case.others else found["kernels"]
    only: Mapping[str, Any] = alone
    return only


def _row(case: Case) -> dict[str, Any]:
    service = Service(host_cycles_per_s=_HOST, kernels=[case.kernel, *case.others])
    found = _simulated(case)
    loaded = case.figure in found["loaded"]
    simulated = found["loaded"][case.figure]["reduction_ratio"] if loaded else found[case.figure]
    closed = evaluate(service)["latency_reduction_ratio" if loaded else case.figure]
    return {
        "varied": case.varied,
        "closed_form_ratio": closed,
        "simulated_ratio": simulated["mean"],
        "half_width": simulated["half_width"],
        "error_points": 100 * (closed - simulated["mean"]),
        "line": case.line,
        "at": case.at,
    }


def worst(rows: list[Mapping[str, Any]]) -> float:
    """Return the largest absolute error of `rows`, in percentage points."""
    return max(abs(float(row["error_points"])) for row in rows)
