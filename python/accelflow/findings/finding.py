"""A comparison of our value with the paper's, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from accelflow.findings.estimate import Estimate
from accelflow.findings.reasons import Reason
from accelflow.findings.targets import Reported, Target

__all__ = ["TOLERANCE", "Finding", "Verdict"]

#: The largest difference of a value that agrees with the paper's, as a ratio to the paper's.
TOLERANCE: Final = 0.25


class Verdict(StrEnum):
    """The outcome of comparing a value with the paper's: as printed, agrees, off or undecided."""

    #: A value that follows from stated inputs and has the paper's printed digits.
    AS_PRINTED = "as printed"
    #: A ``dynamic`` value within :data:`TOLERANCE` of the paper's, or on a bound's allowed side.
    AGREES = "agrees"
    #: A value that differs from the paper's by more, or that could not be computed.
    OFF = "off"
    #: A value that is too uncertain for a verdict.
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One of our values, compared with the paper's.

    `ours` is our value, None if it could not be computed. `paper` is the paper's, None if it does
    not report one. `key`, `unit`, `kind`, `use`, `change` and `ours_per_printed` are those of the
    :class:`~accelflow.findings.targets.Target`. `why` is the recorded reason for a difference,
    shown if the value is off; `note` is a remark, shown otherwise. `experiment` is the source of
    our value, and `label` describes the value if the key does not.

    `requests` is the number of requests of the longest simulation; 0 without simulation.
    `saturated` names the systems that could not keep up. `lacking` names a sample that is too small
    for our value, such as the responses beyond a percentile, or an input that is not known. `also`
    has our values by other definitions of the number, as pairs (definition, value).
    """

    key: str
    kind: str
    use: str | None = None
    unit: str = ""
    paper: Reported | None = None
    ours: Estimate | None = None
    why: Reason | None = None
    note: str = ""
    experiment: str = ""
    label: str = ""
    ours_per_printed: float = 1.0
    change: bool = False
    requests: int = 0
    saturated: tuple[str, ...] = ()
    lacking: str = ""
    also: tuple[tuple[str, Estimate | None], ...] = ()

    @classmethod
    def of(cls, target: Target, ours: Estimate | None, **more: Any) -> Finding:
        """Return a finding that compares our value `ours` with the paper's `target`.

        `more` sets the other fields of the finding.
        """
        about = {
            "kind": target.kind,
            "use": target.use,
            "unit": target.unit,
            "paper": target.figure,
            "ours_per_printed": target.ours_per_printed,
            "change": target.change,
        }
        return cls(key=target.key, ours=ours, **{**about, **more})

    @property
    def short_key(self) -> str:
        """The key without its first part, the paper's name."""
        return self.key.partition(".")[2]

    @property
    def paper_value(self) -> float:
        """The paper's value as a number.

        Raises ValueError if the paper reports none, a range or a bound.
        """
        if self.paper is None or not self.paper.single:
            raise ValueError(
                f"{self.key}: the paper reports no single number, but none, a range or a bound"
            )
        return float(self.paper.low)

    @property
    def difference(self) -> float | None:
        """The relative difference of our value from the paper's; None if one of them is missing.

        It is our value minus the paper's, divided by the absolute value of the paper's. For a range
        or a bound, the difference is 0 inside; outside, the nearer end takes the place of the
        paper's value. For a `change` (a ratio compared by its difference from 1), the divisor is
        the distance of the paper's value from 1. If the divisor is 0, the difference is not
        divided.
        """
        if self.ours is None or self.paper is None:
            return None
        nearest = self.paper.nearest(self.ours.mean)
        gap = self.ours.mean - nearest
        scale = abs(nearest - 1.0 if self.change else nearest)
        return gap / scale if scale else gap

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on our value; None for a value that the paper does not report.

        A value that could not be computed is "off". A value of the kind "exact" is "as printed" if
        it has the printed digits, and otherwise "off". Any other value is "undecided" if it is too
        uncertain (:attr:`doubts`). If not, it "agrees" if it is within :data:`TOLERANCE` of the
        paper's number or range, or on the allowed side of a bound (no tolerance); otherwise it is
        "off".
        """
        if self.paper is None:
            return None
        if self.ours is None or self.difference is None:
            return Verdict.OFF
        if self.kind == "exact":
            same = self.paper.printed_digits_match(self.ours.mean / self.ours_per_printed)
            return Verdict.AS_PRINTED if same else Verdict.OFF
        if self.doubts:
            return Verdict.UNDECIDED
        if self.paper.single:
            return Verdict.AGREES if abs(self.difference) <= TOLERANCE else Verdict.OFF
        allowed = self.paper.allows(self.ours.mean, TOLERANCE)
        return Verdict.AGREES if allowed else Verdict.OFF

    @property
    def agrees(self) -> bool:
        """Whether the verdict on our value is "agrees" or "as printed"."""
        return self.verdict in (Verdict.AGREES, Verdict.AS_PRINTED)

    @property
    def doubts(self) -> str:
        """The causes of a too large uncertainty of our value, as text; empty for a certain value.

        A value is too uncertain if its sample is too small, if it has a single seed, or if its
        confidence interval is too wide. For a number of the paper, the interval is too wide if half
        of it exceeds :data:`TOLERANCE` of that number (for a `change`, of that number's distance
        from 1, or of 1 if this distance is 0). For a range or a bound, it is too wide if it crosses
        an end beyond which the value is off.
        """
        found = [self.lacking] if self.lacking else []
        if self.ours is None or self.paper is None:
            return ", ".join(found)
        half = self.ours.half_width
        if half is None:
            found.append("one seed")
        elif self.paper.single:
            paper = abs(float(self.paper.low) - (1.0 if self.change else 0.0))
            if half > TOLERANCE * (paper or 1.0):
                found.append("wide interval")
        elif self.paper.splits(self.ours.mean - half, self.ours.mean + half, TOLERANCE):
            found.append("interval crosses the limit")
        return ", ".join(found)
