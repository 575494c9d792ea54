"""What `accelflow compare` hands to a person: tables, files and plots of one comparison.

Nothing here runs an engine: every function takes a :class:`Comparison`, whoever made it.
"""

from accelflow.report.export import write_json, write_parquet
from accelflow.report.plot import write_plots
from accelflow.report.results import Comparison, ServiceResult, SystemResult
from accelflow.report.table import print_comparison

__all__ = [
    "Comparison",
    "ServiceResult",
    "SystemResult",
    "print_comparison",
    "write_json",
    "write_parquet",
    "write_plots",
]
