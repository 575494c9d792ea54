"""The results of requests that a service received from other services, not from clients."""

from dataclasses import dataclass

__all__ = ["Called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """The results of the requests that a service received from other services, not from clients.

    `completed` counts the requests after the warm-up that were answered. In the whole run,
    `requests` arrived. Of these, `timed_out` ended without a response, since a message to the
    service did not arrive in time or was refused for lack of memory. Latencies (mean and
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
