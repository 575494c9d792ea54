"""Profiles of a service's cycles, in the categories of the Accelerometer paper.

:func:`read` reads folded stacks, the output of `perf script`, or a pprof profile. :class:`Rules`
assign functions to categories, :func:`breakdown` computes the share of each category, and
:func:`compare` compares several breakdowns.
"""

from accelflow.profiles.breakdown import breakdown
from accelflow.profiles.categories import OTHER, Functionality, Leaf
from accelflow.profiles.comparison import compare
from accelflow.profiles.references import Reference, peak_ipc, references
from accelflow.profiles.rules import Rules
from accelflow.profiles.stacks import Profile, read

__all__ = [
    "OTHER",
    "Functionality",
    "Leaf",
    "Profile",
    "Reference",
    "Rules",
    "breakdown",
    "compare",
    "peak_ipc",
    "read",
    "references",
]
