"""The content of a page, without its look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Cell",
    "Code",
    "Column",
    "Figure",
    "Page",
    "Readout",
    "Section",
    "Selector",
    "Slider",
    "Table",
]

#: The value of a cell in a table; None is shown as a dash and sorted last.
Cell = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table on a page, with the heading `name`.

    `form` is ``number`` with `digits` decimals, ``share`` (0 to 1), shown as a percentage, or
    ``written``, a text that contains a number, ``text``, or ``code``. `unit` is shown below the
    heading.
    """

    name: str
    unit: str = ""
    form: Literal["text", "number", "share", "written", "code"] = "text"
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that readers can sort by column.

    `notes` are shown below it. A `folded` table is opened by the reader. `marked` has the indices
    of highlighted rows.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: bool = False
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Selector:
    """A drop-down list beside a plot: the chosen option is the value of a plot's `parameter`."""

    parameter: str
    label: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A slider over `values`, shown as `texts`, that sets a plot's `parameter`.

    `at` is the index of its initial value. It also follows the pointer along the plot's y axis.
    """

    parameter: str
    label: str
    values: Sequence[float]
    texts: Sequence[str]
    at: int = 0


@dataclass(frozen=True, kw_only=True)
class Readout:
    """A list of the selected rows' values, which screen readers read aloud when a control moves.

    A row is selected if its columns in `where` equal the page's parameters of the same names. Its
    entry in the list is the text in the column `by`, and the number in the column `field` with
    `unit`. If `shown` is false, the list is for screen readers only, since the plot has the numbers
    already.
    """

    where: Sequence[str]
    by: str
    field: str
    unit: str
    shown: bool = True


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A plot on a page, as a Vega-Lite specification `spec` and its `data` by column.

    `controls` set parameters of the plot, and `readout` lists the selected values.
    `text` describes the plot in words, for readers who cannot see it. `spec` has no data,
    description or width: the page adds them.
    """

    title: str
    text: str
    spec: Mapping[str, Any]
    data: Mapping[str, Sequence[Any]]
    controls: Sequence[Selector | Slider] = ()
    readout: Readout | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Code:
    """Lines of `text` to copy, such as a command, with a `caption`."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a page: its heading `title`, paragraphs of `text`, then its `parts`.

    A `folded` section is opened by the reader.
    """

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Figure | Table | Code] = field(default_factory=tuple)
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: the question, the answer, then sections. `title` is the browser window's title."""

    title: str
    question: str
    answer: str
    sections: Sequence[Section]
