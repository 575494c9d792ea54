"""A waterfall as text."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from accelflow.waterfall.rows import (
    Piece,
    WaterfallRow,
    length_us,
    rows_of,
    time_text,
    totals,
)

__all__ = ["ASCII", "show"]

#: The character of a piece, by whether it is critical and whether it is a wait.
_MARKS: Final = {
    (True, False): "█",
    (True, True): "/",
    (False, False): "░",
    (False, True): "·",
}
#: Replacements for the characters of bars, for terminals without Unicode.
ASCII: Final = str.maketrans({"█": "#", "░": "=", "·": "."})

_PLACES: Final = 8
_LEAST_BAR, _MOST_NAME = 20, 24

#: A function that returns a text in bold.
Bold = Callable[[str], str]


def show(waterfall: Mapping[str, Any], width: int, bold: Bold = lambda text: text) -> str:
    """Return as text where the time of one request went, with a bar for each trace.

    `waterfall` is an object of schema ``accelflow.waterfall/1``. Lines with bars fit into `width`
    columns if a bar can then have 20; bars are never shorter. Lines on the critical path are passed
    through `bold`, which may make them bold on a terminal; by default they stay as they are.
    """
    rows = rows_of(waterfall)
    total_us = length_us(waterfall)
    name_width = min(max((len(row.name) for row in rows), default=0), _MOST_NAME)
    bar = max(width - name_width - 12, _LEAST_BAR)
    lines = [
        f"{waterfall['service']} {waterfall['request']} under {waterfall['system']}: "
        f"{time_text(waterfall)}" + (", an error" if waterfall["error"] else ""),
        "",
    ]
    for row in rows:
        lines.append(_line(row, (name_width, bar), total_us * 1e3, bold))
    axis = f"0 us{f'{total_us:,.1f} us':>{bar - 4}}"
    lines += [f"{'':{name_width}}  {axis}", ""]
    lines.append("  ".join(_legend(bold)))
    lines.append("")
    lines += _table(rows, total_us, bold)
    return "\n".join(lines) + "\n"


def _line(row: WaterfallRow, widths: tuple[int, int], total_ns: float, bold: Bold) -> str:
    name_width, bar = widths
    cells = [" "] * bar
    owners: list[Piece | None] = [None] * bar
    for piece in row.pieces:
        first = min(int(piece.from_ns / total_ns * bar), bar - 1)
        last = min(max(first, int(piece.until_ns / total_ns * bar) - 1), bar - 1)
        for cell in range(first, last + 1):
            owner = owners[cell]
            # The longest piece of a cell is shown, and a critical one before others.
            rank = piece.critical, piece.length_ns
            if owner is None or rank > (owner.critical, owner.length_ns):
                owners[cell], cells[cell] = piece, _MARKS[piece.critical, piece.waits]
    critical = any(piece.critical for piece in row.pieces)
    time_us = sum(piece.length_ns for piece in row.pieces) / 1e3
    name = row.name if len(row.name) <= name_width else row.name[: name_width - 1] + "~"
    text = f"{name:{name_width}}  {''.join(cells)} {time_us:9,.1f}"
    return bold(text.rstrip()) if critical else text.rstrip()


def _legend(bold: Bold) -> list[str]:
    return [
        bold(f"{_MARKS[True, False]} critical"),
        bold(f"{_MARKS[True, True]} critical, waits"),
        f"{_MARKS[False, False]} beside",
        f"{_MARKS[False, True]} beside, waits",
    ]


def _table(rows: list[WaterfallRow], total_us: float, bold: Bold) -> list[str]:
    """The critical time by place, the longest first."""
    spent = totals(rows)
    lines = [bold("the critical path")]
    rest = sum(time for *_, time in spent[_PLACES:])
    shown = [(f"waits for {at}" if waits else at, time) for at, waits, time in spent[:_PLACES]]
    if rest > 0.0:
        shown.append(("other", rest))
    for name, time_ns in shown:
        share = time_ns / 1e3 / total_us if total_us > 0.0 else 0.0
        lines.append(f"  {time_ns / 1e3:10,.1f} us  {share:5.1%}  {name}")
    return lines
