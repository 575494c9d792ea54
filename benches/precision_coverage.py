"""Coverage of the stopping rule of `precision` on queues whose P99 is known.

Usage: .venv/bin/python benches/precision_coverage.py [TRIALS [mser5]]

A trial asks for a precision, simulates ten replications longer and longer as the rule says, and
checks whether the true P99 of the response time is in the interval. A sound 95 % interval contains
the P99 in 95 % of the trials. The P99 of M/M/1 is exact; that of M/G/4 (log-normal service times
whose squared coefficient of variation is 4) is that of all its simulations together. With mser5 the
warm-up is not a tenth of each run, but the length that MSER-5 finds in a pilot (accelflow.warmup):
the first round's requests of five replications. Runs end at 200,000 requests, and trials that would
need more are counted separately. 100 trials take about five minutes and 1 GB.
"""

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from accelflow.errors import AccelflowError
from accelflow.findings.statistics import jackknife
from accelflow.precision import REPLICATIONS, Precision, first_requests, until_precise
from accelflow.warmup import PILOTS, mser5

LOAD = 0.7
LONGEST = 200_000
Service = Callable[[np.random.Generator, int], np.ndarray]


def exponential(draw: np.random.Generator, lanes: int) -> np.ndarray:
    return draw.standard_exponential(lanes, dtype=np.float32)


def log_normal(draw: np.random.Generator, lanes: int) -> np.ndarray:
    sigma2 = math.log(5.0)
    return draw.lognormal(-sigma2 / 2.0, math.sqrt(sigma2), lanes).astype(np.float32)


def responses(seed: int, lanes: int, servers: int, service: Service) -> np.ndarray:
    """Return response times of independent queues: a row for each request, a column per queue."""
    draw = np.random.default_rng(seed)
    left = np.zeros((lanes, servers), np.float32)  # Kiefer and Wolfowitz: work ahead, sorted
    found = np.empty((LONGEST, lanes), np.float32)
    for index in range(LONGEST):
        times = service(draw, lanes)
        found[index] = left[:, 0] + times
        left[:, 0] += times
        between = draw.standard_exponential((lanes, 1), dtype=np.float32)
        left -= between / np.float32(LOAD * servers)
        np.maximum(left, 0.0, out=left)
        if servers > 1:
            left.sort(axis=1)
    return found


def interval(kept: np.ndarray) -> tuple[float, float]:
    def figure(numbers: Sequence[int]) -> float:
        return float(np.quantile(kept[:, list(numbers)], 0.99))

    found = jackknife(figure, REPLICATIONS)
    assert found is not None
    assert found.half_width is not None
    return found.mean, found.half_width


def pilot(lanes: np.ndarray, requests: int) -> int:
    """Return the number of warm-up requests that MSER-5 finds in a trial."""
    early = lanes[:requests, :PILOTS]
    scaled = (early / early.mean(axis=0)).mean(axis=1)
    cut = mser5(scaled.reshape(1_000, -1).mean(axis=1))
    assert cut is not None
    return cut * requests // 1_000


def outcome(lanes: np.ndarray, ratio: float, truth: float, *, piloted: bool) -> tuple[str, int]:
    """Return the outcome of a trial and the number of requests of its last run.

    The outcome is ``hit`` if the interval contains `truth`, ``miss`` if not, and ``longer`` if the
    trial needs longer runs.
    """
    precision = Precision(measure="p99", ratio=ratio)
    warmup = pilot(lanes, first_requests(precision)) if piloted else None
    last = (0.0, 0.0)
    length = 0

    def replicate(requests: int) -> dict[str, tuple[float, float]]:
        nonlocal last, length
        left_out = requests // 10 if warmup is None else warmup
        last, length = interval(lanes[left_out:requests]), requests
        return {"P99": last}

    try:
        for _ in until_precise(precision, replicate, LONGEST):
            pass
    except AccelflowError:
        return "longer", length
    return ("hit" if abs(last[0] - truth) <= last[1] else "miss"), length


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    piloted = "mser5" in sys.argv[2:]
    print(f"{'queue':8}{'asked':>8}{'coverage':>10}{'length':>10}{'longer':>8}")
    queues: Sequence[tuple[str, int, Service]] = (
        ("M/M/1", 1, exponential),
        ("M/G/4", 4, log_normal),
    )
    for name, servers, service in queues:
        found = responses(1, trials * REPLICATIONS, servers, service)
        exact = math.log(100.0) / (1.0 - LOAD)
        truth = exact if servers == 1 else float(np.quantile(found[LONGEST // 10 :], 0.99))
        for ratio in (0.1, 0.05, 0.03):
            columns = np.split(found, trials, axis=1)
            outcomes = [outcome(lanes, ratio, truth, piloted=piloted) for lanes in columns]
            ended = [length for how, length in outcomes if how != "longer"]
            hits = sum(how == "hit" for how, _ in outcomes)
            coverage = f"{hits / len(ended):.0%}" if ended else "-"
            mean = f"{sum(ended) / len(ended):,.0f}" if ended else "-"
            longer = trials - len(ended)
            print(f"{name:8}{ratio:8.0%}{coverage:>10}{mean:>10}{longer:8}", flush=True)


if __name__ == "__main__":
    main()
