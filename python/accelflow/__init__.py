"""accelflow: orchestrate ensembles of fine-grained accelerators for the datacenter tax.

What service developers need is here: traces, running them, serving clients and calling services
with them.
Comparisons are in `accelflow.simulation`, recordings in `accelflow.calibration`, reports in
`accelflow.report`.
"""

from accelflow import _native
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
