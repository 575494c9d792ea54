"""A service with its accelerators, and its evaluation by the Accelerometer model."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from types import NoneType
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, finite_number, refused, whole_number
from accelflow.parameters import check_numbers

#: The name and version of the object that :func:`evaluate` returns.
SCHEMA: Final = "accelflow.accelerometer/1"

_CHOICES: Final = {name: tuple(known) for name, known in _native.accelerometer_choices()}

#: Names of the threading designs of offloads.
THREADINGS: Final = _CHOICES["threading"]
#: Names of the placements of an accelerator: on the chip, off the chip or remote.
PLACEMENTS: Final = _CHOICES["placement"]

#: The number of thread switches in a request's latency with Sync-OS that the paper's Fig. 20
#: implies.
FIG_20_SWITCHES: Final = 2

#: The largest number of random draws of uncertain inputs.
MAX_DRAWS: Final = 10_000_000


@dataclass(frozen=True)
class Range:
    """An input that is not known exactly, as a probability distribution.

    With `min` and `max` it is uniform, with a `mode` as well triangular, and with `mean` and `sd`
    (standard deviation) normal.
    """

    min: float | None = None
    mode: float | None = None
    max: float | None = None
    mean: float | None = None
    sd: float | None = None

    @property
    def central(self) -> float:
        """The single value that represents the range: its mode, or without a mode its mean."""
        if self.mode is not None:
            return self.mode
        if self.mean is not None:
            return self.mean
        return ((self.min or 0.0) + (self.max or 0.0)) / 2


#: An input: a number, or a range if it is not known exactly.
Number = float | Range


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue (M/G/k) in front of an accelerator, from which Q, the wait of an offload, follows.

    `hosts` with equal load share `servers` processing elements. `service_cycles` is the mean
    service time in host cycles, by default the host's time for the offload, with the kernels that
    ride on it, divided by the acceleration. `service_scv_ratio` is the squared coefficient of
    variation of the service time, by default that of the offloads' work by their sizes, or 1 if
    these sizes are not known. `approximation` is kimura or allen_cunneen, both exact for one
    server. Kernels whose queues have the same `shared` name wait in one queue for one accelerator.
    """

    servers: int = 1
    hosts: float = 1.0
    service_cycles: float | None = None
    service_scv_ratio: float | None = None
    approximation: str = "kimura"
    shared: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The cumulative distribution of the sizes of a kernel's offloads.

    `bytes` are sizes in increasing order, and `cumulative_ratio` the share of offloads up to each
    size. Between two points, sizes are spread evenly (`interpolation` ``linear``) or do not occur
    (``step``).
    """

    bytes: Sequence[float]
    cumulative_ratio: Sequence[float]
    interpolation: str = "linear"


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A function of the service and the accelerator that could do it (the paper's Table 5).

    `kernel_share_ratio` (alpha) is the kernel's share of the host's cycles, and `offloads_per_s`
    (n) the rate of offloads. An offload costs, in host cycles, `setup_cycles` (o0),
    `transfer_cycles` (L), `queue_cycles` (Q: a mean, a list of waits, or a queue) and
    `thread_switch_cycles` (o1). `acceleration_ratio` (A) is the host's time for the kernel divided
    by the accelerator's; None if it is not known. The kernel takes `cycles_per_byte` (C_b) times
    the size to the power of `complexity_exponent` (beta) on the host.

    With `cycles_per_byte` and `sizes`, alpha follows from the sizes g, too: alpha C = n C_b
    E(g^beta). This alpha and `kernel_share_ratio` must agree within a factor of 1.25. With
    `all_offloads_per_s`, `offloads_per_s` counts only the offloads that pay, and alpha is scaled by
    their share of all. With `selection` ``lucrative``, the model offloads only the `sizes` that
    pay, and scales alpha down to them: by their share of the offloads (`scaling` ``offloads``) or
    of the kernel's cycles (``cycles``, which is refused for ``all``). A kernel that `rides_on`
    another, by name, is part of the same offload: it must leave out all costs of an offload, and
    have the `threading`, `placement`, `driver_waits` and `offloads_per_s` of the other.
    """

    threading: str
    kernel_share_ratio: Number
    offloads_per_s: Number
    name: str = "kernel"
    placement: str = "off_chip"
    driver_waits: bool | None = None
    latency_thread_switches: int = 1
    all_offloads_per_s: float | None = None
    setup_cycles: Number = 0.0
    transfer_cycles: Number = 0.0
    transfer_cycles_per_byte: Number = 0.0
    queue_cycles: Number | Sequence[float] | Queue = 0.0
    thread_switch_cycles: Number = 0.0
    acceleration_ratio: Number | None = None
    cycles_per_byte: Number | None = None
    complexity_exponent: Number = 1.0
    sizes: Sizes | None = None
    selection: str = "all"
    scaling: str = "offloads"
    rides_on: str | None = None


@dataclass(frozen=True, kw_only=True)
class Service:
    """A service on one host, which has `host_cycles_per_s` (C) cycles a second for all its work.

    `kernels` are the functions that are offloaded. For inputs that are a :class:`Range`, the model
    is evaluated for `draws` random draws with the seed `seed`.
    """

    host_cycles_per_s: Number
    kernels: Sequence[Kernel] = field(default_factory=list)
    draws: int = 10_000
    seed: int = 1


def evaluate(
    service: Service, *, around_ratio: float | None = None, each_draw: bool = False
) -> dict[str, Any]:
    """Evaluate `service` and return an object of schema ``accelflow.accelerometer/1``.

    Ranges are evaluated at their central value; the result then also has ``intervals`` from the
    random draws. With `around_ratio` it has ``sensitivity``: for each independent input, the
    speedups if this input is lower and higher by the share `around_ratio`, or at the ends of its
    range. Inputs that depend on this input change too, as they do in the random draws. With
    `each_draw` and ranges, the result has ``draws_speedup_ratio``: the speedup of each draw that
    the model accepts, in ascending order.

    Raises InputError for a value of the wrong type, out of range or missing, and for values that
    contradict each other.
    """
    _check(service)
    if around_ratio is not None:
        _finite(around_ratio, "around_ratio", None)
        if not 0 < around_ratio < 1:
            raise refused("around_ratio", around_ratio, "must be above 0 and below 1")
    outcome = _outcome(service, around_ratio, each_draw=each_draw)
    _check_finite(outcome, service)
    return {"schema": SCHEMA, **_percent(outcome), **_as_in_fig_20(service), **outcome}


def gain(service: Service, ratio: str) -> float | None:
    """Return the gain `ratio`, ``speedup_ratio`` or ``latency_reduction_ratio``, of `service`.

    It is infinite if no cycles are left, which :func:`evaluate` refuses, and None if it depends on
    an acceleration that is not known. Raises InputError for all else that :func:`evaluate` refuses.
    """
    _check(service)
    outcome = _outcome(service, None, each_draw=False)
    if outcome["speedup_ratio"] is not None:
        _check_finite(outcome, service)
    elif outcome[ratio] is None and (ratio == "speedup_ratio" or _knows_latency(service)):
        return math.inf
    found: float | None = outcome[ratio]
    return found


def _knows_latency(service: Service) -> bool:
    """Whether the latency depends on no unknown acceleration."""
    return all(
        kernel.acceleration_ratio is not None
        or (kernel.threading == "async_no_response" and kernel.placement == "remote")
        for kernel in service.kernels
    )


def _outcome(service: Service, around_ratio: float | None, *, each_draw: bool) -> dict[str, Any]:
    """The native model's outcome for a service that has been checked."""
    uncertain: list[dict[str, Any]] = []
    service = _with_riders(service)
    request = {
        "host_cycles_per_s": _number(
            service.host_cycles_per_s, "host_cycles_per_s", 0, uncertain, None
        ),
        "kernels": [_kernel(k, index, uncertain) for index, k in enumerate(service.kernels)],
        "uncertain": uncertain,
        "draws": service.draws,
        "seed": service.seed,
        "around_ratio": around_ratio,
        "each_draw": each_draw,
    }
    try:
        outcome: dict[str, Any] = json.loads(_native.accelerometer_evaluate(json.dumps(request)))
    except AccelflowError as error:
        raise InputError.of(error) from error
    return outcome


def _check_finite(outcome: Mapping[str, Any], service: Service) -> None:
    """Refuse a service of whose work nothing is left, or whose cost exceeds any number."""
    if outcome["speedup_ratio"] == 0 or outcome["latency_reduction_ratio"] == 0:
        allowed = "must be finite: lower offloads_per_s or the cycles that an offload costs"
        raise refused("cycles that offloads cost each second", math.inf, allowed)
    if outcome["speedup_ratio"] is None:
        shares = math.fsum(float(_central(k.kernel_share_ratio)) for k in service.kernels)
        allowed = "must be below 1, since offloading costs nothing: the speedup would be infinite"
        together = f"{shares:g} for all kernels together"
        raise refused(
            "kernel_share_ratio", shares if len(service.kernels) == 1 else together, allowed
        )


#: The fields of a kernel that are chosen by name.
_NAMED: Final = ("threading", "placement", "selection", "scaling")

#: The types of a kernel's other fields that are not numbers, and the rule for them.
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "name": (str,),
    "driver_waits": (bool, NoneType),
    "sizes": (Sizes, NoneType),
    "rides_on": (str, NoneType),
}
_RULES: Final[Mapping[str, str]] = {
    "name": "must be a string",
    "driver_waits": "must be True, False or None",
    "sizes": "must be Sizes or None",
    "rides_on": "must be the name of a kernel or None",
}


def _check(service: Service) -> None:
    """Raise InputError for a part of `service` that has another type than it must have."""
    if not isinstance(service, Service):
        raise refused("service", service, "must be a Service")
    whole_number("draws", service.draws, 1, MAX_DRAWS)
    whole_number("seed", service.seed, 0, 2**64 - 1)
    kernels: Any = service.kernels
    if isinstance(kernels, str) or not isinstance(kernels, Sequence):
        raise refused("kernels", kernels, "must be a list of Kernel objects")
    for index, kernel in enumerate(kernels):
        if not isinstance(kernel, Kernel):
            raise refused(f"kernels[{index}]", kernel, "must be a Kernel")
        _check_kernel(kernel, kernel.name if isinstance(kernel.name, str) else f"kernels[{index}]")
    # Numbers are checked where they are converted.
    kernel_requests(service)


def _check_kernel(kernel: Kernel, place: str) -> None:
    for name, types in _TYPES.items():
        if not isinstance(getattr(kernel, name), types):
            raise refused(f"{place}.{name}", getattr(kernel, name), _RULES[name])
    for name in _NAMED:
        if getattr(kernel, name) not in _CHOICES[name]:
            raise refused(f"{place}.{name}", getattr(kernel, name), known=_CHOICES[name])
    check_numbers("accelerometer", kernel, ["latency_thread_switches"], place=f"{place}.")
    if kernel.all_offloads_per_s is not None:
        _finite(kernel.all_offloads_per_s, "all_offloads_per_s", place)
    if isinstance(kernel.queue_cycles, Queue):
        _check_queue(kernel.queue_cycles, f"{place}.queue")


def _check_queue(queue: Queue, place: str) -> None:
    check_numbers("accelerometer", queue, ["servers"], group="queue.", place=f"{place}.")
    _finite(queue.hosts, "hosts", place)
    for name in ("service_cycles", "service_scv_ratio"):
        if getattr(queue, name) is not None:
            _finite(getattr(queue, name), name, place)
    if queue.approximation not in _CHOICES["approximation"]:
        known = _CHOICES["approximation"]
        raise refused(f"{place}.approximation", queue.approximation, known=known)
    if not isinstance(queue.shared, str | NoneType):
        raise refused(f"{place}.shared", queue.shared, "must be a string or None")


#: The fixed costs of an offload. The carrier pays them for its riders.
_OVERHEADS: Final = (
    "setup_cycles",
    "transfer_cycles",
    "transfer_cycles_per_byte",
    "queue_cycles",
    "thread_switch_cycles",
)


def _with_riders(service: Service) -> Service:
    """Give each riding kernel the inputs of the kernel that carries it."""
    by_name = {kernel.name: kernel for kernel in service.kernels}
    return replace(service, kernels=[_rider(kernel, by_name) for kernel in service.kernels])


def _rider(kernel: Kernel, by_name: Mapping[str, Kernel]) -> Kernel:
    if kernel.rides_on is None:
        return kernel
    place = f"{kernel.name}.rides_on"
    carriers = [k.name for k in by_name.values() if k.rides_on is None]
    if kernel.rides_on not in carriers:
        others = [name for name in carriers if name != kernel.name]
        allowed = f"must be another kernel, which itself has no rides_on: {', '.join(others)}"
        if not others:
            allowed = "must be left out: there is no other kernel without rides_on"
        raise refused(place, kernel.rides_on, allowed)
    carrier = by_name[kernel.rides_on]
    for name in _OVERHEADS:
        if getattr(kernel, name) != 0:
            raise refused(
                f"{kernel.name}.{name}",
                getattr(kernel, name),
                f"must be left out: the offloads are those of {carrier.name}; set this cost there",
            )
    for part in (kernel, carrier):
        if part.selection == "lucrative":
            raise refused(
                f"{part.name}.selection",
                "lucrative",
                "must be 'all' for a kernel with rides_on and for the kernel named there",
            )
    for name in ("threading", "placement", "driver_waits", "offloads_per_s"):
        if getattr(kernel, name) != getattr(carrier, name):
            raise refused(
                f"{kernel.name}.{name}",
                getattr(kernel, name),
                f"must equal that of {carrier.name}, {getattr(carrier, name)}, since they share"
                " one offload",
            )
    return kernel


def kernel_requests(service: Service) -> tuple[float, list[dict[str, Any]]]:
    """Return the host's cycles per second (C), and the kernels as dicts for the native model.

    Ranges are at their central value. Raises InputError for a value of the wrong type.
    """
    ignored: list[dict[str, Any]] = []
    host = _number(service.host_cycles_per_s, "host_cycles_per_s", 0, ignored, None)
    kernels = [_kernel(kernel, index, ignored) for index, kernel in enumerate(service.kernels)]
    return host, kernels


def carried(service: Service) -> Service:
    """Return the service with kernels that share an offload (`rides_on`) merged into one.

    The merged kernel has the sum of the shares, and the acceleration of the whole: the time of all
    parts on the host divided by that on the accelerator. Its sizes are those of the kernel on which
    the others ride; its `cycles_per_byte` is None. Ranges are at their central value. Raises
    InputError for parts with different `all_offloads_per_s`, as these are not one offload.
    """
    service = central(_with_riders(service))
    found = []
    for kernel in service.kernels:
        parts = [kernel, *(each for each in service.kernels if each.rides_on == kernel.name)]
        if kernel.rides_on is None:
            found.append(_joined(parts) if len(parts) > 1 else kernel)
    return replace(service, kernels=found)


def _joined(parts: Sequence[Kernel]) -> Kernel:
    carrier = parts[0]
    for part in parts:
        if part.all_offloads_per_s != carrier.all_offloads_per_s:
            raise refused(
                f"{part.name}.all_offloads_per_s",
                part.all_offloads_per_s,
                f"must equal that of {carrier.name}, {carrier.all_offloads_per_s}, for a"
                " simulation, since they share one offload",
            )
    shares = [float(_central(part.kernel_share_ratio)) for part in parts]
    ratios = [part.acceleration_ratio for part in parts]
    known = [float(_central(ratio)) for ratio in ratios if ratio is not None]
    together = None
    if len(known) == len(parts):
        slower = math.fsum(share / ratio for share, ratio in zip(shares, known, strict=True))
        together = math.fsum(shares) / slower if slower > 0 else math.inf
    return replace(
        carrier,
        kernel_share_ratio=math.fsum(shares),
        acceleration_ratio=together,
        cycles_per_byte=None,
    )


def _percent(outcome: dict[str, Any]) -> dict[str, float | None]:
    return {
        name.replace("_ratio", "_percent"): None
        if outcome[name] is None
        else 100 * (outcome[name] - 1)
        for name in ("speedup_ratio", "latency_reduction_ratio", "ideal_speedup_ratio")
    }


def _as_in_fig_20(service: Service) -> dict[str, Any]:
    """The latency reduction with the thread switches of Fig. 20, if their number differs."""
    others = [k for k in service.kernels if k.threading == "sync_os" and k.thread_switch_cycles]
    if not others or all(k.latency_thread_switches == FIG_20_SWITCHES for k in others):
        return {}
    kernels = [
        Kernel(**{**_fields(k), "latency_thread_switches": FIG_20_SWITCHES}) if k in others else k
        for k in service.kernels
    ]
    ratio = evaluate(central(replace(service, kernels=kernels)))["latency_reduction_percent"]
    return {"latency_reduction_two_switches_percent": ratio}


def central(service: Service) -> Service:
    """Return the service with each range at its central value."""
    return Service(
        host_cycles_per_s=_central(service.host_cycles_per_s),
        kernels=[
            Kernel(**{n: _central(v) for n, v in _fields(k).items()}) for k in service.kernels
        ],
    )


def _central(value: Any) -> Any:
    return value.central if isinstance(value, Range) else value


def _fields(item: Service | Kernel) -> dict[str, Any]:
    return {f.name: getattr(item, f.name) for f in fields(item)}


def _kernel(kernel: Kernel, index: int, uncertain: list[dict[str, Any]]) -> dict[str, Any]:
    def number(name: str) -> float:
        return _number(getattr(kernel, name), name, index, uncertain, kernel.name)

    row: dict[str, Any] = {
        name: getattr(kernel, name)
        for name in (
            "name",
            "threading",
            "placement",
            "driver_waits",
            "latency_thread_switches",
            "all_offloads_per_s",
            "selection",
            "scaling",
            "rides_on",
        )
    }
    for name in (
        "kernel_share_ratio",
        "offloads_per_s",
        "setup_cycles",
        "transfer_cycles",
        "transfer_cycles_per_byte",
        "thread_switch_cycles",
        "complexity_exponent",
    ):
        row[name] = number(name)
    row["cycles_per_byte"] = None if kernel.cycles_per_byte is None else number("cycles_per_byte")
    row["acceleration_ratio"] = None
    if kernel.acceleration_ratio is not None:
        acceleration = kernel.acceleration_ratio
        infinite = isinstance(acceleration, float) and math.isinf(acceleration) and acceleration > 0
        row["acceleration_ratio"] = "inf" if infinite else number("acceleration_ratio")
    row["queue"] = _queue(kernel, number)
    row["sizes"] = None if kernel.sizes is None else _sizes(kernel.sizes, kernel.name)
    return row


def _queue(kernel: Kernel, number: Any) -> Any:
    queue: Any = kernel.queue_cycles
    if isinstance(queue, Queue):
        return asdict(queue)
    if isinstance(queue, Sequence) and not isinstance(queue, str):
        return [_finite(wait, f"queue_cycles[{i}]", kernel.name) for i, wait in enumerate(queue)]
    return number("queue_cycles")


def _sizes(sizes: Sizes, kernel: str) -> dict[str, Any]:
    def column(name: str) -> list[float]:
        values = getattr(sizes, name)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise refused(f"{kernel}.sizes.{name}", values, "must be a list of numbers")
        return [_finite(v, f"sizes.{name}[{i}]", kernel) for i, v in enumerate(values)]

    if sizes.interpolation not in _CHOICES["interpolation"]:
        known = _CHOICES["interpolation"]
        raise refused(f"{kernel}.sizes.interpolation", sizes.interpolation, known=known)
    return {
        "bytes": column("bytes"),
        "cumulative_ratio": column("cumulative_ratio"),
        "interpolation": sizes.interpolation,
    }


def _number(
    value: Any, name: str, index: int, uncertain: list[dict[str, Any]], kernel: str | None
) -> float:
    if not isinstance(value, Range):
        return _finite(value, name, kernel)
    place = f"{kernel}.{name}" if kernel else name
    given = {
        key: _finite(v, f"{name}.{key}", kernel)
        for key, v in asdict(value).items()
        if v is not None
    }
    if sorted(given) not in (["max", "min"], ["max", "min", "mode"], ["mean", "sd"]):
        allowed = "must be min and max, or min, mode and max, or mean and sd"
        raise refused(f"{place}: ends of the range", list(given), allowed)
    uncertain.append({"kernel": index, "field": name, **given})
    return value.central


def _finite(value: Any, name: str, kernel: str | None) -> float:
    place = f"{kernel}.{name}" if kernel else name
    return float(finite_number(place, value))
