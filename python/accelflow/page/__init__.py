"""A self-contained HTML page for an answer: verdict, plots, tables and settings.

A page works without a network, and its security policy forbids loading anything. :class:`Page` is
the content of a page; :func:`to_html` and :func:`write_page` render it as HTML. This package does
not depend on the simulator.
"""

from accelflow.page.document import Code, Column, Figure, Page, Section, Selector, Slider, Table
from accelflow.page.html import to_html, write_page
from accelflow.page.repeat import command_line, repeated
from accelflow.page.table import table_html

__all__ = [
    "Code",
    "Column",
    "Figure",
    "Page",
    "Section",
    "Selector",
    "Slider",
    "Table",
    "command_line",
    "repeated",
    "table_html",
    "to_html",
    "write_page",
]
