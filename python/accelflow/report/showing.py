"""The functions that show results as text, table, page or picture.

Each function imports the module that does the work only when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from accelflow.report.results import Comparison, ServiceResult
from accelflow.report.views import Summary, Views

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["VIEWS"]


def _service(result: ServiceResult) -> str:
    from accelflow.report.shown import of_service  # noqa: PLC0415 (seldom needed)

    return of_service(result)


def _system(comparison: Comparison) -> Summary:
    from accelflow.report.shown import of_system  # noqa: PLC0415 (seldom needed)

    return of_system(comparison)


def _comparison(comparison: Comparison) -> Summary:
    from accelflow.report.shown import of_comparison  # noqa: PLC0415 (seldom needed)

    return of_comparison(comparison)


def _table(comparison: Comparison) -> pa.Table:
    from accelflow.report.export import to_table  # noqa: PLC0415 (seldom needed)

    return to_table(comparison)


def _write_page(comparison: Comparison, path: Path) -> None:
    from accelflow.page import write_page  # noqa: PLC0415 (slow to load)
    from accelflow.report.page import comparison_page  # noqa: PLC0415 (slow to load)

    write_page(comparison_page(comparison), path)


def _figure(comparison: Comparison, kind: str) -> Figure:
    from accelflow.report.plot import figure  # noqa: PLC0415 (slow to load)

    return figure(comparison, kind)


#: The functions that show results, which the package installs (:mod:`accelflow.report.views`).
VIEWS: Final = Views(
    service=_service,
    system=_system,
    comparison=_comparison,
    table=_table,
    page=_write_page,
    figure=_figure,
)
