"""The rule that chooses the default scenario, and whether the default follows it.

The default of a choice is the reading with the best basis: the paper's text, then published data.
If several readings have the best basis, or all are assumed, the default is the reading whose
results are nearest to the rows of Fig. 11 marked ``fit``. A reading that is nearer by no more than
:data:`NOISE` changes no default. A reading that the rule prefers to the default must be set aside
for a stated reason. Such a reading cannot be the default if a system is saturated in its runs, or
if at least half of the fitted rows do not agree. Otherwise it is an exception to the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from accelflow.fit import EXPERIMENT
from accelflow.readings.choices import BASES, Choice, Reading
from accelflow.readings.runs import Figure, Readings
from accelflow.reproduce.distance import distance, fitted

__all__ = ["NOISE", "Decision", "Judged", "decide", "decisions"]

#: The largest difference of distances that is ignored, a log ratio: a reading that is nearer by no
#: more changes no default.
NOISE: Final = 0.02

#: The share of the fitted rows from which on, if these do not agree, a reading cannot stand.
_MOST_OFF: Final = 0.5


@dataclass(frozen=True)
class Judged:
    """A reading of the paper, with how well our results under it match the paper's Fig. 11.

    `reading` is a possible value of something that the paper leaves open. Only rows of Fig. 11 that
    are marked ``fit`` count; `fitted` is their number, and `off` how many of them do not agree with
    the paper (verdict off or undecided). `distance` is how far our results are from the paper's
    (:mod:`accelflow.reproduce.distance`), infinite if a row lacks our result. `saturated` names the
    systems that could not keep up in these rows.
    """

    reading: Reading
    distance: float
    saturated: tuple[str, ...]
    off: int
    fitted: int

    @property
    def stands(self) -> bool:
        """Whether the reading may be the default.

        It may if no system is saturated, and more than half of the fitted rows agree with the
        paper.
        """
        return not self.saturated and self.off < _MOST_OFF * self.fitted

    @property
    def fails(self) -> str:
        """The reason why the reading cannot be the default, as text; empty if it can."""
        if self.saturated:
            return f"{', '.join(self.saturated)} saturated"
        return "" if self.stands else f"{self.off} of {self.fitted} rows do not agree"


@dataclass(frozen=True)
class Decision:
    """Which reading of `choice` is the default, and whether this follows the rule.

    A choice is something that the paper leaves open, and its readings are the possible values.
    `default` is the reading that the scenario uses, or None if it uses none of them; `others` are
    the other readings. `by` says what decides for the default. It is ``nearest`` if another reading
    has the same kind of support, so that the distance from Fig. 11 decides. Otherwise it is the
    default's kind of support (a key of :data:`accelflow.readings.choices.BASES`); it is empty
    without a default. `exceptions` are readings that the rule prefers to the default and that could
    be the default, but were set aside for a stated reason. `breaks` has sentences on how the
    default breaks the rule without a stated reason.
    """

    choice: Choice
    default: Judged | None
    others: tuple[Judged, ...]
    by: str
    exceptions: tuple[Judged, ...]
    breaks: tuple[str, ...]


def decisions(found: Readings) -> list[Decision]:
    """Return the rule's decision on every choice in `found`, except those that run only on request.

    Empty if `found` lacks the experiment Fig. 11, by whose results the rule decides.
    """
    names = [definition.name for definition in found.definitions]
    if EXPERIMENT not in names:
        return []
    index = names.index(EXPERIMENT)
    return [_decision(found, index, choice) for choice in found.choices if not choice.on_request]


def _decision(found: Readings, index: int, choice: Choice) -> Decision:
    reading = choice.default(found.scenario)
    default = None if reading is None else judged(reading, found.default[index])
    others = [
        judged(tried.reading, tried.figures[index])
        for tried in found.tried
        if tried.choice is choice
    ]
    return decide(choice, default, others)


def judged(reading: Reading, figures: Sequence[Figure]) -> Judged:
    """Return `reading` with its distance from the paper's Fig. 11.

    `figures` has our results for Fig. 11 under the reading.
    """
    findings = fitted([figure.finding for figure in figures])
    means = {finding.key: finding.ours.mean if finding.ours else None for finding in findings}
    stuck = [system for finding in findings for system in finding.saturated]
    off = sum(not finding.agrees for finding in findings)
    return Judged(reading, distance(means), tuple(dict.fromkeys(stuck)), off, len(findings))


def decide(choice: Choice, default: Judged | None, others: Sequence[Judged]) -> Decision:
    """Return the rule's decision on `choice`: why the default is right, or how it breaks the rule.

    The rule chooses between the readings of a choice; :mod:`accelflow.readings.rule` states it.
    `default` is the reading that the scenario uses, or None if it uses none; `others` are the other
    readings.
    """
    if default is None:
        return Decision(
            choice, None, tuple(others), "", (), ("the default is none of the readings",)
        )
    preferred = [rival for rival in others if _preferred(rival, default)]
    aside = [rival for rival in preferred if rival.reading.set_aside]
    breaks = tuple(
        f"{rival.reading.label} is preferred and not set aside"
        for rival in preferred
        if not rival.reading.set_aside
    )
    rivals = [rival for rival in others if rival.reading.basis == default.reading.basis]
    return Decision(
        choice,
        default,
        tuple(others),
        "nearest" if rivals else default.reading.basis,
        tuple(rival for rival in aside if rival.stands),
        breaks,
    )


def _preferred(rival: Judged, default: Judged) -> bool:
    """Return whether the rule prefers the reading `rival` to the default."""
    rank = list(BASES).index
    mine, its = rank(default.reading.basis), rank(rival.reading.basis)
    return its < mine or (its == mine and default.distance - rival.distance > NOISE)
