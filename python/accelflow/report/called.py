"""The results of requests that a service received from other services, not from clients."""

from dataclasses import dataclass

from accelflow.report.reader import Reader

__all__ = ["Called", "read_called"]


@dataclass(frozen=True, kw_only=True)
class Called:
    """The results of the requests that a service received from other services, not from clients.

    `completed` counts the requests after the warm-up that were answered. In the whole run,
    `requests` arrived. Of these, `errors` were answered with an error, and `timed_out` ended
    without a response, since a message to the service did not arrive in time or was refused for
    lack of memory. Latencies (mean and percentiles) are in us, and None if no request completed. Of
    `slo_requests` requests after the warm-up, `slo_missed` were answered later than the service's
    SLO, or never.
    """

    completed: int
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    requests: int = 0
    timed_out: int = 0
    errors: int = 0
    slo_requests: int = 0
    slo_missed: int = 0


def read_called(reader: Reader) -> Called:
    """Return the results in the object of `reader`, ``called`` of a service's results.

    Raises InputError for a member that is missing or of another type.
    """
    slo = reader.inner_if_any("slo")
    return Called(
        timed_out=reader.optional("timed_out", 0, Reader.count),
        errors=reader.optional("errors", 0, Reader.count),
        slo_requests=slo.optional("requests", 0, Reader.count),
        slo_missed=slo.optional("missed", 0, Reader.count),
        requests=reader.optional("requests", 0, Reader.count),
        completed=reader.count("completed"),
        mean_us=reader.number_or_none("mean_us"),
        p50_us=reader.number_or_none("p50_us"),
        p99_us=reader.number_or_none("p99_us"),
        p999_us=reader.number_or_none("p999_us"),
    )
