"""Services as files: TOML, and the nine-line format of the authors' program."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from accelflow.accelerometer.histograms import read_histogram
from accelflow.accelerometer.service import Kernel, Queue, Range, Service, Sizes, gain
from accelflow.errors import (
    LEFT_OUT,
    InputError,
    number_within,
    positive_number,
    refused,
    unreadable,
    with_schema,
)
from accelflow.files import parse_toml, read_text

#: Seconds in each unit of time that may replace cycles.
_TIMES: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
#: The inputs that accept a time, such as setup_us for setup_cycles.
_TIMED: Final = ("setup", "transfer", "queue", "thread_switch")
#: The largest clock of a file, so that its cycles a second are finite.
_MOST_GHZ: Final = 1e290
#: The largest cost of an offload that the model takes.
_MOST_CYCLES: Final = 1e18
#: Words of the paper's tables and the authors' program for a parameter that does not apply.
_NOT_APPLICABLE: Final = ("na", "n/a", "-")

#: The schema of results of micro-benchmarks (:func:`accelflow.accelerometer.measured.measure`).
MEASURED_SCHEMA: Final = "accelflow.accelerometer-measured/3"
#: The command that writes them.
_MEASURE: Final = "accelflow accelerometer --measure --json"

#: The name, in a list of alternatives, of the service as its file describes it.
AS_GIVEN: Final = "as given"

_THREADINGS: Final = {
    "sync": "sync",
    "syncos": "sync_os",
    "async": "async_same_thread",
    "asyncsamethread": "async_same_thread",
    "asyncdistinctthread": "async_distinct_thread",
    "asyncdistinct": "async_distinct_thread",
    "asyncnoresponse": "async_no_response",
}

#: The authors' names of the threadings, for messages.
_THREADINGS_OF_NINE: Final = (
    "Sync",
    "Sync-OS",
    "Async",
    "Async-Distinct-Thread",
    "Async-No-Response",
)

#: Names in a nine-line file, in the order of the authors' program.
_NINE: Final = ("C", "a", "n", "o0", "Q", "L", "o1", "A", "Threading")
_SPELLINGS: Final = {
    "c": "C",
    "alpha": "a",
    "n": "n",
    "o0": "o0",
    "o_0": "o0",
    "q": "Q",
    "l": "L",
    "o1": "o1",
    "o_1": "o1",
    "threading": "Threading",
}


def read(path: Path) -> Service:
    """Read the service in the file at `path`.

    A file is TOML if its name ends in .toml or a line begins with ``[``; otherwise it has the
    nine-line format. Raises InputError for a file that cannot be read, for unknown, missing and
    repeated names, for values of the wrong type, and in the nine-line format for values out of
    range. :func:`accelflow.accelerometer.evaluate` checks the ranges of most values of a TOML file.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("service", path, error) from error
    if path.suffix == ".toml" or re.search(r"^\s*\[", text, re.MULTILINE):
        return _from_toml(text, path)
    return _from_nine_lines(text, path)


def is_nine_lines(path: Path) -> bool:
    """Return whether :func:`read` reads the file at `path` in the nine-line format.

    Raises OSError if the file cannot be read, and UnicodeDecodeError if it is not UTF-8.
    """
    text = read_text(path)
    return path.suffix != ".toml" and not re.search(r"^\s*\[", text, re.MULTILINE)


def _from_nine_lines(text: str, path: Path) -> Service:
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"[\s=:,]+", re.split(r"#|//|;", line)[0].strip(" \t=:,"))
        if words == [""]:
            continue
        place = f"{path}:{number}"
        if len(words) != 2:
            raise refused(f"{place}: line", line.strip(), "must be a name and a value, as in C 2e9")
        name = words[0] if words[0] in _NINE else _SPELLINGS.get(words[0].lower())
        if name is None:
            raise refused(f"{place}: name", words[0], known=_NINE)
        if name in found:
            again = f"must not be repeated: it was first set in line {found[name][1]}"
            raise refused(f"{place}: name", name, again)
        found[name] = (words[1], number)
    missing = [name for name in _NINE if name not in found]
    if missing:
        allowed = f"must be given, as for each of {', '.join(_NINE)}"
        raise refused(f"{path}: a line for {', '.join(missing)}", LEFT_OUT, allowed)
    threading = _threading(*found["Threading"], path)
    value = {name: _nine_value(name, *found[name], path) for name in _NINE[:-1]}
    needed = ["C", "a", "n", *(["A"] if threading == "sync" else [])]
    for name in needed:
        if value[name] is None:
            word, set_at = found[name]
            raise refused(f"{path}:{set_at}: {name}", word, "must be a number, not NA")
    kernel = Kernel(
        threading=threading,
        kernel_share_ratio=value["a"] or 0.0,
        offloads_per_s=value["n"] or 0.0,
        setup_cycles=value["o0"] or 0.0,
        queue_cycles=value["Q"] or 0.0,
        transfer_cycles=value["L"] or 0.0,
        thread_switch_cycles=value["o1"] or 0.0,
        acceleration_ratio=value["A"],
    )
    service = Service(host_cycles_per_s=value["C"] or 0.0, kernels=[kernel])
    _check_together(service, {name: f"{path}:{at}: {name}" for name, (_, at) in found.items()})
    return service


def _check_together(service: Service, places: Mapping[str, str]) -> None:
    """Refuse values that are allowed one by one, and give no finite gain together."""
    (kernel,) = service.kernels
    try:
        ratio = gain(service, "speedup_ratio")
    except InputError as error:  # the only cause that is left: a cost beyond any number
        allowed = "must be lower, or C higher: offloads cost more cycles than a number can express"
        raise refused(places["n"], kernel.offloads_per_s, allowed) from error
    if ratio == math.inf:
        allowed = "must be below 1, since offloading costs nothing: the speedup would be infinite"
        raise refused(places["a"], kernel.kernel_share_ratio, allowed)


def _threading(word: str, line: int, path: Path) -> str:
    key = re.sub(r"[-_ ]", "", word.strip("\"'").lower())
    if key not in _THREADINGS:
        raise refused(f"{path}:{line}: Threading", word, known=_THREADINGS_OF_NINE)
    return _THREADINGS[key]


def _nine_value(name: str, word: str, line: int, path: Path) -> float | None:
    if word.lower() in _NOT_APPLICABLE:
        return None
    place = f"{path}:{line}: {name}"
    try:
        value = float(word.replace("_", ""))
    except ValueError as error:
        raise refused(place, word, "must be a number or NA") from error
    if name == "A":
        if not value > 0:
            raise refused(place, value, "must be above 0 (inf for an ideal accelerator)")
    elif name == "C":
        if not 0 < value < math.inf:
            raise refused(place, value, "must be a finite number above 0")
    elif name == "n":
        if not 0 <= value < math.inf:
            raise refused(place, value, "must be a finite number, 0 or more")
    else:
        number_within(place, value, 0.0, 1.0 if name == "a" else _MOST_CYCLES)
    return value


@dataclass(frozen=True, kw_only=True)
class Slo:
    """A service-level objective: a request's mean latency must be at most `limit_us`.

    `latency_us` is the request's mean latency without offloading.
    """

    latency_us: float
    limit_us: float


@dataclass(frozen=True)
class Question:
    """The contents of a service's file: the service, its alternatives by name, its SLO or None."""

    service: Service
    alternatives: Mapping[str, Service]
    slo: Slo | None


def read_question(path: Path) -> Question:
    """Read the service in the file at `path`, with its `[[alternatives]]` and its `[slo]`.

    Each alternative has a name, and the changed parameters of one kernel. Raises as :func:`read`
    does.
    """
    service = read(path)
    if is_nine_lines(path):
        return Question(service, {}, None)
    tree = parse_toml(read_text(path))
    return Question(service, _alternatives(tree, path), _slo(tree, path))


def _alternatives(tree: Mapping[str, Any], path: Path) -> dict[str, Service]:
    rows = tree.get("alternatives", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise refused(f"{path}: alternatives", rows, "must be a list of tables, [[alternatives]]")
    found: dict[str, Service] = {}
    for index, row in enumerate(rows):
        place = f"{path}: alternatives[{index}]"
        name = row.get("name", LEFT_OUT)
        if not isinstance(name, str) or not name or name in found or name == AS_GIVEN:
            allowed = f"must be a string, neither another alternative's name nor '{AS_GIVEN}'"
            raise refused(f"{place}.name", name, allowed)
        kernels = _named(tree["kernels"])
        names = [kernel.get("name", "kernel") for kernel in kernels]
        chosen = row.get("kernel", names[0] if len(names) == 1 else LEFT_OUT)
        if chosen not in names:
            raise refused(f"{place}.kernel", chosen, known=names)
        changed = {key: value for key, value in row.items() if key not in ("name", "kernel")}
        place_of_kernel = names.index(chosen)
        kernels[place_of_kernel] = _replaced(kernels[place_of_kernel], changed)
        own = {"kernels": kernels}
        rest = {key: v for key, v in tree.items() if key not in ("alternatives", "slo")}
        found[name] = _service(rest | own, f"{place} ({name})", path.parent)
    return found


def _named(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The kernels, of which each has a name if there are several."""
    if len(rows) == 1:
        return [dict(rows[0])]
    return [{"name": f"kernel{number}", **row} for number, row in enumerate(rows, 1)]


def _replaced(kernel: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """`kernel` with `changed`: a cost in one unit replaces that in any other.

    The scaling belongs to the selection that it scales by.
    """
    if changed.get("selection", "lucrative") != "lucrative":
        kernel = {key: value for key, value in kernel.items() if key != "scaling"}
    for name in _TIMED:
        units = {f"{name}_{unit}" for unit in ("cycles", *_TIMES)}
        units |= {"queue"} if name == "queue" else set()
        if units & changed.keys():
            kernel = {key: value for key, value in kernel.items() if key not in units}
    return kernel | changed


def _slo(tree: Mapping[str, Any], path: Path) -> Slo | None:
    if "slo" not in tree:
        return None
    place = f"{path}: slo"
    slo = _table(Slo, tree["slo"], place)
    for name in ("latency_us", "limit_us"):
        if not 0 < getattr(slo, name) < math.inf:
            allowed = "must be a finite number above 0"
            raise refused(f"{place}.{name}", getattr(slo, name), allowed)
    return slo  # type: ignore[no-any-return]


def _from_toml(text: str, path: Path) -> Service:
    try:
        tree = parse_toml(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return _service(tree, str(path), path.parent)


def _service(tree: Mapping[str, Any], path: str, folder: Path) -> Service:
    known = ("host_cycles_per_s", "host_ghz", "kernels", "alternatives", "slo", "draws", "seed")
    _check_names(tree, known, path)
    host = _either(tree, ("host_cycles_per_s", "host_ghz"), path)
    if host is None:
        allowed = "must be given, unless host_ghz is given"
        raise refused(f"{path}: host_cycles_per_s", LEFT_OUT, allowed)
    name, value = host
    if isinstance(value, list):
        allowed = "must be a number, or a table with a range: min and max, or mean and sd"
        raise refused(f"{path}: {name}", value, allowed)
    place = f"{path}: {name}"
    cycles = _scaled(value, 1e9, place, _check_ghz) if name == "host_ghz" else _value(value, place)
    rows = tree.get("kernels", LEFT_OUT)
    if not isinstance(rows, list) or not rows or not all(isinstance(r, Mapping) for r in rows):
        raise refused(f"{path}: kernels", rows, "must be one table or more, [[kernels]]")
    rows = _named(rows)
    rows = [_counted(row, f"{path}: kernels[{i}]", folder) for i, row in enumerate(rows)]
    rows = [_benchmarked(row, f"{path}: kernels[{i}]", folder) for i, row in enumerate(rows)]
    kernels = [_kernel(row, cycles, f"{path}: kernels[{i}]") for i, row in enumerate(rows)]
    names = [kernel.name for kernel in kernels]
    for kernel_name in names:
        if names.count(kernel_name) > 1:
            raise refused(f"{path}: kernels: name", kernel_name, "must name one kernel only")
    return Service(
        host_cycles_per_s=cycles,
        kernels=kernels,
        draws=_whole(tree.get("draws", 10_000), f"{path}: draws"),
        seed=_whole(tree.get("seed", 1), f"{path}: seed"),
    )


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """A histogram of bpftrace, what its prints are, and how long it counted."""

    file: str
    map: str | None = None
    prints: str | None = None
    seconds: float | None = None


def _counted(row: Mapping[str, Any], place: str, folder: Path) -> Mapping[str, Any]:
    """Add `sizes` from the kernel's `histogram`, and `offloads_per_s` unless it is set."""
    if "histogram" not in row:
        return row
    place = f"{place}.histogram"
    if "sizes" in row:
        raise refused(place, row["histogram"], "must be left out, since sizes is given")
    given = _table(_Counted, row["histogram"], place)
    histogram = read_histogram(folder / given.file, given.map, given.prints)
    found = {key: value for key, value in row.items() if key != "histogram"}
    found["sizes"] = {
        "bytes": list(histogram.sizes.bytes),
        "cumulative_ratio": list(histogram.sizes.cumulative_ratio),
        "interpolation": histogram.sizes.interpolation,
    }
    if given.seconds is not None and not 0 < given.seconds < math.inf:
        raise refused(f"{place}.seconds", given.seconds, "must be a finite number above 0")
    if given.seconds is not None and "offloads_per_s" not in row:
        # The counts are Poisson: a rate is known to the root of what was counted.
        rate = histogram.count / given.seconds
        found["offloads_per_s"] = {"mean": rate, "sd": rate / math.sqrt(histogram.count)}
    return found


@dataclass(frozen=True, kw_only=True)
class _Benchmarked:
    """Measured micro-benchmarks of a machine, and the name of one of their kernels."""

    file: str
    kernel: str | None = None


def _benchmarked(row: Mapping[str, Any], place: str, folder: Path) -> Mapping[str, Any]:
    """Add the measured A, o0 and L of `kernel`, and o1, unless the file sets them.

    They are ranges by their standard errors. For instructions, o0 + L is in one, and omitted if it
    is below 0.
    """
    if "measured" not in row:
        return row
    place = f"{place}.measured"
    given = _table(_Benchmarked, row["measured"], place)
    path = folder / given.file
    try:
        machine = json.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable(f"{place}.file", path, error) from error
    machine = with_schema(path, machine, [MEASURED_SCHEMA], _MEASURE)
    try:
        found = _inputs_of(machine, given.kernel, place)
    except (AttributeError, KeyError, TypeError) as error:
        missing = isinstance(error, KeyError)
        lacks = f"it has no {error}" if missing else "a value in it has a wrong type"
        allowed = f"must be the output of `{_MEASURE}`: {lacks}"
        raise refused(f"{place}.file", path, allowed) from error
    own = {key: value for key, value in row.items() if key != "measured"}
    for name in ("setup", "transfer", "thread_switch"):
        if any(f"{name}_{unit}" in own for unit in ("cycles", *_TIMES)):
            found.pop(f"{name}_ns", None)
    return found | own


def _inputs_of(machine: Mapping[str, Any], kernel: str | None, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if machine["thread_switch_ns"] is not None:
        found["thread_switch_ns"] = _as_range(machine["thread_switch_ns"])
    if kernel is None:
        return found
    known = {name: of for name, of in machine["kernels"].items() if of is not None}
    if not known:
        raise refused(f"{place}.kernel", kernel, "must be left out: no kernel was measured")
    if kernel not in known:
        raise refused(f"{place}.kernel", kernel, known=known)
    found["acceleration_ratio"] = _as_range(known[kernel]["acceleration_ratio"])
    for name in ("setup_ns", "transfer_ns"):
        cost = known[kernel][name]
        if cost is not None and cost["median"] > 0:
            found[name] = _as_range(cost)
    return found


def _as_range(of: Mapping[str, Any]) -> Any:
    error = of["standard_error"]
    return {"mean": of["median"], "sd": error} if error else of["median"]


def _kernel(row: Mapping[str, Any], host: float | Range, place: str) -> Kernel:
    plain = [f.name for f in fields(Kernel)]
    timed = [f"{name}_{unit}" for name in _TIMED for unit in _TIMES]
    _check_names(row, [*plain, "queue", *timed], place)
    given = {name: row[name] for name in plain if name in row}
    for name in _TIMED:
        choices = [f"{name}_cycles", *(f"{name}_{unit}" for unit in _TIMES)]
        choices += ["queue"] if name == "queue" else []
        choice = _either(row, choices, place)
        if choice is None:
            continue
        chosen, value = choice
        unit = chosen.removeprefix(f"{name}_")
        if unit in _TIMES:
            if isinstance(host, Range):
                allowed = f"must be given as {name}_cycles, since host_cycles_per_s is a range"
                raise refused(f"{place}.{chosen}", value, allowed)
            factor = _TIMES[unit] * host
            # The model refuses other clocks.
            most = _MOST_CYCLES / factor if 0 < factor < math.inf else math.inf
            check = partial(_check_time, most=most)
            given[f"{name}_cycles"] = _scaled(value, factor, f"{place}.{chosen}", check)
        elif chosen != "queue":
            given[chosen] = _value(value, f"{place}.{chosen}")
    for name in ("threading", "kernel_share_ratio", "offloads_per_s"):
        if name not in given:
            raise refused(f"{place}.{name}", LEFT_OUT, "must be given")
    _check_kinds(given, place)
    if "queue" in row:
        given["queue_cycles"] = _table(Queue, row["queue"], f"{place}.queue")
    if "sizes" in given:
        given["sizes"] = _table(Sizes, given["sizes"], f"{place}.sizes")
    return Kernel(**given)


_WORDS: Final = ("threading", "placement", "name", "selection", "scaling", "rides_on")


def _check_kinds(given: dict[str, Any], place: str) -> None:
    for name, value in given.items():
        where = f"{place}.{name}"
        if name in _WORDS:
            if not isinstance(value, str):
                raise refused(where, value, "must be a string")
        elif name == "driver_waits":
            if not isinstance(value, bool):
                raise refused(where, value, "must be true or false")
        elif name == "latency_thread_switches":
            given[name] = _whole(value, where)
        elif name == "all_offloads_per_s" and isinstance(value, Mapping):
            raise refused(where, dict(value), "must be a number, not a range")
        elif name != "sizes" and not isinstance(value, Range):
            given[name] = _value(value, where)


#: Keys of tables inside a kernel whose values are text.
_TEXTS: Final = ("interpolation", "approximation", "shared", "file", "map", "prints", "kernel")


def _table(kind: type[Any], value: Any, place: str) -> Any:
    names = [f.name for f in fields(kind)]
    if not isinstance(value, Mapping):
        raise refused(place, value, f"must be a table; its keys are {', '.join(names)}")
    _check_names(value, names, place)
    lists = kind is Sizes
    for name, item in value.items():
        if name in _TEXTS:
            if not isinstance(item, str):
                raise refused(f"{place}.{name}", item, "must be a string")
        elif lists and not isinstance(item, list):
            raise refused(f"{place}.{name}", item, "must be a list of numbers")
        elif not lists:
            _number(item, f"{place}.{name}")
    needed = [f.name for f in fields(kind) if f.default is MISSING]
    if gaps := [name for name in needed if name not in value]:
        raise refused(f"{place}: {', '.join(gaps)}", LEFT_OUT, "must be given")
    if "servers" in value:
        _whole(value["servers"], f"{place}.servers")
    return kind(**value)


def _check_names(row: Mapping[str, Any], known: Any, place: str) -> None:
    for name in row:
        if name not in known:
            raise refused(f"{place}: key", name, known=known)


def _either(row: Mapping[str, Any], names: Any, place: str) -> tuple[str, Any] | None:
    given = [name for name in names if name in row]
    if len(given) > 1:
        allowed = f"must be left out, since {given[0]} is given"
        raise refused(f"{place}: {given[1]}", row[given[1]], allowed)
    return (given[0], row[given[0]]) if given else None


def _value(value: Any, place: str) -> Any:
    """A number, a range or a list of numbers."""
    if isinstance(value, list):
        return [_number(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return _number(value, place)
    _check_names(value, [f.name for f in fields(Range)], place)
    return Range(**{name: _number(item, f"{place}.{name}") for name, item in value.items()})


def _scaled(value: Any, factor: float, place: str, check: Callable[[str, Any], object]) -> Any:
    """Return the value at `place` times `factor`; `check` refuses numbers, by their place."""
    value = _value(value, place)
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(f"{place}[{i}]", item)
        return [item * factor for item in value]
    if not isinstance(value, Range):
        check(place, value)
        return value * factor
    parts = {f.name: getattr(value, f.name) for f in fields(Range)}
    given = {name: part for name, part in parts.items() if part is not None}
    for name, part in given.items():
        # A standard deviation of 0 is no range; the model says so.
        if name != "sd" or part != 0:
            check(f"{place}.{name}", part)
    if "min" in given and "max" in given and not given["min"] < given["max"]:
        raise refused(f"{place}.max", given["max"], f"must be above min, which is {given['min']:g}")
    return Range(**{name: part * factor for name, part in given.items()})


def _check_time(place: str, value: Any, most: float) -> None:
    number_within(place, value, 0.0, most)


def _check_ghz(place: str, value: Any) -> None:
    positive_number(place, value, _MOST_GHZ)


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused(place, value, "must be a number")
    return value


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(place, value, "must be a whole number")
    return value
