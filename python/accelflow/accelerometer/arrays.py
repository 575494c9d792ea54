"""The Accelerometer model's equations for arrays of inputs, up to sweeps of millions of points."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, one_of, refused

#: A number for all points, or an array that broadcasts against the other arrays.
Values = npt.ArrayLike
#: An array with one result for each point.
Floats = npt.NDArray[np.float64]

#: The number of points in a call of the engine.
_CHUNK: Final = 1 << 14

_GOALS: Final = ("speedup", "latency")


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep, as arrays in the broadcast shape of its arguments.

    `speedup_ratio` (C / C_S) is the host's throughput with offloading divided by that without.
    `latency_reduction_ratio` (C / C_L) is the latency without offloading divided by that with it.
    """

    speedup_ratio: Floats
    latency_reduction_ratio: Floats


@dataclass(frozen=True)
class BreakEven:
    """The sizes for which an offload saves cycles: from `above_bytes` up to `below_bytes`.

    Both are arrays in the broadcast shape of the arguments. Both are infinite where no size saves
    cycles; `below_bytes` is infinite where there is no upper bound.
    """

    above_bytes: Floats
    below_bytes: Floats


def sweep(  # noqa: PLR0913  the parameters of the equations
    *,
    threading: str,
    placement: str = "off_chip",
    driver_waits: bool | None = None,
    latency_thread_switches: int = 1,
    host_cycles_per_s: Values,
    kernel_share_ratio: Values,
    offloads_per_s: Values,
    acceleration_ratio: Values,
    setup_cycles: Values = 0.0,
    transfer_cycles: Values = 0.0,
    queue_cycles: Values = 0.0,
    thread_switch_cycles: Values = 0.0,
) -> Sweep:
    """Compute speedup and latency reduction for arrays of inputs (equations 1, 3, 5, 6 and 8).

    The equations are those of the Accelerometer paper. The design (`threading`, `placement`,
    `driver_waits`, `latency_thread_switches`) is the same for all elements of the arrays; every
    other argument may be an array.
    `driver_waits` says whether the host waits for the accelerator's acknowledgement of an offload
    (None: yes, except for a remote accelerator without Sync). `latency_thread_switches` is how many
    switches, 1 or 2, count in a request's latency with Sync-OS. Releases the interpreter's lock.
    Raises InputError for shapes that do not broadcast, and for a value out of range; the message
    names the argument and the index of the value.
    """
    values, shape = _broadcast(
        host_cycles_per_s=host_cycles_per_s,
        kernel_share_ratio=kernel_share_ratio,
        offloads_per_s=offloads_per_s,
        setup_cycles=setup_cycles,
        transfer_cycles=transfer_cycles,
        queue_cycles=queue_cycles,
        thread_switch_cycles=thread_switch_cycles,
        acceleration_ratio=acceleration_ratio,
    )
    design = (threading, placement, driver_waits, latency_thread_switches)
    speedup, latency = np.empty(shape), np.empty(shape)
    for first, (host, share, offloads, *costs), part_speedup, part_latency in _chunks(
        values, speedup, latency
    ):
        with _input():
            _native.accelerometer_sweep(
                design, first, host, share, offloads, _five(costs), part_speedup, part_latency
            )
    return Sweep(speedup, latency)


def break_even(  # noqa: PLR0913  the parameters of the equations
    *,
    threading: str,
    placement: str = "off_chip",
    driver_waits: bool | None = None,
    latency_thread_switches: int = 1,
    goal: str = "speedup",
    cycles_per_byte: Values,
    complexity_exponent: Values = 1.0,
    acceleration_ratio: Values,
    setup_cycles: Values = 0.0,
    transfer_cycles: Values = 0.0,
    transfer_cycles_per_byte: Values = 0.0,
    queue_cycles: Values = 0.0,
    thread_switch_cycles: Values = 0.0,
) -> BreakEven:
    """Return the range of offload sizes, in bytes, that save cycles: equations (2), (4) and (7).

    The equations are those of the Accelerometer paper. `goal` is ``speedup`` (more throughput of
    the host) or ``latency`` (a shorter request). `transfer_cycles` is the part of L, the cycles to
    move one offload, that does not depend on the size, as with a pipelined interface.
    `transfer_cycles_per_byte` is the part that grows with the size. On the host, the kernel takes
    `cycles_per_byte` times the size to the power of `complexity_exponent` cycles. The other
    arguments are those of :func:`sweep`. Raises as :func:`sweep` does, and InputError for an
    unknown goal.
    """
    one_of("goal", goal, _GOALS)
    values, shape = _broadcast(
        cycles_per_byte=cycles_per_byte,
        complexity_exponent=complexity_exponent,
        transfer_cycles_per_byte=transfer_cycles_per_byte,
        setup_cycles=setup_cycles,
        transfer_cycles=transfer_cycles,
        queue_cycles=queue_cycles,
        thread_switch_cycles=thread_switch_cycles,
        acceleration_ratio=acceleration_ratio,
    )
    design = (threading, placement, driver_waits, latency_thread_switches)
    above, below = np.empty(shape), np.empty(shape)
    for first, (cost, power, per_byte, *costs), part_above, part_below in _chunks(
        values, above, below
    ):
        with _input():
            _native.accelerometer_break_even(
                design,
                first,
                goal == "latency",
                cost,
                power,
                per_byte,
                _five(costs),
                part_above,
                part_below,
            )
    return BreakEven(above, below)


@contextmanager
def _input() -> Iterator[None]:
    try:
        yield
    except AccelflowError as error:
        raise InputError(str(error)) from error


def _chunks(
    values: Sequence[Any], one: Floats, two: Floats
) -> Iterator[tuple[int, list[Any], Floats, Floats]]:
    """Pieces of the arguments and of both results that stay in a processor's cache.

    Without points there is one empty piece, so that the design is checked.
    """
    one, two = one.reshape(-1), two.reshape(-1)
    for first in range(0, max(one.size, 1), _CHUNK):
        part = slice(first, first + _CHUNK)
        pieces = [value[part] if isinstance(value, np.ndarray) else value for value in values]
        yield first, pieces, one[part], two[part]


def _five(costs: list[Any]) -> tuple[Any, Any, Any, Any, Any]:
    setup, transfer, queue, thread_switch, acceleration = costs
    return setup, transfer, queue, thread_switch, acceleration


def _broadcast(**arguments: Values) -> tuple[Sequence[Any], tuple[int, ...]]:
    """Each argument as a float or a flat array of the common shape's size, and that shape."""
    arrays: dict[str, Floats] = {}
    for name, value in arguments.items():
        try:
            arrays[name] = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            allowed = f"must be a number or an array of numbers: {error}"
            raise refused(name, value, allowed) from error
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise InputError(f"shapes do not broadcast: {shapes}") from error
    flat = [
        float(array)
        if array.ndim == 0
        else np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1)
        for array in arrays.values()
    ]
    return flat, shape
