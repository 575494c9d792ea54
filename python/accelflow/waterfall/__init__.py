"""A request's time as a picture: a row for each trace, waits hatched, the critical path bold."""

from accelflow.waterfall.rows import Piece, WaterfallRow, rows_of, totals
from accelflow.waterfall.text import ASCII, show

__all__ = ["ASCII", "Piece", "WaterfallRow", "rows_of", "show", "totals"]
