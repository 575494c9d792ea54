"""A proof: a bound that follows from the paper's printed figures, and the figure that it limits."""

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

#: What a proof can show: that printed figures exclude each other by every definition considered,
#: that they do so in one reading, or which value an unprinted figure must have.
CONTRADICTION, READING, IMPLIED = "contradiction", "reading", "implied"

#: One definition of the utilisations in section VII.B.4, which most proofs rule out.
ELEMENTS = "utilisation is the share of the elements' time"

#: The assumption of proofs about the server at its peak load.
AVERAGES = (
    "The averages of sections III and VI (shares of the time, speedups) describe the requests at "
    "the peak."
)

#: The numbers that the paper prints, as ranges, by the key of the statement that prints the number.
Figures = Mapping[str, Range]


@dataclass(frozen=True)
class Found:
    """The outcome of a proof: a bound, and whether it contradicts a printed figure of the paper.

    `bound` follows from the proof's inputs. `figure` is the figure that it limits, or None if the
    paper does not print this figure. `rules_out` is true if the bound excludes the figure.
    """

    bound: Range
    figure: Range | None
    rules_out: bool


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A bound that follows from the paper's printed figures, and the figure that it limits.

    `name` identifies the proof, `title` is its heading, and `kind` says what it shows
    (:data:`CONTRADICTION`, :data:`READING` or :data:`IMPLIED`). `inputs` are keys of printed
    statements, in the order of the argument, and `steps` is the argument in words. `bound` is the
    function that computes the bound from the inputs' figures; `formula` shows it as text.

    The bound limits `quantity`, of which the paper may print a `figure`: the key of a statement, or
    a function of the figures. `figure_says` describes this figure. If the statements agree, the
    figure is ``at most`` or ``at least`` the bound (`relation`). With `percent`, both are shown in
    per cent.

    `rests_on` has further assumptions that the paper makes. `gives` lists assumptions and figures:
    if bound and figure exclude each other, one of those listed must be wrong. `reading` is the
    reading of the paper that is ruled out, or empty if no single one is. `rows` are the keys,
    without the paper's name, of the reported figures that the proof is about.
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
        """Compute the bound from the paper's printed figures, and compare it with `figure`.

        `changes` has exact numbers that replace the printed figures of some statements, by the key
        of the statement. Raises InputError for a key that is not one of the proof's inputs.
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
