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

import sys
from collections.abc import Sequence

import numpy as np
from queues import Queue, exponential, log_normal, summary

from accelflow.errors import AccelflowError
from accelflow.findings.statistics import jackknife
from accelflow.precision import REPLICATIONS, Precision, first_requests, until_precise
from accelflow.warmup import PILOTS, mser5

LOAD = 0.7
LONGEST = 200_000


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
    for queue in (
        Queue("M/M/1", LOAD, 1, exponential),
        Queue("M/G/4", LOAD, 4, log_normal),
    ):
        found = queue.responses(np.random.default_rng(1), trials * REPLICATIONS, LONGEST)
        truth = queue.exact_p99 or float(np.quantile(found[LONGEST // 10 :], 0.99))
        for ratio in (0.1, 0.05, 0.03):
            columns = np.split(found, trials, axis=1)
            outcomes = [outcome(lanes, ratio, truth, piloted=piloted) for lanes in columns]
            coverage, mean, longer = summary(outcomes, "longer")
            print(f"{queue.name:8}{ratio:8.0%}{coverage:>10}{mean:>10}{longer:8}", flush=True)


if __name__ == "__main__":
    main()
