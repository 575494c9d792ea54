"""The shares of categories in the Accelerometer paper, as references for profiles.

The paper's Figs. 1 to 10 have no numbers, so the references are shares that its text states: parts
of all cycles of a service. A reference for a part of a category, such as copies, is compared with
that part alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from accelflow.findings import targets
from accelflow.profiles.categories import Functionality, Leaf

#: The section of the paper's figures with the references.
_SECTION: Final = "accelerometer.characterisation"

#: The name of the division into core work and orchestration (Fig. 1).
ORCHESTRATION: Final = "orchestration"


@dataclass(frozen=True)
class Reference:
    """A share of cycles that the Accelerometer paper states for a category, with the section.

    `key` is the key of the number in ``paper-targets.toml``, `subject` the service or services that
    spend the cycles, and `place` the section. `parts` are the parts of the leaf category that the
    share counts; empty: all. With `at_most`, the paper states the largest share of several
    services.
    """

    category: str
    key: str
    subject: str
    place: str
    parts: tuple[str, ...] = ()
    at_most: bool = False

    @property
    def ratio(self) -> tuple[float, float]:
        """The least and the largest share of cycles, from 0 to 1; equal for a single number."""
        figure = targets()[f"{_SECTION}.{self.key}"].figure
        return float(figure.low), float(figure.high)

    @property
    def text(self) -> str:
        """The share as text, such as ``up to 37 %`` or ``11 to 20 %``."""
        low, high = (f"{100 * end:.0f}" for end in self.ratio)
        return f"{'up to ' if self.at_most else ''}{low}{'' if low == high else f' to {high}'} %"


#: The paper's shares by view, the way of dividing a profile: leaf, functionality or orchestration.
REFERENCES: Final[Mapping[str, tuple[Reference, ...]]] = {
    "leaf": (
        Reference(
            Leaf.MEMORY,
            "memory",
            "Facebook's seven services",
            "section 1",
            ("copy", "allocation", "free"),
            at_most=True,
        ),
        Reference(
            Leaf.MEMORY,
            "google_copies_and_allocation",
            "Google's fleet",
            "section 2.3.1",
            ("copy", "allocation"),
        ),
        Reference(Leaf.MEMORY, "google_copies", "Google's fleet", "section 2.3.1", ("copy",)),
        Reference(
            Leaf.MEMORY,
            "omnetpp_allocation",
            "SPEC's 471.omnetpp",
            "section 2.3.1",
            ("allocation",),
        ),
        Reference(Leaf.MATH, "ml_math", "Ads2 and Feed2", "section 2.3", at_most=True),
        Reference(Leaf.SSL, "cache1_ssl", "Cache1", "section 2.3"),
    ),
    "functionality": (
        Reference(Functionality.APPLICATION, "web_application_logic", "Web", "section 2.4"),
        Reference(Functionality.LOGGING, "web_logging", "Web", "section 2.4"),
        Reference(Functionality.IO, "cache_io", "the cache services", "section 1", at_most=True),
        Reference(Functionality.COMPRESSION, "feed1_compression", "Feed1", "Table 7"),
        Reference(
            Functionality.PREDICTION, "ml_inference", "the ML services, at least", "section 2.4"
        ),
    ),
    ORCHESTRATION: (
        Reference(ORCHESTRATION, "ml_orchestration", "the ML services", "section 2.4"),
    ),
}


def references(view: str, category: str) -> tuple[Reference, ...]:
    """Return the shares that the Accelerometer paper states for `category`.

    `view` is a key of :data:`REFERENCES`: a way to divide cycles into categories.
    """
    return tuple(each for each in REFERENCES[view] if each.category == category)


def peak_ipc() -> float:
    """Return the theoretical peak of instructions per cycle of the Accelerometer paper's processor.

    The processor is that of generation C (Intel Skylake; section 2.3.5). The leaf functions in
    the paper reach less than half of this peak.
    """
    return targets()[f"{_SECTION}.peak_ipc"].value


def compared(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare a breakdown with the Accelerometer paper's numbers for the same categories and parts.

    `result` is an object of :func:`accelflow.profiles.breakdown`. Each row has `view`, `category`,
    `parts` (empty for all), `share_ratio` (ours, of all cycles) and `reference`. Categories without
    weight are left out.
    """
    rows = []
    for view, known in REFERENCES.items():
        for reference in known:
            share = _share(result, view, reference)
            if share:
                rows.append(
                    {
                        "view": view,
                        "category": reference.category,
                        "parts": reference.parts,
                        "share_ratio": share,
                        "reference": reference,
                    }
                )
    return rows


def _share(result: Mapping[str, Any], view: str, reference: Reference) -> float:
    """Our share of all cycles in the parts that `reference` counts."""
    if view == ORCHESTRATION:
        return float(result[ORCHESTRATION]["orchestration_ratio"])
    (share,) = (row["share_ratio"] for row in result[view] if row["category"] == reference.category)
    if not reference.parts:
        return float(share)
    parts = result["details"]["parts"].get(reference.category, {})
    return float(share) * math.fsum(parts.get(part, 0.0) for part in reference.parts)
