"""Tables, files and plots of one comparison, as `accelflow compare` writes them.

Nothing in this package simulates: every function takes the results, a :class:`Comparison`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from accelflow.report.export import write_json, write_parquet
from accelflow.report.results import Comparison, Interval, ServiceResult, SystemResult
from accelflow.report.showing import VIEWS
from accelflow.report.views import install

if TYPE_CHECKING:
    from accelflow.report.plot import write_plots
    from accelflow.report.table import print_comparison

__all__ = [
    "Comparison",
    "Interval",
    "ServiceResult",
    "SystemResult",
    "print_comparison",
    "write_json",
    "write_parquet",
    "write_plots",
]

#: The module of each function that needs a library which is slow to load (matplotlib, rich).
_SLOW: Final = {"print_comparison": "table", "write_plots": "plot"}

install(VIEWS)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a slow function when it is first used."""
        if name in _SLOW:
            return getattr(importlib.import_module(f"{__name__}.{_SLOW[name]}"), name)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
