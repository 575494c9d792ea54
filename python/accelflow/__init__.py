"""accelflow: orchestrate ensembles of fine-grained accelerators for the datacenter tax."""

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, TraceError

__all__ = ["AccelflowError", "InputError", "TraceError", "__version__"]

__version__: str = _native.version()
