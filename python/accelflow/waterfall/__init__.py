"""Waterfalls: a request's time, with a row per trace, waits hatched and the critical path bold."""

from accelflow.waterfall.rows import Piece, WaterfallRow, rows_of, totals
from accelflow.waterfall.text import ASCII, show

__all__ = ["ASCII", "Piece", "WaterfallRow", "rows_of", "show", "totals"]
