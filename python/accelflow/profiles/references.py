"""The shares of categories in the Accelerometer paper, as references for profiles.

Its Figs. 1 to 10 have no numbers, so these are the shares stated in the text. A share is of all
cycles of a service, unless `of` names something else.
"""

from dataclasses import dataclass
from typing import Final

from accelflow.profiles.categories import Functionality, Leaf


@dataclass(frozen=True)
class Reference:
    """A share stated for a category, with its service and its place in the paper."""

    category: str
    subject: str
    ratio: float
    place: str
    at_most: bool = False


#: All of them, by view and category.
REFERENCES: Final = {
    "leaf": (
        Reference(Leaf.MEMORY, "Facebook's seven services", 0.37, "section 1", at_most=True),
        Reference(Leaf.MEMORY, "Google's fleet, copies and allocation", 0.13, "section 2.3.1"),
        Reference(Leaf.MEMORY, "Google's fleet, copies alone", 0.05, "section 2.3.1"),
        Reference(Leaf.MEMORY, "SPEC's 471.omnetpp, allocation alone", 0.05, "section 2.3.1"),
        Reference(Leaf.MATH, "Ads2 and Feed2", 0.13, "section 2.3", at_most=True),
        Reference(Leaf.SSL, "Cache1", 0.06, "section 2.3"),
    ),
    "functionality": (
        Reference(Functionality.APPLICATION, "Web", 0.18, "section 2.4"),
        Reference(Functionality.LOGGING, "Web", 0.23, "section 2.4"),
        Reference(Functionality.IO, "the cache services", 0.52, "section 1", at_most=True),
        Reference(Functionality.COMPRESSION, "Feed1", 0.15, "Table 7"),
    ),
}


def references(view: str, category: str) -> tuple[Reference, ...]:
    """The references of a category in a view, `leaf` or `functionality`."""
    return tuple(each for each in REFERENCES[view] if each.category == category)
