"""Decisions by the equations: alternatives, SLOs, and what an accelerator must achieve."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from accelflow.accelerometer.files import AS_GIVEN, Question, Slo
from accelflow.accelerometer.service import (
    Kernel,
    Number,
    Queue,
    Range,
    Service,
    central,
    evaluate,
    gain,
)
from accelflow.errors import LEFT_OUT, InputError, refused
from accelflow.parameters import engine

#: The parameters that :func:`seek` can vary.
SOUGHT: Final = (
    "acceleration_ratio",
    "setup_cycles",
    "transfer_cycles",
    "transfer_cycles_per_byte",
    "thread_switch_cycles",
    "queue_cycles",
    "queue.hosts",
    "offloads_per_s",
    "all_offloads_per_s",
)

#: The key, in results of :func:`evaluate`, of the ratio that each kind of goal demands.
GOALS: Final = {"speedup": "speedup_ratio", "latency": "latency_reduction_ratio"}

#: The most hosts of an accelerator that are tried.
_MOST_HOSTS: Final = 1e9

#: The bounds of a sought value agree to this share of it.
_EXACT: Final = 1e-9


@dataclass(frozen=True)
class Goal:
    """A gain to reach: the ratio named by `of`, ``speedup`` or ``latency``, is at least `ratio`.

    A ratio of 1.08 is a gain of 8 %.
    """

    of: str
    ratio: float


@dataclass(frozen=True)
class Found:
    """The least or the largest value of a parameter with which a service reaches a goal.

    `value` is the least such value of `parameter` if `at_least` is true, otherwise the largest.
    `value` is None if every value reaches the goal (`always` is true), or if none does.
    """

    parameter: str
    value: float | None
    at_least: bool
    always: bool


def parse_goal(text: str) -> Goal:
    """Read a goal such as ``speedup:8%`` or ``latency:0%``: the least gain.

    The gain is finite and above -100 %. Raises InputError for a text of another form.
    """
    of, _, gain = text.partition(":")
    try:
        percent = float(gain.strip().removesuffix("%"))
    except ValueError:
        percent = math.nan
    if of not in GOALS or not percent > -100 or math.isinf(percent):
        allowed = (
            "must be speedup:GAIN% or latency:GAIN% with a finite GAIN above -100, such as"
            " speedup:8%"
        )
        raise refused("goal", text, allowed)
    return Goal(of, 1 + percent / 100)


def goal_of(slo: Slo) -> Goal:
    """Return the goal that `slo` sets: a latency within its limit."""
    return Goal("latency", slo.latency_us / slo.limit_us)


def seek(service: Service, parameter: str, goal: Goal, *, kernel: str | None = None) -> Found:
    """Find the least or largest value of `parameter` with which `service` reaches `goal`.

    The parameter, one of :data:`SOUGHT`, belongs to `kernel`, which may be omitted if the service
    has one kernel. All other inputs are fixed; ranges are at their central value. Values are sought
    within bounds: accelerations from 1e-6 to 1e6, at most 1e9 hosts, and as many or as costly
    offloads as the host's cycles allow. A value with which the service cannot run, for example
    because an accelerator is overloaded, does not reach the goal.

    The largest ``queue.hosts`` is the number of equal hosts, at least 1, that may share the
    accelerator of the kernel, and of those kernels whose queue is the same. With
    ``all_offloads_per_s``, `offloads_per_s` are made out of more and more, all of which take the
    same share of the host's cycles (alpha).

    With the kernel's selection ``lucrative``, only offloads that pay are made. A higher cost may
    then first miss the goal and later reach it again. The search starts at the best value (no
    cost, or the highest acceleration) and returns the last value before the goal is first missed.

    Raises InputError for an unknown parameter or kernel; for ``offloads_per_s`` if the kernel
    shares its offloads with another (`rides_on`); for it and ``all_offloads_per_s`` if the kernel
    has `sizes` and `cycles_per_byte`; for ``all_offloads_per_s`` with ``lucrative``, and if the
    service time in the accelerator's queue follows from it; for any cost of a kernel that rides on
    another; for ``transfer_cycles_per_byte`` without `sizes`; for ``queue.hosts`` without a
    :class:`~accelflow.accelerometer.Queue`; and with ``lucrative``, if the best value misses the
    goal but others reach it.
    """
    if parameter not in SOUGHT:
        raise refused("parameter", parameter, known=SOUGHT)
    index = _index(service, kernel)
    service = central(service)
    chosen = service.kernels[index]
    _check_sought(service, chosen, parameter)
    low, high = _ends(service, chosen, parameter)

    def reaches(value: float) -> bool:
        try:
            ratio = gain(_changed(service, index, parameter, value), GOALS[goal.of])
        except InputError:
            return False
        return ratio is not None and ratio >= goal.ratio * (1 - 1e-12)

    # More acceleration never hurts, and a cost never helps, nor does another host that shares the
    # accelerator. More offloads help where they carry alpha with them, and only cost where alpha
    # stays. Out of more offloads, the same number carries less of alpha.
    carry = parameter == "offloads_per_s" and chosen.all_offloads_per_s is not None
    helps = parameter == "acceleration_ratio" or carry
    best, worst = (high, low) if helps else (low, high)
    if (carry or parameter == "all_offloads_per_s") and not reaches(best) and reaches(worst):
        # Each offload loses, so fewer are better, or those that carry less.
        best, worst, helps = worst, best, not helps
    if chosen.selection == "lucrative":
        found = _beside_selection(reaches, parameter, best, worst, helps=helps)
        if isinstance(found, str):
            raise refused(f"{chosen.name}.selection", "lucrative", found)
        return found
    if not reaches(best):
        return Found(parameter, None, helps, always=False)
    if reaches(worst):
        return Found(parameter, None, helps, always=True)
    return Found(parameter, _border(reaches, best, worst), helps, always=False)


def _changed(service: Service, index: int, parameter: str, value: float) -> Service:
    """The service with another value of the kernel's `parameter`."""
    kernels = list(service.kernels)
    queue = kernels[index].queue_cycles
    for number, each in enumerate(kernels):
        own = each.queue_cycles
        if parameter != "queue.hosts":
            given: dict[str, Any] = {parameter: value}
            kernels[number] = replace(each, **given) if number == index else each
        elif isinstance(own, Queue) and (number == index or _one_queue(own, queue)):
            kernels[number] = replace(each, queue_cycles=replace(own, hosts=value))
    return replace(service, kernels=kernels)


def _one_queue(one: Queue, other: Any) -> bool:
    return isinstance(other, Queue) and one.shared is not None and one.shared == other.shared


def _index(service: Service, kernel: str | None) -> int:
    """The place of the kernel, which needs no name if there is only one."""
    names = [each.name for each in service.kernels]
    if kernel is None and len(names) > 1:
        raise refused("kernel", LEFT_OUT, known=names)
    if kernel is not None and kernel not in names:
        raise refused("kernel", kernel, known=names)
    return 0 if kernel is None else names.index(kernel)


def _beside_selection(
    reaches: Callable[[float], bool], parameter: str, best: float, worst: float, *, helps: bool
) -> Found | str:
    """The limit of a value on which the selection of offloads depends, or why it has none.

    A dearer offload is made for fewer sizes, down to none, so the gain can fall and rise again. The
    limit is the end of the values from `best` on that reach the goal.
    """
    steps = _steps(best, worst)
    reached = [reaches(step) for step in steps]
    if not any(reached):
        return Found(parameter, None, helps, always=False)
    if all(reached):
        return Found(parameter, None, helps, always=True)
    if not reached[0]:
        first = steps[reached.index(True)]
        return (
            f"must be 'all', since {parameter} has no single limit: the goal is reached at "
            f"{first:.4g}, where fewer offloads are made, but not at {best:g}"
        )
    last = reached.index(False) - 1
    return Found(parameter, _border(reaches, steps[last], steps[last + 1]), helps, always=False)


def _steps(best: float, worst: float) -> list[float]:
    """Values from `best` to `worst`, each a tenth from the next, and 0 if it is an end."""
    low, high = min(best, worst), max(best, worst)
    least = low or 1e-3
    count = max(2, math.ceil(math.log(high / least) / math.log(1.1)))
    steps = [least * (high / least) ** (step / count) for step in range(count + 1)]
    steps = [low, *steps] if low == 0 else steps
    return steps if best <= worst else steps[::-1]


def _check_sought(service: Service, kernel: Kernel, parameter: str) -> None:
    if parameter in ("offloads_per_s", "all_offloads_per_s"):
        _check_sought_offloads(service, kernel, parameter)
    elif parameter != "acceleration_ratio" and kernel.rides_on is not None:
        raise refused(
            "parameter",
            parameter,
            f"must be acceleration_ratio or all_offloads_per_s, since {kernel.name} has no costs of"
            f" its own: its rides_on is {kernel.rides_on}",
        )
    elif parameter == "queue.hosts" and not isinstance(kernel.queue_cycles, Queue):
        allowed = "must be given to seek queue.hosts, such as queue = { servers = 1 }"
        raise refused(f"{kernel.name}.queue", LEFT_OUT, allowed)
    elif parameter == "transfer_cycles_per_byte" and kernel.sizes is None:
        allowed = f"must be given to seek {parameter}; without sizes, seek transfer_cycles"
        raise refused(f"{kernel.name}.sizes", LEFT_OUT, allowed)


def _check_sought_offloads(service: Service, kernel: Kernel, parameter: str) -> None:
    if parameter == "all_offloads_per_s":
        _check_sought_among_all(service, kernel)
    if kernel.cycles_per_byte is not None and kernel.sizes is not None:
        raise refused(
            f"{kernel.name}.cycles_per_byte",
            kernel.cycles_per_byte,
            f"must be left out to seek {parameter}: cycles_per_byte then follows from"
            f" {parameter}, sizes and kernel_share_ratio",
        )
    if parameter == "all_offloads_per_s":
        return
    riders = [k.name for k in service.kernels if kernel.name == k.rides_on]
    if kernel.rides_on is not None or riders:
        shared = ", ".join(riders) or str(kernel.rides_on)
        raise refused(
            "parameter",
            "offloads_per_s",
            f"must be another parameter: kernel {kernel.name} shares its offloads with {shared}",
        )


def _check_sought_among_all(service: Service, kernel: Kernel) -> None:
    """Refuse what makes the gain rise and fall with the number of all offloads."""
    if kernel.selection == "lucrative":
        allowed = "must be 'all' to seek all_offloads_per_s, of which the sizes select a part"
        raise refused(f"{kernel.name}.selection", "lucrative", allowed)
    for waits in service.kernels:
        queue = waits.queue_cycles
        carries = waits.name in (kernel.name, kernel.rides_on)
        if carries and isinstance(queue, Queue) and queue.service_cycles is None:
            allowed = "must be given to seek all_offloads_per_s, from which it follows otherwise"
            raise refused(f"{waits.name}.queue.service_cycles", LEFT_OUT, allowed)


def _ends(service: Service, kernel: Kernel, parameter: str) -> tuple[float, float]:
    """The values of `parameter` between which its limit is; `service` has no ranges."""
    if parameter == "acceleration_ratio":
        return 1e-6, 1e6
    if parameter == "offloads_per_s" and kernel.all_offloads_per_s is not None:
        return 0.0, kernel.all_offloads_per_s
    if parameter == "queue.hosts":
        return 1.0, _MOST_HOSTS
    host = _value(service.host_cycles_per_s)
    if parameter == "all_offloads_per_s":
        made = _value(kernel.offloads_per_s)
        # On the host, each takes one cycle at least.
        return max(made, 1e-3), max(made, host)
    if parameter == "offloads_per_s":
        # Each costs one cycle at least. Where offloads are selected, alpha needs some of them.
        return (1e-3 if kernel.selection == "lucrative" else 0.0), host
    # No offload can cost more than all cycles of a second, or of the longer time between two.
    rate = _value(kernel.offloads_per_s)
    return 0.0, min(host / rate if 0 < rate < 1 else host, _most_cycles())


def _most_cycles() -> float:
    """The most cycles of an offload that the model accepts."""
    parameters = engine("accelerometer").parameters
    return next(p.max for p in parameters if p.key == "accelerometer.setup_cycles")


def _value(number: Number) -> float:
    return number.central if isinstance(number, Range) else float(number)


def _border(reaches: Callable[[float], bool], best: float, worst: float) -> float:
    """The last value from `best` on that reaches the goal. Halves in proportion where it can."""
    while abs(worst - best) > _EXACT * max(abs(best), abs(worst)):
        low, high = min(best, worst), max(best, worst)
        wide = low > 0 and high > 4 * low
        middle = math.sqrt(low * high) if wide else (low + high) / 2
        if middle in (low, high):
            break
        if low == 0 and high < 1e-9:
            break
        if reaches(middle):
            best = middle
        else:
            worst = middle
    return best


def decide(question: Question) -> dict[str, Any]:
    """Evaluate a service and its alternatives, and check each against the SLO.

    Returns an object of schema ``accelflow.accelerometer-decision/1``. Its `alternatives` begin
    with the service as the file describes it. Each has `speedup_ratio`, `latency_reduction_ratio`,
    what limits each kernel's gain (`limits`), `intervals` for ranges, and `slo`, the result of
    :func:`verdict` (None without an SLO). `best` names the alternative with the largest speedup
    among those that meet the SLO, or among all without an SLO. `best` is None if this speedup is
    not above 1, or if no alternative meets the SLO. Raises InputError as :func:`evaluate` does.
    """
    rows = [
        _row(name, service, question.slo)
        for name, service in {AS_GIVEN: question.service, **question.alternatives}.items()
    ]
    kept = [row for row in rows if row["slo"] is None or row["slo"]["met"]]
    best = max(kept, key=lambda row: row["speedup_ratio"], default=None)
    return {
        "schema": "accelflow.accelerometer-decision/1",
        "alternatives": rows,
        "best": None if best is None or best["speedup_ratio"] <= 1 else best["name"],
    }


def _row(name: str, service: Service, slo: Slo | None) -> dict[str, Any]:
    try:
        outcome = evaluate(service)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return {
        "name": name,
        "speedup_ratio": outcome["speedup_ratio"],
        "latency_reduction_ratio": outcome["latency_reduction_ratio"],
        "intervals": outcome.get("intervals"),
        "limits": {row["name"]: row["limit"] for row in outcome["kernels"]},
        "offloads_per_s": {row["name"]: row["offloads_per_s"] for row in outcome["kernels"]},
        "slo": None if slo is None else verdict(service, outcome, slo),
    }


def verdict(service: Service, outcome: Mapping[str, Any], slo: Slo) -> dict[str, Any]:
    """Check a service's latency against `slo`, and find what each accelerator must achieve.

    `outcome` is the result of :func:`evaluate` for `service`. Returns an object: `met` tells
    whether the mean latency is within the limit (None if the latency depends on an acceleration
    that is not known). Unless `met` is true, `met_from_acceleration_ratio` maps each kernel to the
    least acceleration of this kernel alone that meets the limit; None if none does, or if only low
    accelerations do, with which fewer offloads pay and are made.
    """
    ratio = outcome["latency_reduction_ratio"]
    goal = goal_of(slo)
    met = None if ratio is None else ratio >= goal.ratio * (1 - 1e-12)
    from_acceleration: dict[str, float | None] = {}
    if not met:
        for kernel in service.kernels:
            try:
                found = seek(service, "acceleration_ratio", goal, kernel=kernel.name)
            except InputError:  # no single limit, since the selection is lucrative
                from_acceleration[kernel.name] = None
            else:
                from_acceleration[kernel.name] = found.value
    return {
        "latency_us": None if ratio is None else slo.latency_us / ratio,
        "limit_us": slo.limit_us,
        "met": met,
        "met_from_acceleration_ratio": from_acceleration,
    }
