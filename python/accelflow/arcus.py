"""Tenants that share accelerators: ARCUS's mechanism, control plane and experiments.

Zhao, Shu, Lim, Fan, Anderson, Gao and Enright Jerger, "ARCUS: SLO Management for Accelerators in
the Cloud with Traffic Shaping". docs/arcus.md introduces the paper.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

from accelflow import _native
from accelflow.errors import (
    AccelflowError,
    InputError,
    finite_number,
    one_of,
    refused,
    texts,
    whole_number,
)
from accelflow.findings import TOLERANCE, Reported, notes, reasons, targets
from accelflow.plans import STORAGE, PlanError, plan_json, plans_place, read_json, read_toml

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
    "replications",
    "shape",
    "table2",
]

#: What a token of a rate limiter may pay for: a byte, or an operation of the accelerator.
UNITS: Final = ("bytes", "operations")
#: The largest number of seeds with which an experiment may run.
MAX_REPLICATIONS: Final = 1_000
#: The clock of the paper's prototype in MHz (ARCUS, section 5.1).
CLOCK_MHZ: Final = 250.0


@dataclass(frozen=True, kw_only=True)
class RateLimiter:
    """A token bucket that limits the rate of a flow, with the registers of ARCUS's hardware.

    Every `interval` cycles of a clock of `clock_mhz`, `refill` tokens are added to the bucket,
    which holds up to `bucket` tokens. A token pays for one byte or one operation, as `unit`
    (``bytes`` or ``operations``) says. Functions that take the limiter check the values.
    """

    refill: int
    bucket: int
    interval: int
    clock_mhz: float = CLOCK_MHZ
    unit: str = "bytes"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A message, or a piece of a message, that has passed a rate limiter.

    `message` is the index of the message and `index` that of the piece in the message, both from 0.
    `last` is true for the last piece of a message. `size_bytes` is the size of the piece, including
    its header. The piece took its tokens at `granted_ns` and reaches the accelerator at
    `released_ns`, in ns of simulated time.
    """

    message: int
    index: int
    last: bool
    size_bytes: int
    granted_ns: float
    released_ns: float


def table2() -> dict[str, Any]:
    """Return ARCUS's Table 2: settings of a token bucket, with the paper's rate and ours for each.

    The result is an object of schema ``accelflow.arcus.table2/1``.
    """
    rows: list[dict[str, Any]] = json.loads(_native.arcus_table2())
    for row in rows:
        row["key"] = "arcus.table2.{refill_bytes},{bucket_bytes},{interval_cycles}".format(**row)
        row["paper_gbit_per_s"] = targets()[row["key"]].value
    return {"schema": "accelflow.arcus.table2/1", "clock_mhz": CLOCK_MHZ, "rows": rows}


def shape(limiter: RateLimiter) -> dict[str, Any]:
    """Return the mean rate and the largest burst that `limiter` allows.

    The result is an object of schema ``accelflow.arcus.shape/1``. Its ``gbit_per_s`` is None if a
    token is an operation. Raises InputError for a value out of range.
    """
    try:
        text = _native.arcus_shape(_settings(limiter), limiter.unit)
    except AccelflowError as error:
        raise InputError.of(error) from error
    shaped: dict[str, Any] = json.loads(text)
    return {"schema": "accelflow.arcus.shape/1", **shaped}


def release(
    messages: Iterable[tuple[float, int]],
    limiter: RateLimiter,
    *,
    segment_bytes: int | None = None,
    header_bytes: int = 0,
) -> list[Segment]:
    """Simulate when `limiter` releases `messages`, pairs (arrival in ns, size in bytes).

    Returns the released messages, or pieces of messages, in order. The bucket is full at time 0.
    Arrival times must not decrease. With `segment_bytes`, larger messages are split, and each piece
    repeats the message's first `header_bytes`. Raises InputError for a value out of range, for
    times that decrease, and for a message that needs more tokens than the bucket holds.
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
        raise InputError.of(error) from error
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
    """Return ARCUS's experiments: the names that :func:`experiment` takes, with their titles."""
    return {row["name"]: row["title"] for row in json.loads(_native.arcus_experiments())}


def replications(name: str) -> int:
    """Return the default number of seeds of the experiment `name`.

    Raises InputError for an unknown name.
    """
    known = {row["name"]: row["replications"] for row in json.loads(_native.arcus_experiments())}
    return int(known[one_of("experiment", name, known)])


def experiment(
    name: str, *, seed: int = 1, replications: int | None = None, threads: int = 1
) -> dict[str, Any]:
    """Run one of the ARCUS paper's experiments with `replications` seeds from `seed` on.

    By default, an experiment has the number of seeds that :func:`replications` returns; `threads`
    of them run at a time. Returns an object of schema ``accelflow.arcus.experiment/1``.

    Each of the object's ``rows`` compares our value of a quantity, ``key``, with the paper's.
    ``paper`` is the paper's value: a number, a pair (from, to), an object with a bound (``above``,
    ``at_least`` or ``at_most``), or None if the paper prints none. ``ours`` is our value, the mean
    over the seeds, and ``half_width`` half of its 95 % interval (None for one seed). ``difference``
    is our value minus the paper's, divided by the paper's; for shares, it is not divided. Of a pair
    or a bound, the allowed value nearest to ours counts. ``why`` explains a large difference or
    comments on the paper's value. ``series`` has the curves as points (x, y); ``half_widths`` are
    those of the y values.

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
        raise InputError.of(error) from error
    report: dict[str, Any] = json.loads(text)
    report["rows"] = [_beside_paper(row) for row in report["rows"]]
    return {"schema": "accelflow.arcus.experiment/1", **report}


def _beside_paper(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the paper's figure, the difference, and a remark on it."""
    key = row["key"]
    note, why = notes().get(key, ""), reasons().get(key)
    target = targets().get(key)
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
        "why": note or (why.text if why is not None and far else ""),
    }


def _reported(figure: Reported) -> float | list[float] | dict[str, float]:
    """A figure of the paper for JSON: a number, its two ends, or a bound by its kind."""
    if figure.bound_kind is not None:
        return {figure.bound_kind: figure.finite_ends[0]}
    return figure.finite_ends[0] if figure.single else list(figure.finite_ends)


def read_plan(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a plan for :func:`plan` from a TOML file: flows with their SLOs, and the platform.

    If a value is not allowed, the errors of :func:`plan` and :func:`profile` name the file, line
    and column of the value.
    Raises InputError for text that is not TOML, and OSError for a file that cannot be read.
    """
    return read_toml(path)


def plan(
    request: Mapping[str, Any], *, profiles: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Admit flows of a plan, and simulate the admitted flows with and without rate limits.

    `request` is a plan: a platform, and flows with their SLOs, the rates that they ask for
    (docs/arcus.md). Flows ask for admission in order. A flow with `from_us` asks at that time,
    while others run, and a flow with `until_us` leaves at that time. Admission needs the rates of
    mixtures of traffic (contexts): `profiles`, a result of :func:`profile` for the same platform,
    has many of them, and the others are simulated.

    Returns an object of schema ``accelflow.arcus.plan/1``. Each flow in ``admitted`` has its route,
    the registers of its token bucket, the predicted rate, the rate while it was active, and the
    ``verdict`` on its SLO: ``kept``, ``below``, ``too short`` (a run too short to tell) or ``no
    promise``. ``dropped`` counts its messages that found its queue of 1,024 messages full. Each
    flow in ``rejected`` has the rate that is still available for it. ``warnings`` say if the run is
    too short, and if messages were dropped. ``utilisation`` has the share of the measured time,
    from 0 to 1, in which each link, accelerator, port and SSD was in use. ``simulated_contexts`` is
    the number of contexts that `profiles` lacked. Raises InputError for values that are not
    allowed.
    """
    with plans_place(request):
        text = plan_json(request)
    table = None if profiles is None else json.dumps(_table(profiles))
    with plans_place(profiles if table is not None else request):
        planned = _engine(_native.arcus_plan, text, table)
    return {"schema": "accelflow.arcus.plan/1", **planned}


def _table(profiles: object) -> dict[str, Any]:
    if not isinstance(profiles, Mapping):
        raise refused("profiles", profiles, "must be a mapping that profile() returned")
    return dict(profiles)


def profile(
    request: Mapping[str, Any],
    *,
    sizes: Iterable[int] = (),
    paths: Iterable[str] = (),
    most: int = 2,
    threads: int = 1,
) -> dict[str, Any]:
    """Simulate the mixtures of traffic (contexts) whose rates the admission of a plan needs.

    `request` is a plan (docs/arcus.md). A kind of traffic is a route and a message size, and a
    context mixes up to `most` kinds in given shares of the load. The kinds are those of the plan's
    flows on all routes, and messages of `sizes` bytes on `paths` (default: all), for tenants that
    are not known yet; with `sizes`, the plan needs no flow. A size between two profiled sizes
    counts as the one with the lower rate. `threads` simulations run at a time; their number does
    not change the results.

    Returns an object of schema ``accelflow.arcus.profiles/3`` for :func:`plan`. Each of its
    ``combinations`` of up to `most` flows has the rate that the platform delivers. Its tag is
    ``SLO-Friendly`` if the SLOs of all flows add up to at most ``most_load`` times this rate, else
    ``SLO-Violating``. ``most_load`` is the plan's `oversubscription`, or 15/16 of it with a
    reserved or opportunistic flow; the tag counts only for flows that are admitted up to an equal
    load. Raises InputError for values that are not allowed.
    """
    whole_number("most", most, 1, 4)
    whole_number("threads", threads, 1, 256)
    small = [whole_number("sizes", size, 1, 1 << 26) for size in sizes]
    names = texts("paths", paths)
    with plans_place(request):
        given = request
        if small and isinstance(request, Mapping) and "flow" not in request:
            given = {**request, "flow": []}
        return _engine(_native.arcus_profile, plan_json(given), small, names, most, threads)


def read_profiles(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a result of :func:`profile` from a JSON file.

    Raises InputError for a file with other contents, and OSError for one that cannot be read.
    """
    return read_json(path)


def _engine(call: Callable[..., str], *arguments: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(call(*arguments))
    except AccelflowError as error:
        raise PlanError(str(error)) from error
    return found


def parameters() -> list[dict[str, Any]]:
    """Return all parameters of ARCUS's traffic shaper and simulated platform.

    Each is an object with the key, value, unit, provenance and source of a parameter.
    """
    table: list[dict[str, Any]] = json.loads(_native.arcus_parameters())
    return table


def _settings(limiter: RateLimiter) -> tuple[int, int, int, int]:
    if not isinstance(limiter, RateLimiter):
        raise refused("limiter", limiter, "must be a RateLimiter")
    clock_mhz = finite_number("clock_mhz", limiter.clock_mhz)
    if not 0 < clock_mhz <= 1e6:
        raise refused("clock_mhz", clock_mhz, "must be a number above 0, at most 1e6")
    return (
        _register("refill", limiter.refill),
        _register("bucket", limiter.bucket),
        _register("interval", limiter.interval),
        round(clock_mhz * 1e6),
    )


def _register(name: str, value: int) -> int:
    return whole_number(name, value, 1, 2**32 - 1)


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
        raise refused(place, at_ns, "must be from 0 to 9.2e15 ns")
    return round(at_ns * 1000)
