"""A proof: printed figures, an inequality computed from them, and what it rules out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from accelflow.errors import InputError
from accelflow.reproduce.implications.ranges import Range
from accelflow.reproduce.implications.statements import statements

__all__ = [
    "AVERAGES",
    "CONTRADICTION",
    "ELEMENTS",
    "IMPLIED",
    "READING",
    "Figures",
    "Found",
    "Proof",
]

#: What a proof shows: that printed figures exclude each other by every definition considered, that
#: they do so in one reading, or what value a figure that is not printed must have.
CONTRADICTION, READING, IMPLIED = "contradiction", "reading", "implied"

#: The reading of section VII.B.4 that most proofs are about.
ELEMENTS = "utilisation is the share of the elements' time"

#: What proofs about the peak rest on.
AVERAGES = (
    "The averages of sections III and VI (shares of the time, speedups) describe the requests at "
    "the peak."
)

#: The figures of statements, by key.
Figures = Mapping[str, Range]


@dataclass(frozen=True)
class Found:
    """The outcome of a proof. `rules_out` is whether bound and figure exclude each other."""

    bound: Range
    figure: Range | None
    rules_out: bool


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A bound that follows from what is printed.

    `inputs` are keys of statements, in the order of the argument, and `bound` is computed from
    their figures. `figure`, a key or a function of the figures, must be ``at most`` or ``at least``
    the bound if the statements agree. `steps` is the argument in words, `rests_on` its further
    assumptions from the paper, and `gives` the assumptions of which one must be wrong. `reading` is
    the reading that is ruled out, if only one is. `rows` are the reported rows that contradict the
    others.
    """

    name: str
    kind: str
    title: str
    inputs: tuple[str, ...]
    steps: str
    formula: str
    bound: Callable[[Figures], Range]
    quantity: str
    relation: str = "at most"
    figure: str | Callable[[Figures], Range] | None = None
    figure_says: str = ""
    percent: bool = False
    rests_on: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    reading: str = ""
    rows: tuple[str, ...] = ()

    def found(self, changes: Mapping[str, float] | None = None) -> Found:
        """Return the outcome for the printed figures; `changes` replaces some of them by key.

        Raises InputError for a key that the proof does not use.
        """
        figures = {key: statements()[key].figure for key in self.inputs}
        for key, value in (changes or {}).items():
            if key not in figures:
                raise InputError(
                    f"{self.name}: '{key}' is not an input; inputs are {', '.join(self.inputs)}"
                )
            figures[key] = Range.of(value)
        bound = self.bound(figures)
        if self.figure is None:
            return Found(bound, None, False)
        figure = figures[self.figure] if isinstance(self.figure, str) else self.figure(figures)
        beyond = figure.low > bound.high if self.relation == "at most" else figure.high < bound.low
        return Found(bound, figure, beyond)
