"""The results of requests that a service received from other services, not from clients."""

from dataclasses import dataclass

__all__ = ["Called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """The results of the requests that a service received from other services, not from clients.

    `completed` counts the completed requests after the warm-up, and `requests` those that arrived
    in the whole run. Latencies (mean and percentiles) are in us, and None if no request completed.
    """

    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    requests: int = 0
