"""Find the warm-up of a simulation from a pilot simulation, by the method MSER-5.

A simulation begins with an empty server, so its first response times are too short. MSER-5 (White,
"An effective truncation heuristic for bias reduction in simulation output", Simulation 1997; White,
Cobb and Spratt, 2000) cuts the number of values that minimises the standard error of the remaining
values' mean. A cut beyond the middle means that the run is too short.

The cut is the same for all services, which share servers and settle together, and for all systems,
which must count the same requests. The pilot's response times, each divided by the mean of its
service, are averaged over services and seeds in bins of simulated time. The system that settles
last determines the cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from accelflow.errors import refused
from accelflow.policies import System
from accelflow.report.samples import Sampled
from accelflow.scenario import Scenario
from accelflow.simulation import run_sampled

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PILOTS", "mser5", "settled"]

#: The number of seeds of the pilot simulation.
PILOTS: Final = 5
#: Response times of all services under all systems that a simulation of the pilot keeps.
_KEPT: Final = 500_000
_BATCH: Final = 5
_MOST_BINS: Final = 1_000
_LEAST_BINS: Final = 50
#: Requests of all simulations of the pilot in a bin, at least about.
_IN_A_BIN: Final = 20


def mser5(values: Sequence[float] | np.ndarray) -> int | None:
    """Return how many of the first `values`, in order of time, are warm-up by the rule MSER-5.

    MSER-5 cuts batches of five values from the start, as many as give the mean of the remaining
    batches the smallest standard error. Returns None if there are too few values: fewer than ten
    batches, or a cut beyond the middle.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    if len(values) < _LEAST_BINS:
        return None
    count = len(values) // _BATCH
    means = np.asarray(values[: count * _BATCH], dtype=float).reshape(count, _BATCH).mean(axis=1)
    # Of the batches from each one on: their number, and the sum of the squares about their mean.
    left = np.arange(count, 0, -1)
    means = means - means.mean()  # keeps the difference of the sums exact enough
    sums, squares = (np.cumsum(of[::-1])[::-1] for of in (means, means**2))
    errors = (squares - sums**2 / left) / left.astype(float) ** 2
    # The last few batches vary little by chance; White et al. look at the first part alone.
    cut = int(np.argmin(errors[: count - _BATCH]))
    return cut * _BATCH if cut <= count // 2 else None


def settled(  # noqa: PLR0913 (options, by name)
    scenario: Scenario,
    seeds: Iterable[int],
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    others: Sequence[System] = (),
    check: Callable[[Mapping[str, Any]], object] | None = None,
) -> int:
    """Return how many first requests of `scenario` are warm-up, for a service with the mean rate.

    Pilot runs determine this number with :func:`mser5`: one run for each of `seeds`, of all
    requests, under the scenario's systems and the systems in Python in `others`. `check` is called
    with the results of each run; `threads` and `progress` are as in :func:`accelflow.compare`.
    Raises InputError if the pilot runs are too short.
    """
    import numpy as np  # noqa: PLC0415 (slow to load)

    pilot = replace(scenario, warmup=0)
    totals: dict[int, list[np.ndarray]] = {}
    bins = 0
    for seed in seeds:
        results, found = run_sampled(
            replace(pilot, seed=seed),
            threads=threads,
            progress=progress,
            samples=_samples(scenario),
            others=others,
        )
        if check is not None:
            check(results)
        bins = bins or _bins(found)
        for place in {place for place, _, _ in found}:
            counts = _in_bins([sample for sample in found if sample[0] == place], bins)
            totals.setdefault(place, []).append(counts)
    share = max(_cut(scenario, np.sum(of_seeds, axis=0)) for of_seeds in totals.values())
    return math.ceil(share * scenario.requests)


def _samples(scenario: Scenario) -> int:
    """The number of requests of each service that a pilot keeps under each system."""
    systems = max(len(scenario.orchestrators), 6) * max(len(scenario.chips), 1)
    return min(scenario.requests, max(_KEPT // (systems * max(len(scenario.services), 8)), 1_000))


def _bins(found: Sequence[Sampled]) -> int:
    requests = sum(len(columns[0][1]) // 8 for place, _, columns in found if place == found[0][0])
    return min(max(requests * PILOTS // _IN_A_BIN, _LEAST_BINS), _MOST_BINS)


def _in_bins(found: Sequence[Sampled], bins: int) -> np.ndarray:
    """Sums of response times over their service's mean, and their numbers, by bin of arrival."""
    import numpy as np  # noqa: PLC0415 (slow to load)

    arrivals, scaled = [], []
    for _, _, columns in found:
        by_name = {name: np.frombuffer(values, dtype=float) for name, values in columns}
        if len(by_name["response_us"]):
            arrivals.append(by_name["arrival_us"])
            scaled.append(by_name["response_us"] / by_name["response_us"].mean())
    if not arrivals:
        return np.zeros((2, bins))
    times, values = np.concatenate(arrivals), np.concatenate(scaled)
    places = np.minimum((times / times.max() * bins).astype(int), bins - 1)
    return np.stack(
        [np.bincount(places, values, minlength=bins), np.bincount(places, minlength=bins)]
    )


def _cut(scenario: Scenario, totals: np.ndarray) -> float:
    """The share of the simulated time to cut."""
    sums, counts = totals
    filled = counts > 0  # a bin without requests says nothing
    means = sums[filled] / counts[filled]
    cut = mser5(means)
    if cut is None:
        allowed = "must be more: by the MSER-5 test, the warm-up takes more than half of the run"
        if len(means) < _LEAST_BINS:
            allowed = (
                f"must be more: the MSER-5 test needs requests in {_LEAST_BINS} intervals of time"
            )
        raise refused("requests", scenario.requests, allowed)
    return cut / int(filled.sum())
