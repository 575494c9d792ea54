"""Run lengths for a requested precision.

The method is independent replications: a fixed number of seeds with a growing run length. If the
relative half width of the 95 % interval is above the requested one, all replications are simulated
again with a run length that should suffice, since the width falls with the root of the length. Runs
become longer rather than more numerous, because the bias of a quantile falls only with the run
length (Law, "Simulation Modeling and Analysis", 5th edition, section 9.5). A percentile is that of
the responses of all replications together, since the mean of short runs' percentiles is too low.
Its interval is the jackknife's over the replications. Stopping at a width that is itself random
makes intervals cover a little less than 95 %: docs/precision.md has the coverage that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from accelflow.errors import AccelflowError, refused

__all__ = [
    "MEASURES",
    "REPLICATIONS",
    "Precision",
    "Reached",
    "check_replications",
    "first_requests",
    "next_requests",
    "parse_precision",
    "reached",
    "until_precise",
]

#: The measures that a precision may name: the percentile of each in thousandths, or None for the
#: mean.
MEASURES: Final[Mapping[str, int | None]] = {"mean": None, "p99": 990, "p999": 999}
#: The number of seeds, unless the user sets it.
REPLICATIONS: Final = 10

#: The responses beyond a percentile in the first run of each seed, for a service with the mean
#: rate: runs long enough for the rarest one would take many times as long. With 20 of them,
#: intervals that are narrow by chance ended the search, and covered 79 %
#: (benches/precision_coverage.py).
_BEYOND: Final = 100
#: Requests of each seed in the first run, for the mean.
_LEAST_REQUESTS: Final = 2_000
_MOST_REQUESTS: Final = 50_000_000
#: The run length is multiplied by this at least and at most, as a width is a rough forecast.
_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0
#: More than forecast, so that the next run is likely the last.
_MARGIN: Final = 1.1


@dataclass(frozen=True, kw_only=True)
class Precision:
    """A requested precision of results: the widest 95 % confidence interval that is accepted.

    `measure` is the measure of response times that counts: mean, p99 or p999. `ratio` is half the
    width of the interval as a share of the measure's value: 0.02 is 2 %.
    """

    measure: str
    ratio: float

    @property
    def field(self) -> str:
        """The name of the measure in results, such as ``p99_us``."""
        return f"{self.measure}_us"

    @property
    def thousandths(self) -> int | None:
        """The percentile in thousandths, such as 990; None for the mean."""
        return MEASURES[self.measure]

    def tail_share(self, seeds: int) -> float:
        """Return the share (0 to 1) of response times, longest first, that a simulation must store.

        The stored ones are enough to compute the percentile over all `seeds` seeds, even if all
        responses beyond it belong to one seed. The share is 0 for the mean.
        """
        if self.thousandths is None:
            return 0.0
        return min(1.0, (1_000 - self.thousandths) / 1_000 * seeds * 1.2)


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The precision that simulations have reached: that of the widest confidence interval.

    Each service has an interval under each system. `ratio` is half the width of an interval as a
    share of its mean, for the interval with the largest such ratio. `name` names the interval's
    service and system.
    """

    ratio: float
    name: str


def parse_precision(text: str) -> Precision:
    """Read a precision of the form ``p99:2%`` or ``mean:0.01``.

    Raises InputError for another form, an unknown measure, and a share that is not from 0.001 to
    0.5.
    """
    allowed = f"must be of the form MEASURE:SHARE, such as p99:2%; measures: {', '.join(MEASURES)}"
    if not isinstance(text, str) or text.count(":") != 1:
        raise refused("precision", text, allowed)
    measure, share = (part.strip() for part in text.split(":"))
    if measure not in MEASURES:
        raise refused("precision", measure, known=MEASURES)
    try:
        ratio = float(share.removesuffix("%")) / (100.0 if share.endswith("%") else 1.0)
    except ValueError as error:
        raise refused("precision", text, allowed) from error
    if not 0.001 <= ratio <= 0.5:
        raise refused(
            "precision", text, "must have a share from 0.1% to 50%, such as p99:2% or p99:0.02"
        )
    return Precision(measure=measure, ratio=ratio)


def first_requests(precision: Precision) -> int:
    """Return the number of requests per service in the first, shortest run.

    The number is for a service with the mean rate; services with lower rates have fewer requests.
    """
    thousandths = precision.thousandths
    if thousandths is None:  # a mean
        return _LEAST_REQUESTS
    # As many as leave _BEYOND responses beyond the percentile.
    return _BEYOND * 1_000 // (1_000 - thousandths)


def reached(found: Mapping[str, tuple[float, float]]) -> Reached:
    """Return the precision of results: that of the widest confidence interval among `found`.

    `found` maps names of values to their intervals, each (mean, half width). Widths are compared in
    relation to the mean; a mean of 0 counts as exact.
    """
    ratios = {name: half / mean if mean else 0.0 for name, (mean, half) in found.items()}
    widest = max(ratios, key=lambda name: ratios[name], default="")
    return Reached(ratio=ratios.get(widest, 0.0), name=widest)


def next_requests(requests: int, found: Reached, precision: Precision) -> int:
    """Return how many requests per service the next run should have, to reach `precision`.

    `found` is the precision that runs of `requests` requests per service have reached. `requests`
    and the returned number apply to a service with the mean rate; others have more or fewer in
    proportion to their rates.
    """
    growth = (found.ratio / precision.ratio) ** 2 * _MARGIN
    return math.ceil(requests * min(max(growth, _LEAST_GROWTH), _MOST_GROWTH))


def until_precise(
    precision: Precision,
    replicate: Callable[[int], Mapping[str, tuple[float, float]]],
    most_requests: int = _MOST_REQUESTS,
) -> Iterator[tuple[int, Reached]]:
    """Simulate longer and longer runs until `precision` is reached; yield the outcome of each.

    An outcome is the mean number of requests of a service, and the precision reached. `replicate`
    takes this number of requests, simulates all replications (seeds), and returns, for each value
    by name, the mean over the replications and the half width of the confidence interval. Raises
    AccelflowError if a run would have more than `most_requests`.
    """
    requests = first_requests(precision)
    while True:
        found = reached(replicate(requests))
        yield requests, found
        if found.ratio <= precision.ratio:
            return
        requests = next_requests(requests, found, precision)
        if requests > most_requests:
            raise AccelflowError(
                f"precision {precision.measure}:{precision.ratio:.3g}: cannot be reached with "
                f"{most_requests} requests a service on average; the confidence interval of "
                f"{found.name} is still ± {found.ratio:.2%}"
            )


def check_replications(seeds: int) -> int:
    """Return the number of seeds for simulations with a requested precision.

    This is `seeds`, or the default number if `seeds` is 1. Raises InputError for any other number
    below five.
    """
    if seeds == 1:
        return REPLICATIONS
    if seeds < 5:
        raise refused("seeds", seeds, "must be at least 5 with a precision, or left out")
    return seeds
