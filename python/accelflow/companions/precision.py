"""Repeats simulations with more seeds until each number is known to a stated precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Generic, TypeVar

from accelflow.errors import refused, whole_number
from accelflow.findings import Finding

__all__ = [
    "MOST_SEEDS",
    "Precision",
    "Replicated",
    "Seeds",
    "parse_share",
    "replicate",
    "scale_of",
]

#: The largest number of seeds of an experiment, unless a precision states another.
MOST_SEEDS: Final = 100

#: The type of one run's results.
Run = TypeVar("Run")


@dataclass(frozen=True, kw_only=True)
class Precision:
    """How precise the numbers of each experiment must be, and how many seeds it may use.

    `share` is the largest allowed half width of a 95 % interval, relative to the larger of our
    number and the paper's (:func:`scale_of`): 0.05 is 5 % of it. An experiment begins with its
    default number of seeds, but with 2 at least, since one seed has no interval, and `most_seeds`
    at most. It runs with more seeds until all its numbers are this precise or it has `most_seeds`
    seeds. If `share` is None, it runs only with its default number of seeds.
    """

    share: float | None = None
    most_seeds: int = MOST_SEEDS

    def __post_init__(self) -> None:
        """Raise InputError for a share outside 0.1 % to 50 % or `most_seeds` outside 2 to 1,000."""
        if self.share is not None and not 0.001 <= self.share <= 0.5:
            raise refused("share", self.share, "must be from 0.001 to 0.5")
        whole_number("most_seeds", self.most_seeds, 2, 1_000)


def parse_share(text: str) -> float:
    """Read a share such as ``5%`` or ``0.05``, and return it as a ratio.

    Raises InputError for another text, and for a share outside 0.1 % to 50 %.
    """
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0.001 <= share <= 0.5:
        raise refused("--precision", text, "must be a share from 0.1% to 50%, such as 5%")
    return share


def scale_of(finding: Finding) -> float:
    """Return the number that stands for 100 % when the interval of `finding` is given as a share.

    This is the larger of our number and the paper's, in absolute value. Where the paper's number is
    0, the result is at least 1, since such numbers are shares from 0 to 1.
    """
    ours = abs(finding.ours.mean) if finding.ours is not None else 0.0
    if finding.paper is None:
        return ours
    printed = max(map(abs, finding.paper.finite_ends))
    return max(ours, printed or 1.0)


@dataclass(frozen=True)
class Seeds:
    """The seeds with which an experiment was simulated, and how precise its numbers became.

    The seeds are `first` and the following, `count` in all. `reached` is half of the widest
    interval as a share of :func:`scale_of`; None if no number depends on the seed, and for a single
    seed, which gives no intervals. `beyond` has such a share for each finding that is less precise
    than requested, by the finding's key.
    """

    first: int
    count: int
    reached: float | None = None
    beyond: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Convert the seeds to an object for JSON."""
        return {**asdict(self), "beyond": dict(self.beyond)}


@dataclass(frozen=True)
class Replicated(Generic[Run]):
    """The results of an experiment's runs with successive seeds.

    `runs` has the result of each run, in the order of the seeds. `seeds` has the seeds, and the
    precision that was reached.
    """

    runs: tuple[Run, ...]
    seeds: Seeds


def replicate(
    run: Callable[[int], Run],
    findings: Callable[[Sequence[Run]], Sequence[Finding]],
    *,
    seeds: tuple[int, int],
    precision: Precision,
    threads: int = 1,
) -> Replicated[Run]:
    """Call `run` with successive seeds until the findings from its results are precise enough.

    `seeds` has the first seed and the number of seeds to begin with. `findings` computes the
    findings from the results of all runs so far. If `precision.share` is None, no more seeds are
    used. Otherwise the number of seeds begins with 2 at least, and grows to what the widest
    interval needs, at most doubling each time, until all findings are precise enough or
    `precision.most_seeds` have run. `threads` is the number of runs at a time; results do not
    depend on it.
    """
    runs: list[Run] = []
    seed, wanted = seeds
    if precision.share is not None:
        # One seed has no interval, and would pass for precise.
        wanted = max(2, min(wanted, precision.most_seeds))
    with ThreadPoolExecutor(threads) as pool:
        while True:
            runs += pool.map(run, range(seed + len(runs), seed + wanted))
            shares = _shares(findings(runs))
            reached = max(shares.values(), default=None)
            asked = precision.share or math.inf
            beyond = {key: share for key, share in shares.items() if share > asked}
            if not beyond or len(runs) >= precision.most_seeds:
                return Replicated(tuple(runs), Seeds(seed, len(runs), reached, beyond))
            wanted = _more(len(runs), max(beyond.values()) / asked, precision.most_seeds)


def _more(seeds: int, times_too_wide: float, most: int) -> int:
    """Return the next number of seeds; an interval shrinks with the square root of the number."""
    needed = int(1.1 * seeds * times_too_wide**2) + 1
    return min(max(needed, seeds + 1), 2 * seeds, most)


def _shares(findings: Sequence[Finding]) -> dict[str, float]:
    """Return half of each random figure's interval divided by :func:`scale_of`, by key."""
    found = {}
    for finding in findings:
        half = finding.ours.half_width if finding.ours is not None else None
        scale = scale_of(finding)
        if half and scale:
            found[finding.key] = half / scale
    return found
