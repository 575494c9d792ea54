"""The content of a page, without its look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Cell",
    "Choice",
    "Code",
    "Column",
    "Figure",
    "Page",
    "Readout",
    "Section",
    "Slider",
    "Table",
]

#: A value of a table; None is shown as a dash and sorted last.
Cell = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Numbers are shown by `form`: ``number`` with `digits` behind the point, ``share`` (0 to 1) as a
    percentage. ``written`` is a text with a number in it. `unit` stands below the heading.
    """

    name: str
    unit: str = ""
    form: Literal["text", "number", "share", "written", "code"] = "text"
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that readers sort by its columns. `marked` are rows to stand out, by number."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: bool = False
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A list to choose from; the choice is the value of the plot's parameter."""

    parameter: str
    label: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A cursor over `values`, which are shown as `texts`; `at` is where it begins.

    It also follows the pointer along the plot's y axis.
    """

    parameter: str
    label: str
    values: Sequence[float]
    texts: Sequence[str]
    at: int = 0


@dataclass(frozen=True, kw_only=True)
class Readout:
    """The values of the rows that the controls choose, read aloud when a control moves.

    Of the rows whose columns named by `where` equal the parameters of the same names, it lists the
    number of the column `field`, in `unit`, by the column `by`. Where the plot itself has these
    numbers, it is not `shown`, but only read aloud.
    """

    where: Sequence[str]
    by: str
    field: str
    unit: str
    shown: bool = True


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A plot in the grammar of Vega-Lite, with its data by column.

    `text` says in words what the plot shows, for those who cannot see it. `spec` has neither data
    nor description nor width: the page adds them.
    """

    title: str
    text: str
    spec: Mapping[str, Any]
    data: Mapping[str, Sequence[Any]]
    controls: Sequence[Choice | Slider] = ()
    readout: Readout | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Code:
    """Lines to copy, such as a command."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page below a heading; a folded one is opened by its reader."""

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Figure | Table | Code] = field(default_factory=tuple)
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: the question, the answer, then sections. `title` is that of the browser's window."""

    title: str
    question: str
    answer: str
    sections: Sequence[Section]
