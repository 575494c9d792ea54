"""accelflow: orchestrate ensembles of fine-grained accelerators for the datacenter tax.

What service developers need is here: traces, running them, serving clients and calling services
with them.
Comparisons are in `accelflow.simulation`, recordings in `accelflow.calibration`, reports in
`accelflow.report`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from accelflow import _native

if TYPE_CHECKING:
    from accelflow.client import Cancel, Client, GrpcClient, HttpClient
    from accelflow.errors import AccelflowError, CallError, DeclaredError, InputError, TraceError
    from accelflow.operations import Fault, Pools, Steering, Telemetry
    from accelflow.requests import Request, within_request
    from accelflow.server import Server
    from accelflow.tenants import Shaping, Tenant
    from accelflow.trace import (
        Trace,
        TraceWarning,
        branch,
        fork,
        join,
        load,
        notify,
        run_trace,
        save,
        seq,
        tail,
        templates,
        trans,
        transform,
    )

__all__ = [
    "AccelflowError",
    "CallError",
    "Cancel",
    "Client",
    "DeclaredError",
    "Fault",
    "GrpcClient",
    "HttpClient",
    "InputError",
    "Pools",
    "Request",
    "Server",
    "Shaping",
    "Steering",
    "Telemetry",
    "Tenant",
    "Trace",
    "TraceError",
    "TraceWarning",
    "__version__",
    "branch",
    "fork",
    "join",
    "load",
    "notify",
    "run_trace",
    "save",
    "seq",
    "tail",
    "templates",
    "trans",
    "transform",
    "within_request",
]

__version__: str = _native.version()

#: Where each name is. It is imported when it is asked for: servers and clients need asyncio, which
#: is slow to load, and most commands need neither.
_PLACES: Final = {
    "accelflow.client": ("Cancel", "Client", "GrpcClient", "HttpClient"),
    "accelflow.errors": (
        "AccelflowError",
        "CallError",
        "DeclaredError",
        "InputError",
        "TraceError",
    ),
    "accelflow.operations": ("Fault", "Pools", "Steering", "Telemetry"),
    "accelflow.requests": ("Request", "within_request"),
    "accelflow.server": ("Server",),
    "accelflow.tenants": ("Shaping", "Tenant"),
    "accelflow.trace": (
        "Trace",
        "TraceWarning",
        "branch",
        "fork",
        "join",
        "load",
        "notify",
        "run_trace",
        "save",
        "seq",
        "tail",
        "templates",
        "trans",
        "transform",
    ),
}
_MODULE_OF: Final = {name: module for module, names in _PLACES.items() for name in names}
_MODULES: Final = frozenset(_PLACES)


if not TYPE_CHECKING:  # with it, a checker would take any name for one of the package's

    def __getattr__(name: str) -> Any:
        """Import what is asked for, once."""
        if f"{__name__}.{name}" in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _MODULE_OF:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
