"""Workloads as files: services with their paths, arrivals, sizes, costs and waits.

A workload's file is TOML or JSON (`docs/workloads.md`). :func:`read_workload` reads it as a tree of
dicts and lists with the file's field names. :func:`write_workload` writes such a tree as TOML.
:func:`load_workload` reads a tree together with the other files that it needs, ready to be
simulated.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, refused, unreadable, unwritable
from accelflow.files import exists, read_text, why, write_whole

__all__ = [
    "SUFFIXES",
    "SUITES",
    "WorkloadWarning",
    "bad_number",
    "check_suite",
    "has_rates",
    "inlined",
    "is_file",
    "load_workload",
    "located",
    "mean_attempts",
    "mean_rps_of",
    "native_workload",
    "new_workload",
    "numbers_named",
    "read_workload",
    "suite_text",
    "warn_of_rates",
    "workload_schema",
    "workload_text",
    "write_workload",
]

#: The endings of the names of workload files.
SUFFIXES: Final = (".toml", ".json")

#: The workloads that come with accelflow, by name.
SUITES: Final = tuple(dict(_native.scenario_choices())["workload"])

#: Begins the place of a refused value of a scenario's workload.
_OF_WORKLOAD: Final = "workload."

#: How long a Python module may take to build its traces, in seconds.
_MODULE_TIMEOUT_S: Final = 60.0

#: Runs a module in a process of its own, and prints the text of the traces that it registers.
_RUN_MODULE: Final = """
import runpy, sys
from accelflow import _native
from accelflow.trace import LIBRARY
before = set(LIBRARY.names())
out, sys.stdout = sys.stdout, sys.stderr
runpy.run_path(sys.argv[1])
added = [name for name in LIBRARY.names() if name not in before]
declared = {}
for name in added:
    for line in _native.trace_declarations(LIBRARY.get(name).nodes).splitlines():
        declared[line] = None
out.write("".join(line + "\\n" for line in declared))
for name in added:
    listing = _native.trace_listing(LIBRARY.get(name).nodes)
    lines = "".join("    " + line + "\\n" for line in listing.splitlines())
    out.write("trace " + name + ":\\n" + lines)
"""


#: The keys of a workload that name a file with further content, and tables without such keys.
_FILES: Final = ("file", "module", "histogram_file")
_WITHOUT_FILES: Final = ("origin", "facts", "rates")

#: The place of an error in the text of a workload that comes from no file.
_OF_TEXT: Final = re.compile(r"^workload:\d+:\d+: ")

#: Facts are 64-bit integers, from minus this number to below it.
_MOST_INT: Final = 1 << 63

#: Longer integers are not written out in messages.
_MOST_DIGITS: Final = 40


class WorkloadWarning(UserWarning):
    """A warning that a part of a workload's file has no effect, such as an unused trace.

    Other warnings name tables of rates of which a simulation covers only a part.
    """


def is_file(workload: object) -> bool:
    """Return whether `workload` is the path of a file.

    Path objects count as files, and so do strings that end in ``.toml`` or ``.json``. Other strings
    are names of suites. The file need not exist.
    """
    return isinstance(workload, PathLike) or (
        isinstance(workload, str) and workload.lower().endswith(SUFFIXES)
    )


def read_workload(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the workload in the TOML or JSON file at `path`, and return it as dicts and lists.

    The files to which it refers (traces, recordings, CSV) are not read. Raises InputError for a
    file that cannot be read, and for the first value that is not allowed, with its line and column
    in a TOML file.
    """
    text = _text(Path(path))
    try:
        tree: dict[str, Any] = json.loads(_native.workload_read(text, str(path)))
    except AccelflowError as error:
        raise InputError.of(error) from error
    return tree


def load_workload(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the workload in the file at `path`, and all files that it refers to, as one dict.

    The result contains the content of those files (traces, recordings, CSV), so that it can be
    simulated without them. Python modules with traces run in separate processes. Emits a
    WorkloadWarning for each likely mistake, such as a trace that no service uses. Raises InputError
    as :func:`read_workload` does, for a file that the workload names and that cannot be read, for a
    module that fails, and for traces that cannot run or do not fit the services.
    """
    path = Path(path)
    text, folder = _text(path), path.parent
    modules = {
        traces["module"]: _traces_of(folder / traces["module"])
        for traces in read_workload(path).get("traces", ())
        if "module" in traces
    }
    try:
        tree, doubts = _native.workload_load(text, str(path), folder, modules)
    except AccelflowError as error:
        raise InputError.of(error) from error
    for doubt in doubts:
        # The line that called accelflow: a file that several functions read is warned of once.
        warnings.warn(f"{path}: {doubt}", WorkloadWarning, stacklevel=_frames_inside())
    loaded: dict[str, Any] = json.loads(tree)
    return loaded


def mean_rps_of(rates: Sequence[Sequence[float]]) -> float:
    """Return the mean of a table of rates: pairs of a start in us and requests per second.

    The last rate lasts as long as the one before it, as in the simulator.
    """
    lengths = [after[0] - before[0] for before, after in pairwise(rates)]
    lengths.append(lengths[-1] if lengths else 1.0)
    pairs = zip(rates, lengths, strict=True)
    return math.fsum(rate * length for (_, rate), length in pairs) / math.fsum(lengths)


def has_rates(workload: Mapping[str, Any]) -> bool:
    """Return whether `workload`, the content of a workload's file, has a table of rates."""
    places = (workload.get("defaults", {}), *workload["services"])
    return any("rates" in place.get("arrivals", {}) for place in places)


def warn_of_rates(
    path: str | PathLike[str],
    workload: Mapping[str, Any],
    rates_rps: Mapping[str, float],
    requests_at: Callable[[float], float],
) -> None:
    """Emit a WorkloadWarning for each table of rates that is longer than a simulation.

    A simulation begins at `from_us` of the table. `workload` is the content of the file `path`,
    `rates_rps` has the mean rate of each simulated service, to which its table is scaled, and
    `requests_at` returns the number of requests of a service with such a rate.
    """
    for name, arrivals, mean_rps in _tables_of_rates(workload, rates_rps):
        rates, begins_us = arrivals["rates"], arrivals.get("from_us", 0)
        factor = mean_rps / mean_rps_of(rates)
        expected = factor * sum(
            before[1] * max(0.0, after[0] - max(before[0], begins_us)) * 1e-6
            for before, after in pairwise(rates)
        )
        if expected <= requests_at(mean_rps) or len({rate for _, rate in rates}) == 1:
            continue
        start_us, peak_rps = max(rates, key=lambda row: row[1])
        scaled = "" if math.isclose(factor, 1.0) else f", scaled by {factor:.6g},"
        text = (
            f"{path}: {name}: a simulation begins at from_us = {begins_us:.15g} of the table of"
            f" rates, and ends after its requests, before the table; the table's mean{scaled} is"
            f" {mean_rps:,.6g} requests per second, and its highest rate,"
            f" {factor * peak_rps:,.6g}, begins at from_us = {start_us:.15g}"
        )
        warnings.warn(text, WorkloadWarning, stacklevel=_frames_inside())


def _tables_of_rates(
    workload: Mapping[str, Any], rates_rps: Mapping[str, float]
) -> Iterator[tuple[str, Mapping[str, Any], float]]:
    """Yield each table of rates that services use: its place, the arrivals, and the mean rate.

    All services that use the table of `[defaults]` at one mean rate have one item.
    """
    common = workload.get("defaults", {}).get("arrivals", {})
    shared: dict[float, list[str]] = {}
    for service in workload["services"]:
        name, arrivals = service["name"], service.get("arrivals", common)
        if name not in rates_rps or "rates" not in arrivals:
            continue
        if arrivals is common:
            shared.setdefault(rates_rps[name], []).append(name)
        else:
            yield name, arrivals, rates_rps[name]
    for mean_rps, names in shared.items():
        yield ", ".join(names), common, mean_rps


def _frames_inside() -> int:
    """Return the number of frames from the caller to the first outside of this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals["__name__"].partition(".")[0] == "accelflow":
        frame, level = frame.f_back, level + 1
    return level


def inlined(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `workload`, a file's content as a dict, with the content of the files that it names.

    The names are relative to the working directory, since the dict comes from no file. If it names
    no files, it is returned itself. Emits warnings and raises InputError as :func:`load_workload`
    does.
    """
    if not _names_files(workload):
        return workload
    text, folder = workload_text(workload), Path()
    modules = {
        traces["module"]: _traces_of(folder / traces["module"])
        for traces in workload.get("traces", ())
        if "module" in traces
    }
    try:
        tree, doubts = _native.workload_load(text, "workload", folder, modules)
    except AccelflowError as error:
        # Lines of the text that was made for this would mislead.
        said = _OF_TEXT.sub(_OF_WORKLOAD, str(error))
        place = error.place and _OF_TEXT.sub(_OF_WORKLOAD, error.place)
        raise InputError(said, place) from error
    for doubt in doubts:
        warnings.warn(f"workload: {doubt}", WorkloadWarning, stacklevel=2)
    loaded: dict[str, Any] = json.loads(tree)
    return loaded


def _names_files(value: object) -> bool:
    """Whether a table in `value`, a part of a workload's tree, names a file with its content."""
    if isinstance(value, Mapping):
        return any(
            (key in _FILES and isinstance(each, str))
            or (key not in _WITHOUT_FILES and _names_files(each))
            for key, each in value.items()
        )
    if not isinstance(value, list | tuple):
        return False
    # Tables are in lists of tables; a list of numbers may be long.
    tables = value if value and isinstance(value[0], Mapping) else ()
    return any(_names_files(table) for table in tables)


def bad_number(place: str, value: object) -> InputError | None:
    """Return the error for the first number in `value` that is not allowed in any field.

    Infinite numbers are an example. `value` may contain dicts and lists, and `place` is the name of
    the setting that has this value. Returns None if all numbers are allowed.
    """
    if isinstance(value, Mapping):
        parts = ((f"{place}.{key}", each) for key, each in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"{place}[{index}]", each) for index, each in enumerate(value))
    elif isinstance(value, int) and ".facts." in place and not -_MOST_INT <= value < _MOST_INT:
        allowed = f"must be a whole number from {-_MOST_INT} to {_MOST_INT - 1}"
        return refused(place, _short(value), allowed)
    elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        return refused(place, _short(value), "must be a finite number")
    else:
        return None
    found = (bad_number(inner, each) for inner, each in parts)
    return next((error for error in found if error is not None), None)


def _short(value: float) -> object:
    """`value`, or about its value if it has more digits than Python writes."""
    digits = int(value.bit_length() * math.log10(2)) if isinstance(value, int) else 0
    return value if digits < _MOST_DIGITS else f"about {'-' if value < 0 else ''}10**{digits}"


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("workload", path, error) from error


def _traces_of(module: Path) -> str:
    """The text of the traces that the Python module at `module` registers."""
    if not module.is_file():
        raise refused("traces.module", str(module), "must be the path of an existing Python file")
    inherited = [entry for entry in sys.path if entry]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(inherited)}
    try:
        ran = subprocess.run(  # noqa: S603 (the user's own module, by the same Python)
            [sys.executable, "-W", "ignore", "-c", _RUN_MODULE, str(module)],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=environment,
            timeout=_MODULE_TIMEOUT_S,
        )
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
        raise refused(
            "traces.module", str(module), f"must be a module that can be run: {why(error)}"
        ) from error
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"it ended with code {ran.returncode}"
        allowed = f"must be a module that builds its traces without an error: {reason}"
        raise refused("traces.module", str(module), allowed)
    return ran.stdout


def native_workload(workload: str | PathLike[str] | Mapping[str, Any]) -> str:
    """Return `workload` as the native engine takes it: a suite's name, or a file's content as JSON.

    Raises InputError as :func:`load_workload` does, and for a value that is not a suite's name, a
    file or a dict.
    """
    if is_file(workload) and not isinstance(workload, Mapping):
        return json.dumps(load_workload(workload))
    if isinstance(workload, str):
        check_suite(workload)
        return workload
    if not isinstance(workload, Mapping):
        raise refused(
            "workload",
            workload,
            "must be a suite's name, the path of a workload file, or the content of one as a dict",
        )
    return _as_json(inlined(workload))


def _as_json(tree: Mapping[str, Any]) -> str:
    """Return `tree` as JSON. Raises InputError for a value that JSON does not have."""
    try:
        return json.dumps(tree, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, ValueError) and (bad := _bad_number(tree)) is not None:
            raise bad from error
        raise refused(
            "workload",
            tree,
            f"must contain only what JSON has (dicts, lists, texts, numbers): {error}",
        ) from error


def _bad_number(tree: object) -> InputError | None:
    try:
        return bad_number("workload", tree)
    except RecursionError:  # a list or dict that contains itself
        return None


@contextmanager
def numbers_named(tree: object) -> Iterator[None]:
    """Turn an AccelflowError of a ``with`` block that reads a workload into InputError.

    If `tree`, the workload's file as a dict, has a number that the native engine cannot read, the
    message names that number.
    """
    try:
        yield
    except AccelflowError as error:
        bad = _bad_number(tree) if isinstance(tree, Mapping) else None
        raise bad or InputError.of(error) from error


def check_suite(name: str) -> None:
    """Raise InputError unless `name` is a suite (a set of services) that comes with accelflow.

    If the working directory has a workload file of that name, the message proposes it.
    """
    if name in SUITES:
        return
    here = [f"{name}{suffix}" for suffix in SUFFIXES if exists(f"{name}{suffix}")]
    allowed = f"must be {', '.join(SUITES)} or a file whose name ends in .toml or .json"
    raise refused("workload", name, allowed, [*SUITES, *here])


@contextmanager
def located(workload: object) -> Iterator[None]:
    """Add the file to errors of the ``with`` block about values of `workload`.

    For TOML, add line and column, too.

    If `workload` is not the path of a file (:func:`is_file`), errors are unchanged, also for a dict
    that was read from a file.
    """
    try:
        yield
    except InputError as error:
        refused_place = error.place or ""
        path = refused_place.removeprefix(_OF_WORKLOAD)
        if path == refused_place or not isinstance(workload, str | PathLike):
            raise
        if not is_file(workload):
            raise
        try:
            place = _native.workload_place(_text(Path(workload)), str(workload), path)
        except AccelflowError:
            raise error from None
        at = "".join(f":{number}" for number in place or ())
        raise error.at(f"{workload}{at}: {path}") from error


def workload_text(workload: Mapping[str, Any]) -> str:
    """Return `workload`, a file's content as a dict, as TOML in the standard layout.

    :func:`read_workload` reads a file with this text. Raises InputError for a value that is not
    allowed.
    """
    text = _as_json(dict(workload))
    with numbers_named(workload):
        return _native.workload_write(text)


def write_workload(workload: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write `workload`, a file's content as a dict, to the file at `path` as TOML.

    Raises InputError for a value that is not allowed, and for a file that cannot be written.
    """
    text = workload_text(workload)
    try:
        write_whole(Path(path), lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("workload", path, error) from error


def suite_text(name: str) -> str:
    """Return the text of the workload file of the suite called `name`, with its comments.

    Raises InputError for an unknown name.
    """
    try:
        return _native.workload_suite(name)
    except AccelflowError as error:
        raise InputError.of(error) from error


def mean_attempts(chain: Mapping[str, Any]) -> float:
    """Return the mean number of attempts of a chain of traces, from its ``retry`` (1 without)."""
    retry = chain.get("retry")
    if not retry:
        return 1.0
    return math.fsum(retry["odds"] ** before for before in range(retry["attempts"]))


def new_workload(name: str, like: str | None = None) -> str:
    """Return the text of a file for a new workload called `name`: commented, and ready to run.

    The workload has two small services, or the services of the suite called `like`. Raises
    InputError for an invalid name, for the name of a suite, and for an unknown suite `like`.
    """
    if name in SUITES:
        raise refused("name", name, "must differ from the names of the suites")
    template = suite_text(like) if like is not None else _template()
    old = f'name = "{like if like is not None else "shop"}"\n'
    # A file is UTF-8. A name that is not becomes one with question marks, which is refused.
    written = name.encode(errors="replace").decode()
    text = template.replace(old, f'name = "{written}"\n', 1)
    try:
        _native.workload_read(text, f"{written}.toml")
    except AccelflowError as error:
        # Only the name can be wrong. Its place in a file that does not exist would mislead.
        _, rule, allowed = str(error).partition(" must be ")
        raise refused("name", name, f"{rule.lstrip()}{allowed}") from error
    return text


def _template() -> str:
    return Path(__file__).with_name("workload_template.toml").read_text(encoding="utf-8")


def workload_schema() -> str:
    """Return the JSON Schema of a workload's file, as text."""
    return _native.workload_schema()
