"""Results of the requests that other services made."""

from dataclasses import dataclass

__all__ = ["Called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """Results of a service for the requests that other services made, not clients.

    `completed` is their number. Latencies are in us, and None if no request completed.
    """

    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
