"""One self-contained page of HTML for an answer: verdict, plots, tables, and how it was made.

A page needs no network, and forbids itself to use one. :class:`Page` is what it says;
:func:`to_html` and :func:`write_page` show it. Nothing here knows what a simulation is.
"""

from accelflow.page.document import Choice, Code, Column, Figure, Page, Section, Slider, Table
from accelflow.page.html import to_html, write_page
from accelflow.page.repeat import command_line, repeated
from accelflow.page.table import table_html

__all__ = [
    "Choice",
    "Code",
    "Column",
    "Figure",
    "Page",
    "Section",
    "Slider",
    "Table",
    "command_line",
    "repeated",
    "table_html",
    "to_html",
    "write_page",
]
