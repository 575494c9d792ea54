"""Queues whose P99 is known, for the benchmarks of stopping rules."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: A function that draws a number of service times with the mean 1.
Times = Callable[[np.random.Generator, int], np.ndarray]


def exponential(draw: np.random.Generator, count: int) -> np.ndarray:
    return draw.standard_exponential(count, dtype=np.float32)


def log_normal(draw: np.random.Generator, count: int) -> np.ndarray:
    """Draw service times whose squared coefficient of variation is 4."""
    sigma2 = math.log(5.0)
    return draw.lognormal(-sigma2 / 2.0, math.sqrt(sigma2), count).astype(np.float32)


@dataclass(frozen=True)
class Queue:
    """A queue of several servers with Poisson arrivals; the mean service time is 1."""

    name: str
    load: float
    servers: int
    times: Times

    def responses(self, draw: np.random.Generator, lanes: int, requests: int) -> np.ndarray:
        """Return response times of independent queues: a row for each request, a column a queue."""
        left = np.zeros((lanes, self.servers), np.float32)  # Kiefer and Wolfowitz: work ahead
        found = np.empty((requests, lanes), np.float32)
        for index in range(requests):
            served = self.times(draw, lanes)
            found[index] = left[:, 0] + served
            left[:, 0] += served
            between = draw.standard_exponential((lanes, 1), dtype=np.float32)
            left -= between / np.float32(self.load * self.servers)
            np.maximum(left, 0.0, out=left)
            if self.servers > 1:
                left.sort(axis=1)
        return found

    @property
    def exact_p99(self) -> float | None:
        """The P99 of the response time of M/M/1; None for other queues."""
        if self.times is not exponential or self.servers > 1:
            return None
        return math.log(100.0) / (1.0 - self.load)


def summary(outcomes: Sequence[tuple[str, int]], unended: str) -> tuple[str, str, int]:
    """Return the coverage and the mean length of the trials that ended, and how many did not.

    `outcomes` has ``hit``, ``miss`` or `unended` and the length of each trial.
    """
    ended = [length for how, length in outcomes if how != unended]
    if not ended:
        return "-", "-", len(outcomes)
    hits = sum(how == "hit" for how, _ in outcomes)
    return (
        f"{hits / len(ended):.1%}",
        f"{sum(ended) / len(ended):,.0f}",
        len(outcomes) - len(ended),
    )
