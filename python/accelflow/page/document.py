"""The content of an HTML page: questions, answers, plots and tables, without their look."""

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

    `name` is its heading, with `unit` below. `form` is ``text``, ``number`` with `digits` decimals,
    ``share`` (0 to 1), shown as a percentage, ``written``, a text that contains a number, or
    ``code``.
    """

    name: str
    unit: str = ""
    form: Literal["text", "number", "share", "written", "code"] = "text"
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that readers can sort by column, with a `caption` above and `notes` below.

    Each of `rows` has a value for each of `columns`. A `folded` table is opened by the reader.
    `marked` has the indices of highlighted rows.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: bool = False
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Selector:
    """A list of `options` with a `label`; the reader's choice sets the plot's `parameter`."""

    parameter: str
    label: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A slider with a `label`; its position sets the plot's `parameter` to one of `values`.

    Values are shown as `texts`; `at` is the index of the first one. The slider also follows the
    pointer along the plot's y axis.
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
    """A plot in the grammar of Vega-Lite, with a `title`, and its `data` by column.

    `text` describes the plot in words, for readers who cannot see it. `spec` is the plot without
    data, description and width, which the page adds. Readers change its parameters by `controls`;
    `readout` lists the values that they select. `notes` follow below.
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
    """A `text` to copy, such as a command, with a `caption`."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a page: its heading `title`, paragraphs `text`, and `parts` below.

    A `folded` section is opened by the reader.
    """

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Figure | Table | Code] = field(default_factory=tuple)
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: the `question`, the `answer`, then `sections`.

    `title` is that of the browser's window.
    """

    title: str
    question: str
    answer: str
    sections: Sequence[Section]
