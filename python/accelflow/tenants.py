"""Tenants of a server: their limits, promises to them, and how to recognise their connections.

ARCUS's traffic shaper limits each tenant, and its control plane grants promises
(docs/server-limits.md, "Tenants").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Final, Literal, TypeAlias, get_args

from accelflow.errors import (
    LEFT_OUT,
    instance_of,
    number_within,
    one_of,
    positive_number,
    refused,
    whole_number,
)
from accelflow.parameters import check_numbers

__all__ = ["Control", "Priority", "Shaping", "Slo", "Tenant"]

#: The priority of a tenant's requests in queues that are ordered by priority.
Priority: TypeAlias = Literal["low", "normal", "high"]

#: No count, and no message in bytes, is larger.
_MOST: Final = 2**31 - 1

#: The shortest and the longest time, in seconds.
_SHORTEST_S: Final = 1e-9
_LONGEST_S: Final = 1e9

#: The most tokens that a bucket holds: its register has 32 bits.
_MOST_TOKENS: Final = 2**32 - 1

#: The lowest rate: a token in 2^32 cycles of 1 MHz, rounded.
_LEAST_PER_S: Final = 1.2e-4

#: The highest rate whose default burst, a hundredth of a second's tokens, fits a bucket.
_MOST_PER_S: Final = 100 * _MOST_TOKENS + 99

#: The highest rate with a burst of its own: a full bucket in each cycle of 1 MHz.
_MOST_PER_S_WITH_BURST: Final = _MOST_TOKENS * 1e6

#: The smallest accelerator time: one token, a nanosecond.
_LEAST_ACCELERATOR_S: Final = 1e-9

#: The largest rate and the largest burst of accelerator time that a bucket of nanoseconds holds.
_MOST_ACCELERATOR_S_PER_S: Final = 400
_MOST_BURST_ACCELERATOR_S: Final = 4

#: The highest rate that can be promised, far above any server's.
_MOST_PROMISED_PER_S: Final = 1e9

#: The shortest and the longest time in a promise, in microseconds.
_LEAST_PROMISED_US: Final = 0.001
_MOST_PROMISED_US: Final = 1e7


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """Limits on the rate of a tenant's traffic at a server. None is no limit.

    `requests_per_s` and `bytes_per_s` limit requests and their bytes. `accelerator_s_per_s` limits
    the processor time, in seconds per second, that the server's accelerators spend on the tenant's
    requests, without the handlers. So one limit suits small and large requests. The time of a
    request is predicted from earlier requests of its size, and corrected afterwards.

    `burst_requests`, `burst_bytes` and `burst_accelerator_s` (seconds of accelerator time) are the
    most that may pass at once after a pause: the sizes of the token buckets. The default is the
    limit for a hundredth of a second, and at least one token.
    """

    requests_per_s: float | None = None
    burst_requests: int | None = None
    bytes_per_s: float | None = None
    burst_bytes: int | None = None
    accelerator_s_per_s: float | None = None
    burst_accelerator_s: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value out of its range, and for a burst without its rate."""
        for rate, burst in (("requests_per_s", "burst_requests"), ("bytes_per_s", "burst_bytes")):
            most = _MOST_PER_S if getattr(self, burst) is None else _MOST_PER_S_WITH_BURST
            if getattr(self, rate) is not None:
                number_within(rate, getattr(self, rate), _LEAST_PER_S, most)
            if getattr(self, burst) is not None:
                whole_number(burst, getattr(self, burst), 1, _MOST_TOKENS)
        for name, most in (
            ("accelerator_s_per_s", _MOST_ACCELERATOR_S_PER_S),
            ("burst_accelerator_s", _MOST_BURST_ACCELERATOR_S),
        ):
            if getattr(self, name) is not None:
                number_within(name, getattr(self, name), _LEAST_ACCELERATOR_S, most)
        for rate, burst in (
            ("requests_per_s", "burst_requests"),
            ("bytes_per_s", "burst_bytes"),
            ("accelerator_s_per_s", "burst_accelerator_s"),
        ):
            if getattr(self, rate) is None and getattr(self, burst) is not None:
                raise refused(burst, getattr(self, burst), f"must be None if {rate} is None")


@dataclass(frozen=True, kw_only=True)
class Control:
    """Settings of a server's control plane, which keeps promises to tenants (:class:`Slo`).

    `capacity_s_per_s` is the accelerator time available, in seconds per second (None: the number of
    cores that the process may use). All tenants together, with and without a promise, get at most
    the share `most` of it (0 to 1). Promises are checked every `period_s` seconds.
    """

    capacity_s_per_s: float | None = None
    most: float = 0.8
    period_s: float = 0.1

    def __post_init__(self) -> None:
        """Raise InputError for a value out of its range."""
        if self.capacity_s_per_s is not None:
            name = "capacity_s_per_s"
            positive_number(name, self.capacity_s_per_s, _MOST_ACCELERATOR_S_PER_S)
        check_numbers("server", self, ["most", "period_s"], group="control.")


@dataclass(frozen=True, kw_only=True)
class Slo:
    """A promise that a tenant asks a server for: a rate of requests, and optionally a latency.

    The server promises `requests_per_s` in `percent_of_periods` percent of all periods; a period
    lasts `period_s` of :class:`Control`. The promise applies to requests with a mean accelerator
    time of `request_us`. If this is None, the promised time is at first predicted from earlier
    requests of about `request_bytes`. It then follows the mean time of such requests if there is
    capacity, and never falls below its first value.

    `latency_percentile` and `latency_us`, given together, add a promise for latencies: the
    percentile is at most `latency_us`. A latency lasts from a request's release by the rate limits
    to its answer, handler included. Percentages are from 50 to below 100.
    """

    requests_per_s: float
    request_us: float | None = None
    request_bytes: int | None = None
    percent_of_periods: float = 99.0
    latency_percentile: float | None = None
    latency_us: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value out of its range, and for half of a promise."""
        positive_number("requests_per_s", self.requests_per_s, _MOST_PROMISED_PER_S)
        for name in ("request_us", "latency_us"):
            if getattr(self, name) is not None:
                number_within(name, getattr(self, name), _LEAST_PROMISED_US, _MOST_PROMISED_US)
        if self.request_bytes is not None:
            whole_number("request_bytes", self.request_bytes, 1, _MOST)
        if self.request_us is None and self.request_bytes is None:
            raise refused("request_us", LEFT_OUT, "must be given, unless request_bytes is given")
        _check_percent("percent_of_periods", self.percent_of_periods)
        if self.latency_percentile is not None:
            _check_percent("latency_percentile", self.latency_percentile)
        if (self.latency_percentile is None) != (self.latency_us is None):
            names = ("latency_percentile", "latency_us")
            missing, given = names if self.latency_percentile is None else names[::-1]
            raise refused(missing, LEFT_OUT, f"must be given, since {given} is given")


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A tenant (customer) of a server: how its connections are recognised, its limits and promise.

    A connection belongs to the first tenant whose `networks` ("10.1.0.0/16") contain the client's
    address, or whose `identities` contain one that the client's certificate proves. Identities are
    DNS names and URIs; a server with `client_ca` requires certificates. `shaping` limits the rate
    of the tenant's traffic, and `slo` is the promise to the tenant. `max_traces` limits concurrent
    traces (runs of accelerators) of the tenant, and `max_connections` its open connections (None:
    no limit). If accelerators have queues (:class:`accelflow.Pools`), the queues may be ordered by
    the tenant's `priority`, or by deadline: `due_within_s` seconds after a request's arrival.
    """

    name: str
    networks: Sequence[str] = ()
    identities: Sequence[str] = ()
    shaping: Shaping = field(default_factory=Shaping)
    slo: Slo | None = None
    max_traces: int | None = None
    max_connections: int | None = None
    priority: Priority = "normal"
    due_within_s: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed; the message names the tenant."""
        instance_of("name of a tenant", self.name, (str,), "a text")
        place = f"tenant '{self.name}'"
        for setting in ("networks", "identities"):
            _check_texts(f"{place}: {setting}", getattr(self, setting))
        instance_of(f"{place}: shaping", self.shaping, (Shaping,), "a Shaping")
        instance_of(f"{place}: slo", self.slo, (Slo, NoneType), "an Slo or None")
        for setting in ("max_traces", "max_connections"):
            if getattr(self, setting) is not None:
                whole_number(f"{place}: {setting}", getattr(self, setting), 1, _MOST)
        one_of(f"{place}: priority", self.priority, get_args(Priority))
        if self.due_within_s is not None:
            number_within(f"{place}: due_within_s", self.due_within_s, _SHORTEST_S, _LONGEST_S)


def _check_percent(name: str, value: float) -> None:
    """Raise InputError unless `value` is a number from 50 to below 100."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 50 <= value < 100:
        raise refused(name, value, "must be a number from 50 to below 100")


def _check_texts(name: str, value: Sequence[str]) -> None:
    """Raise InputError unless `value` is a sequence of texts."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not listed or not all(isinstance(text, str) for text in value):
        raise refused(name, value, "must be a list of strings")
