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
    """A column of a table on an HTML page: its heading, unit, and form of cells.

    `name` is the heading, and `unit` is shown below it. `form` is the form of the cells: ``text``,
    ``number``, ``share`` (a ratio, shown as a percentage), ``written`` (a text that contains a
    number) or ``code``. Shares, and numbers of type float, are shown with `digits` decimals;
    numbers of type int have none.
    """

    name: str
    unit: str = ""
    form: Literal["text", "number", "share", "written", "code"] = "text"
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table on an HTML page, with a `caption` above and `notes` below; readers can sort it.

    Each of `rows` has a cell for each of `columns`. If `folded`, the table is closed until the
    reader opens it. `marked` has the indices of highlighted rows.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    folded: bool = False
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Selector:
    """A drop-down list in a plot: the chosen one of `options` sets the plot's `parameter`.

    `parameter` is the name of a Vega-Lite parameter, by which the plot selects data. `label` is the
    text beside the list.
    """

    parameter: str
    label: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A slider in a plot: its position sets the plot's `parameter` to one of `values`.

    `parameter` is the name of a Vega-Lite parameter, and `label` the text beside the slider. Each
    value is shown as the text at the same index in `texts`. `at` is the index of the initial value.
    The slider also follows the pointer along the plot's y axis.
    """

    parameter: str
    label: str
    values: Sequence[float]
    texts: Sequence[str]
    at: int = 0


@dataclass(frozen=True, kw_only=True)
class Readout:
    """A list beside a plot, with the values that the reader has selected by the plot's controls.

    Screen readers announce it. It has an entry for each row of the plot's data in which the columns
    `where` equal the plot's parameters of the same names. An entry is the row's text in the column
    `by`, and its number in the column `field` with `unit`. If `shown` is false, the list is only
    for screen readers, since the plot shows the numbers already.
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
    plot's data: a list of values for each column. With `controls`, readers select which data the
    plot shows; `readout` lists the selected values. `notes` are paragraphs below the plot.
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
    """A block of code on an HTML page: a `text` to copy, such as a command, with a `caption`."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of an HTML page: the heading `title`, the paragraphs `text`, and `parts` below.

    If `folded`, the section is closed until the reader opens it.
    """

    title: str
    text: Sequence[str] = ()
    parts: Sequence[Figure | Table | Code] = field(default_factory=tuple)
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of an HTML page: a `question`, the `answer` to it, then `sections` of details.

    `title` is the title of the browser's window.
    """

    title: str
    question: str
    answer: str
    sections: Sequence[Section]
