"""accelflow: orchestrate ensembles of fine-grained accelerators for the datacenter tax.

This module has the names that most programs need. `compare` and `simulate` simulate a workload and
return its latencies under each orchestrator; a `Scenario` and a `Chip` hold the settings. Traces,
`run_trace`, servers and clients are for service developers. `accelflow.simulation` lists the
workloads, orchestrators and parameters, `accelflow.calibration` measures the costs of operations,
and `accelflow.report` writes results.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from accelflow import _native

if TYPE_CHECKING:
    from accelflow.annotations import offload
    from accelflow.chips import Chip
    from accelflow.client import Cancel, Client, GrpcClient, HttpClient
    from accelflow.comparing import compare, simulate
    from accelflow.errors import AccelflowError, CallError, DeclaredError, InputError, TraceError
    from accelflow.operations import Fault, Pools, RpcProcessor, Steering, Telemetry
    from accelflow.own_traces import ClientTraces, ServerTraces
    from accelflow.policies import Orchestrator, QueuePolicy
    from accelflow.requests import Request, within_request
    from accelflow.scenario import Scenario
    from accelflow.server import Server
    from accelflow.services import Service, Workload
    from accelflow.settings import ClientTls, Execution, Limits, Observability, Timeouts, Tls
    from accelflow.tenants import Control, Shaping, Slo, Tenant
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
    "Chip",
    "Client",
    "ClientTls",
    "ClientTraces",
    "Control",
    "DeclaredError",
    "Execution",
    "Fault",
    "GrpcClient",
    "HttpClient",
    "InputError",
    "Limits",
    "Observability",
    "Orchestrator",
    "Pools",
    "QueuePolicy",
    "Request",
    "RpcProcessor",
    "Scenario",
    "Server",
    "ServerTraces",
    "Service",
    "Shaping",
    "Slo",
    "Steering",
    "Telemetry",
    "Tenant",
    "Timeouts",
    "Tls",
    "Trace",
    "TraceError",
    "TraceWarning",
    "Workload",
    "__version__",
    "branch",
    "compare",
    "fork",
    "join",
    "load",
    "notify",
    "offload",
    "run_trace",
    "save",
    "seq",
    "simulate",
    "tail",
    "templates",
    "trans",
    "transform",
    "within_request",
]

__version__: str = _native.version()

#: The module of each name. Names are imported on first use: servers and clients need asyncio, which
#: is slow to load, and most commands need neither.
_PLACES: Final = {
    "accelflow.annotations": ("offload",),
    "accelflow.chips": ("Chip",),
    "accelflow.client": ("Cancel", "Client", "GrpcClient", "HttpClient"),
    "accelflow.comparing": ("compare", "simulate"),
    "accelflow.errors": (
        "AccelflowError",
        "CallError",
        "DeclaredError",
        "InputError",
        "TraceError",
    ),
    "accelflow.operations": ("Fault", "Pools", "RpcProcessor", "Steering", "Telemetry"),
    "accelflow.own_traces": ("ClientTraces", "ServerTraces"),
    "accelflow.policies": ("Orchestrator", "QueuePolicy"),
    "accelflow.requests": ("Request", "within_request"),
    "accelflow.scenario": ("Scenario",),
    "accelflow.server": ("Server",),
    "accelflow.services": ("Service", "Workload"),
    "accelflow.settings": (
        "ClientTls",
        "Execution",
        "Limits",
        "Observability",
        "Timeouts",
        "Tls",
    ),
    "accelflow.tenants": ("Control", "Shaping", "Slo", "Tenant"),
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


if not TYPE_CHECKING:  # a type checker that sees __getattr__ would accept any name

    def __getattr__(name: str) -> Any:
        """Import a name of the package on its first use."""
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
