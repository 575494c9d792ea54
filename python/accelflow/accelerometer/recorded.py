"""The model's inputs from a recording of live requests.

A recording (docs/recording-format.md) has the number, sizes and costs of each accelerator's
operations in a request, and the time of all other work. These give a kernel's share of the host's
cycles (alpha), the offloads per second (n), the cycles per byte (C_b) and the distribution of
sizes. The errors of the inputs follow from the number of measurements of each time, and from a
calibration's rounds.
"""

import json
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.accelerometer.service import Kernel, Number, Range, Service, Sizes
from accelflow.errors import LEFT_OUT, AccelflowError, InputError, refused, unreadable
from accelflow.files import read_text
from accelflow.findings import printed_figures

#: The share of application logic in a request's time if a recording lacks that time: the average
#: that AccelFlow's paper states for its services (section III).
APPLICATION_RATIO: Final = float(printed_figures()["accelflow.breakdown_nonacc.AppLogic"])


@dataclass(frozen=True)
class Measured:
    """The operations of one accelerator in a recorded request, with their cost on a core.

    `operations` is the number of operations, `cost_ns` their total core time, and `cost_sd_ns` the
    standard error of that time, independent of other accelerators' errors. `common_sd_ns` is a
    further standard error, if a calibration measured the costs: by it, the costs of all
    accelerators are larger or smaller together. `sizes` has pairs (input bytes, mean number of
    operations of this size in a request); 0 bytes count as 1. `fixed_ns` and `ns_per_byte` (C_b)
    are the intercept and the slope of a line through the costs as a function of size; both are None
    if all sizes are equal, or costs do not grow with the size. Recordings from version 5 on have
    all sizes of each step, older ones only the step's median size.
    """

    accelerator: str
    operations: int
    cost_ns: float
    cost_sd_ns: float
    sizes: tuple[tuple[int, float], ...]
    fixed_ns: float | None
    ns_per_byte: float | None
    common_sd_ns: float = 0.0


@dataclass(frozen=True)
class Recorded:
    """A recorded service: its operations, and the remaining core time of a request, `rest_ns`.

    `machine` describes the processor. `rest_ns` is application logic and, where it was measured,
    the server's time outside of operations and logic. `rest_sd_ns` is the standard error of the
    measured part of `rest_ns`. `assumed_application` is true if the recording lacks the time of
    application logic in a phase. The time of all logic is then assumed: the share of a request that
    AccelFlow's paper states. It has no standard error of its own, but is proportional to the
    operations' costs.
    """

    name: str
    machine: str
    operations: tuple[Measured, ...]
    rest_ns: float
    assumed_application: bool
    rest_sd_ns: float = 0.0

    @property
    def request_ns(self) -> float:
        """The core time of a request in nanoseconds."""
        return self.rest_ns + math.fsum(each.cost_ns for each in self.operations)

    @property
    def request_sd_ns(self) -> float:
        """The standard error of the core time of a request in ns.

        It is computed from the standard errors of the operations' costs and of `rest_ns`.
        """
        costs = math.fsum(each.cost_sd_ns**2 for each in self.operations)
        together = math.hypot(math.sqrt(costs), self.common_sd_ns)
        return math.hypot(self.growth_ratio * together, self.rest_sd_ns)

    @property
    def common_sd_ns(self) -> float:
        """The standard error of all costs in ns that is common to them (see :class:`Measured`)."""
        return math.fsum(each.common_sd_ns for each in self.operations)

    @property
    def growth_ratio(self) -> float:
        """The growth of a request's core time in ns for each ns by which an operation's cost grows.

        It is 1 if application logic was measured. It is more if application logic is assumed to be
        a share of the request, since this time then grows with the costs.
        """
        return 1 / (1 - APPLICATION_RATIO) if self.assumed_application else 1.0


def read_recording(path: Path, service: str | None = None) -> Recorded:
    """Read `service` of the recording at `path`; `service` may be omitted if there is only one.

    Raises InputError if the file is not a recording, for an unknown name, and without a name if
    there are several services.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("recording", path, error) from error
    try:
        _native.check_recording(text)
    except AccelflowError as error:
        raise InputError(f"{path}: {error}") from error
    tree = json.loads(text)
    services = {each["service"]: each for each in tree["services"]}
    if service is None and len(services) != 1:
        raise refused("service", LEFT_OUT, known=services)
    if service is not None and service not in services:
        raise refused("service", service, known=services)
    chosen = services[service] if service is not None else next(iter(services.values()))
    return _recorded(chosen, str(tree["machine"]))


def _recorded(service: Mapping[str, Any], machine: str) -> Recorded:
    steps: dict[str, list[Mapping[str, Any]]] = {}
    application: list[float | None] = []
    errors: list[float] = []
    for phase in service["phases"]:
        if "cpu" in phase:
            application.append(_mean_ns(phase["cpu"], "app_quantiles_ns", "app_ns"))
            errors.append(_error_ns(phase["cpu"], "app_quantiles_ns"))
            continue
        for chain in phase["chains"]:
            for step in chain["steps"]:
                steps.setdefault(step["accelerator"], []).append(step)
    measured = [_measured(name, rows) for name, rows in steps.items()]
    operations = _with_rounds(measured, _calibration_ratio(service))
    outside = service.get("outside") or {}
    around = _mean_ns(outside, "core_quantiles_ns", None) or 0.0
    known = [value for value in application if value is not None]
    assumed = len(known) < len(application)
    taxes = math.fsum(each.cost_ns for each in operations)
    logic = taxes * APPLICATION_RATIO / (1 - APPLICATION_RATIO) if assumed else math.fsum(known)
    # Measured parts of assumed logic are not used.
    error = math.hypot(*([] if assumed else errors), _error_ns(outside, "core_quantiles_ns"))
    return Recorded(service["service"], machine, operations, logic + around, assumed, error)


def _mean_ns(row: Mapping[str, Any], quantiles: str, median: str | None) -> float | None:
    """Return the mean of the distribution in `row`, or its median if it has no distribution."""
    points = row.get(quantiles)
    if points:
        return math.fsum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    given: float | None = None if median is None else row.get(median)
    return given


def _error_ns(row: Mapping[str, Any], quantiles: str) -> float:
    """Return the standard error of the mean of the distribution in `row`; 0 if it has none.

    The error of a calibration is :func:`_calibration_ratio`.
    """
    points = row.get(quantiles)
    if not points:
        return 0.0
    mean = _mean_ns(row, quantiles, None) or 0.0
    # Evenly spread from a to b, the mean square is (a^2 + a b + b^2) / 3.
    squares = math.fsum(
        (b[0] - a[0]) * (a[1] ** 2 + a[1] * b[1] + b[1] ** 2) / 3 for a, b in pairwise(points)
    )
    return math.sqrt(max(squares - mean * mean, 0.0) / row["samples"])


def _calibration_ratio(service: Mapping[str, Any]) -> float:
    """Return the relative standard error of the sum of all costs over a calibration's rounds.

    It is 0 without a calibration.
    """
    rounds = (service.get("calibration") or {}).get("round_costs_ns", [])
    if len(rounds) < 2:
        return 0.0
    return float(statistics.stdev(rounds) / statistics.fmean(rounds) / math.sqrt(len(rounds)))


def _with_rounds(operations: Sequence[Measured], spread: float) -> tuple[Measured, ...]:
    """Add errors in common, so that the sum of all costs has the relative standard error `spread`.

    The rounds of a calibration state only the sum. If the single costs' independent errors do not
    explain how it varies, the costs were larger and smaller together, as on a machine whose clock
    and neighbours change.
    """
    total = math.fsum(each.cost_ns for each in operations)
    own = math.fsum(each.cost_sd_ns**2 for each in operations)
    common = math.sqrt(max((spread * total) ** 2 - own, 0.0))
    if not common:
        return tuple(operations)
    return tuple(replace(each, common_sd_ns=common * each.cost_ns / total) for each in operations)


def _measured(name: str, rows: list[Mapping[str, Any]]) -> Measured:
    costs = [_mean_ns(row, "cost_quantiles_ns", "cost_ns") or 0.0 for row in rows]
    errors = [_error_ns(row, "cost_quantiles_ns") for row in rows]
    points = [point for row, cost in zip(rows, costs, strict=True) for point in _by_size(row, cost)]
    counts: dict[int, float] = {}
    for size, count, _ in points:
        counts[size] = counts.get(size, 0.0) + count
    fixed, slope = _line(points)
    return Measured(
        accelerator=name,
        operations=len(rows),
        cost_ns=math.fsum(costs),
        cost_sd_ns=math.sqrt(math.fsum(error * error for error in errors)),
        sizes=tuple(sorted(counts.items())),
        fixed_ns=fixed,
        ns_per_byte=slope,
    )


def _by_size(row: Mapping[str, Any], cost_ns: float) -> list[tuple[int, float, float]]:
    """Return a step's sizes in bytes, each with its share of the calls and their cost in ns.

    The model has no operations on 0 bytes; they count as 1 byte.
    """
    groups = row.get("by_size")
    if not groups:
        return [(max(int(row["input_bytes"]), 1), 1.0, cost_ns)]
    return [
        (max(int(group["input_bytes"]), 1), group["calls"] / row["samples"], group["cost_ns"])
        for group in groups
    ]


def _line(points: list[tuple[int, float, float]]) -> tuple[float | None, float | None]:
    """Fit costs over sizes by least squares: intercept and slope; None if costs do not rise.

    `points` are sizes, weights and costs.
    """
    total = math.fsum(weight for _, weight, _ in points)
    mean_x = math.fsum(weight * x for x, weight, _ in points) / total
    mean_y = math.fsum(weight * y for _, weight, y in points) / total
    if len({x for x, _, _ in points}) == 1:
        return None, None
    squares = math.fsum(weight * (x - mean_x) ** 2 for x, weight, _ in points)
    products = math.fsum(weight * (x - mean_x) * (y - mean_y) for x, weight, y in points)
    slope = products / squares
    return (mean_y - slope * mean_x, slope) if slope > 0 else (None, None)


def service_of(
    recorded: Recorded,
    *,
    host_ghz: float | None = None,
    threading: str = "sync",
    placement: str = "off_chip",
    acceleration_ratio: float = 10.0,
    **costs: Number,
) -> Service:
    """Convert `recorded` to a service of the model, with one kernel per accelerator.

    The host is one core that runs nothing else. Its clock is `host_ghz`, or that of the recording's
    machine. `threading`, `placement`, `acceleration_ratio` and `costs` (such as `transfer_cycles`)
    apply to all kernels, since a recording of software does not have them.

    Alpha (`kernel_share_ratio`) is a kernel's cost divided by the total core time of a request, and
    n (`offloads_per_s`) the number of its operations divided by this total. If the recorded times
    have a standard error, alpha and n are ranges. Their errors are related through the total, but
    the model draws each range independently. Where offloads cost little, an interval of a gain is
    therefore too wide: a larger cost of one operation makes the others' shares smaller. Where
    offloads cost as much as they save, the interval is too narrow: a smaller total makes every n
    larger.

    Raises InputError if no clock is known, or the clock is not a finite number above 0.
    """
    clock = host_ghz if host_ghz is not None else _clock(recorded.machine)
    if not 0 < clock < math.inf:
        raise refused("host_ghz", clock, "must be a finite number above 0")
    kernels = [
        Kernel(
            name=each.accelerator,
            threading=threading,
            placement=placement,
            kernel_share_ratio=_share(each, recorded),
            offloads_per_s=_rate(each, recorded),
            acceleration_ratio=acceleration_ratio,
            sizes=_sizes(each),
            **costs,  # type: ignore[arg-type]
        )
        for each in recorded.operations
    ]
    return Service(host_cycles_per_s=clock * 1e9, kernels=kernels)


def _clock(machine: str) -> float:
    found = re.search(r"(\d+(?:\.\d+)?)\s*GHz", machine)
    if found is None:
        allowed = f"must be given, since the recording's machine, {machine!r}, states no GHz"
        raise refused("host_ghz", LEFT_OUT, allowed)
    return float(found[1])


def _share(each: Measured, recorded: Recorded) -> Number:
    """Return alpha, with the error that follows from the errors of all costs and of the rest.

    An error that all costs have in common changes alpha only as far as the rest stays.
    """
    total = recorded.request_ns
    share = each.cost_ns / total
    # How the share changes with a larger cost of another operation, relative to the total.
    smaller = recorded.growth_ratio * share
    others = math.fsum(other.cost_sd_ns**2 for other in recorded.operations if other is not each)
    own = (1 - smaller) * each.cost_sd_ns
    common = each.common_sd_ns - smaller * recorded.common_sd_ns
    rest = share * recorded.rest_sd_ns
    spread = math.hypot(own, smaller * math.sqrt(others), common, rest) / total
    # Errors may cancel. A spread this small is rounding, not an error.
    return Range(mean=share, sd=spread) if spread > 1e-12 * share else share


def _rate(each: Measured, recorded: Recorded) -> Number:
    """Return n of a core that does nothing else, with the relative error of a request's total."""
    rate = each.operations * 1e9 / recorded.request_ns
    spread = rate * recorded.request_sd_ns / recorded.request_ns
    return Range(mean=rate, sd=spread) if spread > 0 else rate


def _sizes(each: Measured) -> Sizes:
    total = math.fsum(count for _, count in each.sizes)
    so_far = accumulate(count for _, count in each.sizes)
    shares = [min(count / total, 1.0) for count in so_far]
    shares[-1] = 1.0  # whatever the sum of the rounded shares
    return Sizes(
        bytes=[float(size) for size, _ in each.sizes],
        cumulative_ratio=shares,
        interpolation="step",
    )


def to_toml(service: Service, remarks: Iterable[str] = ()) -> str:
    """Return `service` as TOML for :func:`accelflow.accelerometer.read`.

    The text begins with `remarks` as comments, one per line.
    """
    lines = [f"# {remark}" for remark in remarks]
    lines.append(f"host_cycles_per_s = {_text(service.host_cycles_per_s)}")
    for kernel in service.kernels:
        lines += ["", "[[kernels]]"]
        default = Kernel(threading="", kernel_share_ratio=0.0, offloads_per_s=0.0)
        for name, value in vars(kernel).items():
            if name in ("threading", "kernel_share_ratio", "offloads_per_s") or value != getattr(
                default, name
            ):
                lines.append(f"{name} = {_text(value)}")
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, Range | Sizes):
        given = {key: v for key, v in vars(value).items() if v is not None}
        return "{ " + ", ".join(f"{key} = {_text(v)}" for key, v in given.items()) + " }"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}"
