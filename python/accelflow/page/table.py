"""HTML of a table, for pages and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from accelflow.page.document import Cell, Column, Table

__all__ = ["cell_text", "table_html"]

#: The lengths of texts up to which they are not wrapped, and above which their column is wide.
_SHORT: Final = 26
_LONG: Final = 60


def table_html(table: Table) -> str:
    """Return the HTML of `table`, with its caption and notes.

    The table is complete without a script. On a page, the page's script turns the headings into
    buttons that sort the rows.
    """
    head = "".join(_heading(column) for column in table.columns)
    body = "".join(_rows(table))
    notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in table.notes)
    caption = f'<caption style="text-align:left">{_lines(table.caption)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.split("\n"))


def _heading(column: Column) -> str:
    unit = f" <small>{escape(column.unit)}</small>" if column.unit else ""
    return f'<th scope="col"{_side(column)}><span>{escape(column.name)}</span>{unit}</th>'


def _rows(table: Table) -> Iterator[str]:
    for number, row in enumerate(table.rows):
        mark = ' class="marked"' if number in table.marked else ""
        cells = (
            _cell(column, value, place)
            for place, (column, value) in enumerate(zip(table.columns, row, strict=True))
        )
        yield f"<tr{mark}>{''.join(cells)}</tr>"


def _cell(column: Column, value: Cell, place: int) -> str:
    # A number is sorted by its value, not by the text that is shown.
    key = f' data-key="{value!r}"' if isinstance(value, int | float) else ""
    text = escape(cell_text(column, value))
    if column.form == "code":
        text = f"<code>{text}</code>"
    elif column.form in ("text", "written"):
        # <bdi> keeps a right-to-left name from reordering its neighbours; short names do not wrap.
        size = "short" if len(text) <= _SHORT else "long" if len(text) > _LONG else ""
        text = f'<bdi class="{size}">{text}</bdi>' if size else f"<bdi>{text}</bdi>"
    if place == 0:
        return f'<th scope="row"{key}{_side(column)}>{text}</th>'
    return f"<td{key}{_side(column)}>{text}</td>"


def _side(column: Column) -> str:
    side = "left" if column.form in ("text", "code") else "right"
    return f' style="text-align:{side}"'


def cell_text(column: Column, value: Cell) -> str:
    """Return the value of a cell as text in the form of its column; a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, str):
        return value
    if column.form == "share":
        return f"{value:z.{column.digits}%}"
    return f"{value:z,.{column.digits}f}" if isinstance(value, float) else f"{value:,}"
