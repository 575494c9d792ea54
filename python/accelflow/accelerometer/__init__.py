"""The Accelerometer model of an accelerator's gain (Sriraman and Dhanotia, ASPLOS 2020).

:func:`read` reads a :class:`Service` from a file, and :func:`evaluate` computes its gain.
:func:`sweep` and :func:`break_even` compute arrays of values. `docs/accelerometer.md` explains the
model and the files.
"""

from typing import TYPE_CHECKING, Any

from accelflow.accelerometer.arrays import BreakEven, Sweep, break_even, sweep
from accelflow.accelerometer.files import read
from accelflow.accelerometer.service import (
    PLACEMENTS,
    THREADINGS,
    Kernel,
    Queue,
    Range,
    Service,
    Sizes,
    evaluate,
)

if TYPE_CHECKING:
    from accelflow.accelerometer.plots import write_plots

__all__ = [
    "PLACEMENTS",
    "THREADINGS",
    "BreakEven",
    "Kernel",
    "Queue",
    "Range",
    "Service",
    "Sizes",
    "Sweep",
    "break_even",
    "evaluate",
    "read",
    "sweep",
    "write_plots",
]


def __getattr__(name: str) -> Any:
    """Import ``write_plots`` when it is first used: matplotlib is slow to load."""
    if name == "write_plots":
        from accelflow.accelerometer.plots import write_plots  # noqa: PLC0415

        return write_plots
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
