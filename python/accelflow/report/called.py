"""The results of requests that a service received from other services, not from clients."""

from dataclasses import dataclass

__all__ = ["Called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """The results of the requests that a service received from other services, not from clients.

    `completed` counts the completed requests after the warm-up, and `requests` those that arrived
    in the whole run, of which `timed_out` ended without a response. Latencies (mean and
    percentiles) are in us, and None if no request completed. Of `slo_requests` requests after the
    warm-up, `slo_missed` were answered later than the service's SLO, or never.
    """

    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    requests: int = 0
    timed_out: int = 0
    slo_requests: int = 0
    slo_missed: int = 0
