"""What `accelflow compare` hands to a person: tables, files and plots of one comparison.

Nothing here runs an engine: every function takes a :class:`Comparison`, whoever made it.
"""

from typing import TYPE_CHECKING, Any

from accelflow.report.export import write_json, write_parquet
from accelflow.report.results import Comparison, ServiceResult, SystemResult
from accelflow.report.table import print_comparison

if TYPE_CHECKING:
    from accelflow.report.plot import write_plots

__all__ = [
    "Comparison",
    "ServiceResult",
    "SystemResult",
    "print_comparison",
    "write_json",
    "write_parquet",
    "write_plots",
]


def __getattr__(name: str) -> Any:
    """What is looked up when it is asked for: matplotlib is slow to load."""
    if name == "write_plots":
        from accelflow.report.plot import write_plots  # noqa: PLC0415

        return write_plots
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
