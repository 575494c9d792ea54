"""The content of an HTML page: question, answer, plots and tables, without their style."""

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

    `unit` is shown below the heading. `form` is the form of the column's cells: ``text``,
    ``number``, ``share`` (a ratio, shown as a percentage), ``written`` (a text that contains a
    number) or ``code``. Numbers and shares have `digits` decimals.
    """

    name: str
    unit: str = ""
    form: Literal["text", "number", "share", "written", "code"] = "text"
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that readers can sort by column, with a `caption` above and `notes` below.

    Each of `rows` has a cell for each of `columns`. A `folded` table is closed until the reader
    opens it. `marked` has the indices of highlighted rows.
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

    Each value is shown as the text at the same index in `texts`. `at` is the index of the initial
    value. The slider also follows the pointer along the plot's y axis.
    """

    parameter: str
    label: str
    values: Sequence[float]
    texts: Sequence[str]
    at: int = 0


@dataclass(frozen=True, kw_only=True)
class Readout:
    """The values that a plot's controls select, as a list that screen readers announce.

    It lists the rows of the data whose columns `where` equal the plot's parameters of the same
    names. An entry is the text in the column called `by`, and the number in the column called
    `field` with `unit`. If `shown` is false, the list is for screen readers only, since the plot
    shows the numbers already.
    """

    where: Sequence[str]
    by: str
    field: str
    unit: str
    shown: bool = True


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A plot on a page, with a `title`.

    `text` describes the plot in words, for readers who cannot see it. `spec` is the plot's
    Vega-Lite specification without data, description and width, which the page adds. `data` has the
    values by column. Readers change the plot's parameters with `controls`; `readout` lists the
    values that they select. `notes` are paragraphs below the title.
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

    A `folded` section is closed until the reader opens it.
    """

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Figure | Table | Code] = field(default_factory=tuple)
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of an HTML page: the `question`, the `answer`, then `sections`.

    `title` is the title of the browser's window.
    """

    title: str
    question: str
    answer: str
    sections: Sequence[Section]
