"""Results of requests that come from other services."""

from dataclasses import dataclass

__all__ = ["Called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """Results of the requests to a service that other services made; clients' are excluded.

    `completed` is their number. Latencies (mean and percentiles) are in us, and None if no request
    completed.
    """

    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
