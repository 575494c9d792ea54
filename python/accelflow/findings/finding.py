"""A figure of ours beside the paper's, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from accelflow.findings.estimate import Estimate
from accelflow.findings.reasons import Reason
from accelflow.findings.targets import Reported, Target

__all__ = ["TOLERANCE", "Finding", "Verdict"]

#: The largest relative difference of a figure that agrees with the paper's.
TOLERANCE: Final = 0.25


class Verdict(StrEnum):
    """The outcome of a comparison with the paper."""

    #: An exact figure that is the paper's to the printed digit.
    AS_PRINTED = "as printed"
    #: A dynamic figure within :data:`TOLERANCE` of the paper's.
    AGREES = "agrees"
    OFF = "off"
    #: Ours is not known well enough to say.
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A figure of ours, or None, beside the paper's.

    `key`, `unit`, `kind` and `use` are those of the :class:`Target`; `paper` is None for a figure
    that the paper does not report. `why` is the recorded reason for a difference, shown if the
    figure is off, and `note` a remark that is shown if it is not. `experiment` says
    where ours comes from and `label` what it is, if the key does not say it. `requests` are those
    of the longest simulation, 0 for a figure that is computed; `saturated` names the systems that
    could not keep up. `lacking` names a sample that is too small for ours, such as the responses
    beyond a percentile. `also` is ours by other definitions, each with its description.
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
    requests: int = 0
    saturated: tuple[str, ...] = ()
    lacking: str = ""
    also: tuple[tuple[str, Estimate | None], ...] = ()

    @classmethod
    def of(cls, target: Target, ours: Estimate | None, **more: Any) -> Finding:
        """Ours beside the figure of `target`; `more` sets other fields."""
        about = {
            "kind": target.kind,
            "use": target.use,
            "unit": target.unit,
            "paper": target.figure,
            "ours_per_printed": target.ours_per_printed,
        }
        return cls(key=target.key, ours=ours, **{**about, **more})

    @property
    def short_key(self) -> str:
        """The key without its paper."""
        return self.key.partition(".")[2]

    @property
    def paper_value(self) -> float:
        """The paper's number. Raises ValueError if it reports none, a range or a bound."""
        if self.paper is None or not self.paper.single:
            raise ValueError(f"{self.key}: the paper reports no single number")
        return float(self.paper.low)

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, as a share of the paper's; None if one of them is missing.

        Inside a range it is 0, and outside it counts from the nearer end. Where the paper has 0 it
        is not relative.
        """
        if self.ours is None or self.paper is None:
            return None
        nearest = self.paper.nearest(self.ours.mean)
        gap = self.ours.mean - nearest
        return gap / abs(nearest) if nearest else gap

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on our figure; None for a figure that the paper does not report.

        An exact figure is as printed or off. Any other agrees within :data:`TOLERANCE`, and is
        undecided if ours is not known that well. A figure that could not be computed is off.
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
        return Verdict.AGREES if abs(self.difference) <= TOLERANCE else Verdict.OFF

    @property
    def agrees(self) -> bool:
        """Whether our figure is known to agree with the paper's."""
        return self.verdict in (Verdict.AGREES, Verdict.AS_PRINTED)

    @property
    def doubts(self) -> str:
        """Why ours is not known well enough to be compared; empty if it is."""
        found = [self.lacking] if self.lacking else []
        if self.ours is None or self.paper is None:
            return ", ".join(found)
        half = self.ours.half_width
        nearest = abs(self.paper.nearest(self.ours.mean))
        if half is None:
            found.append("one seed")
        elif nearest and half > TOLERANCE * nearest:
            found.append("wide interval")
        return ", ".join(found)
