"""The methods of results that show them as text, table, page or plot.

The functions that show results are in modules that import :mod:`accelflow.report.results`, which
imports this module. To avoid a circular import, results call functions that the package installs
when it is loaded (:func:`install`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["Viewed", "Views", "install", "installed"]


class Summary(Protocol):
    """A summary of results as text and as HTML (a protocol)."""

    def to_text(self) -> str:
        """Return the summary for a terminal."""

    def to_html(self) -> str:
        """Return the summary for a notebook."""


@dataclass(frozen=True, kw_only=True)
class Views:
    """Functions that show results as text, tables, pages and pictures.

    Result classes call them without importing the modules that draw, which load slowly.
    """

    #: Returns the text of a service's results.
    service: Callable[[Any], str]
    #: Returns the summary of one system's results.
    system: Callable[[Any], Summary]
    #: Returns the summary of a comparison.
    comparison: Callable[[Any], Summary]
    #: Returns an Arrow table of a comparison.
    table: Callable[[Any], pa.Table]
    #: Writes the HTML page of a comparison to a path.
    page: Callable[[Any, Path], None]
    #: Returns a picture of a comparison; its kind is the second argument.
    figure: Callable[[Any, str], Figure]


_VIEWS: list[Views] = []


def install(views: Views) -> None:
    """Set the functions with which results show themselves (text, table, page, picture)."""
    _VIEWS[:] = [views]


def installed() -> Views:
    """Return the functions with which results show themselves, as set by :func:`install`."""
    return _VIEWS[0]


class Viewed:
    """A base class that gives results with several services a table, a page and a picture."""

    def whole(self) -> Any:
        """Return these results as a :class:`Comparison`; table, page and picture are made of it.

        Results of one system become a comparison of that system alone.
        """
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the results as a stream of Arrow: a row for each system and service."""
        return installed().table(self.whole()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the Arrow schema of the stream: its columns."""
        return installed().table(self.whole()).schema.__arrow_c_schema__()

    def write_page(self, path: str | PathLike[str]) -> None:
        """Write the results to `path` as one self-contained HTML page with plots and tables.

        The page has the distribution of response times if the results have samples. Raises OSError
        if the file cannot be written; the file is then unchanged.
        """
        installed().page(self.whole(), Path(path))

    def plot(self, kind: str = "latency") -> Figure:
        """Return a picture of the results as a figure of matplotlib.

        `kind` is ``latency`` (P99 bars and mean stars of each service, with intervals for several
        seeds), ``parts`` (the parts of each system's mean latency), or ``tail`` (the share of
        requests that take longer than a time; requires samples). Raises InputError for another
        kind, and for ``tail`` without samples.
        """
        return installed().figure(self.whole(), kind)
