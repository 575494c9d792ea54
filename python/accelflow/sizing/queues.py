"""The waits for a core, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from accelflow import _native

__all__ = ["CoreQueues"]

#: The policies that choose a core without looking at the queues.
_BLIND: Final = ("random", "round_robin")
#: The precision with which the root of the GI/M/1 equation is found.
_PRECISION: Final = 1e-12
#: The number of visits beyond which the sum of their waits is taken as normally distributed.
_MANY: Final = 500


@dataclass(frozen=True, kw_only=True)
class CoreQueues:
    """The queues in front of a server's cores, and the waits in them by queueing theory.

    A request makes `visits` visits to its core, with waits elsewhere in between. Each of the
    `cores` cores has its own queue. With `balancing` ``random``, Poisson arrivals remain Poisson at
    each core: M/M/1. With ``round_robin``, a core receives every `cores`-th request, so
    interarrival times have an Erlang distribution: GI/M/1 (Kleinrock, Queueing Systems I, section
    6.4). Only the first visit of a request is assigned in turn. The other visits follow waits, and
    are treated as Poisson arrivals. Interarrival times of all visits together are taken to have a
    gamma distribution, whose squared coefficient of variation is the mean over the visits.

    With the other policies, such as ``least_loaded``, ``two_choices`` and ``join_idle_queue``,
    requests choose a short queue. The cores then form one pool, M/M/c, which is a lower bound on
    the waits of such policies.

    These models are for visits of exponential length. For visits with the squared coefficient of
    variation `visit_variation`, waits are scaled. The factor is the sum of the squared coefficients
    of variation of interarrival times and visits, divided by this sum for exponential visits (Allen
    and Cunneen; exact for M/G/1).
    """

    cores: int
    balancing: str
    visits: float
    visit_variation: float = 1.0

    def wait(self, busy_ratio: float) -> tuple[float, float]:
        """Return the probability that a visit to a core has to wait, and the mean of such waits.

        The mean is in units of a visit's mean length: 2 is twice this length. The waits are
        exponentially distributed. `busy_ratio`, from 0 to below 1, is the utilisation of the cores.
        """
        if self.balancing not in _BLIND:
            waiting = _native.erlang_c(self.cores, busy_ratio * self.cores)
            return waiting, self._scale(1.0) / (self.cores * (1.0 - busy_ratio))
        waiting = _arriving_busy(busy_ratio, self._arrival_variation)
        return waiting, self._scale(self._arrival_variation) / (1.0 - waiting)

    def quantile(self, busy_ratio: float, visits: float, share: float) -> float:
        """Return a quantile of a request's total wait for cores: the share `share` waits longer.

        The total is over all `visits` of a request; `share` is above 0 and below 1. Waits are taken
        as independent. Of n visits, the number of those that wait is binomial, and the sum of k
        exponential waits has an Erlang distribution. For a fractional number of visits, the
        distribution is a mixture of those for the whole numbers below and above. Beyond 500 visits
        the sum is taken as normal. The unit of the result is a visit's mean length. `busy_ratio` is
        that of :meth:`wait`.
        """
        waiting, mean = self.wait(busy_ratio)
        if visits > _MANY:
            # A wait has the mean p and the variance 2p - p^2 if it is exponential with p, else 0.
            deviation = math.sqrt(visits * waiting * (2.0 - waiting))
            normal = NormalDist(visits * waiting, max(deviation, _PRECISION))
            return max(0.0, normal.inv_cdf(1.0 - share)) * mean
        fewer = math.floor(visits)
        more = visits - fewer

        def beyond(time: float) -> float:
            least = (1.0 - more) * _sum_beyond(fewer, waiting, time)
            return least + (more * _sum_beyond(fewer + 1, waiting, time) if more else 0.0)

        low, high = 0.0, 1.0
        if waiting <= 0.0 or beyond(0.0) <= share:
            return 0.0
        while beyond(high) > share:
            low, high = high, 2.0 * high
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > share else (low, middle)
        return high * mean

    def _scale(self, arrival_variation: float) -> float:
        return (arrival_variation + self.visit_variation) / (arrival_variation + 1.0)

    @property
    def _arrival_variation(self) -> float:
        """The squared coefficient of variation of the times between arrivals at a core."""
        if self.balancing == "random":
            return 1.0
        return 1.0 - (1.0 - 1.0 / self.cores) / self.visits


def _sum_beyond(visits: int, waiting: float, time: float) -> float:
    """Return the probability that the waits of a number of visits last longer than `time` in all.

    A visit waits with the probability `waiting`, and then for an exponential time with the mean 1.
    """
    if waiting >= 1.0:
        chosen = {visits: 1.0}
    else:
        chosen = {
            k: math.comb(visits, k) * waiting**k * (1.0 - waiting) ** (visits - k)
            for k in range(1, visits + 1)
        }
    found, erlang, term = 0.0, 0.0, math.exp(-time)
    for k in range(1, visits + 1):
        erlang += term  # P(Poisson(time) < k), the tail of the Erlang distribution of k waits
        term *= time / k
        found += chosen.get(k, 0.0) * erlang
    return found


def _arriving_busy(busy_ratio: float, variation: float) -> float:
    """Return the probability that an arrival at a queue GI/M/1 finds it busy.

    This is the root below 1 of x = A(1 - x). A is the Laplace transform of the gamma distribution
    of interarrival times, in units of a visit's mean length.
    """
    if busy_ratio <= 0.0 or variation >= 1.0:
        return max(0.0, busy_ratio)
    shape = 1.0 / variation
    low, high = 0.0, 1.0 - _PRECISION
    while high - low > _PRECISION:
        middle = (low + high) / 2
        # The curve is convex and meets the diagonal at the root and at 1.
        if (1.0 + (1.0 - middle) / (shape * busy_ratio)) ** -shape > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2
