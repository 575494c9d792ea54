"""Figures 2 and 5 to 9 of the paper: our values and those printed in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from accelflow.cerebros.bars import bars
from accelflow.cerebros.measured import run_all
from accelflow.cerebros.replications import estimate, mean_bars
from accelflow.cerebros.rows import Value, values
from accelflow.cerebros.server import services
from accelflow.errors import whole_number
from accelflow.findings import Estimate, Finding, reasons, targets
from accelflow.findings.results import to_dict

__all__ = [
    "REPLICATIONS",
    "REQUESTS",
    "SCHEMA",
    "Figures",
    "Seed",
    "combined",
    "figures",
    "one_seed",
]

#: The name and version of the object that :meth:`Figures.to_dict` returns.
SCHEMA: Final = "accelflow.cerebros-figures/2"

#: The default number of seeds. Each number is the mean over the seeds.
REPLICATIONS: Final = 10
#: The default number of requests of each service in a run. USR's runs for Fig. 9 have ten times as
#: many, and runs that measure a capacity a third, but at least 2,000.
REQUESTS: Final = 6_000


@dataclass(frozen=True)
class Figures:
    """Our simulated results for the figures of the Cerebros paper.

    They are means over `replications` seeds from `seed` on; `requests` is the number of requests of
    each service in a run. `findings` are our numbers beside those that the paper's text prints.
    `bars` are our values of the bars that the paper draws without printing their heights: the
    stacked parts of each figure, group and bar.
    """

    requests: int
    seed: int
    replications: int
    findings: tuple[Finding, ...]
    bars: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert the figures to an object for JSON."""
        return {
            "schema": SCHEMA,
            "requests": self.requests,
            "seed": self.seed,
            "replications": self.replications,
            "findings": [to_dict(finding) for finding in self.findings],
            "bars": list(self.bars),
        }


@dataclass(frozen=True)
class Seed:
    """The results of all simulations with one random seed.

    `values` are the numbers that the paper states, as simulated, and `bars` those that its figures
    draw.
    """

    values: tuple[Value, ...]
    bars: tuple[dict[str, Any], ...]


def figures(
    *, requests: int = REQUESTS, seed: int = 1, replications: int = REPLICATIONS
) -> Figures:
    """Simulate the figures of the Cerebros paper, and compare our numbers with the paper's.

    Each number is the mean over the seeds from `seed` on, with half its 95 % interval (None for one
    seed). Raises InputError for a value that is not allowed, and for so few requests that a
    function is not called.
    """
    whole_number("replications", replications, 1, 1_000)
    seeds = [one_seed(seed + number, requests=requests) for number in range(replications)]
    return combined(seeds, requests=requests, seed=seed)


def one_seed(seed: int, *, requests: int = REQUESTS) -> Seed:
    """Simulate the figures of the Cerebros paper with one seed, without comparing.

    Raises InputError as :func:`figures` does.
    """
    described = services()
    runs = run_all(requests, seed)
    return Seed(tuple(values(runs, described)), tuple(bars(runs, described)))


def combined(seeds: Sequence[Seed], *, requests: int = REQUESTS, seed: int = 1) -> Figures:
    """Combine the results of several seeds: means, and half of their 95 % intervals.

    `seeds` has the results of successive seeds, at least one. `seed` is the first of these seeds.
    """
    by_figure = zip(*(found.values for found in seeds), strict=True)
    return Figures(
        requests=requests,
        seed=seed,
        replications=len(seeds),
        findings=tuple(_finding(same, requests) for same in by_figure),
        bars=tuple(mean_bars([found.bars for found in seeds])),
    )


def _finding(same: Sequence[Value], requests: int) -> Finding:
    """The comparison of one figure; `same` has its value for each seed."""
    first = same[0]
    about: dict[str, Any] = {
        "experiment": f"Fig. {first.figure}" if first.figure[0].isdigit() else first.figure,
        "label": first.label,
        "why": reasons().get(first.key),
        "requests": requests,
        "also": tuple(
            (says, _estimate([value.also[number][1] for value in same]))
            for number, (says, _) in enumerate(first.also)
        ),
    }
    ours = _estimate([value.value for value in same])
    target = targets().get(first.key)
    if target is None:
        return Finding(key=first.key, kind="dynamic", ours=ours, **about)
    return Finding.of(target, ours, **about)


def _estimate(found: Sequence[float]) -> Estimate:
    mean, half_width = estimate(found)
    return Estimate(mean, half_width, tuple(found))
