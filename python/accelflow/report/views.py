"""Views of results: texts, tables, pages and plots that the results offer as methods.

Results are plain data; the functions that show them are above them. The package installs these
functions when it is loaded, so that results have methods without importing what shows them.
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
    """A summary of results that can be shown as text or as HTML."""

    def to_text(self) -> str:
        """Return the summary for a terminal."""

    def to_html(self) -> str:
        """Return the summary for a notebook."""


@dataclass(frozen=True, kw_only=True)
class Views:
    """The functions that show results as text, tables, pages and figures."""

    #: The function that returns the results of a service as text.
    service: Callable[[Any], str]
    #: The function that returns a summary of one system.
    system: Callable[[Any], Summary]
    #: The function that returns a summary of a comparison.
    comparison: Callable[[Any], Summary]
    #: The function that converts a comparison to an Arrow table.
    table: Callable[[Any], pa.Table]
    #: The function that writes the page of a comparison to a path.
    page: Callable[[Any, Path], None]
    #: The function that draws a comparison as a figure of a given kind, such as ``latency``.
    figure: Callable[[Any, str], Figure]


_VIEWS: list[Views] = []


def install(views: Views) -> None:
    """Make `views` the functions that show all results."""
    _VIEWS[:] = [views]


def installed() -> Views:
    """Return the functions that show results, as given to :func:`install`."""
    return _VIEWS[0]


class Viewed:
    """The common methods of results of several services: a table, a page and a figure."""

    def whole(self) -> Any:
        """Return the comparison that has all results to show."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the results as a stream of Arrow: a row for each system and service."""
        return installed().table(self.whole()).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the columns of the stream."""
        return installed().table(self.whole()).schema.__arrow_c_schema__()

    def write_page(self, path: str | PathLike[str]) -> None:
        """Write the results as one self-contained HTML page with plots and tables.

        It has the distribution of response times if the results have samples. Raises OSError if
        `path` cannot be written; it is then unchanged.
        """
        installed().page(self.whole(), Path(path))

    def plot(self, kind: str = "latency") -> Figure:
        """Draw the results as a figure of matplotlib.

        `kind` is ``latency`` (P99 bars and mean stars of each service, with intervals for several
        seeds), ``parts`` (the parts of each system's mean latency), or ``tail`` (the share of
        requests that take longer than a time; requires samples). Raises InputError for another
        kind, and for a tail without samples.
        """
        return installed().figure(self.whole(), kind)
