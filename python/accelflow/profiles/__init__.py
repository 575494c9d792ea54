"""Where a service's cycles go: profiles in the categories of the Accelerometer paper.

:func:`read` takes folded stacks, the output of `perf script`, or a profile of pprof, :class:`Rules`
says which function belongs to which category, and :func:`breakdown` adds up.
"""

from accelflow.profiles.breakdown import breakdown
from accelflow.profiles.categories import OTHER, Functionality, Leaf
from accelflow.profiles.rules import Rules
from accelflow.profiles.stacks import Profile, read

__all__ = ["OTHER", "Functionality", "Leaf", "Profile", "Rules", "breakdown", "read"]
