"""Traces: programs of accelerator calls, in the form of AccelFlow (HPCA 2026), section V.4.

>>> from accelflow.trace import Trace, branch, seq, trans
>>> trace = Trace()
>>> trace.build(seq("TCP", "Decr", "RPC", "Dser",
...     branch(condition_op="out['compressed'] == 1",
...            on_true=seq(trans("JSON", "str"), "Dcmp"), on_false=None),
...     "LdB"))
>>> trace.register(name="func_req")

A process has one library of traces, :data:`LIBRARY`, which initially holds the paper's twelve
templates and their error subtraces. Traces may refer to one another in any order. Linking the
library into a trace memory checks that all tails lead to traces and that every chain ends.
"""

from accelflow.errors import TraceError
from accelflow.trace.ensemble import Ensemble, Handle, Notification, enqueue_trace, ensemble
from accelflow.trace.kinds import Body, kind, register_body
from accelflow.trace.nodes import (
    Node,
    Pipeline,
    Steps,
    branch,
    fork,
    join,
    notify,
    seq,
    tail,
    trans,
    transform,
)
from accelflow.trace.run import (
    Arrival,
    Connection,
    Run,
    demo_request,
    demo_secrets,
    run_counters,
    run_trace,
)
from accelflow.trace.store import Image, load, save
from accelflow.trace.traces import (
    LIBRARY,
    Library,
    Template,
    Trace,
    TraceWarning,
    templates,
)

__all__ = [
    "LIBRARY",
    "Arrival",
    "Body",
    "Connection",
    "Ensemble",
    "Handle",
    "Image",
    "Library",
    "Node",
    "Notification",
    "Pipeline",
    "Run",
    "Steps",
    "Template",
    "Trace",
    "TraceError",
    "TraceWarning",
    "branch",
    "demo_request",
    "demo_secrets",
    "enqueue_trace",
    "ensemble",
    "fork",
    "join",
    "kind",
    "load",
    "notify",
    "register_body",
    "run_counters",
    "run_trace",
    "save",
    "seq",
    "tail",
    "templates",
    "trans",
    "transform",
]
