"""Tenants that share accelerators: ARCUS's mechanism, control plane and experiments.

Zhao, Shu, Lim, Fan, Anderson, Gao and Enright Jerger, "ARCUS: SLO Management for Accelerators in
the Cloud with Traffic Shaping". docs/arcus.md introduces it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import (
    AccelflowError,
    InputError,
    file_path,
    finite_number,
    one_of,
    refused,
    whole_number,
)
from accelflow.files import parse_json, parse_toml, read_text, why
from accelflow.findings import TOLERANCE, Reported, targets
from accelflow.plans import STORAGE, PlanError, checked, profile_entries

__all__ = [
    "CLOCK_MHZ",
    "STORAGE",
    "UNITS",
    "RateLimiter",
    "Segment",
    "experiment",
    "experiments",
    "parameters",
    "plan",
    "profile",
    "read_plan",
    "read_profiles",
    "release",
    "shape",
    "table2",
]

#: The units of a token.
UNITS: Final = ("bytes", "operations")
MAX_REPLICATIONS: Final = 1_000
#: The clock of the paper's prototype (section 5.1).
CLOCK_MHZ: Final = 250.0


@dataclass(frozen=True, kw_only=True)
class RateLimiter:
    """The registers of one flow: `refill` tokens every `interval` cycles, into a `bucket`.

    A token is one of `unit`. Values are checked on use.
    """

    refill: int
    bucket: int
    interval: int
    clock_mhz: float = CLOCK_MHZ
    unit: str = "bytes"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A message, or a piece of one, released by the rate limiter.

    `message` and `index` count from 0. At `granted_ns` its tokens were spent; at `released_ns` it
    reaches the accelerator.
    """

    message: int
    index: int
    last: bool
    size_bytes: int
    granted_ns: float
    released_ns: float


def table2() -> dict[str, Any]:
    """Return the paper's Table 2: registers, the paper's rates and ours.

    An object of schema ``accelflow.arcus.table2/1``.
    """
    rows: list[dict[str, Any]] = json.loads(_native.arcus_table2())
    for row in rows:
        row["key"] = "arcus.table2.{refill_bytes},{bucket_bytes},{interval_cycles}".format(**row)
        row["paper_gbit_per_s"] = targets()[row["key"]].value
    return {"schema": "accelflow.arcus.table2/1", "clock_mhz": CLOCK_MHZ, "rows": rows}


def shape(limiter: RateLimiter) -> dict[str, Any]:
    """The rate and the burst that `limiter` allows.

    Returns an object of schema ``accelflow.arcus.shape/1``; `gbit_per_s` is None for operations.
    Raises InputError for a value out of range.
    """
    try:
        text = _native.arcus_shape(_settings(limiter), limiter.unit)
    except AccelflowError as error:
        raise InputError(str(error)) from error
    shaped: dict[str, Any] = json.loads(text)
    return {"schema": "accelflow.arcus.shape/1", **shaped}


def release(
    messages: Iterable[tuple[float, int]],
    limiter: RateLimiter,
    *,
    segment_bytes: int | None = None,
    header_bytes: int = 0,
) -> list[Segment]:
    """Pass `messages` (time in ns, size in bytes) through `limiter`; return the released segments.

    The bucket is full at time 0. Times must not decrease. With `segment_bytes`, larger messages are
    split, and each piece repeats the first `header_bytes`. Raises InputError for a value out of
    range and for a message that can never pass.
    """
    values = _settings(limiter)
    offered = [
        (_picoseconds(at, number), _whole(f"size of message {number}", size))
        for number, (at, size) in enumerate(_pairs(messages))
    ]
    split = None
    if segment_bytes is not None:
        split = (_whole("segment_bytes", segment_bytes), _whole("header_bytes", header_bytes))
    try:
        rows = _native.arcus_release(values, limiter.unit, offered, split)
    except AccelflowError as error:
        raise InputError(str(error)) from error
    return [
        Segment(
            message=message,
            index=index,
            last=last,
            size_bytes=size,
            granted_ns=granted / 1000,
            released_ns=released / 1000,
        )
        for message, index, last, size, granted, released in rows
    ]


def experiments() -> dict[str, str]:
    """The paper's experiments: titles by name."""
    return {row["name"]: row["title"] for row in json.loads(_native.arcus_experiments())}


def experiment(
    name: str, *, seed: int = 1, replications: int | None = None, threads: int = 1
) -> dict[str, Any]:
    """Run one of the paper's experiments with `replications` seeds from `seed` on.

    The default is the experiment's own number of seeds; `threads` of them run at a time. Returns an
    object of schema ``accelflow.arcus.experiment/1``.

    Each of its `rows` compares a result with the paper's figure of the same `key`. The paper's
    figure is a number, a pair (from, to), an object with a bound (``above``, ``at_least`` or
    ``at_most``), or None if the text has none. `ours` is the mean over the seeds, and `half_width`
    half its 95 % interval (None for one seed). `difference` is relative, or absolute between
    shares. `why` explains a large difference or comments on the figure. `series` are the curves;
    `half_widths` belong to their second numbers.

    Raises InputError for an unknown name and for a number out of range.
    """
    one_of("experiment", name, experiments())
    _whole("seed", seed)
    if replications is not None:
        whole_number("replications", replications, 1, MAX_REPLICATIONS)
    whole_number("threads", threads, 1, 256)
    try:
        text = _native.arcus_experiment(name, seed, replications, threads)
    except AccelflowError as error:
        raise InputError(str(error)) from error
    report: dict[str, Any] = json.loads(text)
    report["rows"] = [_beside_paper(row) for row in report["rows"]]
    return {"schema": "accelflow.arcus.experiment/1", **report}


def _beside_paper(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the paper's figure, the difference, and a remark on it."""
    why, note = row.pop("why"), row.pop("note")
    target = targets().get(row["key"])
    if target is None:
        return {**row, "paper": None, "difference": None, "why": note}
    nearest = target.figure.nearest(row["ours"])
    gap = row["ours"] - nearest
    far = abs(gap) > TOLERANCE * abs(nearest)
    # The difference of two shares is itself a share.
    share = not row["unit"] and abs(nearest) < 1
    return {
        **row,
        "paper": _reported(target.figure),
        "difference": gap if share else gap / nearest,
        "why": note or (why if far else ""),
    }


def _reported(figure: Reported) -> float | list[float] | dict[str, float]:
    """A figure of the paper for JSON: a number, its two ends, or a bound by its kind."""
    if figure.bound_kind is not None:
        return {figure.bound_kind: figure.finite_ends[0]}
    return figure.finite_ends[0] if figure.single else list(figure.finite_ends)


class _FromFile(dict[str, Any]):
    """The content of a file, with its path and text, so that messages can name the place."""

    def __init__(self, content: Mapping[str, Any], path: Path, text: str) -> None:
        super().__init__(content)
        self.path = path
        self.text = text


def read_plan(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the flows of a TOML file for :func:`plan`. Raises InputError, or OSError.

    Errors of :func:`plan` and :func:`profile` name the file, and line and column of the value.
    """
    path = file_path("path", path)
    try:
        text = read_text(path)
        return _FromFile(parse_toml(text), path, text)
    except ValueError as error:
        raise InputError(f"{path}: {why(error)}") from error


@contextmanager
def _of_file(source: object) -> Iterator[None]:
    """Put the file that `source` was read from before error messages, with the place in it."""
    try:
        yield
    except InputError as error:
        if not isinstance(source, _FromFile):
            raise
        place = None
        if isinstance(error, PlanError) and error.keys:
            place = _native.toml_place(source.text, list(error.keys))
        where = "".join(f":{number}" for number in place or ())
        raise InputError(f"{source.path}{where}: {error}") from error


def plan(
    request: Mapping[str, Any], *, profiles: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Admit flows in order, and run the admitted ones with and without shaping.

    `request` is a plan (docs/arcus.md). `profiles` is a result of :func:`profile` for the same
    platform; its capacities are then not measured again. A flow with `from_us` asks for admission
    while others run, and one with `until_us` leaves.

    Returns an object of schema ``accelflow.arcus.plan/1``. Each flow in `admitted` has its route
    and registers, the predicted rate, the rate while it was active, and the `verdict`: `kept`,
    `below`, `too short` or `no promise`. Each flow in `rejected` has the rate that is left.
    `warnings` tell if the run is too short for a verdict. Raises InputError for values that are not
    allowed.
    """
    with _of_file(request):
        given = checked(request)
    with _of_file(profiles):
        entries = _entries(profiles, given)
    with _of_file(request):
        planned = _engine(_native.arcus_plan, given | {"profiles": entries})
    return {"schema": "accelflow.arcus.plan/1", **planned}


#: The schema of tables of profiles.
_PROFILES: Final = "accelflow.arcus.profiles/1"


def profile(request: Mapping[str, Any], *, most: int = 2) -> dict[str, Any]:
    """Profile every combination of up to `most` flows of a plan, over all their routes.

    Returns an object of schema ``accelflow.arcus.profiles/1``. Each of its `combinations` has the
    flows, the sum of their SLOs, the rate that the platform delivers in these proportions, and the
    tag ``SLO-Friendly`` or ``SLO-Violating``. A later :func:`plan` reads the `entries`. Raises
    InputError for values that are not allowed.
    """
    whole_number("most", most, 1, 64)
    with _of_file(request):
        given = checked(request) | {"profiles": []}
        table = _engine(_native.arcus_profile, given, most)
    return {"schema": _PROFILES, "version": _native.version(), **table}


def read_profiles(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a table of :func:`profile` from a file of JSON. Raises InputError, or OSError."""
    path = file_path("path", path)
    try:
        text = read_text(path)
        table = parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    schema = table.get("schema") if isinstance(table, dict) else table
    if schema != _PROFILES:
        raise refused(f"{path}: schema", schema, f"must be {_PROFILES}")
    return _FromFile(table, path, text)


def _entries(profiles: Mapping[str, Any] | None, given: Mapping[str, Any]) -> list[Any]:
    """Return the entries of a table of profiles for the plan's platform and this version."""
    if profiles is None:
        return []
    if profiles.get("version") != _native.version():
        allowed = f"must be {_native.version()}: run `accelflow arcus profile` again"
        raise refused("profiles: version", profiles.get("version"), allowed)
    # As JSON has it: without pairs.
    if profiles.get("platform") != json.loads(json.dumps(given["platform"])):
        raise InputError(
            "profiles: must be of the plan's platform: run `accelflow arcus profile` again"
        )
    return profile_entries(profiles.get("entries"))


def _engine(call: Callable[..., str], given: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(call(json.dumps(given), *more))
    except AccelflowError as error:
        raise InputError(str(error)) from error
    return found


def parameters() -> list[dict[str, Any]]:
    """All parameters of the shaper and the platform, with unit, provenance and source."""
    table: list[dict[str, Any]] = json.loads(_native.arcus_parameters())
    return table


def _settings(limiter: RateLimiter) -> tuple[int, int, int, int]:
    if not isinstance(limiter, RateLimiter):
        raise refused("limiter", limiter, "must be a RateLimiter")
    clock_mhz = finite_number("clock_mhz", limiter.clock_mhz)
    if not 0 <= clock_mhz < 1e9:
        raise refused("clock_mhz", clock_mhz, "must be a number above 0, at most 1e6")
    return (
        _whole("refill", limiter.refill),
        _whole("bucket", limiter.bucket),
        _whole("interval", limiter.interval),
        round(clock_mhz * 1e6),
    )


def _pairs(messages: object) -> list[tuple[Any, Any]]:
    if isinstance(messages, Iterable):
        pairs = list(messages)
        if all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            return pairs
    raise refused("messages", messages, "must be pairs of a time in ns and a size in bytes")


def _whole(name: str, value: int) -> int:
    return whole_number(name, value, 0, 2**64 - 1)


def _picoseconds(at_ns: float, number: int) -> int:
    place = f"time of message {number}"
    if not 0 <= finite_number(place, at_ns) < 2**63 / 1000:
        raise InputError(f"{place} = {at_ns} ns: must be from 0 to 9.2e15")
    return round(at_ns * 1000)
