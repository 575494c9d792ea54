"""Shaping the traffic of tenants who share an accelerator: ARCUS's mechanism.

Zhao, Shu, Lim, Fan, Anderson, Gao and Enright Jerger, "ARCUS: SLO Management for Accelerators in
the Cloud with Traffic Shaping", section 4.2. docs/arcus.md introduces it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError

__all__ = [
    "CLOCK_MHZ",
    "UNITS",
    "RateLimiter",
    "Segment",
    "parameters",
    "release",
    "shape",
    "table2",
]

#: What a token can stand for.
UNITS: Final = ("bytes", "operations")
#: The clock of the paper's prototype (section 5.1).
CLOCK_MHZ: Final = 250.0


@dataclass(frozen=True, kw_only=True)
class RateLimiter:
    """The registers of one flow: `refill` tokens every `interval` cycles, into a `bucket`.

    A token is one of `unit`. Values are checked where they are used.
    """

    refill: int
    bucket: int
    interval: int
    clock_mhz: float = CLOCK_MHZ
    unit: str = "bytes"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A piece of a message, or a whole one, that was let pass.

    `message` and `index` count from 0. `granted_ns` is when its tokens were spent, `released_ns`
    when the accelerator has it.
    """

    message: int
    index: int
    last: bool
    size_bytes: int
    granted_ns: float
    released_ns: float


def table2() -> dict[str, Any]:
    """The paper's Table 2: registers, its rates and the rates they give here.

    An object of schema ``accelflow.arcus.table2/1``.
    """
    rows: list[dict[str, Any]] = json.loads(_native.arcus_table2())
    return {"schema": "accelflow.arcus.table2/1", "clock_mhz": CLOCK_MHZ, "rows": rows}


def shape(limiter: RateLimiter) -> dict[str, Any]:
    """The rate and the burst that `limiter` allows.

    An object of schema ``accelflow.arcus.shape/1``; its `gbit_per_s` is None for operations.
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
    """Pass `messages` (time in ns, size in bytes) through one flow; its segments in order.

    Times are those since the bucket was filled, and must not run backwards. With `segment_bytes`,
    larger messages are split, and each piece repeats the first `header_bytes`. Raises InputError
    for a value out of range and a message that could never pass.
    """
    values = _settings(limiter)
    offered = [
        (_picoseconds(at, number), _whole(f"size of message {number}", size))
        for number, (at, size) in enumerate(messages)
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


def parameters() -> list[dict[str, Any]]:
    """Every number that the shaper rests on, with its unit, provenance and source."""
    table: list[dict[str, Any]] = json.loads(_native.arcus_parameters())
    return table


def _settings(limiter: RateLimiter) -> tuple[int, int, int, int]:
    clock_mhz = limiter.clock_mhz
    if not (math.isfinite(clock_mhz) and 0 <= clock_mhz < 1e9):
        raise InputError(f"clock_mhz = {clock_mhz}: must be a number above 0, at most 1e6")
    return (
        _whole("refill", limiter.refill),
        _whole("bucket", limiter.bucket),
        _whole("interval", limiter.interval),
        round(clock_mhz * 1e6),
    )


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise InputError(f"{name} = {value!r}: must be a whole number from 1 to 2**64 - 1")
    return value


def _picoseconds(at_ns: float, number: int) -> int:
    if not (math.isfinite(at_ns) and 0 <= at_ns < 2**63 / 1000):
        raise InputError(f"time of message {number} = {at_ns} ns: must be from 0 to 9.2e15")
    return round(at_ns * 1000)
