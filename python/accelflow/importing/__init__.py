"""Workloads from existing data: tables of arrivals and calls, profiles, and spans.

Each kind of data has a function that reads files. Functions called ``import_...`` return an
:class:`Imported` workload, which :func:`write_imported` writes together with its companion files. A
:class:`Report` lists which data was understood, guessed or dropped, how often, and where in the
files. A strict report raises an InputError for the first guess or drop. :func:`import_spans` makes
its report itself, and returns it beside the workload, as an object for JSON. :func:`timed` compares
the times in the data with those of the workload.

========== ================================================
arrivals   :func:`read_arrivals`: times, counts or rates
alibaba    :func:`import_alibaba`: call graphs and rates
azure      :func:`import_azure`: functions
costs      :func:`import_costs`: perf, pprof, folded stacks
latencies  :func:`read_latencies`: wrk2 and locust
spans      :func:`import_spans`: Jaeger and OpenTelemetry
========== ================================================
"""

from accelflow.importing.alibaba import SAMPLED_SHARE, import_alibaba
from accelflow.importing.alibaba import Options as AlibabaOptions
from accelflow.importing.arrivals import Arrivals, read_arrivals
from accelflow.importing.arrivals import Options as ArrivalsOptions
from accelflow.importing.azure import DURATIONS, import_azure
from accelflow.importing.azure import Options as AzureOptions
from accelflow.importing.beside import compared
from accelflow.importing.clocks import UNITS
from accelflow.importing.costs import Options as CostsOptions
from accelflow.importing.costs import import_costs
from accelflow.importing.latencies import Measured, read_latencies
from accelflow.importing.operation_rules import DEFAULT as OPERATION_RULES
from accelflow.importing.report import Report
from accelflow.importing.sampled import Asked
from accelflow.importing.spans import import_spans
from accelflow.importing.times import TIMED_SYSTEM, Traced, check_requests, timed
from accelflow.importing.workloads import OWNER, Imported, plain_name, read_workload, service_of
from accelflow.importing.write import check_out, write_imported, write_lines

__all__ = [
    "DURATIONS",
    "OPERATION_RULES",
    "OWNER",
    "SAMPLED_SHARE",
    "TIMED_SYSTEM",
    "UNITS",
    "AlibabaOptions",
    "Arrivals",
    "ArrivalsOptions",
    "Asked",
    "AzureOptions",
    "CostsOptions",
    "Imported",
    "Measured",
    "Report",
    "Traced",
    "check_out",
    "check_requests",
    "compared",
    "import_alibaba",
    "import_azure",
    "import_costs",
    "import_spans",
    "plain_name",
    "read_arrivals",
    "read_latencies",
    "read_workload",
    "service_of",
    "timed",
    "write_imported",
    "write_lines",
]
